//! Messages as lines, many at once.

use crate::message::{Message, on_one_line};
use bytes::{Buf, Bytes, BytesMut};
use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, IoSlice},
};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Pieces up to here are copied together; longer ones are written from where they are.
const MAX_COPIED_BYTES: usize = 4 << 10;

/// Bytes that wait to be written, in order. Long pieces share the bytes of their messages.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    long: VecDeque<Bytes>,
    /// What follows the long pieces.
    small: BytesMut,
    length: usize,
}

impl Pieces {
    /// Puts bytes behind those that wait.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.small.extend_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Puts a message behind what waits, on one line.
    pub(crate) fn put_message(&mut self, message: &Message) {
        for piece in message.pieces() {
            let line = on_one_line(&piece);
            if line.len() <= MAX_COPIED_BYTES {
                self.put(&line);
                continue;
            }
            let line = match line {
                Cow::Borrowed(_) => piece,
                Cow::Owned(line) => line.into(),
            };
            if !self.small.is_empty() {
                self.long.push_back(self.small.split().freeze());
            }
            self.length += line.len();
            self.long.push_back(line);
        }
    }

    /// Takes the first piece.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let small = || (!self.small.is_empty()).then(|| self.small.split().freeze());
        let piece = self.long.pop_front().or_else(small)?;
        self.length -= piece.len();
        Some(piece)
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.long.front().map_or(&self.small, |piece| piece)
    }

    fn advance(&mut self, mut count: usize) {
        self.length -= count;
        while let Some(piece) = self.long.front_mut() {
            if count < piece.len() {
                return piece.advance(count);
            }
            count -= piece.len();
            self.long.pop_front();
        }
        self.small.advance(count);
    }

    fn chunks_vectored<'p>(&'p self, slices: &mut [IoSlice<'p>]) -> usize {
        let small = (!self.small.is_empty()).then_some(&self.small[..]);
        let pieces = self.long.iter().map(|piece| &piece[..]).chain(small);
        let filled = slices.iter_mut().zip(pieces);
        filled
            .map(|(slice, piece)| *slice = IoSlice::new(piece))
            .count()
    }
}

/// Writes messages, each on a line of its own.
///
/// # Invariants
///
/// Messages are written in order, each once, even when a [`flush`](Self::flush) was dropped before it was done: the
/// next one continues where it stopped.
#[derive(Debug)]
pub struct LineWriter<W> {
    pub(super) sink: W,
    waiting: Pieces,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Writes to `sink`.
    pub fn new(sink: W) -> Self {
        Self {
            sink,
            waiting: Pieces::default(),
        }
    }

    /// Puts a message behind those that were put before.
    pub fn put(&mut self, message: &Message) {
        self.waiting.put_message(message);
        self.waiting.put(b"\n");
    }

    /// Whether everything that was put was written.
    pub fn is_empty(&self) -> bool {
        !self.waiting.has_remaining()
    }

    /// Writes what was put.
    ///
    /// # Errors
    ///
    /// What writing failed with; the peer no longer reads.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all_buf(&mut self.waiting).await?;
        self.sink.flush().await
    }

    /// Writes what was put, and ends the output.
    ///
    /// # Errors
    ///
    /// What writing failed with.
    pub async fn close(&mut self) -> io::Result<()> {
        self.flush().await?;
        self.sink.shutdown().await
    }
}
