//! Replaces the servers in an MCP client's configuration with the gateway, and undoes it.
//!
//! Every other byte of the client's text stays, comments included; the servers move to the gateway's configuration.

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
    config::{
        Format,
        node::{self, Entry, Node, Value},
    },
    tools::list::names::prefixes,
};
use data_encoding::HEXLOWER;
use derive_setters::Setters;
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The gateway's name in a user's configuration.
pub const NAME: &str = "crossfeed";
/// The gateway's name in a project's configuration. It differs, because a client with two servers of the same name
/// uses the project's alone, which would hide the user's servers.
pub const PROJECT_NAME: &str = "crossfeed-project";

/// A client whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum ClientKind {
    /// Claude Code: `~/.claude.json`, `.mcp.json`.
    ClaudeCode,
    /// Claude Desktop: `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Codex: `~/.codex/config.toml`, `.codex/config.toml`.
    Codex,
    /// Cursor: `~/.cursor/mcp.json`, `.cursor/mcp.json`.
    Cursor,
    /// Gemini CLI: `~/.gemini/settings.json`, `.gemini/settings.json`.
    GeminiCli,
    /// VS Code: `.vscode/mcp.json`.
    #[strum(serialize = "vscode")]
    VsCode,
    /// Windsurf: `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// Zed: `~/.config/zed/settings.json`, `.zed/settings.json`.
    Zed,
}

impl ClientKind {
    /// The words for all clients.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The word for the client.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The key of the servers in its configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::Codex => "mcp_servers",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            _ => "mcpServers",
        }
    }

    fn format(self) -> Format {
        match self {
            Self::Codex => Format::Toml,
            _ => Format::Json,
        }
    }

    fn is_toml(self) -> bool {
        self.format() == Format::Toml
    }
}

/// How a client reaches the gateway.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_", generate = false)]
#[non_exhaustive]
#[must_use]
pub struct Wiring {
    /// The client.
    pub client: ClientKind,
    /// The gateway's name in the client's configuration: [`NAME`], or [`PROJECT_NAME`] in a project.
    pub name: &'static str,
    /// The program `crossfeed`.
    pub program: String,
    /// The path of the gateway's configuration.
    pub config: String,
    /// The same path as a client's file that is shared with others names it.
    pub shared_config: Option<String>,
    /// The value of `${workspaceFolder}` in the client's file.
    pub workspace: Option<String>,
    /// The value of `${userHome}` in the client's file.
    #[setters(generate, into, strip_option)]
    pub home: Option<String>,
}

impl Wiring {
    /// `client` starts `program` with `config`.
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

    /// Sets the folder of a project.
    pub fn with_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self.name = PROJECT_NAME;
        self
    }

    /// Names the gateway's configuration by its path within the project's folder, in the client's own way: others have
    /// the same file in other folders.
    pub fn with_shared_config(mut self, within: &str) -> Self {
        self.shared_config = Some(match self.client {
            ClientKind::ClaudeCode => format!("${{CLAUDE_PROJECT_DIR:-.}}/{within}"),
            ClientKind::Cursor | ClientKind::VsCode => format!("${{workspaceFolder}}/{within}"),
            // Servers run in the project's folder.
            _ => within.to_owned(),
        });
        self
    }

    /// A remark that the client must be started in the project's folder, if the gateway's path is relative.
    pub fn start_folder_remark(&self) -> Option<String> {
        let path = self.shared_config.as_ref()?;
        let is_relative = !path.starts_with("${");
        is_relative.then(|| {
            format!("the gateway's configuration has the relative path `{path}`: start the client in the project's folder")
        })
    }

    /// The arguments of the gateway. Anyone who can change a project can change its configuration of the gateway, so the
    /// arguments include its digest: the client's approval of them covers these bytes.
    fn args(&self, config: &str) -> Vec<String> {
        let path = self.shared_config.as_ref().unwrap_or(&self.config);
        let mut args = ["gateway", "--config", path].map(str::to_owned).to_vec();
        if self.name == PROJECT_NAME {
            args.extend(["--config-digest".to_owned(), digest(config.as_bytes())]);
        }
        args
    }
}

/// The digest of a configuration: `sha256:` and 64 hexadecimal digits.
pub fn digest(config: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(config)))
}

/// The files that an import writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The client's configuration.
    pub client: String,
    /// The gateway's.
    pub config: String,
    /// The gateway's entry in the client's configuration.
    pub entry: serde_json::Value,
    /// The servers that move behind the gateway.
    pub moved: Vec<String>,
    /// The servers that stay, and why.
    pub stay: Vec<(String, String)>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

/// Why a configuration cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is not valid JSON or TOML.
    #[error("line {line}: {why}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no servers that can go through the gateway.
    #[error("{}", if stay.is_empty() { "there is no server" } else { "no server can go through the gateway" })]
    NoServers {
        /// The servers, and why they stay.
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
    /// Another server has the gateway's name.
    #[error("another server is already named `{name}`")]
    Taken {
        /// The name.
        name: String,
    },
    /// Servers of the names to restore exist again.
    #[error("servers that would be restored exist again: {}", names.join(", "))]
    Conflict {
        /// The servers.
        names: Vec<String>,
    },
    /// The gateway has no entry, so there is nothing to undo.
    #[error("there is no gateway to undo")]
    NotThere,
}

/// Replaces the servers of a client with the gateway.
///
/// # Errors
///
/// [`ImportError`] when there is nothing to do or the file cannot be changed.
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
    let config = format!("{:#}\n", json!({"mcpServers": config}));
    let server = entry::gateway(wiring, &needs, &config);
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

/// How the names of tools change: the client prefixes them with the name of the gateway's entry, and a gateway of
/// several servers with the name of their own server.
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

/// Restores the servers of `before`. Changes elsewhere in the file stay; without such changes the result is `before`, byte
/// for byte. If the gateway's entry is gone and all servers are back, nothing changes.
///
/// # Errors
///
/// [`ImportError`] when the gateway's entry is gone, or other servers have the same names.
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
    // Today's rules do not decide it: an earlier version may have moved other servers.
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

/// Whether `now` has all servers of `before`, and `before` had no comments that could be lost.
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

    /// The text with `put` in place of these servers; `None` if it has none of them.
    fn replace(&self, gone: &BTreeSet<&str>, put: &str) -> Option<String> {
        if self.wiring.client.is_toml() {
            sections::replace(self.text, self.wiring.client.key(), gone, put)
        } else {
            splice::replace(self.text, self.entries, gone, put)
        }
    }

    /// The text of servers, with the text between adjacent ones.
    fn joined(&self, servers: &BTreeSet<&str>) -> String {
        if self.wiring.client.is_toml() {
            sections::joined(self.text, self.wiring.client.key(), servers)
        } else {
            splice::joined(self.text, self.entries, servers)
        }
    }

    /// Whether comments in these entries, or beside them, may be lost.
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

    /// Whether an entry of another file is in this one, whatever its layout.
    fn has(&self, other: &Self, entry: &Entry) -> bool {
        let words = |file: &Self, entry: &Entry| -> String {
            let written = file.joined(&[entry.key.as_str()].into());
            written.split_whitespace().collect()
        };
        let mut same = self.entries.iter().filter(|own| own.key == entry.key);
        same.any(|own| words(self, own) == words(other, entry))
    }
}

/// Servers of a client's configuration without possible secrets: commands and names of variables stay; arguments,
/// values of variables and headers, and the paths of URLs are cut.
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

/// Replaces a value that is not shown.
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

/// A URL up to its host: the rest may identify the user.
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
    node::parse(text, wiring.client.format()).map_err(|errors| {
        let (line, why) = errors
            .into_iter()
            .next()
            .map_or_else(Default::default, |error| {
                (node::line(text, error.at), error.why)
            });
        ImportError::Malformed { line, why }
    })
}

fn servers<'n>(document: &'n Node, wiring: &Wiring) -> &'n [Entry] {
    let servers = document.get(wiring.client.key());
    servers.and_then(Node::entries).unwrap_or_default()
}

/// Whether a server is the gateway with this configuration, whatever its other arguments.
fn is_ours(node: &Node, wiring: &Wiring) -> bool {
    let args = node.get("args").and_then(Node::items).unwrap_or_default();
    let args: Vec<_> = args.iter().map(Node::text).collect();
    let paths = [
        Some(wiring.config.as_str()),
        wiring.shared_config.as_deref(),
    ];
    args.contains(&Some("gateway"))
        && args.windows(2).any(|pair| {
            pair[0] == Some("--config") && pair[1].is_some() && paths.contains(&pair[1])
        })
}
