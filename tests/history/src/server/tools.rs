//! What the servers answer, apart from how it gets there.

use std::io;

use serde_json::{Value, json};

use super::{NOTIFICATION, SESSION_REVISION, STATELESS_REVISION, Server};
use crate::key::task_id;

/// What a call is asked to do besides echoing.
#[derive(Debug, Default)]
pub(super) struct Wish {
    pub(super) key: String,
    pub(super) fault: String,
    /// How long it takes, in milliseconds.
    pub(super) delay: u64,
    /// How many notifications of progress it sends.
    pub(super) progress: u64,
    /// After how many bytes of its response the connection ends.
    pub(super) cut: Option<usize>,
}

impl Wish {
    pub(super) fn of(params: &Value) -> Self {
        let arguments = &params["arguments"];
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        Wish {
            key: text("key"),
            fault: text("fault"),
            delay: arguments["delay"].as_u64().unwrap_or(0),
            progress: arguments["progress"].as_u64().unwrap_or(0),
            cut: arguments["cut"]
                .as_u64()
                .and_then(|bytes| bytes.try_into().ok()),
        }
    }

    /// The notifications of progress that the call asks for, in order.
    pub(super) fn progress_messages(&self, params: &Value) -> Vec<Value> {
        let token = &params["_meta"]["progressToken"];
        if token.is_null() {
            return Vec::new();
        }
        let message = |number: u64| {
            json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": number, "message": self.key},
            })
        };
        (1..=self.progress).map(message).collect()
    }
}

/// A task as its server shows it.
fn task_of(task: &str, params: &Value) -> Value {
    json!({
        "taskId": task,
        "status": "completed",
        "statusMessage": params["arguments"]["key"],
        "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": null,
    })
}

impl Server {
    /// Writes down that a call ran. It must be on disk before anything is answered.
    pub(super) fn ran(&self, wish: &Wish) -> io::Result<()> {
        self.log
            .write(json!({"ran": wish.key, "server": self.name}))
    }

    /// Writes down a notification that counts.
    pub(super) fn note(&self, message: &Value, connection: &str) -> io::Result<()> {
        if message["method"] != NOTIFICATION {
            return Ok(());
        }
        self.log.write(json!({
            "noted": message["params"]["client"],
            "session": message["params"]["session"],
            "number": message["params"]["number"],
            "server": self.name,
            "connection": connection,
        }))
    }

    /// The answer to a call that ran.
    pub(super) fn called(&self, id: &Value, wish: &Wish, params: &Value) -> Value {
        if wish.fault == "e32601-after" {
            let error = json!({"code": -32601, "message": format!("no such method: {}", wish.key)});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
        if params["task"].is_object() {
            let task = task_id(&wish.key);
            let begun = json!({"task": task_of(&task, params)});
            self.tasks.lock().insert(task, params.clone());
            return self.result(id, begun);
        }
        self.result(id, self.echo(wish, params))
    }

    /// The result of a call.
    fn echo(&self, wish: &Wish, params: &Value) -> Value {
        let arguments = &params["arguments"];
        let pad = usize::try_from(arguments["pad"].as_u64().unwrap_or(0)).unwrap_or(0);
        let echo = json!({
            "key": wish.key,
            "server": self.name,
            "value": arguments["value"],
            "pad": "x".repeat(pad),
        });
        let failed = wish.fault == "is-error";
        json!({"content": [{"type": "text", "text": echo.to_string()}], "isError": failed})
    }

    /// The answer to a request about tasks, whoever asks.
    fn about_tasks(&self, id: &Value, method: &str, asked: &Value) -> Value {
        let tasks = self.tasks.lock();
        if method == "tasks/list" {
            let list = tasks
                .keys()
                .map(|task| json!({"taskId": task, "status": "completed"}));
            return self.result(id, json!({"tasks": list.collect::<Vec<_>>()}));
        }
        let found = asked["taskId"]
            .as_str()
            .and_then(|task| tasks.get_key_value(task));
        let Some((task, params)) = found else {
            let error = json!({"code": -32602, "message": "no such task"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        };
        let result = match method {
            "tasks/result" => self.echo(&Wish::of(params), params),
            _ => task_of(task, params),
        };
        self.result(id, result)
    }

    /// The answer to any other request.
    pub(super) fn answer(&self, id: &Value, method: &str, params: &Value) -> Value {
        let info = json!({"name": self.name, "version": "1"});
        let capabilities = json!({
            "tools": {"listChanged": true},
            "logging": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        });
        match method {
            "initialize" if !self.stateless => self.result(
                id,
                json!({
                    "protocolVersion": SESSION_REVISION,
                    "capabilities": capabilities,
                    "serverInfo": info,
                }),
            ),
            "server/discover" if self.stateless => self.result(
                id,
                json!({
                    "supportedVersions": [STATELESS_REVISION],
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                    "ttlMs": 0,
                    "cacheScope": "private",
                }),
            ),
            "tools/list" => self.result(id, self.tools()),
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/list" if !self.stateless => {
                self.about_tasks(id, method, params)
            }
            "ping" | "logging/setLevel" => self.result(id, json!({})),
            _ => json!({
                "jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": "Method not found"},
            }),
        }
    }

    fn tools(&self) -> Value {
        let mut list = json!({"tools": [{
            "name": "echo",
            // Clients find a server's tool by this, whatever name it is listed under.
            "description": format!("echo of {}", self.name),
            "inputSchema": {"type": "object", "properties": {
                "key": {"type": "string"},
                "fault": {"type": "string"},
                "delay": {"type": "integer"},
                "progress": {"type": "integer"},
                "pad": {"type": "integer"},
                "cut": {"type": "integer"},
                "value": {},
            }, "required": ["key"]},
        }]});
        if self.stateless {
            list["ttlMs"] = 0.into();
            list["cacheScope"] = "private".into();
        } else {
            list["tools"][0]["execution"] = json!({"taskSupport": "optional"});
        }
        list
    }

    fn result(&self, id: &Value, mut result: Value) -> Value {
        if self.stateless {
            result["resultType"] = "complete".into();
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }
}
