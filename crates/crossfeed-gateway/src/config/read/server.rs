//! The servers of a configuration.

use super::fields::{Field, Fields, key};
use crate::config::{
    Grant, OAuthConfig, ServerConfig, TransportConfig,
    expand::{has_variable, has_variable_in_query, is_name},
    node::{Node, Value},
};
use crossfeed_projection::{Path as FieldPath, RevealRules};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// How long a server's name may be: it stands before names of tools, which have 64 bytes in all.
const MAX_NAME_BYTES: usize = 48;

/// `never` is what is withheld of all servers.
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

fn server(field: Field<'_>, name: &str, never: &[FieldPath]) -> Option<ServerConfig> {
    let mut fields = field.fields()?;
    let transport = transport(&mut fields);
    let profile = fields.profile("profile");
    let projection = fields.flag("projection", false);
    let view = fields.view("view");
    fields.refuse_previews();
    let never_chain = fields.take("neverChain").map(|own| match own.node.value {
        Value::Bool(true) => vec!["*".to_owned()],
        Value::Bool(false) => Vec::new(),
        _ => own.texts(),
    });
    let allow = fields.take("allow").map(|own| {
        // It would mean all tools, which is the reverse of what it says.
        let if_empty = "allows no tool: leave it out to allow all, or write `disabled`";
        let items = own.some_items(if_empty);
        items.iter().filter_map(Field::text).collect()
    });
    let deny = fields.texts("deny");
    let own = fields.paths("never");
    let withheld = RevealRules::new([], never.iter().chain(&own).cloned());
    let timeout = fields.time("timeout");
    let keep = fields.flag("keep", false);
    if keep && matches!(transport, Some(TransportConfig::Http { .. })) {
        let what = "`keep` is for a `command`: a server over HTTP has no process here";
        fields.field.problem(what);
    }
    let disabled = fields.flag("disabled", false);
    fields.finish();
    Some(ServerConfig {
        profile,
        projection,
        view,
        never_chain: never_chain.unwrap_or_default(),
        never: own,
        withheld: Arc::new(withheld),
        allow: allow.unwrap_or_default(),
        deny,
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
    let wants_http = match kind.as_ref().map(|kind| (kind, &kind.node.value)) {
        None => None,
        Some((kind, Value::Text(word))) if word == "sse" => {
            kind.problem("the transport `sse` of 2024-11-05 is not supported; most servers that have it also have `http`");
            return None;
        }
        Some((_, Value::Text(word)))
            if matches!(
                word.as_str(),
                "streamable-http" | "streamableHttp" | "streamable_http"
            ) =>
        {
            Some(true)
        }
        Some((kind, _)) => Some(kind.word(&[("stdio", false), ("http", true)])?),
    };
    let misplaced = |others: &[Option<Field<'_>>], key: &str| {
        for field in others.iter().flatten() {
            field.problem(format!("this belongs to servers with `{key}`"));
        }
    };
    let server = &fields.field;
    match (command, url, wants_http) {
        (Some(_), Some(url), _) => {
            url.problem("a server has either `command` or `url`");
            None
        }
        (None, None, _) => {
            server.problem("`command` or `url` is missing: how the server is reached");
            None
        }
        (Some(command), None, None | Some(false)) => {
            misplaced(&of_url, "url");
            stdio(&command, of_command)
        }
        (None, Some(url), None | Some(true)) => {
            misplaced(&of_command, "command");
            http(&url, of_url)
        }
        (command, _, _) => {
            let key = if command.is_some() { "command" } else { "url" };
            if let Some(kind) = kind {
                kind.problem(format!("`type` does not fit `{key}`"));
            }
            None
        }
    }
}

fn stdio(command: &Field<'_>, [args, env, cwd]: [Option<Field<'_>>; 3]) -> Option<TransportConfig> {
    let program = command.text();
    if program.as_deref() == Some("") {
        command.problem("the command is empty");
    }
    let args = args.map(|own| own.texts());
    let is_wrong =
        |name: &str, _: &str| (!is_variable(name)).then_some("not a valid name of a variable");
    let env = env.map(|own| pairs(&own, is_wrong));
    let cwd = cwd.and_then(|own| Some(within(&own, &own.text()?)));
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
    if let Value::Text(text) = &url.node.value
        && has_variable_in_query(text, &url.reader.sources.environment)
    {
        from_variables.push("url".to_owned());
    }
    let written = headers.as_ref().and_then(|own| Node::entries(own.node));
    for entry in written.unwrap_or_default() {
        if matches!(&entry.node.value, Value::Text(text) if has_variable(text)) {
            from_variables.push(format!("headers.{}", key(&entry.key)));
        }
    }
    let headers = headers.map(|own| pairs(&own, wrong_header));
    let insecure = insecure.and_then(|own| own.flag());
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
    let grants = [
        ("authorization_code", Grant::AuthorizationCode),
        ("client_credentials", Grant::ClientCredentials),
    ];
    let mut fields = field.fields()?;
    let written = fields.take("grant");
    let grant = written.as_ref().and_then(|own| own.word(&grants));
    let directory = fields.take("directory");
    let config = OAuthConfig {
        grant: grant.unwrap_or_default(),
        client_id: fields.text("clientId"),
        client_secret: fields.text("clientSecret"),
        issuer: fields.text("issuer"),
        scopes: fields.texts("scopes"),
        directory: directory.and_then(|own| Some(within(&own, &own.text()?))),
    };
    if let Some(written) = written
        && config.grant == Grant::ClientCredentials
        && (config.client_id.is_none() || config.client_secret.is_none())
    {
        written.problem("needs `clientId` and `clientSecret`, which the gateway logs in with");
    }
    fields.finish();
    Some(config)
}

/// A table of texts; `wrong` says what is wrong with a pair, without its value.
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
    // These frame a message or name its protocol: a configured value would contradict them.
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

/// A path, relative to the directory of the configuration.
fn within(field: &Field<'_>, path: &str) -> PathBuf {
    let directory = field.reader.sources.directory.as_deref();
    directory.map_or_else(|| path.into(), |directory| directory.join(path))
}
