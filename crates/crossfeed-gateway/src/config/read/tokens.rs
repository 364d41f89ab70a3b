//! The tokens of a configuration: who holds them, and what each holder may do.

use super::{
    Reader,
    fields::{Fields, is_empty, key, nearest, table, text, texts, wrong},
    flows::server_and_tool,
};
use crate::config::{
    Rate, ServerConfig, TokenConfig,
    node::{Node, Value},
};
use std::{num::NonZeroU32, time::Duration};

/// The shortest token that nobody guesses.
const SHORTEST: usize = 16;

pub(super) fn tokens(
    reader: &mut Reader<'_>,
    node: &Node,
    servers: &[ServerConfig],
) -> Vec<TokenConfig> {
    let mut tokens: Vec<TokenConfig> = Vec::new();
    let Some(entries) = table(reader, "tokens", node) else {
        return tokens;
    };
    if entries.is_empty() {
        let what = "no client would have a token: leave `tokens` out to have one made, or write `anonymous = true`";
        reader.problem("tokens", node.span.start, what);
    }
    for entry in entries {
        let at = format!("tokens.{}", key(&entry.key));
        let offset = entry.node.span.start;
        if entry.key.is_empty() {
            reader.problem(&at, offset, "the name of the token's holder is empty");
        }
        let Some(token) = token(reader, &at, &entry.key, &entry.node, servers) else {
            continue;
        };
        // RFC 6750: what can stand behind `Bearer`.
        let admitted = |byte: u8| byte.is_ascii_graphic();
        if token.token.len() < SHORTEST {
            let what = "the token is shorter than 16 characters: it could be guessed";
            reader.problem(&at, offset, what);
        } else if !token.token.bytes().all(admitted) {
            let what = "the token has characters that a header cannot carry";
            reader.problem(&at, offset, what);
        } else if tokens.iter().any(|other| other.token == token.token) {
            reader.problem(&at, offset, "the token is that of another holder, too");
        }
        tokens.push(token);
    }
    tokens
}

/// A token alone, or a table with what its holder may do.
fn token(
    reader: &mut Reader<'_>,
    at: &str,
    name: &str,
    node: &Node,
    servers: &[ServerConfig],
) -> Option<TokenConfig> {
    if !matches!(node.value, Value::Table(_)) {
        return Some(TokenConfig::new(name, text(reader, at, node)?));
    }
    let mut fields = Fields::of(reader, at, node)?;
    let token = match fields.take("token") {
        Some(node) => text(reader, &fields.at("token"), node),
        None => {
            reader.problem(at, node.span.start, "`token` is missing");
            None
        }
    };
    let allowed = allowed_servers(reader, &mut fields, servers);
    let tools = allowed_tools(reader, &mut fields, servers, &allowed);
    let rate = fields.take("rate").and_then(|node| {
        let rate = match &node.value {
            Value::Text(text) => parse_rate(text),
            _ => None,
        };
        if rate.is_none() {
            let expected = "a number of requests and a time like \"60/min\" (s, min, h, d)";
            wrong(reader, &fields.at("rate"), node, expected);
        }
        rate
    });
    fields.finish(reader);
    Some(TokenConfig {
        servers: allowed,
        tools,
        rate,
        ..TokenConfig::new(name, token?)
    })
}

fn allowed_servers(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    servers: &[ServerConfig],
) -> Vec<String> {
    let Some(node) = fields.take("servers") else {
        return Vec::new();
    };
    let at = fields.at("servers");
    let allowed = texts(reader, &at, node);
    if is_empty(node) {
        let what = "it admits no server; leave it out to admit all, or leave the token out";
        reader.problem(&at, node.span.start, what);
    }
    let names = || servers.iter().map(|server| server.name.as_str());
    for (index, name) in allowed.iter().enumerate() {
        if !names().any(|known| known == name) {
            let at = format!("{at}[{index}]");
            let near = nearest(name, names()).map(|near| format!("the nearest one is `{near}`"));
            reader.advise(&at, node.span.start, "there is no such server", near);
        }
    }
    allowed
}

/// Patterns as `server/tool`; a server alone means all of its tools.
fn allowed_tools(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    servers: &[ServerConfig],
    allowed: &[String],
) -> Vec<String> {
    let Some(node) = fields.take("tools") else {
        return Vec::new();
    };
    let at = fields.at("tools");
    let written = texts(reader, &at, node);
    if is_empty(node) {
        let what = "it admits no tool; leave it out to admit all, or leave the token out";
        reader.problem(&at, node.span.start, what);
    }
    let names: Vec<_> = servers
        .iter()
        .map(|server| server.name.as_str())
        .filter(|name| allowed.is_empty() || allowed.iter().any(|allowed| allowed == name))
        .collect();
    let written = written.iter().enumerate();
    let pattern = |(index, text): (usize, &String)| {
        let at = format!("{at}[{index}]");
        let what = "no server that this holder may use matches the pattern";
        server_and_tool(reader, (&at, node), text, &names, what)
    };
    written.filter_map(pattern).collect()
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
    // Beyond a million in a second a clock tells them no longer apart.
    (requests.get() <= 1_000_000).then_some(Rate {
        requests,
        per: Duration::from_secs(seconds),
    })
}
