//! Replacements in a text: a document that is one string.

mod as_written;
mod nearest;

use crate::{
    error::{EditError, EditErrorKind, shortened},
    limits::{Budget, EditLimits, check_operations},
    source::Source,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Kind, Origins, escape_into, unescape};
use memchr::memmem::Finder;
pub use nearest::NearestPassage;
use serde_json::Value;
use std::{borrow::Cow, fmt, ops::Range};

/// Text edits, each made on the outcome of the one before, all or none.
///
/// ```
/// use crossfeed_edit::{EditLimits, TextEdits};
/// use crossfeed_json::Document;
/// use serde_json::json;
///
/// let limits = EditLimits::default();
/// let edits = TextEdits::read(&json!([{"old": "tea", "new": "coffee"}]), &limits)?;
/// let document = Document::new(r#""Caf\u00e9: tea\n""#);
/// let outcome = edits.apply(document.root()?, &limits)?;
/// assert_eq!(outcome, r#""Caf\u00e9: coffee\n""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextEdits {
    edits: Vec<TextEdit>,
}

#[derive(Debug)]
struct TextEdit {
    old: String,
    new: String,
    all: bool,
}

/// A place where a text occurs that must occur once. Those of one error have at most 200 characters in all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occurrence {
    /// Its line, counted from 1.
    pub line: usize,
    /// The text right before it.
    pub before: String,
    /// The text right after it.
    pub after: String,
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            before,
            after,
        } = self;
        write!(f, "line {line}, between {before:?} and {after:?}")
    }
}

/// The occurrences that an error shows.
const SHOWN_OCCURRENCES: usize = 3;

/// The most characters of a text that an error shows.
const SHOWN_CHARS: usize = 200;

impl TextEdits {
    /// Reads a list of `{"old", "new", "all"?}`.
    ///
    /// # Errors
    ///
    /// An [`EditError`] that names the edit: `WrongType`, `MissingMember`, `UnknownMember`, `EmptyOld`,
    /// `SameText`, or `LimitExceeded` for too many edits.
    pub fn read(edits: &Value, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Value(edits), limits)
    }

    /// Reads text edits from a value of a document.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_json(edits: Cursor<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Cursor(edits), limits)
    }

    fn read_source(edits: Source<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        let edits = edits
            .items(limits.operations)
            .ok_or_else(|| edits.wrong("the edit", "a list of text edits"))?;
        check_operations(edits.len(), limits).map_err(EditError::from)?;
        let read = |(index, edit)| read_edit(edit).map_err(|kind: EditErrorKind| kind.of(index));
        let edits = edits.into_iter().enumerate().map(read);
        Ok(Self {
            edits: edits.collect::<Result<_, _>>()?,
        })
    }

    /// The bytes of the string `root` with the edits made. Every byte outside them is as it was: escapes stay
    /// as they are spelled.
    ///
    /// # Errors
    ///
    /// An [`EditError`] that names the edit: `NotText`, `NoOccurrence`, `ManyOccurrences` or `LimitExceeded`.
    pub fn apply(&self, root: Cursor<'_>, limits: &EditLimits) -> Result<Bytes, EditError> {
        check_operations(self.edits.len(), limits).map_err(EditError::from)?;
        let found = root.kind();
        if found != Kind::String {
            return Err(EditErrorKind::NotText { found }.into());
        }
        let quoted = root.raw();
        if let Some(edited) = as_written::edited(quoted, &self.edits, limits) {
            return Ok(edited.into());
        }
        // A document is UTF-8.
        let raw = std::str::from_utf8(&quoted[1..quoted.len() - 1]).unwrap_or_default();
        let mut budget = Budget::new(limits);
        let mut text = EditedText::new(raw);
        for (index, edit) in self.edits.iter().enumerate() {
            text.edit(edit, &mut budget)
                .map_err(|kind| kind.of(index))?;
        }
        if self.edits.is_empty() {
            budget.check_bytes(quoted.len()).map_err(EditError::from)?;
            return Ok(root.shared());
        }
        let out = text.written(&budget).map_err(EditError::from)?;
        Ok(out.into())
    }
}

fn read_edit(edit: Source<'_>) -> Result<TextEdit, EditErrorKind> {
    if edit.kind() != Kind::Object {
        return Err(edit.wrong("a text edit", "an object"));
    }
    let keys = edit.keys();
    let unknown = |key: &&Cow<'_, str>| !matches!(&***key, "old" | "new" | "all");
    if let Some(key) = keys.iter().find(unknown) {
        return Err(EditErrorKind::UnknownMember {
            member: shortened(key),
        });
    }
    let old = edit.required_text("old")?.into_owned();
    let new = edit.required_text("new")?.into_owned();
    let all = match edit.get("all") {
        None => false,
        Some(all) if all.kind() == Kind::Null => false,
        Some(all) => all.flag().ok_or_else(|| all.wrong("all", "a boolean"))?,
    };
    if old.is_empty() {
        return Err(EditErrorKind::EmptyOld);
    }
    if old == new {
        return Err(EditErrorKind::SameText);
    }
    Ok(TextEdit { old, new, all })
}

/// A part of the text that is as it was. There may be millions of them, and no text has 4 GiB.
#[derive(Clone, Copy)]
struct Kept {
    at: u32,
    from: u32,
    len: u32,
}

impl Kept {
    /// A part at `at`, which was at `from` before all edits.
    fn new(at: usize, from: usize, len: usize) -> Self {
        Self {
            at: at as u32,
            from: from as u32,
            len: len as u32,
        }
    }

    /// Where it is in the text.
    fn range(self) -> Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }

    /// Where it was in the text before all edits.
    fn source(self) -> Range<usize> {
        self.from as usize..(self.from + self.len) as usize
    }
}

/// A text in the course of its edits.
struct EditedText<'r> {
    raw: &'r str,
    /// Whether the raw string has escapes.
    is_escaped: bool,
    /// The length of the text before all edits.
    source_len: usize,
    text: Cow<'r, str>,
    /// In their order, which edits do not change.
    kept: Vec<Kept>,
}

impl<'r> EditedText<'r> {
    fn new(raw: &'r str) -> Self {
        let text = unescape(raw);
        let kept = Kept::new(0, 0, text.len());
        Self {
            raw,
            is_escaped: text.len() != raw.len(),
            source_len: text.len(),
            text,
            kept: vec![kept],
        }
    }

    fn edit(&mut self, edit: &TextEdit, budget: &mut Budget) -> Result<(), EditErrorKind> {
        budget.begin_operation()?;
        budget.spend_bytes(self.text.len())?;
        let finder = Finder::new(&edit.old);
        let count = finder.find_iter(self.text.as_bytes()).count();
        if count == 0 {
            let nearest = nearest::nearest(&self.text, &edit.old, budget);
            return Err(EditErrorKind::NoOccurrence { nearest });
        }
        if count > 1 && !edit.all {
            let first = self.occurrences(&finder, edit, count);
            return Err(EditErrorKind::ManyOccurrences { count, first });
        }
        let added = count.saturating_mul(edit.new.len());
        let len = (self.text.len() - count * edit.old.len()).saturating_add(added);
        budget.check_bytes(len)?;
        budget.spend(count + self.kept.len() / 8)?;
        budget.spend_bytes(len)?;
        let mut next = NextText {
            before: &self.text,
            kept_before: &self.kept,
            text: String::with_capacity(len),
            kept: Vec::with_capacity(self.kept.len() + count),
        };
        let mut at = 0;
        for found in finder.find_iter(self.text.as_bytes()) {
            next.keep(at..found);
            next.text.push_str(&edit.new);
            at = found + edit.old.len();
        }
        next.keep(at..self.text.len());
        let NextText { text, kept, .. } = next;
        (self.text, self.kept) = (Cow::Owned(text), kept);
        Ok(())
    }

    /// The first occurrences, with as much around them as an error shows.
    fn occurrences(&self, finder: &Finder<'_>, edit: &TextEdit, count: usize) -> Vec<Occurrence> {
        let shown = count.min(SHOWN_OCCURRENCES);
        let chars = SHOWN_CHARS / shown / 2;
        let first = finder.find_iter(self.text.as_bytes()).take(shown);
        let show = |at: usize| {
            let (before, rest) = self.text.split_at(at);
            let after = &rest[edit.old.len()..];
            let start = before.char_indices().rev().take(chars).last();
            Occurrence {
                line: line(before),
                before: start.map_or("", |(start, _)| &before[start..]).to_owned(),
                after: after.chars().take(chars).collect(),
            }
        };
        first.map(show).collect()
    }

    /// The JSON string of the text.
    fn written(&self, budget: &Budget) -> Result<Vec<u8>, EditErrorKind> {
        let mut origins = self.is_escaped.then(|| Origins::new(self.raw));
        let mut origin = |offset| match &mut origins {
            Some(_) if offset == self.source_len => self.raw.len(),
            Some(origins) => origins.raw_offset(offset),
            None => offset,
        };
        let mut out = Vec::with_capacity(self.text.len() + self.text.len() / 16 + 2);
        out.push(b'"');
        let mut at = 0;
        for kept in &self.kept {
            let (here, source) = (kept.range(), kept.source());
            write_new(&self.text[at..here.start], &mut out, budget)?;
            let is_joined = at == here.start;
            at = here.end;
            let start = origin(source.start);
            let mut raw = &self.raw[start..origin(source.end)];
            if is_joined && makes_pair(&self.text[..here.start], &out, raw) {
                // Each reads as U+FFFD; side by side they would be another character.
                out.extend_from_slice("\u{fffd}".as_bytes());
                raw = &raw[ESCAPE..];
            }
            out.extend_from_slice(raw.as_bytes());
            budget.check_bytes(out.len() + 1)?;
        }
        write_new(&self.text[at..], &mut out, budget)?;
        out.push(b'"');
        budget.check_bytes(out.len())?;
        Ok(out)
    }
}

/// The length of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Whether an edit brings the two halves of a surrogate pair together that were apart.
fn makes_pair(before: &str, out: &[u8], raw: &str) -> bool {
    let unit = |escape: &[u8]| {
        let hex = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
        u16::from_str_radix(hex, 16).ok()
    };
    let high = out
        .len()
        .checked_sub(ESCAPE)
        .and_then(|at| unit(&out[at..]));
    let low = raw.as_bytes().get(..ESCAPE).and_then(unit);
    // The last character decides whether these bytes are an escape: `\\ud83d` ends with a `d`.
    before.ends_with('\u{fffd}')
        && high.is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
        && low.is_some_and(|unit| (0xdc00..0xe000).contains(&unit))
}

/// Writes text that an edit brought, in pieces, so that a limit ends it early.
fn write_new(mut text: &str, out: &mut Vec<u8>, budget: &Budget) -> Result<(), EditErrorKind> {
    const PIECE: usize = 1 << 16;
    while !text.is_empty() {
        let (piece, rest) = text.split_at(floor(text, PIECE));
        escape_into(out, piece);
        budget.check_bytes(out.len() + 1)?;
        text = rest;
    }
    Ok(())
}

/// The greatest offset of a character in a text, or its end, that is at most `at`.
fn floor(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    // A character has at most four bytes.
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The line after a text, counted from 1.
fn line(before: &str) -> usize {
    bytecount::count(before.as_bytes(), b'\n') + 1
}

/// The text after an edit, as far as it is built.
struct NextText<'t> {
    before: &'t str,
    /// What is not passed yet.
    kept_before: &'t [Kept],
    text: String,
    kept: Vec<Kept>,
}

impl NextText<'_> {
    /// Takes over a part of the text before.
    fn keep(&mut self, range: Range<usize>) {
        let shift = self.text.len();
        self.text.push_str(&self.before[range.clone()]);
        while let [first, rest @ ..] = self.kept_before {
            let part = first.range();
            let (start, end) = (part.start.max(range.start), part.end.min(range.end));
            if start < end {
                let at = shift + (start - range.start);
                let from = first.source().start + (start - part.start);
                self.kept.push(Kept::new(at, from, end - start));
            }
            if part.end > range.end {
                break;
            }
            self.kept_before = rest;
        }
    }
}
