//! From the configuration of an MCP client to one that goes through the gateway, and back.
//!
//! What comes in: the text of a client's configuration. What goes out: the same text with one server in
//! place of those that can be reached through the gateway, every other byte kept, comments included; and
//! the gateway's configuration with the servers that were there. Deliberately not here: files.

mod convert;
mod splice;

#[cfg(test)]
mod tests;

use crate::config::node::{self, Entry, Node, Value};
use serde_json::{Map, json};
use std::{collections::BTreeSet, fmt};

/// The name of the server that stands for all.
pub const NAME: &str = "crossfeed";

/// A client whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientKind {
    /// Claude Code: `~/.claude.json`, `.mcp.json`.
    ClaudeCode,
    /// Cursor: `~/.cursor/mcp.json`, `.cursor/mcp.json`.
    Cursor,
    /// VS Code: `.vscode/mcp.json`.
    VsCode,
}

impl ClientKind {
    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// The key under which servers stand.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Cursor => "mcpServers",
            Self::VsCode => "servers",
        }
    }
}

/// How a client is to reach the gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wiring {
    /// The client.
    pub client: ClientKind,
    /// The program that is `crossfeed`.
    pub program: String,
    /// Where the gateway's configuration will be.
    pub config: String,
    /// What the client means by `${workspaceFolder}`.
    pub workspace: Option<String>,
    /// What the client means by `${userHome}`.
    pub home: Option<String>,
}

impl Wiring {
    /// The way by which `client` starts `program` with `config`.
    #[must_use]
    pub fn new(client: ClientKind, program: impl Into<String>, config: impl Into<String>) -> Self {
        Self {
            client,
            program: program.into(),
            config: config.into(),
            workspace: None,
            home: None,
        }
    }

    /// The same with the folder of a project.
    #[must_use]
    pub fn with_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// The same with the user's folder.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<String>) -> Self {
        self.home = Some(home.into());
        self
    }

    fn args(&self) -> [&str; 3] {
        ["gateway", "--config", &self.config]
    }
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The client's configuration.
    pub client: String,
    /// The gateway's.
    pub config: String,
    /// The servers that go through the gateway.
    pub moved: Vec<String>,
    /// The servers that stay where they are, and why.
    pub stay: Vec<(String, String)>,
    /// What else there is to know.
    pub remarks: Vec<String>,
}

/// Why a configuration cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// It is no JSON.
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no servers that could go through the gateway.
    NoServers {
        /// The servers that there are, and why they stay.
        stay: Vec<(String, String)>,
    },
    /// Its servers go through the gateway already.
    Done,
    /// Servers were added since.
    Added {
        /// Their names.
        names: Vec<String>,
    },
    /// It has a server of the gateway's name that is another.
    Taken,
    /// What would be put back is there again.
    Conflict {
        /// The servers.
        names: Vec<String>,
    },
    /// There is nothing to undo: the gateway is not there.
    NotThere,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { line, why } => write!(f, "line {line}: this is no JSON: {why}"),
            Self::NoServers { stay } if stay.is_empty() => f.write_str("there is no server"),
            Self::NoServers { .. } => f.write_str("no server can go through the gateway"),
            Self::Done => f.write_str("the servers go through the gateway already"),
            Self::Added { names } => write!(
                f,
                "servers were added since the last import: {}",
                names.join(", ")
            ),
            Self::Taken => write!(f, "there is a server `{NAME}` that is another"),
            Self::Conflict { names } => write!(
                f,
                "servers that would be put back are there again: {}",
                names.join(", ")
            ),
            Self::NotThere => write!(f, "there is no server `{NAME}` that would be undone"),
        }
    }
}

impl std::error::Error for ImportError {}

/// Puts the gateway in place of the servers of a client.
///
/// # Errors
///
/// [`ImportError`] when there is nothing to do, or it cannot be done.
pub fn plan(text: &str, wiring: &Wiring) -> Result<Plan, ImportError> {
    let document = parse(text)?;
    let entries = servers(&document, wiring);
    let mut config = Map::new();
    let (mut moved, mut stay, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    let mut variables = convert::Variables::default();
    let mut ours = None;
    for entry in entries {
        if entry.key == NAME {
            ours = Some(is_ours(&entry.node, wiring));
            continue;
        }
        match convert::server(entry, wiring) {
            Ok(server) => {
                remarks.extend(server.remarks);
                variables.extend(server.variables);
                config.insert(entry.key.clone(), serde_json::Value::Object(server.config));
                moved.push(entry.key.clone());
            }
            Err(why) => stay.push((entry.key.clone(), why)),
        }
    }
    match (ours, moved.is_empty()) {
        (Some(true), true) => return Err(ImportError::Done),
        (Some(true), false) => return Err(ImportError::Added { names: moved }),
        (Some(false), _) => return Err(ImportError::Taken),
        (None, true) => return Err(ImportError::NoServers { stay }),
        (None, false) => {}
    }
    if document.entries().is_some_and(|keys| {
        keys.iter()
            .any(|entry| entry.key == "projects" && wiring.client == ClientKind::ClaudeCode)
    }) {
        remarks.push(
            "servers that stand under `projects` are left alone; give their project a `.mcp.json`"
                .to_owned(),
        );
    }
    let gone: BTreeSet<&str> = moved.iter().map(String::as_str).collect();
    let server = entry(wiring, &variables);
    let client = splice::replace(text, entries, &gone, |style| style.entry(NAME, &server))
        .ok_or(ImportError::NotThere)?;
    // A map of texts can always be written.
    let config = serde_json::to_string_pretty(&json!({"mcpServers": config})).unwrap_or_default();
    Ok(Plan {
        client,
        config: config + "\n",
        moved,
        stay,
        remarks,
    })
}

/// Puts the servers back that `before` had. What was changed elsewhere since stays; where nothing was, the
/// text is that of before to the byte.
///
/// # Errors
///
/// [`ImportError`] when the gateway is not there, or servers of the same names are.
pub fn undo(now: &str, before: &str, wiring: &Wiring) -> Result<String, ImportError> {
    let (now_node, before_node) = (parse(now)?, parse(before)?);
    let (now_entries, before_entries) = (servers(&now_node, wiring), servers(&before_node, wiring));
    let ours = |entry: &&Entry| entry.key == NAME && is_ours(&entry.node, wiring);
    let Some(gateway) = now_entries.iter().find(ours) else {
        return Err(ImportError::NotThere);
    };
    let moved: Vec<&Entry> = before_entries
        .iter()
        .filter(|entry| convert::server(entry, wiring).is_ok())
        .collect();
    let again = |entry: &&&Entry| now_entries.iter().any(|now| now.key == entry.key);
    let names: Vec<String> = moved
        .iter()
        .filter(again)
        .map(|entry| entry.key.clone())
        .collect();
    if !names.is_empty() {
        return Err(ImportError::Conflict { names });
    }
    let put = now.get(gateway.key_span.start..gateway.node.span.end);
    let put = put.unwrap_or_default();
    let gone: BTreeSet<&str> = moved.iter().map(|entry| entry.key.as_str()).collect();
    if splice::replace(before, before_entries, &gone, |_| put.to_owned()).as_deref() == Some(now) {
        return Ok(before.to_owned());
    }
    let back = splice::joined(before, &moved);
    splice::replace(now, now_entries, &[NAME].into(), |style| {
        style.reindent(&back, before, &moved)
    })
    .ok_or(ImportError::NotThere)
}

/// A client's configuration as it may be shown: without values of variables and headers, and without what
/// stands behind `?` in addresses.
///
/// # Errors
///
/// [`ImportError::Malformed`].
pub fn without_secrets(text: &str, key: &str) -> Result<String, ImportError> {
    let document = parse(text)?;
    let mut hidden = Vec::new();
    let servers = document.get(key).and_then(Node::entries);
    for entry in servers.unwrap_or_default() {
        for part in entry.node.entries().unwrap_or_default() {
            match (part.key.as_str(), &part.node.value) {
                ("env" | "headers", Value::Table(pairs)) => {
                    hidden.extend(pairs.iter().map(|pair| pair.node.span.clone()));
                }
                ("url", Value::Text(_)) => {
                    let span = part.node.span.clone();
                    let written = text.get(span.clone()).unwrap_or_default();
                    if let Some(at) = written.find('?') {
                        hidden.push(span.start + at..span.end);
                    }
                }
                _ => {}
            }
        }
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for span in hidden {
        let whole = text.get(span.clone()).unwrap_or_default();
        shown.push_str(text.get(at..span.start).unwrap_or_default());
        // A variable's name is no secret.
        let name = whole
            .strip_prefix("\"${")
            .and_then(|name| name.strip_suffix("}\""));
        shown.push_str(match (name, whole.starts_with('?')) {
            (Some(name), _) if !name.contains(['$', ':', '}']) => whole,
            (_, true) => "?…\"",
            _ => "\"…\"",
        });
        at = span.end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    Ok(shown)
}

fn parse(text: &str) -> Result<Node, ImportError> {
    node::json(text).map_err(|errors| {
        let error = errors.into_iter().next();
        let (at, why) = error.map_or((0, String::new()), |error| (error.at, error.why));
        let before = text.as_bytes().get(..at).unwrap_or_default();
        ImportError::Malformed {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            why,
        }
    })
}

fn servers<'n>(document: &'n Node, wiring: &Wiring) -> &'n [Entry] {
    let servers = document.get(wiring.client.key());
    servers.and_then(Node::entries).unwrap_or_default()
}

/// Whether a server is the gateway with the configuration that is meant.
fn is_ours(node: &Node, wiring: &Wiring) -> bool {
    let Some(Value::List(args)) = node.get("args").map(|args| &args.value) else {
        return false;
    };
    let expected = wiring.args();
    args.len() == expected.len()
        && args
            .iter()
            .zip(expected)
            .all(|(arg, expected)| matches!(&arg.value, Value::Text(text) if text == expected))
}

/// The server that stands for all. Clients give servers few variables: those that are needed are named.
fn entry(wiring: &Wiring, variables: &convert::Variables) -> serde_json::Value {
    let mut server = Map::new();
    if wiring.client != ClientKind::Cursor {
        server.insert("type".to_owned(), "stdio".into());
    }
    server.insert("command".to_owned(), wiring.program.as_str().into());
    server.insert("args".to_owned(), wiring.args().as_slice().into());
    let env: Map<_, _> = variables
        .iter()
        .map(|(name, needed)| {
            let value = match (wiring.client, needed) {
                (ClientKind::ClaudeCode, true) => format!("${{{name}}}"),
                (ClientKind::ClaudeCode, false) => format!("${{{name}:-}}"),
                (ClientKind::Cursor | ClientKind::VsCode, _) => format!("${{env:{name}}}"),
            };
            (name.to_owned(), value.into())
        })
        .collect();
    if !env.is_empty() {
        server.insert("env".to_owned(), env.into());
    }
    server.into()
}
