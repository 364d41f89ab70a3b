//! Writes to a child's standard input: lines, in order, at once where the pipe takes them, and by [`Outbox::run`] where
//! it does not.
//!
//! A server that floods its output while it does not read its input delays only those who send to it.
//!
//! # Invariants
//!
//! A line is written whole or the pipe is never written to again: the outbox owns what was handed over, so that a caller
//! that gives up leaves no half line behind. For every request it is known whether a byte of it was written.

use crate::{
    line::Pieces,
    message::{Id, Message},
    upstream::UpstreamError,
};
use bytes::Buf as _;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    sync::Arc,
};
use tokio::{net::unix::pipe, sync::Notify};

/// Bytes that may wait before a sender has to: as much as a pipe holds.
const MAX_QUEUED_BYTES: usize = 64 << 10;
/// Pieces that are written at once; Linux takes 1,024, and a message has a handful.
const MAX_PIECES: usize = 64;

pub(super) struct Outbox {
    /// Held while a message is handed over, so that those who wait for room keep their order.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// There is room again, or there never will be.
    room: Notify,
    /// There is something to write, or to end.
    work: Notify,
}

#[derive(Default)]
struct State {
    /// None once it was closed.
    pipe: Option<Arc<pipe::Sender>>,
    waiting: Pieces,
    /// Bytes that were written since the beginning.
    written: u64,
    /// Requests of which nothing was written, and where each begins.
    unsent: VecDeque<(u64, Id)>,
    /// Nothing more is taken; the pipe is closed when everything is written.
    finishing: bool,
}

impl Outbox {
    pub(super) fn new(pipe: pipe::Sender) -> Self {
        Self {
            turn: tokio::sync::Mutex::default(),
            state: Mutex::new(State {
                pipe: Some(Arc::new(pipe)),
                ..State::default()
            }),
            room: Notify::new(),
            work: Notify::new(),
        }
    }

    /// Takes a message, when those before it have left room.
    pub(super) async fn send(&self, message: &Message) -> Result<(), UpstreamError> {
        let _turn = self.turn.lock().await;
        loop {
            let room = self.room.notified();
            {
                let mut state = self.state.lock();
                if state.finishing || state.pipe.is_none() {
                    return Err(UpstreamError::Ended(
                        "its standard input is closed".to_owned(),
                    ));
                }
                let queued = state.waiting.remaining();
                if queued < MAX_QUEUED_BYTES {
                    let begins = state.written + queued as u64;
                    state.waiting.put_message(message);
                    state.waiting.put(b"\n");
                    // Nothing waits: the pipe most likely takes it, and no other task has to wake up.
                    let is_done = queued == 0 && state.write().unwrap_or(false);
                    if !is_done {
                        state.note(message, begins);
                        self.work.notify_one();
                    }
                    return Ok(());
                }
            }
            room.await;
        }
    }

    /// Takes nothing more; [`run`](Self::run) closes the pipe when everything is written.
    pub(super) fn finish(&self) {
        self.state.lock().finishing = true;
        self.work.notify_one();
        self.room.notify_waiters();
    }

    /// Closes the pipe as it is.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.pipe = None;
        state.waiting = Pieces::default();
        drop(state);
        self.work.notify_one();
        self.room.notify_waiters();
    }

    /// The requests that were taken and of which no byte was written. Once the outbox is closed, none
    /// ever will be.
    pub(super) fn unsent(&self) -> Vec<Id> {
        let state = self.state.lock();
        state.unsent.iter().map(|(_, id)| id.clone()).collect()
    }

    /// Writes what could not be written at once, until the outbox is finished or the pipe breaks.
    pub(super) async fn run(&self) -> io::Result<()> {
        loop {
            self.work.notified().await;
            loop {
                let pipe = {
                    let mut state = self.state.lock();
                    let is_empty = state.write()?;
                    if state.waiting.remaining() < MAX_QUEUED_BYTES {
                        self.room.notify_waiters();
                    }
                    if is_empty && state.finishing {
                        state.pipe = None;
                        return Ok(());
                    }
                    match &state.pipe {
                        None => return Ok(()),
                        Some(_) if is_empty => break,
                        Some(pipe) => Arc::clone(pipe),
                    }
                };
                pipe.writable().await?;
            }
        }
    }
}

impl State {
    /// Notes a request that begins at a place, unless its first byte was written.
    fn note(&mut self, message: &Message, begins: u64) {
        let id = message.request_id().filter(|_| self.written <= begins);
        self.unsent.extend(id.map(|id| (begins, id.clone())));
    }

    /// Writes as much as the pipe takes now; whether that was everything.
    fn write(&mut self) -> io::Result<bool> {
        while self.waiting.has_remaining() {
            let Some(pipe) = &self.pipe else {
                return Ok(true);
            };
            let mut slices = [IoSlice::new(&[]); MAX_PIECES];
            let count = self.waiting.chunks_vectored(&mut slices);
            let written = match pipe.try_write_vectored(&slices[..count]) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.waiting.advance(written);
            self.written += written as u64;
            while (self.unsent.front()).is_some_and(|(begins, _)| *begins < self.written) {
                self.unsent.pop_front();
            }
        }
        Ok(true)
    }
}
