//! Requests of HTTP to one server.
//!
//! What comes in: a method, headers, a message. What goes out: an answer, whatever its status, that comes
//! from where the request was to go. Deliberately not here: what an answer says.
//!
//! # What holds
//!
//! - Headers of the configuration and tokens go to the server's own origin and nowhere else: a
//!   redirection to another place is an error.
//! - No address, header or body stands in an error: addresses have keys in them, too.

use crate::{
    message::Message,
    protocol::header as name,
    quota::UNUSED_SOCKETS,
    upstream::{
        UpstreamError,
        auth::{self, Credentials},
    },
};
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use std::{collections::BTreeMap, error::Error as _, sync::Arc, time::Duration};
use tokio::sync::Notify;

/// Redirections that are followed; more of them are a circle.
const MAX_REDIRECTIONS: usize = 3;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept without use: Node's servers close theirs after 5 s, and a request that
/// meets the end of its connection cannot be sent again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Headers that are the transport's own.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    name::LAST_EVENT,
    name::METHOD,
    name::NAME,
    name::VERSION,
    name::SESSION,
    "transfer-encoding",
];

#[derive(Clone)]
pub(super) struct Wire {
    client: Client,
    url: Url,
    headers: HeaderMap,
    credentials: Arc<dyn Credentials>,
}

/// What is posted, and who is told that it was written.
#[derive(Clone, Copy)]
pub(super) struct Posted<'m> {
    pub(super) message: &'m Message,
    pub(super) sent: &'m Arc<Notify>,
}

impl Wire {
    pub(super) fn new(url: Url, headers: HeaderMap) -> Result<Self, UpstreamError> {
        let client = client(url.scheme() == "https")?;
        Ok(Self {
            client,
            url,
            headers,
            credentials: Arc::new(auth::None),
        })
    }

    pub(super) fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = credentials;
        self
    }

    /// The answer to a request; with a status that is none of a redirection, and none of a refusal
    /// that other credentials could help.
    pub(super) async fn request(
        &self,
        method: Method,
        headers: &HeaderMap,
        posted: Option<Posted<'_>>,
    ) -> Result<Response, UpstreamError> {
        let mut url = self.url.clone();
        let mut redirections = 0;
        let mut is_second = false;
        loop {
            let token = self.credentials.authorization().await?;
            let mut request = self
                .client
                .request(method.clone(), url.clone())
                .headers(self.headers.clone())
                .headers(headers.clone());
            if let Some(token) = &token {
                request = request.header(AUTHORIZATION, token.clone());
            }
            if let Some(Posted { message, sent }) = posted {
                request = request.body(super::body::Outgoing::body(message, sent));
            }
            let response = request.send().await.map_err(|error| unanswered(&error))?;
            let status = response.status();
            match status {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    redirections += 1;
                    url = self.redirected(&url, &response, redirections)?;
                }
                // This is how many servers answer what they have done.
                _ if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    return Err(UpstreamError::OutcomeUnknown {
                        cause: Box::new(rejected(status, "its address is another")),
                    });
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    let challenges: Vec<_> = challenges(&response).collect();
                    let refusal = self
                        .credentials
                        .refused(status, &challenges, token.as_ref());
                    refusal.await?;
                    if std::mem::replace(&mut is_second, true) {
                        let reason = format!("HTTP {}: a new token did not help", status.as_u16());
                        return Err(UpstreamError::Refused(reason));
                    }
                }
                _ => return Ok(response),
            }
        }
    }

    fn redirected(
        &self,
        from: &Url,
        response: &Response,
        redirections: usize,
    ) -> Result<Url, UpstreamError> {
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        match to {
            Some(to) if to.origin() == self.url.origin() && redirections <= MAX_REDIRECTIONS => {
                Ok(to)
            }
            _ => Err(rejected(response.status(), "its address is another")),
        }
    }
}

pub(in crate::upstream) fn challenges(response: &Response) -> impl Iterator<Item = String> + '_ {
    let values = response
        .headers()
        .get_all(reqwest::header::WWW_AUTHENTICATE);
    values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(ToOwned::to_owned)
}

pub(super) fn rejected(status: StatusCode, why: &str) -> UpstreamError {
    UpstreamError::Rejected(format!("HTTP {}: {why}", status.as_u16()))
}

fn unreachable(error: &reqwest::Error) -> UpstreamError {
    UpstreamError::Unreachable(cause(error))
}

/// Why a request has no answer: without a connection, no byte of it was written.
fn unanswered(error: &reqwest::Error) -> UpstreamError {
    if error.is_connect() || error.is_builder() {
        unreachable(error)
    } else {
        unreachable(error).after_sending()
    }
}

/// The innermost reason of an error: those around it name the address.
pub(in crate::upstream) fn cause(error: &reqwest::Error) -> String {
    let mut innermost = error.source();
    while let Some(source) = innermost.and_then(std::error::Error::source) {
        innermost = Some(source);
    }
    match innermost {
        Some(source) => source.to_string(),
        None if error.is_timeout() => "it takes too long".to_owned(),
        None => "the request failed".to_owned(),
    }
}

/// A client of our own making: no redirections, no environment, and a provider of cryptography that is
/// not the process's.
pub(in crate::upstream) fn client(takes_tls: bool) -> Result<Client, UpstreamError> {
    Client::builder()
        .tls_backend_preconfigured(tls(takes_tls)?)
        .redirect(reqwest::redirect::Policy::none())
        // Nothing is sent twice. Below this, a request is given to another connection only if it was not
        // begun on the first.
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("crossfeed/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(UNUSED_SOCKETS)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .build()
        .map_err(|error| unreachable(&error))
}

/// The system's certificates take memory and time: they are read where they are needed.
fn tls(takes_certificates: bool) -> Result<rustls::ClientConfig, UpstreamError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let broken =
        |error: rustls::Error| UpstreamError::Unreachable(format!("TLS cannot be set up: {error}"));
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(broken)?;
    let mut config = if takes_certificates {
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(broken)?;
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth()
    } else {
        builder
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Headers of a configuration; no error holds a value.
pub(super) fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, UpstreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let unusable =
            |why| UpstreamError::Unreachable(format!("the header `{}` {why}", name.escape_debug()));
        let Ok(key) = HeaderName::from_bytes(name.as_bytes()) else {
            return Err(unusable("has a name that is none"));
        };
        if RESERVED.contains(&key.as_str()) {
            return Err(unusable("is set by the gateway"));
        }
        let Ok(mut value) = HeaderValue::from_str(value) else {
            return Err(unusable("has a value that no header can have"));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}
