//! Requests of a login: to authorization servers, and for metadata of servers.
//!
//! Most of the addresses come from a server. Redirections are not followed, unencrypted requests go to this computer
//! only, and only a server on this computer, or in its network, may send the gateway to addresses there.

use crate::upstream::{UpstreamError, http::wire};
use bytes::BytesMut;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use std::{net::IpAddr, pin::Pin, time::Duration};
use tokio::time::timeout;

/// What a document may hold.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// How long an authorization server may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a document cannot be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The address is neither `https` nor on this computer.
    #[error("its address is neither https nor on this computer")]
    Unsafe,
    /// The address is nearer to the gateway than the server that leads to it.
    #[error("its address is on this computer or in its network, and the server is not")]
    TooNear,
    /// The server did not answer.
    #[error("{0}")]
    Unreachable(String),
    /// The answer has a status of failure.
    #[error("HTTP {0}")]
    Status(u16),
    /// The answer is not what was asked for.
    #[error("it has no readable text")]
    Unreadable,
}

/// Requests that a server leads to.
pub(super) struct Fetch {
    client: Client,
    server: Distance,
}

impl Fetch {
    /// On behalf of what this server says.
    pub(super) fn new(server: &Url) -> Result<Self, UpstreamError> {
        Ok(Self {
            client: wire::client(true)?,
            server: Distance::from_url(server),
        })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Whether this may be asked.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        check(url)?;
        if Distance::from_url(url) < self.server {
            return Err(FetchError::TooNear);
        }
        Ok(())
    }

    pub(super) async fn json<T: DeserializeOwned>(&self, url: Url) -> Result<T, FetchError> {
        self.check(&url)?;
        read(self.client.get(url)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: Url,
        body: &serde_json::Value,
    ) -> Result<T, FetchError> {
        self.check(&url)?;
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json");
        read(request.body(body.to_string())).await
    }

    async fn oauth(&self, request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|_| FetchError::Unsafe)?;
        self.check(&url)?;
        let request = self.client.request(parts.method, url);
        let response = send(request.headers(parts.headers).body(body)).await?;
        let mut answer = oauth2::http::Response::builder().status(response.status());
        if let Some(kind) = response.headers().get("content-type") {
            answer = answer.header("content-type", kind);
        }
        let body = whole(response).await?;
        answer
            .body(body.to_vec())
            .map_err(|_| FetchError::Unreadable)
    }
}

/// What the OAuth library sends its requests by.
impl<'c> AsyncHttpClient<'c> for Fetch {
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, FetchError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.oauth(request))
    }
}

/// Where an address leads, as far as its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// This computer.
    Here,
    /// A private network.
    Near,
    Anywhere,
}

impl Distance {
    fn from_url(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let name = host.trim_end_matches('.');
        if name == "localhost" || name.ends_with(".localhost") {
            return Self::Here;
        }
        let Some(address) = ip(url).map(|address| address.to_canonical()) else {
            return Self::Anywhere;
        };
        let is_near = match address {
            IpAddr::V4(address) => address.is_private() || address.is_link_local(),
            IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
        };
        if address.is_loopback() || address.is_unspecified() {
            Self::Here
        } else if is_near {
            Self::Near
        } else {
            Self::Anywhere
        }
    }
}

/// Refuses addresses on whose way others could read tokens.
pub(in crate::upstream) fn check(url: &Url) -> Result<(), FetchError> {
    let is_here =
        || url.host_str() == Some("localhost") || ip(url).is_some_and(|ip| ip.is_loopback());
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here() => Ok(()),
        _ => Err(FetchError::Unsafe),
    }
}

fn ip(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

pub(super) async fn send(request: reqwest::RequestBuilder) -> Result<Response, FetchError> {
    match timeout(FETCH_TIMEOUT, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(FetchError::Unreachable(wire::cause(&error))),
        Err(_) => Err(FetchError::Unreachable("it takes too long".to_owned())),
    }
}

async fn read<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, FetchError> {
    let response = send(request.header("accept", "application/json")).await?;
    if !response.status().is_success() {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    let body = whole(response).await?;
    serde_json::from_slice(&body).map_err(|_| FetchError::Unreadable)
}

/// A document, also where the connection ends without a word: it is judged by what came.
async fn whole(mut response: Response) -> Result<BytesMut, FetchError> {
    let mut body = BytesMut::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                return false;
            }
            body.extend_from_slice(&chunk);
        }
        true
    };
    let is_read = timeout(FETCH_TIMEOUT, read).await;
    if is_read == Ok(true) {
        Ok(body)
    } else {
        Err(FetchError::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_nearer_than_the_server_is() {
        #[track_caller]
        fn check(server: &str, url: &str, expected: Result<(), FetchError>) {
            let fetch = Fetch {
                client: wire::client(false).unwrap(),
                server: Distance::from_url(&Url::parse(server).unwrap()),
            };
            assert_eq!(fetch.check(&Url::parse(url).unwrap()), expected, "{url}");
        }
        let far = "https://tools.example/mcp";
        check(far, "https://login.example/token", Ok(()));
        check(far, "http://login.example/token", Err(FetchError::Unsafe));
        for url in [
            "http://127.0.0.1:2375/x",
            "http://localhost/",
            "http://[::1]/",
            "https://a.localhost/",
            "https://0.0.0.0/",
            "https://[::ffff:127.0.0.1]/",
            "https://10.0.0.1/",
            "https://192.168.1.1/",
            "https://169.254.169.254/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
        ] {
            check(far, url, Err(FetchError::TooNear));
        }
        check("https://10.0.0.2/", "https://10.0.0.1/", Ok(()));
        check(
            "https://10.0.0.2/",
            "https://127.0.0.1/",
            Err(FetchError::TooNear),
        );
        check("http://localhost:1/", "http://127.0.0.1:2/", Ok(()));
        check(
            "http://localhost:1/",
            "http://10.0.0.1/",
            Err(FetchError::Unsafe),
        );
    }
}
