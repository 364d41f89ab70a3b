//! A proxy between a store and its server that cuts or holds up what it passes on.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// Bytes of answers until the connection is cut; negative: never.
    left: AtomicI64,
    is_held: AtomicBool,
    cuts: AtomicI64,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            left: AtomicI64::new(-1),
            ..State::default()
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                tokio::spawn(pass(client, server, Arc::clone(&shared)));
            }
        });
        Self {
            address,
            state,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Cuts the connection once, after so many bytes more of answers.
    pub(crate) fn cut_after(&self, bytes: i64) {
        self.state.left.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn cuts(&self) -> i64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Keeps answers back.
    pub(crate) fn hold(&self, is_held: bool) {
        self.state.is_held.store(is_held, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, server: TcpStream, state: Arc<State>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
        while state.is_held.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let left = state.left.load(Ordering::SeqCst);
        let is_cut = left >= 0 && left <= read as i64;
        let passed = if is_cut { left as usize } else { read };
        if to_client.write_all(&buffer[..passed]).await.is_err() {
            break;
        }
        if is_cut {
            state.left.store(-1, Ordering::SeqCst);
            state.cuts.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if left >= 0 {
            state.left.store(left - read as i64, Ordering::SeqCst);
        }
    }
    requests.abort();
}
