//! Requests as a model or a host writes them. Their paths are read when the request is planned.

use super::ProjectionError;
use crate::{Diagnostic, DiagnosticKind, Diagnostics};
use crossfeed_wire::reference::type_name;
use derive_setters::Setters;
use serde_json::Value;

/// The form of a list.
const LIST: &str = "a list of strings, or one string";
/// The form of `_select`.
const KEYS: &str = "a list of strings";
/// The form of `fields`.
const FIELDS: &str = "a preset's name or a list of strings";
/// The form of a name.
const NAME: &str = "a string";

/// The parts of a result that a caller wants, in any of the spellings. Inclusive spellings add up; an
/// empty request wants everything.
///
/// ```
/// use crossfeed_projection::{FieldsValue, ProjectionRequest};
/// use serde_json::json;
///
/// let written = json!({"include": "id,owner.name", "fields": "minimal", "_select": 7});
/// let (request, diagnostics) = ProjectionRequest::from_value(&written);
/// assert_eq!(request.include, Some(vec!["id,owner.name".to_owned()]));
/// assert_eq!(request.fields, Some(FieldsValue::Name("minimal".to_owned())));
/// assert_eq!((request.select, diagnostics.iter().count()), (None, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_", into, strip_option)]
#[non_exhaustive]
#[must_use]
pub struct ProjectionRequest {
    /// Paths from the root that are kept. Each text may be a comma list.
    #[setters(skip)]
    pub include: Option<Vec<String>>,
    /// Paths from the root that are left out. Each text may be a comma list.
    #[setters(skip)]
    pub exclude: Option<Vec<String>>,
    /// The name of a list of paths from the root.
    pub view: Option<String>,
    /// Top-level keys, of each item where the result is a list. No paths.
    #[setters(skip)]
    pub select: Option<Vec<String>>,
    /// Fields of a resource, or a preset's name.
    pub fields: Option<FieldsValue>,
    /// A preset's name.
    pub preset: Option<String>,
}

/// The value of `fields`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no third form for it")]
pub enum FieldsValue {
    /// A preset's name, else a comma list of paths.
    Name(String),
    /// Paths. Each text may be a comma list.
    List(Vec<String>),
}

impl ProjectionRequest {
    /// A request for everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Paths from the root that are kept. A single blank text is an empty list.
    pub fn with_include(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.include = Some(unless_blank(texts(paths)));
        self
    }

    /// Paths from the root that are left out. A single blank text is an empty list.
    pub fn with_exclude(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exclude = Some(unless_blank(texts(paths)));
        self
    }

    /// Top-level keys.
    pub fn with_select(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.select = Some(texts(keys));
        self
    }

    /// Whether the request is empty. One with an empty list is not: it asks that nothing is filtered.
    pub fn is_unsaid(&self) -> bool {
        *self == Self::default()
    }

    /// Reads a request as a model wrote it. Members of the wrong form are ignored, with a diagnostic; null
    /// counts as absent; other members are skipped. The injected spellings `_fields` and `_select`
    /// are read as well as `fields` and `select`; where both stand the injected one counts.
    pub fn from_value(written: &Value) -> (Self, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        if written.is_null() {
            return (Self::default(), diagnostics);
        }
        let (request, wrong) = Self::read(written);
        for (at, error) in wrong {
            let message = format!("{error}: it is ignored");
            diagnostics.push(Diagnostic::new(DiagnosticKind::Ignored, at, message));
        }
        (request, diagnostics)
    }

    /// Reads a request strictly.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Form`] for the first member of the wrong form.
    pub fn parse(written: &Value) -> Result<Self, ProjectionError> {
        let (request, wrong) = Self::read(written);
        let first = wrong.into_iter().next();
        first.map_or(Ok(request), |(_, error)| Err(error))
    }

    /// The request as [`from_value`](Self::from_value) reads it, to be kept.
    pub fn to_value(&self) -> Value {
        let list = |own: &Option<Vec<String>>| own.clone().map(Value::from);
        let name = |own: &Option<String>| own.clone().map(Value::from);
        let fields = self.fields.clone().map(|own| match own {
            FieldsValue::Name(name) => Value::from(name),
            FieldsValue::List(list) => Value::from(list),
        });
        let members = [
            ("include", list(&self.include)),
            ("exclude", list(&self.exclude)),
            ("view", name(&self.view)),
            ("select", list(&self.select)),
            ("fields", fields),
            ("preset", name(&self.preset)),
        ];
        let members = members.into_iter();
        members
            .filter_map(|(key, own)| Some((key.to_owned(), own?)))
            .collect()
    }

    /// The request without members of the wrong form, and an error for each of those, by name.
    fn read(written: &Value) -> (Self, Vec<(String, ProjectionError)>) {
        let mut request = Self::default();
        let mut wrong = Vec::new();
        let Value::Object(members) = written else {
            let at = "projection";
            wrong.push((at.to_owned(), form(at, "an object", written)));
            return (request, wrong);
        };
        for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let injected = |plain: &str| !members.get(plain).is_none_or(Value::is_null);
            let name = || value.as_str().map(str::to_owned);
            let strings = || -> Option<Vec<String>> {
                let items = value.as_array()?.iter();
                items.map(|item| item.as_str().map(str::to_owned)).collect()
            };
            let list = || strings().or_else(|| Some(unless_blank(vec![name()?])));
            let fields = || {
                let preset = name().map(FieldsValue::Name);
                preset.or_else(|| strings().map(FieldsValue::List))
            };
            let expected = match key.as_str() {
                "include" => put(&mut request.include, list(), LIST),
                "exclude" => put(&mut request.exclude, list(), LIST),
                "view" => put(&mut request.view, name(), NAME),
                "preset" => put(&mut request.preset, name(), NAME),
                "select" if injected("_select") => None,
                "fields" if injected("_fields") => None,
                "_select" | "select" => put(&mut request.select, strings(), KEYS),
                "_fields" | "fields" => put(&mut request.fields, fields(), FIELDS),
                _ => None,
            };
            wrong.extend(expected.map(|expected| (key.clone(), form(key, expected, value))));
        }
        (request, wrong)
    }
}

impl From<&str> for FieldsValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<Vec<String>> for FieldsValue {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl<const N: usize> From<[&str; N]> for FieldsValue {
    fn from(list: [&str; N]) -> Self {
        Self::List(texts(list))
    }
}

/// Stores a value that was read; if it has the wrong form, gives the expected one.
fn put<T>(into: &mut Option<T>, read: Option<T>, expected: &'static str) -> Option<&'static str> {
    let is_wrong = read.is_none();
    if !is_wrong {
        *into = read;
    }
    is_wrong.then_some(expected)
}

fn texts(several: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    several.into_iter().map(Into::into).collect()
}

/// No texts in place of a single blank one.
fn unless_blank(mut texts: Vec<String>) -> Vec<String> {
    if let [only] = texts.as_slice()
        && only.trim().is_empty()
    {
        texts.clear();
    }
    texts
}

/// The error for a parameter of the wrong form; a list here holds something other than strings.
fn form(at: &str, expected: &'static str, found: &Value) -> ProjectionError {
    let found = match found {
        Value::Array(_) => "a list of other things",
        other => type_name(other),
    };
    ProjectionError::form(at, expected, found)
}
