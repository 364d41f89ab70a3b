//! A client that goes on through faults of replicas: it keeps its session, opens its stream again, and tries again what was
//! refused for now.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::http::{Http, Manner, Reply};
use super::http_life::{Conduct, RETRY};
use super::question::Question;
use super::{Client, Era, PATIENCE, error_code, is_about_references};
use crate::history::{Attempt, Event, Outcome};
use crate::judge::{CALL, RECOVERY};
use crate::round_robin::BAD_GATEWAY;
use crate::wire::{read_piece, take_sent_events};

/// How long a client waits between operations, in milliseconds at most.
const PACE: u64 = 120;
/// In how many operations of a hundred a client ends its session and begins another.
const RENEWAL: u64 = 2;

impl Http {
    /// Lives until `end`, and until it was served once more.
    pub(crate) async fn last(self: Arc<Self>, end: Instant) {
        let give_up = end + Duration::from_micros(RECOVERY) + PATIENCE;
        let mut reader: Option<JoinHandle<()>> = None;
        let mut left = true;
        loop {
            let is_over = Instant::now() >= end;
            if is_over && (self.served.load(Ordering::Relaxed) || Instant::now() >= give_up) {
                break;
            }
            if left || self.client.era == Era::Session && self.session().is_none() {
                left = !self.begin().await;
                if left {
                    sleep(RETRY).await;
                    continue;
                }
                stop(&mut reader);
                let reads = self.client.era == Era::Session;
                reader = reads.then(|| tokio::spawn(Arc::clone(&self).follow_stream()));
            }
            if !self.client.has_tools() && !self.list().await {
                sleep(RETRY).await;
                continue;
            }
            self.act(Conduct::Lasting).await;
            if self.served.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(self.client.seed.below(PACE))).await;
            } else {
                sleep(RETRY).await;
            }
            if self.client.seed.chance(RENEWAL) && !is_over {
                stop(&mut reader);
                self.go(Conduct::Steady).await;
                self.set_session(None);
                left = true;
            }
        }
        stop(&mut reader);
        self.go(Conduct::Steady).await;
    }

    /// Reads the stream of what belongs to no request, and opens it again behind the last event where it ends.
    async fn follow_stream(self: Arc<Self>) {
        let mut last_event = None;
        while let Some(session) = self.session() {
            let begun = Instant::now();
            let bytes = self.bytes_after("GET", &self.token, None, last_event.as_deref());
            let response = timeout(PATIENCE, self.begin_response(&bytes, Duration::ZERO)).await;
            let Ok(Ok((mut stream, head))) = response else {
                self.tried("GET", begun, Attempt::Cut);
                sleep(RETRY).await;
                continue;
            };
            let attempt = match head.status() {
                200 if head.is_stream() => Attempt::Served,
                BAD_GATEWAY => Attempt::Cut,
                503 if head.says_when() => Attempt::Again,
                status => {
                    // Where the session is gone, another begins.
                    if status == 404 && self.session().as_ref() == Some(&session) {
                        self.set_session(None);
                    }
                    last_event = None;
                    wrong(format!("status {status}"))
                }
            };
            let is_open = attempt == Attempt::Served;
            self.tried("GET", begun, attempt);
            let mut framing = head.framing();
            let mut buffer = Vec::new();
            while is_open && let Ok(Some(piece)) = read_piece(&mut stream, &mut framing).await {
                buffer.extend_from_slice(&piece);
                for event in take_sent_events(&mut buffer) {
                    last_event = event.id.or(last_event);
                    self.client.hear_stream(&event.data);
                }
            }
            if is_open {
                self.client.shared.count("streams that ended");
            }
            sleep(RETRY).await;
        }
    }

    /// Notes how a request ended.
    pub(super) fn tried(&self, request: &str, begun: Instant, attempt: Attempt) {
        if !self.lasting {
            return;
        }
        if request != "GET" {
            self.served
                .store(attempt == Attempt::Served, Ordering::Relaxed);
        }
        self.client.shared.count(match &attempt {
            Attempt::Served => "requests: served",
            Attempt::Unsure => "requests: may have run, or server away",
            Attempt::Again => "requests: refused for now",
            Attempt::Cut => "requests: cut off",
            Attempt::Wrong { .. } => "requests: refused for good",
        });
        self.client.history().add(Event::Tried {
            client: self.client.name.clone(),
            request: request.to_owned(),
            took: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            attempt,
        });
    }

    /// Notes how a call ended, unless that was the client's own doing.
    pub(super) fn tried_call(&self, question: &Question, begun: Instant, outcome: &Outcome) {
        let attempt = match outcome {
            Outcome::Answered { .. } => Attempt::Served,
            Outcome::Failed { code } => of_code(code, question),
            Outcome::Refused { status, retry } => of_status(*status, *retry),
            Outcome::Lost { .. } | Outcome::GaveWay | Outcome::Silent { .. } => Attempt::Cut,
            Outcome::Cancelled | Outcome::Unsent | Outcome::Left => return,
        };
        self.tried(CALL, begun, attempt);
        if matches!(outcome, Outcome::Refused { status: 404, .. }) {
            self.set_session(None);
        }
    }

    /// Notes how a request that is not a call ended.
    pub(super) fn tried_exchange(
        &self,
        request: &str,
        begun: Instant,
        reply: &std::io::Result<Reply>,
    ) {
        let attempt = match reply {
            Err(_) => Attempt::Cut,
            Ok(reply) if reply.status >= 400 => of_status(reply.status, reply.retry),
            Ok(reply) => match reply.message.as_ref().and_then(error_code).as_deref() {
                Some("upstream.unavailable" | "upstream.outcome_unknown") => Attempt::Unsure,
                Some("-32603") => wrong("-32603".to_owned()),
                _ => Attempt::Served,
            },
        };
        if reply.as_ref().is_ok_and(|reply| reply.status == 404) {
            self.set_session(None);
        }
        self.tried(request, begun, attempt);
    }

    /// Notes that a task of its own is unknown.
    pub(super) fn tried_own_task(&self, method: &str, begun: Instant) {
        let what = "that its own task is unknown".to_owned();
        self.tried(method, begun, wrong(what));
    }

    /// A call whose answer is read to its end, over however many connections.
    pub(super) fn manner_of_waiting(&self, manner: Manner) -> Manner {
        if self.lasting && self.client.era == Era::Session && manner == Manner::Waits {
            Manner::GoesOn
        } else {
            manner
        }
    }
}

/// Ends the reading of a stream, before its session ends.
fn stop(reader: &mut Option<JoinHandle<()>>) {
    if let Some(reader) = reader.take() {
        reader.abort();
    }
}

impl Client {
    /// Takes a message that belongs to no request.
    pub(super) fn hear_stream(&self, text: &str) {
        self.hear(text);
        if text.contains("tools/list_changed") {
            self.tools.lock().clear();
        }
    }
}

fn wrong(what: String) -> Attempt {
    Attempt::Wrong { what }
}

fn of_status(status: u16, retry: bool) -> Attempt {
    match status {
        503 if retry => Attempt::Again,
        BAD_GATEWAY => Attempt::Cut,
        _ => wrong(format!("status {status}")),
    }
}

/// A call may have run, or its server may be away. A result that was recorded is not forgotten, but whether it can be read
/// may not be known.
fn of_code(code: &str, question: &Question) -> Attempt {
    let refers = !question.refers_to.is_empty();
    match code {
        "upstream.outcome_unknown" | "upstream.unavailable" => Attempt::Unsure,
        // What was asked for is answered.
        "result.unknown" if question.foreign.is_some() => Attempt::Served,
        "result.unknown" | "result.expired" => wrong(code.to_owned()),
        // A replica that was paused while it resolved the reference has used up its time.
        "store.unavailable" | "limit.exceeded" if refers => Attempt::Unsure,
        _ if refers && is_about_references(code) => Attempt::Unsure,
        _ => wrong(code.to_owned()),
    }
}
