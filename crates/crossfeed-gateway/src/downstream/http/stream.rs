//! Streams of events. A stream keeps what it sent for a while, so that a client whose connection broke can continue where
//! it stopped.

use super::reply::GiveUpGuard;
use crate::{
    line::Pieces,
    message::{Id, Kind, Message},
    port::{Disconnected, MessageSink},
    sync::Mutex,
};
use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::body::{Body, Frame};
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, Sleep, timeout},
};

/// What a stream keeps.
const MAX_KEPT_EVENTS: usize = 256;
const MAX_KEPT_BYTES: usize = 1 << 20;
/// How long a stream is silent at most: a proxy might think it dead.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long a sender waits for the client to read the stream that belongs to no request: all other messages of the
/// session wait behind.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a request's id in those of its events.
const MAX_REQUEST_BYTES: usize = 128;
/// When a client may connect again after its connection broke, in ms.
const RETRY_MS: u32 = 1000;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadFrom {
    /// Where the one before ended.
    Unread,
    /// At the first that is kept.
    Start,
    /// Behind an event that was received.
    After(u64),
}

/// What the id of an event says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventId {
    /// The number of its stream.
    pub(super) stream: u64,
    pub(super) from: ReadFrom,
    /// The request that the stream belongs to, if its id is short.
    pub(super) request: Option<Id>,
}

impl EventId {
    pub(super) fn parse(id: &str) -> Option<Self> {
        let mut parts = id.splitn(3, '-');
        let stream = parts.next()?.parse().ok()?;
        let from = match parts.next()? {
            "" => ReadFrom::Start,
            number => ReadFrom::After(number.parse().ok()?),
        };
        let request = match parts.next() {
            Some(request) => Some(read_request(request)?),
            None => None,
        };
        Some(Self {
            stream,
            from,
            request,
        })
    }
}

/// How a request stands in the ids of its events.
fn written_request(id: &Id) -> String {
    let id = id.raw();
    if id.len() > MAX_REQUEST_BYTES {
        return String::new();
    }
    format!("-{}", BASE64_URL_SAFE_NO_PAD.encode(id))
}

fn read_request(text: &str) -> Option<Id> {
    let json = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    // It comes from the client.
    let id: serde_json::Value = serde_json::from_slice(&json).ok()?;
    let is_id = id.is_string() || id.is_number();
    Id::parse(json.into()).filter(|_| is_id)
}

/// One stream.
pub(super) struct Stream {
    number: u64,
    /// The end of its events' ids, which names the request that it belongs to.
    request: String,
    state: Mutex<State>,
    /// Something was read, or the reader has left.
    read: Notify,
    /// The first message is there, or none will be.
    first: Notify,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Message>,
    kept_bytes: usize,
    /// The number of the first that is kept.
    from: u64,
    /// The number of the next that is read.
    next: u64,
    /// Nothing follows.
    done: bool,
    /// It may not be read any more.
    closed: bool,
    /// Whether events are kept when they were read.
    replays: bool,
    /// The current reader; a later one takes over.
    reader: u64,
    reading: bool,
    waker: Option<Waker>,
}

impl State {
    fn end(&self) -> u64 {
        self.from + self.kept.len() as u64
    }

    fn is_full(&self) -> bool {
        self.kept.len() >= MAX_KEPT_EVENTS || self.kept_bytes >= MAX_KEPT_BYTES
    }

    /// Makes room, at the cost of what was read.
    fn forget_read(&mut self) {
        while self.from < self.next && (self.is_full() || !self.replays) {
            // Read is not received: the answer is what must come again.
            let is_last = |message: &Message| message.kind().is_answer();
            if self.replays && self.kept.front().is_none_or(is_last) {
                return;
            }
            self.forget_first();
        }
    }

    fn put(&mut self, message: Message, stream: u64) -> Result<(), Disconnected> {
        let is_answer = message.kind().is_answer();
        if self.is_full() && !self.make_room(stream) && !is_answer {
            return Err(Disconnected);
        }
        // Only the stream of a request has answers, and it ends with the first.
        self.done = is_answer;
        self.kept_bytes += message.len();
        self.kept.push_back(message);
        Ok(())
    }

    /// Drops the oldest messages where no one reads them. Returns whether there is room now.
    fn make_room(&mut self, stream: u64) -> bool {
        while self.is_full() {
            // A request of a server waits for an answer: it is not dropped, but the next one refused.
            let oldest = self.kept.front();
            if oldest.is_none_or(|oldest| oldest.kind() == Kind::Request) {
                return false;
            }
            tracing::warn!(
                stream,
                "dropped an unread notification to make room for newer ones"
            );
            self.forget_first();
        }
        true
    }

    fn forget_first(&mut self) -> Option<Message> {
        let message = self.kept.pop_front()?;
        self.kept_bytes -= message.len();
        self.from += 1;
        self.next = self.next.max(self.from);
        Some(message)
    }
}

impl Stream {
    /// A stream that belongs to a session, and to a request where there is one: it can be resumed.
    pub(super) fn resumable(number: u64, request: Option<&Id>) -> Arc<Self> {
        let request = request.map(written_request);
        Self::new(number, request.unwrap_or_default(), true)
    }

    /// A stream that ends with its connection.
    pub(super) fn ephemeral() -> Arc<Self> {
        Self::new(0, String::new(), false)
    }

    fn new(number: u64, request: String, replays: bool) -> Arc<Self> {
        Arc::new(Self {
            number,
            request,
            state: Mutex::new(State {
                replays,
                ..State::default()
            }),
            read: Notify::new(),
            first: Notify::new(),
        })
    }

    /// Its number in its session.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn event_id(&self, event: &str) -> String {
        let Self {
            number, request, ..
        } = self;
        format!("{number}-{event}{request}")
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.state.lock().kept_bytes
    }

    /// Whether nothing follows, or it may not be read any more.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.done || state.closed
    }

    /// Nothing follows.
    pub(super) fn finish(&self) {
        self.change(|state| state.done = true);
    }

    /// It may not be read or written any more.
    pub(super) fn close(&self) {
        self.change(|state| {
            state.closed = true;
            state.done = true;
        });
    }

    /// Ends the connection of a client that does not read, unless it does by now.
    fn leave_unread(&self) {
        tracing::warn!(
            stream = self.number,
            "disconnected a client that stopped reading its stream"
        );
        self.change(|state| {
            state.reader += 1;
            state.reading = false;
        });
    }

    /// Changes what is to be read: readers and writers look again.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = self.write(change);
        self.read.notify_waiters();
        changed
    }

    /// Changes what is to be read: readers look again.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (changed, waker) = {
            let mut state = self.state.lock();
            (change(&mut state), state.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        self.first.notify_waiters();
        changed
    }

    /// Waits until there is something to read. If that is the answer and nothing before it, takes it.
    pub(super) async fn answered_at_once(&self) -> Option<Message> {
        loop {
            let first = self.first.notified();
            tokio::pin!(first);
            first.as_mut().enable();
            {
                let mut state = self.state.lock();
                match state.kept.front() {
                    Some(first) if first.kind().is_answer() => return state.forget_first(),
                    None if !state.done => {}
                    Some(_) | None => return None,
                }
            }
            first.await;
        }
    }

    /// The events from there on. An earlier reader reads no more. `primes` begins with an event that says how to resume.
    pub(super) fn events(self: &Arc<Self>, from: ReadFrom, primes: bool) -> Events {
        // The one before sees that it is not the one any more.
        let (reader, next, replays) = self.change(|state| {
            state.reader += 1;
            state.reading = true;
            match from {
                ReadFrom::Unread => {}
                ReadFrom::Start => state.next = state.from,
                ReadFrom::After(number) => {
                    state.next = number.saturating_add(1).clamp(state.from, state.end());
                }
            }
            (state.reader, state.next, state.replays)
        });
        let mut waiting = Pieces::default();
        if primes && replays {
            // One before what comes first: what comes again begins there.
            let last = next.checked_sub(1).map(|last| last.to_string());
            let id = self.event_id(&last.unwrap_or_default());
            waiting.put(format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").as_bytes());
        }
        Events {
            stream: Arc::clone(self),
            reader,
            waiting,
            silence: Box::pin(tokio::time::sleep(KEEPALIVE_INTERVAL)),
            leaving: None,
        }
    }
}

#[async_trait]
impl MessageSink for Stream {
    fn is_read(&self) -> bool {
        self.state.lock().reading
    }

    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        let mut message = Some(message);
        loop {
            let read = self.read.notified();
            tokio::pin!(read);
            read.as_mut().enable();
            let sent = self.write(|state| {
                if state.done {
                    return Some(Err(Disconnected));
                }
                state.forget_read();
                if state.is_full() && state.reading {
                    return None;
                }
                message
                    .take()
                    .map(|message| state.put(message, self.number))
            });
            if let Some(sent) = sent {
                return sent;
            }
            if self.number > 0 || !self.state.lock().replays {
                read.await;
            } else if timeout(READ_TIMEOUT, read).await.is_err() {
                self.leave_unread();
            }
        }
    }
}

/// The body of an answer that is a stream.
pub(super) struct Events {
    stream: Arc<Stream>,
    reader: u64,
    waiting: Pieces,
    silence: Pin<Box<Sleep>>,
    leaving: Option<GiveUpGuard>,
}

impl Events {
    /// Gives the request up when the client leaves before the end.
    pub(super) fn or_give_up(mut self, leaving: GiveUpGuard) -> Self {
        self.leaving = Some(leaving);
        self
    }

    /// Puts the bytes of one event behind those that wait.
    fn put(&mut self, message: &Message, number: Option<u64>) {
        if let Some(number) = number {
            let id = self.stream.event_id(&number.to_string());
            self.waiting.put(format!("id: {id}\n").as_bytes());
        }
        self.waiting.put(b"data: ");
        self.waiting.put_message(message);
        self.waiting.put(b"\n\n");
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let events = self.get_mut();
        loop {
            if let Some(piece) = events.waiting.pop() {
                let silence = Instant::now() + KEEPALIVE_INTERVAL;
                events.silence.as_mut().reset(silence);
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let (message, number) = {
                let mut state = events.stream.state.lock();
                if state.reader != events.reader || state.closed {
                    return Poll::Ready(None);
                }
                let index = usize::try_from(state.next - state.from).unwrap_or(usize::MAX);
                match state.kept.get(index).cloned() {
                    Some(message) => {
                        let number = state.replays.then_some(state.next);
                        state.next += 1;
                        state.forget_read();
                        (message, number)
                    }
                    None if state.done => return Poll::Ready(None),
                    None => {
                        state.waker = Some(context.waker().clone());
                        drop(state);
                        ready!(events.silence.as_mut().poll(context));
                        events.waiting.put(b": \n\n");
                        continue;
                    }
                }
            };
            events.stream.read.notify_waiters();
            events.put(&message, number);
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.stream.state.lock();
        state.reading &= state.reader != self.reader;
        drop(state);
        // Senders that wait for this reader need not wait any more.
        self.stream.read.notify_waiters();
    }
}

#[cfg(test)]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn large() -> Message {
        let text = Bytes::from(format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_KEPT_BYTES)));
        Message::notification("n", Some(&text))
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_holds_nobody_up_for_long() {
        let stream = Stream::resumable(0, None);
        let _events = stream.events(ReadFrom::Unread, false);
        for _ in 0..3 {
            stream.send(large()).await.unwrap();
        }
        assert!(!stream.is_read());
        assert!(stream.bytes() < 2 * MAX_KEPT_BYTES);
    }

    proptest! {
        #[test]
        fn ids_of_events_are_read_as_they_were_written(stream: u64, event: Option<u64>, id in prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            ".{0,40}".prop_map(|text| crossfeed_json::quoted(&text)),
        ]) {
            let id = Id::parse(id.into()).unwrap();
            let stays = id.raw().len() <= MAX_REQUEST_BYTES;
            let written = Stream::resumable(stream, Some(&id));
            let event_text = event.map(|event| event.to_string()).unwrap_or_default();
            let read = EventId::parse(&written.event_id(&event_text));
            let from = event.map_or(ReadFrom::Start, ReadFrom::After);
            let request = Some(id).filter(|_| stays);
            prop_assert_eq!(read, Some(EventId { stream, from, request }));
        }

        #[test]
        fn what_no_event_has_is_no_id(text in ".{0,20}") {
            if let Some(EventId { request: Some(request), .. }) = EventId::parse(&text) {
                let request: serde_json::Value = serde_json::from_slice(request.raw()).unwrap();
                prop_assert!(request.is_string() || request.is_number());
            }
        }
    }

    #[tokio::test]
    async fn an_event_of_the_future_is_the_last_there_is() {
        let stream = Stream::resumable(0, None);
        drop(stream.events(ReadFrom::After(u64::MAX - 1), false));
        stream.send(Message::notification("n", None)).await.unwrap();
        let mut events = stream.events(ReadFrom::Unread, false);
        let event = http_body_util::BodyExt::frame(&mut events).await.unwrap();
        assert!(
            event
                .unwrap()
                .into_data()
                .unwrap()
                .starts_with(b"id: 0-0\n")
        );
    }
}
