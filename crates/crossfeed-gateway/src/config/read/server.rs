//! Reads the servers.

use super::fields::{Field, Fields, FromField, key};
use crate::config::{
    Grant, OAuthConfig, ServerConfig, TransportConfig,
    expand::{has_variable, has_variable_in_query, is_name},
    node::Value,
};
use crossfeed_projection::{Path as FieldPath, RevealRules};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// A server's name is part of tools' names, which have 64 bytes in all.
const MAX_NAME_BYTES: usize = 48;

/// Reads the servers; `never` is withheld of all of them.
pub(super) fn servers(field: &Field<'_>, never: &[FieldPath]) -> Vec<ServerConfig> {
    let Some(entries) = field.table() else {
        return Vec::new();
    };
    if entries.is_empty() {
        field.problem("the configuration has no server");
    }
    let mut servers = Vec::with_capacity(entries.len());
    for (name, field) in entries {
        let odd = |c: char| c.is_control() || matches!(c, '/' | '*');
        if name.is_empty() {
            field.problem("the name of the server is empty");
        } else if name.len() > MAX_NAME_BYTES {
            field.problem(format!(
                "the name of the server has over {MAX_NAME_BYTES} bytes"
            ));
        } else if name.contains(odd) {
            field.problem("the name of the server has a character that patterns need: `/`, `*`, or a control character");
        }
        servers.extend(server(field, name, never));
    }
    servers
}

/// Reads one server; `of_all` is withheld of all servers.
fn server(field: Field<'_>, name: &str, of_all: &[FieldPath]) -> Option<ServerConfig> {
    let mut fields = field.fields()?;
    let transport = transport(&mut fields);
    let profile = fields.take("profile").and_then(|field| field.profile());
    let projection = fields.get("projection").unwrap_or_default();
    let view = fields.choice("view");
    fields.refuse_previews();
    let never_chain = fields
        .take("neverChain")
        .and_then(|field| match field.node.value {
            Value::Bool(all) => Some(if all {
                vec!["*".to_owned()]
            } else {
                Vec::new()
            }),
            _ => FromField::from_field(&field),
        });
    let allow = fields.take("allow").map(|field| {
        // An empty list would allow all tools, the opposite of what it says.
        let if_empty = "allows no tool: leave it out to allow all, or write `disabled`";
        let items = field.some_items(if_empty);
        items.iter().filter_map(Field::text).collect()
    });
    let deny = fields.get("deny");
    let never: Vec<FieldPath> = fields.get("never").unwrap_or_default();
    let withheld = RevealRules::new([], of_all.iter().chain(&never).cloned());
    let timeout = fields.get("timeout");
    let keep = fields.get("keep").unwrap_or_default();
    if keep && matches!(transport, Some(TransportConfig::Http { .. })) {
        let what = "`keep` is for a `command`: a server over HTTP has no process here";
        fields.field.problem(what);
    }
    let disabled = fields.get("disabled").unwrap_or_default();
    fields.finish();
    Some(ServerConfig {
        profile,
        projection,
        view,
        never_chain: never_chain.unwrap_or_default(),
        never,
        withheld: Arc::new(withheld),
        allow: allow.unwrap_or_default(),
        deny: deny.unwrap_or_default(),
        timeout,
        keep,
        disabled,
        ..ServerConfig::new(name, transport?)
    })
}

fn transport(fields: &mut Fields<'_>) -> Option<TransportConfig> {
    const OF_COMMAND: [&str; 3] = ["args", "env", "cwd"];
    const OF_URL: [&str; 3] = ["headers", "oauth", "insecure"];
    let (command, url) = (fields.take("command"), fields.take("url"));
    let of_command = OF_COMMAND.map(|key| fields.take(key));
    let of_url = OF_URL.map(|key| fields.take(key));
    let kind = fields.take("type");
    let wants_http = match &kind {
        None => None,
        Some(kind) => match kind.node.text() {
            Some("sse") => {
                kind.problem("the transport `sse` of 2024-11-05 is not supported; most servers that have it also have `http`");
                return None;
            }
            Some("streamable-http" | "streamableHttp" | "streamable_http") => Some(true),
            _ => Some(kind.word(&[("stdio", false), ("http", true)])?),
        },
    };
    let misplaced = |others: &[Option<Field<'_>>], key: &str| {
        for field in others.iter().flatten() {
            field.problem(format!("this belongs to servers with `{key}`"));
        }
    };
    match (command, url) {
        (Some(_), Some(url)) => url.problem("a server has either `command` or `url`"),
        (None, None) => {
            let what = "`command` or `url` is missing: how the server is reached";
            fields.field.problem(what);
        }
        (Some(command), None) if wants_http != Some(true) => {
            misplaced(&of_url, "url");
            return stdio(&command, of_command);
        }
        (None, Some(url)) if wants_http != Some(false) => {
            misplaced(&of_command, "command");
            return http(&url, of_url);
        }
        (command, _) => {
            let key = if command.is_some() { "command" } else { "url" };
            if let Some(kind) = kind {
                kind.problem(format!("`type` does not fit `{key}`"));
            }
        }
    }
    None
}

fn stdio(command: &Field<'_>, [args, env, cwd]: [Option<Field<'_>>; 3]) -> Option<TransportConfig> {
    let program = command.text();
    if program.as_deref() == Some("") {
        command.problem("the command is empty");
    }
    let is_wrong =
        |name: &str, _: &str| (!is_variable(name)).then_some("not a valid name of a variable");
    let args = args.and_then(|field| FromField::from_field(&field));
    let env = env.map(|field| pairs(&field, is_wrong));
    let cwd = cwd.and_then(|field| path(&field));
    Some(TransportConfig::Stdio {
        command: program?,
        args: args.unwrap_or_default(),
        env: env.unwrap_or_default(),
        cwd,
    })
}

fn http(
    url: &Field<'_>,
    [headers, oauth, insecure]: [Option<Field<'_>>; 3],
) -> Option<TransportConfig> {
    let address = url.text();
    if let Some(why) = address.as_deref().and_then(wrong_url) {
        url.problem(why);
    }
    let mut from_variables = Vec::new();
    let environment = &url.reader.sources.environment;
    if url
        .node
        .text()
        .is_some_and(|text| has_variable_in_query(text, environment))
    {
        from_variables.push("url".to_owned());
    }
    let entries = headers.as_ref().and_then(|field| field.node.entries());
    for entry in entries.unwrap_or_default() {
        if entry.node.text().is_some_and(has_variable) {
            from_variables.push(format!("headers.{}", key(&entry.key)));
        }
    }
    let headers = headers.map(|field| pairs(&field, wrong_header));
    let insecure = insecure.and_then(|field| FromField::from_field(&field));
    Some(TransportConfig::Http {
        url: address?,
        headers: headers.unwrap_or_default(),
        oauth: oauth.and_then(self::oauth),
        from_variables,
        insecure: insecure.unwrap_or_default(),
    })
}

fn oauth(field: Field<'_>) -> Option<OAuthConfig> {
    if let Value::Bool(wanted) = field.node.value {
        return wanted.then(OAuthConfig::default);
    }
    let mut fields = field.fields()?;
    let grant = fields.take("grant");
    let config = OAuthConfig {
        grant: grant.as_ref().and_then(Field::choice).unwrap_or_default(),
        client_id: fields.get("clientId"),
        client_secret: fields.get("clientSecret"),
        issuer: fields.get("issuer"),
        scopes: fields.get("scopes").unwrap_or_default(),
        directory: fields.take("directory").and_then(|field| path(&field)),
    };
    if let Some(grant) = grant
        && config.grant == Grant::ClientCredentials
        && (config.client_id.is_none() || config.client_secret.is_none())
    {
        grant.problem("needs `clientId` and `clientSecret`, which the gateway logs in with");
    }
    fields.finish();
    Some(config)
}

/// Reads a table of texts; `wrong` says what is wrong with a pair, without its value.
fn pairs(
    field: &Field<'_>,
    wrong: impl Fn(&str, &str) -> Option<&'static str>,
) -> BTreeMap<String, String> {
    let entries = field.table().unwrap_or_default().into_iter();
    let pairs = entries.filter_map(|(name, field)| {
        let value = field.text()?;
        if let Some(why) = wrong(name, &value) {
            field.problem(why);
        }
        Some((name.to_owned(), value))
    });
    pairs.collect()
}

fn is_variable(name: &str) -> bool {
    is_name(name) || (!name.is_empty() && !name.contains(['=', '\0']))
}

fn wrong_header(name: &str, value: &str) -> Option<&'static str> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Some("not a valid name of a header");
    }
    // Headers that frame a message or name its protocol.
    const OURS: [&str; 8] = [
        "connection",
        "content-length",
        "content-type",
        "host",
        "mcp-method",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    ];
    if OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
        return Some("the gateway sets this header itself");
    }
    let admitted = |byte: u8| byte == b'\t' || (byte >= 0x20 && byte != 0x7f);
    (!value.bytes().all(admitted)).then_some("the value has characters that a header cannot carry")
}

fn wrong_url(url: &str) -> Option<&'static str> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    if !["http", "https"]
        .iter()
        .any(|own| scheme.eq_ignore_ascii_case(own))
    {
        return Some("not a valid URL: write one like `https://example.com/mcp`");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.starts_with(':') {
        Some("the URL has no host")
    } else if authority.contains('@') {
        Some("the URL has a name or a password: write them as a header")
    } else if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Some("the URL has a blank")
    } else if url.contains('#') {
        Some("the URL has a fragment, which is not sent")
    } else {
        None
    }
}

/// Reads a path, relative to the directory of the configuration.
fn path(field: &Field<'_>) -> Option<PathBuf> {
    let path = field.text()?;
    let directory = field.reader.sources.directory.as_deref();
    Some(directory.map_or_else(|| path.as_str().into(), |directory| directory.join(&path)))
}
