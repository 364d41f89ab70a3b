//! What is asked for, as it is written.
//!
//! What comes in: JSON that a model wrote, or what a host says with builder methods. What goes
//! out: texts, one kind each. Deliberately not here: what they mean; paths are read when the
//! request is planned.

use super::ProjectionError;
use crate::{Diagnostic, DiagnosticKind, Diagnostics};
use crossfeed_wire::reference::type_name;
use serde_json::{Map, Value};

/// What may stand in the place of a list.
const LIST: &str = "a list of strings, or one string";
/// What `_select` may be.
const KEYS: &str = "a list of strings";
/// What a name may be.
const NAME: &str = "a string";

/// What is asked of a result: which parts of it, in any of the spellings. All inclusive ones add
/// up; nothing asked for is everything.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionRequest {
    /// Paths from the root that are kept. Each text may be a comma list.
    pub include: Option<Vec<String>>,
    /// Paths from the root that are left out of what is kept. Each text may be a comma list.
    pub exclude: Option<Vec<String>>,
    /// The name of a list of paths from the root.
    pub view: Option<String>,
    /// Top-level keys, of each item where the result is a list. No paths.
    pub select: Option<Vec<String>>,
    /// Fields of a resource, or a preset's name.
    pub fields: Option<FieldsValue>,
    /// A preset's name.
    pub preset: Option<String>,
}

/// What `fields` may be.
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
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Paths from the root that are kept. A text alone that is blank is an empty list.
    #[must_use]
    pub fn with_include(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.include = Some(unless_blank(texts(paths)));
        self
    }

    /// Paths from the root that are left out of what is kept. A text alone that is blank is an empty
    /// list.
    #[must_use]
    pub fn with_exclude(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exclude = Some(unless_blank(texts(paths)));
        self
    }

    /// A named list of paths.
    #[must_use]
    pub fn with_view(mut self, name: impl Into<String>) -> Self {
        self.view = Some(name.into());
        self
    }

    /// Top-level keys.
    #[must_use]
    pub fn with_select(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.select = Some(texts(keys));
        self
    }

    /// Fields of a resource, or a preset's name.
    #[must_use]
    pub fn with_fields(mut self, fields: impl Into<FieldsValue>) -> Self {
        self.fields = Some(fields.into());
        self
    }

    /// A preset.
    #[must_use]
    pub fn with_preset(mut self, name: impl Into<String>) -> Self {
        self.preset = Some(name.into());
        self
    }

    /// Whether nothing was said at all. An empty list says something: that nothing is filtered.
    #[must_use]
    pub fn is_unsaid(&self) -> bool {
        *self == Self::default()
    }

    /// Reads what a model wrote. What has the wrong form is ignored and noted; null is nothing
    /// said; other members are no concern of this. The injected spellings `_fields` and `_select`
    /// are read as well as `fields` and `select`; where both stand the injected one counts.
    #[must_use]
    pub fn from_value(written: &Value) -> (Self, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let mut request = Self::default();
        let mut ignore = |error: ProjectionError| {
            if let ProjectionError::Form { at, .. } = &error {
                let path = at.clone();
                let message = format!("{error}: it is ignored");
                diagnostics.push(Diagnostic::new(DiagnosticKind::Ignored, path, message));
            }
        };
        match written {
            Value::Object(members) => request.read(members, &mut ignore),
            Value::Null => {}
            other => ignore(form("projection", "an object", other)),
        }
        (request, diagnostics)
    }

    /// Reads a request that is to be right.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Form`] for the first member of the wrong form.
    pub fn parse(written: &Value) -> Result<Self, ProjectionError> {
        let mut request = Self::default();
        let mut first = None;
        let Value::Object(members) = written else {
            return Err(form("projection", "an object", written));
        };
        request.read(members, &mut |error| {
            first.get_or_insert(error);
        });
        match first {
            Some(error) => Err(error),
            None => Ok(request),
        }
    }

    fn read(&mut self, members: &Map<String, Value>, wrong: &mut dyn FnMut(ProjectionError)) {
        for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let injected = |plain: &str| !members.get(plain).is_none_or(Value::is_null);
            match key.as_str() {
                "include" => put(&mut self.include, list(key, value), wrong),
                "exclude" => put(&mut self.exclude, list(key, value), wrong),
                "view" => put(&mut self.view, name(key, value), wrong),
                "preset" => put(&mut self.preset, name(key, value), wrong),
                "select" if injected("_select") => {}
                "fields" if injected("_fields") => {}
                "_select" | "select" => put(&mut self.select, keys(key, value), wrong),
                "_fields" | "fields" => put(&mut self.fields, fields(key, value), wrong),
                _ => {}
            }
        }
    }
}

impl From<&str> for FieldsValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for FieldsValue {
    fn from(name: String) -> Self {
        Self::Name(name)
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

fn put<T>(
    into: &mut Option<T>,
    read: Result<T, ProjectionError>,
    wrong: &mut dyn FnMut(ProjectionError),
) {
    match read {
        Ok(read) => *into = Some(read),
        Err(error) => wrong(error),
    }
}

fn texts(several: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    several.into_iter().map(Into::into).collect()
}

/// No texts in place of one that says nothing.
fn unless_blank(mut texts: Vec<String>) -> Vec<String> {
    if let [only] = texts.as_slice()
        && only.trim().is_empty()
    {
        texts.clear();
    }
    texts
}

fn name(key: &str, value: &Value) -> Result<String, ProjectionError> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| form(key, NAME, value))
}

fn keys(key: &str, value: &Value) -> Result<Vec<String>, ProjectionError> {
    strings(value).ok_or_else(|| form(key, KEYS, value))
}

fn list(key: &str, value: &Value) -> Result<Vec<String>, ProjectionError> {
    match value {
        Value::String(text) => Ok(unless_blank(vec![text.clone()])),
        other => strings(other).ok_or_else(|| form(key, LIST, other)),
    }
}

fn fields(key: &str, value: &Value) -> Result<FieldsValue, ProjectionError> {
    match value {
        Value::String(text) => Ok(FieldsValue::Name(text.clone())),
        other => match strings(other) {
            Some(list) => Ok(FieldsValue::List(list)),
            None => Err(form(key, "a preset's name or a list of strings", other)),
        },
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.as_str().map(str::to_owned)).collect()
}

/// What stands where something else may: of a list that holds other things than strings that.
fn form(at: &str, expected: &'static str, found: &Value) -> ProjectionError {
    ProjectionError::Form {
        at: at.to_owned(),
        expected,
        found: match found {
            Value::Array(_) => "a list of other things",
            other => type_name(other),
        },
    }
}
