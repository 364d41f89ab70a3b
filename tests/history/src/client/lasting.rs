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
use super::{Client, Era, PATIENCE, error_code};
use crate::history::{Attempt, Event, Outcome};
use crate::judge::{CALL, RECOVERY, UNKNOWN_TASK};
use crate::round_robin::{BAD_GATEWAY, TAKEN_BY};
use crate::wire::{Head, read_piece, take_sent_events};

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
                self.note_cut("GET", None, begun, None);
                self.tried("GET", begun, Attempt::Cut);
                sleep(RETRY).await;
                continue;
            };
            let attempt = match head.status() {
                200 if head.is_stream() => Attempt::Served,
                BAD_GATEWAY => {
                    self.note_cut("GET", None, begun, Some(&head));
                    Attempt::Cut
                }
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
            loop {
                let piece = match read_piece(&mut stream, &mut framing).await {
                    Ok(Some(piece)) if is_open => piece,
                    Err(_) if is_open => {
                        self.note_cut("GET", None, begun, Some(&head));
                        break;
                    }
                    _ => break,
                };
                buffer.extend_from_slice(&piece);
                for event in take_sent_events(&mut buffer) {
                    if let Some(id) = &event.id {
                        self.client.note_pushed(id);
                    }
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

    /// Notes that a connection was cut off before the answer to a request was whole. `head` is what had come of it.
    pub(super) fn note_cut(
        &self,
        request: &str,
        key: Option<&str>,
        sent: Instant,
        head: Option<&Head>,
    ) {
        if !self.lasting {
            return;
        }
        self.client.shared.count("connections cut off");
        self.client.history().add(Event::Cut {
            client: self.client.name.clone(),
            key: key.map(str::to_owned),
            request: request.to_owned(),
            replica: head
                .and_then(|head| head.header(TAKEN_BY))
                .map(str::to_owned),
            begun: head.is_some_and(|head| head.status() != BAD_GATEWAY),
            session: self.first.lock().clone(),
            took: micros(sent),
        });
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
            took: micros(begun),
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
        head: Option<&Head>,
    ) {
        let attempt = match reply {
            Err(_) => Attempt::Cut,
            Ok(reply) if reply.status >= 400 => of_status(reply.status, reply.retry),
            Ok(reply) => match reply.message.as_ref().and_then(error_code).as_deref() {
                None => Attempt::Served,
                Some(code) => of_error(request, code),
            },
        };
        if attempt == Attempt::Cut {
            self.note_cut(request, None, begun, head);
        }
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
    /// Notes the id of an event on the stream of what belongs to no request.
    fn note_pushed(&self, id: &str) {
        let Some((stream, number)) = id.rsplit_once('-') else {
            return;
        };
        if let Ok(number) = number.parse() {
            self.history().add(Event::Pushed {
                client: self.name.clone(),
                session: self.session.load(Ordering::Relaxed),
                stream: stream.to_owned(),
                number,
            });
        }
    }

    /// Takes a message that belongs to no request.
    pub(super) fn hear_stream(&self, text: &str) {
        self.hear(text);
        if text.contains("tools/list_changed") {
            self.tools.lock().clear();
        }
    }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
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

/// What a request that is not a call may be told.
fn of_error(request: &str, code: &str) -> Attempt {
    match (request, code) {
        // The replica that had the session is gone. Lists and `tasks/get` are made again elsewhere, but not once their stream
        // of events has begun (specs/gateway-transports.md, Replicas).
        (
            "tools/list" | "tasks/list" | "tasks/get" | "tasks/result" | "tasks/cancel" | CALL,
            "upstream.outcome_unknown",
        )
        | ("tasks/result" | "tasks/cancel" | CALL, "upstream.unavailable") => Attempt::Unsure,
        // What was asked for is answered: the task is another's, or of a child process of another replica
        // (`tried_own_task` knows the rest), and the result is another's.
        ("tasks/get" | "tasks/result" | "tasks/cancel", UNKNOWN_TASK)
        | (CALL, "result.unknown") => Attempt::Served,
        _ => wrong(code.to_owned()),
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
        // A replica that was paused while it resolved the reference has used up the time of its request to the store, of one
        // selector (1 s, specs/select.md) or of all selectors (5 s, specs/references.md).
        "store.unavailable" | "select.too_costly" | "limit.exceeded" if refers => Attempt::Unsure,
        // There is no flow rule: the tool takes no references, since its server's list is missing
        // (specs/gateway-tools.md). The time for the list passed during a pause.
        "flow.refused" if refers => Attempt::Unsure,
        _ => wrong(code.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_code, of_error, wrong};
    use crate::client::question::Question;
    use crate::history::Attempt::{Served, Unsure};

    #[test]
    fn only_errors_that_are_listed_are_right() {
        for (request, code, attempt) in [
            ("tasks/cancel", "upstream.unavailable", Unsure),
            ("tools/list", "upstream.outcome_unknown", Unsure),
            ("tasks/result", "upstream.outcome_unknown", Unsure),
            ("tasks/get", "-32602", Served),
            ("tools/call", "result.unknown", Served),
        ] {
            assert_eq!(of_error(request, code), attempt, "{request}: {code}");
        }
        for (request, code) in [
            ("tools/list", "upstream.unavailable"),
            ("notifications/initialized", "upstream.outcome_unknown"),
            ("initialize", "upstream.outcome_unknown"),
            ("tasks/get", "upstream.unavailable"),
            ("tools/list", "-32601"),
            ("tools/list", "-32602"),
            ("tools/list", "result.unknown"),
            ("tasks/list", "-32602"),
            ("tasks/get", "-32603"),
            ("tasks/get", "store.unavailable"),
            ("initialize", "limit.exceeded"),
            ("initialize", "store.unavailable"),
        ] {
            assert_eq!(of_error(request, code), wrong(code.to_owned()), "{request}");
        }
    }

    #[test]
    fn what_a_call_may_be_told_depends_on_its_references() {
        let plain = Question::new("k".to_owned(), "alpha".to_owned(), "echo".to_owned());
        let refers = plain.clone().with_reference("call_1", "key".to_owned());
        let foreign = plain.clone().with_foreign("x".to_owned());
        for question in [&plain, &refers, &foreign] {
            assert_eq!(of_code("upstream.outcome_unknown", question), Unsure);
            for code in ["select.matched_nothing", "result.expired", "-32603"] {
                assert_eq!(of_code(code, question), wrong(code.to_owned()));
            }
        }
        assert_eq!(of_code("result.unknown", &foreign), Served);
        for code in [
            "store.unavailable",
            "select.too_costly",
            "limit.exceeded",
            "flow.refused",
        ] {
            assert_eq!(of_code(code, &refers), Unsure);
            assert_eq!(of_code(code, &plain), wrong(code.to_owned()));
        }
        for question in [&plain, &refers] {
            let code = "result.unknown";
            assert_eq!(of_code(code, question), wrong(code.to_owned()));
        }
    }
}
