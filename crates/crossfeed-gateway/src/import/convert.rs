//! Converts a server from a client's configuration to the gateway's, or says why it stays: what is not
//! understood is not moved.

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

/// What the client does with a server, and the gateway has no part in.
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
    fn of(client: ClientKind) -> Self {
        match client {
            ClientKind::ClaudeCode => Self::Shell,
            ClientKind::GeminiCli => Self::Dollar,
            ClientKind::Cursor | ClientKind::VsCode | ClientKind::Windsurf => Self::Editor,
            ClientKind::ClaudeDesktop | ClientKind::Codex | ClientKind::Zed => Self::Plain,
        }
    }
}

/// A server that goes through the gateway.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) config: Map<String, serde_json::Value>,
    pub(super) needs: Needs,
    pub(super) remarks: Vec<String>,
}

/// A server as the gateway reads it, or why it stays: all that is in the way.
pub(super) fn server(entry: &Entry, wiring: &Wiring) -> Result<Moved, String> {
    let Some(parts) = entry.node.entries() else {
        return Err("expected a table".to_owned());
    };
    let (mut config, mut remarks) = (Map::new(), Vec::new());
    let mut reading = Reading {
        wiring,
        needs: Needs::default(),
        in_the_way: Vec::new(),
    };
    for part in parts {
        let key = part.key.as_str();
        if reading.of_one_client(part, parts, &mut config) {
            continue;
        }
        match key {
            "command" | "args" | "env" | "url" | "headers" => {
                config.insert(key.to_owned(), reading.value(&part.node));
            }
            "cwd" => {
                let before = reading.in_the_way.len();
                let cwd = reading.value(&part.node);
                // One that could not be read is unknown.
                if reading.in_the_way.len() == before && cwd.as_str().is_some_and(is_relative) {
                    reading.refuse("its `cwd` is relative, and would mean another folder to the gateway");
                }
                config.insert(key.to_owned(), cwd);
            }
            "type" | "transport" => match &part.node.value {
                Value::Text(kind) if is_spoken(kind) => {}
                Value::Text(kind) if kind == "sse" => reading.refuse(format!(
                    "its `{key}` is not supported by the gateway: most servers that have `sse` also have `http`"
                )),
                _ => reading.refuse(format!("its `{key}` is not supported by the gateway")),
            },
            "disabled" if part.node.value == Value::Bool(false) => {}
            "enabled" if part.node.value == Value::Bool(true) => {}
            "disabled" | "enabled" => reading.refuse("it is switched off"),
            // They count in milliseconds.
            "timeout"
                if matches!(wiring.client, ClientKind::ClaudeCode | ClientKind::GeminiCli) =>
            {
                match part.node.value {
                    Value::Integer(millis @ 1..) => {
                        config.insert(key.to_owned(), format!("{millis} ms").into());
                        reading.needs.call = u64::try_from(millis).ok();
                    }
                    _ => reading.refuse("its `timeout` is not a number"),
                }
            }
            _ if OF_THE_CLIENT.contains(&key)
                || wiring.client == ClientKind::Codex && OF_CODEX.contains(&key) =>
            {
                remarks.push(format!(
                    "`{}`: `{key}` is left out: only the client uses it",
                    entry.key
                ));
            }
            _ => reading.refuse(format!("the gateway does not support its `{key}`")),
        }
    }
    let moved = Moved {
        config,
        needs: reading.needs,
        remarks,
    };
    if reading.in_the_way.is_empty() {
        judge(&entry.key, &moved)?;
        return Ok(moved);
    }
    Err(reading.in_the_way.join("; "))
}

/// Whether a server of Gemini CLI says that its `url` is for streamable HTTP.
fn is_http(parts: &[Entry]) -> bool {
    let kind = parts.iter().find(|part| part.key == "type");
    kind.is_some_and(
        |kind| matches!(&kind.node.value, Value::Text(kind) if kind != "sse" && is_spoken(kind)),
    )
}

/// Puts members into a table of the configuration, but for those that it has.
fn merge(config: &mut Map<String, serde_json::Value>, key: &str, members: serde_json::Value) {
    let table = config.entry(key).or_insert_with(|| json!({}));
    match (table.as_object_mut(), members) {
        (Some(table), serde_json::Value::Object(members)) => {
            for (name, value) in members {
                table.entry(name).or_insert(value);
            }
        }
        // What is not a table is refused with the configuration.
        (_, members) => *table = members,
    }
}

/// A time as a whole number of milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "within bounds, and a part of a millisecond says nothing"
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

/// Whether the gateway would take it. What variables hold is not known here.
fn judge(name: &str, moved: &Moved) -> Result<(), String> {
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
        // An address that begins with a variable may well be one.
        knows_all || !problem.at.ends_with(".url")
    });
    problem.map_or(Ok(()), |problem| Err(problem.what.clone()))
}

/// Whether the gateway would connect to it, as far as its address is known.
fn reach(config: &GatewayConfig, moved: &Moved) -> Result<(), String> {
    let url = moved.config.get("url").and_then(serde_json::Value::as_str);
    // A variable that says where the server is: in the scheme, the host or the port.
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

/// An address up to its path, as it is written.
fn origin(url: &str) -> &str {
    let behind_scheme = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(behind_scheme..).unwrap_or_default();
    let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    url.get(..behind_scheme + length).unwrap_or(url)
}

/// How much of what stands in `${…}` is named: names of variables are shorter.
const NAMED: usize = 64;

/// The reading of one server.
struct Reading<'w> {
    wiring: &'w Wiring,
    needs: Needs,
    /// Why the server stays.
    in_the_way: Vec<String>,
}

impl Reading<'_> {
    fn refuse(&mut self, why: impl Into<String>) {
        let why = why.into();
        // The same variable may stand there ten times.
        if !self.in_the_way.contains(&why) {
            self.in_the_way.push(why);
        }
    }

    /// Reads what only one client writes, or writes in its own way; whether it did.
    fn of_one_client(
        &mut self,
        part: &Entry,
        parts: &[Entry],
        config: &mut Map<String, serde_json::Value>,
    ) -> bool {
        use ClientKind::{Codex, GeminiCli, Windsurf, Zed};
        let node = &part.node;
        match (self.wiring.client, part.key.as_str()) {
            (GeminiCli, "httpUrl") => {
                config.insert("url".to_owned(), self.value(node));
            }
            (GeminiCli, "url") if !is_http(parts) => self.refuse(
                "its `url` is for `sse`, which is not supported by the gateway: most servers that have `sse` have \
                 `http`, too, and are written with `httpUrl`",
            ),
            (Windsurf, "serverUrl" | "url") => {
                if let Value::Text(url) = &node.value
                    && url.trim_end_matches('/').ends_with("/sse")
                {
                    self.refuse(
                        "its address is for `sse`, which is not supported by the gateway: most servers that have \
                         `sse` also have `http`",
                    );
                }
                config.insert("url".to_owned(), self.value(node));
            }
            (GeminiCli, "includeTools") | (Codex, "enabled_tools") => self.tools("allow", part, config),
            (GeminiCli, "excludeTools") | (Codex, "disabled_tools") | (Windsurf, "disabledTools") => {
                self.tools("deny", part, config);
            }
            (Zed, "source") => match &node.value {
                Value::Text(source) if source == "custom" => {}
                _ => self.refuse("it belongs to an extension of the editor"),
            },
            // As Zed wrote it before 2025-10.
            (Zed, "command") if node.entries().is_some() => {
                for part in node.entries().unwrap_or_default() {
                    let value = self.value(&part.node);
                    match part.key.as_str() {
                        "path" => config.insert("command".to_owned(), value),
                        "args" | "env" => config.insert(part.key.clone(), value),
                        key => {
                            self.refuse(format!("the gateway does not support its `command.{key}`"));
                            None
                        }
                    };
                }
            }
            (Codex, key) => return self.of_codex(key, node, config),
            _ => return false,
        }
        true
    }

    fn of_codex(
        &mut self,
        key: &str,
        node: &Node,
        config: &mut Map<String, serde_json::Value>,
    ) -> bool {
        match key {
            "env" | "http_headers" => {
                let members = self.value(node);
                let table = if key == "env" { "env" } else { "headers" };
                merge(config, table, members);
            }
            "env_vars" => {
                let Value::List(items) = &node.value else {
                    self.refuse("its `env_vars` is not a list");
                    return true;
                };
                for item in items {
                    let name = self.variable_named(
                        item,
                        false,
                        "the gateway does not support its `env_vars`",
                    );
                    if let Some(name) = name {
                        merge(config, "env", json!({ &name: format!("${{{name}:-}}") }));
                    }
                }
            }
            "env_http_headers" => {
                for pair in node.entries().unwrap_or_default() {
                    let wrong = "its `env_http_headers` names no variable";
                    if let Some(name) = self.variable_named(&pair.node, true, wrong) {
                        let header = json!({ &pair.key: format!("${{{name}}}") });
                        merge(config, "headers", header);
                    }
                }
            }
            "bearer_token_env_var" => {
                let wrong = "its `bearer_token_env_var` names no variable";
                if let Some(name) = self.variable_named(node, true, wrong) {
                    let header = json!({ "Authorization": format!("Bearer ${{{name}}}") });
                    merge(config, "headers", header);
                }
            }
            "tool_timeout_sec" | "startup_timeout_sec" | "startup_timeout_ms" => {
                let unit = if key.ends_with("_ms") { 1.0 } else { 1000.0 };
                let Some(millis) = millis(&node.value, unit) else {
                    self.refuse(format!("its `{key}` is not a number"));
                    return true;
                };
                if key == "tool_timeout_sec" {
                    config.insert("timeout".to_owned(), format!("{millis} ms").into());
                    self.needs.call = Some(millis);
                } else {
                    self.needs.start = Some(millis);
                }
            }
            _ => return false,
        }
        true
    }

    /// Notes the variable that a value names; `wrong` says that it names none.
    fn variable_named(&mut self, node: &Node, needed: bool, wrong: &str) -> Option<String> {
        match &node.value {
            Value::Text(name) if is_name(name) => {
                self.needs.add(name, needed);
                Some(name.clone())
            }
            _ => {
                self.refuse(wrong);
                None
            }
        }
    }

    /// Names of tools that are offered, or not. To the gateway they are patterns.
    fn tools(&mut self, key: &str, part: &Entry, config: &mut Map<String, serde_json::Value>) {
        let odd =
            |item: &Node| !matches!(&item.value, Value::Text(name) if !name.contains(['*', '(']));
        match &part.node.value {
            Value::List(items) if !items.iter().any(odd) => {
                config.insert(key.to_owned(), self.value(&part.node));
            }
            _ => self.refuse(format!(
                "the gateway does not support what its `{}` names",
                part.key
            )),
        }
    }

    /// A value with the client's variables as the gateway spells them.
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
        let spelling = Spelling::of(self.wiring.client);
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
                // No variable to any client.
                out.push_str("$${");
                rest = after;
                continue;
            };
            match self.put(inside) {
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

    /// Writes a text in which variables are `$NAME`.
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
                self.needs.add(name, true);
                out.push_str(&format!("${{{name}}}"));
            } else {
                out.push('$');
                out.push_str(name);
            }
            rest = behind;
        }
        out.push_str(rest);
    }

    /// What stands for `${inside}`; or why nothing can, and what to do.
    fn put(&mut self, inside: &str) -> Result<String, String> {
        let wiring = self.wiring;
        let of_the_editor = Spelling::of(wiring.client) == Spelling::Editor;
        let knows_folders = matches!(wiring.client, ClientKind::Cursor | ClientKind::VsCode);
        // Others have the file, too, and other folders.
        let handed_on = OF_THE_EDITOR.iter().find(|(word, _)| *word == inside);
        if let Some((_, name)) = handed_on.filter(|_| knows_folders && wiring.name == PROJECT_NAME)
        {
            self.needs.add(name, true);
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
            // A variable of the editor's, or of a shell's: that is unknown.
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
            // To these clients it is a text like any other.
            _ if of_the_editor && !inside.starts_with("env:") => Ok(format!("$${{{inside}}}")),
            _ => {
                let whole = format!("${{{inside}}}");
                let is_variable = variable(&whole, &mut self.needs)?;
                Ok(if is_variable { whole } else { format!("${whole}") })
            }
        }
    }
}

/// A variable for messages. What is not a name may be a secret at the wrong place.
fn named(inside: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/ ".contains(c);
    if inside.len() <= NAMED && inside.chars().all(plain) {
        format!("`${{{inside}}}`")
    } else {
        "`${…}`".to_owned()
    }
}

/// What to write for a variable that is not known.
fn instead(client: ClientKind) -> &'static str {
    match client {
        ClientKind::Cursor | ClientKind::VsCode | ClientKind::Windsurf => {
            "write `${env:NAME}`, and set that variable where the client is started"
        }
        _ => "write `${NAME}`, and set that variable where the client is started",
    }
}

/// Notes a variable. A client that reads shell text (`${1}`) leaves it to the shell, and so do we.
fn variable(whole: &str, needs: &mut Needs) -> Result<bool, String> {
    let inside = whole.trim_start_matches("${").trim_end_matches('}');
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let name = inside.split(":-").next().unwrap_or_default();
    if !is_name(name) {
        return Ok(false);
    }
    for part in parts(whole)? {
        if let Part::Variable { name, default } = part {
            needs.add(name, default.is_none());
        }
    }
    Ok(true)
}
