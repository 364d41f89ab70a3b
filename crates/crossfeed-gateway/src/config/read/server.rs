//! The servers of a configuration.

use super::{
    Reader,
    fields::{Fields, is_empty, key, table, text, texts, wrong},
};
use crate::config::{
    Grant, OAuthConfig, ServerConfig, TransportConfig,
    expand::{has_variable, has_variable_in_query, is_name},
    node::{Node, Value},
};
use crossfeed_projection::{Path as FieldPath, RevealRules};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// How long a server's name may be: it stands before names of tools, which have 64 bytes in all.
const NAME: usize = 48;

/// `never` is what is withheld of all servers.
pub(super) fn servers(
    reader: &mut Reader<'_>,
    at: &str,
    node: &Node,
    never: &[FieldPath],
) -> Vec<ServerConfig> {
    let Some(entries) = table(reader, at, node) else {
        return Vec::new();
    };
    if entries.is_empty() {
        reader.problem(at, node.span.start, "there is no server");
    }
    let mut servers = Vec::with_capacity(entries.len());
    for entry in entries {
        let at = format!("{at}.{}", key(&entry.key));
        let odd = |c: char| c.is_control() || matches!(c, '/' | '*');
        let problem = match entry.key.as_str() {
            "" => Some("the name of the server is empty".to_owned()),
            name if name.len() > NAME => {
                Some(format!("the name of the server has over {NAME} bytes"))
            }
            name if name.contains(odd) => Some(
                "the name of the server has a character that patterns need: `/`, `*`, or a control character"
                    .to_owned(),
            ),
            _ => None,
        };
        if let Some(problem) = problem {
            reader.problem(&at, entry.key_span.start, problem);
        }
        servers.extend(server(reader, &at, &entry.key, &entry.node, never));
    }
    servers
}

fn server(
    reader: &mut Reader<'_>,
    at: &str,
    name: &str,
    node: &Node,
    never: &[FieldPath],
) -> Option<ServerConfig> {
    let mut fields = Fields::of(reader, at, node)?;
    let transport = transport(reader, &mut fields, at, node);
    let profile = fields.profile(reader, "profile");
    let projection = fields.truth(reader, "projection", false);
    let view = fields.view(reader, "view");
    fields.refuse_previews(reader);
    let never_chain = match fields.take("neverChain") {
        Some(Node {
            value: Value::Bool(true),
            ..
        }) => vec!["*".to_owned()],
        Some(Node {
            value: Value::Bool(false),
            ..
        })
        | None => Vec::new(),
        Some(node) => texts(reader, &fields.at("neverChain"), node),
    };
    let allow_said = fields.take("allow");
    let allow = allow_said.map_or_else(Vec::new, |node| texts(reader, &fields.at("allow"), node));
    if let Some(node) = allow_said.filter(|node| is_empty(node)) {
        // It would mean all tools, which is the reverse of what it says.
        let what = "it admits no tool; leave it out to admit all, or write `disabled`";
        reader.problem(&fields.at("allow"), node.span.start, what);
    }
    let deny = fields.texts(reader, "deny");
    let own = fields.paths(reader, "never");
    let withheld = RevealRules::new([], never.iter().chain(&own).cloned());
    let timeout = fields.time(reader, "timeout");
    let keep = fields.truth(reader, "keep", false);
    if keep && matches!(transport, Some(TransportConfig::Http { .. })) {
        let what = "`keep` is for a `command`: a server over HTTP has no process here";
        reader.problem(at, node.span.start, what);
    }
    let disabled = fields.truth(reader, "disabled", false);
    fields.finish(reader);
    Some(ServerConfig {
        profile,
        projection,
        view,
        never_chain,
        never: own,
        withheld: Arc::new(withheld),
        allow,
        deny,
        timeout,
        keep,
        disabled,
        ..ServerConfig::new(name, transport?)
    })
}

fn transport(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    at: &str,
    node: &Node,
) -> Option<TransportConfig> {
    let (command, url) = (fields.take("command"), fields.take("url"));
    let (args, env, cwd) = (fields.take("args"), fields.take("env"), fields.take("cwd"));
    let (headers, oauth) = (fields.take("headers"), fields.take("oauth"));
    let insecure = fields.take("insecure");
    let kind = fields.take("type");
    let wants_http = match kind.map(|kind| &kind.value) {
        None => None,
        Some(Value::Text(word)) => match word.as_str() {
            "stdio" => Some(false),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" => Some(true),
            "sse" => {
                let what = "the transport `sse` of 2024-11-05 is not spoken; most servers that have it have `http`, too";
                reader.problem(&fields.at("type"), kind.unwrap_or(node).span.start, what);
                return None;
            }
            _ => {
                let node = kind.unwrap_or(node);
                wrong(reader, &fields.at("type"), node, "\"stdio\" or \"http\"");
                return None;
            }
        },
        Some(_) => {
            let node = kind.unwrap_or(node);
            wrong(reader, &fields.at("type"), node, "\"stdio\" or \"http\"");
            return None;
        }
    };
    let mut misplaced = |keys: &[(&'static str, Option<&Node>)], of: &str| {
        for (key, node) in keys {
            if let Some(node) = node {
                let what = format!("this belongs to servers with `{of}`");
                reader.problem(&format!("{at}.{key}"), node.span.start, what);
            }
        }
    };
    match (command, url) {
        (Some(_), Some(url)) => {
            let what = "a server has either `command` or `url`";
            reader.problem(at, url.span.start, what);
            None
        }
        (None, None) => {
            let what = "`command` or `url` is missing: how the server is reached";
            reader.problem(at, node.span.start, what);
            None
        }
        (Some(command), None) if wants_http != Some(true) => {
            let of_http = [
                ("headers", headers),
                ("oauth", oauth),
                ("insecure", insecure),
            ];
            misplaced(&of_http, "url");
            stdio(reader, at, command, args, env, cwd)
        }
        (None, Some(url)) if wants_http != Some(false) => {
            misplaced(&[("args", args), ("env", env), ("cwd", cwd)], "command");
            http(reader, at, url, headers, oauth, insecure)
        }
        (command, _) => {
            let key = if command.is_some() { "command" } else { "url" };
            let what = format!("`type` is of another kind than `{key}`");
            reader.problem(at, kind.unwrap_or(node).span.start, what);
            None
        }
    }
}

fn stdio(
    reader: &mut Reader<'_>,
    at: &str,
    command: &Node,
    args: Option<&Node>,
    env: Option<&Node>,
    cwd: Option<&Node>,
) -> Option<TransportConfig> {
    let place = |key: &str| format!("{at}.{key}");
    let program = text(reader, &place("command"), command);
    if program.as_deref() == Some("") {
        reader.problem(&place("command"), command.span.start, "it is empty");
    }
    let args = args.map_or_else(Vec::new, |node| texts(reader, &place("args"), node));
    let env = env.map_or_else(BTreeMap::new, |node| {
        pairs(reader, &place("env"), node, |name, _| {
            (!is_variable(name)).then_some("a variable cannot be called so")
        })
    });
    let cwd = cwd.and_then(|node| text(reader, &place("cwd"), node));
    let cwd = cwd.map(|cwd| within(reader.sources.directory.as_deref(), &cwd));
    Some(TransportConfig::Stdio {
        command: program?,
        args,
        env,
        cwd,
    })
}

fn http(
    reader: &mut Reader<'_>,
    at: &str,
    url: &Node,
    headers: Option<&Node>,
    oauth: Option<&Node>,
    insecure: Option<&Node>,
) -> Option<TransportConfig> {
    let place = |key: &str| format!("{at}.{key}");
    let address = text(reader, &place("url"), url);
    if let Some(why) = address.as_deref().and_then(wrong_url) {
        reader.problem(&place("url"), url.span.start, why);
    }
    let mut from_variables = Vec::new();
    if let Value::Text(text) = &url.value
        && has_variable_in_query(text, &reader.sources.environment)
    {
        from_variables.push("url".to_owned());
    }
    for entry in headers.and_then(Node::entries).unwrap_or_default() {
        if matches!(&entry.node.value, Value::Text(text) if has_variable(text)) {
            from_variables.push(format!("headers.{}", key(&entry.key)));
        }
    }
    let headers = headers.map_or_else(BTreeMap::new, |node| {
        pairs(reader, &place("headers"), node, wrong_header)
    });
    let insecure = match insecure.map(|node| (node, &node.value)) {
        None => false,
        Some((_, Value::Bool(insecure))) => *insecure,
        Some((node, _)) => {
            wrong(reader, &place("insecure"), node, "true or false");
            false
        }
    };
    let oauth = oauth.and_then(|node| self::oauth(reader, &place("oauth"), node));
    Some(TransportConfig::Http {
        url: address?,
        headers,
        oauth,
        from_variables,
        insecure,
    })
}

fn oauth(reader: &mut Reader<'_>, at: &str, node: &Node) -> Option<OAuthConfig> {
    if let Value::Bool(wanted) = node.value {
        return wanted.then(OAuthConfig::default);
    }
    let mut fields = Fields::of(reader, at, node)?;
    let grant_said = fields.take("grant");
    let grant = grant_said.map_or_else(Grant::default, |node| {
        grant(reader, &fields.at("grant"), node)
    });
    let client_id = fields.text(reader, "clientId");
    let client_secret = fields.text(reader, "clientSecret");
    let issuer = fields.text(reader, "issuer");
    let scopes = fields.texts(reader, "scopes");
    let directory = fields.text(reader, "directory");
    if let Some(node) = grant_said
        && grant == Grant::ClientCredentials
        && (client_id.is_none() || client_secret.is_none())
    {
        let what = "it takes `clientId` and `clientSecret`: they are what the server lets in";
        reader.problem(&fields.at("grant"), node.span.start, what);
    }
    fields.finish(reader);
    Some(OAuthConfig {
        grant,
        client_id,
        client_secret,
        issuer,
        scopes,
        directory: directory.map(|path| within(reader.sources.directory.as_deref(), &path)),
    })
}

fn grant(reader: &mut Reader<'_>, at: &str, node: &Node) -> Grant {
    match &node.value {
        Value::Text(word) if word == "authorization_code" => Grant::AuthorizationCode,
        Value::Text(word) if word == "client_credentials" => Grant::ClientCredentials,
        _ => {
            let known = "\"authorization_code\" or \"client_credentials\"";
            wrong(reader, at, node, known);
            Grant::default()
        }
    }
}

/// A table of texts; `wrong` says what is wrong with a pair, without its value.
fn pairs(
    reader: &mut Reader<'_>,
    at: &str,
    node: &Node,
    wrong: impl Fn(&str, &str) -> Option<&'static str>,
) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for entry in table(reader, at, node).unwrap_or_default() {
        let at = format!("{at}.{}", key(&entry.key));
        let Some(value) = text(reader, &at, &entry.node) else {
            continue;
        };
        if let Some(why) = wrong(&entry.key, &value) {
            reader.problem(&at, entry.key_span.start, why);
        }
        pairs.insert(entry.key.clone(), value);
    }
    pairs
}

fn is_variable(name: &str) -> bool {
    is_name(name) || (!name.is_empty() && !name.contains(['=', '\0']))
}

fn wrong_header(name: &str, value: &str) -> Option<&'static str> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Some("a header cannot be called so");
    }
    // These frame a message, or say which protocol it is of: a value from here would contradict.
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
    let lower = url
        .get(..8.min(url.len()))
        .unwrap_or(url)
        .to_ascii_lowercase();
    let rest = if lower.starts_with("https://") {
        url.get(8..)
    } else if lower.starts_with("http://") {
        url.get(7..)
    } else {
        return Some("it is not a URL: write one like `https://example.com/mcp`");
    };
    let authority = rest.unwrap_or_default().split(['/', '?', '#']).next();
    let authority = authority.unwrap_or_default();
    if authority.is_empty() || authority.starts_with(':') {
        Some("it names no host")
    } else if authority.contains('@') {
        Some("it has a name or a password: write them as a header")
    } else if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Some("it has a blank")
    } else if url.contains('#') {
        Some("it has a fragment, which is not sent")
    } else {
        None
    }
}

fn within(directory: Option<&Path>, path: &str) -> PathBuf {
    match directory {
        Some(directory) => directory.join(path),
        None => PathBuf::from(path),
    }
}
