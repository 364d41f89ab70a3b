//! A server as a client writes it, as the gateway reads it.
//!
//! What comes in: an entry of a client's configuration. What goes out: the same for the gateway, or why
//! the server stays where it is: what is not understood is not moved.

use super::{ClientKind, Wiring};
use crate::config::{
    Format, GatewayConfig, Sources,
    expand::{Part, is_name, parts},
    node::{Entry, Node, Value},
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

/// A server as the gateway reads it, or why it stays.
pub(super) fn server(entry: &Entry, wiring: &Wiring) -> Result<Moved, String> {
    let Some(parts) = entry.node.entries() else {
        return Err("it is no table".to_owned());
    };
    let mut moved = Moved {
        config: Map::new(),
        variables: Variables::default(),
        remarks: Vec::new(),
    };
    for part in parts {
        let key = part.key.as_str();
        match key {
            "command" | "args" | "env" | "cwd" | "url" | "headers" => {
                let value = value(&part.node, wiring, &mut moved.variables)?;
                moved.config.insert(key.to_owned(), value);
            }
            "type" | "transport" => {
                if !matches!(&part.node.value, Value::Text(kind) if is_spoken(kind)) {
                    return Err(format!("its `{key}` is not spoken by the gateway"));
                }
            }
            "disabled" if part.node.value == Value::Bool(false) => {}
            "enabled" if part.node.value == Value::Bool(true) => {}
            "disabled" | "enabled" => return Err("it is switched off".to_owned()),
            // Claude Code counts in milliseconds.
            "timeout" if wiring.client == ClientKind::ClaudeCode => match part.node.value {
                Value::Integer(millis @ 1..) => {
                    moved
                        .config
                        .insert(key.to_owned(), format!("{millis} ms").into());
                }
                _ => return Err("its `timeout` is no number".to_owned()),
            },
            _ if OF_THE_CLIENT.contains(&key) => {
                moved.remarks.push(format!(
                    "`{}`: `{key}` is left out: it is for the client",
                    entry.key
                ));
            }
            _ => return Err(format!("the gateway has nothing for its `{key}`")),
        }
    }
    let cwd = moved.config.get("cwd").and_then(serde_json::Value::as_str);
    if cwd.is_some_and(|cwd| !Path::new(cwd).is_absolute() && !cwd.starts_with("${")) {
        return Err("its `cwd` is relative, and to the gateway to another folder".to_owned());
    }
    judge(&entry.key, &moved)?;
    Ok(moved)
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
    let read = GatewayConfig::parse(&text, Format::Json, &sources);
    let Err(error) = read else {
        return Ok(());
    };
    let problem = error.problems().iter().find(|problem| {
        // An address that begins with a variable may well be one.
        knows_all || !problem.at.ends_with(".url")
    });
    problem.map_or(Ok(()), |problem| Err(problem.what.clone()))
}

/// A value with the client's variables as the gateway spells them.
fn value(
    node: &Node,
    wiring: &Wiring,
    variables: &mut Variables,
) -> Result<serde_json::Value, String> {
    Ok(match &node.value {
        Value::Text(text) => self::text(text, wiring, variables)?.into(),
        Value::List(items) => items
            .iter()
            .map(|item| value(item, wiring, variables))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Table(entries) => entries
            .iter()
            .map(|entry| {
                let value = match &entry.node.value {
                    // Clients take numbers for variables, too.
                    Value::Integer(number) => number.to_string().into(),
                    Value::Bool(truth) => truth.to_string().into(),
                    _ => value(&entry.node, wiring, variables)?,
                };
                Ok((entry.key.clone(), value))
            })
            .collect::<Result<Map<_, _>, String>>()?
            .into(),
        Value::Null => serde_json::Value::Null,
        other => return Err(format!("it holds {}", other.kind())),
    })
}

fn text(text: &str, wiring: &Wiring, variables: &mut Variables) -> Result<String, String> {
    if text.contains("$${") {
        return Err("it holds `$${`, which the gateway reads in another way".to_owned());
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
        let of_the_editor = wiring.client != ClientKind::ClaudeCode;
        let known = |folder: &Option<String>| {
            let folder = folder.clone();
            folder.ok_or_else(|| format!("`${{{inside}}}` is not known here"))
        };
        match inside {
            "workspaceFolder" if of_the_editor => out.push_str(&known(&wiring.workspace)?),
            "userHome" if of_the_editor => out.push_str(&known(&wiring.home)?),
            "pathSeparator" | "/" if of_the_editor => out.push('/'),
            _ if inside.starts_with("input:") => {
                return Err(format!("the client asks for `${{{inside}}}`"));
            }
            _ if of_the_editor && !inside.starts_with("env:") && inside.contains(':') => {
                return Err(format!("`${{{inside}}}` is not known here"));
            }
            // A variable of the editor's, or of a shell's: nobody can tell.
            name if of_the_editor && is_name(name) => {
                return Err(format!("`${{{inside}}}` is not known here"));
            }
            // To these clients it is a text like any other.
            _ if of_the_editor && !inside.starts_with("env:") => {
                out.push_str(&format!("$${{{inside}}}"));
            }
            _ => {
                let whole = format!("${{{inside}}}");
                let is_variable = variable(&whole, variables)?;
                out.push_str(if is_variable { "" } else { "$" });
                out.push_str(&whole);
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
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
