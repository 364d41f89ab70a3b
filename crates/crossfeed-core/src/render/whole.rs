//! A result shown whole: the values as they came, with our fields.

use super::{
    ours::Ours,
    parts::{Surroundings, description},
    subject::{Known, Subject, described, is_metadata, text_of},
    write::separate,
};
use crossfeed_json::{Cursor, Kind, MAX_DEPTH};

/// What is shown of a result that is shown whole, if that is not too long.
pub(super) struct Whole {
    pub(super) json: Vec<u8>,
    /// Whether nothing was left out or described.
    pub(super) complete: bool,
}

/// Writes a result with our fields, in at most `limit` bytes.
pub(super) fn whole<'a>(
    subject: Subject<'a>,
    known: &Known<'a, '_>,
    ours: &Ours,
    limit: usize,
) -> Option<Whole> {
    let mut writer = Writer {
        out: b"{".to_vec(),
        complete: true,
        limit,
        known,
        ours,
    };
    match subject {
        Subject::Members(root) => writer.members(root)?,
        // One level is added.
        Subject::Value(root) if root.written_len() > limit || is_deeper(root, MAX_DEPTH - 1) => {
            return None;
        }
        Subject::Value(root) => {
            writer.put(b"\"value\":")?;
            writer.value(root)?;
        }
        Subject::Text(chars) => {
            writer.put(b"\"text\":")?;
            writer.room(chars.len())?;
            chars.write(&mut writer.out);
        }
        Subject::Opened(chars, opened) => {
            writer.put(b"\"text\":")?;
            writer.room(chars.len())?;
            writer.note_left_out(opened);
            writer.put(&text_of(chars, opened, known.strip))?;
        }
        Subject::Bytes(media_type, bytes) => {
            writer.complete = false;
            writer.put(described(media_type, bytes).as_bytes())?;
        }
        Subject::Mcp(root) => writer.envelope(root)?,
    }
    separate(&mut writer.out);
    writer.put(ours.all.as_bytes())?;
    writer.put(b"}")?;
    Some(Whole {
        complete: writer.complete,
        json: writer.out,
    })
}

/// Whether lists and objects nest deeper than so many levels; that is bounded.
fn is_deeper(value: Cursor<'_>, levels: usize) -> bool {
    match (value.kind(), levels.checked_sub(1)) {
        (Kind::Array | Kind::Object, Some(levels)) => {
            value.items().any(|child| is_deeper(child, levels))
        }
        (Kind::Array | Kind::Object, None) => true,
        _ => false,
    }
}

struct Writer<'a, 'v> {
    out: Vec<u8>,
    complete: bool,
    limit: usize,
    known: &'v Known<'a, 'v>,
    ours: &'v Ours,
}

impl<'a> Writer<'a, '_> {
    fn room(&self, bytes: usize) -> Option<()> {
        (self.out.len().saturating_add(bytes) <= self.limit).then_some(())
    }

    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.room(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Some(())
    }

    fn value(&mut self, value: Cursor<'_>) -> Option<()> {
        self.room(value.written_len())?;
        value.write(&mut self.out);
        Some(())
    }

    fn key(&mut self, member: Cursor<'_>) -> Option<()> {
        separate(&mut self.out);
        self.put(b"\"")?;
        self.put(member.key().raw())?;
        self.put(b"\":")
    }

    /// The members of an object whose internal fields are left out.
    fn members(&mut self, object: Cursor<'a>) -> Option<()> {
        for member in object.items() {
            if !self.is_left_out(member) {
                self.key(member)?;
                self.value(member)?;
            }
        }
        Some(())
    }

    fn is_left_out(&mut self, member: Cursor<'_>) -> bool {
        self.complete &= !self.known.strip.strips_data(member);
        self.known.strip.strips_member(member)
    }

    /// Notes whether data is left out of what a text holds.
    fn note_left_out(&mut self, opened: Cursor<'_>) {
        let policy = self.known.strip;
        let is_data = |member| policy.strips_data(member);
        if opened.kind() == Kind::Object && opened.items().any(is_data) {
            self.complete = false;
        }
    }

    fn envelope(&mut self, root: Cursor<'a>) -> Option<()> {
        if root.get("content").is_none() {
            self.put(b"\"content\":[")?;
            self.put(self.ours.part.as_bytes())?;
            self.put(b"]")?;
        }
        for member in root.items() {
            if self.is_left_out(member) {
                continue;
            }
            self.key(member)?;
            match (&*member.key().text(), member.kind()) {
                ("content", Kind::Array) => self.content(root, member)?,
                ("structuredContent", Kind::Object) => {
                    self.put(b"{")?;
                    self.members(member)?;
                    separate(&mut self.out);
                    self.put(self.ours.id.as_bytes())?;
                    self.put(b"}")?;
                }
                _ => self.value(member)?,
            }
        }
        Some(())
    }

    fn content(&mut self, root: Cursor<'a>, content: Cursor<'a>) -> Option<()> {
        let around = Surroundings::of(root, self.known);
        self.put(b"[")?;
        self.put(self.ours.part.as_bytes())?;
        for (index, part) in content.items().enumerate() {
            if index == 0 && is_metadata(part, self.known) {
                continue;
            }
            self.put(b",")?;
            if let Some(description) = description(part, index, around, self.known) {
                self.complete = false;
                self.put(description.as_bytes())?;
            } else {
                self.part(part)?;
            }
        }
        self.put(b"]")
    }

    /// A part as it came, but for internal fields in the JSON that its text is.
    fn part(&mut self, part: Cursor<'a>) -> Option<()> {
        let Some(text) = part.get("text").filter(|text| text.kind() == Kind::String) else {
            return self.value(part);
        };
        self.room(part.written_len())?;
        let chars = super::text::Chars::of_string(text.raw());
        let Some(opened) = (self.known.open)(text) else {
            return self.value(part);
        };
        self.note_left_out(opened);
        let written = text_of(chars, opened, self.known.strip);
        if written == text.raw() {
            return self.value(part);
        }
        self.put(b"{")?;
        for member in part.items() {
            self.key(member)?;
            if member.raw().as_ptr() == text.raw().as_ptr() {
                self.put(&written)?;
            } else {
                self.value(member)?;
            }
        }
        self.put(b"}")
    }
}
