//! A connection to a server that can be slow, silent or cut.

use crate::Problem;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::sleep,
};

/// How a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weather {
    /// As without a proxy.
    Fair,
    /// Each piece takes a while.
    Slow,
    /// Connections stay, and nothing passes.
    Silent,
    /// Connections are cut, after some bytes of the next answer, and none are taken.
    Cut,
}

/// A proxy in front of a server, until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    weather: Arc<watch::Sender<Weather>>,
}

/// How long a piece takes in slow weather.
const SLOW: Duration = Duration::from_millis(15);
/// Bytes of an answer that pass before a connection is cut.
const CUT_AFTER: usize = 7;

impl Proxy {
    /// Listens on a free port of loopback, and passes on to this one.
    ///
    /// # Errors
    ///
    /// When it cannot listen.
    pub async fn start(to: u16) -> Result<Self, Problem> {
        let failed = |error: std::io::Error| error.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let weather = Arc::new(watch::Sender::new(Weather::Fair));
        // The task ends with the sender: it holds only a receiver.
        tokio::spawn(listen(listener, to, weather.subscribe()));
        Ok(Self { port, weather })
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes how all connections are from now on.
    pub fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }
}

async fn listen(listener: TcpListener, to: u16, weather: watch::Receiver<Weather>) {
    let mut ends = weather.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                tokio::spawn(pass(client, to, weather.clone()));
            }
            () = async { while ends.changed().await.is_ok() {} } => return,
        }
    }
}

async fn pass(client: TcpStream, to: u16, weather: watch::Receiver<Weather>) {
    if *weather.borrow() == Weather::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    tokio::select! {
        () = copy(client_read, server_write, weather.clone()) => {}
        () = copy(server_read, client_write, weather) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let now = *weather.borrow_and_update();
        match now {
            Weather::Fair => {}
            Weather::Slow => sleep(SLOW).await,
            Weather::Silent => {
                // Until it changes; the proxy may end first.
                if weather
                    .wait_for(|now| *now != Weather::Silent)
                    .await
                    .is_err()
                {
                    return;
                }
            }
            Weather::Cut => {
                let _ = to.write_all(&buffer[..read.min(CUT_AFTER)]).await;
                return;
            }
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
