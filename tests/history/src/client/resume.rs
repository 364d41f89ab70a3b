//! A client whose connection breaks while it reads an answer, and which goes on behind the last event that it received.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::BufStream;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::http::{Http, settled, unanswered};
use super::question::Question;
use crate::history::{Event, Outcome};
use crate::judge::CALL;
use crate::round_robin::BAD_GATEWAY;
use crate::wire::{Head, read_piece, take_sent_events};

/// How long a client tries to go on, and how long it waits between two attempts.
const TRIES: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(200);

/// A call whose answer is read in parts.
struct Reading<'a> {
    question: &'a Question,
    id: u64,
    last_event: Option<String>,
    outcome: Option<Outcome>,
}

impl Http {
    /// Makes a call, and reads its answer over several connections: it goes on where one breaks, or `cuts` its own after a few
    /// events, again and again.
    pub(super) async fn ask_in_parts(
        &self,
        question: &Question,
        id: u64,
        message: &Value,
        cuts: bool,
    ) -> Outcome {
        let mut reading = Reading {
            question,
            id,
            last_event: None,
            outcome: None,
        };
        let seed = &self.client.seed;
        let bytes = self.bytes("POST", &self.token, Some(message));
        let note_cut =
            |sent, head: Option<&Head>| self.note_cut(CALL, Some(&question.key), sent, head);
        let mut sent = Instant::now();
        let (mut stream, head) = match self.begin_response(&bytes, Duration::ZERO).await {
            Ok(begun) => begun,
            Err(error) => {
                note_cut(sent, None);
                return unanswered(&error);
            }
        };
        if !head.is_stream() {
            let mut outcome = None;
            let read = self.messages(&mut stream, &head, false, |message, text| {
                outcome = Some(self.client.read_answer(question, &message, text));
            });
            let read = read.await;
            if outcome.is_none() && (read.is_err() || head.status() == BAD_GATEWAY) {
                note_cut(sent, Some(&head));
            }
            return settled(&head, outcome, read);
        }
        let mut cuts = if cuts { 1 + seed.below(3) } else { 0 };
        let events = |cuts: u64| match cuts {
            0 => u64::MAX,
            _ => 1 + seed.below(3),
        };
        let own = cuts > 0;
        let is_cut = self
            .read_part(&mut stream, &head, &mut reading, events(cuts))
            .await;
        if is_cut {
            note_cut(sent, Some(&head));
        }
        drop(stream);
        let end = Instant::now() + TRIES;
        while Instant::now() < end {
            if let Some(outcome) = reading.outcome {
                return outcome;
            }
            let Some(last_event) = &reading.last_event else {
                let why = "the connection was cut before the first event".to_owned();
                return if own {
                    Outcome::Left
                } else {
                    Outcome::Lost { why }
                };
            };
            sleep(Duration::from_millis(seed.below(150))).await;
            let bytes = self.bytes_after("GET", &self.token, None, Some(last_event));
            sent = Instant::now();
            let begun = self.begin_response(&bytes, Duration::ZERO).await;
            let Ok((mut stream, head)) = begun else {
                note_cut(sent, None);
                sleep(AGAIN).await;
                continue;
            };
            match head.status() {
                200 if head.is_stream() => {}
                // The session went meanwhile, and everything of it. One that is in use does not.
                status @ 404 if self.lasting => {
                    return Outcome::Refused {
                        status,
                        retry: false,
                    };
                }
                404 => return Outcome::Left,
                400 => {
                    return Outcome::Lost {
                        why: format!("event {last_event} is not known any more"),
                    };
                }
                status => {
                    if status == BAD_GATEWAY {
                        note_cut(sent, Some(&head));
                    }
                    sleep(AGAIN).await;
                    continue;
                }
            }
            self.client.shared.count("streams resumed");
            cuts = cuts.saturating_sub(1);
            let is_cut = self
                .read_part(&mut stream, &head, &mut reading, events(cuts))
                .await;
            if is_cut {
                note_cut(sent, Some(&head));
            }
        }
        reading.outcome.unwrap_or_else(|| Outcome::Lost {
            why: "a stream that was resumed had no answer".to_owned(),
        })
    }

    /// Reads until the answer, the end, or so many events. Gives whether the end came first.
    async fn read_part(
        &self,
        stream: &mut BufStream<TcpStream>,
        head: &Head,
        reading: &mut Reading<'_>,
        mut most: u64,
    ) -> bool {
        let client = &self.client;
        let mut framing = head.framing();
        let mut buffer = Vec::new();
        while most > 0
            && let Ok(Some(piece)) = read_piece(stream, &mut framing).await
        {
            buffer.extend_from_slice(&piece);
            for event in take_sent_events(&mut buffer) {
                if most == 0 {
                    // The rest is lost with the connection.
                    return false;
                }
                most -= 1;
                let number = event.id.as_ref().and_then(|id| id.rsplit('-').next());
                let number = number.and_then(|number| number.parse().ok());
                reading.last_event = event.id.or(reading.last_event.take());
                if event.data.is_empty() {
                    continue;
                }
                if let Some(number) = number {
                    client.history().add(Event::Delivered {
                        client: client.name.clone(),
                        key: reading.question.key.clone(),
                        number,
                    });
                }
                client.hear(&event.data);
                let message: Value = serde_json::from_str(&event.data).unwrap_or_default();
                if message["method"] == "notifications/progress" {
                    client.progress(&message);
                } else if message["id"] == reading.id {
                    let answer = client.read_answer(reading.question, &message, &event.data);
                    reading.outcome = Some(answer);
                    return false;
                }
            }
        }
        most > 0
    }
}
