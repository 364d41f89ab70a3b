//! Makes the connector of a server from its configuration.

use super::{
    Connector, Event, Upstream, UpstreamError,
    auth::{self, OAuth},
    http::HttpConnector,
};
use crate::{
    config::{Limits, ServerConfig, TransportConfig},
    metrics::Metrics,
    records::Records,
};
use async_trait::async_trait;
use crossfeed_store::ResultStore;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::mpsc;
#[cfg(unix)]
use {
    super::stdio::{self, StdioConnector},
    crate::metrics::families,
};

/// The connector of a server. A child process inherits only those variables of `environment`, the gateway's own, that
/// are safe to pass on. What a child prints that is not a message is counted in `metrics`. Gateways over one `store` have
/// the tokens of a login together, if it has a place for records.
///
/// # Errors
///
/// [`UpstreamError::Unreachable`] when the configuration can never work, whatever the server does.
#[cfg_attr(
    not(unix),
    expect(unused_variables, reason = "only child processes need them")
)]
pub fn connector(
    server: &ServerConfig,
    limits: &Limits,
    environment: &BTreeMap<String, String>,
    metrics: &Metrics,
    store: Option<&Arc<dyn ResultStore>>,
) -> Result<Arc<dyn Connector>, UpstreamError> {
    let name = server.name.as_str();
    match &server.transport {
        #[cfg(unix)]
        TransportConfig::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let mut connector = StdioConnector::new(name, command, args);
            connector.environment = stdio::environment(env, environment);
            connector.directory.clone_from(cwd);
            connector.limit = limits.message_bytes;
            connector.descriptors = limits.child_descriptors;
            connector.no_messages = metrics.counter(families::NO_MESSAGES, &[name]);
            Ok(Arc::new(connector))
        }
        #[cfg(not(unix))]
        TransportConfig::Stdio { .. } => Err(UpstreamError::Unreachable(
            "child processes take a Unix system".to_owned(),
        )),
        TransportConfig::Http {
            url,
            headers,
            oauth,
            ..
        } => {
            if let Some(place) = exposed_secret(&server.transport)? {
                return Ok(Arc::new(RefusedConnector { place }));
            }
            let has_authorization = headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case("authorization"));
            // Over plain HTTP, anyone on the way could read a token.
            let is_safe = auth::check(&super::http::address(url)?).is_ok();
            let oauth = oauth.as_ref().filter(|_| is_safe && !has_authorization);
            let records = store.cloned().and_then(Records::of);
            let oauth = oauth.and_then(|oauth| {
                let directory = oauth.directory.as_deref()?;
                Some(OAuth::new(directory, name, url, oauth, records.clone()))
            });
            let mut connector = HttpConnector::new(name, url, headers, oauth)?;
            connector.limit = limits.message_bytes;
            Ok(Arc::new(connector))
        }
    }
}

/// The place of a secret that would go over plain HTTP to another computer: the gateway does not connect to such a
/// server.
///
/// # Errors
///
/// [`UpstreamError::Unreachable`] when its address can never be reached.
pub(crate) fn exposed_secret(transport: &TransportConfig) -> Result<Option<String>, UpstreamError> {
    let TransportConfig::Http {
        url,
        headers,
        from_variables,
        insecure,
        ..
    } = transport
    else {
        return Ok(None);
    };
    let is_safe = auth::check(&super::http::address(url)?).is_ok();
    let is_exposed = !is_safe && !*insecure;
    Ok(is_exposed
        .then(|| secret(headers, from_variables))
        .flatten())
}

/// The place of a secret that each request would carry: a value from a variable, else a header whose name
/// says that it is one.
fn secret(headers: &BTreeMap<String, String>, from_variables: &[String]) -> Option<String> {
    let named = || {
        let name = headers.keys().find(|name| names_secret(name))?;
        Some(format!("headers.{name}"))
    };
    from_variables.first().cloned().or_else(named)
}

/// Whether the name of a header is one of those that carry secrets: `Authorization`, `Cookie`, `X-Api-Key`.
fn names_secret(name: &str) -> bool {
    const WORDS: [&str; 11] = [
        "apikey",
        "auth",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "password",
        "secret",
        "session",
        "token",
    ];
    let mut words = name.split(['-', '_']);
    words.any(|word| WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret)))
}

/// A server that is never connected to, since a secret would go over plain HTTP to another computer.
struct RefusedConnector {
    /// Where the secret stands in the configuration.
    place: String,
}

#[async_trait]
impl Connector for RefusedConnector {
    async fn connect(&self, _: mpsc::Sender<Event>) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let place = &self.place;
        Err(UpstreamError::Unreachable(format!(
            "its `{place}` would go over plain HTTP to another computer: use https, or set `insecure = true` \
                 if everyone on the way may read it"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Format, GatewayConfig, Sources};

    /// Why a server with these keys is not connected to; none where it would be.
    async fn refusal(keys: &str) -> Option<String> {
        let text = format!("[mcpServers.a]\n{keys}\n");
        let sources =
            Sources::default().with_environment([("K".to_owned(), "s3cret".to_owned())].into());
        let config = GatewayConfig::parse(&text, Format::Toml, &sources).unwrap();
        let (server, metrics) = (&config.servers[0], Metrics::new());
        let connector =
            connector(server, &config.limits, &BTreeMap::new(), &metrics, None).unwrap();
        let (events, _) = mpsc::channel(1);
        // Over HTTP a connection is opened by its first message, so that nothing is sent here.
        let error = connector.connect(events).await.err()?;
        assert_eq!(error.code(), crossfeed_wire::ErrorCode::UpstreamUnavailable);
        let said = error.to_string();
        assert!(!said.contains("s3cret"), "{said}");
        Some(said)
    }

    #[tokio::test]
    async fn secrets_do_not_go_over_plain_http_to_another_computer() {
        let far = "url = 'http://far.example/mcp'";
        for (keys, place) in [
            ("headers = {X-Team = '${K}'}", "headers.X-Team"),
            ("headers = {X-Team = 'a${K:-b}'}", "headers.X-Team"),
            (
                "headers = {Authorization = 'Bearer x'}",
                "headers.Authorization",
            ),
            ("headers = {cookie = 'x'}", "headers.cookie"),
            ("headers = {X-Api-Key = 'x'}", "headers.X-Api-Key"),
            ("headers = {x_auth_token = 'x'}", "headers.x_auth_token"),
        ] {
            let said = refusal(&format!("{far}\n{keys}")).await.expect(keys);
            assert!(
                said.contains(&format!("`{place}` would go over plain HTTP")),
                "{said}"
            );
            for near in [
                "http://localhost:1/",
                "http://127.0.0.1:1/",
                "http://[::1]:1/",
                "https://far.example/",
            ] {
                assert_eq!(
                    refusal(&format!("url = '{near}'\n{keys}")).await,
                    None,
                    "{near}"
                );
            }
            assert_eq!(
                refusal(&format!("{far}\n{keys}\ninsecure = true")).await,
                None
            );
        }
        let said = refusal("url = 'http://far.example/mcp?key=${K}'")
            .await
            .expect("a query");
        assert!(said.contains("`url` would go over plain HTTP"), "{said}");
        for keys in ["headers = {X-Team = 'x', X-Monkey = 'y'}", ""] {
            assert_eq!(refusal(&format!("{far}\n{keys}")).await, None, "{keys}");
        }
    }
}
