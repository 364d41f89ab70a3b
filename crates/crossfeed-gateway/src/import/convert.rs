//! A server as a client writes it, as the gateway reads it.
//!
//! What comes in: an entry of a client's configuration. What goes out: the same for the gateway, or why
//! the server stays where it is: what is not understood is not moved.

use super::{ClientKind, Wiring};
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

/// The variables that a configuration reads, and whether each must be there.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, bool>);

impl Variables {
    fn add(&mut self, name: &str, needed: bool) {
        *self.0.entry(name.to_owned()).or_default() |= needed;
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (name, needed) in other.0 {
            self.add(&name, needed);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(name, needed)| (name.as_str(), *needed))
    }
}

/// A server that goes through the gateway.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) config: Map<String, serde_json::Value>,
    pub(super) variables: Variables,
    pub(super) remarks: Vec<String>,
}

/// A server as the gateway reads it, or why it stays: all that is in the way.
pub(super) fn server(entry: &Entry, wiring: &Wiring) -> Result<Moved, String> {
    let Some(parts) = entry.node.entries() else {
        return Err("it is no table".to_owned());
    };
    let (mut config, mut remarks) = (Map::new(), Vec::new());
    let mut reading = Reading {
        wiring,
        variables: Variables::default(),
        in_the_way: Vec::new(),
    };
    for part in parts {
        let key = part.key.as_str();
        match key {
            "command" | "args" | "env" | "url" | "headers" => {
                config.insert(key.to_owned(), reading.value(&part.node));
            }
            "cwd" => {
                let before = reading.in_the_way.len();
                let cwd = reading.value(&part.node);
                // Of one that could not be read nobody knows.
                if reading.in_the_way.len() == before && cwd.as_str().is_some_and(is_relative) {
                    reading.refuse("its `cwd` is relative, and to the gateway to another folder");
                }
                config.insert(key.to_owned(), cwd);
            }
            "type" | "transport" => match &part.node.value {
                Value::Text(kind) if is_spoken(kind) => {}
                Value::Text(kind) if kind == "sse" => reading.refuse(format!(
                    "its `{key}` is not spoken by the gateway: most servers that have `sse` have `http`, too"
                )),
                _ => reading.refuse(format!("its `{key}` is not spoken by the gateway")),
            },
            "disabled" if part.node.value == Value::Bool(false) => {}
            "enabled" if part.node.value == Value::Bool(true) => {}
            "disabled" | "enabled" => reading.refuse("it is switched off"),
            // Claude Code counts in milliseconds.
            "timeout" if wiring.client == ClientKind::ClaudeCode => match part.node.value {
                Value::Integer(millis @ 1..) => {
                    config.insert(key.to_owned(), format!("{millis} ms").into());
                }
                _ => reading.refuse("its `timeout` is no number"),
            },
            _ if OF_THE_CLIENT.contains(&key) => {
                remarks.push(format!(
                    "`{}`: `{key}` is left out: it is for the client",
                    entry.key
                ));
            }
            _ => reading.refuse(format!("the gateway has nothing for its `{key}`")),
        }
    }
    let moved = Moved {
        config,
        variables: reading.variables,
        remarks,
    };
    if reading.in_the_way.is_empty() {
        judge(&entry.key, &moved)?;
        return Ok(moved);
    }
    Err(reading.in_the_way.join("; "))
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
    let variables = moved.variables.iter();
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

/// How much of what stands in `${…}` is named: nobody calls a variable by more.
const NAMED: usize = 64;

/// The reading of one server.
struct Reading<'w> {
    wiring: &'w Wiring,
    variables: Variables,
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
                self.refuse(format!("it holds {}", other.kind()));
                serde_json::Value::Null
            }
        }
    }

    fn text(&mut self, text: &str) -> String {
        if text.contains("$${") {
            self.refuse("it holds `$${`, which the gateway reads in another way");
            return String::new();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
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
        out.push_str(rest);
        out
    }

    /// What stands for `${inside}`; or why nothing can, and what to do.
    fn put(&mut self, inside: &str) -> Result<String, String> {
        let wiring = self.wiring;
        let of_the_editor = wiring.client != ClientKind::ClaudeCode;
        match inside {
            "workspaceFolder" if of_the_editor => wiring.workspace.clone().ok_or_else(|| {
                "`${workspaceFolder}` is not known here, for this file is of no project: write the path, or \
                 have the server in a file of the project"
                    .to_owned()
            }),
            "userHome" if of_the_editor => wiring.home.clone().ok_or_else(|| {
                "`${userHome}` is not known here, for `HOME` is not set: write the path".to_owned()
            }),
            "pathSeparator" | "/" if of_the_editor => Ok("/".to_owned()),
            _ if inside.starts_with("input:") => Err(format!(
                "the client asks for {}, and the gateway cannot: {}",
                named(inside),
                instead(wiring.client)
            )),
            // A variable of the editor's, or of a shell's: nobody can tell.
            name if of_the_editor
                && !inside.starts_with("env:")
                && (is_name(name) || name.contains(':')) =>
            {
                Err(format!(
                    "{} is not known here, but to the editor: write what it stands for; if it is a variable of \
                     the environment, {}",
                    named(inside),
                    instead(wiring.client)
                ))
            }
            // To these clients it is a text like any other.
            _ if of_the_editor && !inside.starts_with("env:") => Ok(format!("$${{{inside}}}")),
            _ => {
                let whole = format!("${{{inside}}}");
                let is_variable = variable(&whole, &mut self.variables)?;
                Ok(if is_variable { whole } else { format!("${whole}") })
            }
        }
    }
}

/// A variable as it is told of. What is no name may be a secret at the wrong place.
fn named(inside: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/ ".contains(c);
    match inside.len() <= NAMED && inside.chars().all(plain) {
        true => format!("`${{{inside}}}`"),
        false => "`${…}`".to_owned(),
    }
}

/// What to write for a variable that is not known.
fn instead(client: ClientKind) -> &'static str {
    match client {
        ClientKind::ClaudeCode => {
            "write `${NAME}`, and set that variable where the client is started"
        }
        ClientKind::Cursor | ClientKind::VsCode => {
            "write `${env:NAME}`, and set that variable where the client is started"
        }
    }
}

/// Notes a variable. A client that reads shell text (`${1}`) leaves it to the shell, and so do we.
fn variable(whole: &str, variables: &mut Variables) -> Result<bool, String> {
    let inside = whole.trim_start_matches("${").trim_end_matches('}');
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let name = inside.split(":-").next().unwrap_or_default();
    if !is_name(name) {
        return Ok(false);
    }
    for part in parts(whole)? {
        if let Part::Variable { name, default } = part {
            variables.add(name, default.is_none());
        }
    }
    Ok(true)
}
