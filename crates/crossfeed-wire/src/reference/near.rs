//! What models write in place of references: `{{call_1.items[0].url}}`, `{"$call": "call_1", "path": "url"}`.
//!
//! Reads what such a text or object would mean. It counts only where the id in it is one of a call of the session,
//! which the engine asks for; otherwise it is data.

mod around;
mod code;
mod glance;
mod id;
mod keys;
mod loose;
mod mention;
mod object;
mod part;
mod path;
mod placeholder;
mod region;
mod remains;
mod scan;
mod scattered;
mod signs;
#[cfg(test)]
mod tests;
mod whole;

pub use glance::{Glimpse, Members, glance, may_hold_id};
pub use id::is_id_byte;
pub(super) use keys::{EDIT_WORDS, KeyMeaning, is_call_key, is_one_of, meaning_of};
pub use keys::{is_near_edit, is_near_select};
pub(super) use loose::Word;
pub use object::{is_wrapper, near_object};
pub(super) use object::{near_list, read_near, selector_of};
pub(super) use path::steps;
pub(super) use scan::Scan;
pub(super) use whole::is_signed;

use self::{
    around::Around,
    code::declared,
    glance::is_address,
    id::{Head, is_distinctive},
    mention::{mentions, path_outside},
    part::Part,
    path::readings,
    placeholder::enclosing,
    remains::remains,
    scattered::scattered,
    whole::{whole_text, within_signs},
};
use super::{Reference, Repair, gist::Gist, shortened};
use crate::CallId;
use serde_json::Value;
use std::ops::Range;

/// The most bytes of a path behind an id.
const MAX_PATH_BYTES: usize = 1000;

/// The most bytes of an id, as a call id has.
const MAX_ID_BYTES: usize = 256;

/// Words that only introduce a path which is the rest of a text.
const INTRODUCTIONS: [&str; 12] = [
    "await",
    "return",
    "yield",
    "echo",
    "print",
    "value",
    "result",
    "ref",
    "reference",
    "var",
    "expr",
    "expression",
];

/// The most bytes of a text that is a reference as a whole.
pub(super) const MAX_WHOLE_BYTES: usize = 4000;

/// What may have been meant as a reference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearReference {
    /// The id of the call, as it was written.
    pub id: String,
    /// The selectors that may be meant, the most probable first; `None` is the whole result. Without any, the
    /// meaning is unclear.
    pub selects: Vec<Option<String>>,
    /// The default.
    pub default: Option<Value>,
    /// The reference as it was written, cut if it is long.
    pub written: String,
    /// Whether a key names the call that begins with `$` or `_`.
    pub has_sigil: bool,
    /// The selector to offer where the others select nothing, or where the meaning is unclear.
    pub guess: Option<String>,
    /// Whether it is data if it selects nothing: it may as well be the name of a file.
    pub or_data: bool,
    /// Whether it is only to be offered: if it selects something, it is refused.
    pub is_guess: bool,
}

impl NearReference {
    /// The reference that is meant; `None` if that is unclear.
    pub fn into_reference(self) -> Option<Reference> {
        let call_id = CallId::parse(&self.id).ok()?;
        let mut selects = self.selects.into_iter();
        Some(Reference {
            call_id,
            input: None,
            artifact_id: None,
            select: selects.next()?,
            default: self.default,
            edit: None,
            digest: None,
            ignored: Vec::new(),
            repair: Some(Box::new(Repair {
                written: self.written,
                others: selects.collect(),
                guess: self.guess,
                or_data: self.or_data,
                is_guess: self.is_guess,
            })),
        })
    }

    /// What a text means where only a reference can stand: an id, and a path in the result.
    pub fn from_entry(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_WHOLE_BYTES {
            return None;
        }
        whole_text(text).or_else(|| {
            // `#/call_1/items/0`, `"call_1"`
            let signed = text.trim_start_matches(['#', '/', '$', '@', '.']);
            let inner = within_signs(signed).unwrap_or(signed);
            // `call_1 (search)`
            let inner = match inner.split_once(" (") {
                Some((id, name)) if name.ends_with(')') => id,
                _ => inner,
            };
            let head = Head::read(inner)
                .filter(|head| inner.len() == text.len() || is_distinctive(head.id))?;
            let selects = readings(&inner[head.end..])?;
            Some(Self::new(head.id, selects, text))
        })
    }

    /// Whether the id is hardly anything but one.
    pub fn is_distinctive(&self) -> bool {
        is_distinctive(&self.id)
    }

    pub(super) fn new(id: &str, selects: Vec<Option<String>>, written: &str) -> Self {
        Self {
            id: id.to_owned(),
            selects,
            default: None,
            written: shortened(written),
            has_sigil: false,
            guess: None,
            or_data: false,
            is_guess: false,
        }
    }

    /// What stands where there can be no data.
    pub fn certain(mut self) -> Self {
        self.or_data = false;
        self.is_guess = false;
        self
    }

    /// What is data if it selects nothing, and refused if it selects something.
    pub fn doubtful(mut self) -> Self {
        self.or_data = true;
        self.is_guess = true;
        self
    }

    /// With what it would be read as only to be offered.
    fn unclear(mut self) -> Self {
        self.make_unclear();
        self
    }

    fn make_unclear(&mut self) {
        if self.or_data {
            self.is_guess = true;
            return;
        }
        let first = self.selects.drain(..).next().flatten();
        self.guess = self.guess.take().or(first);
    }

    fn guessing(mut self, guess: Option<String>) -> Self {
        self.guess = guess;
        self
    }
}

/// What a list or object means that holds the parts of a reference in another arrangement: `["$tool", "call_1"]`.
pub fn near_value(value: &Value) -> Option<NearReference> {
    Gist::alone(value)
}

/// The parts of a text that may be meant as references.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearText {
    /// Each part, and its place in the text.
    pub parts: Vec<(Range<usize>, NearReference)>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

/// The parts of a text that may be meant as references, at most `most`; `None` if there are none. If one is the
/// whole text but for blanks, it is the only one.
///
/// ```
/// use crossfeed_wire::reference::near_text;
///
/// let near = near_text("See {{call_1.items[0].url}}.", 10).expect("a part");
/// let (place, reference) = &near.parts[0];
/// assert_eq!((place.clone(), reference.id.as_str()), (4..27, "call_1"));
/// assert_eq!(reference.selects[0].as_deref(), Some("items[0].url"));
/// assert_eq!(near_text("See {{item.url}} and call_1.", 10), None);
/// ```
pub fn near_text(text: &str, most: usize) -> Option<NearText> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let mut found = NearText {
        parts: Vec::new(),
        has_more: false,
    };
    let around = Around::of(trimmed);
    if let Some(mut whole) = whole_but(trimmed, around) {
        // A negation would be lost.
        let negated = trimmed.strip_prefix('!').filter(|it| !it.ends_with('!'));
        let is_negated = negated.is_some_and(|it| {
            it.starts_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '(')
        });
        if is_negated || around == Around::Unclear {
            whole.make_unclear();
        }
        if most == 0 {
            found.has_more = true;
        } else {
            found.parts.push((start..start + trimmed.len(), whole));
        }
        return Some(found);
    }
    let mut end = 0;
    let mut has_literal = None;
    let openings = text.bytes().enumerate();
    for (at, _) in openings.filter(|(_, byte)| matches!(byte, b'{' | b'$' | b'<' | b'.' | b'[')) {
        if at < end {
            continue;
        }
        let Some(part) = Part::read(text, at).filter(|part| part.place.start >= end) else {
            continue;
        };
        if part.is_in_json && *has_literal.get_or_insert_with(|| holds_literal(text)) {
            continue;
        }
        if found.parts.len() == most {
            found.has_more = true;
            break;
        }
        let Part {
            mut place,
            mut near,
            ..
        } = part;
        if near.or_data
            && let Some(all) = enclosing(text, &place).filter(|all| all.start >= end)
        {
            near.written = shortened(&text[all.clone()]);
            near.is_guess = true;
            place = all;
        }
        // Code in prose.
        near.is_guess |= near.or_data
            && text[..place.start].ends_with('`')
            && text[place.end..].starts_with('`');
        end = place.end;
        found.parts.push((place, near));
    }
    if found.parts.iter().any(|(_, near)| near.or_data) {
        let own = declared(text);
        let is_own = |near: &NearReference| near.or_data && own.contains(near.id.as_str());
        found.parts.retain(|(_, near)| !is_own(near));
    }
    let inside = |open: char, close: char| trimmed.strip_prefix(open)?.strip_suffix(close);
    let is_object = inside('{', '}').is_some_and(|members| {
        let members = members.trim_start();
        members.starts_with(['"', '\''])
    });
    let begins = found.parts.first().map(|(place, _)| place.start);
    let is_json = begins != Some(start) && (is_object || inside('[', ']').is_some());
    if let [(place, near)] = found.parts.as_mut_slice()
        && !is_json
        && around != Around::Text
    {
        let (before, behind) = (text[..place.start].trim(), text[place.end..].trim());
        // Delimiters of another system, around everything: `{% print call_1.url %}`.
        let is_open = before.len() <= 16
            && before.contains(['{', '<'])
            && !before.ends_with('>')
            && before.split_whitespace().count() <= 2
            && before.starts_with(|sign: char| sign.is_ascii_punctuation());
        let is_close =
            behind.ends_with(['}', '>']) && behind.bytes().all(|byte| byte.is_ascii_punctuation());
        // `f'{call_1.x}'`, `{{call_1.x}};`
        let is_formatted = matches!(
            (before, behind),
            ("f'", "'") | ("f\"", "\"") | ("`", "`") | ("", ";" | ",")
        );
        // `={{ $json.call_1.x }}`, `return call_1.x;`
        let word = before.trim_end_matches([':', '=']).trim_end();
        let is_introduced = (before == "="
            || INTRODUCTIONS.iter().any(|it| it.eq_ignore_ascii_case(word)))
            && matches!(behind, "" | ";");
        let remains = Remains::of(before, behind);
        if is_open && is_close
            || is_introduced
            || is_formatted && near.written.contains('{')
            || remains == Remains::Delimiter
        {
            place.start = start;
            place.end = start + trimmed.len();
            near.written = shortened(trimmed);
            let is_worded = is_introduced && before != "=";
            if is_worded || around == Around::Unclear {
                near.make_unclear();
            }
        } else if remains == Remains::Sign {
            near.make_unclear();
        }
    }
    // A path in signs of another notation.
    let is_clear = |(place, near): &(Range<usize>, NearReference)| {
        let outside = [text[..place.start].trim(), text[place.end..].trim()];
        let is_word = |sign: char| {
            sign.is_alphanumeric() || sign.is_whitespace() || ".,;:-*+>#/".contains(sign)
        };
        !near.or_data || outside.iter().all(|text| text.chars().all(is_word))
    };
    if found.parts.len() <= 1
        && most > 0
        && !found.parts.first().is_some_and(is_clear)
        && let Some(whole) = scattered(trimmed)
    {
        found.parts = vec![(start..start + trimmed.len(), whole)];
        return Some(found);
    }
    add_mentions(text, &mut found, most);
    let mut end = 0;
    for (place, near) in &mut found.parts {
        if near.selects == [None]
            && place.len() < trimmed.len()
            && let Some((all, select)) = path_outside(text, place)
        {
            near.written = shortened(&text[all.clone()]);
            near.selects.clear();
            near.guess = Some(select);
            *place = all;
            end = place.end;
            continue;
        }
        // A bracket or function that would be left says that more was meant.
        if place.len() < trimmed.len()
            && let Some(all) = remains(text, place).filter(|all| all.start >= end)
        {
            near.written = shortened(&text[all.clone()]);
            near.make_unclear();
            *place = all;
        }
        end = place.end;
    }
    // The quotes of another language would stay, and in JSON what a value holds could end a text.
    let is_quoted = |open: &str, close: char| {
        let inner = trimmed
            .strip_prefix(open)
            .and_then(|inner| inner.strip_suffix(close));
        inner.is_some_and(|inner| open.starts_with('f') || !inner.contains(close))
    };
    if is_json || is_quoted("f\"", '"') || is_quoted("f'", '\'') || is_quoted("`", '`') {
        for (_, near) in found
            .parts
            .iter_mut()
            .filter(|(place, _)| place.len() < trimmed.len())
        {
            near.make_unclear();
        }
    }
    refuse_overlaps(&mut found.parts);
    (!found.parts.is_empty() || found.has_more).then_some(found)
}

/// Leaves out what begins within the part before it, which then is unclear.
fn refuse_overlaps(parts: &mut Vec<(Range<usize>, NearReference)>) {
    parts.dedup_by(|(place, _), (before, near)| {
        let is_within = place.start < before.end;
        if is_within {
            near.make_unclear();
        }
        is_within
    });
}

/// Adds the ids beside a path that are not within the parts that were read.
fn add_mentions(text: &str, found: &mut NearText, most: usize) {
    if is_address(text) {
        return;
    }
    let mut places = found
        .parts
        .iter()
        .map(|(place, _)| place.clone())
        .peekable();
    let mut mentioned = Vec::new();
    let mut is_literal = None;
    for (place, near) in mentions(text) {
        while places.next_if(|part| part.end <= place.start).is_some() {}
        if places.peek().is_some_and(|part| part.start < place.end) {
            continue;
        }
        if *is_literal.get_or_insert_with(|| holds_literal(text)) {
            return;
        }
        if found.parts.len() + mentioned.len() >= most {
            found.has_more = true;
            break;
        }
        mentioned.push((place, near));
    }
    if !mentioned.is_empty() {
        found.parts.append(&mut mentioned);
        found.parts.sort_by_key(|(place, _)| place.start);
    }
}

/// Whether a literal may stand in a text.
fn holds_literal(text: &str) -> bool {
    let mut keys = ["$literal", "_literal"].iter();
    keys.any(|key| text.contains(key))
}

/// What a text may mean as a whole, which [`near_text`] reads as its only part.
pub fn near_whole(text: &str) -> Option<NearReference> {
    let text = text.trim();
    whole_but(text, Around::of(text))
        .or_else(|| (text.len() <= MAX_WHOLE_BYTES).then(|| scattered(text))?)
}

/// What a text may mean as a whole; `None` if a placeholder has text around it.
fn whole_but(text: &str, around: Around) -> Option<NearReference> {
    (text.len() <= MAX_WHOLE_BYTES && around != Around::Text).then(|| whole_text(text))?
}

/// What stands around the only path of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    /// What can only delimit it: `{{call_1.url}`, `!Ref call_1.url`.
    Delimiter,
    /// Signs that may mean something else: `> call_1.title`.
    Sign,
    /// Words, stops or nothing.
    Text,
}

impl Remains {
    fn of(before: &str, behind: &str) -> Self {
        const MAX_BYTES: usize = 64;
        if before.len().max(behind.len()) > MAX_BYTES {
            return Self::Text;
        }
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // `!Ref`
        if behind.is_empty() && before.strip_prefix('!').is_some_and(is_word) {
            return Self::Delimiter;
        }
        // `&lcub;` is a `{`.
        let mut signs = String::new();
        for text in [before, behind] {
            let mut pieces = text.split('&');
            signs.extend(pieces.next());
            for piece in pieces {
                match piece.split_once(';') {
                    Some((name, rest)) if is_word(name.trim_start_matches('#')) => {
                        signs.push('{');
                        signs.push_str(rest);
                    }
                    _ => signs.push_str(piece),
                }
            }
        }
        let is_delimiter = |sign: char| "{}[]()<>%§¤ ".contains(sign);
        if signs.contains(char::is_alphanumeric)
            || !signs.contains(|sign| "{}[]()<>%§¤#$@=|^~\\&".contains(sign))
        {
            Self::Text
        } else if signs.chars().all(is_delimiter) && signs.trim() != ">" {
            Self::Delimiter
        } else {
            Self::Sign
        }
    }
}
