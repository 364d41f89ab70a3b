//! The gateway's entry in a client's configuration, with the variables that its servers need: clients pass on few.

use super::{ClientKind, Wiring};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How long Codex waits for the answer to a call, in seconds.
const CODEX_CALL: u64 = 60;
/// How long Codex waits for a server to start, in seconds.
const CODEX_START: u64 = 10;
/// How long Gemini CLI waits for an answer, in milliseconds.
const GEMINI_CALL: u64 = 600_000;

/// What an editor knows and the gateway does not: its word, and the variable that the entry hands it on by.
pub(super) const OF_THE_EDITOR: [(&str, &str); 2] = [
    ("workspaceFolder", "CROSSFEED_WORKSPACE_FOLDER"),
    ("userHome", "CROSSFEED_USER_HOME"),
];

/// What servers need of the client that starts the gateway for them.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The variables that the configuration reads, and whether each must be there.
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

/// The server that stands for all.
pub(super) fn of(wiring: &Wiring, needs: &Needs, config: &str) -> Value {
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
    let seconds = |millis: u64| millis.div_ceil(1000);
    match (wiring.client, needs.call, needs.start) {
        (ClientKind::Codex, call, start) => {
            let longer = |own: Option<u64>, usual| own.map(seconds).filter(|own| *own > usual);
            if let Some(start) = longer(start, CODEX_START) {
                server["startup_timeout_sec"] = start.into();
            }
            if let Some(call) = longer(call, CODEX_CALL) {
                server["tool_timeout_sec"] = call.into();
            }
        }
        (ClientKind::GeminiCli, Some(call), _) if call > GEMINI_CALL => {
            server["timeout"] = call.into();
        }
        _ => {}
    }
    server
}

/// How a client writes the value of a variable that it has.
fn variable(client: ClientKind, name: &str, needed: bool) -> String {
    let of_the_editor = OF_THE_EDITOR.iter().find(|(_, own)| *own == name);
    match (client, of_the_editor) {
        (_, Some((word, _))) => format!("${{{word}}}"),
        (ClientKind::ClaudeCode | ClientKind::GeminiCli, None) if !needed => {
            format!("${{{name}:-}}")
        }
        (ClientKind::ClaudeCode | ClientKind::GeminiCli, None) => format!("${{{name}}}"),
        (_, None) => format!("${{env:{name}}}"),
    }
}

/// The entry as a section of TOML. What JSON writes of texts, numbers and lists of texts is TOML, too.
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
