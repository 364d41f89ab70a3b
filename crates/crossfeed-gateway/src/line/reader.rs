//! Lines out of bytes, with bounded memory.

use super::{MessageSummary, Skim};
use crate::budget::{Account, Charge, Purpose, UNCHARGED};
use bytes::{Buf, Bytes, BytesMut};
use std::{io, sync::Arc};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Room for most messages, and what a connection that is idle holds.
const BUFFER_BYTES: usize = 8 << 10;
/// Lines up to here are copied out of the buffer, which then serves on.
const MAX_COPIED_BYTES: usize = 4 << 10;
/// How much of a line that is skipped is read at once.
const SKIP_BYTES: usize = 64 << 10;

/// What a peer sent, up to a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// A line, without its break. Never blank: blank lines say nothing and are passed over.
    Whole(Bytes),
    /// The input ended within a line; nothing comes behind it. A message that is whole may stand in it.
    Unfinished(Bytes),
    /// A line beyond the limit. Its bytes are gone; this is what they said.
    TooLong(MessageSummary),
    /// A line for which there was no room in the budget. Its bytes are gone; this is what they said.
    NoRoom(MessageSummary),
}

/// What a skipped line becomes when its end is reached.
type Ending = fn(MessageSummary) -> Line;

/// Reads lines.
///
/// # Invariants
///
/// It holds at most the limit and one read more (twice that while it grows), and of a line beyond the
/// limit a bounded part. A line that is kept holds no more than about twice its own length. Dropping
/// [`next`](Self::next) loses nothing.
#[derive(Debug)]
#[must_use]
pub struct LineReader<R> {
    source: R,
    limit: usize,
    pub(super) buffer: BytesMut,
    /// So much of the buffer has no line break.
    searched: usize,
    /// The line that is being skipped, and what it is then.
    skipped: Option<(Skim, Ending)>,
    /// What the buffer takes beyond its first bytes; none where nothing is charged.
    charge: Option<(Charge, Purpose)>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes from `source`.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            skipped: None,
            charge: None,
        }
    }

    /// Charges lines to an account; a line that finds no room is skipped.
    pub(crate) fn charging(mut self, account: &Arc<Account>, purpose: Purpose) -> Self {
        self.charge = Some((account.nothing(), purpose));
        self
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
            if !self.make_room().await {
                self.skipped = Some((Skim::default(), Line::NoRoom));
                self.searched = 0;
                continue;
            }
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.rest());
            }
        }
    }

    /// Doubles, so that no byte is moved often however few come at once. Whether there is room for more.
    async fn make_room(&mut self) -> bool {
        let length = self.buffer.len();
        if self.buffer.capacity() - length >= BUFFER_BYTES / 2 {
            return true;
        }
        let room = match self.skipped {
            Some(_) => SKIP_BYTES,
            None => length
                .min(self.limit.saturating_sub(length))
                .max(BUFFER_BYTES),
        };
        if let (None, Some((charge, purpose))) = (&self.skipped, &mut self.charge)
            && length > 0
        {
            let needed = (length + room).saturating_sub(charge.bytes());
            if needed > 0 && !charge.more_in_time(needed, *purpose).await {
                return false;
            }
        }
        self.buffer.reserve(room);
        true
    }

    /// The next line of those that are there.
    fn buffered(&mut self) -> Option<Line> {
        loop {
            let from = self.searched;
            let found = memchr::memchr(b'\n', self.buffer.get(from..)?);
            let end = found.map(|found| from + found);
            if let Some((skim, _)) = &mut self.skipped {
                skim.feed(&self.buffer[..end.unwrap_or(self.buffer.len())]);
            } else if end.unwrap_or(self.buffer.len()) > self.limit {
                self.skipped = Some((Skim::default(), Line::TooLong));
                self.searched = 0;
                continue;
            }
            let Some(end) = end else {
                // While a reader waits for the beginning of a line, it holds nothing that counts.
                let holds_none = self.skipped.is_some() || self.buffer.is_empty();
                if let Some((charge, _)) = self.charge.as_mut().filter(|_| holds_none) {
                    charge.keep(0);
                }
                let mut most = 2 * BUFFER_BYTES;
                if self.skipped.is_some() {
                    self.buffer.clear();
                    most = 2 * SKIP_BYTES;
                }
                if self.buffer.is_empty() && self.buffer.capacity() > most {
                    self.buffer = BytesMut::new();
                }
                self.searched = self.buffer.len();
                return None;
            };
            self.searched = 0;
            if let Some((skim, line)) = self.skipped.take() {
                self.buffer.advance(end + 1);
                return Some(line(skim.finish()));
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
        if let Some((skim, line)) = self.skipped.take() {
            return Some(line(skim.finish()));
        }
        let rest = self.take(self.buffer.len());
        (!is_blank(&rest)).then_some(Line::Unfinished(rest))
    }

    /// Takes a line out of the buffer. A kept line must not hold its neighbours, nor they it: the shorter of the line and
    /// what follows is copied.
    fn take(&mut self, end: usize) -> Bytes {
        let mut line = if end <= MAX_COPIED_BYTES || end < self.buffer.len() - end {
            let line = Bytes::copy_from_slice(&self.buffer[..end]);
            self.buffer.advance(end);
            // The buffer was charged for it as well: there was room for it, or it waits for none.
            match &mut self.charge {
                Some((charge, _)) if end > UNCHARGED => charge.split(end).hold(line),
                _ => line,
            }
        } else {
            let behind = BytesMut::from(&self.buffer[end..]);
            let mut line = std::mem::replace(&mut self.buffer, behind);
            line.truncate(end);
            // The line holds the buffer from here on, and what it was charged for.
            match &mut self.charge {
                Some((charge, _)) => charge.split(charge.bytes()).hold(line.freeze()),
                None => line.freeze(),
            }
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
