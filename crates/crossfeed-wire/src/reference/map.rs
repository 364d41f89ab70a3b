//! References maps: `{"q": "x", "$refs": {"url": {"$tool": "c"}}}`, and lists of entries in their place.

use super::{
    DEFAULT, DIGEST, EditKind, Filling, InputKind, LISTED_DEFAULT, LISTED_LITERAL, LISTED_TEMPLATE,
    LISTED_WITH, LITERAL, Malformed, Parts, REFS, Reading, Reference, SELECT, TOOL, Template,
    edit_of,
    gist::{Gist, TARGETS},
    is_sentinel,
    near::{NearReference, is_one_of, meaning_of, near_list, read_near},
    read_object, read_string, shortened, source_of, string, type_name,
};
use crate::Pointer;
use serde_json::{Map, Value};

/// Words for what holds parameters.
const AROUND: [&str; 8] = [
    "arguments",
    "args",
    "input",
    "inputs",
    "params",
    "parameters",
    "properties",
    "body",
];

/// The keys of what a reference names, without signs.
const SOURCES: [&str; 3] = ["tool", "file", "resource"];

/// The most members of what stands in place of the id of a call.
const MAX_INNER: usize = 8;

/// Whether `key` is that of a references map, in either spelling.
pub fn is_map(key: &str) -> bool {
    REFS.is(key)
}

/// Whether a key may be written for that of a references map: `references`, `@refs`.
pub fn is_near_map(key: &str) -> bool {
    const KEYS: [&str; 8] = [
        "refs",
        "ref",
        "reference",
        "references",
        "reffs",
        "refsmap",
        "refmap",
        "referencesmap",
    ];
    !REFS.is(key) && is_one_of(key, &KEYS)
}

/// Whether a value is a map or list of references of the grammar and nothing else.
fn holds_references(value: &Value) -> bool {
    let is_one = |value: &Value| {
        let object = value.as_object();
        let text =
            |key: &str| object.is_some_and(|object| object.get(key).is_some_and(Value::is_string));
        let is_source = |key: &str| text(&format!("${key}")) || text(&format!("_{key}"));
        SOURCES
            .iter()
            .any(|key| is_source(key) || text("to") && text(key))
    };
    match value {
        Value::Object(map) => !map.is_empty() && map.values().all(is_one),
        Value::Array(list) => !list.is_empty() && list.iter().all(is_one),
        _ => false,
    }
}

/// The place where an entry of a references map puts its value, relative to the object that holds the map.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a target is a name or a pointer")]
pub enum Target {
    /// A member of the object.
    Parameter(String),
    /// A place inside the object.
    Pointer(Pointer),
}

impl Target {
    /// The target as a pointer relative to the object.
    pub fn to_pointer(&self) -> Pointer {
        match self {
            Self::Parameter(name) => Pointer::root().key(name),
            Self::Pointer(pointer) => pointer.clone(),
        }
    }
}

/// One entry of a references map.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The place of the entry itself, relative to the object that holds the map.
    pub at: Pointer,
    /// The target and what is put there, or why the entry is malformed.
    pub reading: Result<(Target, Filling), Malformed>,
}

/// A references map of an object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct References {
    /// The key of the map, which is removed after resolving.
    pub key: String,
    /// The entries in the order in which they are applied; empty for `null` and empty maps.
    pub entries: Vec<Entry>,
}

/// Reads the references maps of an object: none, or one, or (only when all but one are `null`)
/// both spellings. `declared` is as for [`read_object`]. No entry may have its target within a map.
///
/// # Errors
///
/// [`Malformed`] with its place when the map is neither object nor list, or has both spellings. An entry's
/// own fault is in [`Entry::reading`], so that all are reported together.
pub fn read_references(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Result<Vec<References>, (Pointer, Malformed)> {
    let mut found = beside(object, declared).unwrap_or_default();
    let mut filled = None;
    let near = object
        .iter()
        .filter(|(key, value)| is_near_map(key) && !declared(key) && holds_references(value));
    let own = [REFS.dollar, REFS.underscore].into_iter();
    let own = own.filter_map(|key| object.get_key_value(key).filter(|_| !declared(key)));
    for (key, value) in own.chain(near) {
        let at = Pointer::root().key(key);
        if !value.is_null() && filled.replace(key).is_some() {
            return Err((at, Malformed::TwoSpellings(REFS.dollar, REFS.underscore)));
        }
        // A map that was written as a text.
        let parsed = value.as_str().map(str::trim);
        let parsed = parsed.filter(|text| text.starts_with(['{', '[']));
        let parsed: Option<Value> = parsed.and_then(|text| serde_json::from_str(text).ok());
        let map = Written {
            object,
            declared,
            value: parsed.as_ref().unwrap_or(value),
            at,
        };
        let mut entries = map.entries(key)?;
        if parsed.is_some() {
            let written = value.as_str().unwrap_or_default();
            for entry in &mut entries {
                if let Ok((_, Filling::Reference(reference))) = &mut entry.reading {
                    reference.note_written(written);
                }
            }
        }
        found.push(References {
            key: key.clone(),
            entries,
        });
    }
    Ok(found)
}

/// A references map, in any form.
struct Written<'v, D> {
    /// The object that holds it.
    object: &'v Map<String, Value>,
    declared: &'v D,
    value: &'v Value,
    at: Pointer,
}

impl<D: Fn(&str) -> bool> Written<'_, D> {
    fn entries(&self, key: &str) -> Result<Vec<Entry>, (Pointer, Malformed)> {
        let (declared, at) = (self.declared, &self.at);
        // A reference in place of the map is for the one parameter that has no value.
        let alone = self.value.as_object().and_then(|map| {
            let Ok(Reading::Reference(reference)) = read_object(map, &|_| false) else {
                return None;
            };
            let target = Target::Parameter(only_empty(self.object)?.to_owned());
            Some((target, Filling::Reference(reference.unwrapped(false))))
        });
        if let Some(entry) = alone {
            return Ok(vec![self.entry(at.clone(), Ok(entry))]);
        }
        let mut entries = match self.value {
            Value::Null => Vec::new(),
            // An entry of a list in its place: `{"to": "url", "tool": "call_1"}`.
            Value::Object(map) if is_entry(map, declared) => {
                vec![self.entry(at.clone(), read_list_entry(self.value))]
            }
            // `{"_refs": {"url": …}}` in a map.
            Value::Object(map) if self.is_around(map) => {
                let value = only_member(map).unwrap_or(&Value::Null);
                let inner = Written {
                    value,
                    at: self.at.clone(),
                    ..*self
                };
                return inner.entries(key);
            }
            Value::Object(map) => {
                let entries = map.iter().map(|(name, value)| {
                    let reading = read_map_entry(value);
                    self.entry(
                        at.key(name),
                        reading.map(|filling| (target(name, declared), filling)),
                    )
                });
                entries.collect()
            }
            Value::Array(list) => {
                let entries = list.iter().enumerate();
                let entries = entries
                    .map(|(index, value)| self.entry(at.index(index), read_list_entry(value)));
                entries.collect()
            }
            other => {
                let whole = self.understood(other, None).map(|reading| Entry {
                    at: at.clone(),
                    reading: Ok(reading),
                });
                return whole.map(|entry| vec![entry]).ok_or_else(|| {
                    let key = if REFS.dollar == key {
                        REFS.dollar
                    } else {
                        REFS.underscore
                    };
                    let found = type_name(other);
                    (at.clone(), Malformed::NoMap { key, found })
                });
            }
        };
        // What names two things means neither.
        let names_two = |entry: &Entry| matches!(entry.reading, Err(Malformed::TwoSources(..)));
        if entries.iter().all(|entry| entry.reading.is_ok()) || entries.iter().any(names_two) {
            return Ok(entries);
        }
        // The parts of one reference, in another arrangement.
        if let Some(reading) = self.understood(self.value, None) {
            let at = entries.first().map_or(at, |first| &first.at).clone();
            let reading = Ok(reading);
            return Ok(vec![Entry { at, reading }]);
        }
        let values: Vec<(Option<&str>, &Value)> = match self.value {
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| (Some(name.as_str()), value))
                .collect(),
            Value::Array(list) => list.iter().map(|value| (None, value)).collect(),
            _ => Vec::new(),
        };
        let wrong = entries.iter_mut().zip(values);
        for (entry, (name, value)) in wrong.filter(|(entry, _)| entry.reading.is_err()) {
            if let Some(reading) = self.understood(value, name) {
                entry.reading = Ok(reading);
            }
        }
        Ok(entries)
    }

    /// An entry, whose target may be written in another way and must not be within a map.
    fn entry(&self, at: Pointer, reading: Result<(Target, Filling), Malformed>) -> Entry {
        let named = reading.map(|(target, filling)| match self.name_in(&target) {
            Some(name) => (Target::Parameter(name), filling),
            None => (target, filling),
        });
        Entry {
            at,
            reading: named.and_then(|entry| outside_maps(entry, self.declared)),
        }
    }

    /// Whether an object holds only another map under a word that is no parameter.
    fn is_around(&self, map: &Map<String, Value>) -> bool {
        let is_word = |key: &String| {
            !self.is_name(key)
                && (is_map(key) || is_near_map(key) || AROUND.contains(&key.as_str()))
        };
        let is_holder = |value: &Value| match value {
            Value::Object(inner) => {
                let is_source = |key: &String| {
                    let plain = key.strip_prefix(['$', '_']).unwrap_or(key);
                    SOURCES.contains(&plain)
                };
                !inner.keys().any(is_source)
            }
            Value::Array(_) => true,
            _ => false,
        };
        map.len() == 1
            && map
                .iter()
                .all(|(key, value)| is_word(key) && is_holder(value))
    }

    /// Whether a parameter has this name, as far as it is known.
    fn is_name(&self, name: &str) -> bool {
        !is_map(name)
            && ((self.declared)(name) || self.object.get(name).is_some_and(Value::is_null))
    }

    /// The parameter that a target names in another way: `$.url`, `/arguments/url`.
    fn name_in(&self, target: &Target) -> Option<String> {
        let pointer = target.to_pointer();
        let mut tokens = pointer.tokens();
        let first = tokens.next()?;
        // `/url/`
        if self.is_name(&first)
            && tokens.next().is_some_and(|next| next.is_empty())
            && tokens.next().is_none()
        {
            return Some(first.to_string());
        }
        if self.is_name(&first) || self.object.contains_key(first.as_ref() as &str) {
            return None;
        }
        let written = match target {
            Target::Parameter(name) => name.clone(),
            Target::Pointer(pointer) => pointer.as_str().to_owned(),
        };
        let is_sign = |sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '-'));
        let mut words = written.split(is_sign).filter(|word| !word.is_empty());
        let last = words.next_back().filter(|last| self.is_name(last))?;
        words
            .all(|word| AROUND.contains(&word))
            .then(|| last.to_owned())
    }

    /// The reference in what is an entry or a map in another arrangement; `name` is the key before it.
    fn understood(&self, value: &Value, name: Option<&str>) -> Option<(Target, Filling)> {
        let gist = Gist::of(value, &|name| self.is_name(name))?;
        let to = gist.to.as_deref().or(name).filter(|to| !to.is_empty());
        let target = match to {
            Some(to) => {
                let target = target(to, self.declared);
                match self.name_in(&target) {
                    Some(name) => Target::Parameter(name),
                    None if to.starts_with('/') && target == Target::Parameter(to.to_owned()) => {
                        return None;
                    }
                    None => target,
                }
            }
            None => Target::Parameter(only_empty(self.object)?.to_owned()),
        };
        let reference = gist.near.certain().into_reference()?;
        outside_maps((target, Filling::Reference(reference)), self.declared).ok()
    }
}

/// The only member without a value.
fn only_empty(object: &Map<String, Value>) -> Option<&str> {
    let mut empty = object
        .iter()
        .filter(|(key, value)| value.is_null() && !is_map(key));
    let (name, _) = empty.next()?;
    empty.next().is_none().then_some(name)
}

/// The parts of a reference beside the parameter that it is for: `{"url": null, "_tool": "call_1", "_select": "url"}`,
/// `{"url": "call_1", "$select": "url"}`.
pub(super) fn beside(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Option<Vec<References>> {
    let edit_kind = |key: &str| EditKind::ALL.iter().find(|(_, edit)| edit.is(key));
    let is_changing = |key: &str| edit_kind(key).is_some() || DIGEST.is(key);
    let is_part = |key: &str| {
        let is_own = [TOOL, SELECT, DEFAULT].iter().any(|part| part.is(key));
        (is_own || is_changing(key)) && !declared(key)
    };
    let parts: Map<String, Value> = object
        .iter()
        .filter(|(key, value)| is_part(key) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let others = || object.iter().filter(|(key, _)| !is_part(key));
    if parts.is_empty() || others().next().is_none() || !others().all(|(key, _)| declared(key)) {
        return None;
    }
    let mut written = parts.clone();
    let name = if parts.keys().any(|key| TOOL.is(key)) {
        only_empty(object)?
    } else {
        let named = |(key, value): (&'_ String, &'_ Value)| {
            let near = NearReference::from_entry(value.as_str()?)?;
            (near.is_distinctive() && near.selects == [None]).then(|| (key.clone(), near.id))
        };
        let mut named = others().filter_map(named);
        let (name, id) = named.next().filter(|_| named.next().is_none())?;
        written.insert(TOOL.dollar.to_owned(), id.into());
        object.get_key_value(&name)?.0
    };
    written.retain(|key, _| !is_changing(key));
    let gist = Gist::of(&Value::Object(written), &|_| false)?;
    let mut reference = gist.near.certain().into_reference()?;
    let edits = parts.iter().filter_map(|(key, content)| {
        let (kind, _) = edit_kind(key)?;
        Some((*kind, key.as_str(), content))
    });
    reference.edit = edit_of(&edits.collect::<Vec<_>>()).ok()?;
    let digest = parts.iter().find(|(key, _)| DIGEST.is(key));
    reference.digest = match digest {
        Some((_, digest)) => Some(digest.as_str()?.into()),
        None => None,
    };
    let mut keys = parts.keys();
    let key = keys.next()?.clone();
    let entry = Entry {
        at: Pointer::root().key(&key),
        reading: Ok((
            Target::Parameter(name.to_owned()),
            Filling::Reference(reference),
        )),
    };
    let rest = keys.map(|key| References {
        key: key.clone(),
        entries: Vec::new(),
    });
    let first = References {
        key: key.clone(),
        entries: vec![entry],
    };
    Some(std::iter::once(first).chain(rest).collect())
}

/// The target that a key of the map form names: a parameter, or a place, if the tool declares no parameter of that
/// name.
fn target(name: &str, declared: &impl Fn(&str) -> bool) -> Target {
    let pointer = Some(name).filter(|name| name.starts_with('/') && !declared(name));
    match pointer.and_then(Pointer::parse) {
        Some(pointer) => Target::Pointer(pointer),
        None => Target::Parameter(name.to_owned()),
    }
}

/// Refuses an entry that puts its value into a references map: that is removed with all it holds.
fn outside_maps(
    entry: (Target, Filling),
    declared: &impl Fn(&str) -> bool,
) -> Result<(Target, Filling), Malformed> {
    let to = entry.0.to_pointer();
    match to.tokens().next() {
        Some(first) if REFS.is(&first) && !declared(&first) => Err(Malformed::UnreachableTarget {
            to: to.as_str().to_owned(),
        }),
        _ => Ok(entry),
    }
}

/// An entry can only be a reference, so what is near one is read as one.
fn read_map_entry(value: &Value) -> Result<Filling, Malformed> {
    let expected = "a reference";
    let wrong = || Malformed::NoEntry {
        expected,
        found: type_name(value),
    };
    match value {
        Value::Object(object) => match read_object(object, &|_| false) {
            Ok(Reading::Reference(reference)) => Ok(Filling::Reference(reference)),
            Ok(Reading::Template(template)) => Ok(Filling::Template(template)),
            Ok(Reading::Literal(content)) => {
                let key = [LITERAL.dollar, LITERAL.underscore];
                let key = key
                    .into_iter()
                    .find(|key| object.get(*key) == Some(content));
                Ok(Filling::Literal(
                    key.unwrap_or(LITERAL.dollar),
                    content.clone(),
                ))
            }
            Ok(Reading::Data) | Err(Malformed::NoTool) => {
                // `{"$reference": {"$tool": "call_1"}}`
                if let Some(inner @ Value::Object(_)) = only_member(object) {
                    return read_map_entry(inner);
                }
                let is_input =
                    |key: &&String| InputKind::ALL.iter().any(|(_, input)| input.is(key));
                if let Some(source) = object.keys().find(is_input)
                    && let Some(key) = object.keys().find(|key| !is_sentinel(key))
                {
                    return Err(Malformed::UnknownKey {
                        key: shortened(key),
                        tool: source.clone(),
                    });
                }
                let near =
                    read_near(object, &|_| false, true).and_then(NearReference::into_reference);
                near.map(Filling::Reference).ok_or(Malformed::NoTool)
            }
            Err(error) => Err(error),
        },
        Value::String(text) => match read_string(text, &|_| false)? {
            Some(filling) => Ok(filling),
            // Any other word may be a value.
            None => NearReference::from_entry(text)
                .filter(NearReference::is_distinctive)
                .map(NearReference::certain)
                .and_then(NearReference::into_reference)
                .map(Filling::Reference)
                .ok_or_else(wrong),
        },
        // A list of one.
        Value::Array(list) => match list.as_slice() {
            [only @ (Value::Object(_) | Value::String(_))] => read_map_entry(only).map(unwrapped),
            // `["call_1", "items", 0]`
            steps => near_list(steps)
                .and_then(NearReference::into_reference)
                .map(Filling::Reference)
                .ok_or_else(wrong),
        },
        _ => Err(wrong()),
    }
}

fn unwrapped(filling: Filling) -> Filling {
    match filling {
        Filling::Reference(reference) => Filling::Reference(reference.unwrapped(true)),
        other => other,
    }
}

/// Whether an object is an entry of the list form rather than a map: no parameter has the name of its keys.
fn is_entry(map: &Map<String, Value>, declared: &impl Fn(&str) -> bool) -> bool {
    let is_text = |key: &str| map.get(key).is_some_and(Value::is_string);
    let is_filled = SOURCES.iter().any(|key| is_text(key))
        || is_text(LISTED_TEMPLATE)
        || map.contains_key(LISTED_LITERAL);
    is_text("to") && is_filled && map.keys().all(|key| !declared(key))
}

/// What stands in place of the id of a call, and is a reference itself: `{"$tool": {"id": "call_1", "select": "x"}}`.
pub(super) fn read_inner(object: &Map<String, Value>) -> Result<Reference, Malformed> {
    let is_plain = |value: &Value| !value.is_object() && !value.is_array();
    if object.len() > MAX_INNER || !object.values().all(is_plain) {
        return Err(Malformed::NoTool);
    }
    match read_map_entry(&Value::Object(object.clone()))? {
        Filling::Reference(reference) => Ok(reference.unwrapped(false)),
        _ => Err(Malformed::NoTool),
    }
}

/// The value of the only member of an object that is not null.
fn only_member(object: &Map<String, Value>) -> Option<&Value> {
    let mut members = object.values().filter(|value| !value.is_null());
    members.next().filter(|_| members.next().is_none())
}

/// The keys of a list entry, which need no sigils, because an entry holds nothing else.
fn read_list_entry(value: &Value) -> Result<(Target, Filling), Malformed> {
    let Value::Object(object) = value else {
        return Err(Malformed::NoEntry {
            expected: "a reference with its target as `to`",
            found: type_name(value),
        });
    };
    // The keys of a map's entries are those of a list's, with a sigil.
    let is_signed = |key: &str| is_sentinel(key) || key == "$to" || key == "_to";
    let has_signs = object.keys().any(|key| is_signed(key));
    let plain = has_signs.then(|| {
        let members = object.iter().map(|(key, value)| {
            let key = if is_signed(key) { &key[1..] } else { key };
            (key.to_owned(), value.clone())
        });
        members.collect::<Map<_, _>>()
    });
    let object = plain.as_ref().unwrap_or(object);
    let get = |key: &str| object.get(key).filter(|v| !v.is_null());
    let (to_key, to) = TARGETS
        .iter()
        .find_map(|key| Some((*key, get(key)?)))
        .ok_or(Malformed::NoTarget)?;
    let to = string(to_key, to)?;
    let target = if to.starts_with('/') {
        Target::Pointer(Pointer::parse(to).ok_or(Malformed::NoTarget)?)
    } else if to.is_empty() {
        return Err(Malformed::NoTarget);
    } else {
        Target::Parameter(to.to_owned())
    };
    let names_one = SOURCES.iter().any(|key| get(key).is_some());
    let is_other = names_one || get(LISTED_TEMPLATE).is_some();
    if let Some(content) = object.get(LISTED_LITERAL).filter(|_| !is_other) {
        return Ok((target, Filling::Literal(LISTED_LITERAL, content.clone())));
    }
    if let Some(text) = get(LISTED_TEMPLATE).filter(|_| !names_one) {
        let with = get(LISTED_WITH).ok_or(Malformed::NoWith {
            template: LISTED_TEMPLATE,
            with: LISTED_WITH,
        })?;
        let text = string(LISTED_TEMPLATE, text)?;
        let at = Pointer::root().key(LISTED_WITH);
        let template = Template::read(text, LISTED_WITH, with, &at)?;
        return Ok((target, Filling::Template(template)));
    }
    if !names_one {
        let mut beside = object.clone();
        beside.remove(to_key);
        let near = match only_member(&beside) {
            // `{"to": "url", "value": {"$tool": "call_1"}}`
            Some(inner @ Value::Object(_)) => read_map_entry(inner).ok(),
            _ => read_near(&beside, &|_| false, true)
                .and_then(NearReference::into_reference)
                .map(Filling::Reference),
        };
        if let Some(filling) = near {
            return Ok((target, filling));
        }
    }
    let reference = read_listed(object, &[to_key])?;
    Ok((target, Filling::Reference(reference)))
}

/// A reference whose keys have no sigils, in an object with these keys beside it.
pub(super) fn read_listed(
    object: &Map<String, Value>,
    beside: &[&str],
) -> Result<Reference, Malformed> {
    let get = |key: &str| object.get(key).filter(|v| !v.is_null());
    let inputs = InputKind::ALL.iter().filter_map(|(kind, _)| {
        let key = kind.as_str();
        Some((Some(*kind), key, get(key)?))
    });
    let tool = get("tool").map(|id| ("tool", id));
    let source = source_of(tool, inputs.collect())?.ok_or_else(|| Malformed::NoString {
        key: "tool".to_owned(),
        found: "nothing",
    })?;
    let own = ["artifact", "select", LISTED_DEFAULT, "digest"];
    let is_edit = |key: &str| EditKind::ALL.iter().any(|(kind, _)| kind.as_str() == key);
    let named = |key: &'static str| Some((key, get(key)?));
    let edits = EditKind::ALL.iter().filter_map(|(kind, _)| {
        let key = kind.as_str();
        Some((*kind, key, get(key)?))
    });
    let parts = Parts {
        source,
        artifact: named("artifact"),
        select: named("select"),
        default: get(LISTED_DEFAULT),
        edits: edits.collect(),
        digest: named("digest"),
    };
    // Where every entry has every key, the others are null.
    let is_absent = |key: &str| {
        let others = [LISTED_LITERAL, LISTED_TEMPLATE, LISTED_WITH];
        others.contains(&key) && get(key).is_none()
    };
    let is_own = |key: &str| {
        own.contains(&key)
            || SOURCES.contains(&key)
            || is_edit(key)
            || beside.contains(&key)
            || is_absent(key)
    };
    parts.reference(object, is_own, meaning_of)
}
