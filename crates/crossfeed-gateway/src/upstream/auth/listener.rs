//! Receives the browser that comes back from the authorization server.
//!
//! Any program on this computer can send requests here: all but the one that a login waits for are refused and change
//! nothing.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    header::{CACHE_CONTROL, CONTENT_TYPE, REFERRER_POLICY},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use reqwest::Url;
use std::{future::ready, io, time::Duration};
use tokio::{net::TcpListener, time::timeout};

/// What a request may hold: browsers send cookies of other programs on this host.
const MAX_REQUEST_BYTES: usize = 64 << 10;
/// How long one connection may take: browsers open some that say nothing.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Listener {
    listener: TcpListener,
    pub(super) address: Url,
}

/// The authorization server's answer, which the browser carries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: Option<String>,
    pub(super) error: Option<String>,
    pub(super) issuer: Option<String>,
    state: Option<String>,
}

impl Listener {
    pub(super) async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let address = Url::parse(&format!("http://127.0.0.1:{port}/callback"));
        Ok(Self {
            listener,
            address: address.map_err(io::Error::other)?,
        })
    }

    /// Waits for the answer that has this state.
    pub(super) async fn answer(&self, state: &str) -> io::Result<Answer> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let received = Mutex::new(None);
            let service = service_fn(|request: Request<_>| {
                let answer = self.read(request.method(), request.uri());
                let answer = answer.filter(|answer| answer.state.as_deref() == Some(state));
                let (status, text) = match &answer {
                    Some(answer) if answer.code.is_some() => (StatusCode::OK, "You are logged in."),
                    Some(_) => (StatusCode::OK, "The login was refused."),
                    None => (StatusCode::BAD_REQUEST, "This is not what was waited for."),
                };
                *received.lock() = answer;
                let page = Response::builder()
                    .status(status)
                    .header(CONTENT_TYPE, "text/plain")
                    .header(CACHE_CONTROL, "no-store")
                    .header(REFERRER_POLICY, "no-referrer")
                    .body(Full::<Bytes>::from(format!(
                        "{text} You can close this page.\n"
                    )));
                ready(page)
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .max_buf_size(MAX_REQUEST_BYTES)
                .serve_connection(TokioIo::new(stream), service);
            // Whether the person sees the page does not change the answer.
            drop(timeout(CONNECTION_TIMEOUT, connection).await);
            if let Some(answer) = received.into_inner() {
                return Ok(answer);
            }
        }
    }

    fn read(&self, method: &Method, target: &Uri) -> Option<Answer> {
        let url = self.address.join(&target.to_string()).ok()?;
        if method != Method::GET
            || url.origin() != self.address.origin()
            || url.path() != self.address.path()
        {
            return None;
        }
        let mut answer = Answer::default();
        for (name, value) in url.query_pairs() {
            let slot = match &*name {
                "code" => &mut answer.code,
                "error" => &mut answer.error,
                "iss" => &mut answer.issuer,
                "state" => &mut answer.state,
                _ => continue,
            };
            // A parameter that occurs twice is ambiguous.
            if slot.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    #[tokio::test]
    async fn what_is_said_twice_is_not_believed() {
        let listener = Listener::open().await.unwrap();
        let address = listener.listener.local_addr().unwrap();
        let ask = async {
            for (query, status) in [
                ("code=a&code=b&state=s", 400),
                ("code=a&state=s&state=s", 400),
                ("code=a&iss=x&iss=x&state=s", 400),
                ("code=c&state=s", 200),
            ] {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let head = format!("GET /callback?{query} HTTP/1.1\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut said = String::new();
                stream.read_to_string(&mut said).await.unwrap();
                assert!(
                    said.starts_with(&format!("HTTP/1.1 {status}")),
                    "{query}: {said}"
                );
            }
        };
        let (answer, ()) = tokio::join!(listener.answer("s"), ask);
        assert_eq!(answer.unwrap().code.as_deref(), Some("c"));
    }
}
