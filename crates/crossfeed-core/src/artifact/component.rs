//! Components: the schemas that artifacts are made for.

use crate::{shape::Shape, validate::InputSchema};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::SchemaError;
use crossfeed_wire::{ErrorCode, Pointer};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// The JSON Schema of an object that an artifact is made for. Cloning shares it.
///
/// Its properties are the full data; those that carry `"inPreview": true` are the summary.
///
/// ```
/// use crossfeed_core::Component;
/// use serde_json::json;
///
/// let card = Component::parse(&json!({
///     "type": "object",
///     "properties": {
///         "title": {"type": "string", "inPreview": true},
///         "text": {"type": "string"},
///     },
///     "required": ["title"],
/// }))?;
/// assert_eq!(card.preview_fields().collect::<Vec<_>>(), ["title"]);
/// let card = card.with_preview_fields(["text"]);
/// assert_eq!(card.preview_fields().collect::<Vec<_>>(), ["text"]);
/// # Ok::<(), crossfeed_core::ComponentError>(())
/// ```
#[derive(Clone)]
pub struct Component {
    schema: InputSchema,
    /// The place in the schema that describes the object: its root, or the target of a reference there.
    object: Pointer,
    /// Their names, and whether they are preview fields.
    properties: Arc<[(String, bool)]>,
}

/// Why a schema does not describe a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// It is not a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// It has no possible `properties`, neither at its root nor where a `$ref` there leads: `{"type": "object"}`,
    /// `{"allOf": [‥]}`.
    #[error("a component needs `properties` of its own, at least one, and this schema has none")]
    NoProperties,
    /// The mark of a preview field is not a boolean: `"inPreview": "yes"`.
    #[error("`inPreview` is true or false, at `{at}` it is {found}")]
    Mark {
        /// Where in the schema.
        at: Pointer,
        /// The shape of the mark.
        found: Shape,
    },
}

impl ComponentError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::SchemaInvalid
    }

    /// One next step.
    pub fn advice(&self) -> String {
        let advice = match self {
            Self::Schema(_) => "give the component a valid JSON Schema",
            Self::NoProperties => {
                "name what the component shows under `properties` at the root of its schema"
            }
            Self::Mark { .. } => {
                "write `\"inPreview\": true`, without quotation marks, or leave it out"
            }
        };
        advice.to_owned()
    }
}

impl Component {
    /// Reads the schema of a component. A property that is `false` is ignored, since it can never be present.
    ///
    /// # Errors
    ///
    /// [`ComponentError`] if it is not a schema of its dialect, has a dangling reference, nests too deep, has no
    /// `properties` of its own, without which nothing could be picked, or marks a preview field with anything
    /// but a boolean.
    pub fn parse(schema: &Value) -> Result<Self, ComponentError> {
        if is_deeper(schema, MAX_DEPTH) {
            return Err(SchemaError::TooDeep.into());
        }
        let compiled = InputSchema::compile(schema.clone())?;
        let object = object(schema);
        let described = schema.pointer(object.as_str());
        let described = described.and_then(|object| object.get("properties"));
        let mut properties = Vec::new();
        for (name, property) in described.and_then(Value::as_object).into_iter().flatten() {
            if *property == Value::Bool(false) {
                continue;
            }
            let in_preview = match property.get("inPreview") {
                None => false,
                Some(Value::Bool(mark)) => *mark,
                Some(other) => {
                    return Err(ComponentError::Mark {
                        at: object.key("properties").key(name).key("inPreview"),
                        found: Shape::from_value(other),
                    });
                }
            };
            properties.push((name.clone(), in_preview));
        }
        if properties.is_empty() {
            return Err(ComponentError::NoProperties);
        }
        Ok(Self {
            schema: compiled,
            object,
            properties: properties.into(),
        })
    }

    /// Replaces the preview fields of the schema; names that are not properties are ignored.
    pub fn with_preview_fields<N: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names: Vec<N> = names.into_iter().collect();
        let is_named = |property: &String| names.iter().any(|name| name.as_ref() == property);
        let properties = self.properties.iter();
        self.properties = properties
            .map(|(name, _)| (name.clone(), is_named(name)))
            .collect();
        self
    }

    /// The names of its properties, in the schema's order.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|(name, _)| name.as_str())
    }

    /// The names of its preview fields, in the schema's order.
    pub fn preview_fields(&self) -> impl Iterator<Item = &str> {
        let shown = self.properties.iter().filter(|(_, in_preview)| *in_preview);
        shown.map(|(name, _)| name.as_str())
    }

    /// The place in the schema that describes a property.
    pub(super) fn place(&self, name: &str) -> Pointer {
        self.object.key("properties").key(name)
    }

    /// The required properties.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let object = self.schema.as_value().pointer(self.object.as_str());
        let required = object.and_then(|object| object.get("required"));
        let names = required.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str)
    }

    /// The expected value of a property, in a word: its type if it names one.
    pub(super) fn expected(&self, name: &str) -> String {
        let schema = self.schema.as_value();
        let property = schema.pointer(self.place(name).as_str());
        match property.and_then(|property| property.get("type")) {
            Some(Value::String(one)) => one.clone(),
            Some(Value::Array(several)) => {
                let names: Vec<_> = several.iter().filter_map(Value::as_str).collect();
                names.join(" or ")
            }
            _ => "a value".to_owned(),
        }
    }

    pub(super) fn schema(&self) -> &InputSchema {
        &self.schema
    }
}

/// Prints shapes only: a schema may contain examples and defaults.
impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// The most references that are followed to the object; more are a cycle.
const MAX_REFERENCES: usize = 16;

/// Where a schema describes its object: where the references at its root lead, within the document.
fn object(schema: &Value) -> Pointer {
    let next = |at: &Pointer| {
        let here = schema.pointer(at.as_str())?;
        let reference = here
            .get("$ref")
            .filter(|_| here.get("properties").is_none())?;
        let next = Pointer::from_fragment(reference.as_str()?)?;
        schema.pointer(next.as_str()).map(|_| next)
    };
    let places = std::iter::successors(Some(Pointer::root()), next);
    places.take(MAX_REFERENCES + 1).last().unwrap_or_default()
}
