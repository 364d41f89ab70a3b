//! The grammar of references, in all its spellings (`specs/references.md`).
//!
//! Reads one object, string or references map of the arguments: it is data, a literal or a reference, or
//! malformed. Walking the arguments and looking results up is the engine's work.

mod near;
mod template;

pub use near::{
    NearReference, NearText, is_near_text, may_name_a_call, near_object, near_text, opens_near_text,
};
pub use template::{Piece, Template};

use crate::{ArtifactId, CallId, IdError, Pointer};
use near::{KeyMeaning, meaning_of, read_near};
use serde_json::{Map, Value};

/// A key of the grammar, in both of its spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sentinel {
    dollar: &'static str,
    underscore: &'static str,
}

const TOOL: Sentinel = sentinel("$tool", "_tool");
const ARTIFACT: Sentinel = sentinel("$artifact", "_artifact");
const SELECT: Sentinel = sentinel("$select", "_select");
const DEFAULT: Sentinel = sentinel("$default", "_default");
const LITERAL: Sentinel = sentinel("$literal", "_literal");
const TEMPLATE: Sentinel = sentinel("$template", "_template");
const WITH: Sentinel = sentinel("$with", "_with");
const REFS: Sentinel = sentinel("$refs", "_refs");
const ALL: [Sentinel; 8] = [
    TOOL, ARTIFACT, SELECT, DEFAULT, LITERAL, TEMPLATE, WITH, REFS,
];

/// The keys of a reference's default, used when its selector matches nothing; the last is that of an entry of
/// a list.
pub const DEFAULT_KEYS: [&str; 3] = [DEFAULT.dollar, DEFAULT.underscore, LISTED_DEFAULT];
const LISTED_DEFAULT: &str = "default";
const LISTED_LITERAL: &str = "literal";
const LISTED_TEMPLATE: &str = "template";
const LISTED_WITH: &str = "with";

/// The keys whose values [`read_object`] and [`read_references`] copy. Copying recurses, so callers bound the
/// depth of these values first.
pub const COPIED: [&str; 16] = [
    DEFAULT.dollar,
    DEFAULT.underscore,
    WITH.dollar,
    WITH.underscore,
    REFS.dollar,
    REFS.underscore,
    "refs",
    "ref",
    "_ref",
    "$ref",
    "references",
    "_references",
    "$references",
    "_reference",
    "$reference",
    "reference",
];

impl Sentinel {
    fn is(self, key: &str) -> bool {
        self.dollar == key || self.underscore == key
    }
}

const fn sentinel(dollar: &'static str, underscore: &'static str) -> Sentinel {
    Sentinel { dollar, underscore }
}

/// Whether `key` is a key of the grammar, in either spelling.
pub fn is_sentinel(key: &str) -> bool {
    ALL.iter().any(|sentinel| sentinel.is(key))
}

/// Keys that are written for those of a references map.
const NEAR_MAPS: &[&str] = COPIED.split_at(6).1;

/// Whether an object has a key that may be written for that of a references map.
pub fn is_near_map(key: &str) -> bool {
    NEAR_MAPS.contains(&key)
}

/// Whether a value is a map or list of references of the grammar and nothing else.
fn holds_references(value: &Value) -> bool {
    let is_one = |value: &Value| {
        let object = value.as_object();
        let text =
            |key: &str| object.is_some_and(|object| object.get(key).is_some_and(Value::is_string));
        text(TOOL.dollar) || text(TOOL.underscore) || text("to") && text("tool")
    };
    match value {
        Value::Object(map) => !map.is_empty() && map.values().all(is_one),
        Value::Array(list) => !list.is_empty() && list.iter().all(is_one),
        _ => false,
    }
}

/// Whether `key` is that of a references map, in either spelling.
pub fn is_map(key: &str) -> bool {
    REFS.is(key)
}

/// A reference to a tool result, which replaces it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reference {
    /// The call whose result it names (`$tool`).
    pub call_id: CallId,
    /// The artifact of that call, if it names one (`$artifact`).
    pub artifact_id: Option<ArtifactId>,
    /// The selector as it was written (`$select`).
    pub select: Option<String>,
    /// The value to use when the selector matches nothing (`$default`).
    pub default: Option<Value>,
    /// Keys beside the reference that mean nothing there.
    pub ignored: Vec<String>,
    /// How it was written, where that is not quite the grammar: `{"$tool":"c","path":"x"}`.
    pub repair: Option<Box<Repair>>,
}

impl Reference {
    /// The reference, which was written within an object or list of its own.
    pub fn unwrapped(mut self) -> Self {
        self.repair.get_or_insert_with(|| {
            let written = serde_json::json!({"…": {TOOL.dollar: self.call_id.as_str()}});
            Box::new(Repair {
                written: shortened(&written.to_string()),
                others: Vec::new(),
            })
        });
        self
    }
}

/// A reference that was not written as the grammar says, and is read as what it must mean.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The reference as it was written, cut if it is long.
    pub written: String,
    /// Other selectors that may be meant, if the first selects nothing; `None` is the whole result.
    pub others: Vec<Option<String>>,
}

/// The meaning of an object of the arguments.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar has these and no other"
)]
pub enum Reading<'a> {
    /// Domain data; its members are read in their turn.
    Data,
    /// `{"$literal": …}`: its content, which is not read, replaces it.
    Literal(&'a Value),
    /// A reference.
    Reference(Reference),
    /// `{"$template": …, "$with": …}`: a text with values of references in it.
    Template(Template),
}

/// What an entry of a references map puts at its target.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar has these and no other"
)]
pub enum Filling {
    /// The value of a reference.
    Reference(Reference),
    /// A text with values of references in it.
    Template(Template),
    /// A literal: the key of its content in the entry, and the content.
    Literal(&'static str, Value),
}

/// Why something that looks like a reference is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// `{"$tool": "c", "_tool": "c"}`.
    #[error("`{0}` and `{1}` both stand in one object")]
    TwoSpellings(&'static str, &'static str),
    /// `{"$select": "x"}`.
    #[error("a reference needs a string `{tool}`", tool = TOOL.dollar)]
    NoTool,
    /// `{"$tool": 7}`, `{"$tool": "c", "$select": 5}`.
    #[error("`{key}` must be a string, not {found}")]
    NoString {
        /// The key at fault, as it was written.
        key: String,
        /// The JSON type of the value there.
        found: &'static str,
    },
    /// `{"$tool": ""}`.
    #[error("`{key}` holds no id: {source}")]
    NoId {
        /// The key at fault, as it was written.
        key: String,
        /// The fault of the id.
        source: IdError,
    },
    /// `{"$tool": "c", "path": ["x"]}`: without it, the whole result would be passed instead of a part.
    #[error("`{key}` beside `{tool}` is not a key of a reference")]
    UnknownKey {
        /// The unknown key, cut if it is long.
        key: String,
        /// The key of the call's id, as it was written.
        tool: String,
    },
    /// `{{c.items}}`: meant as a reference, and not written as one.
    #[error("`{written}` is not how a reference is written")]
    NotAReference {
        /// The text or object as it was written, cut if it is long.
        written: String,
    },
    /// `{"$literal": 1, "$tool": "c"}`.
    #[error("`{0}` stands alone in its object")]
    LiteralNotAlone(&'static str),
    /// `{"$template": "{a}"}`.
    #[error(
        "`{template}` needs `{with}`, an object with a reference for each `{{name}}` in the text"
    )]
    NoWith {
        /// The key of the text, as it was written.
        template: &'static str,
        /// The missing key.
        with: &'static str,
    },
    /// `{"$template": "{a}", "$with": {}, "$tool": "c"}`.
    #[error("`{key}` does not belong beside `{template}`")]
    BesideTemplate {
        /// The key at fault.
        key: String,
        /// The key of the text, as it was written.
        template: &'static str,
    },
    /// `{"$template": "{a", "$with": {}}`.
    #[error(
        "a brace in a template is unpaired: `{{name}}` stands for a value, `{{{{` and `}}}}` for braces"
    )]
    UnpairedBrace,
    /// `{"$template": "{b}", "$with": {"a": {"$tool": "c"}}}`.
    #[error("`{{{name}}}` is in the template and not in `$with`")]
    NoSuchName {
        /// The name in the template.
        name: String,
        /// The nearest name in `$with`.
        nearest: Option<String>,
    },
    /// A value of a template is null.
    #[error("the value is null, which a text cannot hold")]
    NullInText,
    /// `{"$template": "text", "$with": {"a": {"$tool": "c"}}}`.
    #[error("`{name}` is in `$with`, and `{{{name}}}` is not in the template")]
    UnusedName {
        /// The name in `$with`.
        name: String,
    },
    /// `{"$refs": 7}`.
    #[error("`{key}` must be an object of references or a list of entries, not {found}")]
    NoMap {
        /// The key at fault, as it was written.
        key: &'static str,
        /// The JSON type of the value there.
        found: &'static str,
    },
    /// `{"$refs": {"url": 7}}`, `{"$refs": [7]}`.
    #[error("an entry of a references map must be {expected}, not {found}")]
    NoEntry {
        /// The expected form of the entry.
        expected: &'static str,
        /// The JSON type of the value there.
        found: &'static str,
    },
    /// `{"$refs": [{"tool": "c"}]}`, `{"$refs": [{"to": "", "tool": "c"}]}`.
    #[error("`to` must name a parameter or be a JSON Pointer to a place inside this object")]
    NoTarget,
    /// `{"$refs": [{"to": "/q/x", "tool": "c"}], "q": 7}`, or within the map itself, which is removed:
    /// `{"$refs": {"$refs": {"$tool": "c"}}}`.
    #[error("`{to}` is not a place in the arguments")]
    UnreachableTarget {
        /// The target as it was written.
        to: String,
    },
}

/// The JSON type of `value`, as an error names it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// One object, and which of its keys the tool itself declares.
struct Keys<'a, 'd, D> {
    object: &'a Map<String, Value>,
    declared: &'d D,
}

impl<'a, D: Fn(&str) -> bool> Keys<'a, '_, D> {
    /// The member under either spelling, unless it is null or declared by the tool.
    fn get(&self, sentinel: Sentinel) -> Result<Option<(&'static str, &'a Value)>, Malformed> {
        let one = |key: &'static str| {
            self.object
                .get(key)
                .filter(|v| !v.is_null() && !(self.declared)(key))
                .map(|v| (key, v))
        };
        match (one(sentinel.dollar), one(sentinel.underscore)) {
            (Some(_), Some(_)) => Err(Malformed::TwoSpellings(
                sentinel.dollar,
                sentinel.underscore,
            )),
            (Some(found), None) | (None, Some(found)) => Ok(Some(found)),
            (None, None) => Ok(None),
        }
    }

    fn is_sentinel(&self, key: &str) -> bool {
        is_sentinel(key) && !(self.declared)(key)
    }

    /// The key of the references that a template needs, if the object is a template, complete or not.
    fn template(&self) -> Option<(&'static str, &'static str)> {
        let is_text =
            |key: &str| !(self.declared)(key) && self.object.get(key).is_some_and(Value::is_string);
        let dollar = (TEMPLATE.dollar, WITH.dollar);
        let underscore = (TEMPLATE.underscore, WITH.underscore);
        [dollar, underscore]
            .into_iter()
            .find(|(key, _)| is_text(key))
    }

    fn are_all_sentinels(&self) -> bool {
        self.object.keys().all(|key| self.is_sentinel(key))
    }

    /// Whether the key of the call's id holds a string.
    fn name_a_call(&self) -> bool {
        [TOOL.dollar, TOOL.underscore]
            .iter()
            .any(|&key| !(self.declared)(key) && self.object.get(key).is_some_and(Value::is_string))
    }
}

fn string<'a>(key: &str, value: &'a Value) -> Result<&'a str, Malformed> {
    value.as_str().ok_or_else(|| Malformed::NoString {
        key: key.to_owned(),
        found: type_name(value),
    })
}

fn id<T>(
    key: &str,
    value: &Value,
    parse: impl Fn(&str) -> Result<T, IdError>,
) -> Result<T, Malformed> {
    parse(string(key, value)?).map_err(|source| Malformed::NoId {
        key: key.to_owned(),
        source,
    })
}

/// Reads one object of the arguments. `declared` says which keys the tool's own schema declares
/// at this place: those are data.
///
/// # Errors
///
/// [`Malformed`] when the object has sentinel keys only, in a shape that is not a reference, or is a
/// reference with a member of the wrong type.
///
/// ```
/// use crossfeed_wire::reference::{Reading, read_object};
/// use serde_json::json;
///
/// let object = json!({"$tool": "call_1", "$select": "items[0].url"});
/// let reading = read_object(object.as_object().unwrap(), &|_| false)?;
/// let Reading::Reference(reference) = reading else { panic!() };
/// assert_eq!(reference.call_id.as_str(), "call_1");
/// assert_eq!(reference.select.as_deref(), Some("items[0].url"));
/// # Ok::<(), crossfeed_wire::reference::Malformed>(())
/// ```
pub fn read_object<'a>(
    object: &'a Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Result<Reading<'a>, Malformed> {
    let keys = Keys { object, declared };
    if !object.keys().any(|key| keys.is_sentinel(key)) {
        return Ok(Reading::Data);
    }
    // In a lone `{"$literal": null}`, null is content rather than absence.
    if object.len() == 1
        && let Some((_, content)) = object.iter().find(|(key, _)| LITERAL.is(key))
    {
        return Ok(Reading::Literal(content));
    }
    let template = keys.template();
    let is_template = template.is_some() && keys.get(WITH)?.is_some();
    if !keys.are_all_sentinels() && !keys.name_a_call() && !is_template {
        return match template.filter(|(key, _)| template::names_a_member(object, key)) {
            Some((template, with)) => Err(Malformed::NoWith { template, with }),
            None => Ok(Reading::Data),
        };
    }
    let literal = keys.get(LITERAL)?;
    let refs = keys.get(REFS)?;
    let (tool, artifact) = (keys.get(TOOL)?, keys.get(ARTIFACT)?);
    let (select, default) = (keys.get(SELECT)?, keys.get(DEFAULT)?);
    let has_parts = [tool, artifact, select, default]
        .iter()
        .any(Option::is_some);
    if let Some((key, content)) = literal {
        if has_parts || refs.is_some() || template.is_some() {
            return Err(Malformed::LiteralNotAlone(key));
        }
        return Ok(Reading::Literal(content));
    }
    if let Some((key, with_key)) = template {
        let mut others = object.iter().filter(|(key, value)| {
            !value.is_null() && !TEMPLATE.is(key.as_str()) && !WITH.is(key.as_str())
        });
        if let Some((other, _)) = others.next() {
            return Err(Malformed::BesideTemplate {
                key: shortened(other),
                template: key,
            });
        }
        let text = keys.get(TEMPLATE)?.and_then(|(_, text)| text.as_str());
        let (text, (with_key, with)) = text.zip(keys.get(WITH)?).ok_or(Malformed::NoWith {
            template: key,
            with: with_key,
        })?;
        let at = Pointer::root().key(with_key);
        return Template::read(text, with_key, with, &at).map(Reading::Template);
    }
    // An object that holds a references map and nothing else of the grammar is data with a map.
    let map_stands_here = object.keys().any(|key| !declared(key) && REFS.is(key));
    if !has_parts && map_stands_here {
        return Ok(Reading::Data);
    }
    let tool = tool.ok_or(Malformed::NoTool)?;
    let is_other = |key: &str| TEMPLATE.is(key) || WITH.is(key) || REFS.is(key) && refs.is_some();
    let is_own = |key: &str| keys.is_sentinel(key) && !is_other(key);
    let meaning = |key: &str| {
        if declared(key) || REFS.is(key) {
            KeyMeaning::Nothing
        } else {
            meaning_of(key)
        }
    };
    let default = default.map(|(_, value)| value);
    let parts = Parts {
        tool,
        artifact,
        select,
        default,
    };
    parts
        .reference(object, is_own, meaning)
        .map(Reading::Reference)
}

/// A key or text as an error quotes it.
fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    let mut chars = text.char_indices();
    match chars.nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The members of a reference, each with its key as it was written.
struct Parts<'a, 'k> {
    tool: (&'k str, &'a Value),
    artifact: Option<(&'k str, &'a Value)>,
    select: Option<(&'k str, &'a Value)>,
    default: Option<&'a Value>,
}

impl Parts<'_, '_> {
    /// The reference. A key that is not one of the grammar is an error if it may have been meant for a selector or
    /// a default, or for anything where no selector is; the one that can only be the selector is read as it.
    fn reference(
        self,
        object: &Map<String, Value>,
        is_own: impl Fn(&str) -> bool,
        meaning: impl Fn(&str) -> KeyMeaning,
    ) -> Result<Reference, Malformed> {
        let (tool_key, tool) = self.tool;
        let mut select = self
            .select
            .map(|(key, value)| string(key, value).map(str::to_owned))
            .transpose()?;
        let mut reference = Reference {
            call_id: id(tool_key, tool, CallId::parse)?,
            artifact_id: self
                .artifact
                .map(|(key, value)| id(key, value, ArtifactId::parse))
                .transpose()?,
            select: None,
            default: self.default.cloned(),
            ignored: Vec::new(),
            repair: None,
        };
        for (key, value) in object.iter().filter(|(key, _)| !is_own(key)) {
            let unknown = || Malformed::UnknownKey {
                key: shortened(key),
                tool: tool_key.to_owned(),
            };
            match (meaning(key), value) {
                (_, Value::Null) | (KeyMeaning::Nothing, _) => reference.ignored.push(key.clone()),
                (KeyMeaning::Select, Value::String(text))
                    if select.is_none() && !text.trim().is_empty() =>
                {
                    let written = serde_json::json!({tool_key: tool, key.as_str(): text});
                    reference.repair = Some(Box::new(Repair {
                        written: shortened(&written.to_string()),
                        others: Vec::new(),
                    }));
                    select = Some(text.clone());
                }
                (KeyMeaning::Select | KeyMeaning::Default, _) => return Err(unknown()),
                (KeyMeaning::Unknown, _) if self.select.is_some() => {
                    reference.ignored.push(key.clone());
                }
                (KeyMeaning::Unknown, _) => return Err(unknown()),
            }
        }
        reference.select = select;
        Ok(reference)
    }
}

/// Reads a string argument that is exactly one serialised reference object; `None` when it is an
/// ordinary string. `declared` is as for [`read_object`].
///
/// # Errors
///
/// [`Malformed`] when the string is an object of sentinel keys only with a string `$tool`, in a
/// shape that is not a reference.
///
/// ```
/// use crossfeed_wire::reference::{Filling, read_string};
///
/// let read = read_string(r#"{"$tool": "call_1"}"#, &|_| false)?;
/// assert!(matches!(read, Some(Filling::Reference(reference)) if reference.call_id.as_str() == "call_1"));
/// assert!(read_string("call_1", &|_| false)?.is_none());
/// # Ok::<(), crossfeed_wire::reference::Malformed>(())
/// ```
pub fn read_string(
    text: &str,
    declared: &impl Fn(&str) -> bool,
) -> Result<Option<Filling>, Malformed> {
    let text = text.trim();
    if !(text.starts_with('{') && text.ends_with('}') && text.contains("tool\"")) {
        return Ok(None);
    }
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let object = &object;
    let keys = Keys { object, declared };
    if !keys.name_a_call() && keys.template().is_none() || !keys.are_all_sentinels() {
        return Ok(None);
    }
    Ok(match read_object(object, declared)? {
        Reading::Reference(reference) => Some(Filling::Reference(reference)),
        Reading::Template(template) => Some(Filling::Template(template)),
        Reading::Data | Reading::Literal(_) => None,
    })
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
    pub key: &'static str,
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
    let mut found = Vec::new();
    let mut filled = None;
    let near = NEAR_MAPS.iter().copied().filter(|key| {
        let value = object.get(*key).filter(|_| !declared(key));
        value.is_some_and(holds_references)
    });
    for key in [REFS.dollar, REFS.underscore].into_iter().chain(near) {
        let Some(value) = object.get(key).filter(|_| !declared(key)) else {
            continue;
        };
        let at = Pointer::root().key(key);
        if !value.is_null() && filled.replace(key).is_some() {
            return Err((at, Malformed::TwoSpellings(REFS.dollar, REFS.underscore)));
        }
        // A map that was written as a text.
        let parsed = value.as_str().map(str::trim);
        let parsed = parsed.filter(|text| text.starts_with(['{', '[']));
        let parsed: Option<Value> = parsed.and_then(|text| serde_json::from_str(text).ok());
        let value = parsed.as_ref().unwrap_or(value);
        // A reference in place of the map is for the one parameter that has no value.
        let alone = value.as_object().and_then(|map| {
            let Ok(Reading::Reference(reference)) = read_object(map, &|_| false) else {
                return None;
            };
            let mut empty = object.iter().filter(|(_, value)| value.is_null());
            let (name, _) = empty.next().filter(|_| empty.next().is_none())?;
            let filling = Filling::Reference(reference.unwrapped());
            Some((Target::Parameter(name.to_owned()), filling))
        });
        if let Some(entry) = alone {
            let reading = Ok(entry);
            let entries = vec![Entry { at, reading }];
            found.push(References { key, entries });
            continue;
        }
        let entries = match value {
            Value::Null => Vec::new(),
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| Entry {
                    at: at.key(name),
                    reading: read_map_entry(value)
                        .map(|filling| (target(name, declared), filling))
                        .and_then(|entry| outside_maps(entry, declared)),
                })
                .collect(),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .map(|(index, value)| Entry {
                    at: at.index(index),
                    reading: read_list_entry(value).and_then(|entry| outside_maps(entry, declared)),
                })
                .collect(),
            other => {
                let found = type_name(other);
                return Err((at, Malformed::NoMap { key, found }));
            }
        };
        found.push(References { key, entries });
    }
    Ok(found)
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
    let expected = "a reference such as {\"$tool\": \"call_1\"}";
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
                .and_then(NearReference::into_reference)
                .map(Filling::Reference)
                .ok_or_else(wrong),
        },
        _ => Err(wrong()),
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
            expected: "an object such as {\"to\": \"url\", \"tool\": \"call_1\"}",
            found: type_name(value),
        });
    };
    // The keys of a map's entries are those of a list's, with a sigil.
    let is_signed = object
        .keys()
        .any(|key| is_sentinel(key) || key == "$to" || key == "_to");
    let plain = is_signed.then(|| {
        let is_own = |key: &str| is_sentinel(key) || key == "$to" || key == "_to";
        let members = object.iter().map(|(key, value)| {
            let key = if is_own(key) { &key[1..] } else { key };
            (key.to_owned(), value.clone())
        });
        members.collect::<Map<_, _>>()
    });
    let object = plain.as_ref().unwrap_or(object);
    let get = |key: &str| object.get(key).filter(|v| !v.is_null());
    let targets = [
        "to",
        "param",
        "parameter",
        "name",
        "target",
        "argument",
        "arg",
        "field",
    ];
    let (to_key, to) = targets
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
    let is_other = get("tool").or_else(|| get(LISTED_TEMPLATE)).is_some();
    if let Some(content) = object.get(LISTED_LITERAL).filter(|_| !is_other) {
        return Ok((target, Filling::Literal(LISTED_LITERAL, content.clone())));
    }
    if let Some(text) = get(LISTED_TEMPLATE).filter(|_| get("tool").is_none()) {
        let with = get(LISTED_WITH).ok_or(Malformed::NoWith {
            template: LISTED_TEMPLATE,
            with: LISTED_WITH,
        })?;
        let text = string(LISTED_TEMPLATE, text)?;
        let at = Pointer::root().key(LISTED_WITH);
        let template = Template::read(text, LISTED_WITH, with, &at)?;
        return Ok((target, Filling::Template(template)));
    }
    if get("tool").is_none() {
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
fn read_listed(object: &Map<String, Value>, beside: &[&str]) -> Result<Reference, Malformed> {
    let get = |key: &str| object.get(key).filter(|v| !v.is_null());
    let tool = get("tool").ok_or_else(|| Malformed::NoString {
        key: "tool".to_owned(),
        found: "nothing",
    })?;
    let own = ["tool", "artifact", "select", LISTED_DEFAULT];
    let named = |key: &'static str| Some((key, get(key)?));
    let parts = Parts {
        tool: ("tool", tool),
        artifact: named("artifact"),
        select: named("select"),
        default: get(LISTED_DEFAULT),
    };
    // Where every entry has every key, the others are null.
    let is_absent = |key: &str| {
        let others = [LISTED_LITERAL, LISTED_TEMPLATE, LISTED_WITH];
        others.contains(&key) && get(key).is_none()
    };
    let is_own = |key: &str| own.contains(&key) || beside.contains(&key) || is_absent(key);
    parts.reference(object, is_own, meaning_of)
}

#[cfg(test)]
mod tests;
