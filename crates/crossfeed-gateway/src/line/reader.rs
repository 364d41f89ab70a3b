//! Lines out of bytes, with bounded memory.

use super::{Skim, Skimmed};
use bytes::{Buf, Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Room for most messages, and what a connection that is idle holds.
const ROOM: usize = 8 << 10;
/// Lines up to here are copied out of the buffer, which then serves on.
const COPIED: usize = 4 << 10;
/// How much of a line that is skipped is read at once.
const SKIPPED: usize = 64 << 10;

/// What a peer sent, up to a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// A line, without its break. Never blank: blank lines say nothing and are passed over.
    Whole(Bytes),
    /// The input ended within a line; nothing comes behind it. A message that is whole may stand in it.
    Unfinished(Bytes),
    /// A line beyond the limit. Its bytes are gone; this is what they said.
    TooLong(Skimmed),
}

/// Reads lines.
///
/// # Invariants
///
/// It holds at most the limit and one read more (twice that while it grows), and of a line beyond the
/// limit a bounded part. A line that is kept holds no more than about twice its own length. Dropping
/// [`next`](Self::next) loses nothing.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    limit: usize,
    pub(super) buffer: BytesMut,
    /// So much of the buffer has no line break.
    searched: usize,
    /// The line that is being skipped.
    skipped: Option<Skim>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes from `source`.
    #[must_use]
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            skipped: None,
        }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    ///
    /// What reading failed with. What was read before is lost only if it is not asked for again.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            self.make_room();
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.rest());
            }
        }
    }

    /// Doubles, so that no byte is moved often however few come at once.
    fn make_room(&mut self) {
        let length = self.buffer.len();
        if self.buffer.capacity() - length >= ROOM / 2 {
            return;
        }
        let room = match self.skipped {
            Some(_) => SKIPPED,
            None => length.min(self.limit.saturating_sub(length)).max(ROOM),
        };
        self.buffer.reserve(room);
    }

    /// The next line of those that are there.
    fn buffered(&mut self) -> Option<Line> {
        loop {
            let from = self.searched;
            let found = memchr::memchr(b'\n', self.buffer.get(from..)?);
            let end = found.map(|found| from + found);
            if let Some(skim) = &mut self.skipped {
                skim.feed(&self.buffer[..end.unwrap_or(self.buffer.len())]);
            } else if end.unwrap_or(self.buffer.len()) > self.limit {
                self.skipped = Some(Skim::new());
                self.searched = 0;
                continue;
            }
            let Some(end) = end else {
                if self.skipped.is_some() && self.buffer.capacity() > 2 * SKIPPED {
                    self.buffer = BytesMut::new();
                } else if self.skipped.is_some() {
                    self.buffer.clear();
                }
                self.searched = self.buffer.len();
                return None;
            };
            self.searched = 0;
            if let Some(skim) = self.skipped.take() {
                self.buffer.advance(end + 1);
                return Some(Line::TooLong(skim.finish()));
            }
            let line = self.take(end);
            self.buffer.advance(1);
            if !is_blank(&line) {
                return Some(Line::Whole(line));
            }
        }
    }

    /// What stands behind the last line break.
    fn rest(&mut self) -> Option<Line> {
        self.searched = 0;
        if let Some(skim) = self.skipped.take() {
            return Some(Line::TooLong(skim.finish()));
        }
        let rest = self.take(self.buffer.len());
        (!is_blank(&rest)).then_some(Line::Unfinished(rest))
    }

    /// Takes a line out of the buffer. What is kept of it shall not hold its neighbours, nor they it:
    /// whichever is shorter, the line or what follows, is copied.
    fn take(&mut self, end: usize) -> Bytes {
        let mut line = if end <= COPIED || end < self.buffer.len() - end {
            let line = Bytes::copy_from_slice(&self.buffer[..end]);
            self.buffer.advance(end);
            line
        } else {
            let behind = BytesMut::from(&self.buffer[end..]);
            let mut line = std::mem::replace(&mut self.buffer, behind);
            line.truncate(end);
            line.freeze()
        };
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        line
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}
