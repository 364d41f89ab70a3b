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
/// How many pieces are handed to the system at once.
const MAX_PIECES: usize = 32;

/// Writes messages, each on a line of its own.
///
/// # Invariants
///
/// What was put is written in order, each message once, also when [`flush`](Self::flush) was dropped
/// before it was through: the next one goes on where it was.
#[derive(Debug)]
pub struct LineWriter<W> {
    pub(super) sink: W,
    pieces: VecDeque<Bytes>,
    /// What stands behind the pieces.
    small: BytesMut,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Writes to `sink`.
    #[must_use]
    pub fn new(sink: W) -> Self {
        Self {
            sink,
            pieces: VecDeque::new(),
            small: BytesMut::new(),
        }
    }

    /// Puts a message behind those that were put before.
    pub fn put(&mut self, message: &Message) {
        put_line(message, &mut self.small, &mut self.pieces);
        self.small.extend_from_slice(b"\n");
    }

    /// Whether everything that was put was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.small.is_empty()
    }

    /// Writes what was put.
    ///
    /// # Errors
    ///
    /// What writing failed with; the peer does not read any more.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.is_empty() {
            if !self.small.is_empty() {
                self.pieces.push_back(self.small.split().freeze());
            }
            let pieces = self.pieces.iter().take(MAX_PIECES);
            let slices: Vec<_> = pieces.map(|piece| IoSlice::new(piece)).collect();
            let written = self.sink.write_vectored(&slices).await?;
            self.wrote(written)?;
        }
        self.sink.flush().await
    }

    fn wrote(&mut self, mut written: usize) -> io::Result<()> {
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        while let Some(piece) = self.pieces.front_mut() {
            if written < piece.len() {
                piece.advance(written);
                break;
            }
            written -= piece.len();
            self.pieces.pop_front();
        }
        Ok(())
    }

    /// Writes what was put, and says that nothing follows.
    ///
    /// # Errors
    ///
    /// What writing failed with.
    pub async fn close(&mut self) -> io::Result<()> {
        self.flush().await?;
        self.sink.shutdown().await
    }
}

/// Puts a message on one line behind what is there: `small` stands behind the pieces.
pub(crate) fn put_line(message: &Message, small: &mut BytesMut, pieces: &mut VecDeque<Bytes>) {
    for piece in message.pieces() {
        let line = on_one_line(&piece);
        if line.len() <= MAX_COPIED_BYTES {
            small.extend_from_slice(&line);
            continue;
        }
        let line = match line {
            Cow::Borrowed(_) => piece,
            Cow::Owned(line) => line.into(),
        };
        if !small.is_empty() {
            pieces.push_back(small.split().freeze());
        }
        pieces.push_back(line);
    }
}
