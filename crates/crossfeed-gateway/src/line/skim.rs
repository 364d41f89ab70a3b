//! Reads a message that is too large to be held, and keeps only what is needed to answer it.

use crate::message::{Id, Kind};
use serde_json::Value;

/// A key or an id longer than this is not held: no key of the envelope is, and an id that is cannot be
/// answered to.
const MAX_HELD_BYTES: usize = 1024;

/// What was seen of a message that was not held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageSummary {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its id, where it has one.
    pub id: Option<Id>,
    /// What it seems to be: it was not checked as JSON.
    pub kind: Option<Kind>,
}

/// Where in the text the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexState {
    /// Between tokens, or in a number or a word.
    #[default]
    Outside,
    /// In a string.
    Quoted,
    /// Behind a backslash in a string.
    Escaped,
}

/// Which member of the outermost object the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    Key,
    Id,
    #[default]
    Other,
}

/// Reads a message in pieces, and holds nothing of it but its id.
///
/// Only the outermost object is looked at: an `id` in the parameters or the result is data.
#[derive(Debug, Default)]
pub struct Skim {
    bytes: u64,
    depth: usize,
    at: LexState,
    part: Part,
    /// The key or the id that is being read; `None` once it is too long.
    held: Option<Vec<u8>>,
    /// The outermost value is an object.
    is_object: bool,
    id: Option<Id>,
    ids: usize,
    method: bool,
    result: bool,
    error: bool,
}

impl Skim {
    /// What a whole message says.
    pub fn whole(message: &[u8]) -> MessageSummary {
        let mut skim = Self::default();
        skim.feed(message);
        skim.finish()
    }

    /// Reads on.
    pub fn feed(&mut self, mut piece: &[u8]) {
        self.bytes += piece.len() as u64;
        while let Some((&byte, behind)) = piece.split_first() {
            // Nearly all of a large message is text in strings: what ends it is looked for at once.
            if self.at == LexState::Quoted {
                let text = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
                if text > 0 {
                    self.hold(&piece[..text]);
                    piece = &piece[text..];
                    continue;
                }
            }
            piece = behind;
            match self.at {
                LexState::Escaped => {
                    self.hold(&[byte]);
                    self.at = LexState::Quoted;
                }
                LexState::Quoted => {
                    self.hold(&[byte]);
                    self.at = match byte {
                        b'"' => LexState::Outside,
                        _ => LexState::Escaped,
                    };
                }
                LexState::Outside => self.outside(byte),
            }
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.at = LexState::Quoted;
                self.hold(b"\"");
            }
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.is_object = byte == b'{';
                    self.begin(Part::Key);
                } else if self.depth == 1 {
                    // A list or an object is not an id.
                    self.held = None;
                }
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.member_ends();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.part == Part::Key => self.key_ends(),
            b',' if self.depth == 1 => {
                self.member_ends();
                self.begin(Part::Key);
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.hold(&[byte]),
        }
    }

    fn begin(&mut self, part: Part) {
        self.part = part;
        self.held = Some(Vec::new());
    }

    fn hold(&mut self, text: &[u8]) {
        if self.depth != 1 || self.part == Part::Other {
            return;
        }
        match &mut self.held {
            Some(held) if held.len() + text.len() <= MAX_HELD_BYTES => held.extend_from_slice(text),
            held => *held = None,
        }
    }

    fn key_ends(&mut self) {
        let held = self.held.take().unwrap_or_default();
        let key = serde_json::from_slice::<String>(&held).unwrap_or_default();
        match key.as_str() {
            "id" => return self.begin(Part::Id),
            "method" => self.method = true,
            "result" => self.result = true,
            "error" => self.error = true,
            _ => {}
        }
        self.part = Part::Other;
    }

    fn member_ends(&mut self) {
        if self.part == Part::Id {
            self.ids += 1;
            let text = self.held.take().unwrap_or_default();
            let is_json = serde_json::from_slice::<Value>(&text).is_ok();
            self.id = Id::parse(text.into()).filter(|_| is_json);
        }
        self.part = Part::Other;
    }

    /// What was read, once nothing comes any more.
    pub fn finish(self) -> MessageSummary {
        // Two ids are ambiguous.
        let id = self.id.filter(|_| self.is_object && self.ids == 1);
        let kind = match (self.method, self.result, self.error) {
            _ if !self.is_object => None,
            (true, false, false) if self.ids > 0 => Some(Kind::Request),
            (true, false, false) => Some(Kind::Notification),
            (false, true, false) => Some(Kind::Response),
            (false, false, true) => Some(Kind::Error),
            _ => None,
        };
        MessageSummary {
            bytes: self.bytes,
            id,
            kind,
        }
    }
}
