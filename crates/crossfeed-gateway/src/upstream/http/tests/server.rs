//! A server of HTTP that does what a test says, to the byte.

use parking_lot::Mutex;
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
    /// How many came before it.
    pub(super) number: usize,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What is written, and when.
pub(super) enum Part {
    Text(String),
    /// So many times.
    Often(String, usize),
    /// Until somebody says so.
    Until(Arc<Notify>),
    /// Until the client has gone, which is said.
    UntilGone(Arc<Notify>),
}

pub(super) type Reply = Vec<Part>;

/// An answer of this status, type and text; its connection is closed behind it.
pub(super) fn reply(status: u16, kind: &str, text: &str) -> Reply {
    with(
        status,
        &format!("content-type: {kind}\r\ncontent-length: {}", text.len()),
        text,
    )
}

/// An answer with these headers.
pub(super) fn with(status: u16, headers: &str, text: &str) -> Reply {
    vec![Part::Text(format!(
        "HTTP/1.1 {status} x\r\nconnection: close\r\n{headers}\r\n\r\n{text}"
    ))]
}

pub(super) fn json(text: &str) -> Reply {
    reply(200, "application/json", text)
}

/// A stream that begins so.
pub(super) fn stream(text: &str) -> Reply {
    with(200, "content-type: text/event-stream", text)
}

pub(super) fn accepted() -> Reply {
    with(202, "content-length: 0", "")
}

/// A server, until it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) requests: Arc<Mutex<Vec<Request>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn serve(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
            tokio::spawn(async move {
                one(stream, &*answer, &seen).await;
            });
        }
    });
    Server {
        address,
        requests,
        task,
    }
}

async fn one(
    mut stream: TcpStream,
    answer: &(dyn Fn(&Request) -> Reply + Send + Sync),
    seen: &Mutex<Vec<Request>>,
) -> Option<()> {
    let mut request = read(&mut stream).await?;
    let parts = {
        let mut seen = seen.lock();
        request.number = seen.len();
        seen.push(request.clone());
        drop(seen);
        answer(&request)
    };
    for part in parts {
        match part {
            Part::Text(text) => stream.write_all(text.as_bytes()).await.ok()?,
            Part::Often(text, times) => {
                for _ in 0..times {
                    stream.write_all(text.as_bytes()).await.ok()?;
                }
            }
            Part::Until(notify) => notify.notified().await,
            Part::UntilGone(notify) => {
                let read = stream.read_u8().await;
                assert!(read.is_err(), "one request on a connection");
                notify.notify_one();
            }
        }
    }
    stream.shutdown().await.ok()
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request {
        method,
        path,
        headers,
        body: String::from_utf8(body).unwrap(),
        number: 0,
    })
}
