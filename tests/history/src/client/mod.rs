//! The clients of a run: what they ask, and what they make of what they hear.
//!
//! Here is what clients have in common: the questions, the reading of answers, and what goes into the history. How a
//! question travels is in the modules below.

pub(crate) mod http;
pub(crate) mod http_life;
mod lasting;
pub(crate) mod question;
mod resume;
pub(crate) mod stdio;
pub(crate) mod stdio_life;
mod tasks;

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::history::{Event, History, Outcome};
use crate::key::{OF_A_SESSION, call_ids, key, keys, principal};
use crate::seed::Seed;
use crate::server::{SESSION_REVISION, STATELESS_REVISION};
use question::Question;

/// How long a client waits for an answer before the gateway counts as hanging. The servers' `timeout` is far less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Which era of the protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Session,
    Stateless,
}

/// What all clients of a run share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) history: Arc<History>,
    /// Call ids that mean something outside of one session, with the principals that were given them.
    known_ids: Mutex<Vec<(String, String)>>,
    /// Keys of calls that became tasks.
    known_tasks: Mutex<Vec<String>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Times of plain calls in microseconds, with when they were asked.
    times: Mutex<Vec<(u64, u64)>>,
}

/// The most call ids of others that are remembered.
const MAX_KNOWN: usize = 1_000;

impl Shared {
    pub(crate) fn new(history: Arc<History>) -> Self {
        Shared {
            history,
            ..Shared::default()
        }
    }

    /// Counts an operation.
    pub(crate) fn count(&self, what: &'static str) {
        *self.counts.lock().entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().clone()
    }

    pub(crate) fn add_time(&self, at: u64, took: u64) {
        self.times.lock().push((at, took));
    }

    pub(crate) fn take_times(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.times.lock())
    }
}

/// A client, apart from its connection.
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    /// `PRINCIPAL.NAME`.
    pub(crate) name: String,
    pub(crate) era: Era,
    pub(crate) seed: Seed,
    next_key: AtomicU64,
    next_id: AtomicU64,
    /// The name of each server's tool, as it is listed.
    tools: Mutex<BTreeMap<String, String>>,
    /// Results that may be referred to: call ids and keys.
    results: Mutex<Vec<(String, String)>>,
    session: AtomicU64,
    next_note: AtomicU64,
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, name: String, era: Era, seed: Seed) -> Self {
        Client {
            shared,
            name,
            era,
            seed,
            next_key: AtomicU64::new(1),
            next_id: AtomicU64::new(1),
            tools: Mutex::default(),
            results: Mutex::default(),
            session: AtomicU64::new(0),
            next_note: AtomicU64::new(1),
        }
    }

    pub(crate) fn principal(&self) -> &str {
        principal(&self.name)
    }

    pub(crate) fn history(&self) -> &History {
        &self.shared.history
    }

    /// Another session begins: nothing of the one before counts.
    pub(crate) fn begin_session(&self) {
        self.results.lock().clear();
        self.tools.lock().clear();
        self.session.fetch_add(1, Ordering::Relaxed);
        self.next_note.store(1, Ordering::Relaxed);
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.lock().is_empty()
    }

    /// A question to one of the servers whose tools are listed.
    pub(crate) fn question(&self) -> Option<Question> {
        let tools: Vec<(String, String)> = self
            .tools
            .lock()
            .iter()
            .map(|(server, tool)| (server.clone(), tool.clone()))
            .collect();
        let (server, _) = self.seed.pick(&tools)?;
        self.question_to(server)
    }

    /// A question to this server, if its tool is listed.
    pub(crate) fn question_to(&self, server: &str) -> Option<Question> {
        let tool = self.tools.lock().get(server)?.clone();
        let number = self.next_key.fetch_add(1, Ordering::Relaxed);
        let key = key(&self.name, number, &self.seed);
        Some(Question::new(key, server.to_owned(), tool))
    }

    /// A result of this client's own: its call id and key.
    pub(crate) fn own_result(&self) -> Option<(String, String)> {
        self.seed.pick(&self.results.lock()).cloned()
    }

    /// A call id that another principal was given.
    pub(crate) fn foreign_id(&self) -> Option<String> {
        let known = self.shared.known_ids.lock();
        let (owner, id) = self.seed.pick(&known)?;
        (owner != self.principal()).then(|| id.clone())
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A request as this client's era writes it.
    pub(crate) fn request(&self, id: u64, method: &str, mut params: Value) -> Value {
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = STATELESS_REVISION.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/clientInfo"] = self.info();
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    pub(crate) fn initialize(&self, id: u64) -> Value {
        let params = json!({
            "protocolVersion": SESSION_REVISION,
            "capabilities": {},
            "clientInfo": self.info(),
        });
        self.request(id, "initialize", params)
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": "1"})
    }

    /// A notification whose order is judged.
    pub(crate) fn notification(&self) -> Value {
        let number = self.next_note.fetch_add(1, Ordering::Relaxed);
        let session = self.session.load(Ordering::Relaxed);
        self.history().add(Event::Told {
            client: self.name.clone(),
            session,
            number,
        });
        json!({
            "jsonrpc": "2.0",
            "method": crate::server::NOTIFICATION,
            "params": {"client": self.name, "session": session, "number": number},
        })
    }

    pub(crate) fn asked(&self, question: &Question) {
        self.history().add(Event::Asked {
            key: question.key.clone(),
            client: self.name.clone(),
            server: question.server.clone(),
            fault: question.fault.map(str::to_owned),
            refers_to: question.refers_to.clone(),
        });
    }

    pub(crate) fn ended(&self, question: &Question, outcome: Outcome) {
        self.shared.count(match &outcome {
            Outcome::Answered { .. } => "outcome: answered",
            Outcome::Failed { code } if code == "upstream.unavailable" => "outcome: unavailable",
            Outcome::Failed { code } if code == "upstream.outcome_unknown" => "outcome: unknown",
            Outcome::Failed { code } if code.starts_with("limit.") => "outcome: beyond a limit",
            Outcome::Failed { .. } => "outcome: other error of the gateway",
            Outcome::Refused { status: 503, .. } => "outcome: no room (503)",
            Outcome::Refused { .. } => "outcome: refused by another status",
            Outcome::Cancelled => "outcome: cancelled",
            Outcome::Unsent => "outcome: request cut by the client",
            Outcome::GaveWay => "outcome: kept connection gave way",
            Outcome::Left => "outcome: client left",
            Outcome::Lost { .. } => "outcome: lost",
            Outcome::Silent { .. } => "outcome: no answer",
        });
        if let Some(call_id) = &question.foreign {
            self.told_of_foreign(call_id, &outcome);
        }
        self.history().add(Event::Ended {
            key: question.key.clone(),
            client: self.name.clone(),
            outcome,
        });
    }

    /// Notes what a reference to another's result was answered with. Where the call did not get as far, nothing follows.
    fn told_of_foreign(&self, call_id: &str, outcome: &Outcome) {
        let code = match outcome {
            Outcome::Answered { .. } => "an answer",
            Outcome::Failed { code } if is_about_references(code) => code,
            _ => return,
        };
        self.shared.count("references to another's result");
        self.history().add(Event::Foreign {
            client: self.name.clone(),
            call_id: call_id.to_owned(),
            code: code.to_owned(),
        });
    }

    /// Looks through bytes that came for this client.
    pub(crate) fn hear(&self, text: &str) {
        for found in keys(text) {
            let own = found
                .strip_prefix("key:")
                .and_then(|rest| rest.strip_prefix(self.name.as_str()))
                .is_some_and(|rest| rest.starts_with('.'));
            if !own {
                self.history().add(Event::Heard {
                    client: self.name.clone(),
                    excerpt: text.chars().take(300).collect(),
                    key: found,
                });
            }
        }
    }

    /// Reads the answer to a question. `text` is the message as it came.
    pub(crate) fn read_answer(&self, question: &Question, message: &Value, text: &str) -> Outcome {
        let found: Vec<String> = keys(text).into_iter().collect();
        if !found.contains(&question.key) {
            let code = error_code(message);
            if let Some(code) = code {
                return Outcome::Failed { code };
            }
        }
        for call_id in call_ids(text) {
            if !call_id.starts_with(OF_A_SESSION) {
                let mut known = self.shared.known_ids.lock();
                if known.len() >= MAX_KNOWN {
                    known.swap_remove(0);
                }
                known.push((self.principal().to_owned(), call_id.clone()));
            }
            let mut results = self.results.lock();
            if results.len() >= MAX_KNOWN {
                results.swap_remove(0);
            }
            results.push((call_id.clone(), question.key.clone()));
            drop(results);
            self.history().add(Event::Named {
                client: self.name.clone(),
                session: self.session.load(Ordering::Relaxed),
                key: question.key.clone(),
                call_id,
            });
        }
        Outcome::Answered { keys: found }
    }

    /// Takes progress of a call into the history.
    pub(crate) fn progress(&self, message: &Value) {
        let params = &message["params"];
        let (Some(key), Some(number)) = (params["message"].as_str(), params["progress"].as_u64())
        else {
            return;
        };
        self.history().add(Event::Progress {
            client: self.name.clone(),
            key: key.to_owned(),
            number,
        });
    }

    /// Learns which tool is whose, by the descriptions.
    pub(crate) fn learn_tools(&self, message: &Value) {
        let Some(list) = message["result"]["tools"].as_array() else {
            return;
        };
        let mut tools = self.tools.lock();
        tools.clear();
        for tool in list {
            let (name, description) = (tool["name"].as_str(), tool["description"].as_str());
            let server = description.and_then(|text| text.strip_prefix("echo of "));
            if let (Some(name), Some(server)) = (name, server) {
                let end = server.find(|c: char| !c.is_alphanumeric());
                let server = &server[..end.unwrap_or(server.len())];
                tools.insert(server.to_owned(), name.to_owned());
            }
        }
    }
}

fn is_about_references(code: &str) -> bool {
    ["result.", "reference.", "select.", "flow."]
        .iter()
        .any(|kind| code.starts_with(kind))
}

/// The code of an answer that is an error of the gateway's.
fn error_code(message: &Value) -> Option<String> {
    if let Some(error) = message.get("error") {
        let code = error["data"]["code"].as_str().map(str::to_owned);
        return Some(code.unwrap_or_else(|| error["code"].to_string()));
    }
    let result = &message["result"];
    if result["isError"] != true {
        return None;
    }
    let code = &result["_meta"]["dev.crossfeed/error"]["error"]["code"];
    if let Some(code) = code.as_str() {
        return Some(code.to_owned());
    }
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    Some(text.split(':').next().unwrap_or_default().to_owned())
}
