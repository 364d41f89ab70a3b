//! Where keys of what is never shown could stand: found by a search over bytes, so that what holds
//! none is copied whole.
//!
//! What comes in: names, and JSON as it is written, or texts that hold some. What goes out: the
//! offsets beyond which nobody need look, or the keys of a text. A name stands behind a quote, at any
//! depth of JSON within strings, unless some of it is written as `\u` and four digits: where those
//! stand for printable ASCII, or for what a name holds, the place is suspect, too.
//!
//! One automaton holds all names, so bytes are read once however many there are.

use super::prose::{automaton, forms};
use aho_corasick::AhoCorasick;
use memchr::memmem;

/// Offsets that are kept; where more are found, everything is suspect.
const MOST_OFFSETS: usize = 1 << 20;

/// The search for the keys of never-rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// The key of each pattern, and whether it is never shown wherever it stands.
    keys: Vec<(Box<str>, bool)>,
    /// Finds each behind a quote of either kind.
    search: Option<AhoCorasick>,
    /// Whether a search over JSON cannot tell.
    blind: bool,
    beyond_ascii: bool,
}

/// Where a never-name could stand in some bytes.
#[derive(Debug)]
pub(crate) enum Suspects {
    Everywhere,
    /// Sorted offsets in the document, and the first that the last question did not pass.
    At(Vec<u32>, usize),
}

impl Scan {
    /// The search for these keys, each with whether it is never shown wherever it stands.
    pub(crate) fn of<'a>(keys: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let mut scan = Self::default();
        let mut patterns = Vec::new();
        for (key, anywhere) in keys {
            // These are written with a backslash, or can be.
            let special = |c: char| matches!(c, '"' | '\\' | '/') || c.is_control();
            scan.blind |= anywhere && key.contains(special);
            scan.beyond_ascii |= anywhere && !key.is_ascii();
            for form in forms(key) {
                for quote in ['"', '\''] {
                    patterns.push(format!("{quote}{form}"));
                    scan.keys.push((key.into(), anywhere));
                }
            }
        }
        scan.search = automaton(&patterns);
        scan
    }

    /// Where to look in `raw`, which begins at `base` of its document.
    pub(crate) fn suspects(&self, raw: &[u8], base: usize) -> Suspects {
        let Some(search) = self.search.as_ref().filter(|_| !self.blind) else {
            return Suspects::Everywhere;
        };
        let found = search.find_overlapping_iter(raw).filter(|hit| {
            // Behind a key stands its quote, within a string perhaps escaped.
            let ends = matches!(raw.get(hit.end()), Some(b'"' | b'\'' | b'\\'));
            ends && self.keys[hit.pattern().as_usize()].1
        });
        let escapes = memmem::find_iter(raw, b"\\u").filter(|&at| self.is_suspect_escape(raw, at));
        let offsets = found.map(|hit| hit.start()).chain(escapes);
        // Documents are below 4 GiB.
        let offsets = offsets.map(|at| (base + at) as u32);
        let mut offsets: Vec<u32> = offsets.take(MOST_OFFSETS + 1).collect();
        if offsets.len() > MOST_OFFSETS {
            return Suspects::Everywhere;
        }
        offsets.sort_unstable();
        Suspects::At(offsets, 0)
    }

    /// Whether `is_meant` holds for a key that stands in a text: within quotes and before a colon.
    pub(crate) fn has_key(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let Some(search) = &self.search else {
            // What cannot be searched may hold them all.
            return self.keys.iter().any(|(key, _)| is_meant(key));
        };
        search.find_overlapping_iter(text).any(|hit| {
            let quote = text.get(hit.start()..).and_then(|text| text.chars().next());
            let behind = text.get(hit.end()..).unwrap_or_default();
            let behind = quote.and_then(|quote| behind.strip_prefix(quote));
            behind.is_some_and(|behind| behind.trim_start().starts_with(':'))
                && is_meant(&self.keys[hit.pattern().as_usize()].0)
        })
    }

    /// Whether the escape at `at` could be a part of a name, or of what stands around one. Escapes
    /// that write an escape's own characters are such themselves.
    fn is_suspect_escape(&self, raw: &[u8], at: usize) -> bool {
        let digits = raw.get(at + 2..at + 6).unwrap_or_default();
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        match u32::from_str_radix(digits, 16) {
            Ok(code) if digits.len() == 4 => match code {
                0..0x20 => false,
                0x20..0x80 => true,
                _ => self.beyond_ascii,
            },
            _ => false,
        }
    }
}

impl Suspects {
    /// Whether a name could stand in these bytes of the document.
    pub(crate) fn within(&mut self, start: usize, end: usize) -> bool {
        match self {
            Self::Everywhere => true,
            Self::At(offsets, next) => {
                let before = |offset: &u32| (*offset as usize) < start;
                // Questions mostly follow the order of the document.
                let behind = *next > 0 && offsets.get(*next - 1).is_some_and(|at| !before(at));
                if behind || offsets.get(*next).is_some_and(before) {
                    *next = offsets.partition_point(before);
                }
                offsets.get(*next).is_some_and(|&at| (at as usize) < end)
            }
        }
    }
}
