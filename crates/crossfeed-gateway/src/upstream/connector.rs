//! From what a configuration says of a server to a way to reach it.

use super::{
    Connector, UpstreamError,
    auth::{self, Credentials},
    http::HttpConnector,
};
use crate::{
    config::{Limits, ServerConfig, TransportConfig},
    metrics::Metrics,
};
use std::{collections::BTreeMap, sync::Arc};

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

/// The same, which counts what is no message.
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
        TransportConfig::Stdio { .. } => Err(UpstreamError::Unreachable {
            reason: "child processes take a Unix system".to_owned(),
        }),
        TransportConfig::Http {
            url,
            headers,
            oauth,
        } => {
            let mut names = headers.keys();
            let says_who = names.any(|name| name.eq_ignore_ascii_case("authorization"));
            let kept = oauth
                .as_ref()
                .and_then(|oauth| Some((oauth.directory.as_deref()?, oauth.grant)));
            // Everybody could read a token on its way.
            let is_safe = auth::check(&super::http::address(url)?).is_ok();
            if says_who && !is_safe {
                return Err(UpstreamError::Unreachable {
                    reason: "its `headers` hold `Authorization`, and its `url` is neither https nor on this computer"
                        .to_owned(),
                });
            }
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
