//! Components: what an artifact is made for.

use crate::{shape::Shape, validate::InputSchema};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::SchemaError;
use crossfeed_wire::{ErrorCode, Pointer};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// What an artifact is made for: the JSON Schema of an object. Cloning shares it.
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
    /// Where in the schema the object is described: its root, or what that refers to.
    object: Pointer,
    properties: Arc<[Property]>,
}

#[derive(Clone, Debug)]
struct Property {
    name: String,
    in_preview: bool,
}

/// Why a schema describes no component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// It is not a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// It has no `properties` at its root, or where a `$ref` there leads, or none that may be there:
    /// `{"type": "object"}`, `{"allOf": [‥]}`.
    #[error("a component needs `properties` of its own, at least one, and this schema has none")]
    NoProperties,
    /// The mark of a preview field is neither true nor false: `"inPreview": "yes"`.
    #[error("`inPreview` is true or false, at `{at}` it is {found}")]
    Mark {
        /// Where in the schema.
        at: Pointer,
        /// The shape of what is there.
        found: Shape,
    },
}

impl ComponentError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::SchemaInvalid
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Schema(_) => "give the component a valid JSON Schema".to_owned(),
            Self::NoProperties => {
                "name what the component shows under `properties` at the root of its schema"
                    .to_owned()
            }
            Self::Mark { .. } => {
                "write `\"inPreview\": true`, without quotation marks, or leave it out".to_owned()
            }
        }
    }
}

impl Component {
    /// Reads the schema of a component. A property that is `false` can never be there and is none.
    ///
    /// # Errors
    ///
    /// [`ComponentError`] when it is not a schema of its dialect, refers to what is not there, nests too
    /// deep, has no `properties` of its own, since without them nothing could be picked, or marks a
    /// preview field with anything but a boolean.
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
                        found: Shape::of_value(other),
                    });
                }
            };
            properties.push(Property {
                name: name.clone(),
                in_preview,
            });
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

    /// The component with other preview fields than its schema says; a name that is not a property is
    /// passed over.
    #[must_use]
    pub fn with_preview_fields<N: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names: Vec<N> = names.into_iter().collect();
        self.properties = self
            .properties
            .iter()
            .map(|property| Property {
                name: property.name.clone(),
                in_preview: names.iter().any(|name| name.as_ref() == property.name),
            })
            .collect();
        self
    }

    /// The names of its properties, in the schema's order.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|property| &*property.name)
    }

    /// The names of its preview fields, in the schema's order.
    pub fn preview_fields(&self) -> impl Iterator<Item = &str> {
        let shown = self
            .properties
            .iter()
            .filter(|property| property.in_preview);
        shown.map(|property| &*property.name)
    }

    fn object(&self) -> Option<&Value> {
        self.schema.as_value().pointer(self.object.as_str())
    }

    /// Where in its schema a property is described.
    pub(super) fn place(&self, name: &str) -> Pointer {
        self.object.key("properties").key(name)
    }

    /// The properties that it requires.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.object().and_then(|object| object.get("required"));
        let names = required.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str)
    }

    /// What a property asks for, in a word: its type where it names one.
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

/// Shapes only: a schema may hold examples and defaults.
impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}

/// How many references are followed to the object. Whoever wants more is going round in circles.
const FOLLOWED: usize = 16;

/// Where a schema describes its object: where the references at its root lead, within the document.
fn object(schema: &Value) -> Pointer {
    let mut at = Pointer::root();
    for _ in 0..FOLLOWED {
        let here = schema.pointer(at.as_str());
        if here.is_some_and(|here| here.get("properties").is_some()) {
            break;
        }
        let reference = here.and_then(|here| here.get("$ref"));
        let next = reference
            .and_then(Value::as_str)
            .and_then(Pointer::from_fragment);
        match next {
            Some(next) if schema.pointer(next.as_str()).is_some() => at = next,
            _ => break,
        }
    }
    at
}
