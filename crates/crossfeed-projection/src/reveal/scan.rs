//! Where a never-name could stand: found by a search over raw bytes, so that what holds none is
//! copied whole.
//!
//! What comes in: names, and JSON as it is written. What goes out: the offsets beyond which nobody
//! need look. A name stands behind a quote, at any depth of JSON within strings, unless some of it is
//! written as `\u` and four digits: where those stand for printable ASCII, or for what a name holds,
//! the place is suspect, too.

use memchr::memmem::{self, Finder};

/// With more names than this a search for each would cost more than looking at every key.
const MOST_NAMES: usize = 16;
/// Offsets that are kept; where more are found, everything is suspect.
const MOST_OFFSETS: usize = 1 << 20;

/// The search for some names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// Each name behind a quote.
    needles: Vec<Finder<'static>>,
    /// Whether a search cannot tell.
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
    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut scan = Self::default();
        for name in names {
            // These are written with a backslash, or can be.
            let special = |c: char| matches!(c, '"' | '\\' | '/') || c.is_control();
            scan.blind |= scan.needles.len() == MOST_NAMES || name.contains(special);
            scan.beyond_ascii |= !name.is_ascii();
            if !scan.blind {
                let needle = format!("\"{name}");
                scan.needles
                    .push(Finder::new(needle.as_bytes()).into_owned());
            }
        }
        scan
    }

    /// Where to look in `raw`, which begins at `base` of its document.
    pub(crate) fn suspects(&self, raw: &[u8], base: usize) -> Suspects {
        if self.blind {
            return Suspects::Everywhere;
        }
        let mut offsets = Vec::new();
        for needle in &self.needles {
            let len = needle.needle().len();
            // Behind a key stands its quote, within a string perhaps escaped.
            let ends = |at: &usize| matches!(raw.get(at + len), Some(b'"' | b'\\'));
            let found = needle.find_iter(raw).filter(ends);
            let room = MOST_OFFSETS + 1 - offsets.len().min(MOST_OFFSETS);
            // Documents are below 4 GiB.
            offsets.extend(found.take(room).map(|at| (base + at) as u32));
        }
        let room = MOST_OFFSETS + 1 - offsets.len().min(MOST_OFFSETS);
        let escapes = memmem::find_iter(raw, b"\\u").filter(|&at| self.is_suspect_escape(raw, at));
        offsets.extend(escapes.take(room).map(|at| (base + at) as u32));
        if offsets.len() > MOST_OFFSETS {
            return Suspects::Everywhere;
        }
        offsets.sort_unstable();
        Suspects::At(offsets, 0)
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
