//! Reads a child's standard output: lines become events, in order.
//!
//! Servers also print lines that are not messages: these are logged. If one was meant as an answer, its request fails.

use super::process::Signals;
use crate::{
    budget::{Account, Purpose},
    line::{Line, LineReader, Skim},
    message::{Message, MessageError},
    metrics::Counter,
    upstream::{
        Event, UpstreamError, place,
        printable::printable,
        stdio::outbox::Outbox,
        unusable::{Notice, Unusable},
    },
};
use bytes::Bytes;
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::AsyncRead,
    sync::mpsc::{self, error::SendError},
    time::timeout,
};

/// How long a line may take when the process has ended: its children may hold its output open.
const LINGER_TIMEOUT: Duration = Duration::from_millis(500);
/// How much is logged of a line that is not a message.
const MAX_LOGGED_BYTES: usize = 200;

pub(super) struct Inbox {
    pub(super) server: Arc<str>,
    pub(super) limit: usize,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) signals: Arc<Signals>,
    pub(super) no_messages: Counter,
    pub(super) account: Arc<Account>,
}

/// It fails when no one takes events any more.
type Delivery = Result<(), SendError<()>>;

impl Inbox {
    /// Reads until the end. [`Event::Closed`] is the last event.
    pub(super) async fn run(self, stdout: impl AsyncRead + Unpin) {
        let mut lines =
            LineReader::new(stdout, self.limit).charging(&self.account, Purpose::Answer);
        let mut is_cut = false;
        while let Some(line) = self.next(&mut lines).await {
            let delivered = match line {
                Line::Whole(line) => self.line(line).await,
                // An incomplete message cannot be trusted, and neither can its id.
                Line::Unfinished(line) => match Message::parse(line) {
                    Ok(message) => self.message(message).await,
                    Err(_) => {
                        is_cut = true;
                        Ok(())
                    }
                },
                Line::TooLong(skimmed) => {
                    self.no_messages.add(1);
                    self.ignore(Unusable::too_large(skimmed, self.limit)).await
                }
                Line::NoRoom(skimmed) => self.ignore(Unusable::no_room(skimmed)).await,
            };
            if delivered.is_err() {
                break;
            }
        }
        self.signals.drained.send_replace(true);
        self.signals.asked.send_replace(true);
        let mut reason = self.signals.ended().await;
        if is_cut {
            reason.push_str(", in the middle of a message");
        }
        let error = UpstreamError::Ended(reason);
        for id in self.outbox.unsent() {
            let error = error.clone();
            if self.event(Event::Failed { id, error }).await.is_err() {
                return;
            }
        }
        drop(self.events.send(Event::Closed(error)).await);
    }

    async fn next<R: AsyncRead + Unpin>(&self, lines: &mut LineReader<R>) -> Option<Line> {
        let next = tokio::select! {
            biased;
            next = lines.next() => next,
            _ = self.signals.ended() => match timeout(LINGER_TIMEOUT, lines.next()).await {
                Ok(next) => next,
                Err(_) => Ok(None),
            },
        };
        next.unwrap_or_else(|error: io::Error| {
            tracing::warn!(server = &*self.server, %error, "standard output cannot be read");
            None
        })
    }

    async fn event(&self, event: Event) -> Delivery {
        place(&self.events, &event).await?.send(event);
        Ok(())
    }

    async fn message(&self, message: Message) -> Delivery {
        let related = None;
        self.event(Event::Message { message, related }).await
    }

    async fn line(&self, line: Bytes) -> Delivery {
        match Message::read(line.clone()).await {
            Ok(message) => self.message(message).await,
            Err(error) => self.no_message(&line, &error).await,
        }
    }

    async fn no_message(&self, line: &[u8], error: &MessageError) -> Delivery {
        self.no_messages.add(1);
        if matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return self
                .ignore(Unusable::invalid(Skim::whole(line), error))
                .await;
        }
        let text = printable(line, MAX_LOGGED_BYTES);
        tracing::info!(target: "crossfeed::gateway::server", server = &*self.server, "{text}");
        Ok(())
    }

    async fn ignore(&self, message: Unusable) -> Delivery {
        match message.report(&self.server) {
            Some(Notice::Server(refusal)) => {
                // A server that does not read its input must not keep the gateway from reading its output.
                drop(timeout(LINGER_TIMEOUT, self.outbox.send(&refusal)).await);
                Ok(())
            }
            Some(Notice::Client(id, error)) => self.event(Event::Failed { id, error }).await,
            None => Ok(()),
        }
    }
}
