//! The tokens of a server while messages are served: sent, and renewed when they expire.

use super::{
    discovery::Challenge,
    fetch::{Fetch, FetchError},
    store::{Login, Store, unix_time_in},
};
use crate::{
    config::Grant,
    upstream::{UpstreamError, http, printable::printable},
};
use oauth2::{
    AuthType, ClientId, ClientSecret, EndpointNotSet as NotSet, EndpointSet, RefreshToken,
    RequestTokenError, Scope, TokenResponse, TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicTokenResponse},
};
use reqwest::{StatusCode, header::HeaderValue};
use std::{fs::File, path::Path, sync::Arc};
use tokio::sync::{Mutex, OnceCell};

/// The tokens of one server.
///
/// What begins with them runs to its end, even when its request is dropped: an authorization server that issued a
/// new token may not accept the old one again.
pub(in crate::upstream) struct OAuth {
    server: String,
    url: String,
    /// Whether the gateway logs in by itself, and not for a person.
    is_own: bool,
    store: Store,
    fetch: OnceCell<Fetch>,
    /// Held while a token is renewed: a refresh token may work only once.
    login: Mutex<Option<Login>>,
}

async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, UpstreamError>> + Send + 'static,
) -> Result<T, UpstreamError> {
    tokio::spawn(work).await.unwrap_or_else(|error| {
        Err(UpstreamError::Unreachable(format!(
            "its tokens cannot be had: {error}"
        )))
    })
}

impl OAuth {
    pub(in crate::upstream) fn new(
        directory: &Path,
        server: &str,
        url: &str,
        grant: Grant,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            url: url.to_owned(),
            is_own: grant == Grant::ClientCredentials,
            store: Store::new(directory, server, url),
            fetch: OnceCell::new(),
            login: Mutex::new(None),
        })
    }

    fn read(&self) -> Result<Option<Login>, UpstreamError> {
        self.store
            .read()
            .map_err(|error| UpstreamError::Refused(format!("its tokens cannot be read: {error}")))
    }

    fn store(&self, login: &Login) {
        if let Err(error) = self.store.write(login) {
            tracing::warn!(server = self.server, %error, "cannot write the token file");
        }
    }

    /// Keeps other processes from the tokens, as far as the system can: every gateway with this configuration uses
    /// the same ones, and a refresh token may work only once.
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

    /// Renews the token, unless another process has.
    async fn renew(&self, login: &mut Login) -> Result<(), UpstreamError> {
        let _lock = self.lock().await;
        if let Some(kept) = self.read()?
            && kept.access_token.is_some()
            && kept.access_token != login.access_token
        {
            *login = kept;
            if !login.is_expired() {
                return Ok(());
            }
        }
        let token = login.refresh_token.clone();
        if token.is_none() && !login.is_own {
            return Err(self.takes_login("its token is over"));
        }
        let fetch = self
            .fetch
            .get_or_try_init(|| async { Fetch::new(&http::address(&self.url)?) })
            .await?;
        let renewed = match token {
            Some(token) if !login.is_own => refresh(fetch, login, token).await,
            _ => request_own(fetch, login).await,
        };
        renewed.map_err(|error| {
            let reason = format!("its token cannot be renewed: {error}");
            match error {
                TokenError::Denied(_) => self.takes_login(&reason),
                TokenError::Failed(_) => UpstreamError::Unreachable(reason),
            }
        })?;
        // Where it cannot be stored, it works until the process ends; then a person has to log in again.
        self.store(login);
        Ok(())
    }

    /// The `Authorization` header; none where no one has logged in.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Refused`] when the stored tokens cannot be used.
    pub(in crate::upstream) async fn authorization(
        self: &Arc<Self>,
    ) -> Result<Option<HeaderValue>, UpstreamError> {
        let oauth = Arc::clone(self);
        to_its_end(async move {
            let mut login = oauth.login.lock().await;
            if login.is_none() {
                // A person may have logged in meanwhile.
                *login = oauth.read()?;
            }
            let Some(login) = &mut *login else {
                return Ok(None);
            };
            if login.is_own != oauth.is_own {
                return Err(oauth.takes_login("its token is of another `grant` than is configured"));
            }
            if login.access_token.is_some() && login.is_expired() {
                oauth.renew(login).await?;
            }
            Ok(login.access_token.as_deref().and_then(header))
        })
        .await
    }

    /// The server answered 401 or 403 to a request with this header. If this succeeds, another attempt is worth it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Refused`] when only a login can help.
    pub(in crate::upstream) async fn refused(
        self: &Arc<Self>,
        status: StatusCode,
        challenge: Challenge,
        used: Option<HeaderValue>,
    ) -> Result<(), UpstreamError> {
        let oauth = Arc::clone(self);
        to_its_end(async move {
            let mut login = oauth.login.lock().await;
            if status == StatusCode::FORBIDDEN {
                return oauth.forbid(&mut login, challenge.scopes).await;
            }
            let token = login
                .as_ref()
                .and_then(|login| login.access_token.as_deref());
            if token.is_some() && token.and_then(header) != used {
                // Renewed since the request was made.
                return Ok(());
            }
            match (&mut *login, used) {
                (Some(login), Some(_)) => oauth.renew(login).await,
                _ => {
                    *login = None;
                    Err(oauth.takes_login("HTTP 401: it wants to know who asks"))
                }
            }
        })
        .await
    }

    /// Fails, as the token lacks scopes that a request needs. The next login asks for them.
    async fn forbid(
        &self,
        login: &mut Option<Login>,
        scopes: Vec<String>,
    ) -> Result<(), UpstreamError> {
        if scopes.is_empty() {
            let reason = "HTTP 403: the person who logged in may not".to_owned();
            return Err(UpstreamError::Refused(reason));
        }
        let reason = format!("HTTP 403: it wants the scopes `{}`", scopes.join(" "));
        let _lock = self.lock().await;
        if let Some(mut kept) = self.read()? {
            kept.wanted = scopes;
            self.store(&kept);
        }
        *login = None;
        Err(self.takes_login(&reason))
    }
}

fn header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Why an authorization server issued no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It refuses: `invalid_grant`.
    #[error("the authorization server answered with `{0}`")]
    Denied(String),
    /// The request failed.
    #[error("{0}")]
    Failed(FetchError),
}

impl From<RequestTokenError<FetchError, BasicErrorResponse>> for TokenError {
    /// Of what the server answered, only its error code is kept.
    fn from(error: RequestTokenError<FetchError, BasicErrorResponse>) -> Self {
        match error {
            RequestTokenError::ServerResponse(response) => {
                Self::Denied(printable(response.error().to_string().as_bytes(), 100))
            }
            RequestTokenError::Request(error) => Self::Failed(error),
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
                Self::Failed(FetchError::Unreadable)
            }
        }
    }
}

/// A client of the OAuth library.
pub(super) fn client(
    login: &Login,
) -> Result<BasicClient<NotSet, NotSet, NotSet, NotSet, EndpointSet>, TokenError> {
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

async fn refresh(fetch: &Fetch, login: &mut Login, token: String) -> Result<(), TokenError> {
    let (client, token) = (client(login)?, RefreshToken::new(token));
    let request = client
        .exchange_refresh_token(&token)
        .add_extra_param("resource", login.resource.clone());
    receive(login, request.request_async(fetch)).await
}

/// Requests a token for the gateway itself.
pub(super) async fn request_own(fetch: &Fetch, login: &mut Login) -> Result<(), TokenError> {
    let client = client(login)?;
    let request = client
        .exchange_client_credentials()
        .add_scopes(login.scopes.iter().cloned().map(Scope::new))
        .add_extra_param("resource", login.resource.clone());
    receive(login, request.request_async(fetch)).await
}

/// Waits for a new token, and puts it in the place of the old one.
pub(super) async fn receive<E: Into<TokenError>>(
    login: &mut Login,
    answer: impl Future<Output = Result<BasicTokenResponse, E>>,
) -> Result<(), TokenError> {
    let answer = answer.await.map_err(Into::into)?;
    login.access_token = Some(answer.access_token().secret().clone());
    if let Some(refresh) = answer.refresh_token() {
        login.refresh_token = Some(refresh.secret().clone());
    }
    login.expires_at = answer.expires_in().map(unix_time_in);
    if let Some(scopes) = answer.scopes() {
        login.scopes = scopes.iter().map(|scope| scope.to_string()).collect();
    }
    Ok(())
}
