//! Checks formats, enums and constants against the facts.

use super::{
    Severity,
    schema::{SchemaLinter, is},
};
use crate::{EnumValues, Limits};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

impl SchemaLinter<'_, '_> {
    pub(super) fn values(&mut self, map: &Map<String, Value>, at: &Pointer) {
        self.format(map, at);
        if self.facts.enum_values == EnumValues::Scalars && map.get("const").is_some_and(is_nested)
        {
            self.found.add(
                Severity::new(self.facts.constants_refused),
                at,
                "a constant that is an object or a list",
                "a constant is a scalar, as the values of an enum are",
                "leave it out: validation judges later",
            );
        }
        self.enumeration(map, at);
    }

    fn format(&mut self, map: &Map<String, Value>, at: &Pointer) {
        let format = map.get("format").and_then(Value::as_str);
        if self.facts.formats.is_some()
            && let Some(format) = format
        {
            let is_type = |word: &str| is(map, word) || !map.contains_key("type");
            if !self.facts.admits_format(format, is_type) {
                self.refused(
                    at,
                    format!("the format `{format}`"),
                    "the format is not taken",
                    "leave it out",
                );
            }
        }
    }

    fn enumeration(&mut self, map: &Map<String, Value>, at: &Pointer) {
        let Some(values) = map.get("enum").and_then(Value::as_array) else {
            return;
        };
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        match self.facts.enum_values {
            EnumValues::Scalars if values.iter().any(is_nested) => {
                self.refused(
                    at,
                    "an enum with objects or lists",
                    "an enum lists scalars",
                    "leave the enum out",
                );
            }
            EnumValues::Strings if !is(map, "string") || !values.iter().all(text) => {
                self.refused(
                    at,
                    "an enum of other than strings",
                    "an enum lists strings that are not empty",
                    "leave the enum out",
                );
            }
            _ => {}
        }
        let characters: usize = values
            .iter()
            .filter_map(Value::as_str)
            .map(|text| text.chars().count())
            .sum();
        if let Some(most) = self.facts.limits.enum_characters
            && values.len() > Limits::LARGE_ENUM
            && characters > most
        {
            let why = format!(
                "one of more than {} values may have {most}",
                Limits::LARGE_ENUM
            );
            let what = format!("an enum of {characters} characters");
            self.refused(at, what, &why, "leave the enum out");
        }
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
