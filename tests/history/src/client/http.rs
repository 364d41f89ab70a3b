//! A client over streamable HTTP: one request at a time on each connection, as many at once as it likes.

use parking_lot::Mutex;
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::question::Question;
use super::{Client, Era, PATIENCE};
use crate::history::{Event, Outcome, now};
use crate::judge::CALL;
use crate::round_robin::{BAD_GATEWAY, TAKEN_BY};
use crate::server::{SESSION_REVISION, STATELESS_REVISION};
use crate::wire::{Framing, Head, read_head, read_piece, take_events};

/// A kept connection is used again within this time, which is far less than the gateway keeps it.
const KEPT: Duration = Duration::from_millis(500);
/// How long a client that reads slowly waits before it reads anything.
const SLOWLY: Duration = Duration::from_millis(800);
/// How long a client listens on after it has cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(10);

/// How a client treats the connection of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Waits for the answer.
    Waits,
    /// Cancels after so many milliseconds, and listens on.
    Cancels(u64),
    /// Closes the connection after so many milliseconds.
    Leaves(u64),
    /// Closes the connection in the middle of its own request.
    CutsItself,
    /// Waits for a while, then reads the answer in small pieces.
    ReadsSlowly,
    /// Cuts its connection while it reads the answer, and goes on with another.
    Resumes,
    /// Waits for the answer, and goes on with another connection where one breaks.
    GoesOn,
}

/// Where a client's requests go.
pub(crate) struct Http {
    pub(crate) client: Client,
    pub(crate) port: u16,
    pub(crate) token: String,
    session: Mutex<Option<String>>,
    /// The replica on which the session began, and when.
    pub(super) first: Mutex<Option<(String, u64)>>,
    kept: Mutex<Vec<(Instant, BufStream<TcpStream>)>>,
    /// Whether it goes on through faults of replicas, and whether its last request was served.
    pub(super) lasting: bool,
    pub(super) served: AtomicBool,
}

/// The answer to a request that is not a call.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    /// Whether it says when to try again.
    pub(crate) retry: bool,
    pub(crate) message: Option<Value>,
    /// The replica that took the request, where there is a balancer.
    pub(crate) replica: Option<String>,
}

impl Http {
    pub(crate) fn new(client: Client, port: u16, token: String, lasting: bool) -> Self {
        Http {
            client,
            port,
            token,
            session: Mutex::default(),
            first: Mutex::default(),
            kept: Mutex::default(),
            lasting,
            served: AtomicBool::new(false),
        }
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.session.lock().clone()
    }

    pub(crate) fn set_session(&self, session: Option<String>) {
        *self.session.lock() = session;
        *self.first.lock() = None;
        self.kept.lock().clear();
    }

    /// A connection that was kept and is still open, or a new one.
    pub(crate) async fn open(&self) -> io::Result<BufStream<TcpStream>> {
        Ok(self.kept_or_new().await?.1)
    }

    /// A connection, and whether it was kept.
    async fn kept_or_new(&self) -> io::Result<(bool, BufStream<TcpStream>)> {
        let is_open = |(since, stream): &(Instant, BufStream<TcpStream>)| {
            let read = stream.get_ref().try_read(&mut [0]);
            since.elapsed() < KEPT
                && read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        loop {
            let kept = self.kept.lock().pop();
            match kept {
                Some(kept) if is_open(&kept) => return Ok((true, kept.1)),
                Some(_) => {}
                None => break,
            }
        }
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        Ok((false, BufStream::new(stream)))
    }

    /// Sends a request, waits for so long, and reads the head of the response. `NotConnected` where a kept connection ended
    /// before anything came over it.
    pub(super) async fn begin_response(
        &self,
        bytes: &[u8],
        pause: Duration,
    ) -> io::Result<(BufStream<TcpStream>, Head)> {
        let (was_kept, mut stream) = self.kept_or_new().await?;
        let mut written = stream.write_all(bytes).await;
        if written.is_ok() {
            written = stream.flush().await;
        }
        sleep(pause).await;
        // The response to a request that could not be written whole may be there.
        let error = match (read_head(&mut stream).await, written) {
            (Ok(Some(head)), _) => return Ok((stream, head)),
            (Ok(None), Ok(())) => io::ErrorKind::UnexpectedEof.into(),
            (Err(error), _) | (Ok(None), Err(error)) => error,
        };
        let gave_way = was_kept && error.kind() != io::ErrorKind::InvalidData;
        Err(if gave_way {
            io::ErrorKind::NotConnected.into()
        } else {
            error
        })
    }

    /// The bytes of a request with this body.
    pub(crate) fn bytes(&self, verb: &str, token: &str, message: Option<&Value>) -> Vec<u8> {
        self.bytes_after(verb, token, message, None)
    }

    /// The same, to go on behind an event.
    pub(super) fn bytes_after(
        &self,
        verb: &str,
        token: &str,
        message: Option<&Value>,
        last_event: Option<&str>,
    ) -> Vec<u8> {
        let body = message.map(Value::to_string).unwrap_or_default();
        let mut head = format!(
            "{verb} /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.port,
            body.len()
        );
        let (revision, method) = match (self.client.era, message) {
            (Era::Session, _) => (SESSION_REVISION, None),
            (Era::Stateless, message) => (STATELESS_REVISION, message),
        };
        head.push_str(&format!("MCP-Protocol-Version: {revision}\r\n"));
        if let Some(message) = method {
            if let Some(method) = message["method"].as_str() {
                head.push_str(&format!("Mcp-Method: {method}\r\n"));
            }
            if let Some(name) = message["params"]["name"].as_str() {
                head.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        if let Some(session) = self.session() {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        if let Some(event) = last_event {
            head.push_str(&format!("Last-Event-ID: {event}\r\n"));
        }
        head.push_str("\r\n");
        head.push_str(&body);
        head.into_bytes()
    }

    /// Sends a message that is not a call, and reads what answers it.
    pub(crate) async fn post(&self, message: &Value) -> io::Result<Reply> {
        self.exchange("POST", &self.token, Some(message)).await
    }

    pub(crate) async fn exchange(
        &self,
        verb: &str,
        token: &str,
        message: Option<&Value>,
    ) -> io::Result<Reply> {
        let mut response = None;
        let whole = async {
            let bytes = self.bytes(verb, token, message);
            let (mut stream, head) = loop {
                match self.begin_response(&bytes, Duration::ZERO).await {
                    // Nothing was done (the judge sees to it for calls), so it may be sent again.
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                    begun => break begun?,
                }
            };
            let head = &*response.insert(head);
            let mut answer = None;
            let id = message.map(|message| &message["id"]);
            self.messages(&mut stream, head, false, |message, _| {
                if Some(&message["id"]) == id {
                    answer = Some(message);
                }
            })
            .await?;
            self.keep(stream, head);
            Ok(Reply {
                status: head.status(),
                session: head.header("mcp-session-id").map(str::to_owned),
                retry: head.says_when(),
                message: answer,
                replica: head.header(TAKEN_BY).map(str::to_owned),
            })
        };
        let late = || io::Error::from(io::ErrorKind::TimedOut);
        let begun = Instant::now();
        let reply = timeout(PATIENCE, whole)
            .await
            .unwrap_or_else(|_| Err(late()));
        let method = message.and_then(|message| message["method"].as_str());
        self.tried_exchange(method.unwrap_or(verb), begun, &reply, response.as_ref());
        reply
    }

    /// Makes a call, and writes down how it ended.
    pub(crate) async fn call(&self, question: &Question, manner: Manner) -> Outcome {
        self.client.asked(question);
        let begun = (now(), Instant::now());
        let id = self.client.next_id();
        let message = self.client.request(id, "tools/call", question.params());
        let outcome = match self.manner_of_waiting(manner) {
            Manner::CutsItself => self.cut(&message).await,
            Manner::Leaves(after) => {
                let leaves = sleep(Duration::from_millis(after));
                tokio::select! {
                    outcome = self.ask(question, id, &message, false) => outcome,
                    () = leaves => Outcome::Left,
                }
            }
            Manner::Cancels(after) => self.ask_and_cancel(question, id, &message, after).await,
            Manner::Resumes | Manner::GoesOn => {
                let asked = self.ask_in_parts(question, id, &message, manner == Manner::Resumes);
                timeout(PATIENCE, asked).await.unwrap_or(Outcome::Silent {
                    seconds: PATIENCE.as_secs(),
                })
            }
            Manner::Waits | Manner::ReadsSlowly => {
                let slowly = manner == Manner::ReadsSlowly;
                let asked = self.ask(question, id, &message, slowly);
                timeout(PATIENCE, asked).await.unwrap_or(Outcome::Silent {
                    seconds: PATIENCE.as_secs(),
                })
            }
        };
        let plain = question.fault.is_none() && question.delay == 0;
        if manner == Manner::Waits && plain && matches!(outcome, Outcome::Answered { .. }) {
            let took = u64::try_from(begun.1.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.client.shared.add_time(begun.0, took);
        }
        self.tried_call(question, begun.1, &outcome);
        self.client.ended(question, outcome.clone());
        outcome
    }

    /// Sends a part of the request and closes the connection.
    async fn cut(&self, message: &Value) -> Outcome {
        let bytes = self.bytes("POST", &self.token, Some(message));
        let length = self.client.seed.below(bytes.len() as u64);
        let sent = async {
            let mut stream = self.open().await?;
            let part = usize::try_from(length).unwrap_or(0);
            stream.write_all(&bytes[..part]).await?;
            stream.flush().await
        };
        // Whether all of it went is not known, but the whole request surely did not.
        let _: io::Result<()> = sent.await;
        Outcome::Unsent
    }

    async fn ask_and_cancel(
        &self,
        question: &Question,
        id: u64,
        message: &Value,
        after: u64,
    ) -> Outcome {
        let asked = self.ask(question, id, message, false);
        tokio::pin!(asked);
        tokio::select! {
            outcome = &mut asked => return outcome,
            () = sleep(Duration::from_millis(after)) => {}
        }
        let cancelled = serde_json::json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id},
        });
        let (sent, outcome) =
            tokio::join!(self.post(&cancelled), timeout(AFTER_CANCEL, &mut asked));
        drop(sent);
        match outcome {
            // A stream that ends without an answer is what follows a cancellation.
            Ok(Outcome::Lost { .. }) | Err(_) => Outcome::Cancelled,
            Ok(outcome) => outcome,
        }
    }

    async fn ask(&self, question: &Question, id: u64, message: &Value, slowly: bool) -> Outcome {
        let bytes = self.bytes("POST", &self.token, Some(message));
        let pause = if slowly { SLOWLY } else { Duration::ZERO };
        let sent = Instant::now();
        let note_cut = |head: Option<&Head>| self.note_cut(CALL, Some(&question.key), sent, head);
        let (mut stream, head) = match self.begin_response(&bytes, pause).await {
            Ok(begun) => begun,
            Err(error) => {
                note_cut(None);
                return unanswered(&error);
            }
        };
        let mut outcome = None;
        let read = self.messages(&mut stream, &head, slowly, |message, text| {
            if message["method"] == "notifications/progress" {
                if outcome.is_some() {
                    return self.stray(text);
                }
                self.client.progress(&message);
            } else if message["id"] == id || message["id"].is_null() {
                if outcome.is_none() {
                    outcome = Some(self.client.read_answer(question, &message, text));
                } else {
                    self.stray(text);
                }
            } else if message.get("method").is_none() {
                self.stray(text);
            }
        });
        let read = read.await;
        if outcome.is_none() && (read.is_err() || head.status() == BAD_GATEWAY) {
            note_cut(Some(&head));
        }
        let may_keep = outcome.is_some() && read.is_ok();
        let outcome = settled(&head, outcome, read);
        if may_keep && !matches!(outcome, Outcome::Refused { .. }) {
            self.keep(stream, &head);
        }
        outcome
    }

    fn stray(&self, text: &str) {
        self.client.history().add(Event::Stray {
            client: self.client.name.clone(),
            message: text.chars().take(300).collect(),
        });
    }

    /// Reads a body and hands over each message in it, as a value and as it came.
    pub(crate) async fn messages(
        &self,
        stream: &mut BufStream<TcpStream>,
        head: &Head,
        slowly: bool,
        mut on: impl FnMut(Value, &str),
    ) -> io::Result<()> {
        let mut framing = head.framing();
        let mut buffer = Vec::new();
        let mut hand_over = |text: &str| {
            self.client.hear(text);
            if let Ok(message) = serde_json::from_str(text) {
                on(message, text);
            }
        };
        while let Some(piece) = read_piece(stream, &mut framing).await? {
            buffer.extend_from_slice(&piece);
            if head.is_stream() {
                for event in take_events(&mut buffer) {
                    hand_over(&event);
                }
            }
            if slowly {
                sleep(Duration::from_millis(2)).await;
            }
        }
        if !head.is_stream() {
            hand_over(&String::from_utf8_lossy(&buffer));
        }
        Ok(())
    }

    /// Keeps a connection whose response was read to its end.
    fn keep(&self, stream: BufStream<TcpStream>, head: &Head) {
        let closes = head.header("connection") == Some("close");
        if !closes && head.framing() != Framing::Length(0) {
            self.kept.lock().push((Instant::now(), stream));
        }
    }
}

/// How a call ended, by the status and the body of its response.
pub(super) fn settled(head: &Head, outcome: Option<Outcome>, read: io::Result<()>) -> Outcome {
    let (status, retry) = (head.status(), head.says_when());
    match (outcome, read) {
        (Some(Outcome::Failed { code }), _)
            if is_refusal(status) && (!code.contains('.') || code == "store.unavailable") =>
        {
            Outcome::Refused { status, retry }
        }
        (Some(outcome), _) => outcome,
        (None, _) if status == BAD_GATEWAY => Outcome::Lost {
            why: "the replica was cut off".to_owned(),
        },
        (None, _) if status >= 400 => Outcome::Refused { status, retry },
        (None, Ok(())) => Outcome::Lost {
            why: format!("status {status}, and the body ended without an answer"),
        },
        (None, Err(error)) => Outcome::Lost {
            why: format!("body of a response with status {status}: {error}"),
        },
    }
}

/// Statuses by which a request is refused before anything is done.
fn is_refusal(status: u16) -> bool {
    matches!(status, 401 | 403 | 404 | 413 | 429 | 503)
}

/// How a call ended whose response did not begin.
pub(super) fn unanswered(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::NotConnected => Outcome::GaveWay,
        _ => Outcome::Lost {
            why: format!("no response: {error}"),
        },
    }
}
