//! Sockets of clients, set up to detect peers that have vanished.

#[cfg(unix)]
use std::time::Duration;
use tokio::net::TcpStream;

/// How long a peer is silent before it is probed, how long between probes, and how many there are: on Linux for as long
/// as `UNACKNOWLEDGED_TIMEOUT_MS`, which there decides about silent peers, too.
#[cfg(unix)]
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
#[cfg(unix)]
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
#[cfg(unix)]
const KEEPALIVE_PROBES: u32 = 3;
/// How long in ms a peer may take nothing of what was sent: as long as a body may take.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNACKNOWLEDGED_TIMEOUT_MS: u32 = 300_000;

/// Makes a socket notice that its peer has vanished, as far as the system can.
pub(super) fn prepare(socket: &TcpStream) {
    // Small pieces are sent at once; without this it is slower, no more.
    let _ = socket.set_nodelay(true);
    #[cfg(unix)]
    if let Err(error) = keep_alive(socket) {
        tracing::debug!(%error, "cannot enable TCP keepalive: lost peers are noticed late");
    }
}

#[cfg(unix)]
fn keep_alive(socket: &TcpStream) -> std::io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(socket, true)?;
    #[cfg(not(any(target_os = "haiku", target_os = "nto", target_os = "openbsd")))]
    sockopt::set_tcp_keepidle(socket, KEEPALIVE_AFTER)?;
    #[cfg(not(any(
        target_os = "haiku",
        target_os = "nto",
        target_os = "openbsd",
        target_os = "redox"
    )))]
    {
        sockopt::set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    }
    // A peer that has not acknowledged data gets no probes: this limit detects it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED_TIMEOUT_MS)?;
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_vanished_is_noticed() {
        use rustix::net::sockopt;

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (socket, _) = accepted.unwrap();
        prepare(&socket);
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), KEEPALIVE_AFTER);
        assert_eq!(sockopt::tcp_keepintvl(&socket).unwrap(), KEEPALIVE_INTERVAL);
        assert_eq!(sockopt::tcp_keepcnt(&socket).unwrap(), KEEPALIVE_PROBES);
        assert_eq!(
            sockopt::tcp_user_timeout(&socket).unwrap(),
            UNACKNOWLEDGED_TIMEOUT_MS
        );
        assert!(socket.nodelay().unwrap());
    }
}
