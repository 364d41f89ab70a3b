//! The gateway's entry in a client's configuration, with the variables that its servers need: clients pass on few.

use super::{ClientKind, Wiring};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How long Codex waits for the answer to a call, in seconds.
const CODEX_CALL_SECONDS: u64 = 60;
/// How long Codex waits for a server to start, in seconds.
const CODEX_START_SECONDS: u64 = 10;
/// How long Gemini CLI waits for an answer, in milliseconds.
const GEMINI_CALL_MILLIS: u64 = 600_000;

/// Folders that only an editor knows: its word, and the variable by which the entry passes the folder on.
pub(super) const OF_THE_EDITOR: [(&str, &str); 2] = [
    ("workspaceFolder", "CROSSFEED_WORKSPACE_FOLDER"),
    ("userHome", "CROSSFEED_USER_HOME"),
];

/// What servers need from the client that starts the gateway.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The variables that the configuration reads, and whether each must be set.
    variables: BTreeMap<String, bool>,
    /// How long the client waited for the slowest, in milliseconds.
    pub(super) call: Option<u64>,
    /// How long the client waited for the slowest to start, in milliseconds.
    pub(super) start: Option<u64>,
}

impl Needs {
    pub(super) fn add(&mut self, name: &str, needed: bool) {
        *self.variables.entry(name.to_owned()).or_default() |= needed;
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (name, needed) in other.variables {
            self.add(&name, needed);
        }
        self.call = self.call.max(other.call);
        self.start = self.start.max(other.start);
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        let variables = self.variables.iter();
        variables.map(|(name, needed)| (name.as_str(), *needed))
    }
}

/// The gateway's entry.
pub(super) fn gateway(wiring: &Wiring, needs: &Needs, config: &str) -> Value {
    let mut server = json!({});
    match wiring.client {
        ClientKind::ClaudeCode | ClientKind::VsCode => server["type"] = "stdio".into(),
        ClientKind::Zed => server["source"] = "custom".into(),
        _ => {}
    }
    server["command"] = wiring.program.as_str().into();
    server["args"] = wiring.args(config).into();
    if wiring.client == ClientKind::Codex {
        let names: Vec<_> = needs.variables().map(|(name, _)| name).collect();
        if !names.is_empty() {
            server["env_vars"] = names.into();
        }
    } else {
        let value = |name: &str, needed| Value::from(variable(wiring.client, name, needed));
        let variables = needs.variables();
        let env: Map<_, _> = variables
            .map(|(name, needed)| (name.to_owned(), value(name, needed)))
            .collect();
        if !env.is_empty() {
            server["env"] = env.into();
        }
    }
    if wiring.client == ClientKind::Codex {
        let timeouts = [
            ("startup_timeout_sec", needs.start, CODEX_START_SECONDS),
            ("tool_timeout_sec", needs.call, CODEX_CALL_SECONDS),
        ];
        for (key, millis, default) in timeouts {
            let seconds = millis.map_or(0, |millis| millis.div_ceil(1000));
            if seconds > default {
                server[key] = seconds.into();
            }
        }
    } else if let (ClientKind::GeminiCli, Some(call)) = (wiring.client, needs.call)
        && call > GEMINI_CALL_MILLIS
    {
        server["timeout"] = call.into();
    }
    server
}

/// How a client writes the value of a variable that it has.
fn variable(client: ClientKind, name: &str, needed: bool) -> String {
    let of_the_editor = OF_THE_EDITOR.iter().find(|(_, own)| *own == name);
    match (client, of_the_editor) {
        (_, Some((word, _))) => format!("${{{word}}}"),
        (ClientKind::ClaudeCode | ClientKind::GeminiCli, None) => {
            let default = if needed { "" } else { ":-" };
            format!("${{{name}{default}}}")
        }
        (_, None) => format!("${{env:{name}}}"),
    }
}

/// The entry as a section of TOML. JSON spells texts, numbers and lists of texts as TOML does.
pub(super) fn as_toml(wiring: &Wiring, server: &Value, newline: &str) -> String {
    let mut section = format!("[{}.{}]{newline}", wiring.client.key(), wiring.name);
    for (key, value) in server.as_object().into_iter().flatten() {
        let value = match value {
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(", "))
            }
            value => value.to_string(),
        };
        section.push_str(&format!("{key} = {value}{newline}"));
    }
    section
}
