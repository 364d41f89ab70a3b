//! Strips the value of an attribute or a body, wherever it comes from.
//!
//! A value of a span, of a log record or of OTLP/JSON is a [`Node`]; it leaves unchanged, leaves
//! changed, or is dropped. `policy` decides what each text loses.
//!
//! # Rules
//!
//! - The policy sees texts as they are, bytes as text, and numbers and flags as they are spelled.
//! - It sees the items of a list one by one; a list of only numbers and flags as its JSON. A digest covers
//!   the whole list.
//! - It sees a map as a JSON object with sorted keys.
//! - What was not stripped keeps its kind and its order.
//! - Values deeper than [`MAX_DEPTH`] levels are withheld: no receiver of OTLP reads that far, and writing
//!   them would take an unbounded stack.

use crate::{Outcome, Reader};
use crossfeed_json::{Cursor, Document, Kind, MAX_DEPTH, is_number, quoted};
use crossfeed_projection::WITHHELD;
use std::borrow::Cow;

/// A value, wherever it stands.
pub(crate) trait Node<'v>: Copy {
    fn form(self) -> Form<'v, Self>;
}

/// What a value is.
pub(crate) enum Form<'v, N> {
    Text(Cow<'v, str>),
    /// Bytes, as the text that a lenient reader takes them for.
    Bytes(Cow<'v, str>),
    /// A number or a flag, as it is spelled.
    Scalar(Cow<'v, str>),
    Empty,
    List(Vec<N>),
    Map(Vec<(Cow<'v, str>, N)>),
    /// A kind of a later version, or malformed: it may hold anything.
    Unknown,
}

/// What stripping makes of a value.
pub(crate) enum StripResult<N> {
    Unchanged,
    Changed(NewValue<N>),
    Dropped,
}

impl<N> StripResult<N> {
    pub(crate) const fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }
}

/// The value that leaves instead.
pub(crate) enum NewValue<N> {
    /// The original value.
    Same(N),
    Text(String),
    Bytes(String),
    /// A number or a flag, as JSON spells it.
    Scalar(String),
    Empty,
    List {
        items: Vec<NewValue<N>>,
        /// The items do not match the original ones by position.
        is_cut: bool,
    },
    Map(Vec<(String, NewValue<N>)>),
}

/// Strips the value of the attribute with this name.
pub(crate) fn strip_value<'v, N: Node<'v>>(
    reader: &Reader<'_>,
    attribute: &str,
    value: N,
) -> StripResult<N> {
    let form = value.form();
    let is_list = matches!(form, Form::List(_));
    let before_digest = is_list.then(|| reader.before_digest(attribute)).flatten();
    let mut stripper = ValueStripper {
        reader: before_digest.as_ref().unwrap_or(reader),
        attribute,
        json: before_digest.is_some().then(String::new),
    };
    let Some(remainder) = stripper.any(value, form, 0) else {
        return StripResult::Dropped;
    };
    let digest = stripper
        .json
        .map(|json| NewValue::Text(reader.digest(&json)));
    digest
        .or(remainder.new)
        .map_or(StripResult::Unchanged, StripResult::Changed)
}

/// A value after stripping.
struct Remainder<N> {
    /// What leaves instead; `None` if the value is unchanged.
    new: Option<NewValue<N>>,
    /// The bytes of its texts.
    size: usize,
}

impl<N> Remainder<N> {
    const fn unchanged(size: usize) -> Self {
        Self { new: None, size }
    }
}

struct ValueStripper<'a> {
    reader: &'a Reader<'a>,
    attribute: &'a str,
    /// The stripped value as JSON, for a digest.
    json: Option<String>,
}

impl ValueStripper<'_> {
    /// Strips a value; `None` if the whole attribute must be dropped. Recursion ends at [`MAX_DEPTH`] levels.
    fn any<'v, N: Node<'v>>(
        &mut self,
        value: N,
        form: Form<'v, N>,
        level: usize,
    ) -> Option<Remainder<N>> {
        match form {
            Form::Unknown => None,
            Form::Empty => {
                self.spell("null");
                Some(Remainder::unchanged(1))
            }
            Form::Text(text) => self.text(&text, quoted, NewValue::Text),
            Form::Bytes(text) => self.text(&text, quoted, NewValue::Bytes),
            Form::Scalar(word) => self.text(&word, scalar, NewValue::Text),
            Form::List(_) | Form::Map(_) if level == MAX_DEPTH => {
                self.spell(&quoted(WITHHELD));
                Some(Remainder {
                    new: Some(NewValue::Text(WITHHELD.to_owned())),
                    size: WITHHELD.len(),
                })
            }
            Form::List(items) => self.list(items, level),
            Form::Map(_) => self.map(value, level),
        }
    }

    fn spell(&mut self, json: &str) {
        if let Some(out) = &mut self.json {
            out.push_str(json);
        }
    }

    fn text<N>(
        &mut self,
        text: &str,
        spelled: fn(&str) -> String,
        new: fn(String) -> NewValue<N>,
    ) -> Option<Remainder<N>> {
        let instead = match self.reader.strip(self.attribute, text) {
            Outcome::Unchanged => None,
            Outcome::Text(text) => Some(text),
            Outcome::Dropped => return None,
        };
        if self.json.is_some() {
            self.spell(&instead.as_deref().map_or_else(|| spelled(text), quoted));
        }
        Some(Remainder {
            size: instead.as_deref().unwrap_or(text).len().max(1),
            new: instead.map(new),
        })
    }

    fn list<'v, N: Node<'v>>(&mut self, items: Vec<N>, level: usize) -> Option<Remainder<N>> {
        if let Some(json) = scalars(&items) {
            return self.text(&json, str::to_owned, NewValue::Text);
        }
        self.spell("[");
        let mut stripped = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.spell(if index > 0 { "," } else { "" });
            stripped.push(self.any(*item, item.form(), level + 1)?);
        }
        self.spell("]");
        let note = self
            .reader
            .max_bytes()
            .and_then(|most| cut(&mut stripped, most));
        let is_cut = note.is_some();
        let size = total_size(&stripped).saturating_add(note.as_ref().map_or(0, String::len));
        if !is_cut && stripped.iter().all(|item| item.new.is_none()) {
            return Some(Remainder::unchanged(size));
        }
        let kept = items.into_iter().zip(stripped);
        let kept = kept.map(|(item, stripped)| stripped.new.unwrap_or(NewValue::Same(item)));
        let items = kept.chain(note.map(NewValue::Text)).collect();
        Some(Remainder {
            new: Some(NewValue::List { items, is_cut }),
            size,
        })
    }

    fn map<'v, N: Node<'v>>(&mut self, value: N, level: usize) -> Option<Remainder<N>> {
        let mut json = String::new();
        let differs = write_json(self.reader, value.form(), level, &mut json)?;
        let (text, is_same) = match self.reader.strip(self.attribute, &json) {
            Outcome::Unchanged => (json, !differs),
            Outcome::Text(text) => (text, false),
            Outcome::Dropped => return None,
        };
        let size = text.len();
        if is_same {
            self.spell(&text);
            return Some(Remainder::unchanged(size));
        }
        let document = Document::new(text);
        let text = String::from_utf8_lossy(document.raw());
        let new = match document.root() {
            Ok(root) if matches!(root.kind(), Kind::Object | Kind::Array) => {
                self.spell(&text);
                read(root, Some(value))
            }
            // No longer valid JSON, such as a digest.
            _ => {
                self.spell(&quoted(&text));
                NewValue::Text(text.into_owned())
            }
        };
        Some(Remainder {
            new: Some(new),
            size,
        })
    }
}

/// The JSON of a list of only numbers and flags.
fn scalars<'v, N: Node<'v>>(items: &[N]) -> Option<String> {
    let mut out = String::from("[");
    for (index, item) in items.iter().enumerate() {
        let Form::Scalar(word) = item.form() else {
            return None;
        };
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(&scalar(&word));
    }
    out.push(']');
    Some(out)
}

fn total_size<N>(items: &[Remainder<N>]) -> usize {
    let sizes = items.iter().map(|item| item.size);
    sizes.fold(0, usize::saturating_add)
}

/// Keeps the first items that fit into `most` bytes, and returns a note of how many were left out.
fn cut<N>(items: &mut Vec<Remainder<N>>, most: usize) -> Option<String> {
    /// More than the note takes.
    const MAX_NOTE_BYTES: usize = 64;
    if total_size(items) <= most {
        return None;
    }
    let mut room = most.saturating_sub(MAX_NOTE_BYTES);
    let fitting = items.iter().take_while(|item| {
        let fits = item.size <= room;
        room = room.saturating_sub(item.size);
        fits
    });
    let (kept, all) = (fitting.count(), items.len());
    items.truncate(kept);
    Some(format!("[cut: left out {} of {all} texts]", all - kept))
}

/// The JSON of a number or a flag; infinities and NaN become strings.
fn scalar(word: &str) -> String {
    if is_number(word) || matches!(word, "true" | "false") {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// Writes a value as JSON, without members whose keys are internal; returns whether something was left out or
/// withheld, `None` if a value is of an unknown form. Recursion ends at [`MAX_DEPTH`] levels.
fn write_json<'v, N: Node<'v>>(
    reader: &Reader<'_>,
    form: Form<'v, N>,
    level: usize,
    out: &mut String,
) -> Option<bool> {
    let mut differs = false;
    match form {
        Form::List(_) | Form::Map(_) if level == MAX_DEPTH => {
            differs = true;
            out.push_str(&quoted(WITHHELD));
        }
        Form::List(items) => {
            out.push('[');
            for (index, item) in items.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                differs |= write_json(reader, item.form(), level + 1, out)?;
            }
            out.push(']');
        }
        Form::Map(mut members) => {
            let all = members.len();
            members.retain(|(key, _)| !reader.drops_key(key));
            differs |= members.len() < all;
            // Some languages' maps have no order; what is hashed or cut needs one.
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&quoted(&key));
                out.push(':');
                differs |= write_json(reader, value.form(), level + 1, out)?;
            }
            out.push('}');
        }
        leaf => out.push_str(&spelled(leaf)?),
    }
    Some(differs)
}

/// The JSON of a value that is neither a list nor a map.
fn spelled<N>(leaf: Form<'_, N>) -> Option<String> {
    match leaf {
        Form::Text(text) | Form::Bytes(text) => Some(quoted(&text)),
        Form::Scalar(word) => Some(scalar(&word)),
        Form::Empty => Some("null".to_owned()),
        Form::List(_) | Form::Map(_) | Form::Unknown => None,
    }
}

/// The value that `json` spells; `original` where it is the same.
///
/// A document has [`MAX_DEPTH`] levels at most.
fn read<'v, N: Node<'v>>(json: Cursor<'_>, original: Option<N>) -> NewValue<N> {
    let form = original.map_or(Form::Empty, N::form);
    match (json.kind(), form) {
        (Kind::Array, form) => {
            let originals = if let Form::List(items) = form {
                items
            } else {
                Vec::new()
            };
            let items = json.items().enumerate();
            let items = items.map(|(index, item)| read(item, originals.get(index).copied()));
            NewValue::List {
                items: items.collect(),
                is_cut: true,
            }
        }
        (Kind::Object, Form::Map(originals)) => NewValue::Map(read_members(json, originals)),
        (Kind::Object, _) => NewValue::Map(read_members(json, Vec::new())),
        (kind, form) => {
            let is_bytes = matches!(form, Form::Bytes(_));
            let raw = String::from_utf8_lossy(json.raw());
            if let (Some(original), Some(before)) = (original, spelled(form))
                && before == raw
            {
                return NewValue::Same(original);
            }
            let text = json.as_str().map(Cow::into_owned);
            match (kind, text) {
                (Kind::Null, _) => NewValue::Empty,
                (_, Some(text)) if is_bytes => NewValue::Bytes(text),
                (_, Some(text)) => NewValue::Text(text),
                (_, None) => NewValue::Scalar(raw.into_owned()),
            }
        }
    }
}

/// The members of an object, in their original order.
fn read_members<'v, N: Node<'v>>(
    json: Cursor<'_>,
    originals: Vec<(Cow<'v, str>, N)>,
) -> Vec<(String, NewValue<N>)> {
    let mut order: Vec<_> = originals.iter().enumerate().collect();
    // Stable, as the writer's sort is: members with equal keys keep their order.
    order.sort_by(|(_, (one, _)), (_, (other, _))| one.cmp(other));
    let mut members: Vec<(usize, String, NewValue<N>)> = Vec::new();
    // How many members before this one have its key.
    let mut nth = 0;
    for member in json.written_members() {
        let key = member.key.text().into_owned();
        let again = members.last().is_some_and(|(_, before, _)| *before == key);
        nth = if again { nth + 1 } else { 0 };
        let first = order.partition_point(|(_, (before, _))| **before < *key);
        let found = order
            .get(first + nth)
            .filter(|(_, (before, _))| *before == *key);
        let value = read(member.value, found.map(|(_, (_, value))| *value));
        members.push((found.map_or(usize::MAX, |(at, _)| *at), key, value));
    }
    members.sort_by_key(|(at, ..)| *at);
    let members = members.into_iter().map(|(_, key, value)| (key, value));
    members.collect()
}
