//! One tool of a list, whatever its shape.

use super::{CHAIN_MARK, STRICT_MARK, gemini, list::schema_key};
use crate::Shape;
use crossfeed_wire::Pointer;
use serde_json::{Value, json};
use std::borrow::Cow;

/// One tool of a list.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'l> {
    pub(super) shape: Shape,
    pub(super) declaration: &'l Value,
    pub(super) at: &'l Pointer,
}

impl<'l> Tool<'l> {
    /// Its name.
    pub fn name(&self) -> &'l str {
        self.text("name").unwrap_or_default()
    }

    /// Its description, or its title if it has none.
    pub fn description(&self) -> Option<&'l str> {
        let annotated = || self.declaration.pointer("/annotations/title")?.as_str();
        let title = || self.text("title").or_else(annotated);
        self.text("description").or_else(title)
    }

    /// The schema of its arguments as JSON Schema; one of an object without properties where it
    /// has none.
    pub fn input_schema(&self) -> Cow<'l, Value> {
        self.schema(false)
    }

    /// The schema as its provider reads it, to be judged by what that takes: Gemini's `nullable` is
    /// no list of types.
    pub fn sent_schema(&self) -> Cow<'l, Value> {
        self.schema(true)
    }

    /// The schema of what it returns, where it declares one. Only MCP has a place for it.
    pub fn output_schema(&self) -> Option<&'l Value> {
        match self.shape {
            Shape::Mcp => self
                .declaration
                .get("outputSchema")
                .filter(|own| !own.is_null()),
            _ => None,
        }
    }

    fn schema(&self, as_sent: bool) -> Cow<'l, Value> {
        let key = self.schema_key();
        match self.declaration.get(key).filter(|schema| !schema.is_null()) {
            Some(schema) if self.shape == Shape::Gemini && key == "parameters" => {
                gemini::to_json_schema(schema, as_sent)
            }
            Some(schema) => Cow::Borrowed(schema),
            None => Cow::Owned(json!({"type": "object", "properties": {}})),
        }
    }

    /// Whether it has no schema, or null in its place. MCP and Anthropic refuse such a tool; for the
    /// others it is one without parameters.
    pub fn lacks_schema(&self) -> bool {
        self.declaration
            .get(self.schema_key())
            .is_none_or(Value::is_null)
    }

    /// Whether its schema stands where Gemini reads JSON Schema, not its own subset.
    pub(crate) fn is_gemini_json_schema(&self) -> bool {
        self.shape == Shape::Gemini
            && matches!(
                self.schema_key(),
                "parametersJsonSchema" | "parameters_json_schema"
            )
    }

    fn schema_key(&self) -> &'static str {
        match self.declaration {
            Value::Object(tool) => schema_key(tool, self.shape),
            _ => self.shape.schema_key(),
        }
    }

    /// How it is written.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Where in the document the object with its name and schema is.
    pub fn at(&self) -> &'l Pointer {
        self.at
    }

    /// Whether it is strict, where it says so.
    pub fn strict(&self) -> Option<bool> {
        if self.shape.has_strict() {
            self.declaration.get("strict")?.as_bool()
        } else {
            self.meta(STRICT_MARK)?.as_bool()
        }
    }

    /// A member of its `_meta`.
    pub fn meta(&self, key: &str) -> Option<&'l Value> {
        self.declaration.get("_meta")?.get(key)
    }

    /// Whether references may be offered: not where it is marked as never chained.
    pub fn is_chained(&self) -> bool {
        self.meta(CHAIN_MARK) != Some(&Value::Bool(false))
    }

    /// Whether it declares that its calls may be repeated without harm: `readOnlyHint` or
    /// `idempotentHint` of its `annotations` is `true`. Only MCP has a place for it; what is not
    /// declared is not so.
    pub fn is_repeatable(&self) -> bool {
        let declares = |hint: &str| {
            let annotations = self.declaration.get("annotations");
            annotations.and_then(|own| own.get(hint)) == Some(&Value::Bool(true))
        };
        self.shape == Shape::Mcp && (declares("readOnlyHint") || declares("idempotentHint"))
    }

    /// Its members, in their order.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'l String, &'l Value)> {
        self.declaration.as_object().into_iter().flatten()
    }

    fn text(&self, key: &str) -> Option<&'l str> {
        self.declaration.get(key)?.as_str()
    }
}
