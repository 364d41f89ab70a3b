//! Servers that misbehave: one that stands before another and harms what passes, and one that gives prepared answers.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};

/// What a proxy does with what passes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Pass,
    /// Nothing passes any more, and connections stay open.
    Stall,
    /// A connection ends when so many bytes of answers have passed.
    CutAnswers(usize),
    /// A connection ends when so many bytes of requests have passed.
    CutRequests(usize),
    /// Answers pass byte by byte.
    Drip,
}

pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    mode: Arc<Mutex<Mode>>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mode = Arc::new(Mutex::new(Mode::Pass));
        let shared = Arc::clone(&mode);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server, Arc::clone(&shared)));
            }
        });
        Self {
            address,
            mode,
            task,
        }
    }

    pub(super) fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(client: TcpStream, server: SocketAddr, mode: Arc<Mutex<Mode>>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pass(from_client, to_server, &mode, false) => {}
        () = pass(from_server, to_client, &mode, true) => {}
    }
}

/// Passes bytes in one direction until the connection ends.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mode: &Mutex<Mode>,
    are_answers: bool,
) {
    let mut buffer = vec![0; 16 << 10];
    let mut passed = 0;
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let mode = *mode.lock().unwrap();
        let limit = match mode {
            Mode::Stall => return std::future::pending().await,
            Mode::CutAnswers(limit) if are_answers => limit,
            Mode::CutRequests(limit) if !are_answers => limit,
            _ => usize::MAX,
        };
        let piece = match mode {
            Mode::Drip if are_answers => 1,
            _ => count,
        };
        let admitted = count.min(limit.saturating_sub(passed));
        for piece in buffer[..admitted].chunks(piece) {
            if piece.len() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if to.write_all(piece).await.is_err() {
                return;
            }
        }
        passed += admitted;
        if admitted < count {
            return;
        }
    }
}

/// A server that gives each request, by its head, an answer, and then closes the connection.
pub(super) async fn canned(
    answer: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_whole(&request) {
                match client.read(&mut buffer).await {
                    Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let request = String::from_utf8_lossy(&request);
            let _ = client.write_all(answer(&request).as_bytes()).await;
        }
    });
    (address, task)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split_once("content-length: ").map_or(0, |(_, rest)| {
        rest.lines().next().unwrap().parse::<usize>().unwrap()
    });
    request.len() >= head.len() + 4 + length
}

/// An answer of this status line and body.
pub(super) fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}
