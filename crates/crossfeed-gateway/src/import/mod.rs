//! Puts the gateway in place of the servers in an MCP client's configuration, and back.
//!
//! Every other byte of the client's text is kept, comments included; the servers go to the gateway's configuration.

mod convert;
mod entry;
mod sections;
mod splice;
mod unmanaged;

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod tests;

pub use unmanaged::unmanaged;

use crate::{
    config::node::{self, Entry, Node, Value},
    tools::list::names::prefixes,
};
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// The name of the server that stands for all of a user.
pub const NAME: &str = "crossfeed";
/// The name of the server that stands for all of a project. Clients take the nearest of those that share
/// a name: under the user's it would hide the user's servers.
pub const PROJECT_NAME: &str = "crossfeed-project";

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
    /// Claude Desktop: `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Codex: `~/.codex/config.toml`, `.codex/config.toml`.
    Codex,
    /// Gemini CLI: `~/.gemini/settings.json`, `.gemini/settings.json`.
    GeminiCli,
    /// Windsurf: `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// Zed: `~/.config/zed/settings.json`, `.zed/settings.json`.
    Zed,
}

impl ClientKind {
    /// The word as it is written, and the key under which servers stand.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("claude-code", "mcpServers"),
            Self::Cursor => ("cursor", "mcpServers"),
            Self::VsCode => ("vscode", "servers"),
            Self::ClaudeDesktop => ("claude-desktop", "mcpServers"),
            Self::Codex => ("codex", "mcp_servers"),
            Self::GeminiCli => ("gemini-cli", "mcpServers"),
            Self::Windsurf => ("windsurf", "mcpServers"),
            Self::Zed => ("zed", "context_servers"),
        }
    }

    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The key under which servers stand.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.words().1
    }

    /// Whether its configuration is TOML, and not JSON with comments.
    fn is_toml(self) -> bool {
        self == Self::Codex
    }
}

/// How a client is to reach the gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Wiring {
    /// The client.
    pub client: ClientKind,
    /// The name of the server that stands for all: [`NAME`] unless it is a project's.
    pub name: &'static str,
    /// The program that is `crossfeed`.
    pub program: String,
    /// Where the gateway's configuration will be.
    pub config: String,
    /// The same as the client's file names it, where others have that file, too.
    pub shared_config: Option<String>,
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
            name: NAME,
            program: program.into(),
            config: config.into(),
            shared_config: None,
            workspace: None,
            home: None,
        }
    }

    /// The same for a project, with its folder.
    #[must_use]
    pub fn with_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self.name = PROJECT_NAME;
        self
    }

    /// The same for a file that others have, too: the gateway's configuration is named by its path within
    /// the project's folder, in the way that the client has for that.
    #[must_use]
    pub fn with_shared_config(mut self, within: &str) -> Self {
        self.shared_config = Some(match self.client {
            ClientKind::ClaudeCode => format!("${{CLAUDE_PROJECT_DIR:-.}}/{within}"),
            ClientKind::Cursor | ClientKind::VsCode => format!("${{workspaceFolder}}/{within}"),
            // Servers run in the project's folder.
            _ => within.to_owned(),
        });
        self
    }

    /// The same with the user's folder.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<String>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// That the gateway finds its configuration only where the client is started in the project's folder.
    #[must_use]
    pub fn where_it_starts(&self) -> Option<String> {
        let path = self.shared_config.as_ref()?;
        let is_relative = !path.starts_with("${");
        is_relative.then(|| {
            format!("the gateway's configuration has the relative path `{path}`: start the client in the project's folder")
        })
    }

    /// The arguments of the gateway. What stands in a project comes with the project, and may be changed
    /// by anyone who can change the project: the client's approval of these arguments covers the bytes of the
    /// configuration, too.
    fn args(&self, config: &str) -> Vec<String> {
        let path = self.shared_config.as_ref().unwrap_or(&self.config);
        let mut args = ["gateway", "--config", path].map(str::to_owned).to_vec();
        if self.name == PROJECT_NAME {
            args.extend(["--config-digest".to_owned(), digest(config.as_bytes())]);
        }
        args
    }
}

/// What names the bytes of a configuration: `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn digest(config: &[u8]) -> String {
    let digest = Sha256::digest(config);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The client's configuration.
    pub client: String,
    /// The gateway's.
    pub config: String,
    /// The server that stands for all, as the client's configuration has it.
    pub entry: serde_json::Value,
    /// The servers that go through the gateway.
    pub moved: Vec<String>,
    /// The servers that stay where they are, and why.
    pub stay: Vec<(String, String)>,
    /// What else there is to know.
    pub remarks: Vec<String>,
}

/// Why a configuration cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is not valid JSON or TOML.
    #[error("line {line}: {why}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no servers that could go through the gateway.
    #[error("{}", if stay.is_empty() { "there is no server" } else { "no server can go through the gateway" })]
    NoServers {
        /// The servers that there are, and why they stay.
        stay: Vec<(String, String)>,
    },
    /// Its servers go through the gateway already.
    #[error("the servers go through the gateway already")]
    Done,
    /// Servers were added since.
    #[error("servers were added since the last import: {}", names.join(", "))]
    Added {
        /// Their names.
        names: Vec<String>,
    },
    /// It has a server of the gateway's name that is another.
    #[error("another server is already named `{name}`")]
    Taken {
        /// The name.
        name: String,
    },
    /// What would be put back is there again.
    #[error("servers that would be restored exist again: {}", names.join(", "))]
    Conflict {
        /// The servers.
        names: Vec<String>,
    },
    /// There is nothing to undo: the gateway is not there.
    #[error("there is no gateway to undo")]
    NotThere,
}

/// Puts the gateway in place of the servers of a client.
///
/// # Errors
///
/// [`ImportError`] when there is nothing to do, or it cannot be done.
pub fn plan(text: &str, wiring: &Wiring) -> Result<Plan, ImportError> {
    let document = parse(text, wiring)?;
    let entries = servers(&document, wiring);
    let mut config = Map::new();
    let (mut moved, mut stay, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    let mut needs = entry::Needs::default();
    let mut ours = false;
    for entry in entries {
        if is_ours(&entry.node, wiring) {
            ours = true;
            continue;
        }
        if [NAME, PROJECT_NAME].contains(&entry.key.as_str()) {
            let name = entry.key.clone();
            return Err(ImportError::Taken { name });
        }
        let read = match unmanaged::in_the_way(text, &document, entry, wiring) {
            Some(why) => Err(why),
            None => convert::server(entry, wiring),
        };
        match read {
            Ok(server) => {
                remarks.extend(server.remarks);
                needs.extend(server.needs);
                config.insert(entry.key.clone(), serde_json::Value::Object(server.config));
                moved.push(entry.key.clone());
            }
            Err(why) => stay.push((entry.key.clone(), why)),
        }
    }
    match (ours, moved.is_empty()) {
        (true, true) => return Err(ImportError::Done),
        (true, false) => return Err(ImportError::Added { names: moved }),
        (false, true) => return Err(ImportError::NoServers { stay }),
        (false, false) => {}
    }
    let gone: BTreeSet<&str> = moved.iter().map(String::as_str).collect();
    let file = File {
        text,
        entries,
        wiring,
    };
    if file.loses(&gone) {
        remarks.push(
            "comments among the servers that go may be lost; the original file is kept".to_owned(),
        );
    }
    remarks.extend(renamed(&moved, wiring));
    remarks.extend(unmanaged::not_admitted(&document, wiring));
    // A map of texts can always be written.
    let config = serde_json::to_string_pretty(&json!({"mcpServers": config})).unwrap_or_default();
    let config = config + "\n";
    let server = entry::of(wiring, &needs, &config);
    let put = if wiring.client.is_toml() {
        entry::as_toml(wiring, &server, sections::newline(text))
    } else {
        let style = splice::style(text, entries, &gone);
        style.map_or_else(String::new, |style| style.entry(wiring.name, &server))
    };
    let client = file.replace(&gone, &put).ok_or(ImportError::NotThere)?;
    Ok(Plan {
        client,
        config,
        entry: server,
        moved,
        stay,
        remarks,
    })
}

/// How the client names the tools of these servers from here on: it puts the name of the gateway's entry
/// before them, and the gateway, where it has several servers, the name of their own.
fn renamed(moved: &[String], wiring: &Wiring) -> Option<String> {
    let own = moved.first()?;
    let (mut remark, shown) = if moved.len() == 1 {
        let remark = format!(
            "the client now knows the server's tools by the name `{}` instead of `{own}`: change rules of the client that name the server or its tools",
            wiring.name
        );
        (remark, "…".to_owned())
    } else {
        let names: Vec<_> = prefixes(moved)
            .iter()
            .map(|prefix| format!("{prefix}__…"))
            .collect();
        let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let remark = format!(
            "tools are shown with the name of their server ({}), unless the gateway's configuration says `\"prefix\": \"collisions\"`: change rules of the client that name tools",
            quoted.join(", ")
        );
        (remark, names.first()?.clone())
    };
    if wiring.client == ClientKind::ClaudeCode {
        remark.push_str(&format!(
            ", as from `mcp__{own}__…` to `mcp__{}__{shown}`",
            wiring.name
        ));
    }
    Some(remark)
}

/// Puts the servers back that `before` had. What was changed elsewhere since stays; where nothing was, the
/// text is that of before to the byte. Where the gateway is not there, but all servers are, nothing is to
/// be done.
///
/// # Errors
///
/// [`ImportError`] when the gateway is not there, or other servers of the same names are.
pub fn undo(now: &str, before: &str, wiring: &Wiring) -> Result<String, ImportError> {
    let (now_node, before_node) = (parse(now, wiring)?, parse(before, wiring)?);
    let now = File::new(now, &now_node, wiring);
    let before = File::new(before, &before_node, wiring);
    let mut entries = now.entries.iter();
    let Some(gateway) = entries.find(|entry| is_ours(&entry.node, wiring)) else {
        return if now.has_all_of(&before) {
            Ok(now.text.to_owned())
        } else {
            Err(ImportError::NotThere)
        };
    };
    // Not by today's rules: the servers may have been moved by others.
    let (there, moved): (Vec<&Entry>, Vec<&Entry>) = before
        .entries
        .iter()
        .partition(|entry| now.entries.iter().any(|now| now.key == entry.key));
    let again = |entry: &&&Entry| {
        let is_other = !now.has(&before, entry);
        moved.is_empty() || (is_other && convert::server(entry, wiring).is_ok())
    };
    let conflicts = there.iter().filter(again);
    let names: Vec<String> = conflicts.map(|entry| entry.key.clone()).collect();
    if !names.is_empty() || moved.is_empty() {
        return Err(ImportError::Conflict { names });
    }
    let gone: BTreeSet<&str> = moved.iter().map(|entry| entry.key.as_str()).collect();
    let ours: BTreeSet<&str> = [gateway.key.as_str()].into();
    if before.replace(&gone, &now.joined(&ours)).as_deref() == Some(now.text) {
        return Ok(before.text.to_owned());
    }
    let mut back = before.joined(&gone);
    if !wiring.client.is_toml()
        && let Some(style) = splice::style(now.text, now.entries, &ours)
    {
        back = style.reindent(&back, before.text, &moved);
    }
    now.replace(&ours, &back).ok_or(ImportError::NotThere)
}

/// Whether nothing of what `before` says of servers is missing in `now`: neither a server nor, where it may
/// have had some, a comment.
#[must_use]
pub fn is_whole(now: &str, before: &str, wiring: &Wiring) -> bool {
    let comments = || {
        if wiring.client.is_toml() {
            before.contains('#')
        } else {
            serde_json::from_str::<serde::de::IgnoredAny>(before).is_err()
        }
    };
    let has_servers = || {
        let (Ok(now_node), Ok(before_node)) = (parse(now, wiring), parse(before, wiring)) else {
            return false;
        };
        let before = File::new(before, &before_node, wiring);
        File::new(now, &now_node, wiring).has_all_of(&before)
    };
    now == before || (!comments() && has_servers())
}

/// A client's configuration, and the servers in it.
struct File<'f> {
    text: &'f str,
    entries: &'f [Entry],
    wiring: &'f Wiring,
}

impl<'f> File<'f> {
    fn new(text: &'f str, document: &'f Node, wiring: &'f Wiring) -> Self {
        Self {
            text,
            entries: servers(document, wiring),
            wiring,
        }
    }

    /// The text with `put` in place of these servers; none if none of them is there.
    fn replace(&self, gone: &BTreeSet<&str>, put: &str) -> Option<String> {
        if self.wiring.client.is_toml() {
            sections::replace(self.text, self.wiring.client.key(), gone, put)
        } else {
            splice::replace(self.text, self.entries, gone, put)
        }
    }

    /// Servers as they stand in the text, with what is between those that stand together.
    fn joined(&self, servers: &BTreeSet<&str>) -> String {
        if self.wiring.client.is_toml() {
            sections::joined(self.text, self.wiring.client.key(), servers)
        } else {
            splice::joined(self.text, self.entries, servers)
        }
    }

    /// Whether comments in the entries that go, or beside them, may be lost.
    fn loses(&self, gone: &BTreeSet<&str>) -> bool {
        if self.wiring.client.is_toml() {
            self.joined(gone).contains('#')
        } else {
            splice::loses(self.text, self.entries, gone)
        }
    }

    /// Whether every server of another file is in this one with the same text.
    fn has_all_of(&self, other: &Self) -> bool {
        other.entries.iter().all(|entry| self.has(other, entry))
    }

    /// Whether an entry of another file is in this one, however it is laid out.
    fn has(&self, other: &Self, entry: &Entry) -> bool {
        let words = |file: &Self, entry: &Entry| -> String {
            let written = file.joined(&[entry.key.as_str()].into());
            written.split_whitespace().collect()
        };
        let mut same = self.entries.iter().filter(|own| own.key == entry.key);
        same.any(|own| words(self, own) == words(other, entry))
    }
}

/// Servers of a client's configuration as they may be shown: what starts one and what its variables are
/// called. Arguments, values of variables and headers, and what stands behind a host may be secrets.
///
/// # Errors
///
/// [`ImportError::Malformed`].
pub fn without_secrets(
    text: &str,
    wiring: &Wiring,
    names: &[String],
) -> Result<serde_json::Value, ImportError> {
    let document = parse(text, wiring)?;
    let shown = servers(&document, wiring)
        .iter()
        .filter(|entry| names.contains(&entry.key))
        .map(|entry| (entry.key.clone(), cut(&entry.node)));
    Ok(serde_json::Value::Object(shown.collect()))
}

/// What stands for a value that is not shown.
const CUT: &str = "…";

fn cut(server: &Node) -> serde_json::Value {
    let parts = server.entries().unwrap_or_default().iter().map(|part| {
        let shown = match (part.key.as_str(), &part.node.value) {
            ("command" | "cwd" | "type", Value::Text(text)) => text.clone().into(),
            ("url" | "httpUrl" | "serverUrl", Value::Text(url)) => host(url).into(),
            ("env" | "headers" | "http_headers" | "env_http_headers", Value::Table(pairs)) => pairs
                .iter()
                .map(|pair| (pair.key.clone(), CUT.into()))
                .collect::<Map<_, _>>()
                .into(),
            _ => CUT.into(),
        };
        (part.key.clone(), shown)
    });
    serde_json::Value::Object(parts.collect())
}

/// An address up to its host. What follows may say who asks.
fn host(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return CUT.to_owned();
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host == rest {
        format!("{scheme}://{host}")
    } else {
        format!("{scheme}://{host}/{CUT}")
    }
}

fn parse(text: &str, wiring: &Wiring) -> Result<Node, ImportError> {
    let (read, format) = if wiring.client.is_toml() {
        (node::toml(text), "TOML")
    } else {
        (node::json(text), "JSON")
    };
    read.map_err(|errors| {
        let error = errors.into_iter().next();
        let (at, why) = error.map_or((0, String::new()), |error| (error.at, error.why));
        let before = text.as_bytes().get(..at).unwrap_or_default();
        ImportError::Malformed {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            why: format!("not valid {format}: {why}"),
        }
    })
}

fn servers<'n>(document: &'n Node, wiring: &Wiring) -> &'n [Entry] {
    let servers = document.get(wiring.client.key());
    servers.and_then(Node::entries).unwrap_or_default()
}

/// Whether a server is the gateway with the configuration that is meant, whatever its other arguments.
fn is_ours(node: &Node, wiring: &Wiring) -> bool {
    let Some(Value::List(args)) = node.get("args").map(|args| &args.value) else {
        return false;
    };
    let is = |node: &Node, text: &str| matches!(&node.value, Value::Text(is) if is == text);
    args.iter().any(|arg| is(arg, "gateway"))
        && args.windows(2).any(|pair| {
            let is_config = |path| {
                let shared = wiring.shared_config.as_ref();
                is(path, &wiring.config) || shared.is_some_and(|shared| is(path, shared))
            };
            matches!(pair, [option, path] if is(option, "--config") && is_config(path))
        })
}
