//! The value of an attribute, or of a body: the one account of what becomes of it.
//!
//! A value of a span, of a log record or of OTLP/JSON is a [`Node`]; it leaves as it is, leaves
//! changed, or does not leave. `policy` decides which text loses what.
//!
//! # What holds
//!
//! - Texts are asked about, bytes as the text that they are, numbers and flags as they are spelled.
//! - A list is asked about item by item, each like a text of its own; one of nothing but numbers and flags
//!   as the JSON that it is. A digest is that of the whole list.
//! - A map is asked about as the JSON object that it stands for, with sorted keys.
//! - What was not stripped stays of its kind, and in its order.
//! - No more than [`MAX_DEPTH`] levels are looked at. What lies deeper is withheld: no receiver of OTLP
//!   reads that far, and to write it would take a stack without bounds.

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
    /// What later versions add, or what is not as it should be: it may hold anything.
    Unknown,
}

/// What became of a value.
pub(crate) enum Stripped<N> {
    Unchanged,
    Changed(New<N>),
    Dropped,
}

impl<N> Stripped<N> {
    pub(crate) const fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }
}

/// What leaves.
pub(crate) enum New<N> {
    /// A value as it was.
    Same(N),
    Text(String),
    Bytes(String),
    /// A number or a flag, as JSON spells it.
    Scalar(String),
    Empty,
    List {
        items: Vec<New<N>>,
        /// The items are not one for one those that were.
        is_cut: bool,
    },
    Map(Vec<(String, New<N>)>),
}

/// Strips a value that is known by this name.
pub(crate) fn strip_value<'v, N: Node<'v>>(
    reader: &Reader<'_>,
    attribute: &str,
    value: N,
) -> Stripped<N> {
    let form = value.form();
    if matches!(form, Form::List(_))
        && let Some(before) = reader.before_digest(attribute)
    {
        let mut account = Account {
            reader: &before,
            attribute,
            spelled: Some(String::new()),
        };
        return match account.any(value, form, 0) {
            Some(_) => {
                let spelled = account.spelled.unwrap_or_default();
                Stripped::Changed(New::Text(reader.digest(&spelled)))
            }
            None => Stripped::Dropped,
        };
    }
    let mut account = Account {
        reader,
        attribute,
        spelled: None,
    };
    match account.any(value, form, 0) {
        Some(Left { new: None, .. }) => Stripped::Unchanged,
        Some(Left { new: Some(new), .. }) => Stripped::Changed(new),
        None => Stripped::Dropped,
    }
}

/// What is left of a value that stays.
struct Left<N> {
    /// What leaves instead.
    new: Option<New<N>>,
    /// How many bytes its texts have.
    size: usize,
}

struct Account<'a> {
    reader: &'a Reader<'a>,
    attribute: &'a str,
    /// What is left, as JSON, where that is wanted.
    spelled: Option<String>,
}

impl Account<'_> {
    /// What is left of a value; `None` where the whole attribute goes. Goes down [`MAX_DEPTH`] levels at
    /// most.
    fn any<'v, N: Node<'v>>(
        &mut self,
        value: N,
        form: Form<'v, N>,
        level: usize,
    ) -> Option<Left<N>> {
        match form {
            Form::Unknown => None,
            Form::Empty => {
                self.spell("null");
                Some(Left { new: None, size: 1 })
            }
            Form::Text(text) => self.text(&text, quoted, New::Text),
            Form::Bytes(text) => self.text(&text, quoted, New::Bytes),
            Form::Scalar(word) => self.text(&word, scalar, New::Text),
            Form::List(_) | Form::Map(_) if level == MAX_DEPTH => {
                self.spell(&quoted(WITHHELD));
                Some(Left {
                    new: Some(New::Text(WITHHELD.to_owned())),
                    size: WITHHELD.len(),
                })
            }
            Form::List(items) => self.list(items, level),
            Form::Map(_) => self.map(value, level),
        }
    }

    fn spell(&mut self, json: &str) {
        if let Some(spelled) = &mut self.spelled {
            spelled.push_str(json);
        }
    }

    fn text<N>(
        &mut self,
        text: &str,
        spelled: fn(&str) -> String,
        new: fn(String) -> New<N>,
    ) -> Option<Left<N>> {
        let instead = match self.reader.strip(self.attribute, text) {
            Outcome::Unchanged => None,
            Outcome::Text(text) => Some(text),
            Outcome::Dropped => return None,
        };
        if self.spelled.is_some() {
            let json = match &instead {
                Some(text) => quoted(text),
                None => spelled(text),
            };
            self.spell(&json);
        }
        Some(Left {
            size: instead.as_deref().unwrap_or(text).len().max(1),
            new: instead.map(new),
        })
    }

    fn list<'v, N: Node<'v>>(&mut self, items: Vec<N>, level: usize) -> Option<Left<N>> {
        if let Some(json) = scalars(&items) {
            return self.text(&json, str::to_owned, New::Text);
        }
        self.spell("[");
        let mut left = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.spell(if index > 0 { "," } else { "" });
            left.push(self.any(*item, item.form(), level + 1)?);
        }
        self.spell("]");
        let size = |left: &[Left<N>]| {
            let sizes = left.iter().map(|item| item.size);
            sizes.fold(0, usize::saturating_add)
        };
        let note = self.reader.most().and_then(|most| cut(&mut left, most));
        let is_cut = note.is_some();
        let size = size(&left).saturating_add(note.as_ref().map_or(0, String::len));
        if !is_cut && left.iter().all(|item| item.new.is_none()) {
            return Some(Left { new: None, size });
        }
        let kept = items.into_iter().zip(left);
        let kept = kept.map(|(item, left)| left.new.unwrap_or(New::Same(item)));
        let items = kept.chain(note.map(New::Text)).collect();
        Some(Left {
            new: Some(New::List { items, is_cut }),
            size,
        })
    }

    fn map<'v, N: Node<'v>>(&mut self, value: N, level: usize) -> Option<Left<N>> {
        let mut json = Json {
            out: String::new(),
            differs: false,
            reader: self.reader,
        };
        json.write(value.form(), level)?;
        let Json { out, differs, .. } = json;
        let (text, is_same) = match self.reader.strip(self.attribute, &out) {
            Outcome::Unchanged => (out, !differs),
            Outcome::Text(text) => (text, false),
            Outcome::Dropped => return None,
        };
        let size = text.len();
        if is_same {
            self.spell(&text);
            return Some(Left { new: None, size });
        }
        let document = Document::new(text);
        let text = String::from_utf8_lossy(document.raw());
        let new = match document.root() {
            Ok(root) if matches!(root.kind(), Kind::Object | Kind::Array) => {
                self.spell(&text);
                read(root, Some(value))
            }
            // What is not valid JSON any more, such as a digest.
            _ => {
                self.spell(&quoted(&text));
                New::Text(text.into_owned())
            }
        };
        Some(Left {
            new: Some(new),
            size,
        })
    }
}

/// The JSON of a list that holds nothing but numbers and flags.
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

/// Leaves the first items that fit into `most` bytes, and says how many there were.
fn cut<N>(items: &mut Vec<Left<N>>, most: usize) -> Option<String> {
    /// More than what says so takes.
    const NOTE: usize = 64;
    let sizes = || items.iter().map(|item| item.size);
    if sizes().fold(0, usize::saturating_add) <= most {
        return None;
    }
    let mut room = most.saturating_sub(NOTE);
    let fitting = sizes().take_while(|size| {
        let fits = *size <= room;
        room = room.saturating_sub(*size);
        fits
    });
    let (kept, all) = (fitting.count(), items.len());
    items.truncate(kept);
    Some(format!("[cut: left out {} of {all} texts]", all - kept))
}

/// The JSON of a number or a flag. Infinities and what is not a number JSON has not: they are strings.
fn scalar(word: &str) -> String {
    if is_number(word) || matches!(word, "true" | "false") {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// Writes a map as JSON, without the members whose very names are internal.
struct Json<'r> {
    out: String,
    /// Whether something was left out, or withheld.
    differs: bool,
    reader: &'r Reader<'r>,
}

impl Json<'_> {
    /// Goes down [`MAX_DEPTH`] levels at most; `None` where something is not known.
    fn write<'v, N: Node<'v>>(&mut self, form: Form<'v, N>, level: usize) -> Option<()> {
        match form {
            Form::List(_) | Form::Map(_) if level == MAX_DEPTH => {
                self.differs = true;
                self.out.push_str(&quoted(WITHHELD));
            }
            Form::List(items) => {
                self.out.push('[');
                for (index, item) in items.into_iter().enumerate() {
                    self.out.push_str(if index > 0 { "," } else { "" });
                    self.write(item.form(), level + 1)?;
                }
                self.out.push(']');
            }
            Form::Map(mut members) => {
                let all = members.len();
                members.retain(|(key, _)| !self.reader.drops_key(key));
                self.differs |= members.len() < all;
                // Maps have no order in every language; what is hashed or cut must have one.
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                self.out.push('{');
                for (index, (key, value)) in members.into_iter().enumerate() {
                    self.out.push_str(if index > 0 { "," } else { "" });
                    self.out.push_str(&quoted(&key));
                    self.out.push(':');
                    self.write(value.form(), level + 1)?;
                }
                self.out.push('}');
            }
            leaf => self.out.push_str(&spelled(leaf)?),
        }
        Some(())
    }
}

/// The JSON of what is not a list and no map.
fn spelled<N>(leaf: Form<'_, N>) -> Option<String> {
    match leaf {
        Form::Text(text) | Form::Bytes(text) => Some(quoted(&text)),
        Form::Scalar(word) => Some(scalar(&word)),
        Form::Empty => Some("null".to_owned()),
        Form::List(_) | Form::Map(_) | Form::Unknown => None,
    }
}

/// The value that `json` spells. What is there as it was is taken from that.
///
/// A document has [`MAX_DEPTH`] levels at most.
fn read<'v, N: Node<'v>>(json: Cursor<'_>, was: Option<N>) -> New<N> {
    let form = was.map_or(Form::Empty, N::form);
    match json.kind() {
        Kind::Array => {
            let was = match form {
                Form::List(items) => items,
                _ => Vec::new(),
            };
            let items = json.items().enumerate();
            let items = items.map(|(index, item)| read(item, was.get(index).copied()));
            New::List {
                items: items.collect(),
                is_cut: true,
            }
        }
        Kind::Object => {
            let was = match form {
                Form::Map(members) => members,
                _ => Vec::new(),
            };
            New::Map(read_members(json, was))
        }
        kind => {
            let is_bytes = matches!(form, Form::Bytes(_));
            let raw = String::from_utf8_lossy(json.raw());
            match (was, spelled(form)) {
                (Some(was), Some(before)) if before == raw => return New::Same(was),
                _ => {}
            }
            let text = json.as_str().map(Cow::into_owned);
            match (kind, text) {
                (Kind::Null, _) => New::Empty,
                (_, Some(text)) if is_bytes => New::Bytes(text),
                (_, Some(text)) => New::Text(text),
                (_, None) => New::Scalar(raw.into_owned()),
            }
        }
    }
}

/// The members of an object, in the order in which they were.
fn read_members<'v, N: Node<'v>>(
    json: Cursor<'_>,
    was: Vec<(Cow<'v, str>, N)>,
) -> Vec<(String, New<N>)> {
    let mut order: Vec<_> = was.iter().enumerate().collect();
    // It keeps those that share a key in their order, and so did the writer.
    order.sort_by(|(_, (one, _)), (_, (other, _))| one.cmp(other));
    let mut members: Vec<(usize, String, New<N>)> = Vec::new();
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
