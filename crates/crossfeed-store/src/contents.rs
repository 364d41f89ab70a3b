//! What a large document holds where, so that a part of it can be read without the rest.

mod build;
mod encoding;
#[cfg(test)]
mod tests;

use crate::{Digest, StoreError};
use bytes::Bytes;
use crossfeed_json::Kind;
use lru::LruCache;
use parking_lot::Mutex;
use std::{num::NonZeroUsize, ops::Range};

/// A step of a path from the root of a document. A text that holds JSON is stepped into as if it were that JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no other steps")]
pub enum PathStep {
    /// Into the member of an object.
    Key(Box<str>),
    /// Into the item of a list; a negative index counts from its end.
    Index(i64),
}

/// Tells the paths that are wanted of a result, for who has use for them.
pub type PathsOf<'p> = dyn Fn() -> Vec<Vec<PathStep>> + Send + Sync + 'p;

/// The table of contents of a large JSON document: where its large values begin, and the digest of each block of it.
///
/// By it a store reads an [`Excerpt`]: the document in which the large values that no path leads to are empty. It takes
/// some 10 KB at most, however long the document is.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::{Contents, PathStep};
///
/// let rows: Vec<String> = (0..100_000).map(|id| format!("{{\"id\": {id}}}")).collect();
/// let data = format!("{{\"rows\": [{}], \"total\": 100000}}", rows.join(", "));
/// let contents = Contents::of(&Document::new(data.clone())).ok_or("it is large")?;
///
/// let path = vec![PathStep::Key("rows".into()), PathStep::Index(70_000), PathStep::Key("id".into())];
/// let excerpt = contents.excerpt(&[path]).ok_or("it is a small part")?;
/// let read = excerpt.ranges().iter().map(|range| data[range.clone()].to_owned().into());
/// let part = Document::new(excerpt.assemble(&read.collect::<Vec<_>>())?);
/// assert!(part.raw().len() < data.len() / 2);
/// let row = part.root()?.get("rows").and_then(|rows| rows.at(70_000)).ok_or("as in the whole")?;
/// assert_eq!(row.raw(), br#"{"id": 70000}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    length: usize,
    /// The length of each block but the last.
    block: usize,
    digests: Vec<Digest>,
    root: Large,
}

/// A large value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Large {
    range: Range<usize>,
    inside: Inside,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inside {
    /// It is kept or left out as a whole.
    Closed(Kind),
    /// A text whose JSON cannot be stepped into, though a reader may.
    ClosedJson,
    /// The large members; the others are always kept.
    Object(Vec<(Box<str>, Large)>),
    /// All items, in runs.
    List(List),
    /// The JSON in a text; places are those in the text as it is written.
    Json(Box<Large>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct List {
    /// The number of items.
    length: usize,
    runs: Vec<Run>,
    /// Where the last item ends.
    end: usize,
}

/// Some items of a list, up to where the next run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// The index of the first.
    first: usize,
    /// Where it begins.
    start: usize,
    /// The only one, if it is large.
    only: Option<Large>,
}

/// A document in which large values that no path leads to are empty values of their kinds, or in lists `0`.
///
/// Every object has all of its keys, and every list all of its items, so that what a path leads to is the same as in the
/// whole, also if it is nothing.
#[derive(Clone, Debug)]
pub struct Excerpt<'c> {
    contents: &'c Contents,
    pieces: Vec<Piece>,
    ranges: Vec<Range<usize>>,
}

/// How much was read of records by parts, of the last 1,000.
///
/// Who reads one part after another is better off with the whole, which is then at hand.
#[derive(Debug)]
pub struct PartsRead(Mutex<LruCache<u64, usize>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Kept(Range<usize>),
    /// An empty value.
    Empty(&'static str),
    /// So many items, and whether others follow.
    Items(usize, bool),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Kept(range) => range.len(),
            Self::Empty(value) => value.len(),
            Self::Items(items, followed) => (2 * items).saturating_sub(usize::from(!followed)),
        }
    }
}

impl Contents {
    /// The length of the document.
    pub fn document_length(&self) -> usize {
        self.length
    }

    /// What is to be read for these paths; `None` if that is more than half of the document, or there are none.
    pub fn excerpt(&self, paths: &[Vec<PathStep>]) -> Option<Excerpt<'_>> {
        if paths.is_empty() {
            return None;
        }
        let mut cutter = Cutter {
            pieces: Vec::new(),
            at: 0,
            is_text: false,
        };
        cutter.cut(&self.root, paths.iter().map(Vec::as_slice).collect());
        cutter.keep(self.length);
        let pieces = cutter.pieces;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for piece in &pieces {
            let Piece::Kept(kept) = piece else {
                continue;
            };
            let start = kept.start / self.block * self.block;
            let end = kept.end.next_multiple_of(self.block).min(self.length);
            match ranges.last_mut() {
                Some(last) if last.end >= start => last.end = last.end.max(end),
                _ => ranges.push(start..end),
            }
        }
        let read: usize = ranges.iter().map(Range::len).sum();
        let length: usize = pieces.iter().map(Piece::len).sum();
        (read.max(length) <= self.length / 2).then_some(Excerpt {
            contents: self,
            pieces,
            ranges,
        })
    }
}

impl Default for PartsRead {
    fn default() -> Self {
        const RECORDS: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
        Self(Mutex::new(LruCache::new(RECORDS)))
    }
}

impl PartsRead {
    /// Counts an excerpt of a record that is about to be read; `false`, if all parts are then more than half of it.
    pub fn admits(&self, record: u64, excerpt: &Excerpt<'_>) -> bool {
        let more: usize = excerpt.ranges.iter().map(Range::len).sum();
        let mut records = self.0.lock();
        let read = records.get_or_insert_mut(record, || 0);
        *read = read.saturating_add(more);
        *read <= excerpt.contents.length / 2
    }
}

impl Excerpt<'_> {
    /// What is to be read of the document, in ascending order.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The bytes of the document with what was left out empty, from what was read of each range.
    ///
    /// # Errors
    ///
    /// [`StoreError::DamagedBlob`] when that is not what was recorded.
    pub fn assemble(&self, read: &[Bytes]) -> Result<Bytes, StoreError> {
        let Contents { block, digests, .. } = self.contents;
        let is_whole = |(range, bytes): (&Range<usize>, &Bytes)| {
            let known = digests.get(range.start / block..)?;
            let mut both = bytes.chunks(*block).zip(known);
            let is_same = both.all(|(bytes, known)| Digest::of(bytes) == *known);
            (bytes.len() == range.len() && is_same).then_some(())
        };
        if read.len() != self.ranges.len() {
            return Err(StoreError::DamagedBlob);
        }
        let mut both = self.ranges.iter().zip(read);
        both.try_for_each(is_whole).ok_or(StoreError::DamagedBlob)?;
        let mut assembled = Vec::with_capacity(self.pieces.iter().map(Piece::len).sum());
        let mut sources = self.ranges.iter().zip(read).peekable();
        for piece in &self.pieces {
            match piece {
                Piece::Kept(kept) => {
                    while sources.next_if(|(range, _)| range.end < kept.end).is_some() {}
                    let kept = sources.peek().and_then(|(range, bytes)| {
                        bytes.get(kept.start.checked_sub(range.start)?..kept.end - range.start)
                    });
                    assembled.extend_from_slice(kept.ok_or(StoreError::DamagedBlob)?);
                }
                Piece::Empty(value) => assembled.extend_from_slice(value.as_bytes()),
                Piece::Items(items, followed) => {
                    assembled.extend((0..*items).flat_map(|_| *b"0,"));
                    if !followed {
                        assembled.pop();
                    }
                }
            }
        }
        Ok(assembled.into())
    }
}

impl Inside {
    fn kind(&self) -> Kind {
        match self {
            Self::Closed(kind) => *kind,
            Self::Object(_) => Kind::Object,
            Self::List(_) => Kind::Array,
            Self::ClosedJson | Self::Json(_) => Kind::String,
        }
    }
}

impl List {
    /// The index of the item that a step leads to; one that no item has, if it leads nowhere.
    fn index(&self, step: &PathStep) -> usize {
        let index = match step {
            PathStep::Index(index) if *index < 0 => {
                let before_end = usize::try_from(index.unsigned_abs()).ok();
                before_end.and_then(|before| self.length.checked_sub(before))
            }
            PathStep::Index(index) => usize::try_from(*index).ok(),
            PathStep::Key(_) => None,
        };
        index.unwrap_or(self.length)
    }
}

/// Cuts a document into what is kept of it and what is not.
struct Cutter {
    pieces: Vec<Piece>,
    /// All before this was decided on.
    at: usize,
    /// Whether what is cut lies in a text.
    is_text: bool,
}

impl Cutter {
    fn keep(&mut self, until: usize) {
        if self.at < until {
            self.pieces.push(Piece::Kept(self.at..until));
            self.at = until;
        }
    }

    fn leave_out(&mut self, range: &Range<usize>, by: Piece) {
        self.keep(range.start);
        self.pieces.push(by);
        self.at = range.end;
    }

    /// Cuts a value into which these paths lead.
    fn cut(&mut self, large: &Large, paths: Vec<&[PathStep]>) {
        let Large { range, inside } = large;
        let leads = !paths.is_empty();
        if paths.iter().any(|path| path.is_empty()) {
            return self.keep(range.end);
        }
        let following = |step: &dyn Fn(&PathStep) -> bool| -> Vec<&[PathStep]> {
            let paths = paths.iter().filter_map(|path| path.split_first());
            let paths = paths.filter(|(first, _)| step(first));
            paths.map(|(_, rest)| rest).collect()
        };
        match inside {
            Inside::Json(json) if leads => {
                self.is_text = true;
                self.cut(json, paths);
                self.is_text = false;
            }
            Inside::Object(members) if leads => {
                for (key, member) in members {
                    self.cut(
                        member,
                        following(&|step| matches!(step, PathStep::Key(it) if it == key)),
                    );
                }
            }
            Inside::List(list) if leads => {
                for (number, run) in list.runs.iter().enumerate() {
                    let next = list.runs.get(number + 1);
                    let items = run.first..next.map_or(list.length, |next| next.first);
                    let end = next.map_or(list.end, |next| next.start);
                    let within = following(&|step| items.contains(&list.index(step)));
                    match &run.only {
                        _ if within.is_empty() => {
                            let by = Piece::Items(items.len(), next.is_some());
                            self.leave_out(&(run.start..end), by);
                        }
                        Some(only) => self.cut(only, within),
                        None => self.keep(end),
                    }
                }
            }
            // Nothing is within a text.
            Inside::Closed(kind) if leads && *kind != Kind::String => self.keep(range.end),
            Inside::ClosedJson if leads => self.keep(range.end),
            inside => self.leave_out(range, Piece::Empty(self.empty(inside.kind()))),
        }
    }

    /// An empty value of a kind.
    fn empty(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Object => "{}",
            Kind::Array => "[]",
            Kind::String if self.is_text => r#"\"\""#,
            Kind::String => r#""""#,
            Kind::Number => "0",
            Kind::Boolean | Kind::Null => "null",
        }
    }
}
