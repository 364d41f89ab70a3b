//! Contents as bytes.
//!
//! The format, 1; then the length of the document and of a block, the digests of the blocks, and the root. A large value
//! is a letter, its place, what is inside of it, and where it ends; a place is how many bytes it is behind the one before.
//! Numbers have seven bits in each byte, the lowest ones first, and the eighth where more follow.

use super::{Contents, Inside, Large, List, Run, build::MAX_LEVELS};
use crate::Digest;
use crossfeed_json::Kind;

const FORMAT: u8 = 1;
const CLOSED: [(u8, Kind); 6] = [
    (b'0', Kind::Null),
    (b'b', Kind::Boolean),
    (b'n', Kind::Number),
    (b's', Kind::String),
    (b'l', Kind::Array),
    (b'o', Kind::Object),
];

impl Contents {
    /// The contents as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder {
            bytes: vec![FORMAT],
            at: 0,
        };
        encoder.number(self.length);
        encoder.number(self.block);
        for digest in &self.digests {
            encoder.bytes.extend(digest.as_bytes());
        }
        encoder.large(&self.root);
        encoder.bytes
    }

    /// Reads what [`Self::encode`] wrote; `None` for anything else, as of a later version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (FORMAT, rest) = bytes.split_first().map(|(format, rest)| (*format, rest))? else {
            return None;
        };
        let mut decoder = Decoder {
            rest,
            at: 0,
            length: 0,
        };
        let length = decoder.number()?;
        let is_long = length > isize::MAX as usize / 2;
        let block = decoder.number()?;
        if is_long || block == 0 || block > length {
            return None;
        }
        decoder.length = length;
        let blocks = length.div_ceil(block);
        let digests = decoder.take(blocks.checked_mul(Digest::BYTES)?)?;
        let digests = digests.chunks(Digest::BYTES).map(Digest::try_from);
        let digests = digests.collect::<Result<_, _>>().ok()?;
        // A text may be around the rest.
        let root = decoder.large(MAX_LEVELS + 2)?;
        decoder.rest.is_empty().then_some(Self {
            length,
            block,
            digests,
            root,
        })
    }
}

struct Encoder {
    bytes: Vec<u8>,
    at: usize,
}

impl Encoder {
    fn number(&mut self, mut number: usize) {
        while number > 0x7f {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn place(&mut self, at: usize) {
        self.number(at - self.at);
        self.at = at;
    }

    fn large(&mut self, large: &Large) {
        let closed = |kind| CLOSED.iter().find(|(_, it)| *it == kind);
        self.bytes.push(match &large.inside {
            Inside::Closed(kind) => closed(*kind).map_or(b'j', |(letter, _)| *letter),
            Inside::ClosedJson => b'j',
            Inside::Object(_) => b'O',
            Inside::List(_) => b'L',
            Inside::Json(_) => b'J',
        });
        self.place(large.range.start);
        match &large.inside {
            Inside::Closed(_) | Inside::ClosedJson => {}
            Inside::Object(members) => {
                self.number(members.len());
                for (key, member) in members {
                    self.number(key.len());
                    self.bytes.extend(key.as_bytes());
                    self.large(member);
                }
            }
            Inside::List(list) => {
                self.number(list.length);
                self.number(list.runs.len());
                let mut before = 0;
                for run in &list.runs {
                    self.number(run.first - before);
                    before = run.first;
                    self.place(run.start);
                    self.bytes.push(u8::from(run.only.is_some()));
                    if let Some(only) = &run.only {
                        self.large(only);
                    }
                }
                self.place(list.end);
            }
            Inside::Json(json) => self.large(json),
        }
        self.place(large.range.end);
    }
}

struct Decoder<'b> {
    rest: &'b [u8],
    at: usize,
    /// The length of the document.
    length: usize,
}

impl<'b> Decoder<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f).checked_mul(1 << shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn place(&mut self) -> Option<usize> {
        let at = self.at.checked_add(self.number()?)?;
        self.at = at;
        (at <= self.length).then_some(at)
    }

    fn large(&mut self, levels: usize) -> Option<Large> {
        let levels = levels.checked_sub(1)?;
        let letter = self.byte()?;
        let start = self.place()?;
        let inside = match letter {
            b'j' => Inside::ClosedJson,
            b'O' => Inside::Object(self.members(levels)?),
            b'L' => Inside::List(self.list(levels)?),
            b'J' => Inside::Json(Box::new(self.large(levels)?)),
            letter => Inside::Closed(CLOSED.iter().find(|(it, _)| *it == letter)?.1),
        };
        let range = start..self.place()?;
        Some(Large { range, inside })
    }

    fn members(&mut self, levels: usize) -> Option<Vec<(Box<str>, Large)>> {
        let mut members = Vec::new();
        for _ in 0..self.number()? {
            let length = self.number()?;
            let key = std::str::from_utf8(self.take(length)?).ok()?;
            members.push((key.into(), self.large(levels)?));
        }
        Some(members)
    }

    fn list(&mut self, levels: usize) -> Option<List> {
        let length = self.number().filter(|items| *items <= self.length)?;
        let mut runs: Vec<Run> = Vec::new();
        for number in 0..self.number()? {
            let ahead = self.number()?;
            let before = runs.last().map_or(0, |run| run.first);
            let first = before.checked_add(ahead)?;
            // The first begins with the first item, and none is empty.
            if (number == 0) != (ahead == 0) || first >= length {
                return None;
            }
            let start = self.place()?;
            let only = match self.byte()? {
                0 => None,
                _ => Some(self.large(levels)?),
            };
            runs.push(Run { first, start, only });
        }
        let end = self.place()?;
        (!runs.is_empty()).then_some(List { length, runs, end })
    }
}
