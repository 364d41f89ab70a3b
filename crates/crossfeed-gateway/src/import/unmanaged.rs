//! Servers in places that are not imported: Claude Code keeps those of single projects in its own file, and a file of
//! another client has its servers under another key.

use super::{ImportError, Wiring, parse, sections};
use crate::{
    config::node::{Entry, Node},
    import::ClientKind,
};

/// Projects that remarks name.
const MAX_PROJECTS: usize = 20;

/// Remarks on servers elsewhere in a client's configuration: which they are, and what to do about them.
///
/// # Errors
///
/// [`ImportError::Malformed`].
pub fn unmanaged(text: &str, wiring: &Wiring) -> Result<Vec<String>, ImportError> {
    let document = parse(text, wiring)?;
    let has_servers = |key| {
        let servers = document.get(key).and_then(Node::entries);
        servers.is_some_and(|servers| !servers.is_empty())
    };
    let mut remarks = Vec::new();
    let (client, key) = (wiring.client.as_str(), wiring.client.key());
    // The settings of these clients use the keys for other things.
    let is_settings = matches!(
        wiring.client,
        ClientKind::Codex | ClientKind::GeminiCli | ClientKind::Zed
    );
    for other in ["mcpServers", "servers"] {
        if !is_settings && other != key && has_servers(other) {
            remarks.push(format!(
                "left alone: the servers under `{other}`, since {client} has its servers under `{key}`; the file may \
                 be another client's"
            ));
        }
    }
    if wiring.client != ClientKind::ClaudeCode {
        return Ok(remarks);
    }
    let projects = document.get("projects").and_then(Node::entries);
    let own_servers = |project: &'_ Entry| {
        let servers = project.node.get("mcpServers").and_then(Node::entries);
        let servers = servers.unwrap_or_default().iter();
        let servers = servers.filter(|server| !is_wrapped(&server.node));
        let names: Vec<_> = servers.map(|server| format!("`{}`", server.key)).collect();
        (!names.is_empty()).then(|| (project.key.clone(), names.join(", ")))
    };
    let mut projects = projects.unwrap_or_default().iter().filter_map(own_servers);
    for (project, names) in projects.by_ref().take(MAX_PROJECTS) {
        let folder = project.trim_end_matches('/');
        remarks.push(format!(
            "left alone: {names}, since they belong to the project `{project}` alone; to have them go through the \
             gateway, move them to `mcpServers` in `{folder}/.mcp.json` and import in that folder"
        ));
    }
    let left_out = projects.count();
    if left_out > 0 {
        remarks.push(format!(
            "{left_out} more projects have servers of their own"
        ));
    }
    Ok(remarks)
}

/// Why the rest of the client's configuration keeps a server from moving.
pub(super) fn in_the_way(
    text: &str,
    document: &Node,
    entry: &Entry,
    wiring: &Wiring,
) -> Option<String> {
    if wiring.client.is_toml() && !sections::has(text, wiring.client.key(), &entry.key) {
        let key = wiring.client.key();
        return Some(format!(
            "it has no section of its own: write it below a line `[{key}.NAME]`"
        ));
    }
    let excluded = gemini_names(document, wiring, "excluded")?;
    let is_excluded = excluded.iter().any(|name| name.text() == Some(&entry.key));
    is_excluded.then(|| "it is switched off under `mcp.excluded`".to_owned())
}

/// A remark that the client will not start the gateway, because its settings allow only other servers.
pub(super) fn not_admitted(document: &Node, wiring: &Wiring) -> Option<String> {
    let name = wiring.name;
    let allowed = gemini_names(document, wiring, "allowed")?;
    let is_missing = !allowed.is_empty() && allowed.iter().all(|other| other.text() != Some(name));
    is_missing.then(|| {
        format!("the client starts only the servers under `mcp.allowed`: add `{name}` there")
    })
}

/// A list of names in the settings of Gemini CLI.
fn gemini_names<'d>(document: &'d Node, wiring: &Wiring, key: &str) -> Option<&'d [Node]> {
    let settings = document
        .get("mcp")
        .filter(|_| wiring.client == ClientKind::GeminiCli);
    settings?.get(key)?.items()
}

/// Whether a server is a gateway already: `claude mcp add NAME -- crossfeed gateway -- COMMAND`.
fn is_wrapped(server: &Node) -> bool {
    let command = server
        .get("command")
        .and_then(Node::text)
        .unwrap_or_default();
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let args = server.get("args").and_then(Node::items).unwrap_or_default();
    program == "crossfeed" && args.first().and_then(Node::text) == Some("gateway")
}

#[cfg(test)]
mod tests {
    use super::{ClientKind, Wiring, unmanaged};
    use serde_json::{Value, json};

    fn said(file: &Value) -> Vec<String> {
        let wiring = Wiring::new(ClientKind::ClaudeCode, "/crossfeed", "/c.json");
        unmanaged(&file.to_string(), &wiring).expect("it is JSON")
    }

    #[test]
    fn servers_of_projects_are_named() {
        let file = json!({"projects": {
            "/none": {"mcpServers": {}, "history": []},
            "/odd": 3,
            "/wrapped": {"mcpServers": {"w": {"command": "/bin/crossfeed", "args": ["gateway", "--", "x"]}}},
            "/p": {"mcpServers": {
                "a": {"command": "x"},
                "b": {"url": "https://s3cret.example"},
                "w": {"command": "crossfeed", "args": ["gateway"]},
            }},
        }});
        let said = said(&file);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("left alone: `a`, `b`, since they belong to the project `/p` alone; "),
            "{said:?}"
        );
        assert!(said[0].contains("`/p/.mcp.json`"), "{said:?}");
        assert!(!said[0].contains("s3cret"), "{said:?}");
    }

    #[test]
    fn of_many_projects_the_first_are_named() {
        let server = json!({"mcpServers": {"a": {"command": "x"}}});
        let projects: serde_json::Map<_, _> =
            (0..30).map(|n| (format!("/{n}"), server.clone())).collect();
        let said = said(&json!({ "projects": projects }));
        assert_eq!(said.len(), 21);
        assert_eq!(said[20], "10 more projects have servers of their own");
        let file = json!({ "projects": projects }).to_string();
        let cursor = Wiring::new(ClientKind::Cursor, "/crossfeed", "/c.json");
        assert_eq!(unmanaged(&file, &cursor), Ok(Vec::new()));
    }

    #[test]
    fn the_key_of_another_client_is_told() {
        let file = json!({"mcpServers": {"a": {"command": "x"}}}).to_string();
        let vscode = Wiring::new(ClientKind::VsCode, "/crossfeed", "/c.json");
        let said = unmanaged(&file, &vscode).expect("it is JSON");
        assert_eq!(
            said,
            [
                "left alone: the servers under `mcpServers`, since vscode has its servers under `servers`; the file may be another client's"
            ]
        );
    }
}
