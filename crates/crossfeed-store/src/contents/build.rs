//! Makes the contents of a document.

use super::{Contents, Inside, Large, List, Run};
use crate::Digest;
use crossfeed_json::{Cursor, Document, Kind, Origins};

/// No block, and no part that can be left out, is smaller.
const MIN_BLOCK: usize = 32 << 10;
/// The most blocks of a document.
const MAX_BLOCKS: usize = 128;
/// The most large values and runs of a document.
const MAX_ENTRIES: usize = 256;
/// How deep a large value may lie.
pub(super) const MAX_LEVELS: usize = 16;
/// The longest key of a large value.
const MAX_KEY: usize = 128;

impl Contents {
    /// The contents of a document; `None` if it is small or not JSON, or has a key twice in an object. Its index is
    /// built, if it was not yet.
    pub fn of(document: &Document) -> Option<Self> {
        Self::in_blocks(document, MIN_BLOCK)
    }

    /// The same in blocks of at least so many bytes, instead of 32 KiB.
    pub fn in_blocks(document: &Document, smallest: usize) -> Option<Self> {
        let raw = document.raw();
        if raw.len() < 4 * smallest {
            return None;
        }
        let root = document.root().ok()?;
        if root.document_has_duplicates() {
            return None;
        }
        let block = smallest.max(raw.len().div_ceil(MAX_BLOCKS));
        let mut builder = Builder {
            large: block,
            left: MAX_ENTRIES,
            is_text: false,
        };
        let root = builder.large(root, MAX_LEVELS);
        if matches!(root.inside, Inside::Closed(_) | Inside::ClosedJson) {
            return None;
        }
        Some(Self {
            length: raw.len(),
            block,
            digests: raw.chunks(block).map(Digest::of).collect(),
            root,
        })
    }
}

struct Builder {
    /// What is longer is large.
    large: usize,
    /// How many more entries there may be.
    left: usize,
    is_text: bool,
}

impl Builder {
    fn is_large(&self, value: Cursor<'_>) -> bool {
        value.raw().len() > self.large
    }

    fn large(&mut self, value: Cursor<'_>, levels: usize) -> Large {
        let start = value.offset();
        let left = self.left;
        let opened = match (levels.checked_sub(1), value.kind()) {
            (Some(levels), Kind::Object) => self.object(value, levels),
            (Some(levels), Kind::Array) => self.list(value, levels),
            (_, Kind::String) => self.text(value, levels),
            _ => None,
        };
        if opened.is_none() {
            self.left = left;
        }
        Large {
            range: start..start + value.raw().len(),
            inside: opened.unwrap_or(Inside::Closed(value.kind())),
        }
    }

    fn object(&mut self, object: Cursor<'_>, levels: usize) -> Option<Inside> {
        let members = || object.members().filter(|(_, value)| self.is_large(*value));
        let bytes: usize = members().map(|(_, value)| value.raw().len()).sum();
        let members: Vec<_> = members().collect();
        if object.raw().len() - bytes > self.large
            || members.iter().any(|(key, _)| key.raw().len() > MAX_KEY)
        {
            return None;
        }
        self.left = self.left.checked_sub(members.len())?;
        let members = members.into_iter();
        let members = members.map(|(key, value)| (key.text().into(), self.large(value, levels)));
        Some(Inside::Object(members.collect()))
    }

    fn list(&mut self, list: Cursor<'_>, levels: usize) -> Option<Inside> {
        let mut runs: Vec<Run> = Vec::new();
        let (mut is_full, mut end) = (true, 0);
        for (first, item) in list.items().enumerate() {
            let (start, is_large) = (item.offset(), self.is_large(item));
            if is_full || is_large {
                self.left = self.left.checked_sub(1)?;
                let only = is_large.then(|| self.large(item, levels));
                runs.push(Run { first, start, only });
            }
            end = start + item.raw().len();
            is_full = is_large || end - runs.last()?.start > self.large;
        }
        let length = list.len().filter(|length| *length > 0)?;
        Some(Inside::List(List { length, runs, end }))
    }

    fn text(&mut self, text: Cursor<'_>, levels: usize) -> Option<Inside> {
        let inside = text.raw().get(1..text.raw().len() - 1)?;
        let inside = std::str::from_utf8(inside).ok()?;
        let may_open = inside.trim_start().starts_with(['{', '[', '\\']);
        if !may_open {
            return None;
        }
        if self.is_text {
            return Some(Inside::ClosedJson);
        }
        let document = Document::new(text.as_str()?.into_owned());
        let root = document.root().ok()?;
        // A text in a text may be JSON, too.
        if !matches!(root.kind(), Kind::Array | Kind::Object) {
            return Some(Inside::ClosedJson);
        }
        if root.document_has_duplicates() || !self.is_large(root) {
            return Some(Inside::ClosedJson);
        }
        self.is_text = true;
        let mut json = self.large(root, levels);
        self.is_text = false;
        if matches!(json.inside, Inside::Closed(_)) {
            return Some(Inside::ClosedJson);
        }
        let mut origins = Origins::new(inside);
        let before = text.offset() + 1;
        json.move_to(&mut |offset| before + origins.raw_offset(offset));
        Some(Inside::Json(Box::new(json)))
    }
}

impl Large {
    /// Moves all places, in ascending order.
    fn move_to(&mut self, to: &mut impl FnMut(usize) -> usize) {
        self.range.start = to(self.range.start);
        match &mut self.inside {
            Inside::Closed(_) | Inside::ClosedJson => {}
            Inside::Object(members) => {
                for (_, member) in members {
                    member.move_to(to);
                }
            }
            Inside::List(list) => {
                for run in &mut list.runs {
                    run.start = to(run.start);
                    if let Some(only) = &mut run.only {
                        only.move_to(to);
                    }
                }
                list.end = to(list.end);
            }
            Inside::Json(json) => json.move_to(to),
        }
        self.range.end = to(self.range.end);
    }
}
