//! A balancer in front of replicas: one replica for each request, in turn, whatever session it belongs to.
//!
//! It passes streams on as they come, and sends no request twice once a replica may have bytes of it. Connections to replicas
//! stay open, and are used for as long as they are, whatever a replica says of its readiness; other replicas that are not
//! ready, or refuse the connection, are left out. Where one is cut off before it answers, that is 502.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufStream};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::history::{Event, History};
use crate::key::keys;
use crate::wire::{Framing, Head, read_body, read_head, read_piece};

/// How often replicas are asked whether they are ready, and how long they may take to say so.
const WATCH: Duration = Duration::from_millis(250);
const WATCH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection to a replica may be idle, and how many of them are kept: as in `deploy/nginx.conf`.
const IDLE: Duration = Duration::from_secs(20);
const MAX_KEPT: usize = 32;
/// The header of each answer that names the replica which took the request.
pub(crate) const TAKEN_BY: &str = "taken-by";
/// What is said where a replica was cut off before it answered.
pub(crate) const BAD_GATEWAY: u16 = 502;

/// A replica, as the balancer sees it.
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) port: u16,
    is_ready: AtomicBool,
    /// Connections without a request, and since when.
    kept: Mutex<VecDeque<(Instant, BufStream<TcpStream>)>>,
}

impl Upstream {
    pub(crate) fn new(name: String, port: u16) -> Arc<Self> {
        Arc::new(Self {
            name,
            port,
            is_ready: AtomicBool::new(false),
            kept: Mutex::default(),
        })
    }

    /// A connection that was kept, and that the replica has not ended.
    fn kept(&self) -> Option<BufStream<TcpStream>> {
        loop {
            let (since, mut stream) = self.kept.lock().pop_front()?;
            // Nothing is to come before a request; an end is there at once.
            let is_quiet = stream.fill_buf().now_or_never().is_none();
            if is_quiet && since.elapsed() < IDLE {
                return Some(stream);
            }
        }
    }

    fn keep(&self, stream: BufStream<TcpStream>) {
        let mut kept = self.kept.lock();
        kept.push_back((Instant::now(), stream));
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    async fn watch(self: Arc<Self>) {
        loop {
            let asked = timeout(WATCH_TIMEOUT, self.says_ready()).await;
            let is_ready = matches!(asked, Ok(Ok(true)));
            self.is_ready.store(is_ready, Ordering::Relaxed);
            sleep(WATCH).await;
        }
    }

    async fn says_ready(&self) -> io::Result<bool> {
        let status = match self.status_of("/readyz").await? {
            // A version without it.
            404 => self.status_of("/healthz").await?,
            status => status,
        };
        Ok(status == 200)
    }

    async fn status_of(&self, path: &str) -> io::Result<u16> {
        let mut stream = self.connect().await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        Ok(read_head(&mut stream).await?.unwrap_or_default().status())
    }

    async fn connect(&self) -> io::Result<BufStream<TcpStream>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(BufStream::new(stream))
    }
}

/// The balancer.
pub(crate) struct RoundRobin {
    upstreams: Vec<Arc<Upstream>>,
    next: AtomicUsize,
    history: Arc<History>,
}

/// A client's connection.
struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Connection {
    /// Ends where the client goes away.
    async fn gone(reader: &mut BufReader<OwnedReadHalf>) {
        if reader.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
            // Its next request, which waits.
            std::future::pending::<()>().await;
        }
    }

    async fn say(&mut self, status: u16, headers: &str) -> io::Result<()> {
        let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n{headers}\r\n");
        self.writer.write_all(head.as_bytes()).await
    }
}

impl RoundRobin {
    /// Listens on a free port, which it gives.
    pub(crate) async fn start(
        upstreams: Vec<Arc<Upstream>>,
        history: Arc<History>,
    ) -> io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        for upstream in &upstreams {
            tokio::spawn(Arc::clone(upstream).watch());
        }
        let balancer = Arc::new(Self {
            upstreams,
            next: AtomicUsize::new(0),
            history,
        });
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let balancer = Arc::clone(&balancer);
                tokio::spawn(async move { balancer.serve(stream).await });
            }
        });
        Ok(port)
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        let mut client = Connection {
            reader: BufReader::new(reader),
            writer,
        };
        while let Some(head) = read_head(&mut client.reader).await? {
            let body = read_body(&mut client.reader, head.framing()).await?;
            self.pass(&mut client, &head, &body).await?;
        }
        Ok(())
    }

    /// The next replica with a connection, or that is ready and takes one.
    async fn connect(&self) -> Option<(&Upstream, BufStream<TcpStream>)> {
        for _ in &self.upstreams {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.upstreams.len();
            let upstream = &self.upstreams[turn];
            if let Some(stream) = upstream.kept() {
                return Some((upstream, stream));
            }
            if !upstream.is_ready() {
                continue;
            }
            match upstream.connect().await {
                Ok(stream) => return Some((upstream, stream)),
                Err(_) => upstream.is_ready.store(false, Ordering::Relaxed),
            }
        }
        None
    }

    /// Passes on one request and what answers it. An error closes the client's connection.
    async fn pass(&self, client: &mut Connection, head: &Head, body: &[u8]) -> io::Result<()> {
        let Some((upstream, mut stream)) = self.connect().await else {
            return client.say(503, "Retry-After: 1\r\n").await;
        };
        for key in keys(&String::from_utf8_lossy(body)) {
            self.history.add(Event::Passed {
                key,
                replica: upstream.name.clone(),
            });
        }
        let taken_by = format!("{TAKEN_BY}: {}\r\n", upstream.name);
        let request = [head.passed_on().as_bytes(), b"\r\n", body].concat();
        let answered = async {
            stream.write_all(&request).await?;
            stream.flush().await?;
            read_head(&mut stream).await
        };
        let response = tokio::select! {
            response = answered => response,
            () = Connection::gone(&mut client.reader) => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        let Ok(Some(response)) = response else {
            return client.say(BAD_GATEWAY, &taken_by).await;
        };
        let mut framing = response.framing();
        let is_chunked = framing == Framing::Chunked;
        let mut begin = response.passed_on() + &taken_by;
        if is_chunked {
            begin.push_str("Transfer-Encoding: chunked\r\n");
        }
        begin.push_str("\r\n");
        client.writer.write_all(begin.as_bytes()).await?;
        loop {
            let piece = tokio::select! {
                piece = read_piece(&mut stream, &mut framing) => piece?,
                () = Connection::gone(&mut client.reader) => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            let Some(piece) = piece else {
                break;
            };
            let bytes = if is_chunked { chunk(&piece) } else { piece };
            client.writer.write_all(&bytes).await?;
        }
        if is_chunked {
            client.writer.write_all(b"0\r\n\r\n").await?;
        }
        if response.header("connection") != Some("close") {
            upstream.keep(stream);
        }
        Ok(())
    }
}

fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{sleep, timeout};

    use super::{RoundRobin, TAKEN_BY, Upstream};
    use crate::history::{Event, History};
    use crate::wire::{read_body, read_head};

    const READY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    /// A replica that is ready, and answers every other request with these bytes before it closes the connection.
    async fn replica(name: &str, answer: &'static str) -> Arc<Upstream> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let head = read_head(&mut stream).await.unwrap().unwrap();
                    read_body(&mut stream, head.framing()).await.unwrap();
                    let is_watch = head.start.contains("/readyz");
                    let bytes = if is_watch { READY } else { answer };
                    stream.get_mut().write_all(bytes.as_bytes()).await.unwrap();
                    if !is_watch && answer.contains("chunked") {
                        // What has come is passed on before the end.
                        sleep(Duration::from_secs(60)).await;
                    }
                });
            }
        });
        Upstream::new(name.to_owned(), port)
    }

    async fn balancer(upstreams: &[Arc<Upstream>]) -> (u16, Arc<History>) {
        let history = Arc::new(History::default());
        let port = RoundRobin::start(upstreams.to_vec(), Arc::clone(&history));
        let port = port.await.unwrap();
        while !upstreams.iter().all(|upstream| upstream.is_ready()) {
            sleep(Duration::from_millis(10)).await;
        }
        (port, history)
    }

    async fn ask(port: u16) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let body = "key:ada.web1.1.0000000a;";
        let length = body.len();
        let request = format!("POST /mcp HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    async fn status(port: u16) -> u16 {
        answer(port).await.0
    }

    /// The status, and which replica took the request.
    async fn answer(port: u16) -> (u16, Option<String>) {
        let mut stream = ask(port).await;
        let head = read_head(&mut stream).await.unwrap().unwrap();
        (head.status(), head.header(TAKEN_BY).map(str::to_owned))
    }

    #[tokio::test]
    async fn replicas_take_turns_and_a_request_is_sent_once() {
        let upstreams = [
            replica(
                "replica 1",
                "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            )
            .await,
            // It reads the request and is gone.
            replica("replica 2", "").await,
        ];
        let (port, history) = balancer(&upstreams).await;
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(answer(port).await);
        }
        let [first, second] = ["replica 1", "replica 2"].map(|name| Some(name.to_owned()));
        let both = [(202, first), (502, second)];
        assert_eq!(answers, [both.clone(), both].concat());
        let passed = history.take().into_moments().into_iter();
        let passed: Vec<String> = passed
            .filter_map(|moment| match moment.event {
                Event::Passed { replica, .. } => Some(replica),
                _ => None,
            })
            .collect();
        assert_eq!(passed, ["replica 1", "replica 2", "replica 1", "replica 2"]);
    }

    #[tokio::test]
    async fn connections_are_used_until_the_replica_ends_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let upstream = Upstream::new("replica 1".to_owned(), port);
        upstream.is_ready.store(true, Ordering::Relaxed);
        let balancer = RoundRobin {
            upstreams: vec![Arc::clone(&upstream)],
            next: AtomicUsize::new(0),
            history: Arc::default(),
        };
        let (_, stream) = balancer.connect().await.unwrap();
        let (mut first, _) = listener.accept().await.unwrap();
        upstream.keep(stream);
        // Balancers without health checks go on so.
        upstream.is_ready.store(false, Ordering::Relaxed);
        let (_, mut stream) = balancer.connect().await.unwrap();
        stream.write_all(b"x").await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(first.read(&mut [0; 8]).await.unwrap(), 1);
        upstream.keep(stream);
        drop(first);
        sleep(Duration::from_millis(50)).await;
        assert!(balancer.connect().await.is_none());
    }

    #[tokio::test]
    async fn a_replica_that_refuses_connections_is_left_out() {
        let up = replica(
            "replica 1",
            "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
        let (port, _) = balancer(&[up]).await;
        assert_eq!(status(port).await, 202);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let down = Upstream::new(
            "replica 2".to_owned(),
            listener.local_addr().unwrap().port(),
        );
        drop(listener);
        let history = Arc::new(History::default());
        let port = RoundRobin::start(vec![down], history).await.unwrap();
        assert_eq!(status(port).await, 503);
    }

    #[tokio::test]
    async fn streams_are_passed_on_as_they_come() {
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
        let (port, _) = balancer(&[replica("replica 1", answer).await]).await;
        let mut stream = ask(port).await;
        let head = read_head(&mut stream).await.unwrap().unwrap();
        assert!(head.is_stream());
        let mut bytes = [0; 10];
        let read = timeout(Duration::from_secs(10), stream.read_exact(&mut bytes));
        read.await.unwrap().unwrap();
        assert_eq!(&bytes, b"5\r\nhello\r\n");
    }
}
