//! Objects that may be meant as references.

use super::{
    NearReference,
    id::{is_compound, is_distinctive, word_of},
    keys::{
        KeyMeaning, MAX_MEMBERS, has_sign, is_call_key, is_call_key_as_it_is, is_one_of,
        meaning_of, plain_key,
    },
    path::{quoted, steps},
    shortened,
};
use crate::reference::{InputKind, is_sentinel};
use serde_json::{Map, Value};

/// What an object may mean as a reference; `None` if it is data. `declared` is as for [`read_object`](crate::reference::read_object).
///
/// ```
/// use crossfeed_wire::reference::near_object;
/// use serde_json::json;
///
/// let object = json!({"$toolCallId": "call_1", "path": "items[0].url"});
/// let near = near_object(object.as_object().unwrap(), &|_| false).expect("near a reference");
/// assert_eq!(near.id, "call_1");
/// assert_eq!(near.selects, [Some("items[0].url".to_owned())]);
/// assert_eq!(near_object(json!({"tool": "hammer"}).as_object().unwrap(), &|_| false), None);
/// ```
pub fn near_object(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Option<NearReference> {
    read_near(object, declared, false)
}

/// The selector that a value under a key for one means: a text, an index or a list of steps; and whether it is only to
/// be offered, because several are meant. An index stands behind the selector that is there.
pub(crate) fn selector_of(
    key: &str,
    value: &Value,
    before: Option<&str>,
) -> Option<(String, bool)> {
    let select = match value {
        Value::String(text) if !text.trim().is_empty() => (text.clone(), false),
        Value::Number(index) => {
            let index = format!("[{}]", index.as_i64()?);
            let select = match before {
                Some(before) => format!("{before} | {index}"),
                None => index,
            };
            return Some((select, false));
        }
        Value::Array(list) => match several(key, list) {
            Some(names) => (fields(names.into_iter().zip(list))?, true),
            None => (steps(list)?, false),
        },
        Value::Object(members) => {
            let is_remark = |key: &str| meaning_of(key) == KeyMeaning::Nothing;
            let mut texts = members.iter().filter(|(key, _)| !is_remark(key));
            let only = texts.next().filter(|_| texts.next().is_none());
            match only {
                // `{"expression": "items[0].url", "type": "jmespath"}`
                Some((key, Value::String(text)))
                    if meaning_of(key) == KeyMeaning::Select && !text.trim().is_empty() =>
                {
                    (text.clone(), false)
                }
                _ => (
                    fields(members.iter().map(|(key, value)| (key.as_str(), value)))?,
                    true,
                ),
            }
        }
        _ => return None,
    };
    Some(select).filter(|_| before.is_none())
}

/// The names of several fields, where a list is not one of steps: `"fields": ["title", "url"]`.
fn several<'l>(key: &str, list: &'l [Value]) -> Option<Vec<&'l str>> {
    let key = plain_key(key);
    let is_path = key.contains("path") || key.contains("pointer");
    let names = list.iter().map(|name| {
        let name = name.as_str()?;
        (word_of(name) == Some(name)).then_some(name)
    });
    (list.len() > 1 && !is_path).then(|| names.collect())?
}

/// The selector for an object with these fields: `{title: title, url: items[0].url}`.
fn fields<'v>(selects: impl Iterator<Item = (&'v str, &'v Value)>) -> Option<String> {
    let field = |(name, select): (&str, &Value)| {
        let select = select.as_str().filter(|select| !select.trim().is_empty())?;
        Some(format!("{}: {select}", quoted(name)))
    };
    let fields: Vec<_> = selects
        .take(MAX_MEMBERS + 1)
        .map(field)
        .collect::<Option<_>>()?;
    let is_some = (1..=MAX_MEMBERS).contains(&fields.len());
    is_some.then(|| format!("{{{}}}", fields.join(", ")))
}

/// [`near_object`]; `is_certain`: only a reference can stand there, so any word is an id.
pub(crate) fn read_near(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
    is_certain: bool,
) -> Option<NearReference> {
    let is_input = |key: &String| InputKind::ALL.iter().any(|(_, input)| input.is(key));
    if object.len() > MAX_MEMBERS || object.keys().any(is_input) {
        return None;
    }
    let mut members = object.iter().filter(|(_, value)| !value.is_null());
    // `{"$call_1": "items[0]"}`
    if let (Some((key, Value::String(select))), None) = (members.next(), members.next())
        && let Some(near) = keyed(key, select, object)
    {
        return Some(near);
    }
    let (call_key, mut near) = call_of(object, is_certain)?;
    if declared(call_key) {
        return None;
    }
    // `{"_id": "1"}` is a record; `{"$id": "1"}` is not.
    let is_signed = has_sign(call_key.trim_matches('_'))
        || has_sign(call_key) && (near.is_distinctive() || is_call_key_as_it_is(call_key));
    let has_sigil = is_signed || is_typed(object) || object.keys().any(|key| is_sentinel(key));
    let is_meant = has_sigil || is_certain;
    let has_select = || {
        let mut keys = object.keys();
        keys.any(|key| key != call_key && meaning_of(key) == KeyMeaning::Select)
    };
    if !(is_meant || near.is_distinctive() || is_compound(&near.id) && has_select()) {
        return None;
    }
    // Without a sign or a selector it is a record that names a call: `{"call_id": "call_1", "comment": "good"}`.
    let is_lone = || object.len() == 1 && plain_key(call_key).contains("tool");
    if !is_meant && !has_select() && !is_lone() {
        return None;
    }
    let is_known = is_call_key(call_key, true);
    let mut is_selected = near.selects != [None];
    let mut is_unclear = false;
    for (key, value) in object
        .iter()
        .filter(|(key, value)| *key != call_key && !value.is_null())
    {
        if declared(key) {
            return None;
        }
        let meaning = match meaning_of(key) {
            KeyMeaning::Option => KeyMeaning::Unknown,
            meaning => meaning,
        };
        match (meaning, value) {
            (KeyMeaning::Select, Value::String(text)) if !is_selected => {
                near.selects = vec![Some(text.clone()).filter(|text| !text.trim().is_empty())];
                is_selected = true;
            }
            // The path in both.
            (KeyMeaning::Select, Value::String(text))
                if near.selects.contains(&Some(text.clone())) =>
            {
                near.selects = vec![Some(text.clone())];
            }
            (KeyMeaning::Default, _)
                if plain_key(key) == "default" && !value.is_array() && !value.is_object() =>
            {
                near.default = Some(value.clone());
            }
            (KeyMeaning::Select, value) => {
                let before = near.selects.first().cloned().flatten();
                match selector_of(key, value, before.as_deref()) {
                    Some((select, is_guess)) => {
                        near.selects = vec![Some(select)];
                        near.is_guess |= is_guess;
                        is_selected = true;
                    }
                    None => is_unclear = true,
                }
            }
            (KeyMeaning::Default, _) => is_unclear = true,
            (KeyMeaning::Nothing, _) => {}
            // The target of a list's entry, in a map.
            (KeyMeaning::Unknown, Value::String(_)) if is_certain && key == "to" => {}
            // The name of a tool beside the id of the call.
            (KeyMeaning::Unknown, Value::String(_)) if is_name_of_tool(key) => {}
            // The only other text can only be the selector.
            (KeyMeaning::Unknown, Value::String(text)) if is_meant && is_known && !is_selected => {
                near.selects = vec![Some(text.clone())];
                is_selected = true;
            }
            (KeyMeaning::Unknown, _) if is_meant && is_known => is_unclear = true,
            (KeyMeaning::Unknown | KeyMeaning::Option, _) => return None,
        }
    }
    if is_unclear {
        near.make_unclear();
    }
    // `{"$ref": "call_1.json"}`
    near.or_data &= !is_certain && object.len() == 1 && plain_key(call_key) == "ref";
    near.written = shortened(&written_of(object));
    near.has_sigil = has_sigil;
    Some(near)
}

/// Whether an object says that it is a reference: `{"type": "reference", "id": "call_1"}`.
fn is_typed(object: &Map<String, Value>) -> bool {
    let kind = object.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| {
        is_one_of(
            kind,
            &[
                "ref",
                "reference",
                "toolref",
                "toolreference",
                "resultreference",
                "callreference",
            ],
        )
    })
}

/// What a list of steps may mean whose first is the id of a call: `["call_1", "items", 0]`.
pub(crate) fn near_list(list: &[Value]) -> Option<NearReference> {
    let (id, path) = list.split_first()?;
    let id = id
        .as_str()
        .filter(|id| word_of(id) == Some(id) && is_distinctive(id))?;
    let select = Some(path).filter(|path| !path.is_empty());
    let select = match select {
        Some(path) => Some(steps(path)?),
        None => None,
    };
    let written = Value::Array(list.to_vec()).to_string();
    Some(NearReference::new(id, vec![select], &written))
}

/// Whether a reference that is all that stands under this key stands in place of the object: `{"$ref": {…}}`.
pub fn is_wrapper(key: &str) -> bool {
    key.starts_with(['$', '@']) && is_call_key_as_it_is(key)
}

/// Whether a key beside the id of a call names the tool.
fn is_name_of_tool(key: &str) -> bool {
    const KEYS: [&str; 8] = [
        "name",
        "tool",
        "toolname",
        "function",
        "functionname",
        "call",
        "server",
        "method",
    ];
    is_one_of(key, &KEYS)
}

/// A selector behind a key that is the id of a call with a sign: `{"$call_1": "items[0]"}`.
fn keyed(key: &str, select: &str, object: &Map<String, Value>) -> Option<NearReference> {
    let id = key.trim_matches(|sign: char| sign.is_ascii_punctuation());
    if word_of(id) != Some(id) || !is_distinctive(id) {
        return None;
    }
    let select = Some(select.to_owned()).filter(|select| !select.trim().is_empty());
    let mut near = NearReference::new(id, vec![select], &written_of(object));
    near.has_sigil = has_sign(key);
    Some(near)
}

/// The key that names a call, and what its text means. Where there are several, only one names a call beyond doubt.
fn call_of(object: &Map<String, Value>, is_certain: bool) -> Option<(&String, NearReference)> {
    let is_signed = is_certain
        || is_typed(object)
        || object
            .keys()
            .any(|key| is_sentinel(key) || meaning_of(key) == KeyMeaning::Select);
    let read = |known: bool| {
        let texts = object
            .iter()
            .filter_map(|(key, value)| Some((key, value.as_str()?)));
        let calls = texts.filter(move |(key, _)| {
            is_call_key(key, is_signed)
                || !known
                    && has_sign(key)
                    && (object.len() == 1 || meaning_of(key) == KeyMeaning::Unknown)
        });
        calls.filter_map(move |(key, text)| {
            let near = NearReference::from_entry(text)?;
            (known || near.is_distinctive()).then_some((key, near))
        })
    };
    let mut calls: Vec<_> = read(true).collect();
    if calls.is_empty() {
        calls = read(false).collect();
    }
    if calls.len() > 1 {
        calls.retain(|(_, near)| near.is_distinctive());
    }
    let call = calls.pop()?;
    calls.is_empty().then_some(call)
}

/// An object as it was written, without what is in its lists and objects.
fn written_of(object: &Map<String, Value>) -> String {
    let outside = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => Value::from("…"),
        scalar => scalar.clone(),
    };
    let members = object.iter();
    let members = members.map(|(key, value)| (key.clone(), outside(value)));
    Value::Object(members.collect()).to_string()
}
