//! Requests of a login: to authorization servers, and for what servers say of themselves.
//!
//! What comes in: addresses, most of them said by a server. What goes out: small documents. Redirections
//! are not followed, and what is not encrypted is asked of this computer only.

use crate::upstream::{UpstreamError, http::wire};
use bytes::BytesMut;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use std::{net::IpAddr, pin::Pin, time::Duration};
use tokio::time::timeout;

/// What a document may hold.
const DOCUMENT: usize = 1 << 20;
/// How long an authorization server may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a document cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The address is no `https` and none of this computer.
    #[error("its address is neither https nor on this computer")]
    Unsafe,
    /// There is no answer.
    #[error("{0}")]
    Unreachable(String),
    /// The answer says no.
    #[error("HTTP {0}")]
    Status(u16),
    /// The answer is not what was asked for.
    #[error("it says nothing that can be read")]
    Unreadable,
}

pub(super) struct Fetch(Client);

impl Fetch {
    pub(super) fn new() -> Result<Self, UpstreamError> {
        Ok(Self(wire::client(true)?))
    }

    pub(super) fn client(&self) -> &Client {
        &self.0
    }

    pub(super) async fn json<T: DeserializeOwned>(&self, url: Url) -> Result<T, FetchError> {
        check(&url)?;
        let request = self.0.get(url).header("accept", "application/json");
        read(request).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: Url,
        body: &serde_json::Value,
    ) -> Result<T, FetchError> {
        check(&url)?;
        let request = self
            .0
            .post(url)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        read(request.body(body.to_string())).await
    }

    async fn oauth(&self, request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|_| FetchError::Unsafe)?;
        check(&url)?;
        let request = self.0.request(parts.method, url);
        let response = send(request.headers(parts.headers).body(body)).await?;
        let mut answer = oauth2::http::Response::builder().status(response.status());
        if let Some(kind) = response.headers().get("content-type") {
            answer = answer.header("content-type", kind);
        }
        let body = whole(response).await?;
        answer.body(body).map_err(|_| FetchError::Unreadable)
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

/// Tokens and what leads to them are not sent for everybody to read.
pub(super) fn check(url: &Url) -> Result<(), FetchError> {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost"
        || address
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        _ => Err(FetchError::Unsafe),
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<Response, FetchError> {
    match timeout(PATIENCE, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(FetchError::Unreachable(wire::cause(&error))),
        Err(_) => Err(FetchError::Unreachable("it takes too long".to_owned())),
    }
}

async fn read<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, FetchError> {
    let response = send(request).await?;
    if !response.status().is_success() {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    let body = whole(response).await?;
    serde_json::from_slice(&body).map_err(|_| FetchError::Unreadable)
}

async fn whole(mut response: Response) -> Result<Vec<u8>, FetchError> {
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            if body.len() + chunk.len() > DOCUMENT {
                return Err(FetchError::Unreadable);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(())
    };
    timeout(PATIENCE, reading)
        .await
        .map_err(|_| FetchError::Unreadable)??;
    Ok(body.to_vec())
}
