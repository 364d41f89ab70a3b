//! `crossfeed gateway --login`: prints an address to open in a browser, and stores the tokens once the user has logged in to a
//! server: in the token file, and in the store that gateways have in common. Tokens are never shown.

use super::store;
use crate::report::{CommandError, Result, bail};
use crossfeed::{ErrorCode, error::ErrorBody};
use crossfeed_gateway::{
    config::GatewayConfig,
    upstream::auth::{self, Browser, LoginError},
};
use std::io::{self, Write};

/// Prints the address, so that the user can choose the browser.
struct AddressPrinter<'s> {
    server: &'s str,
}

#[async_trait::async_trait]
impl Browser for AddressPrinter<'_> {
    async fn open(&self, address: &str) -> io::Result<()> {
        let server = self.server;
        writeln!(
            io::stderr(),
            "to log in to `{server}`, open this address in a browser on this machine:\n  {address}"
        )
    }
}

pub(super) async fn run(config: &GatewayConfig, name: &str, json: bool) -> Result {
    let mut servers = config.servers.iter();
    let Some(server) = servers.find(|server| server.name == name) else {
        let names: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
        bail!(
            "there is no server `{name}`; there are: {}",
            names.join(", ")
        );
    };
    let shared = store::find(config).await;
    let shared = shared.as_ref().map(Option::as_ref);
    let shared = shared.map_err(|error| error.as_str().to_owned());
    auth::login(server, &AddressPrinter { server: name }, shared)
        .await
        .map_err(|error| failed(name, &error))?;
    // The login counts even if the answer cannot be written.
    let _ = if json {
        writeln!(io::stdout(), "{}", serde_json::json!({ "logged_in": name }))
    } else {
        writeln!(io::stdout(), "logged in to `{name}`")
    };
    Ok(())
}

fn failed(server: &str, error: &LoginError) -> CommandError {
    let message = format!("server `{server}`: {error}");
    let again = format!("run `crossfeed gateway --login {server}` again when the store answers");
    let advice = match error {
        LoginError::NotShared(_) => {
            "a gateway with the same `oauth.directory` takes the login there, too".to_owned()
        }
        LoginError::UnknownIssuer { issuer, .. } => {
            format!(
                "or, if `{issuer}` is right, make it the `issuer` of the configuration's `oauth`"
            )
        }
        _ => return ErrorBody::new(ErrorCode::UpstreamUnavailable, message).into(),
    };
    CommandError::answer(ErrorCode::StoreUnavailable, message)
        .with_advice(format!("{again}; {advice}"))
}
