//! A glance at arguments: whether any of them may be a reference. It reads no more than each key and text.

use super::plan::Notation;
use crate::{arguments::ArgumentValue, error::LimitError};
use crossfeed_json::{Cursor, Kind, MAX_DEPTH};
use crossfeed_wire::reference::{self, Glimpse};
use serde_json::Value;

/// The most items of a list that may be the steps of a path behind an id.
const MAX_STEPS: usize = 12;

/// What a value shows at a glance; `None` if some key or string in it may be of a reference.
pub(super) fn glance(
    value: &Value,
    notation: Notation,
    depth: usize,
) -> Result<Option<Glimpse>, LimitError> {
    let held = match value {
        Value::Object(_) | Value::Array(_) if depth >= MAX_DEPTH => {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Value::Object(members) => {
            let mut looked = reference::Members::default();
            for (key, child) in members {
                if matches!(key.as_bytes().first(), Some(b'$' | b'_')) {
                    return Ok(None);
                }
                match glance(child, notation, depth + 1)? {
                    Some(held) => looked.look(key.as_bytes(), held),
                    None => return Ok(None),
                }
            }
            let mut keys = members.keys();
            let may_be_near = looked.may_be_near(keys.clone().map(String::as_str))
                || depth == 0 && keys.any(|key| reference::is_near_map(key));
            return Ok((notation == Notation::Exact || !may_be_near).then_some(Glimpse::Other));
        }
        // The first that may refer, or nests too deep, ends the walk.
        Value::Array(items) => {
            let mut looked = ListGlimpse::default();
            for item in items {
                match glance(item, notation, depth + 1)? {
                    Some(held) => looked.look(held, item.as_str().map(str::as_bytes)),
                    None => return Ok(None),
                }
            }
            let may_be_near = notation == Notation::Near && looked.may_be_near();
            return Ok((!may_be_near).then_some(Glimpse::Other));
        }
        Value::String(text) => return Ok(glance_at_text(text, notation)),
        Value::Null => Glimpse::Null,
        Value::Bool(_) | Value::Number(_) => Glimpse::Other,
    };
    Ok(Some(held))
}

/// The items of a list, looked at one by one.
#[derive(Default)]
pub(super) struct ListGlimpse {
    count: usize,
    /// Items that are texts with what may be an id.
    ids: usize,
    /// Whether the first is a text with a sign for one of the grammar.
    is_signed: bool,
}

impl ListGlimpse {
    #[inline]
    fn look(&mut self, held: Glimpse, text: Option<&[u8]>) {
        self.is_signed |= self.count == 0 && matches!(text, Some([b'$' | b'_' | b'\\', ..]));
        self.count += 1;
        self.ids += usize::from(held == Glimpse::Id);
    }

    /// Whether it may be the steps of a path behind an id: `["call_1", "items", 0]`.
    pub(super) fn may_be_near(&self) -> bool {
        (2..=MAX_STEPS).contains(&self.count) && (self.ids == 1 || self.is_signed)
    }
}

#[inline]
fn glance_at_text(text: &str, notation: Notation) -> Option<Glimpse> {
    if may_be_object(text) {
        return None;
    }
    match (notation, reference::glance(text)) {
        (Notation::Exact, _) => Some(Glimpse::Text),
        (Notation::Near, (held, is_near)) => (!is_near).then_some(held),
    }
}

/// Whether arguments that came as bytes may hold references, as [`glance`] tells of values. It reads members with
/// duplicate keys as well, so that it overlooks no reference. The depth is bounded by the document.
pub(crate) fn may_hold_references(arguments: Cursor<'_>, notation: Notation) -> bool {
    let mut keys = arguments.members().map(|(key, _)| key);
    glance_at_json(arguments, notation).is_none()
        || notation == Notation::Near && keys.any(|key| reference::is_near_map(&key.text()))
}

/// [`may_hold_references`], but for the keys of references maps of the arguments themselves.
fn glance_at_json(value: Cursor<'_>, notation: Notation) -> Option<Glimpse> {
    match value.kind() {
        Kind::Object if value.document_has_duplicates() => None,
        Kind::Object => {
            let mut looked = reference::Members::default();
            for (key, child) in value.members() {
                let key = key.bytes();
                if matches!(key.first(), Some(b'$' | b'_')) {
                    return None;
                }
                looked.look(&key, glance_at_json(child, notation)?);
            }
            let keys = value.members().map(|(key, _)| key.text());
            let may_be_near = notation == Notation::Near && looked.may_be_near(keys);
            (!may_be_near).then_some(Glimpse::Other)
        }
        Kind::Array => {
            let mut looked = ListGlimpse::default();
            for item in value.items() {
                let held = glance_at_json(item, notation)?;
                looked.look(held, item.raw().strip_prefix(b"\""));
            }
            let may_be_near = notation == Notation::Near && looked.may_be_near();
            (!may_be_near).then_some(Glimpse::Other)
        }
        Kind::String => {
            let written = value.raw();
            // Blanks before an object may be escaped.
            let is_plain = |first: &u8| first.is_ascii_graphic() && !matches!(first, b'{' | b'\\');
            let may_be_near = notation == Notation::Near && reference::may_hold_id(written);
            if !may_be_near && written.get(1).is_some_and(is_plain) {
                return Some(Glimpse::Text);
            }
            glance_at_text(&value.as_str()?, notation)
        }
        Kind::Null => Some(Glimpse::Null),
        Kind::Boolean | Kind::Number => Some(Glimpse::Other),
    }
}

/// Whether a text begins like a JSON object, after blanks. For most texts the first byte decides.
#[inline]
pub(super) fn may_be_object(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'{') => true,
        Some(first) if first.is_ascii_graphic() => false,
        _ => text.trim_start().starts_with('{'),
    }
}

/// The members of an object, looked at one by one.
pub(super) fn looked_at<'v>(object: impl ArgumentValue<'v>) -> reference::Members {
    let mut looked = reference::Members::default();
    for (key, value) in object.members() {
        looked.look(key.as_bytes(), glimpse(value));
    }
    looked
}

/// The items of a list, looked at one by one.
pub(super) fn looked_at_list<'v>(list: impl ArgumentValue<'v>) -> ListGlimpse {
    let mut looked = ListGlimpse::default();
    for item in list.children() {
        looked.look(glimpse(item), item.text().as_deref().map(str::as_bytes));
    }
    looked
}

fn glimpse<'v>(value: impl ArgumentValue<'v>) -> Glimpse {
    match value.kind() {
        Kind::Null => Glimpse::Null,
        _ => value
            .text()
            .map_or(Glimpse::Other, |text| reference::glance(&text).0),
    }
}

#[cfg(test)]
mod tests {
    use super::{Notation, glance, may_hold_references};
    use crate::{arguments::Room, resolve::Plan};
    use crossfeed_json::Document;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(
                &[
                    "tool",
                    "toool",
                    "tol",
                    "_tool",
                    "tool_",
                    "call_id",
                    "toolCallId",
                    "ref",
                    "id",
                    "source",
                    "select",
                    "slect",
                    "path",
                    "key",
                    "x-path",
                    "refs",
                    "references",
                    "to",
                    "call_1",
                    "call-7",
                    "title",
                    "note"
                ][..]
            )
            .prop_map(str::to_owned),
            "[a-z_]{1,9}",
        ]
    }

    fn text() -> impl Strategy<Value = Value> {
        let texts = [
            "call_1",
            "call_1.items[0]",
            "{{call_1.a}}",
            "see ${call_1.a}",
            "search_issues",
            "items[0]",
            "url of call_1",
            "#/call_1/a",
            "https://a.example/2",
            "a word",
            "{\"tool\": \"call_1\"}",
            "tool: call_1, select: a",
        ];
        prop::sample::select(texts.map(Value::from).to_vec())
    }

    fn arguments() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![4 => text(), 1 => Just(json!(null)), 1 => Just(json!(1))];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                3 => prop::collection::vec((key(), inner.clone()), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
                1 => prop::collection::vec(inner, 0..3).prop_map(Value::Array),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// A glance that finds nothing overlooks nothing, and is the same at values and at bytes.
        #[test]
        fn what_a_glance_lets_pass_is_no_reference(value in arguments(), is_exact: bool) {
            let notation = if is_exact { Notation::Exact } else { Notation::Near };
            let found = glance(&value, notation, 0).unwrap().is_none();
            let document = Document::new(value.to_string());
            prop_assert_eq!(found, may_hold_references(document.root().unwrap(), notation));
            if !found {
                let plan = Plan::from_json(&value, None, notation, &mut Room::new(usize::MAX)).unwrap();
                prop_assert!(plan.is_empty(), "{value}");
            }
        }
    }
}
