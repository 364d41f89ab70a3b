//! A connection between the gateway and a server over HTTP that can be cut, held up and refused.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::history::{Event, History};
use crate::seed::Seed;

/// How many connections of a hundred are cut.
const CUT: u64 = 8;
/// A cut happens within this many bytes, which is where small requests and answers end.
const CUT_WITHIN: u64 = 4_096;

/// A proxy in front of one server.
pub(crate) struct Proxy {
    name: String,
    address: SocketAddr,
    upstream: AtomicU16,
    refuses: AtomicBool,
    cuts: AtomicBool,
    history: Arc<History>,
    seed: Seed,
}

impl Proxy {
    /// Listens on a free port, and passes connections on to the server at `upstream`.
    pub(crate) async fn start(
        name: &str,
        upstream: u16,
        history: Arc<History>,
        seed: Seed,
    ) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Arc::new(Proxy {
            name: name.to_owned(),
            address: listener.local_addr()?,
            upstream: AtomicU16::new(upstream),
            refuses: AtomicBool::new(false),
            cuts: AtomicBool::new(false),
            history,
            seed,
        });
        tokio::spawn(Arc::clone(&proxy).listen(listener));
        Ok(proxy)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The server is at another port from now on.
    pub(crate) fn lead_to(&self, port: u16) {
        self.upstream.store(port, Ordering::Relaxed);
    }

    /// Refuses connections, or takes them again.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Cuts some connections, or none.
    pub(crate) fn cut(&self, cuts: bool) {
        self.cuts.store(cuts, Ordering::Relaxed);
    }

    async fn listen(self: Arc<Self>, listener: TcpListener) {
        let mut listener = Some(listener);
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            if self.refuses.load(Ordering::Relaxed) {
                // Nobody listens there, so that the system refuses.
                listener = None;
                connections.abort_all();
                sleep(Duration::from_millis(20)).await;
                continue;
            }
            let Some(open) = &listener else {
                listener = TcpListener::bind(self.address).await.ok();
                sleep(Duration::from_millis(5)).await;
                continue;
            };
            if let Ok(Ok((stream, _))) = timeout(Duration::from_millis(50), open.accept()).await {
                connections.spawn(Arc::clone(&self).pass(stream));
            }
        }
    }

    async fn pass(self: Arc<Self>, client: TcpStream) {
        let upstream = ("127.0.0.1", self.upstream.load(Ordering::Relaxed));
        let Ok(server) = TcpStream::connect(upstream).await else {
            return;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (mut up, mut down) = (u64::MAX, u64::MAX);
        if self.cuts.load(Ordering::Relaxed) && self.seed.chance(CUT) {
            let at = self.seed.below(CUT_WITHIN);
            let direction = if self.seed.chance(50) {
                up = at;
                "to the server"
            } else {
                down = at;
                "to the gateway"
            };
            self.history.add(Event::Injected {
                fault: format!("cut {direction}"),
                target: self.name.clone(),
            });
        }
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        tokio::select! {
            () = copy(client_read, server_write, up) => {}
            () = copy(server_read, client_write, down) => {}
        }
    }
}

/// Copies until either side ends or so many bytes have passed.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut left: u64) {
    let mut buffer = vec![0; 16 << 10];
    while left > 0 {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            break;
        };
        let passed = read.min(usize::try_from(left).unwrap_or(usize::MAX));
        if to.write_all(&buffer[..passed]).await.is_err() {
            break;
        }
        left -= passed as u64;
    }
}
