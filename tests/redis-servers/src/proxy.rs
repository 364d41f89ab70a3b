//! A connection to a server that can be slow, silent or cut.

use crate::Problem;
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
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
    /// Connections stay, and requests pass; answers are kept back.
    Unanswered,
    /// Connections are cut, after some bytes of what is said next, and none are taken.
    Cut,
}

/// A proxy in front of a server, until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<watch::Sender<State>>,
    task: JoinHandle<()>,
}

/// Where servers of a group come from, by which a proxy tells them from clients.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

#[derive(Debug)]
struct State {
    /// Of clients, and of other servers.
    weather: [Weather; 2],
    /// Bytes of answers that still pass until a connection is cut.
    left: Option<usize>,
    cuts: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Requests,
    Answers,
}

/// How long a piece takes in slow weather.
const SLOW: Duration = Duration::from_millis(15);
/// Bytes that pass before a connection is cut, where a test has not said how many.
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
        let state = Arc::new(watch::Sender::new(State {
            weather: [Weather::Fair; 2],
            left: None,
            cuts: 0,
        }));
        let task = tokio::spawn(listen(listener, to, Arc::clone(&state)));
        Ok(Self { port, state, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Changes how all connections are from now on.
    pub fn set(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather = [weather; 2]);
    }

    /// Changes how connections from other servers of a [group](crate::Replicated) are from now on.
    pub fn set_for_servers(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather[1] = weather);
    }

    /// Cuts a connection once, after so many bytes more of answers.
    pub fn cut_after(&self, bytes: usize) {
        self.state.send_modify(|state| state.left = Some(bytes));
    }

    /// How often connections were cut since the start as [`cut_after`](Self::cut_after) said.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.state.borrow().cuts
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connections end with this task.
async fn listen(listener: TcpListener, to: u16, state: Arc<watch::Sender<State>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                connections.spawn(pass(client, to, Arc::clone(&state)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn pass(client: TcpStream, to: u16, state: Arc<watch::Sender<State>>) {
    let from = client.peer_addr().map(|address| address.ip());
    let from = usize::from(from.is_ok_and(|from| from == PEER));
    if state.borrow().weather[from] == Weather::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    tokio::select! {
        () = copy(from, Way::Requests, client_read, server_write, &state) => {}
        () = copy(from, Way::Answers, server_read, client_write, &state) => {}
    }
}

async fn copy(
    client: usize,
    way: Way,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &watch::Sender<State>,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let passes = |state: &State| match state.weather[client] {
            Weather::Silent => false,
            Weather::Unanswered => way == Way::Requests,
            Weather::Fair | Weather::Slow | Weather::Cut => true,
        };
        let weather = match state.subscribe().wait_for(passes).await {
            Ok(state) => state.weather[client],
            Err(_) => return,
        };
        let mut cut = (weather == Weather::Cut).then_some(CUT_AFTER.min(read));
        if weather == Weather::Slow {
            sleep(SLOW).await;
        }
        if way == Way::Answers {
            state.send_if_modified(|state| {
                match state.left {
                    Some(left) if left <= read => {
                        cut = Some(left);
                        state.left = None;
                        state.cuts += 1;
                    }
                    Some(left) => state.left = Some(left - read),
                    None => {}
                }
                // Nobody waits for this.
                false
            });
        }
        let written = to.write_all(&buffer[..cut.unwrap_or(read)]).await;
        if cut.is_some() || written.is_err() {
            return;
        }
    }
}
