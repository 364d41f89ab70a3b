//! Reads the tokens of clients: their holders, and what each holder may do.

use super::{
    fields::{Field, Fields, did_you_mean},
    flows::server_and_tool,
};
use crate::config::{Rate, ServerConfig, TokenConfig};
use std::{num::NonZeroU32, time::Duration};

/// A shorter token could be guessed.
const MIN_TOKEN_BYTES: usize = 16;

pub(super) fn tokens(field: &Field<'_>, servers: &[ServerConfig]) -> Vec<TokenConfig> {
    let mut tokens: Vec<TokenConfig> = Vec::new();
    let Some(entries) = field.table() else {
        return tokens;
    };
    if entries.is_empty() {
        field.problem("no client would have a token: leave `tokens` out to have one generated, or write `anonymous = true`");
    }
    for (holder, field) in entries {
        if holder.is_empty() {
            field.problem("the name of the token's holder is empty");
        }
        let Some(token) = token(&field, holder, servers) else {
            continue;
        };
        // RFC 6750: what can stand behind `Bearer`.
        let admitted = |byte: u8| byte.is_ascii_graphic();
        if token.token.len() < MIN_TOKEN_BYTES {
            field.problem("the token is shorter than 16 characters: it could be guessed");
        } else if !token.token.bytes().all(admitted) {
            field.problem("the token has characters that a header cannot carry");
        } else if tokens.iter().any(|other| other.token == token.token) {
            field.problem("another holder has the same token");
        }
        tokens.push(token);
    }
    tokens
}

/// A token alone, or a table with what its holder may do.
fn token(field: &Field<'_>, holder: &str, servers: &[ServerConfig]) -> Option<TokenConfig> {
    if field.node.entries().is_none() {
        return Some(TokenConfig::new(holder, field.text()?));
    }
    let mut fields = field.clone().fields()?;
    let token = fields.require("token", "").and_then(|own| own.text());
    let allowed = allowed_servers(&mut fields, servers);
    let tools = allowed_tools(&mut fields, servers, &allowed);
    let rate = fields.take("rate").and_then(|field| {
        let rate = field.node.text().and_then(parse_rate);
        let expected = "a number of requests and a time like \"60/min\" (s, min, h, d)";
        field.expect(rate, expected)
    });
    fields.finish();
    Some(TokenConfig {
        servers: allowed,
        tools,
        rate,
        ..TokenConfig::new(holder, token?)
    })
}

fn allowed_servers(fields: &mut Fields<'_>, servers: &[ServerConfig]) -> Vec<String> {
    let Some(field) = fields.take("servers") else {
        return Vec::new();
    };
    let if_empty = "allows no server: leave it out to allow all, or leave the token out";
    let names = || servers.iter().map(|server| server.name.as_str());
    let named = |item: &Field<'_>| {
        let name = item.text()?;
        if !names().any(|known| known == name) {
            item.advise("unknown server", did_you_mean(&name, names()));
        }
        Some(name)
    };
    let items = field.some_items(if_empty);
    items.iter().filter_map(named).collect()
}

/// Patterns `server/tool`; a server alone stands for all of its tools.
fn allowed_tools(
    fields: &mut Fields<'_>,
    servers: &[ServerConfig],
    allowed: &[String],
) -> Vec<String> {
    let Some(field) = fields.take("tools") else {
        return Vec::new();
    };
    let if_empty = "allows no tool: leave it out to allow all, or leave the token out";
    let names: Vec<_> = servers
        .iter()
        .map(|server| server.name.as_str())
        .filter(|name| allowed.is_empty() || allowed.iter().any(|allowed| allowed == name))
        .collect();
    let what = "no server that this holder may use matches the pattern";
    let pattern = |item: &Field<'_>| server_and_tool(item, &item.text()?, &names, what);
    let items = field.some_items(if_empty);
    items.iter().filter_map(pattern).collect()
}

/// `60/min`.
fn parse_rate(text: &str) -> Option<Rate> {
    let (requests, unit) = text.split_once('/')?;
    let requests: NonZeroU32 = requests.trim().parse().ok()?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    // Beyond a million in a second a clock cannot tell them apart.
    (requests.get() <= 1_000_000).then_some(Rate {
        requests,
        per: Duration::from_secs(seconds),
    })
}
