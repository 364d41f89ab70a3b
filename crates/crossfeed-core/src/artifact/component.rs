//! Components: what an artifact is made for.

use crate::validate::InputSchema;
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::SchemaError;
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::sync::Arc;

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
/// # Ok::<(), crossfeed_core::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Component {
    schema: InputSchema,
    properties: Arc<[Property]>,
}

#[derive(Clone, Debug)]
struct Property {
    name: String,
    in_preview: bool,
}

impl Component {
    /// Reads the schema of a component.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] when it is no schema of its dialect, refers to what is not there, nests too
    /// deep, or has no `properties` at its root: without them nothing could be picked.
    pub fn parse(schema: &Value) -> Result<Self, SchemaError> {
        if is_deeper(schema, MAX_DEPTH) {
            return Err(SchemaError::TooDeep);
        }
        let compiled = InputSchema::compile(schema.clone())?;
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Err(SchemaError::Invalid {
                at: Pointer::root(),
                message: "a component has `properties`".to_owned(),
            });
        };
        let properties = properties
            .iter()
            .map(|(name, property)| Property {
                name: name.clone(),
                in_preview: property.get("inPreview") == Some(&Value::Bool(true)),
            })
            .collect();
        Ok(Self {
            schema: compiled,
            properties,
        })
    }

    /// The component with other preview fields than its schema says; a name that is no property is
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

    /// The properties that its schema's root requires.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.schema.as_value().get("required");
        let names = required.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str)
    }

    /// What a property asks for, in a word: its type where it names one.
    pub(super) fn expected(&self, name: &str) -> String {
        let schema = self.schema.as_value();
        let property = schema.get("properties").and_then(|all| all.get(name));
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
