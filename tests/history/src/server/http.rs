//! A server over streamable HTTP, of one of the two eras.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::Server;
use super::tools::Wish;
use crate::history::now;
use crate::wire::{Head, read_body, read_head};

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Shared {
    server: Arc<Server>,
    sessions: Mutex<HashSet<String>>,
    next_session: AtomicU64,
}

/// Serves until the process ends. The address that it listens on is the first line of standard output.
pub(super) async fn serve(server: Arc<Server>, address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let mut output = io::stdout();
    writeln!(output, "{}", listener.local_addr()?)?;
    output.flush()?;
    let shared = Arc::new(Shared {
        server,
        sessions: Mutex::default(),
        next_session: AtomicU64::new(now()),
    });
    loop {
        // Without descriptors for a while, it is without work for a while.
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { shared.connection(stream).await });
    }
}

/// What becomes of a connection behind a response.
#[derive(PartialEq, Eq)]
enum Next {
    Keep,
    Close,
}

impl Shared {
    async fn connection(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufStream::new(stream);
        while let Some(head) = read_head(&mut stream).await? {
            let body = read_body(&mut stream, head.framing()).await?;
            let next = match head.start.split(' ').next() {
                Some("POST") => self.post(&mut stream, &head, &body).await?,
                Some("DELETE") => {
                    self.forget(&head);
                    respond(&mut stream, 200, "", b"").await?
                }
                _ => respond(&mut stream, 405, "", b"").await?,
            };
            if next == Next::Close {
                break;
            }
        }
        Ok(())
    }

    async fn post(
        &self,
        stream: &mut BufStream<TcpStream>,
        head: &Head,
        body: &[u8],
    ) -> io::Result<Next> {
        let Ok(message) = serde_json::from_slice::<Value>(body) else {
            return respond(stream, 400, "", b"").await;
        };
        let method = message["method"].as_str().unwrap_or_default();
        let session = head.header("mcp-session-id").unwrap_or_default();
        if !self.server.stateless && !matches!(method, "initialize" | "server/discover") {
            let known = self.sessions.lock().contains(session);
            if !known {
                return respond(stream, 404, "", b"").await;
            }
        }
        let id = &message["id"];
        if id.is_null() {
            self.server.note(&message, session)?;
            return respond(stream, 202, "", b"").await;
        }
        if method == "tools/call" {
            return self.call(stream, head, &message).await;
        }
        let answer = self.server.answer(id, method, &message["params"]);
        let mut headers = String::new();
        if method == "initialize" && !self.server.stateless {
            let number = self.next_session.fetch_add(1, Ordering::Relaxed);
            let session = format!("session-{number}");
            headers = format!("Mcp-Session-Id: {session}\r\n");
            self.sessions.lock().insert(session);
        }
        let status = if answer["error"]["code"] == -32601 && self.server.stateless {
            404
        } else {
            200
        };
        respond(stream, status, &headers, answer.to_string().as_bytes()).await
    }

    async fn call(
        &self,
        stream: &mut BufStream<TcpStream>,
        head: &Head,
        message: &Value,
    ) -> io::Result<Next> {
        let params = &message["params"];
        let wish = Wish::of(params);
        if let Some(status) = wish.fault.strip_suffix("-before")
            && let Some(next) = self.refuse(stream, head, status).await?
        {
            return Ok(next);
        }
        self.server.ran(&wish)?;
        let streamed = wish.progress > 0;
        if let Some(cut) = wish.cut {
            let response = self.response(message, &wish);
            stream
                .write_all(&response[..cut.min(response.len())])
                .await?;
            stream.flush().await?;
            return Ok(Next::Close);
        }
        if streamed {
            stream.write_all(STREAM_HEAD.as_bytes()).await?;
            for progress in wish.progress_messages(params) {
                event(stream, &progress).await?;
            }
            stream.flush().await?;
        }
        sleep(Duration::from_millis(wish.delay)).await;
        let answer = self.server.called(&message["id"], &wish, params);
        match wish.fault.as_str() {
            "die-after" | "cut-after" => {
                let text = answer.to_string();
                if !streamed {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                        text.len()
                    );
                    // Of the other kind nothing is sent at all.
                    if wish.fault == "cut-after" {
                        stream.write_all(head.as_bytes()).await?;
                        stream.write_all(&text.as_bytes()[..text.len() / 2]).await?;
                        stream.flush().await?;
                    }
                }
                return Ok(Next::Close);
            }
            "silent-after" => {
                // Longer than the gateway waits.
                sleep(Duration::from_secs(20)).await;
                return Ok(Next::Close);
            }
            fault if !streamed => {
                if let Some(status) = fault
                    .strip_suffix("-after")
                    .and_then(|text| text.parse().ok())
                {
                    return respond(stream, status, "", b"").await;
                }
                if fault == "invalid-after" {
                    return respond(stream, 200, "", b"{not json}").await;
                }
            }
            _ => {}
        }
        if streamed {
            event(stream, &answer).await?;
            stream.write_all(b"0\r\n\r\n").await?;
            stream.flush().await?;
            return Ok(Next::Keep);
        }
        respond(stream, 200, "", answer.to_string().as_bytes()).await
    }

    /// All bytes of the response to a call.
    fn response(&self, message: &Value, wish: &Wish) -> Vec<u8> {
        let params = &message["params"];
        let answer = self.server.called(&message["id"], wish, params);
        if wish.progress == 0 {
            let body = answer.to_string();
            return format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes();
        }
        let mut text = STREAM_HEAD.to_owned();
        for message in wish.progress_messages(params).iter().chain([&answer]) {
            text.push_str(&chunk(message));
        }
        text.push_str("0\r\n\r\n");
        text.into_bytes()
    }

    /// Refuses a call before it runs. Gives nothing where it shall run after all.
    async fn refuse(
        &self,
        stream: &mut BufStream<TcpStream>,
        head: &Head,
        status: &str,
    ) -> io::Result<Option<Next>> {
        let path = head.start.split(' ').nth(1).unwrap_or_default();
        let next = match status {
            "die" => Next::Close,
            "307" if path.contains("again") => return Ok(None),
            "307" => {
                let place = format!("Location: {path}?again\r\n");
                respond(stream, 307, &place, b"").await?
            }
            "404" => {
                self.forget(head);
                respond(stream, 404, "", b"").await?
            }
            "401" => respond(stream, 401, "WWW-Authenticate: Bearer\r\n", b"").await?,
            "429" => respond(stream, 429, "Retry-After: 1\r\n", b"").await?,
            other => respond(stream, other.parse().unwrap_or(502), "", b"").await?,
        };
        Ok(Some(next))
    }

    fn forget(&self, head: &Head) {
        if let Some(session) = head.header("mcp-session-id") {
            self.sessions.lock().remove(session);
        }
    }
}

async fn respond(
    stream: &mut BufStream<TcpStream>,
    status: u16,
    headers: &str,
    body: &[u8],
) -> io::Result<Next> {
    let head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await?;
    Ok(Next::Keep)
}

async fn event(stream: &mut BufStream<TcpStream>, message: &Value) -> io::Result<()> {
    stream.write_all(chunk(message).as_bytes()).await?;
    stream.flush().await
}

/// An event as a chunk of a body.
fn chunk(message: &Value) -> String {
    let text = format!("data: {message}\n\n");
    format!("{:x}\r\n{text}\r\n", text.len())
}
