//! `crossfeed gateway --login`: prints an address to open in a browser, and stores the tokens once the user has logged in to a
//! server. Tokens are never shown.

use crate::report::{Result, bail};
use crossfeed::{ErrorCode, error::ErrorBody};
use crossfeed_gateway::{
    config::GatewayConfig,
    upstream::auth::{self, Browser},
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
    auth::login(server, &AddressPrinter { server: name })
        .await
        .map_err(|error| {
            let message = format!("server `{name}`: {error}");
            ErrorBody::new(ErrorCode::UpstreamUnavailable, message)
        })?;
    // The login counts even if the answer cannot be written.
    let _ = if json {
        writeln!(io::stdout(), "{}", serde_json::json!({ "logged_in": name }))
    } else {
        writeln!(io::stdout(), "logged in to `{name}`")
    };
    Ok(())
}
