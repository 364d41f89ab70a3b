//! A question: one call of a server's tool, and what shall go wrong with it.

use serde_json::{Value, json};

use crate::seed::Seed;

/// What a server may be asked to do wrong. Before: without running the call. After: once it ran.
pub(crate) const FAULTS: [&str; 18] = [
    "die-before",
    "502-before",
    "503-before",
    "404-before",
    "307-before",
    "401-before",
    "429-before",
    "502-after",
    "503-after",
    "404-after",
    "401-after",
    "429-after",
    "cut-after",
    "die-after",
    "invalid-after",
    "silent-after",
    "e32601-after",
    "is-error",
];

/// A call that a client makes.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) key: String,
    pub(crate) server: String,
    tool: String,
    pub(crate) fault: Option<&'static str>,
    pub(crate) delay: u64,
    progress: u64,
    pad: u64,
    cut: Option<u64>,
    is_task: bool,
    value: Value,
    /// Keys that the answer may hold besides its own.
    pub(crate) refers_to: Vec<String>,
    /// The call id of another principal that the arguments refer to.
    pub(crate) foreign: Option<String>,
}

impl Question {
    pub(crate) fn new(key: String, server: String, tool: String) -> Self {
        Question {
            key,
            server,
            tool,
            fault: None,
            delay: 0,
            progress: 0,
            pad: 0,
            cut: None,
            is_task: false,
            value: Value::Null,
            refers_to: Vec::new(),
            foreign: None,
        }
    }

    /// With answers of many sizes, a few of them large.
    pub(crate) fn with_size(mut self, seed: &Seed) -> Self {
        self.pad = match seed.below(20) {
            0 => 200_000,
            1..4 => 20_000,
            _ => seed.below(500),
        };
        self
    }

    pub(crate) fn with_fault(mut self, seed: &Seed) -> Self {
        self.fault = seed.pick(&FAULTS).copied();
        self
    }

    pub(crate) fn with_delay(mut self, milliseconds: u64) -> Self {
        self.delay = milliseconds;
        self
    }

    pub(crate) fn with_progress(mut self, messages: u64) -> Self {
        self.progress = messages;
        self
    }

    /// To be run as a task.
    pub(crate) fn with_task(mut self) -> Self {
        self.is_task = true;
        self
    }

    /// With an answer that takes much of what the gateway may hold.
    pub(crate) fn with_load(mut self) -> Self {
        self.pad = 350_000;
        self
    }

    /// The connection ends after so many bytes of the response.
    pub(crate) fn with_cut(mut self, bytes: u64) -> Self {
        self.fault = Some("cut-at-byte");
        self.cut = Some(bytes);
        self
    }

    /// Refers to the key in a result of the same client.
    pub(crate) fn with_reference(mut self, call_id: &str, key: String) -> Self {
        self.value = json!({"$tool": call_id, "$select": "key"});
        self.refers_to.push(key);
        self
    }

    /// Refers to a result of somebody else.
    pub(crate) fn with_foreign(mut self, call_id: String) -> Self {
        self.value = json!({"$tool": call_id, "$select": "key"});
        self.foreign = Some(call_id);
        self
    }

    /// The parameters of `tools/call`.
    pub(crate) fn params(&self) -> Value {
        let mut arguments = json!({"key": self.key});
        if let Some(fault) = self.fault {
            arguments["fault"] = fault.into();
        }
        for (name, number) in [
            ("delay", self.delay),
            ("progress", self.progress),
            ("pad", self.pad),
        ] {
            if number > 0 {
                arguments[name] = number.into();
            }
        }
        if let Some(bytes) = self.cut {
            arguments["cut"] = bytes.into();
        }
        if !self.value.is_null() {
            arguments["value"] = self.value.clone();
        }
        let mut params = json!({"name": self.tool, "arguments": arguments});
        if self.is_task {
            params["task"] = json!({});
        }
        if self.progress > 0 {
            params["_meta"] = json!({"progressToken": self.key});
        }
        params
    }
}
