//! Servers that stand where nothing is moved from: Claude Code has those of single projects in its own file,
//! beside everything else that it knows of them; and other clients have them under another key.

use super::{ImportError, Wiring, parse, sections};
use crate::{
    config::node::{Entry, Node, Value},
    import::ClientKind,
};

/// How many projects are named.
const PROJECTS: usize = 20;

/// What there is to know of servers that stand elsewhere in a client's configuration: which they are, and
/// what to do about them.
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
    let mut said = Vec::new();
    let (client, key) = (wiring.client.as_str(), wiring.client.key());
    for other in ["mcpServers", "servers"] {
        // In the settings of these, other keys mean other things.
        let is_settings = matches!(
            wiring.client,
            ClientKind::Codex | ClientKind::GeminiCli | ClientKind::Zed
        );
        if !is_settings && other != key && has_servers(other) {
            said.push(format!(
                "left alone: the servers under `{other}`, since {client} has its servers under `{key}`; the file may \
                 be another client's"
            ));
        }
    }
    if wiring.client != ClientKind::ClaudeCode {
        return Ok(said);
    }
    let projects = document.get("projects").and_then(Node::entries);
    let (mut told, mut left_out) = (0, 0);
    for project in projects.unwrap_or_default() {
        let servers = project.node.get("mcpServers").and_then(Node::entries);
        let names: Vec<_> = servers
            .unwrap_or_default()
            .iter()
            .filter(|server| !is_wrapped(&server.node))
            .map(|server| format!("`{}`", server.key))
            .collect();
        if names.is_empty() {
            continue;
        }
        if told == PROJECTS {
            left_out += 1;
            continue;
        }
        told += 1;
        let folder = project.key.trim_end_matches('/');
        said.push(format!(
            "left alone: {1}, since they belong to the project `{0}` alone; to have them go through the gateway, \
             move them to `mcpServers` in `{folder}/.mcp.json` and import in that folder",
            project.key,
            names.join(", ")
        ));
    }
    if left_out > 0 {
        said.push(format!(
            "{left_out} more projects have servers of their own"
        ));
    }
    Ok(said)
}

/// Why a server stays that could be read: what stands elsewhere in the client's configuration.
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
    let excluded = of_gemini(document, wiring, "excluded")?;
    let is_it = |name: &Node| matches!(&name.value, Value::Text(name) if *name == entry.key);
    let is_excluded = excluded.iter().any(is_it);
    is_excluded.then(|| "it is switched off under `mcp.excluded`".to_owned())
}

/// That the client does not start the gateway, because it starts only the servers that its settings allow.
pub(super) fn not_admitted(document: &Node, wiring: &Wiring) -> Option<String> {
    let name = wiring.name;
    let allowed = of_gemini(document, wiring, "allowed")?;
    let is_it = |own: &Node| matches!(&own.value, Value::Text(own) if own == name);
    let is_missing = !allowed.is_empty() && !allowed.iter().any(is_it);
    is_missing.then(|| {
        format!("the client starts only the servers under `mcp.allowed`: add `{name}` there")
    })
}

/// A list of names in the settings of Gemini CLI.
fn of_gemini<'d>(document: &'d Node, wiring: &Wiring, key: &str) -> Option<&'d [Node]> {
    let settings = (wiring.client == ClientKind::GeminiCli).then(|| document.get("mcp"))?;
    match &settings?.get(key)?.value {
        Value::List(names) => Some(names),
        _ => None,
    }
}

/// Whether a server is a gateway already: `claude mcp add NAME -- crossfeed gateway -- COMMAND`.
fn is_wrapped(server: &Node) -> bool {
    let (Some(Value::Text(command)), Some(Value::List(args))) = (
        server.get("command").map(|node| &node.value),
        server.get("args").map(|node| &node.value),
    ) else {
        return false;
    };
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let first = args.first().map(|arg| &arg.value);
    program == "crossfeed" && matches!(first, Some(Value::Text(word)) if word == "gateway")
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
