//! The tokens of a server while messages are served: sent, and renewed when they expire.

use super::{
    discovery::Challenge,
    fetch::{Fetch, FetchError},
    shared::{LEASE, SharedLogin},
    store::{Login, Store, unix_time_in},
};
use crate::{
    config::{Grant, OAuthConfig},
    records::{Records, owned::MAX_ATTEMPTS},
    upstream::{UpstreamError, http, printable::printable},
};
use crossfeed_store::{StoreError, with_causes};
use oauth2::{
    AuthType, ClientId, ClientSecret, EndpointNotSet as NotSet, EndpointSet, RefreshToken,
    RequestTokenError, Scope, TokenResponse, TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicTokenResponse},
};
use reqwest::{StatusCode, header::HeaderValue};
use std::{fs::File, path::Path, sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, OnceCell},
    time::{Instant, sleep, timeout_at},
};

/// How long requests go without a token, unless the server wants one, before a login is looked for again.
const NONE_TIME: Duration = Duration::from_secs(5);

/// How often it is asked whether another gateway has renewed a token.
const PAUSE: Duration = Duration::from_millis(25);

/// Why a login is needed.
const WANTS_LOGIN: &str = "HTTP 401: it wants to know who asks";

/// Of the lease what is left when an authorization server has to have answered.
const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// How long after it got the lease a gateway may begin: one that was paused in between asks again.
const BEGIN_WITHIN: Duration = Duration::from_secs(4);

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
    /// Where other gateways have them, too.
    shared: Option<SharedLogin>,
    fetch: OnceCell<Fetch>,
    /// Held while a token is renewed: a refresh token may work only once.
    login: Mutex<Option<Login>>,
    /// When the store was last asked for a login, and had none or did not answer.
    none_at: parking_lot::Mutex<Option<Instant>>,
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
        oauth: &OAuthConfig,
        records: Option<Records>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            url: url.to_owned(),
            is_own: oauth.grant == Grant::ClientCredentials,
            store: Store::new(directory, server, url),
            shared: records.map(|records| SharedLogin::new(records, server, url, oauth)),
            fetch: OnceCell::new(),
            login: Mutex::new(None),
            none_at: parking_lot::Mutex::new(None),
        })
    }

    fn read(&self) -> Result<Option<Login>, UpstreamError> {
        self.store
            .read()
            .map_err(|error| UpstreamError::Refused(format!("its tokens cannot be read: {error}")))
    }

    /// The tokens as they are now: those of the latest login, as all gateways over the store have renewed it; and which
    /// write they are there. What only the file or the memory has, such as a renewed token that could not be shared, is
    /// taken to the store.
    async fn current(
        &self,
        known: Option<&Login>,
    ) -> Result<(Option<Login>, Option<u64>), UpstreamError> {
        let file = self.read()?;
        let Some(shared) = &self.shared else {
            return Ok((file, None));
        };
        let own = match (&file, known) {
            (Some(file), Some(known)) if known.is_later_than(file) => Some(known),
            (Some(file), _) => Some(file),
            (None, known) => known,
        };
        for _ in 0..MAX_ATTEMPTS {
            let found = shared.read().await.map_err(|error| away(&error))?;
            let version = found.as_ref().map(|(_, version)| *version);
            let is_later = |own: &&Login| match &found {
                Some((found, _)) => own.is_later_than(found),
                None => true,
            };
            if let Some(own) = own.filter(is_later) {
                let own = own.counted_after(found.as_ref().map(|(found, _)| found));
                let written = shared.write(&own, version).await;
                if written.map_err(|error| away(&error))? {
                    continue;
                }
            } else {
                let login = found.map(|(login, _)| login);
                if let Some(login) = &login
                    && file
                        .as_ref()
                        .is_none_or(|file| file.access_token != login.access_token)
                {
                    if file.as_ref().is_some_and(|file| !file.is_same_as(login)) {
                        tracing::warn!(
                            server = self.server,
                            client = printable(login.client_id.as_bytes(), 100),
                            issuer = printable(login.issuer.as_bytes(), 200),
                            "another login, which the store has, replaces the one in the token file"
                        );
                    }
                    // What is left of them if the store loses them.
                    self.store(login);
                }
                return Ok((login, version));
            }
        }
        let reason = "other gateways change its tokens at the same time: send the request again";
        Err(UpstreamError::Unreachable(reason.to_owned()))
    }

    /// Renews the token, unless another gateway over the store has, or does so now.
    async fn renew_shared(
        &self,
        shared: &SharedLogin,
        login: &mut Login,
    ) -> Result<(), UpstreamError> {
        let until = Instant::now() + LEASE + LEASE_MARGIN;
        let used = login.access_token.clone();
        loop {
            let since = Instant::now();
            let lease = shared.try_lease().await.map_err(|error| away(&error))?;
            let leased = lease.as_ref().map(|_| since);
            let renewed = self.try_renew(shared, login, &used, leased).await;
            // However that ended: others wait for it.
            if let Some(lease) = lease
                && let Err(error) = shared.release(lease).await
            {
                tracing::warn!(
                    server = self.server,
                    error = with_causes(&error),
                    "cannot give back the lease of a token: it ends with its time"
                );
            }
            if renewed? {
                return Ok(());
            }
            wait_for_others(until).await?;
        }
    }

    /// Whether there is another token than the one that was used: another gateway's, or, where this one has the lease
    /// (asked for at that time), a new one.
    async fn try_renew(
        &self,
        shared: &SharedLogin,
        login: &mut Login,
        used: &Option<String>,
        leased: Option<Instant>,
    ) -> Result<bool, UpstreamError> {
        // Only now: who had the lease has written by then.
        let (current, version) = self.current(Some(login)).await?;
        if let Some(current) = current {
            *login = current;
        }
        if login.access_token.is_some() && login.access_token != *used && !login.is_expired() {
            return Ok(true);
        }
        let Some(since) = leased.filter(|since| since.elapsed() < BEGIN_WITHIN) else {
            return Ok(false);
        };
        let by = since + LEASE - LEASE_MARGIN;
        timeout_at(by, self.request_new(login))
            .await
            .map_err(|_| {
                let reason = "its authorization server does not answer";
                UpstreamError::Unreachable(reason.to_owned())
            })??;
        self.share(shared, login, version).await;
        Ok(true)
    }

    /// Writes a renewed token where others find it. They would use the old one again: it is tried as long as they wait.
    async fn share(&self, shared: &SharedLogin, login: &mut Login, mut version: Option<u64>) {
        self.store(login);
        for attempt in 1..=MAX_ATTEMPTS {
            let written = match shared.write(login, version).await {
                Ok(true) => return,
                Ok(false) => shared.read().await,
                Err(error) => Err(error),
            };
            match written {
                // A person has logged in meanwhile.
                Ok(Some((found, _))) if found.is_later_than(login) => {
                    *login = found;
                    return;
                }
                Ok(found) => version = found.map(|(_, version)| version),
                Err(error) => {
                    tracing::warn!(
                        server = self.server,
                        attempt,
                        error = with_causes(&error),
                        "cannot share a renewed token"
                    );
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
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
        // Also beside the lease: the same file may be that of a gateway without the store, or of a version of before.
        let _lock = self.lock().await;
        if let Some(shared) = &self.shared {
            return self.renew_shared(shared, login).await;
        }
        if let Some(kept) = self.read()?
            && kept.access_token.is_some()
            && kept.access_token != login.access_token
            && !login.is_later_than(&kept)
        {
            *login = kept;
            if !login.is_expired() {
                return Ok(());
            }
        }
        self.request_new(login).await?;
        // Where it cannot be stored, it works until the process ends; then a person has to log in again.
        self.store(login);
        Ok(())
    }

    /// Requests a new token.
    async fn request_new(&self, login: &mut Login) -> Result<(), UpstreamError> {
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
        if renewed.is_ok() {
            login.renewals = login.renewals.saturating_add(1);
        }
        renewed.map_err(|error| {
            let reason = format!("its token cannot be renewed: {error}");
            match error {
                TokenError::Denied(_) => self.takes_login(&reason),
                TokenError::Failed(_) => UpstreamError::Unreachable(reason),
            }
        })
    }

    /// Whether there was no login a moment ago.
    fn knows_none(&self) -> bool {
        let none_at = *self.none_at.lock();
        none_at.is_some_and(|at| at.elapsed() < NONE_TIME)
    }

    /// Looks for a login where none is known. A store that does not answer is like one that has none: the server may
    /// need no login, and says so if it does.
    async fn find(&self) -> Result<Option<Login>, UpstreamError> {
        let found = match self.current(None).await {
            Ok((found, _)) => found,
            Err(UpstreamError::Unreachable(_)) if self.read()?.is_none() => None,
            Err(error) => return Err(error),
        };
        if self.shared.is_some() {
            *self.none_at.lock() = found.is_none().then(Instant::now);
        }
        Ok(found)
    }

    /// The `Authorization` header; none where no one has logged in.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Refused`] when the stored tokens cannot be used.
    pub(in crate::upstream) async fn authorization(
        self: &Arc<Self>,
    ) -> Result<Option<HeaderValue>, UpstreamError> {
        // While one request looks again, the others go on as before.
        let had_none = self.none_at.lock().is_some();
        if had_none && (self.knows_none() || self.login.try_lock().is_err()) {
            return Ok(None);
        }
        let oauth = Arc::clone(self);
        to_its_end(async move {
            let mut login = oauth.login.lock().await;
            if login.is_none() && !oauth.knows_none() {
                // A person may have logged in meanwhile.
                *login = oauth.find().await?;
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
                (None, None) => {
                    // A person may have logged in since no login was found.
                    let (found, _) = oauth.current(None).await?;
                    let token = found
                        .as_ref()
                        .and_then(|found| found.access_token.as_deref());
                    if token.and_then(header).is_none() {
                        return Err(oauth.takes_login(WANTS_LOGIN));
                    }
                    *login = found;
                    *oauth.none_at.lock() = None;
                    Ok(())
                }
                _ => {
                    *login = None;
                    Err(oauth.takes_login(WANTS_LOGIN))
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
        if let (Some(mut kept), version) = self.current(login.as_ref()).await? {
            kept.wanted = scopes;
            self.store(&kept);
            if let Some(shared) = &self.shared {
                // Another that writes now finds the same out with the next request.
                let written = shared.write(&kept, version).await;
                written.map_err(|error| away(&error))?;
            }
        }
        *login = None;
        Err(self.takes_login(&reason))
    }
}

/// Waits for a moment, unless the time is over.
async fn wait_for_others(until: Instant) -> Result<(), UpstreamError> {
    if Instant::now() >= until {
        let reason = "another gateway renews its token, and is not done: send the request again";
        return Err(UpstreamError::Unreachable(reason.to_owned()));
    }
    sleep(PAUSE).await;
    Ok(())
}

fn away(error: &StoreError) -> UpstreamError {
    tracing::warn!(
        error = with_causes(error),
        "cannot read or write tokens in the store"
    );
    UpstreamError::Unreachable(format!("its tokens are in the store: {error}"))
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
