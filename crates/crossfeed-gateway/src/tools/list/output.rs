//! Output schemas that every result which is shown conforms to.
//!
//! What comes in: the schema that a tool declares. What goes out: one that admits what is added to a
//! result and what is left out of it, or none. Deliberately not here: what is shown of results.
//!
//! Clients refuse a result that does not conform to what was listed, and some refuse a whole list for
//! a schema whose root is no plain object, for two schemas of one `$id`, or for a keyword that they read
//! in another way. So what is listed only widens: no field is required, none is refused, fields of the
//! gateway's own are not judged, and of keywords only those stay that all read alike.

use crate::tools::result::AS_TEXT;
use crossfeed_wire::internal;
use serde_json::{Map, Value, json};

/// Keywords that stay, wherever they stand, and are judged alike by every client. All others only narrow
/// or say nothing of what comes, and clients read some of them (`pattern`, `format`, `nullable`) in
/// dialects of their own: one refuses the lists of all servers for a pattern that it cannot compile.
const KEPT: [&str; 20] = [
    "$schema",
    "$comment",
    "$defs",
    "definitions",
    "$ref",
    "$anchor",
    "type",
    "properties",
    "items",
    "prefixItems",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
];
/// Keywords that are not kept beside another one, which they may or may not be judged beside, by the
/// dialect and by the client.
const BESIDE: [(&str, &[&str]); 2] = [
    (
        "$ref",
        &[
            "type",
            "properties",
            "items",
            "prefixItems",
            "anyOf",
            "oneOf",
            "allOf",
            "enum",
            "const",
        ],
    ),
    ("prefixItems", &["items"]),
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
const MAPS: [&str; 3] = ["properties", "$defs", "definitions"];
/// Keywords that hold data.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// The schema to list, if there is one.
pub(super) fn safe(schema: &Value) -> Option<Value> {
    let root = schema.as_object()?;
    let is_plain = root.get("type") == Some(&json!("object"));
    if !is_plain || ROOT.iter().any(|word| root.contains_key(*word)) {
        return None;
    }
    let mut safe = widened(schema);
    if let Some(Value::Object(properties)) = safe.get_mut("properties") {
        properties.retain(|key, _| !is_ours(key));
    }
    crossfeed_schema::check(&safe).is_ok().then_some(safe)
}

/// Whether a member of a shown result is what the gateway says.
fn is_ours(key: &str) -> bool {
    internal::is_internal(key) || key == AS_TEXT
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
        let is_overruled =
            |(one, others): &(&str, &[&str])| members.contains_key(*one) && others.contains(&key);
        let is_empty = key == "enum" && value.as_array().is_some_and(Vec::is_empty);
        if !KEPT.contains(&key) || is_empty || BESIDE.iter().any(is_overruled) {
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

    /// One client reads `pattern`, `format` and `nullable` in its own way, and refuses the whole list.
    #[test]
    fn what_clients_read_in_their_own_way_goes() {
        let listed = |own: Value| json!({"type": "object", "properties": {"a": own}});
        for (own, safer) in [
            (
                json!({"type": "string", "pattern": "(?i)a\\_"}),
                json!({"type": "string"}),
            ),
            (
                json!({"type": "string", "format": "date"}),
                json!({"type": "string"}),
            ),
            (json!({"patternProperties": {"\\h": true}}), json!({})),
            (
                json!({"anyOf": [{"type": "null"}], "nullable": true}),
                json!({"anyOf": [{"type": "null"}]}),
            ),
            (json!({"enum": []}), json!({})),
            (json!({"$async": true, "minimum": 1}), json!({})),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
                json!({"type": "array", "prefixItems": [{"type": "string"}]}),
            ),
        ] {
            check(listed(own), Some(listed(safer)));
        }
        let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
            "properties": {"a": {"type": "number", "minimum": 1, "exclusiveMinimum": true}}});
        let safe = safe(&old).unwrap();
        assert_eq!(safe["properties"]["a"], json!({"type": "number"}));
        let own = json!({"type": "object", "properties": {"_toolCallId": {"type": "integer"}, "a": true}});
        check(
            own,
            Some(json!({"type": "object", "properties": {"a": true}})),
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
