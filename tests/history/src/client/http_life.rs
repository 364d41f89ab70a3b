//! What a client over HTTP does from its coming to its going, again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Era;
use super::http::{Http, Manner};
use super::question::Question;
use crate::history::{Event, Outcome, now};
use crate::wire::{read_head, read_piece, take_events};

/// What a client does besides plain calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// Calls, references, sessions that come and go, at an even pace.
    Steady,
    /// The same as fast as it goes, and everything that clients and servers do wrong.
    Faulty,
    /// What clients do that go on through faults of replicas.
    Lasting,
}

/// What a lasting client does, each by a number of its kind: nothing for which a server is asked to fail.
const LASTING: [u64; 20] = [
    0, 0, 0, 0, 20, 20, 30, 30, 38, 38, 38, 45, 72, 78, 90, 97, 105, 109, 111, 116,
];
/// The most operations of one session.
const OPERATIONS: u64 = 30;
/// How long a client waits where the gateway takes no session or the list is empty.
pub(super) const RETRY: Duration = Duration::from_millis(300);
/// How long a steady client waits between operations, so that the machine is not busy and times compare.
const PACE: Duration = Duration::from_millis(60);

impl Http {
    /// Lives until `end`, session after session.
    pub(crate) async fn live(self: Arc<Self>, end: Instant, conduct: Conduct) {
        while Instant::now() < end {
            if !self.begin().await {
                sleep(RETRY).await;
                continue;
            }
            let reader = self.reads_stream().then(|| self.read_stream());
            let operations = 1 + self.client.seed.below(OPERATIONS);
            for _ in 0..operations {
                if Instant::now() >= end {
                    break;
                }
                if !self.client.has_tools() && !self.list().await {
                    sleep(RETRY).await;
                    continue;
                }
                self.act(conduct).await;
                if conduct == Conduct::Steady {
                    sleep(PACE).await;
                }
            }
            if let Some(reader) = reader {
                reader.abort();
            }
            self.go(conduct).await;
        }
    }

    fn reads_stream(&self) -> bool {
        self.client.era == Era::Session && self.client.seed.chance(50)
    }

    /// Begins a session, or does without one.
    pub(crate) async fn begin(&self) -> bool {
        self.set_session(None);
        self.client.begin_session();
        if self.client.era == Era::Stateless {
            return true;
        }
        let hello = self.client.initialize(self.client.next_id());
        let Ok(reply) = self.post(&hello).await else {
            return false;
        };
        self.client.shared.count(match reply.status {
            200 => "sessions begun",
            _ => "sessions refused",
        });
        if reply.status != 200 || reply.session.is_none() {
            return false;
        }
        self.set_session(reply.session);
        *self.first.lock() = reply.replica.map(|replica| (replica, now()));
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        loop {
            let reply = self.post(&ready).await;
            let is_ready = reply.is_ok_and(|reply| reply.status < 400 || !self.lasting);
            if is_ready || !self.lasting || self.session().is_none() {
                return is_ready;
            }
            sleep(RETRY).await;
        }
    }

    /// Lists the tools. Gives whether there are any.
    pub(crate) async fn list(&self) -> bool {
        let id = self.client.next_id();
        let request = self.client.request(id, "tools/list", json!({}));
        if let Ok(reply) = self.post(&request).await {
            self.client.shared.count("lists");
            if let Some(message) = reply.message {
                self.client.learn_tools(&message);
            }
        }
        self.client.has_tools()
    }

    /// Ends the session, or just goes away.
    pub(crate) async fn go(&self, conduct: Conduct) {
        if self.session().is_none() {
            return;
        }
        if conduct == Conduct::Steady || self.client.seed.chance(60) {
            self.client.shared.count("sessions deleted");
            let _ = self.exchange("DELETE", &self.token, None).await;
        } else {
            self.client.shared.count("sessions abandoned");
        }
    }

    /// One thing that a client does.
    pub(super) async fn act(&self, conduct: Conduct) {
        let client = &self.client;
        let seed = &client.seed;
        let Some(question) = client.question().map(|question| question.with_size(seed)) else {
            return;
        };
        let count = |what| client.shared.count(what);
        let kind = match conduct {
            Conduct::Steady => seed.below(50),
            Conduct::Faulty => seed.below(116),
            Conduct::Lasting => seed.pick(&LASTING).copied().unwrap_or_default(),
        };
        match kind {
            0..20 => {
                count("plain calls");
                self.call(&question, Manner::Waits).await;
            }
            20..30 => {
                count("calls at once");
                let more = (0..seed.below(6)).filter_map(|_| client.question());
                let all: Vec<Question> = more.chain([question]).collect();
                join_all(all.iter().map(|one| self.call(one, Manner::Waits))).await;
            }
            30..38 => {
                count("calls with progress");
                let question = question.with_progress(1 + seed.below(10));
                self.call(&question, Manner::Waits).await;
            }
            38..45 => {
                if let Some((call_id, key)) = client.own_result() {
                    count("references to own results");
                    let question = question.with_reference(&call_id, key);
                    self.call(&question, Manner::Waits).await;
                }
            }
            45..50 => self.refer_to_another(question).await,
            50..72 => {
                count("calls with a fault of the server");
                let question = question.with_fault(seed);
                self.call(&question, Manner::Waits).await;
            }
            72..78 => {
                count("calls cancelled");
                let question = question.with_delay(seed.below(600));
                let manner = match client.era {
                    Era::Session => Manner::Cancels(seed.below(400)),
                    // Who leaves has cancelled.
                    Era::Stateless => Manner::Leaves(seed.below(400)),
                };
                self.call(&question, manner).await;
            }
            78..83 => {
                count("calls left");
                let question = question.with_delay(seed.below(600));
                self.call(&question, Manner::Leaves(seed.below(300))).await;
            }
            83..87 => {
                count("requests cut");
                self.call(&question, Manner::CutsItself).await;
            }
            87..90 => {
                count("answers read slowly");
                self.call(&question, Manner::ReadsSlowly).await;
            }
            90..94 => {
                count("notifications");
                self.notify().await;
            }
            94..97 => self.call_as_a_stranger(&question).await,
            97..100 => {
                self.list().await;
            }
            100..105 => {
                count("large calls at once");
                let more = (0..seed.below(5)).filter_map(|_| client.question());
                let all = more.chain([question]).map(Question::with_load);
                let all: Vec<Question> = all.collect();
                join_all(all.iter().map(|one| self.call(one, Manner::Waits))).await;
            }
            // Of both, only sessions have any.
            100..116 if client.era == Era::Stateless => {}
            105..109 => {
                // Servers without sessions have no such tasks.
                let servers = ["alpha", "gamma"];
                let server = seed.pick(&servers).copied().unwrap_or_default();
                if let Some(question) = client.question_to(server) {
                    self.call_as_task(question).await;
                }
            }
            109..111 => self.ask_about_others_tasks().await,
            116.. => {
                count("calls that take long");
                let question = question.with_progress(2).with_delay(seed.below(3_000));
                self.call(&question, Manner::Waits).await;
            }
            _ => {
                count("answers read over several connections");
                let question = question.with_progress(2 + seed.below(8));
                let question = question.with_delay(60 + seed.below(400));
                self.call(&question, Manner::Resumes).await;
            }
        }
    }

    async fn refer_to_another(&self, question: Question) {
        let Some(call_id) = self.client.foreign_id() else {
            return;
        };
        if self.client.seed.chance(70) {
            let question = question.with_foreign(call_id);
            self.call(&question, Manner::Waits).await;
            return;
        }
        let params = json!({"name": "read_result", "arguments": {"call_id": call_id}});
        let id = self.client.next_id();
        let request = self.client.request(id, "tools/call", params);
        if let Ok(reply) = self.post(&request).await
            && let Some(message) = reply.message
        {
            self.client.read_of_foreign(&call_id, &message);
        }
    }

    async fn notify(&self) {
        if self.session().is_none() {
            return;
        }
        for _ in 0..1 + self.client.seed.below(5) {
            let notification = self.client.notification();
            if self.post(&notification).await.is_err() {
                return;
            }
        }
    }

    /// Makes the call with a token that is wrong, over, or missing. It must not get anywhere.
    async fn call_as_a_stranger(&self, question: &Question) {
        self.client.shared.count("calls with a wrong token");
        self.client.asked(question);
        let id = self.client.next_id();
        let message = self.client.request(id, "tools/call", question.params());
        let token = match self.client.seed.below(3) {
            0 => String::new(),
            1 => format!("{}x", self.token),
            _ => self.token.chars().rev().collect(),
        };
        let outcome = match self.exchange("POST", &token, Some(&message)).await {
            Ok(reply) if reply.status == 401 => Outcome::Refused {
                status: 401,
                retry: reply.retry,
            },
            Ok(reply) => Outcome::Lost {
                why: format!("a wrong token had status {}", reply.status),
            },
            Err(error) => Outcome::Lost {
                why: error.to_string(),
            },
        };
        self.client.ended(question, outcome);
    }

    /// Reads the stream of what belongs to no request, until it is aborted.
    fn read_stream(self: &Arc<Self>) -> JoinHandle<()> {
        let http = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(mut stream) = http.open().await else {
                return;
            };
            let bytes = http.bytes("GET", &http.token, None);
            if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            let Ok(Some(head)) = read_head(&mut stream).await else {
                return;
            };
            let mut framing = head.framing();
            let mut buffer = Vec::new();
            while let Ok(Some(piece)) = read_piece(&mut stream, &mut framing).await {
                buffer.extend_from_slice(&piece);
                for event in take_events(&mut buffer) {
                    http.client.hear_stream(&event);
                }
            }
        })
    }
}

impl super::Client {
    /// Reads the answer to `read_result` of another's call id.
    fn read_of_foreign(&self, call_id: &str, message: &serde_json::Value) {
        let code = super::error_code(message);
        let code = code.unwrap_or_else(|| "an answer".to_owned());
        if code != "an answer" && !super::is_about_references(&code) {
            return;
        }
        self.shared.count("reads of another's result");
        self.history().add(Event::Foreign {
            client: self.name.clone(),
            call_id: call_id.to_owned(),
            code,
        });
    }
}
