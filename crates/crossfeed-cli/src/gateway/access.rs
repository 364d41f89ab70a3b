//! Tokens of clients over HTTP: creates the listener's own token if the configuration names none, and prints a client's entry.

use super::assemble::base_directory;
use crate::report::{CommandError, Result, bail};
use crossfeed_gateway::{
    config::{GatewayConfig, ListenConfig, TokenConfig},
    downstream::http::{ListenerToken, ListenerTokenError},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    error::Error as _,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// The holder of a listener's own token.
const HOLDER: &str = "default";

/// Adds a token to a gateway that listens, unless its configuration decides who may use it; returns the file of the token.
pub(super) fn require_token(
    config: GatewayConfig,
    environment: &BTreeMap<String, String>,
) -> Result<(GatewayConfig, Option<PathBuf>)> {
    let Some(address) = listens_without_tokens(&config) else {
        return Ok((config, None));
    };
    let token = token_directory(environment)
        .and_then(|directory| {
            ListenerToken::load_or_create(&directory, address).map_err(|error| with_cause(&error))
        })
        .map_err(CommandError::Usage)?;
    let tokens = vec![TokenConfig::new(HOLDER, token.secret())];
    Ok((config.with_tokens(tokens), Some(token.path().to_owned())))
}

/// Why [`require_token`] would fail; creates nothing.
pub(super) fn token_error(
    config: &GatewayConfig,
    environment: &BTreeMap<String, String>,
) -> Option<String> {
    let address = listens_without_tokens(config)?;
    let checked = token_directory(environment).and_then(|directory| {
        ListenerToken::check(&directory, address).map_err(|error| with_cause(&error))
    });
    checked.err()
}

/// The address of a gateway that listens and whose configuration does not decide who may use it.
fn listens_without_tokens(config: &GatewayConfig) -> Option<SocketAddr> {
    let listen = config.listen.as_ref()?;
    let is_decided = config.anonymous || !config.tokens.is_empty();
    (!is_decided).then_some(listen.address)
}

/// The directory of listeners' own tokens.
fn token_directory(environment: &BTreeMap<String, String>) -> Result<PathBuf, String> {
    let Some(directory) = base_directory(environment, "XDG_STATE_HOME", ".local/state") else {
        return Err(
            "no directory for the clients' token: set HOME or XDG_STATE_HOME, or write `tokens` \
             or `anonymous` in the configuration"
                .to_owned(),
        );
    };
    Ok(directory.join("crossfeed").join("listen"))
}

/// An error with its cause.
fn with_cause(error: &ListenerTokenError) -> String {
    let cause = error.source().map(ToString::to_string);
    format!("{error}: {}", cause.unwrap_or_default())
}

/// Prints a client's entry for this gateway.
pub(super) fn print_client_config(
    config: GatewayConfig,
    environment: &BTreeMap<String, String>,
    holder: Option<&str>,
) -> Result {
    let (config, _) = require_token(config, environment)?;
    let Some(listen) = &config.listen else {
        bail!(
            "this gateway serves standard input and output: `--listen ADDR` says where clients reach it over HTTP"
        );
    };
    if listen.address.port() == 0 {
        bail!("port 0 is another one at each start: say which port clients are to use");
    }
    let token = token_of(&config.tokens, holder)?;
    let entry = client_config(listen, token);
    let mut out = io::stdout().lock();
    writeln!(out, "{entry:#}")
        .and_then(|()| out.flush())
        .map_err(CommandError::Output)
}

/// The token of a holder, or of the only one.
fn token_of<'t>(
    tokens: &'t [TokenConfig],
    holder: Option<&str>,
) -> Result<Option<&'t TokenConfig>> {
    let names = || {
        let names: Vec<_> = tokens.iter().map(|token| token.name.as_str()).collect();
        names.join(", ")
    };
    match (tokens, holder) {
        ([], None) => Ok(None),
        ([], Some(_)) => Err(CommandError::usage(
            "--holder names the holder of a token, but clients need none here",
        )),
        ([token], None) => Ok(Some(token)),
        (_, None) => Err(CommandError::usage(format!(
            "several holders have tokens: `--holder NAME` says which one; there are: {}",
            names()
        ))),
        (_, Some(holder)) => match tokens.iter().find(|token| token.name == holder) {
            Some(token) => Ok(Some(token)),
            None => Err(CommandError::usage(format!(
                "no token has the holder `{holder}`; there are: {}",
                names()
            ))),
        },
    }
}

fn client_config(listen: &ListenConfig, token: Option<&TokenConfig>) -> Value {
    // A listener at every address is reached at loopback.
    let ip = match listen.address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let address = SocketAddr::new(ip, listen.address.port());
    let mut entry = json!({"type": "http", "url": format!("http://{address}{}", listen.path)});
    if let (Some(token), Some(entry)) = (token, entry.as_object_mut()) {
        let headers = json!({"Authorization": format!("Bearer {}", token.token)});
        entry.insert("headers".to_owned(), headers);
    }
    json!({"mcpServers": {"crossfeed": entry}})
}
