//! Logs a person, or the gateway itself, in to a server, and stores the tokens.

use super::{
    discovery::{self, Challenge, DiscoveryError, Issuer},
    fetch::{self, Fetch, FetchError},
    listener::Listener,
    shared::SharedLogin,
    store::{Login, Store, unix_time_in},
    tokens::{self, TokenError},
};
use crate::{
    config::{Grant, OAuthConfig, ServerConfig, TransportConfig},
    records::Records,
    upstream::{UpstreamError, http, printable::printable},
};
use async_trait::async_trait;
use crossfeed_store::{ResultStore, with_causes};
use oauth2::{AuthUrl, AuthorizationCode, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use std::{io, sync::Arc, time::Duration};
use tokio::time::timeout;

/// How long a person may take.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

/// Shows an address to a person.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Opens the address in a browser, or shows it.
    ///
    /// # Errors
    ///
    /// What it failed with; the login ends.
    async fn open(&self, address: &str) -> io::Result<()>;
}

/// Why a login failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server is a child process, or has an `Authorization` header already.
    #[error("`{server}` has no login: {reason}")]
    NoLogin {
        /// Its name.
        server: String,
        /// Why.
        reason: &'static str,
    },
    /// The server cannot be reached.
    #[error(transparent)]
    Server(#[from] UpstreamError),
    /// The authorization server was not found, or its metadata cannot be used.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The server names another authorization server than the configuration, or than it did before.
    #[error(
        "the server names `{issuer}` as its authorization server, which is not the one of the configuration or of the login before: if it is right, make it the `issuer` of the configuration's `oauth`"
    )]
    NewIssuer {
        /// Which it names.
        issuer: String,
    },
    /// The authorization server has to know its clients before, and this one is not.
    #[error(
        "the authorization server does not register clients: register one there, and put its `clientId` into the configuration's `oauth`"
    )]
    NoRegistration,
    /// The authorization server does not register this client.
    #[error("the authorization server does not register the gateway: {0}")]
    Registration(FetchError),
    /// An endpoint of the authorization server cannot be used.
    #[error("the authorization server's endpoint cannot be used: {0}")]
    Endpoint(FetchError),
    /// The address cannot be shown, or the browser cannot come back from there.
    #[error("cannot open the browser: {0}")]
    Browser(io::Error),
    /// The person, or the authorization server, refuses.
    #[error("the login was refused: `{error}`")]
    Refused {
        /// Its word: `access_denied`.
        error: String,
    },
    /// The answer does not come from whom was asked.
    #[error("the answer does not come from the authorization server that was asked")]
    OtherIssuer,
    /// The person took too long.
    #[error("no login within {0} s")]
    TimedOut(u64),
    /// The authorization server issued no token.
    #[error("no token: {0}")]
    Token(#[from] TokenError),
    /// The token cannot be kept.
    #[error("the token cannot be kept: {0}")]
    Store(io::Error),
    /// The token is in the file of this machine alone.
    #[error("the login is in the token file of this machine, but not in the store: {0}")]
    NotShared(String),
    /// Nothing that can be read says which authorization server is the right one.
    #[error(
        "the server names `{issuer}` as its authorization server; whether that is the one of the login before stands in the store, which cannot be read: {why}"
    )]
    UnknownIssuer {
        /// Which it names.
        issuer: String,
        /// Why the store cannot be read.
        why: String,
    },
    /// The login before cannot be read, and nothing else says which authorization server is the right one.
    #[error(
        "the server names `{issuer}` as its authorization server; whether that is the one of the login before stands in `{file}`, which cannot be read ({error}): if it is right, make it the `issuer` of the configuration's `oauth`, or remove the file"
    )]
    UnreadableLogin {
        /// Which it names.
        issuer: String,
        /// The file of the login before.
        file: String,
        /// Why it cannot be read.
        error: io::Error,
    },
}

/// Logs a person in to a server: finds its authorization server, registers there if need be, sends the person's
/// browser there, and writes the tokens to their file and to the store that gateways have in common, if there is one.
/// Where the gateway itself logs in ([`Grant::ClientCredentials`]), no browser is used. `store` may be why that store cannot
/// be reached.
///
/// # Errors
///
/// [`LoginError`]; tokens that were stored before stay.
pub async fn login(
    server: &ServerConfig,
    browser: &dyn Browser,
    store: Result<Option<&Arc<dyn ResultStore>>, String>,
) -> Result<(), LoginError> {
    let no_login = |reason| LoginError::NoLogin {
        server: server.name.clone(),
        reason,
    };
    let TransportConfig::Http { url, oauth, .. } = &server.transport else {
        return Err(no_login("it is a child process"));
    };
    let oauth = oauth
        .as_ref()
        .ok_or_else(|| no_login("`oauth` is off for it"))?;
    let directory = oauth
        .directory
        .as_deref()
        .ok_or_else(|| no_login("there is no directory for tokens"))?;
    let file = Store::new(directory, &server.name, url);
    let shared = store.map(|store| {
        let records = store.cloned().and_then(Records::of)?;
        Some(SharedLogin::new(records, &server.name, url, oauth))
    });
    let address = http::address(url)?;
    if fetch::check(&address).is_err() {
        return Err(no_login("its `url` is neither https nor on this computer"));
    }
    let fetch = Fetch::new(&address)?;

    let challenge = challenge(&fetch, &address).await?;
    let metadata = discovery::resource(&fetch, &address, &challenge).await?;
    let (resource, issuers, supported) = match metadata {
        Some(of) => (of.resource, of.authorization_servers, of.scopes_supported),
        None => (plain(&address, address.path()).into(), Vec::new(), None),
    };
    let issuer = issuers
        .first()
        // A server that names none is its own authorization server.
        .map_or_else(|| Ok(plain(&address, "/")), |issuer| Url::parse(issuer))
        .map_err(|_| DiscoveryError::Issuer(FetchError::Unsafe))?;
    let issuer = discovery::issuer(&fetch, &issuer).await?;
    let is_own = oauth.grant == Grant::ClientCredentials;
    let endpoint = (!is_own).then(|| issuer.authorization()).transpose()?;
    for endpoint in endpoint.into_iter().chain([&issuer.token_endpoint]) {
        fetch.check(endpoint).map_err(LoginError::Endpoint)?;
    }
    let found = match &shared {
        Ok(Some(shared)) => shared.read().await.map_err(|error| with_causes(&error)),
        Ok(None) => Ok(None),
        Err(why) => Err(why.clone()),
    };
    let (in_file, unreadable) = match file.read() {
        Ok(login) => (login, None),
        Err(error) => (None, Some(error)),
    };
    let kept = latest(in_file, found.as_ref().ok().and_then(Option::as_ref));
    // A server that was taken over must not choose who learns the client's secret, and codes.
    let known = oauth.issuer.as_ref();
    let known = known.or(kept.as_ref().map(|kept| &kept.issuer));
    let named = || printable(issuer.issuer.as_bytes(), 200);
    match (known, &found, unreadable) {
        (Some(known), ..) if *known != issuer.issuer => {
            return Err(LoginError::NewIssuer { issuer: named() });
        }
        (None, Err(why), _) => {
            let (issuer, why) = (named(), why.clone());
            return Err(LoginError::UnknownIssuer { issuer, why });
        }
        (None, Ok(_), Some(error)) => {
            return Err(LoginError::UnreadableLogin {
                issuer: named(),
                file: file.path().display().to_string(),
                error,
            });
        }
        _ => {}
    }
    let scopes = scopes(oauth, kept.as_ref(), challenge, supported, &issuer);
    let mut login = Login {
        resource,
        issuer: issuer.issuer.clone(),
        token_endpoint: issuer.token_endpoint.to_string(),
        client_id: oauth.client_id.clone().unwrap_or_default(),
        client_secret: oauth.client_secret.clone(),
        secret_in_body: issuer.takes_secrets_in_body(),
        scopes,
        is_own,
        ..Login::default()
    };
    if let Some(endpoint) = endpoint {
        let listener = Listener::open().await.map_err(LoginError::Browser)?;
        if oauth.client_id.is_none() {
            register(&fetch, &issuer, &listener, &mut login).await?;
        }
        authorize(&fetch, &issuer, endpoint, &listener, browser, &mut login).await?;
    } else if oauth.client_id.is_some() {
        tokens::request_own(&fetch, &mut login).await?;
    } else {
        return Err(no_login("`oauth` has no `clientId` for it"));
    }
    // Later than the one before, whatever the clock of its machine says.
    let after = kept.and_then(|kept| kept.logged_in_at).unwrap_or_default();
    let now = unix_time_in(Duration::ZERO);
    login.logged_in_at = Some(now.max(after.saturating_add(1)));
    file.write(&login).map_err(LoginError::Store)?;
    // Not unread: the login before may be at another authorization server.
    found.map_err(LoginError::NotShared)?;
    if let Some(shared) = shared.map_err(LoginError::NotShared)? {
        let written = shared.write_latest(&login).await;
        written.map_err(|error| LoginError::NotShared(with_causes(&error)))?;
    }
    Ok(())
}

/// The later one of the login in the file and that in the store.
fn latest(file: Option<Login>, shared: Option<&(Login, u64)>) -> Option<Login> {
    match (file, shared) {
        (Some(file), Some((shared, _))) if !shared.is_later_than(&file) => Some(file),
        (_, Some((shared, _))) => Some(shared.clone()),
        (file, None) => file,
    }
}

/// An address without the parts that may contain a key.
fn plain(address: &Url, path: &str) -> Url {
    let mut plain = address.clone();
    plain.set_path(path);
    plain.set_query(None);
    plain.set_fragment(None);
    // Only addresses without a host have no place for these.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain
}

/// How the server challenges a client without a token.
async fn challenge(fetch: &Fetch, server: &Url) -> Result<Challenge, UpstreamError> {
    let request = fetch
        .client()
        .post(server.clone())
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
    let response = fetch::send(request)
        .await
        .map_err(|error| UpstreamError::Unreachable(error.to_string()))?;
    Ok(Challenge::find(http::wire::challenges(&response)))
}

/// What is asked for: what the configuration says, or else what the server wants now and was granted before,
/// and what it refused a request for; or else what it knows. And that the login lasts, where that is a thing to ask for.
fn scopes(
    oauth: &OAuthConfig,
    kept: Option<&Login>,
    challenge: Challenge,
    supported: Option<Vec<String>>,
    issuer: &Issuer,
) -> Vec<String> {
    let wanting = kept.filter(|kept| !kept.wanted.is_empty());
    let mut scopes = oauth.scopes.clone();
    if scopes.is_empty() {
        scopes = challenge.scopes;
        scopes.extend(wanting.into_iter().flat_map(|kept| kept.scopes.clone()));
    }
    scopes.extend(wanting.into_iter().flat_map(|kept| kept.wanted.clone()));
    if scopes.is_empty() {
        scopes = discovery::scopes(&supported.unwrap_or_default().join(" "));
    }
    let lasting = "offline_access".to_owned();
    let is_person = oauth.grant == Grant::AuthorizationCode;
    if is_person && !scopes.is_empty() && issuer.scopes_supported.contains(&lasting) {
        scopes.push(lasting);
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

/// What a registration answers (RFC 7591).
#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// Registers the gateway at the authorization server.
async fn register(
    fetch: &Fetch,
    issuer: &Issuer,
    listener: &Listener,
    login: &mut Login,
) -> Result<(), LoginError> {
    let endpoint = issuer.registration_endpoint.clone();
    let endpoint = endpoint.ok_or(LoginError::NoRegistration)?;
    let supported = &issuer.token_endpoint_auth_methods_supported;
    let method = if supported.is_empty() || issuer.supports("none") {
        "none"
    } else if issuer.takes_secrets_in_body() {
        "client_secret_post"
    } else {
        "client_secret_basic"
    };
    let wanted = json!({
        "client_name": "crossfeed",
        "application_type": "native",
        "redirect_uris": [listener.address],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "scope": login.scopes.join(" "),
    });
    let registered: Registration = fetch
        .post(endpoint, &wanted)
        .await
        .map_err(LoginError::Registration)?;
    let method = registered
        .token_endpoint_auth_method
        .as_deref()
        .unwrap_or(method);
    login.client_id = registered.client_id;
    login.client_secret = registered.client_secret.filter(|_| method != "none");
    login.secret_in_body = method == "client_secret_post";
    Ok(())
}

/// Sends the person to the authorization server, and fetches the tokens when they come back.
async fn authorize(
    fetch: &Fetch,
    issuer: &Issuer,
    endpoint: &Url,
    listener: &Listener,
    browser: &dyn Browser,
    login: &mut Login,
) -> Result<(), LoginError> {
    let unusable = |_| LoginError::Endpoint(FetchError::Unsafe);
    let redirect = RedirectUrl::new(listener.address.to_string()).map_err(unusable)?;
    let endpoint = AuthUrl::new(endpoint.to_string()).map_err(unusable)?;
    let client = tokens::client(login)?
        .set_auth_uri(endpoint)
        .set_redirect_uri(redirect);
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (address, state) = client
        .authorize_url(CsrfToken::new_random)
        .add_scopes(login.scopes.iter().cloned().map(Scope::new))
        .add_extra_param("resource", login.resource.clone())
        .set_pkce_challenge(challenge)
        .url();
    browser
        .open(address.as_str())
        .await
        .map_err(LoginError::Browser)?;
    let answer = timeout(LOGIN_TIMEOUT, listener.answer(state.secret()))
        .await
        .map_err(|_| LoginError::TimedOut(LOGIN_TIMEOUT.as_secs()))?
        .map_err(LoginError::Browser)?;
    let must_name = issuer.authorization_response_iss_parameter_supported;
    let named = answer.issuer.as_ref();
    if !named.map_or(!must_name, |named| *named == issuer.issuer) {
        return Err(LoginError::OtherIssuer);
    }
    let Some(code) = answer.code.filter(|_| answer.error.is_none()) else {
        let error = answer.error.unwrap_or_else(|| "no code".to_owned());
        let error = printable(error.as_bytes(), 100);
        return Err(LoginError::Refused { error });
    };
    let request = client
        .exchange_code(AuthorizationCode::new(code))
        .set_pkce_verifier(verifier)
        .add_extra_param("resource", login.resource.clone());
    Ok(tokens::receive(login, request.request_async(fetch)).await?)
}
