//! Tokens while messages are served.
//!
//! What comes in: that a header is wanted, or that one was refused. What goes out: a token that is kept,
//! renewed where it is over. Deliberately not here: asking a person.

use super::{
    Credentials,
    discovery::Challenge,
    fetch::{Fetch, FetchError},
    store::{Login, Store, in_seconds},
};
use crate::{
    config::Grant,
    upstream::{UpstreamError, http},
};
use async_trait::async_trait;
use oauth2::{
    AuthType, ClientId, ClientSecret, RefreshToken, RequestTokenError, Scope, TokenResponse,
    TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicTokenResponse},
};
use reqwest::{StatusCode, header::HeaderValue};
use std::{fs::File, path::Path, sync::Arc, time::SystemTime};
use tokio::{
    sync::{Mutex, OnceCell},
    task::JoinHandle,
};

/// The tokens of one server.
///
/// What is done with them is done to its end, whether or not the request stays for it: an authorization
/// server that gave a new token may not take the old one again.
pub(in crate::upstream) struct OAuth(Arc<Tokens>);

struct Tokens {
    server: String,
    url: String,
    /// Whether the configuration lets the gateway in by itself, for no person.
    is_own: bool,
    store: Store,
    fetch: OnceCell<Fetch>,
    /// Held while a token is renewed: a refresh token may be good for once only.
    login: Mutex<Option<Login>>,
}

impl OAuth {
    pub(in crate::upstream) fn new(
        directory: &Path,
        server: &str,
        url: &str,
        grant: Grant,
    ) -> Self {
        Self(Arc::new(Tokens {
            server: server.to_owned(),
            url: url.to_owned(),
            is_own: grant == Grant::ClientCredentials,
            store: Store::new(directory, server, url),
            fetch: OnceCell::new(),
            login: Mutex::new(None),
        }))
    }
}

impl Tokens {
    fn read(&self) -> Result<Option<Login>, UpstreamError> {
        self.store
            .read()
            .map_err(|error| UpstreamError::Refused(format!("its tokens cannot be read: {error}")))
    }

    /// Keeps other processes from the tokens, where that can be: every gateway with this configuration has
    /// the same, and a refresh token may be good for once only.
    async fn lock(&self) -> Option<File> {
        let locked = self.store.lock().await;
        locked
            .inspect_err(|error| {
                tracing::warn!(server = self.server, %error, "cannot lock the token file");
            })
            .ok()
    }

    fn takes_login(&self, why: &str) -> UpstreamError {
        UpstreamError::Refused(format!(
            "{why}: run `crossfeed gateway --login {}` with the same `--config` or `--url`",
            self.server
        ))
    }

    /// Renews the token, or finds that somebody else has.
    async fn renew(&self, login: &mut Login) -> Result<(), UpstreamError> {
        let _lock = self.lock().await;
        if let Some(kept) = self.read()?
            && kept.access_token.is_some()
            && kept.access_token != login.access_token
        {
            *login = kept;
            if !login.is_over(SystemTime::now()) {
                return Ok(());
            }
        }
        let refresh = login.refresh_token.clone();
        if refresh.is_none() && !login.is_own {
            return Err(self.takes_login("its token is over"));
        }
        let fetch = self
            .fetch
            .get_or_try_init(|| async { Fetch::new(&http::address(&self.url)?) })
            .await?;
        let renewed = match refresh {
            Some(refresh) if !login.is_own => refreshed(fetch, login, refresh).await,
            _ => granted(fetch, login).await,
        };
        match renewed {
            Ok(()) => {}
            Err(why @ TokenError::Denied(_)) => {
                return Err(self.takes_login(&format!("its token cannot be renewed: {why}")));
            }
            Err(why) => {
                let reason = format!("its token cannot be renewed: {why}");
                return Err(UpstreamError::Unreachable(reason));
            }
        }
        if let Err(error) = self.store.write(login) {
            // It works until the process ends; then a person has to log in again.
            tracing::warn!(server = self.server, %error, "cannot store a renewed token");
        }
        Ok(())
    }
}

impl Tokens {
    async fn authorization(&self) -> Result<Option<HeaderValue>, UpstreamError> {
        let mut login = self.login.lock().await;
        if login.is_none() {
            // Somebody may have logged in meanwhile.
            *login = self.read()?;
        }
        let Some(login) = &mut *login else {
            return Ok(None);
        };
        if login.is_own != self.is_own {
            return Err(self.takes_login("its token is of another `grant` than is configured"));
        }
        if login.access_token.is_some() && login.is_over(SystemTime::now()) {
            self.renew(login).await?;
        }
        Ok(login.access_token.as_deref().and_then(header))
    }

    async fn refused(
        &self,
        status: StatusCode,
        challenge: Challenge,
        used: Option<&HeaderValue>,
    ) -> Result<(), UpstreamError> {
        let mut login = self.login.lock().await;
        if status == StatusCode::FORBIDDEN {
            if challenge.scopes.is_empty() {
                let reason = "HTTP 403: the person who logged in may not".to_owned();
                return Err(UpstreamError::Refused(reason));
            }
            let scopes = challenge.scopes.join(" ");
            let _lock = self.lock().await;
            if let Some(mut kept) = self.read()? {
                kept.wanted = challenge.scopes;
                if let Err(error) = self.store.write(&kept) {
                    tracing::warn!(server = self.server, %error, "cannot store the wanted scopes");
                }
            }
            *login = None;
            return Err(self.takes_login(&format!("HTTP 403: it wants the scopes `{scopes}`")));
        }
        let current = login
            .as_ref()
            .and_then(|login| login.access_token.as_deref());
        if current.is_some() && current.and_then(header).as_ref() != used {
            // Renewed since the request was made.
            return Ok(());
        }
        match (&mut *login, used) {
            (Some(login), Some(_)) => self.renew(login).await,
            _ => {
                *login = None;
                Err(self.takes_login("HTTP 401: it wants to know who asks"))
            }
        }
    }
}

#[async_trait]
impl Credentials for OAuth {
    async fn authorization(&self) -> Result<Option<HeaderValue>, UpstreamError> {
        let tokens = Arc::clone(&self.0);
        through(tokio::spawn(async move { tokens.authorization().await })).await
    }

    async fn refused(
        &self,
        status: StatusCode,
        challenges: &[String],
        used: Option<&HeaderValue>,
    ) -> Result<(), UpstreamError> {
        let tokens = Arc::clone(&self.0);
        let challenge = Challenge::of(challenges);
        let used = used.cloned();
        let refused = async move { tokens.refused(status, challenge, used.as_ref()).await };
        through(tokio::spawn(refused)).await
    }
}

async fn through<T>(task: JoinHandle<Result<T, UpstreamError>>) -> Result<T, UpstreamError> {
    task.await.unwrap_or_else(|error| {
        Err(UpstreamError::Unreachable(format!(
            "its tokens cannot be had: {error}"
        )))
    })
}

fn header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Why an authorization server gives no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It says no: `invalid_grant`.
    #[error("the authorization server answered with `{0}`")]
    Denied(String),
    /// It cannot be asked.
    #[error("{0}")]
    Failed(FetchError),
}

/// What the OAuth library says, without what the server wrote beside its word.
pub(super) fn token_error(error: RequestTokenError<FetchError, BasicErrorResponse>) -> TokenError {
    match error {
        RequestTokenError::ServerResponse(said) => {
            let word = said.error().to_string();
            TokenError::Denied(crate::upstream::printable::printable(word.as_bytes(), 100))
        }
        RequestTokenError::Request(error) => TokenError::Failed(error),
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            TokenError::Failed(FetchError::Unreadable)
        }
    }
}

/// A client of the OAuth library.
pub(super) fn client(
    login: &Login,
) -> Result<
    BasicClient<
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointNotSet,
        oauth2::EndpointSet,
    >,
    TokenError,
> {
    let endpoint = TokenUrl::new(login.token_endpoint.clone())
        .map_err(|_| TokenError::Failed(FetchError::Unsafe))?;
    let mut client =
        BasicClient::new(ClientId::new(login.client_id.clone())).set_token_uri(endpoint);
    if let Some(secret) = &login.client_secret {
        client = client.set_client_secret(ClientSecret::new(secret.clone()));
    }
    Ok(client.set_auth_type(if login.secret_in_body {
        AuthType::RequestBody
    } else {
        AuthType::BasicAuth
    }))
}

async fn refreshed(fetch: &Fetch, login: &mut Login, refresh: String) -> Result<(), TokenError> {
    let client = client(login)?;
    let refresh = RefreshToken::new(refresh);
    let answer = client
        .exchange_refresh_token(&refresh)
        .add_extra_param("resource", login.resource.clone())
        .request_async(fetch)
        .await
        .map_err(token_error)?;
    take(login, &answer);
    Ok(())
}

/// A token for the gateway itself.
pub(super) async fn granted(fetch: &Fetch, login: &mut Login) -> Result<(), TokenError> {
    let client = client(login)?;
    let answer = client
        .exchange_client_credentials()
        .add_scopes(login.scopes.iter().cloned().map(Scope::new))
        .add_extra_param("resource", login.resource.clone())
        .request_async(fetch)
        .await
        .map_err(token_error)?;
    take(login, &answer);
    Ok(())
}

/// Puts a new token in the place of the old one.
pub(super) fn take(login: &mut Login, answer: &BasicTokenResponse) {
    login.access_token = Some(answer.access_token().secret().clone());
    if let Some(refresh) = answer.refresh_token() {
        login.refresh_token = Some(refresh.secret().clone());
    }
    login.expires_at = answer
        .expires_in()
        .map(|lifetime| in_seconds(SystemTime::now(), lifetime));
    if let Some(scopes) = answer.scopes() {
        login.scopes = scopes.iter().map(|scope| scope.to_string()).collect();
    }
}
