//! What comes from a child's standard output.
//!
//! What comes in: lines. What goes out: events, in order, as fast as they are taken. Deliberately not
//! here: what messages mean. A server prints what is not a message: that is logged and passed over, and if it
//! was to be an answer, its request is told.

use super::process::Signals;
use crate::{
    budget::{Account, Purpose},
    line::{Line, LineReader, Skim, Skimmed},
    message::{Kind, Message, MessageError, RpcError},
    metrics::Counter,
    protocol::code,
    upstream::{Event, UpstreamError, place, printable::printable, stdio::outbox::Outbox},
};
use bytes::Bytes;
use std::{io, sync::Arc, time::Duration};
use tokio::{io::AsyncRead, sync::mpsc, time::timeout};

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

/// Nobody takes events any more.
struct Unheard;

impl Inbox {
    /// Reads until the end, and says [`Event::Closed`] behind everything else.
    pub(super) async fn run(self, stdout: impl AsyncRead + Unpin) {
        let mut lines =
            LineReader::new(stdout, self.limit).charging(&self.account, Purpose::Answer);
        let mut cut = false;
        while let Some(line) = self.next(&mut lines).await {
            let heard = match line {
                Line::Whole(line) => self.line(line).await,
                // Of half a message nothing can be believed, its id included.
                Line::Unfinished(line) => match Message::parse(line) {
                    Ok(message) => self.message(message).await,
                    Err(_) => {
                        cut = true;
                        Ok(())
                    }
                },
                Line::TooLong(skimmed) => self.too_long(skimmed).await,
                Line::NoRoom(skimmed) => self.no_room(skimmed).await,
            };
            if heard.is_err() {
                break;
            }
        }
        self.signals.drained.send_replace(true);
        self.signals.asked.send_replace(true);
        let mut reason = self.signals.ended().await;
        if cut {
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

    async fn event(&self, event: Event) -> Result<(), Unheard> {
        let place = place(&self.events, &event).await.map_err(|_| Unheard)?;
        place.send(event);
        Ok(())
    }

    async fn message(&self, message: Message) -> Result<(), Unheard> {
        let related = None;
        self.event(Event::Message { message, related }).await
    }

    async fn line(&self, line: Bytes) -> Result<(), Unheard> {
        match Message::read(line.clone()).await {
            Ok(message) => self.message(message).await,
            Err(error) => self.no_message(&line, error).await,
        }
    }

    async fn no_message(&self, line: &[u8], error: MessageError) -> Result<(), Unheard> {
        self.no_messages.add(1);
        let server = &*self.server;
        if !matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
            let text = printable(line, MAX_LOGGED_BYTES);
            tracing::info!(target: "crossfeed::gateway::server", server, "{text}");
            return Ok(());
        }
        // It was meant as a message: what it says may be anybody's data, and is not logged.
        tracing::warn!(server, bytes = line.len(), %error, "ignored a line that is not a JSON-RPC message");
        let mut skim = Skim::default();
        skim.feed(line);
        let reason = error.to_string();
        self.unusable(
            skim.finish(),
            UpstreamError::Invalid(reason),
            error.to_rpc(),
        )
        .await
    }

    async fn too_long(&self, skimmed: Skimmed) -> Result<(), Unheard> {
        self.no_messages.add(1);
        let limit = self.limit;
        let (server, bytes) = (&*self.server, skimmed.bytes);
        tracing::warn!(server, bytes, limit, "ignored a line beyond the limit");
        let error = UpstreamError::TooLarge { limit };
        let answer = RpcError::new(code::INVALID_REQUEST, error.to_string());
        self.unusable(skimmed, error, answer).await
    }

    async fn no_room(&self, skimmed: Skimmed) -> Result<(), Unheard> {
        let (server, bytes, kind) = (&*self.server, skimmed.bytes, skimmed.kind);
        tracing::warn!(
            server,
            bytes,
            ?kind,
            "dropped a message: the memory limit is reached"
        );
        let error = UpstreamError::NoRoom;
        let answer = RpcError::new(code::INTERNAL, "the gateway has no memory for this message");
        self.unusable(skimmed, error, answer).await
    }

    /// Says who has to know that a message cannot be used: a request of ours is told that it has no
    /// answer, and a request of the server is answered.
    async fn unusable(
        &self,
        skimmed: Skimmed,
        error: UpstreamError,
        answer: RpcError,
    ) -> Result<(), Unheard> {
        let Some(id) = skimmed.id else { return Ok(()) };
        match skimmed.kind {
            Some(Kind::Request) => {
                let answer = Message::failure(Some(&id), &answer);
                // A server that does not read its input must not keep us from reading its output.
                let outbox = Arc::clone(&self.outbox);
                drop(timeout(LINGER_TIMEOUT, outbox.send(&answer)).await);
                Ok(())
            }
            Some(Kind::Notification) => Ok(()),
            Some(Kind::Response | Kind::Error) | None => {
                let error = error.after_sending();
                self.event(Event::Failed { id, error }).await
            }
        }
    }
}
