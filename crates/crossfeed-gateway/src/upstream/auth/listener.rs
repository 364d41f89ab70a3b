//! Where a browser comes back to.
//!
//! What comes in: requests to this computer, from whichever program makes them. What goes out: the one
//! that a login waits for. Whatever else comes is turned away and changes nothing.

use reqwest::Url;
use std::{io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// What a request may hold: browsers send cookies of other programs on this host.
const MAX_REQUEST_BYTES: usize = 64 << 10;
/// How long one connection may take: browsers open some that say nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Listener {
    listener: TcpListener,
    pub(super) address: Url,
}

/// What the authorization server said by way of the browser.
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
            let (mut stream, _) = self.listener.accept().await?;
            let answer = timeout(READ_TIMEOUT, self.read(&mut stream)).await;
            let answer = answer.ok().flatten();
            let answer = answer.filter(|answer| answer.state.as_deref() == Some(state));
            let told = timeout(READ_TIMEOUT, async {
                let (status, text) = match &answer {
                    Some(answer) if answer.code.is_some() => ("200 OK", "You are logged in."),
                    Some(_) => ("200 OK", "The login was refused."),
                    None => ("400 Bad Request", "This is not what was waited for."),
                };
                let page = format!("{text} You can close this page.\n");
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
                     cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
                    page.len()
                );
                // Whether the person sees it does not matter to what was said.
                drop(stream.write_all(format!("{head}{page}").as_bytes()).await);
                drop(stream.shutdown().await);
            });
            drop(told.await);
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }

    async fn read(&self, stream: &mut TcpStream) -> Option<Answer> {
        let mut head = Vec::new();
        let mut chunk = [0; 4096];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let read = stream.read(&mut chunk).await.ok()?;
            if read == 0 || head.len() > MAX_REQUEST_BYTES {
                return None;
            }
            head.extend_from_slice(&chunk[..read]);
        }
        let head = String::from_utf8(head).ok()?;
        let target = head.strip_prefix("GET ")?.split(' ').next()?;
        let url = self.address.join(target).ok()?;
        if url.origin() != self.address.origin() || url.path() != self.address.path() {
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
            // One of each: of two, nobody knows which was meant.
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
