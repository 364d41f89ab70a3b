//! Checks objects and lists against the facts.

use super::schema::{SchemaLinter, is};
use crossfeed_schema::keywords;
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};
use std::collections::HashSet;

impl SchemaLinter<'_, '_> {
    pub(super) fn object(&mut self, map: &Map<String, Value>, at: &Pointer, nested: usize) {
        let properties = map.get("properties").and_then(Value::as_object);
        let is_object = is(map, "object") || properties.is_some();
        if !is_object {
            return;
        }
        let empty = properties.is_none_or(Map::is_empty);
        if empty && !self.facts.empty_objects {
            let what = "an object without properties";
            let why = "an object has properties";
            if nested == 0 {
                self.found.warned(at, what, why, "leave `parameters` out");
            } else {
                self.refused(
                    at,
                    what,
                    why,
                    "declare them, or take the value as JSON text",
                );
            }
        }
        if self.facts.closed && map.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.refused(
                at,
                "an object that is not closed",
                "every object says `\"additionalProperties\": false`",
                "declare its properties and close it, or take the value as JSON text",
            );
        }
        let required: Vec<_> = keywords::strings(map.get("required")).collect();
        let demanded: HashSet<_> = required.iter().copied().collect();
        let declared = |name: &str| properties.is_some_and(|known| known.contains_key(name));
        if self.facts.closed || self.facts.unknown_refused {
            for name in required.iter().filter(|name| !declared(name)) {
                self.refused(
                    at,
                    format!("`{name}` is required and not declared"),
                    "what is required is declared",
                    "declare it",
                );
            }
        }
        for name in properties.into_iter().flat_map(Map::keys) {
            let at = at.key("properties").key(name);
            if self.facts.every_required && !demanded.contains(name.as_str()) {
                self.refused(
                    &at,
                    "an optional property",
                    "every property is required",
                    "require it, and admit null",
                );
            }
            if !self.facts.admits_property(name, nested == 0) {
                let pattern = self.facts.property_name.map_or("", |rule| rule.pattern);
                let why = format!("a property's name matches `{pattern}`");
                self.refused(
                    &at,
                    "the property's name",
                    &why,
                    "rename it on the way out and back",
                );
            }
        }
    }

    pub(super) fn list(&mut self, map: &Map<String, Value>, at: &Pointer) {
        if !is(map, "array") {
            return;
        }
        let items = map.get("items");
        if self.facts.items_required && items.is_none() {
            self.refused(
                at,
                "a list without `items`",
                "every list needs `items`",
                "say what the items are",
            );
        }
        if self.facts.items_required && items.is_some_and(Value::is_array) {
            self.refused(
                at,
                "`items` is a list",
                "`items` is one schema",
                "use `anyOf` for the items",
            );
        }
        let least = map.get("minItems").and_then(Value::as_u64);
        if let (Some(most), Some(least)) = (self.facts.min_items, least)
            && least > most
        {
            let why = format!("`minItems` is at most {most}");
            self.refused(at, format!("`minItems` of {least}"), &why, "leave it out");
        }
    }
}
