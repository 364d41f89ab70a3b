//! Output schemas that every result which is shown conforms to.
//!
//! What comes in: the schema that a tool declares. What goes out: one that admits what is added to a
//! result and what is left out of it, or none. Deliberately not here: what is shown of results.
//!
//! Clients refuse a result that does not conform to what was listed, and some refuse a whole list for
//! a schema whose root is no plain object, or for two schemas of one `$id`. So what is listed only
//! widens: no field is required, none is refused, and what would judge by the absence of either goes.

use serde_json::{Map, Value, json};

/// Keywords that go, wherever they stand.
const GONE: [&str; 20] = [
    "$id",
    "id",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "not",
    "if",
    "then",
    "else",
    "uniqueItems",
    "minItems",
    "maxContains",
    "$dynamicAnchor",
];
/// Keywords at whose root the schema is none that clients take.
const ROOT: [&str; 8] = [
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];
/// Keywords whose members are schemas.
const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
/// Keywords that hold data.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// The schema to list, if there is one.
pub(super) fn safe(schema: &Value) -> Option<Value> {
    let root = schema.as_object()?;
    let is_plain = root.get("type") == Some(&json!("object"));
    if !is_plain || ROOT.iter().any(|word| root.contains_key(*word)) {
        return None;
    }
    let safe = widened(schema);
    crossfeed_schema::check(&safe).is_ok().then_some(safe)
}

/// A schema that came from a document, and so nests no deeper than one may.
fn widened(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return match schema {
            Value::Array(schemas) => schemas.iter().map(widened).collect(),
            // `false` refuses a field that may be there.
            other => other.clone(),
        };
    };
    let mut wide = Map::new();
    for (key, value) in members {
        let key = key.as_str();
        if GONE.contains(&key) {
            continue;
        }
        let value = match value {
            Value::Object(members) if MAPS.contains(&key) => {
                let schemas = members.iter();
                schemas
                    .map(|(key, own)| (key.clone(), widened(own)))
                    .collect()
            }
            value if DATA.contains(&key) => value.clone(),
            value => widened(value),
        };
        // Of branches that are wider more than one may fit.
        match key {
            "oneOf" if members.contains_key("anyOf") => continue,
            "oneOf" => wide.insert("anyOf".to_owned(), value),
            key => wide.insert(key.to_owned(), value),
        };
    }
    Value::Object(wide)
}

#[cfg(test)]
mod tests {
    use super::safe;
    use serde_json::{Value, json};

    fn check(schema: Value, expected: Option<Value>) {
        assert_eq!(safe(&schema), expected, "{schema}");
    }

    #[test]
    fn what_is_listed_admits_more() {
        check(json!(true), None);
        check(json!({}), None);
        check(json!({"type": "array"}), None);
        check(json!({"type": ["object"]}), None);
        check(json!({"type": "object", "oneOf": []}), None);
        check(
            json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}),
            None,
        );
        // What no client could compile.
        check(
            json!({"type": "object", "properties": {"a": {"type": "objekt"}}}),
            None,
        );
        check(
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}),
            None,
        );
        check(json!({"type": "object"}), Some(json!({"type": "object"})));
        check(
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "urn:a",
                "type": "object",
                "properties": {
                    "required": {"type": "array", "items": {"$ref": "#/definitions/one"}},
                    "kind": {"enum": ["required", {"required": 1}]},
                    "id": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]},
                },
                "required": ["required"],
                "additionalProperties": false,
                "definitions": {"one": {"type": "object", "required": ["x"], "if": true}},
            }),
            Some(json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {
                    "required": {"type": "array", "items": {"$ref": "#/definitions/one"}},
                    "kind": {"enum": ["required", {"required": 1}]},
                    "id": {"anyOf": [{"type": "string"}, {"type": "object"}]},
                },
                "definitions": {"one": {"type": "object"}},
            })),
        );
    }

    #[test]
    fn twice_is_once() {
        let schema =
            json!({"type": "object", "properties": {"a": {"oneOf": [true]}}, "required": []});
        let once = safe(&schema).unwrap();
        assert_eq!(safe(&once), Some(once.clone()));
    }
}
