//! Connections: how many there may be, which give way, and how it is noticed that a peer has vanished.
//!
//! What comes in: sockets that were accepted, and whether whoever is behind one was let in. What goes out:
//! places for them. Deliberately not here: what is said on them.
//!
//! # What holds
//!
//! - There are never more connections than places.
//! - Of those who were not let in yet, the one that came first gives way to who comes, once it had a moment
//!   to say who it is: who says nothing keeps nobody out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpStream, sync::Notify, time::Instant};

/// Strangers among the connections: a part of them, and not so few that several cannot come at once.
const STRANGERS: usize = 4;
const FEW: usize = 16;
/// How long a stranger is left alone, whoever comes.
const GRACE: Duration = Duration::from_secs(1);
/// How long a peer is silent before it is asked whether it is there, how long it is waited for, and how
/// often it is asked: on Linux for as long as `UNTAKEN`, which there decides about silent peers, too.
#[cfg(unix)]
const SILENT: Duration = Duration::from_secs(30);
#[cfg(unix)]
const BETWEEN: Duration = Duration::from_secs(15);
#[cfg(unix)]
const ASKED: u32 = 3;
/// How long in ms a peer may take nothing of what was sent: as long as a body may take.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNTAKEN: u32 = 300_000;

/// All connections.
pub(super) struct Connections {
    places: usize,
    strangers: usize,
    state: Mutex<State>,
    /// There may be a place.
    changed: Notify,
}

#[derive(Default)]
struct State {
    open: usize,
    next: u64,
    /// Those who were not let in, in the order in which they came.
    strangers: BTreeMap<u64, Stranger>,
    /// Those that were told to give way, and are still there.
    leaving: BTreeSet<u64>,
}

struct Stranger {
    came: Instant,
    gives_way: Arc<Notify>,
}

/// The place of one connection.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    gives_way: Arc<Notify>,
}

impl Connections {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            strangers: places.div_ceil(STRANGERS).max(FEW).min(places),
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stranger who came. Waits until there is one.
    pub(super) async fn place(self: &Arc<Self>) -> Place {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before it is looked: a place that comes free in between is not missed.
            changed.as_mut().enable();
            let first = {
                let mut state = self.state();
                if state.open < self.places && state.strangers.len() < self.strangers {
                    return self.taken(&mut state);
                }
                // One that leaves makes room already.
                let waits = state.open >= self.places && !state.leaving.is_empty();
                let first = state.strangers.first_key_value().filter(|_| !waits);
                first.map(|(number, stranger)| (*number, stranger.came))
            };
            let Some((number, came)) = first else {
                changed.await;
                continue;
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(came + GRACE) => self.send_away(number),
            }
        }
    }

    fn send_away(&self, number: u64) {
        let mut state = self.state();
        // It may have been let in meanwhile.
        if let Some(stranger) = state.strangers.remove(&number) {
            state.leaving.insert(number);
            tracing::debug!("a connection that said nothing gives way");
            stranger.gives_way.notify_one();
        }
    }

    fn taken(self: &Arc<Self>, state: &mut State) -> Place {
        state.open += 1;
        state.next += 1;
        let gives_way = Arc::new(Notify::new());
        let stranger = Stranger {
            came: Instant::now(),
            gives_way: Arc::clone(&gives_way),
        };
        state.strangers.insert(state.next, stranger);
        Place {
            connections: Arc::clone(self),
            number: state.next,
            gives_way,
        }
    }
}

impl Place {
    /// Whoever is there was let in: no stranger any more.
    pub(super) fn let_in(&self) {
        let was_stranger = self.connections.state().strangers.remove(&self.number);
        if was_stranger.is_some() {
            self.connections.changed.notify_waiters();
        }
    }

    /// Waits until the connection is to end, as others come; for ever once it was let in.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        {
            let mut state = self.connections.state();
            state.open -= 1;
            state.strangers.remove(&self.number);
            state.leaving.remove(&self.number);
        }
        self.connections.changed.notify_waiters();
    }
}

/// Makes a socket notice that its peer has vanished, as far as the system can.
pub(super) fn prepare(socket: &TcpStream) {
    // Small pieces are not held back; where that cannot be had it is slower, no more.
    let _ = socket.set_nodelay(true);
    #[cfg(unix)]
    if let Err(error) = keep_alive(socket) {
        tracing::debug!(%error, "peers that vanish are noticed late");
    }
}

#[cfg(unix)]
fn keep_alive(socket: &TcpStream) -> std::io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(socket, true)?;
    #[cfg(not(any(target_os = "haiku", target_os = "nto", target_os = "openbsd")))]
    sockopt::set_tcp_keepidle(socket, SILENT)?;
    #[cfg(not(any(
        target_os = "haiku",
        target_os = "nto",
        target_os = "openbsd",
        target_os = "redox"
    )))]
    {
        sockopt::set_tcp_keepintvl(socket, BETWEEN)?;
        sockopt::set_tcp_keepcnt(socket, ASKED)?;
    }
    // Who has something unacknowledged is not asked: then this is what notices.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    sockopt::set_tcp_user_timeout(socket, UNTAKEN)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, future::poll_immediate};

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_gives_way_to_who_comes() {
        let connections = Connections::new(100);
        let mut places = Vec::new();
        for _ in 0..25 {
            places.push(connections.place().await);
        }
        // There are places, but no more strangers may come for a moment.
        let began = Instant::now();
        assert!(poll_immediate(connections.place()).await.is_none());
        let next = connections.place().await;
        assert!(began.elapsed() >= GRACE, "{:?}", began.elapsed());
        places[0].gives_way().await;
        assert!(places[1].gives_way().now_or_never().is_none());
        // One that is let in makes room at once, and gives way to nobody.
        places[1].let_in();
        let other = connections.place().now_or_never();
        assert!(other.is_some());
        connections.place().await;
        assert!(places[1].gives_way().now_or_never().is_none());
        places[2].gives_way().await;
        drop((next, other, places));
        assert_eq!(connections.state().open, 0);
        assert!(connections.state().strangers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_gives_way_to_one() {
        let connections = Connections::new(16);
        let mut places = Vec::new();
        for _ in 0..16 {
            places.push(connections.place().await);
        }
        let comes = tokio::spawn({
            let connections = Arc::clone(&connections);
            async move { connections.place().await }
        });
        tokio::time::sleep(GRACE * 9).await;
        assert!(places[0].gives_way().now_or_never().is_some());
        assert!(places[1].gives_way().now_or_never().is_none());
        places.remove(0);
        comes.await.unwrap();
        assert!(connections.state().leaving.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_never_more_than_places() {
        let connections = Connections::new(20);
        let mut places = Vec::new();
        for _ in 0..20 {
            let place = connections.place().await;
            place.let_in();
            places.push(place);
        }
        let came = tokio::time::timeout(GRACE * 60, connections.place()).await;
        assert!(came.is_err());
        let waits = tokio::spawn({
            let connections = Arc::clone(&connections);
            async move { connections.place().await }
        });
        tokio::task::yield_now().await;
        places.pop();
        waits.await.unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_peer_that_vanished_is_noticed() {
        use rustix::net::sockopt;

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (socket, _) = accepted.unwrap();
        prepare(&socket);
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), SILENT);
        assert_eq!(sockopt::tcp_keepintvl(&socket).unwrap(), BETWEEN);
        assert_eq!(sockopt::tcp_keepcnt(&socket).unwrap(), ASKED);
        assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), UNTAKEN);
        assert!(socket.nodelay().unwrap());
    }
}
