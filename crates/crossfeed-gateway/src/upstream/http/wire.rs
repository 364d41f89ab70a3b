//! HTTP requests to one server.
//!
//! # Invariants
//!
//! - Headers of the configuration and tokens go only to the server's own origin: a redirection to another origin is
//!   an error.
//! - No error contains an address, a header or a body: addresses may contain keys, too.

use crate::{
    message::Message,
    protocol::header as name,
    quota::UNUSED_SOCKETS,
    upstream::{
        UpstreamError,
        auth::{Challenge, OAuth},
    },
};
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE},
};
use std::{collections::BTreeMap, error::Error as _, sync::Arc, time::Duration};
use tokio::sync::Notify;

/// How many redirections are followed.
const MAX_REDIRECTIONS: usize = 3;
/// How long connecting may take.
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

pub(super) struct Wire {
    client: Client,
    url: Url,
    headers: HeaderMap,
    oauth: Option<Arc<OAuth>>,
}

/// What is posted, and who learns that it was written.
#[derive(Clone, Copy)]
pub(super) struct PostedMessage<'m> {
    pub(super) message: &'m Message,
    pub(super) sent: &'m Arc<Notify>,
}

impl Wire {
    pub(super) fn new(
        url: Url,
        headers: HeaderMap,
        oauth: Option<Arc<OAuth>>,
    ) -> Result<Self, UpstreamError> {
        Ok(Self {
            client: client(url.scheme() == "https")?,
            url,
            headers,
            oauth,
        })
    }

    /// Sends a request, follows redirections, and tries once more with a new token where the server refuses the
    /// first. Every other status is left to the caller.
    pub(super) async fn request(
        &self,
        method: Method,
        headers: &HeaderMap,
        posted: Option<PostedMessage<'_>>,
    ) -> Result<Response, UpstreamError> {
        let mut url = self.url.clone();
        let mut redirections = 0;
        // With a token, and without: a login may be found only when the server wants one.
        let mut was_refused = [false; 2];
        loop {
            let token = match &self.oauth {
                Some(oauth) => oauth.authorization().await?,
                None => None,
            };
            let mut request = self
                .client
                .request(method.clone(), url.clone())
                .headers(self.headers.clone())
                .headers(headers.clone());
            if let Some(token) = &token {
                request = request.header(AUTHORIZATION, token.clone());
            }
            if let Some(PostedMessage { message, sent }) = posted {
                request = request.body(super::body::Outgoing::body(message, sent));
            }
            let response = request.send().await.map_err(|error| unanswered(&error))?;
            let status = response.status();
            match status {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    redirections += 1;
                    url = self.redirected(&url, &response, redirections)?;
                }
                // Many servers answer so after they have carried the request out.
                _ if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    return Err(rejected(status, "its address is another").after_taking());
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    let refused =
                        |why| UpstreamError::Refused(format!("HTTP {}: {why}", status.as_u16()));
                    let Some(oauth) = &self.oauth else {
                        return Err(refused("its `headers` do not say who asks, or not rightly"));
                    };
                    let challenge = Challenge::find(challenges(&response));
                    let was_refused = &mut was_refused[usize::from(token.is_some())];
                    oauth.refused(status, challenge, token).await?;
                    if std::mem::replace(was_refused, true) {
                        return Err(refused("a new token did not help"));
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
        location
            .and_then(|location| from.join(location.to_str().ok()?).ok())
            .filter(|to| to.origin() == self.url.origin() && redirections <= MAX_REDIRECTIONS)
            .ok_or_else(|| rejected(response.status(), "its address is another"))
    }
}

pub(in crate::upstream) fn challenges(response: &Response) -> impl Iterator<Item = &str> {
    let values = response.headers().get_all(WWW_AUTHENTICATE);
    values.iter().filter_map(|value| value.to_str().ok())
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
    let innermost = std::iter::successors(error.source(), |&error| error.source()).last();
    match innermost {
        Some(source) => source.to_string(),
        None if error.is_timeout() => "it takes too long".to_owned(),
        None => "the request failed".to_owned(),
    }
}

/// An HTTP client that follows no redirections, reads no environment, and brings its own provider of cryptography.
pub(in crate::upstream) fn client(takes_tls: bool) -> Result<Client, UpstreamError> {
    impatient_client(takes_tls, CONNECT_TIMEOUT)
}

/// The same with a time of its own for connecting.
pub(crate) fn impatient_client(
    takes_tls: bool,
    connect_timeout: Duration,
) -> Result<Client, UpstreamError> {
    Client::builder()
        .tls_backend_preconfigured(tls(takes_tls)?)
        .redirect(reqwest::redirect::Policy::none())
        // Nothing is sent twice. Below this, a request is given to another connection only if it was not
        // begun on the first.
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("crossfeed/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
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
    let builder = if takes_certificates {
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(broken)?;
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty())
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Headers of a configuration; no error holds a value.
pub(super) fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, UpstreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let unusable =
            |why| UpstreamError::Unreachable(format!("the header `{}` {why}", name.escape_debug()));
        let key = HeaderName::from_bytes(name.as_bytes());
        let key = key.map_err(|_| unusable("has an invalid name"))?;
        if RESERVED.contains(&key.as_str()) {
            return Err(unusable("is set by the gateway"));
        }
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|_| unusable("has an invalid value"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}
