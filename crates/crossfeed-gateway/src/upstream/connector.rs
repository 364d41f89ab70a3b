//! From what a configuration says of a server to a way to reach it.

use super::{Connector, UpstreamError, auth, http::HttpConnector};
use crate::config::{Limits, ServerConfig, TransportConfig};
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
                    .with_message_limit(limits.message_bytes);
            if let Some(directory) = cwd {
                connector = connector.with_directory(directory);
            }
            Ok(Arc::new(connector))
        }
        #[cfg(not(unix))]
        TransportConfig::Stdio { .. } => Err(UpstreamError::Unreachable {
            reason: "child processes take a Unix system".to_owned(),
        }),
        TransportConfig::Http { url, headers, .. } => {
            let connector = HttpConnector::new(server.name.as_str(), url, headers)?
                .with_credentials(Arc::new(auth::None))
                .with_message_limit(limits.message_bytes);
            Ok(Arc::new(connector))
        }
    }
}
