//! The grammar of references, in all its spellings (`specs/references.md`).
//!
//! Reads one object, string or references map of the arguments: it is data, a literal or a reference, or
//! malformed. Walking the arguments and looking results up is the engine's work.

mod gist;
mod input;
mod map;
mod near;
mod template;

pub use input::{Input, InputKind, NameError};
pub use map::{Entry, References, Target, is_map, is_near_map, read_references};
pub use near::{
    Glimpse, Members, NearReference, NearText, glance, is_id_byte, is_near_edit, is_near_select,
    is_wrapper, may_hold_id, near_object, near_text, near_value, near_whole,
};
pub use template::{Piece, Template};

use crate::{ArtifactId, CallId, IdError, Pointer};
use near::{KeyMeaning, meaning_of, selector_of};
use serde_json::{Map, Value};

/// A key of the grammar, in both of its spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sentinel {
    dollar: &'static str,
    underscore: &'static str,
}

const TOOL: Sentinel = sentinel("$tool", "_tool");
const FILE: Sentinel = sentinel("$file", "_file");
const RESOURCE: Sentinel = sentinel("$resource", "_resource");
const ARTIFACT: Sentinel = sentinel("$artifact", "_artifact");
const SELECT: Sentinel = sentinel("$select", "_select");
const DEFAULT: Sentinel = sentinel("$default", "_default");
const LITERAL: Sentinel = sentinel("$literal", "_literal");
const TEMPLATE: Sentinel = sentinel("$template", "_template");
const WITH: Sentinel = sentinel("$with", "_with");
const REFS: Sentinel = sentinel("$refs", "_refs");
const PATCH: Sentinel = sentinel("$patch", "_patch");
const MERGE: Sentinel = sentinel("$merge", "_merge");
const EDIT: Sentinel = sentinel("$edit", "_edit");
const DIGEST: Sentinel = sentinel("$digest", "_digest");
const ALL: [Sentinel; 14] = [
    TOOL, FILE, RESOURCE, ARTIFACT, SELECT, DEFAULT, LITERAL, TEMPLATE, WITH, REFS, PATCH, MERGE,
    EDIT, DIGEST,
];

/// The keys of a reference's default, used when its selector matches nothing; the last is that of an entry of
/// a list.
pub const DEFAULT_KEYS: [&str; 3] = [DEFAULT.dollar, DEFAULT.underscore, LISTED_DEFAULT];
const LISTED_DEFAULT: &str = "default";
const LISTED_LITERAL: &str = "literal";
const LISTED_TEMPLATE: &str = "template";
const LISTED_WITH: &str = "with";

/// Whether [`read_object`] and [`read_references`] copy the value of this key. Copying recurses, so callers bound the
/// depth of these values first.
pub fn is_copied(key: &str) -> bool {
    let own = [
        TOOL, SELECT, DEFAULT, WITH, REFS, PATCH, MERGE, EDIT, DIGEST,
    ];
    own.iter().any(|sentinel| sentinel.is(key)) || key == LISTED_WITH || is_near_map(key)
}

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

/// A way to change the value of a reference (`specs/edits.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar has these and no other"
)]
pub enum EditKind {
    /// `$patch`: a JSON Patch (RFC 6902).
    Patch,
    /// `$merge`: a JSON Merge Patch (RFC 7396).
    Merge,
    /// `$edit`: replacements in a text.
    Text,
}

impl EditKind {
    const ALL: [(Self, Sentinel); 3] = [
        (Self::Patch, PATCH),
        (Self::Merge, MERGE),
        (Self::Text, EDIT),
    ];

    /// Its key without a sign: `patch`, `merge` or `edit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Merge => "merge",
            Self::Text => "edit",
        }
    }

    /// Its key with each sign and without: `$patch`, `_patch`, `patch`.
    pub fn spellings(self) -> [&'static str; 3] {
        let sentinel = match self {
            Self::Patch => PATCH,
            Self::Merge => MERGE,
            Self::Text => EDIT,
        };
        [sentinel.dollar, sentinel.underscore, self.as_str()]
    }
}

/// A change of the value of a reference, as it was written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WrittenEdit {
    /// Which one.
    pub kind: EditKind,
    /// Its key, as it was written.
    pub key: String,
    /// What stands there.
    pub content: Value,
}

/// A reference to a tool result, a file or a resource, which replaces it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reference {
    /// The call whose result it names (`$tool`); of an input an id for messages, which names no call.
    pub call_id: CallId,
    /// The file or resource that it names in place of a call (`$file`, `$resource`).
    pub input: Option<Input>,
    /// The artifact of that call, if it names one (`$artifact`).
    pub artifact_id: Option<ArtifactId>,
    /// The selector as it was written (`$select`).
    pub select: Option<String>,
    /// The value to use when the selector matches nothing (`$default`).
    pub default: Option<Value>,
    /// How the value is changed (`$patch`, `$merge`, `$edit`).
    pub edit: Option<Box<WrittenEdit>>,
    /// The first digits of the digest of the result that is meant (`$digest`).
    pub digest: Option<Box<str>>,
    /// Keys beside the reference that mean nothing there.
    pub ignored: Vec<String>,
    /// How it was written, where that is not quite the grammar: `{"$tool":"c","path":"x"}`.
    pub repair: Option<Box<Repair>>,
}

impl Reference {
    /// The reference, which was written within a list or an object of its own.
    pub fn unwrapped(mut self, is_list: bool) -> Self {
        let inner = match &self.input {
            Some(input) => serde_json::json!({format!("${}", input.kind().as_str()): input.name()}),
            None => serde_json::json!({TOOL.dollar: self.call_id.as_str()}),
        };
        let written = if is_list {
            serde_json::json!([inner])
        } else {
            serde_json::json!({"…": inner})
        };
        self.note_written(&written.to_string());
        self
    }

    /// Takes note of how it was written, unless that is known.
    fn note_written(&mut self, written: &str) {
        self.repair.get_or_insert_with(|| {
            Box::new(Repair {
                written: shortened(written),
                ..Repair::default()
            })
        });
    }
}

/// A reference that was not written as the grammar says, and is read as what it must mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The reference as it was written, cut if it is long.
    pub written: String,
    /// Other selectors that may be meant, if the first selects nothing; `None` is the whole result.
    pub others: Vec<Option<String>>,
    /// The selector to offer where these select nothing.
    pub guess: Option<String>,
    /// Whether it is data if it selects nothing: it may as well be the name of a file.
    pub or_data: bool,
    /// Whether it is only to be offered: if it selects something, it is refused.
    pub is_guess: bool,
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

/// Whether a key is that of a literal.
pub fn is_literal(key: &str) -> bool {
    LITERAL.is(key)
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
    #[error("a reference needs the id of a call")]
    NoTool,
    /// `{"$tool": "c", "$file": "notes.txt"}`.
    #[error("`{0}` and `{1}` both stand in one reference, which takes one of them")]
    TwoSources(String, String),
    /// `{"$file": ""}`.
    #[error("`{key}` holds no name: {source}")]
    NoName {
        /// The key at fault, as it was written.
        key: String,
        /// The fault of the name.
        source: NameError,
    },
    /// `{"$tool": "c", "$patch": [], "$merge": {}}`.
    #[error("`{0}` and `{1}` both change one reference, which takes one of them")]
    TwoEdits(String, String),
    /// `{"$patch": []}`.
    #[error("`{0}` changes the value of a reference, and none stands beside it")]
    EditAlone(String),
    /// `"{\"$tool\": \"c\", \"$merge\": {\"a\": {\"$tool\": \"d\"}}}"`.
    #[error(
        "`{0}` holds a reference, which is not looked for in an edit that is written like this"
    )]
    EditInText(String),
    /// What the host has not switched on: `{"$tool": "c", "$patch": []}`.
    #[error("`{0}` is switched off here")]
    SwitchedOff(String),
    /// `{"$tool": 7}`, `{"$tool": "c", "$select": {}}`.
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
    #[error("`{written}` is not a valid reference")]
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
    #[error("`{{{name}}}` is in the template and stands for no value")]
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
    #[error("the value `{name}` is not used: `{{{name}}}` is not in the template")]
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
        self.is_text(TOOL)
    }

    /// Whether that of an input does. Unlike a call's id, a path is a plain text: with keys of others beside it is data.
    fn name_an_input(&self) -> bool {
        self.is_text(FILE) || self.is_text(RESOURCE)
    }

    fn is_text(&self, sentinel: Sentinel) -> bool {
        [sentinel.dollar, sentinel.underscore]
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
        return Ok(unsigned_template(object, declared).map_or(Reading::Data, Reading::Template));
    }
    // In a lone `{"$literal": null}`, null is content rather than absence.
    if object.len() == 1
        && let Some((_, content)) = object.iter().find(|(key, _)| LITERAL.is(key))
    {
        return Ok(Reading::Literal(content));
    }
    // `{"$literal": 1, "note": "x"}`; another key may have been meant for the content.
    if let Some((key, content)) = keys.get(LITERAL)?.filter(|(key, _)| *key == LITERAL.dollar) {
        let filled = object.iter().filter(|(_, value)| !value.is_null());
        let (own, others): (Vec<&String>, Vec<_>) = filled
            .map(|(key, _)| key)
            .partition(|key| keys.is_sentinel(key));
        let is_remark = |key: &&String| !declared(key) && meaning_of(key) == KeyMeaning::Nothing;
        if !others.is_empty() {
            return if own.len() == 1 && others.iter().all(is_remark) {
                Ok(Reading::Literal(content))
            } else {
                Err(Malformed::LiteralNotAlone(key))
            };
        }
    }
    if map::beside(object, declared).is_some() {
        return Ok(Reading::Data);
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
    let mut inputs = Vec::new();
    for (kind, sentinel) in InputKind::ALL {
        let found = keys.get(sentinel)?;
        inputs.extend(found.map(|(key, name)| (Some(kind), key, name)));
    }
    let (select, default) = (keys.get(SELECT)?, keys.get(DEFAULT)?);
    let mut edits = Vec::new();
    for (kind, sentinel) in EditKind::ALL {
        edits.extend(
            keys.get(sentinel)?
                .map(|(key, content)| (kind, key, content)),
        );
    }
    let digest = keys.get(DIGEST)?;
    let has_parts = !edits.is_empty()
        || !inputs.is_empty()
        || [tool, artifact, select, default, digest]
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
        // `{"$template": "{{call_1.items[0].url}}"}`
        let alone = text.filter(|text| object.len() == 1 && text.starts_with("{{"));
        let alone = alone.and_then(near_whole).filter(|near| !near.is_guess);
        if let Some(reference) = alone.and_then(NearReference::into_reference) {
            return Ok(Reading::Reference(reference));
        }
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
    let source = source_of(tool, inputs)?.ok_or_else(|| match edits.first() {
        Some((_, key, _)) => Malformed::EditAlone((*key).to_owned()),
        None => Malformed::NoTool,
    })?;
    // `{"$tool": {"$tool": "call_1", "$select": "x"}}`
    if let (Value::Object(inner), None, None, None) = (source.2, artifact, select, default)
        && source.0.is_none()
        && edits.is_empty()
        && digest.is_none()
    {
        let wrong = |error| match error {
            Malformed::NoTool => string(source.1, source.2)
                .map(|_| error)
                .unwrap_or_else(|it| it),
            error => error,
        };
        return map::read_inner(inner)
            .map(Reading::Reference)
            .map_err(wrong);
    }
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
        source,
        artifact,
        select,
        default,
        edits,
        digest,
    };
    parts
        .reference(object, is_own, meaning)
        .map(Reading::Reference)
}

/// Whether a key may be one of a template whose keys have no sigils.
pub fn is_unsigned(key: &str) -> bool {
    key == LISTED_WITH
}

/// A template whose keys have no sigils: `{"template": "See {a}", "with": {"a": {"$tool": "call_1"}}}`.
fn unsigned_template(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Option<Template> {
    if object.len() != 2 || declared(LISTED_TEMPLATE) || declared(LISTED_WITH) {
        return None;
    }
    let text = object.get(LISTED_TEMPLATE)?.as_str()?;
    let with = object.get(LISTED_WITH)?;
    let at = Pointer::root().key(LISTED_WITH);
    Template::read(text, LISTED_WITH, with, &at).ok()
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

/// What a reference names: the kind of an input, or none for a call; its key, and the value there.
type WrittenSource<'a, 'k> = (Option<InputKind>, &'k str, &'a Value);

/// The only one of what a reference may name.
fn source_of<'a, 'k>(
    tool: Option<(&'k str, &'a Value)>,
    inputs: Vec<WrittenSource<'a, 'k>>,
) -> Result<Option<WrittenSource<'a, 'k>>, Malformed> {
    let tool = tool.map(|(key, id)| (None, key, id));
    let mut sources = tool.into_iter().chain(inputs);
    let first = sources.next();
    match (first, sources.next()) {
        (Some((_, one, _)), Some((_, other, _))) => {
            Err(Malformed::TwoSources(one.to_owned(), other.to_owned()))
        }
        _ => Ok(first),
    }
}

/// The members of a reference, each with its key as it was written.
struct Parts<'a, 'k> {
    source: WrittenSource<'a, 'k>,
    artifact: Option<(&'k str, &'a Value)>,
    select: Option<(&'k str, &'a Value)>,
    default: Option<&'a Value>,
    edits: Vec<(EditKind, &'k str, &'a Value)>,
    digest: Option<(&'k str, &'a Value)>,
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
        let (kind, tool_key, tool) = self.source;
        let mut repaired = None;
        let mut is_guess = false;
        let mut select = match self.select {
            Some((_, Value::String(select))) => Some(select.clone()),
            Some((key, value)) => {
                let meant = selector_of(key, value, None);
                repaired = Some((key, value));
                let (meant, only_offered) = meant.ok_or_else(|| Malformed::NoString {
                    key: key.to_owned(),
                    found: type_name(value),
                })?;
                is_guess |= only_offered;
                Some(meant)
            }
            None => None,
        };
        let input = kind
            .map(|kind| input_of(kind, tool_key, tool))
            .transpose()?;
        if let Some((key, _)) = self.artifact.filter(|_| input.is_some()) {
            return Err(Malformed::UnknownKey {
                key: key.to_owned(),
                tool: tool_key.to_owned(),
            });
        }
        let call_id = match input.as_ref().and_then(Input::shown_id) {
            Some(shown) => shown,
            None => id(tool_key, tool, CallId::parse)?,
        };
        let mut reference = Reference {
            call_id,
            input,
            artifact_id: self
                .artifact
                .map(|(key, value)| id(key, value, ArtifactId::parse))
                .transpose()?,
            select: None,
            default: self.default.cloned(),
            edit: edit_of(&self.edits)?,
            digest: self
                .digest
                .map(|(key, value)| string(key, value).map(Into::into))
                .transpose()?,
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
                (KeyMeaning::Select, value) => {
                    let meant = selector_of(key, value, select.as_deref());
                    let (meant, only_offered) = meant.ok_or_else(unknown)?;
                    is_guess |= only_offered;
                    repaired = Some((key, value));
                    select = Some(meant);
                }
                (KeyMeaning::Default | KeyMeaning::Option, _) => return Err(unknown()),
                (KeyMeaning::Unknown, _) if self.select.is_some() => {
                    reference.ignored.push(key.clone());
                }
                (KeyMeaning::Unknown, _) => return Err(unknown()),
            }
        }
        reference.repair = repaired.map(|(key, value)| {
            let written = serde_json::json!({tool_key: tool, key: value});
            Box::new(Repair {
                written: shortened(&written.to_string()),
                is_guess,
                ..Repair::default()
            })
        });
        reference.select = select;
        Ok(reference)
    }
}

fn input_of(kind: InputKind, key: &str, name: &Value) -> Result<Input, Malformed> {
    Input::parse(kind, string(key, name)?).map_err(|source| Malformed::NoName {
        key: key.to_owned(),
        source,
    })
}

/// The only change of a reference.
fn edit_of(edits: &[(EditKind, &str, &Value)]) -> Result<Option<Box<WrittenEdit>>, Malformed> {
    match edits {
        [] => Ok(None),
        [(kind, key, content)] => Ok(Some(Box::new(WrittenEdit {
            kind: *kind,
            key: (*key).to_owned(),
            content: (*content).clone(),
        }))),
        [(_, one, _), (_, other, _), ..] => {
            Err(Malformed::TwoEdits((*one).to_owned(), (*other).to_owned()))
        }
    }
}

/// Whether a text may hold the key of what a reference names. [`read_string`] parses no other text as JSON.
pub fn may_hold_source(text: &str) -> bool {
    let mut keys = ["tool\"", "file\"", "resource\""].iter();
    keys.any(|key| text.contains(key))
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
    if !(text.starts_with('{') && text.ends_with('}') && may_hold_source(text)) {
        return Ok(None);
    }
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let object = &object;
    let keys = Keys { object, declared };
    let names_one = keys.name_a_call() || keys.name_an_input() || keys.template().is_some();
    if !names_one || !keys.are_all_sentinels() {
        return Ok(None);
    }
    Ok(match read_object(object, declared)? {
        Reading::Reference(reference) => Some(Filling::Reference(reference)),
        Reading::Template(template) => Some(Filling::Template(template)),
        Reading::Data | Reading::Literal(_) => None,
    })
}

#[cfg(test)]
mod input_tests;
#[cfg(test)]
mod tests;
