//! From what a configuration says of a server to a way to reach it.

use super::{
    Connector, Event, Upstream, UpstreamError,
    auth::{self, Credentials},
    http::HttpConnector,
};
use crate::{
    config::{Limits, ServerConfig, TransportConfig},
    metrics::Metrics,
};
use async_trait::async_trait;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::mpsc;

/// The way to reach a server. `environment` is what the gateway's own process was given: a child gets
/// those of its variables that are safe to pass on.
///
/// # Errors
///
/// [`UpstreamError::Unreachable`] when what is configured can never be reached, whatever the server does.
pub fn connector(
    server: &ServerConfig,
    limits: &Limits,
    environment: &BTreeMap<String, String>,
) -> Result<Arc<dyn Connector>, UpstreamError> {
    connector_with_metrics(server, limits, environment, &Metrics::new())
}

/// The same, which counts what is not a message.
///
/// # Errors
///
/// As [`connector`].
pub fn connector_with_metrics(
    server: &ServerConfig,
    limits: &Limits,
    environment: &BTreeMap<String, String>,
    metrics: &Metrics,
) -> Result<Arc<dyn Connector>, UpstreamError> {
    #[cfg(not(unix))]
    let _ = metrics;
    match &server.transport {
        #[cfg(unix)]
        TransportConfig::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let mut connector =
                super::stdio::StdioConnector::new(server.name.as_str(), command, args)
                    .with_inherited(environment)
                    .with_environment(env)
                    .with_message_limit(limits.message_bytes)
                    .with_descriptors(limits.child_descriptors)
                    .with_metrics(metrics);
            if let Some(directory) = cwd {
                connector = connector.with_directory(directory);
            }
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
            let mut names = headers.keys();
            let says_who = names.any(|name| name.eq_ignore_ascii_case("authorization"));
            let kept = oauth
                .as_ref()
                .and_then(|oauth| Some((oauth.directory.as_deref()?, oauth.grant)));
            if let Some(place) = exposed_secret(&server.transport)? {
                return Ok(Arc::new(RefusedConnector { place }));
            }
            // Anyone on the way could read a token.
            let is_safe = auth::check(&super::http::address(url)?).is_ok();
            let credentials: Arc<dyn Credentials> = match kept.filter(|_| is_safe && !says_who) {
                Some((directory, grant)) => {
                    Arc::new(auth::OAuth::new(directory, &server.name, url, grant))
                }
                None => Arc::new(auth::None),
            };
            let connector = HttpConnector::new(server.name.as_str(), url, headers)?
                .with_credentials(credentials)
                .with_message_limit(limits.message_bytes);
            Ok(Arc::new(connector))
        }
    }
}

/// The place of a secret that would go over plain HTTP to another computer: such a server is not connected
/// to.
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
    let place = || secret(headers, from_variables);
    Ok(if is_safe || *insecure { None } else { place() })
}

/// The place of a secret that each request would carry: what a variable filled, else a header whose name
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
        let connector = connector(&config.servers[0], &config.limits, &BTreeMap::new()).unwrap();
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
