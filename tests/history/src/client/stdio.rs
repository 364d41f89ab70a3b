//! A client over standard input and output: one gateway of its own, and as many calls at once as it likes.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::question::Question;
use super::{Client, PATIENCE};
use crate::history::{Event, Outcome};

/// How long a client listens on after it has cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// Who waits for an answer.
enum Waiting {
    Call(Box<Question>, oneshot::Sender<Outcome>),
    Other(oneshot::Sender<Value>),
    /// The call was cancelled, and an answer that was on its way already may still come.
    Cancelled,
}

/// One connection to one gateway.
pub(crate) struct Lines {
    pub(crate) client: Arc<Client>,
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    paused: AtomicBool,
    closed: AtomicBool,
}

impl Lines {
    pub(crate) fn new(client: Arc<Client>, input: ChildStdin) -> Self {
        Lines {
            client,
            input: tokio::sync::Mutex::new(Some(input)),
            waiting: Mutex::default(),
            paused: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Reads what the gateway writes until it ends.
    pub(crate) async fn read(self: Arc<Self>, mut output: BufReader<ChildStdout>) {
        let mut line = Vec::new();
        loop {
            while self.paused.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(10)).await;
            }
            line.clear();
            match output.read_until(b'\n', &mut line).await {
                Ok(1..) => {}
                _ => break,
            }
            self.take(&String::from_utf8_lossy(&line));
        }
        // Nobody answers any more: who waits sees its sender go.
        self.waiting.lock().clear();
    }

    /// Stops reading for a while.
    pub(crate) async fn pause(&self, time: Duration) {
        self.paused.store(true, Ordering::Relaxed);
        sleep(time).await;
        self.paused.store(false, Ordering::Relaxed);
    }

    fn take(&self, text: &str) {
        self.client.hear(text);
        let Ok(message) = serde_json::from_str::<Value>(text) else {
            return self.stray(text);
        };
        if message["method"] == "notifications/progress" {
            return self.client.progress(&message);
        }
        if message.get("method").is_some() {
            return;
        }
        let waiting = message["id"]
            .as_u64()
            .and_then(|id| self.waiting.lock().remove(&id));
        match waiting {
            Some(Waiting::Call(question, sender)) => {
                let outcome = self.client.read_answer(&question, &message, text);
                // Written down here, so that what comes behind the answer is seen to come behind it.
                self.client.ended(&question, outcome.clone());
                let _ = sender.send(outcome);
            }
            Some(Waiting::Other(sender)) => {
                let _ = sender.send(message);
            }
            Some(Waiting::Cancelled) => {}
            None => self.stray(text),
        }
    }

    fn stray(&self, text: &str) {
        self.client.history().add(Event::Stray {
            client: self.client.name.clone(),
            message: text.chars().take(300).collect(),
        });
    }

    pub(crate) async fn send(&self, message: &Value) -> bool {
        let mut input = self.input.lock().await;
        let Some(input) = input.as_mut() else {
            return false;
        };
        let line = format!("{message}\n");
        input.write_all(line.as_bytes()).await.is_ok() && input.flush().await.is_ok()
    }

    /// Closes the gateway's input: the client goes away.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        *self.input.lock().await = None;
    }

    /// Asks for anything but a call.
    pub(crate) async fn ask(&self, message: &Value) -> Option<Value> {
        let (sender, receiver) = oneshot::channel();
        let id = message["id"].as_u64()?;
        self.waiting.lock().insert(id, Waiting::Other(sender));
        if !self.send(message).await {
            return None;
        }
        timeout(PATIENCE, receiver).await.ok()?.ok()
    }

    /// Makes a call; `cancel` is after how many milliseconds it is cancelled.
    pub(crate) async fn call(&self, question: Question, cancel: Option<u64>) {
        self.client.asked(&question);
        let (sender, receiver) = oneshot::channel();
        let id = self.client.next_id();
        let message = self.client.request(id, "tools/call", question.params());
        self.waiting
            .lock()
            .insert(id, Waiting::Call(Box::new(question.clone()), sender));
        // A failed write is seen as an answer that never comes.
        self.send(&message).await;
        let patience = cancel.map_or(PATIENCE, Duration::from_millis);
        let outcome = match timeout(patience, receiver).await {
            Ok(Ok(_)) => return,
            Ok(Err(_)) if self.closed.load(Ordering::Relaxed) => Outcome::Left,
            Ok(Err(_)) => Outcome::Lost {
                why: "the gateway ended".into(),
            },
            Err(_) if cancel.is_some() => {
                if !self.stop_waiting(id, Waiting::Cancelled) {
                    return;
                }
                self.cancel(id).await;
                Outcome::Cancelled
            }
            Err(_) => {
                if !self.stop_waiting(id, Waiting::Cancelled) {
                    return;
                }
                Outcome::Silent {
                    seconds: PATIENCE.as_secs(),
                }
            }
        };
        self.client.ended(&question, outcome);
    }

    /// Puts this in the place of a waiting call. Gives false where the call was answered meanwhile.
    fn stop_waiting(&self, id: u64, instead: Waiting) -> bool {
        let mut waiting = self.waiting.lock();
        if !waiting.contains_key(&id) {
            return false;
        }
        waiting.insert(id, instead);
        true
    }

    async fn cancel(&self, id: u64) {
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id},
        });
        self.send(&message).await;
        sleep(AFTER_CANCEL).await;
        // From here on, an answer would be one too many.
        self.waiting.lock().remove(&id);
    }
}
