//! Converts a server from a client's configuration to the gateway's, or says why it stays: a server with a key or value
//! that the gateway does not know is not moved.

use super::{
    ClientKind, PROJECT_NAME, Wiring,
    entry::{Needs, OF_THE_EDITOR},
};
use crate::{
    config::{
        Format, GatewayConfig, Sources,
        expand::{Part, is_name, parts},
        node::{Entry, Node, Value},
    },
    upstream::exposed_secret,
};
use serde_json::{Map, json};
use std::{collections::BTreeMap, path::Path};

/// Keys that only the client uses.
const OF_THE_CLIENT: [&str; 8] = [
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "description",
    "dev",
    "gallery",
    "trust",
    "version",
];

/// The same for Codex alone.
const OF_CODEX: [&str; 2] = ["required", "supports_parallel_tool_calls"];

/// How a client writes variables into the texts of its configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// `${NAME}`, `${NAME:-default}`.
    Shell,
    /// `$NAME`, too.
    Dollar,
    /// `${env:NAME}`, `${workspaceFolder}`.
    Editor,
    /// Not at all.
    Plain,
}

impl Spelling {
    fn for_client(client: ClientKind) -> Self {
        match client {
            ClientKind::ClaudeCode => Self::Shell,
            ClientKind::GeminiCli => Self::Dollar,
            ClientKind::Cursor | ClientKind::VsCode | ClientKind::Windsurf => Self::Editor,
            ClientKind::ClaudeDesktop | ClientKind::Codex | ClientKind::Zed => Self::Plain,
        }
    }
}

/// A server that moves behind the gateway.
#[derive(Debug, Default)]
pub(super) struct Conversion {
    pub(super) config: Map<String, serde_json::Value>,
    pub(super) needs: Needs,
    pub(super) remarks: Vec<String>,
}

/// Converts a server, or says why it stays: every reason.
pub(super) fn server(entry: &Entry, wiring: &Wiring) -> Result<Conversion, String> {
    let Some(parts) = entry.node.entries() else {
        return Err("expected a table".to_owned());
    };
    let mut reading = Converter {
        wiring,
        moved: Conversion::default(),
        in_the_way: Vec::new(),
    };
    for part in parts {
        if !reading.read_own_key(part, parts) {
            reading.part(&entry.key, part);
        }
    }
    if !reading.in_the_way.is_empty() {
        return Err(reading.in_the_way.join("; "));
    }
    judge(&entry.key, &reading.moved)?;
    Ok(reading.moved)
}

/// Whether the `type` of a server of Gemini CLI says that its `url` is for streamable HTTP.
fn is_http(parts: &[Entry]) -> bool {
    let kind = parts.iter().find(|part| part.key == "type");
    let kind = kind.and_then(|kind| kind.node.text());
    kind.is_some_and(is_spoken)
}

/// A time in whole milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked, and fractions of a millisecond do not matter"
)]
fn millis(value: &Value, unit: f64) -> Option<u64> {
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return None,
    };
    let millis = (number * unit).ceil();
    (1.0..1e12).contains(&millis).then_some(millis as u64)
}

fn is_relative(path: &str) -> bool {
    !Path::new(path).is_absolute() && !path.starts_with("${")
}

fn is_spoken(kind: &str) -> bool {
    matches!(
        kind,
        "stdio" | "http" | "streamable-http" | "streamableHttp"
    )
}

/// Checks that the gateway accepts the server. The values of variables are not known here.
fn judge(name: &str, moved: &Conversion) -> Result<(), String> {
    let variables = moved.needs.variables();
    let environment: BTreeMap<_, _> = variables
        .map(|(name, _)| (name.to_owned(), "x".to_owned()))
        .collect();
    let knows_all = environment.is_empty();
    let text = json!({"mcpServers": {name: &moved.config}}).to_string();
    let sources = Sources::default().with_environment(environment);
    let error = match GatewayConfig::parse(&text, Format::Json, &sources) {
        Ok(config) => return reach(&config, moved),
        Err(error) => error,
    };
    let problem = error.problems().iter().find(|problem| {
        // A URL that begins with a variable may be valid.
        knows_all || !problem.at.ends_with(".url")
    });
    problem.map_or(Ok(()), |problem| Err(problem.what.clone()))
}

/// Checks that the gateway would connect to the server, as far as its address is known.
fn reach(config: &GatewayConfig, moved: &Conversion) -> Result<(), String> {
    let url = moved.config.get("url").and_then(serde_json::Value::as_str);
    // A variable in the scheme, the host or the port hides where the server is.
    if url.is_none_or(|url| origin(url).contains("${")) {
        return Ok(());
    }
    for server in &config.servers {
        match exposed_secret(&server.transport) {
            Ok(None) => {}
            Ok(Some(place)) => {
                return Err(format!(
                    "its `{place}` would go over plain HTTP to another computer: use https"
                ));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// The scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let behind_scheme = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(behind_scheme..).unwrap_or_default();
    let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    url.get(..behind_scheme + length).unwrap_or(url)
}

/// Names of variables in messages are shorter; longer ones may be secrets.
const MAX_NAMED_BYTES: usize = 64;

/// The conversion of one server.
struct Converter<'w> {
    wiring: &'w Wiring,
    moved: Conversion,
    /// Why the server stays.
    in_the_way: Vec<String>,
}

impl Converter<'_> {
    fn refuse(&mut self, why: impl Into<String>) {
        let why = why.into();
        // A variable may occur many times.
        if !self.in_the_way.contains(&why) {
            self.in_the_way.push(why);
        }
    }

    /// Sets a key of the gateway's configuration.
    fn set(&mut self, key: &str, value: impl Into<serde_json::Value>) {
        self.moved.config.insert(key.to_owned(), value.into());
    }

    /// Sets a key of the gateway's configuration to a value of the client's.
    fn copy(&mut self, key: &str, node: &Node) {
        let value = self.value(node);
        self.set(key, value);
    }

    /// Adds members to a table of the configuration; those that are there already stay.
    fn merge(&mut self, key: &str, members: serde_json::Value) {
        let table = self.moved.config.entry(key).or_insert_with(|| json!({}));
        match (table.as_object_mut(), members) {
            (Some(table), serde_json::Value::Object(members)) => {
                for (name, value) in members {
                    table.entry(name).or_insert(value);
                }
            }
            // The check of the configuration refuses other values.
            (_, members) => *table = members,
        }
    }

    /// Reads a key that means the same for all clients.
    fn part(&mut self, server: &str, part: &Entry) {
        use ClientKind::{ClaudeCode, Codex, GeminiCli};
        let (client, key) = (self.wiring.client, part.key.as_str());
        match (key, &part.node.value) {
            ("command" | "args" | "env" | "url" | "headers", _) => self.copy(key, &part.node),
            ("cwd", _) => {
                let before = self.in_the_way.len();
                let cwd = self.value(&part.node);
                // A value that could not be read is unknown.
                if self.in_the_way.len() == before && cwd.as_str().is_some_and(is_relative) {
                    self.refuse("its `cwd` is relative, and would mean another folder to the gateway");
                }
                self.set(key, cwd);
            }
            ("type" | "transport", Value::Text(kind)) if is_spoken(kind) => {}
            ("type" | "transport", Value::Text(kind)) if kind == "sse" => self.refuse(format!(
                "its `{key}` is not supported by the gateway: most servers that have `sse` also have `http`"
            )),
            ("type" | "transport", _) => {
                self.refuse(format!("its `{key}` is not supported by the gateway"));
            }
            ("disabled", Value::Bool(false)) | ("enabled", Value::Bool(true)) => {}
            ("disabled" | "enabled", _) => self.refuse("it is switched off"),
            // These clients count in milliseconds.
            ("timeout", value) if matches!(client, ClaudeCode | GeminiCli) => match value {
                Value::Integer(millis @ 1..) => {
                    self.set(key, format!("{millis} ms"));
                    self.moved.needs.call = u64::try_from(*millis).ok();
                }
                _ => self.refuse("its `timeout` is not a number"),
            },
            _ if OF_THE_CLIENT.contains(&key) || client == Codex && OF_CODEX.contains(&key) => {
                let remark = format!("`{server}`: `{key}` is left out: only the client uses it");
                self.moved.remarks.push(remark);
            }
            _ => self.refuse(format!("the gateway does not support its `{key}`")),
        }
    }

    /// Reads a key that only one client has, or reads in its own way; returns whether it is one.
    fn read_own_key(&mut self, part: &Entry, parts: &[Entry]) -> bool {
        use ClientKind::{Codex, GeminiCli, Windsurf, Zed};
        let node = &part.node;
        match (self.wiring.client, part.key.as_str()) {
            (GeminiCli, "httpUrl") => self.copy("url", node),
            (GeminiCli, "url") if !is_http(parts) => self.refuse(
                "its `url` is for `sse`, which is not supported by the gateway: most servers that have `sse` have \
                 `http`, too, and are written with `httpUrl`",
            ),
            (Windsurf, "serverUrl" | "url") => {
                let url = node.text().unwrap_or_default();
                if url.trim_end_matches('/').ends_with("/sse") {
                    self.refuse(
                        "its address is for `sse`, which is not supported by the gateway: most servers that have \
                         `sse` also have `http`",
                    );
                }
                self.copy("url", node);
            }
            (GeminiCli, "includeTools") | (Codex, "enabled_tools") => self.tools("allow", part),
            (GeminiCli, "excludeTools") | (Codex, "disabled_tools") | (Windsurf, "disabledTools") => {
                self.tools("deny", part);
            }
            (Zed, "source") if node.text() == Some("custom") => {}
            (Zed, "source") => self.refuse("it belongs to an extension of the editor"),
            // The spelling of Zed before 2025-10.
            (Zed, "command") if node.entries().is_some() => {
                for part in node.entries().unwrap_or_default() {
                    match part.key.as_str() {
                        "path" => self.copy("command", &part.node),
                        key @ ("args" | "env") => self.copy(key, &part.node),
                        key => self.refuse(format!("the gateway does not support its `command.{key}`")),
                    }
                }
            }
            (Codex, "env") => {
                let env = self.value(node);
                self.merge("env", env);
            }
            (Codex, "http_headers") => {
                let headers = self.value(node);
                self.merge("headers", headers);
            }
            (Codex, "env_vars") => {
                if node.items().is_none() {
                    self.refuse("its `env_vars` is not a list");
                }
                for item in node.items().unwrap_or_default() {
                    let wrong = "the gateway does not support its `env_vars`";
                    if let Some(name) = self.variable_named(item, false, wrong) {
                        self.merge("env", json!({ &name: format!("${{{name}:-}}") }));
                    }
                }
            }
            (Codex, "env_http_headers") => {
                for pair in node.entries().unwrap_or_default() {
                    let wrong = "its `env_http_headers` names no variable";
                    if let Some(name) = self.variable_named(&pair.node, true, wrong) {
                        self.merge("headers", json!({ &pair.key: format!("${{{name}}}") }));
                    }
                }
            }
            (Codex, "bearer_token_env_var") => {
                let wrong = "its `bearer_token_env_var` names no variable";
                if let Some(name) = self.variable_named(node, true, wrong) {
                    let token = format!("Bearer ${{{name}}}");
                    self.merge("headers", json!({ "Authorization": token }));
                }
            }
            (Codex, key @ ("tool_timeout_sec" | "startup_timeout_sec" | "startup_timeout_ms")) => {
                let unit = if key.ends_with("_ms") { 1.0 } else { 1000.0 };
                match millis(&node.value, unit) {
                    None => self.refuse(format!("its `{key}` is not a number")),
                    Some(millis) if key == "tool_timeout_sec" => {
                        self.set("timeout", format!("{millis} ms"));
                        self.moved.needs.call = Some(millis);
                    }
                    start => self.moved.needs.start = start,
                }
            }
            _ => return false,
        }
        true
    }

    /// Notes the variable that a value names; refuses a value that names none with `wrong`.
    fn variable_named(&mut self, node: &Node, needed: bool, wrong: &str) -> Option<String> {
        let name = node.text().filter(|name| is_name(name));
        match name {
            Some(name) => self.moved.needs.add(name, needed),
            None => self.refuse(wrong),
        }
        name.map(str::to_owned)
    }

    /// Reads names of tools. To the gateway they are patterns.
    fn tools(&mut self, key: &str, part: &Entry) {
        let is_name = |item: &Node| item.text().is_some_and(|name| !name.contains(['*', '(']));
        match part.node.items() {
            Some(items) if items.iter().all(is_name) => self.copy(key, &part.node),
            _ => self.refuse(format!(
                "the gateway does not support what its `{}` names",
                part.key
            )),
        }
    }

    /// A value with the client's variables in the gateway's spelling.
    fn value(&mut self, node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Text(text) => self.text(text).into(),
            Value::List(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Table(entries) => {
                let pairs = entries.iter().map(|entry| {
                    let value = match &entry.node.value {
                        // Clients take numbers for variables, too.
                        Value::Integer(number) => number.to_string().into(),
                        Value::Bool(truth) => truth.to_string().into(),
                        _ => self.value(&entry.node),
                    };
                    (entry.key.clone(), value)
                });
                pairs.collect::<Map<_, _>>().into()
            }
            Value::Null => serde_json::Value::Null,
            other => {
                self.refuse(format!("it contains {}", other.kind()));
                serde_json::Value::Null
            }
        }
    }

    fn text(&mut self, text: &str) -> String {
        if text.contains("$${") {
            self.refuse("it contains `$${`, which the gateway reads differently");
            return String::new();
        }
        let spelling = Spelling::for_client(self.wiring.client);
        if spelling == Spelling::Plain {
            return text.replace("${", "$${");
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            match spelling {
                Spelling::Dollar => self.bare(before, &mut out),
                _ => out.push_str(before),
            }
            let Some((inside, behind)) = after.split_once('}') else {
                // Not a variable to any client.
                out.push_str("$${");
                rest = after;
                continue;
            };
            match self.variable(inside) {
                Ok(text) => out.push_str(&text),
                Err(why) => self.refuse(why),
            }
            rest = behind;
        }
        match spelling {
            Spelling::Dollar => self.bare(rest, &mut out),
            _ => out.push_str(rest),
        }
        out
    }

    /// Converts a text in which variables are `$NAME`.
    fn bare(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = after.find(|c| !word(c)).unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            if is_name(name) {
                if out.ends_with('$') {
                    self.refuse("it contains `$$`, which the gateway reads differently");
                }
                self.moved.needs.add(name, true);
                out.push_str(&format!("${{{name}}}"));
            } else {
                out.push('$');
                out.push_str(name);
            }
            rest = behind;
        }
        out.push_str(rest);
    }

    /// The gateway's spelling of `${inside}`; or why there is none, and what to do.
    fn variable(&mut self, inside: &str) -> Result<String, String> {
        let wiring = self.wiring;
        let of_the_editor = Spelling::for_client(wiring.client) == Spelling::Editor;
        let knows_folders = matches!(wiring.client, ClientKind::Cursor | ClientKind::VsCode);
        // Others have the same file in other folders.
        let handed_on = OF_THE_EDITOR.iter().find(|(word, _)| *word == inside);
        if let Some((_, name)) = handed_on.filter(|_| knows_folders && wiring.name == PROJECT_NAME)
        {
            self.moved.needs.add(name, true);
            return Ok(format!("${{{name}}}"));
        }
        match inside {
            "workspaceFolder" if knows_folders => wiring.workspace.clone().ok_or_else(|| {
                "`${workspaceFolder}` is not known here, since this file belongs to no project: write the path, or \
                 move the server to a file of the project"
                    .to_owned()
            }),
            "userHome" if knows_folders => wiring.home.clone().ok_or_else(|| {
                "`${userHome}` is not known here, since `HOME` is not set: write the path".to_owned()
            }),
            "pathSeparator" | "/" if knows_folders => Ok("/".to_owned()),
            _ if inside.starts_with("input:") => Err(format!(
                "the client asks for {}, and the gateway cannot: {}",
                named(inside),
                instead(wiring.client)
            )),
            // A variable of the editor or of a shell: it is not known which.
            name if of_the_editor
                && !inside.starts_with("env:")
                && (is_name(name) || name.contains(':')) =>
            {
                Err(format!(
                    "{} is known only to the editor: write its value; if it is a variable of \
                     the environment, {}",
                    named(inside),
                    instead(wiring.client)
                ))
            }
            // These clients take it literally.
            _ if of_the_editor && !inside.starts_with("env:") => Ok(format!("$${{{inside}}}")),
            // A client that reads shell text (`${1}`) leaves it to the shell, and so does the gateway.
            _ if !is_name(name_of(inside)) && !inside.contains("${") => Ok(format!("$${{{inside}}}")),
            _ => {
                let whole = format!("${{{inside}}}");
                for part in parts(&whole)? {
                    if let Part::Variable { name, default } = part {
                        self.moved.needs.add(name, default.is_none());
                    }
                }
                Ok(whole)
            }
        }
    }
}

/// The name in `env:NAME:-default`.
fn name_of(inside: &str) -> &str {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    inside.split(":-").next().unwrap_or_default()
}

/// A variable as messages name it. Anything but a name may be a misplaced secret.
fn named(inside: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/ ".contains(c);
    if inside.len() <= MAX_NAMED_BYTES && inside.chars().all(plain) {
        format!("`${{{inside}}}`")
    } else {
        "`${…}`".to_owned()
    }
}

/// The advice for a variable that is not known.
fn instead(client: ClientKind) -> &'static str {
    match client {
        ClientKind::Cursor | ClientKind::VsCode | ClientKind::Windsurf => {
            "write `${env:NAME}`, and set that variable where the client is started"
        }
        _ => "write `${NAME}`, and set that variable where the client is started",
    }
}
