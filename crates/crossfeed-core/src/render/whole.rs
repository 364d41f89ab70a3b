//! A result shown whole: the values as they came, with our fields.
//!
//! Nothing in it reads like a line of a preview: in the text of a part, imitations carry a mark; in any other
//! string, their bracket is escaped.

use super::{
    internal_fields::InternalFields,
    notice::{is_escaped, may_hold_notices, put_escaped, without_notices},
    parts::{EnvelopeInfo, description},
    subject::{RenderContext, Subject, described, is_metadata, text_of},
    text::{Chars, SHORT},
    write::separate,
};
use crossfeed_json::{Cursor, Document, Edits, Kind, MAX_DEPTH, quoted};

/// Whether blanks between tokens of JSON are written, also in JSON within texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blanks {
    Kept,
    LeftOut,
}

/// A result with our fields, in at most `limit` bytes, and whether nothing was left out or described.
pub(super) fn whole<'a>(
    subject: Subject<'a>,
    known: &RenderContext<'a, '_>,
    ours: &InternalFields,
    blanks: Blanks,
    limit: usize,
) -> Option<(String, bool)> {
    let mut writer = Writer {
        out: b"{".to_vec(),
        complete: true,
        limit,
        known,
        ours,
        blanks,
    };
    match subject {
        Subject::Value(root) if root.kind() == Kind::Object => writer.members(root)?,
        Subject::Value(root) => writer.only_value(root)?,
        Subject::Opened(_, opened) if blanks == Blanks::LeftOut => writer.only_value(opened)?,
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
    if is_escaped(&writer.out) {
        let written = std::mem::take(&mut writer.out);
        put_escaped(&written, &mut writer.out);
        writer.room(0)?;
    }
    Some((String::from_utf8(writer.out).ok()?, writer.complete))
}

struct Writer<'a, 'v> {
    out: Vec<u8>,
    complete: bool,
    limit: usize,
    known: &'v RenderContext<'a, 'v>,
    ours: &'v InternalFields,
    blanks: Blanks,
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
        match self.blanks {
            Blanks::Kept => {
                self.room(value.written_len())?;
                value.write(&mut self.out);
            }
            Blanks::LeftOut => {
                value.write_compact(&mut self.out);
                self.room(0)?;
            }
        }
        Some(())
    }

    /// The value of a result that has no fields of its own: wrapped in an object.
    fn only_value(&mut self, value: Cursor<'a>) -> Option<()> {
        let is_long = self.blanks == Blanks::Kept && value.written_len() > self.limit;
        if is_long || value.is_deeper(MAX_DEPTH - 1) {
            return None;
        }
        self.put(b"\"value\":")?;
        if self.blanks == Blanks::LeftOut && value.kind() == Kind::Object {
            return self.object(value);
        }
        self.value(value)
    }

    /// An object without its internal fields.
    fn object(&mut self, object: Cursor<'a>) -> Option<()> {
        self.put(b"{")?;
        self.members(object)?;
        self.put(b"}")
    }

    fn key(&mut self, member: Cursor<'_>) -> Option<()> {
        separate(&mut self.out);
        self.put(b"\"")?;
        self.put(member.key().raw())?;
        self.put(b"\":")
    }

    /// The members of an object without its internal fields.
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

    /// Records whether data is left out of the JSON in a text.
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
        let around = EnvelopeInfo::new(root, self.known);
        self.put(b"[")?;
        self.put(self.ours.part.as_bytes())?;
        for (index, part) in content.items().enumerate() {
            if index == 0 && is_metadata(part, self.known) {
                continue;
            }
            self.put(b",")?;
            if let Some(description) = description(part, index, around, self.known) {
                self.complete = false;
                let description = without_notices(&description).unwrap_or(description);
                let part = format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&description));
                self.put(part.as_bytes())?;
            } else {
                let begin = self.out.len();
                self.part(part)?;
                self.mark_part(begin)?;
            }
        }
        self.put(b"]")
    }

    /// A part unchanged, except for internal fields in the JSON of its text, and for blanks.
    fn part(&mut self, part: Cursor<'a>) -> Option<()> {
        let resource = part.get("resource");
        let resource = resource.filter(|_| self.blanks == Blanks::LeftOut);
        let text_of = |part: Cursor<'a>| part.get("text").filter(|own| own.kind() == Kind::String);
        if let Some(text) = text_of(part) {
            return self.part_with(part, text, None);
        }
        match resource.and_then(text_of) {
            Some(text) => self.part_with(part, text, resource),
            None => self.value(part),
        }
    }

    /// Marks imitations of our lines in the texts of the part that was written last.
    fn mark_part(&mut self, begin: usize) -> Option<()> {
        let written = self.out.get(begin..).unwrap_or_default();
        if !may_hold_notices(written) {
            return Some(());
        }
        let document = Document::new(written.to_vec());
        let mut edits = Edits::new(document.raw());
        let part = document.root().ok();
        let resource = part.and_then(|part| part.get("resource"));
        for holder in part.into_iter().chain(resource) {
            let text = holder.get("text");
            let marked = text.and_then(|own| Some((own, without_notices(&own.as_str()?)?)));
            if let Some((own, marked)) = marked {
                edits.replace(own, quoted(&marked));
            }
        }
        let marked = edits.done();
        self.out.truncate(begin);
        self.put(&marked)
    }

    /// An object that holds the text of a part, or holds `resource`, which does.
    fn part_with(
        &mut self,
        part: Cursor<'a>,
        text: Cursor<'a>,
        resource: Option<Cursor<'a>>,
    ) -> Option<()> {
        self.room(match self.blanks {
            Blanks::Kept => part.written_len(),
            Blanks::LeftOut => 0,
        })?;
        let Some(written) = self
            .text_without(text)
            .filter(|written| written != text.raw())
        else {
            return self.value(part);
        };
        let is = |own: Cursor<'_>, other: Cursor<'_>| own.offset() == other.offset();
        self.put(b"{")?;
        for member in part.items() {
            self.key(member)?;
            if is(member, text) {
                self.put(&written)?;
            } else if resource.is_some_and(|resource| is(member, resource)) {
                self.part_with(member, text, None)?;
            } else {
                self.value(member)?;
            }
        }
        self.put(b"}")
    }

    /// A part's text that holds JSON, as a JSON string without stripped fields, and without blanks if those
    /// are left out; `None` for any other text.
    fn text_without(&mut self, text: Cursor<'a>) -> Option<Vec<u8>> {
        let is_short = self.blanks == Blanks::LeftOut && text.raw().len() <= SHORT;
        let opened = (self.known.open)(text).filter(|_| !is_short)?;
        if self.blanks == Blanks::Kept {
            self.note_left_out(opened);
            let chars = Chars::from_string(text.raw());
            return Some(text_of(chars, opened, self.known.strip));
        }
        let outside = std::mem::take(&mut self.out);
        let done = match opened.kind() {
            Kind::Object => self.object(opened),
            _ => self.value(opened),
        };
        let inside = std::mem::replace(&mut self.out, outside);
        done?;
        // JSON is UTF-8.
        Some(quoted(&String::from_utf8(inside).unwrap_or_default()).into_bytes())
    }
}
