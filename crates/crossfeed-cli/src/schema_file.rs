//! Distinguishes a JSON Schema from data: a tool's result would pass as a schema that allows anything.

use serde_json::{Map, Value};

/// Keywords that identify a schema.
const TELLING: &str = "$dynamicRef $id $ref $schema additionalProperties allOf anyOf const contains definitions \
    $defs dependentRequired dependentSchemas else enum if items not oneOf patternProperties \
    prefixItems properties propertyNames required then type unevaluatedItems \
    unevaluatedProperties";
/// Keywords whose names data uses, too.
const OTHER: &str = "$anchor $comment $dynamicAnchor $vocabulary additionalItems contentEncoding contentMediaType \
    contentSchema default dependencies deprecated description example examples exclusiveMaximum \
    exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum minContains \
    minItems minLength minProperties minimum multipleOf nullable pattern readOnly title \
    uniqueItems writeOnly";
const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];
/// How many keys a message names.
const NAMED_KEYS: usize = 5;
/// How deep a schema is searched.
const LEVELS: usize = 8;

/// Why a document is not a schema, if it is data instead.
pub(crate) fn data_fault(document: &Value) -> Option<String> {
    let keys = match document {
        Value::Object(keys) if is_schema(document, LEVELS) || is_tool_list(keys) => return None,
        Value::Object(keys) => keys,
        Value::Bool(_) => return None,
        _ => return Some("it is neither an object nor a boolean".to_owned()),
    };
    let has = |key| keys.contains_key(key);
    if has("inputSchema") || has("input_schema") || has("parameters") && has("name") {
        return Some("it is a tool: give the schema in it".to_owned());
    }
    if has("content") && keys.get("content").is_some_and(Value::is_array)
        || has("structuredContent")
    {
        return Some("it looks like a tool result of MCP".to_owned());
    }
    let names = keys
        .keys()
        .take(NAMED_KEYS)
        .map(|key| format!("`{}`", key.escape_debug()));
    let mut names: Vec<_> = names.collect();
    if keys.len() > NAMED_KEYS {
        names.push("…".to_owned());
    }
    Some(format!(
        "it looks like data, with the keys {}",
        names.join(", ")
    ))
}

/// The advice for data in place of a schema.
pub(crate) const ADVICE: &str =
    "try: `crossfeed learn --schema-only FILE`, which learns a schema from results";

fn is_tool_list(keys: &Map<String, Value>) -> bool {
    keys.get("tools").is_some_and(Value::is_array)
}

fn is_schema(value: &Value, levels: usize) -> bool {
    let keys = match value {
        Value::Bool(_) => return true,
        Value::Object(keys) => keys,
        _ => return false,
    };
    let Some(levels) = levels.checked_sub(1) else {
        return true;
    };
    keys.iter().any(|(key, value)| tells(key, value, levels))
        || keys.keys().all(|key| is_keyword(key)) && fits(keys, levels)
}

/// Whether a key is one of these words.
fn is_one_of(words: &str, key: &str) -> bool {
    words.split(' ').any(|word| word == key)
}

fn is_keyword(key: &str) -> bool {
    is_one_of(TELLING, key) || is_one_of(OTHER, key) || key.starts_with("x-")
}

/// Whether an object has a keyword among its keys: beside one, unknown keys are extensions.
fn has_keyword(value: &Value) -> bool {
    let keys = value.as_object().into_iter().flat_map(Map::keys);
    keys.into_iter().any(|key| is_keyword(key))
}

/// Whether no keyword has a value that only data has. A type that is misspelt is still that of a schema.
fn fits(keys: &Map<String, Value>, levels: usize) -> bool {
    keys.iter().all(|(key, value)| match key.as_str() {
        "title" | "description" | "format" | "pattern" | "type" => value.is_string(),
        key => !is_one_of(TELLING, key) || tells(key, value, levels),
    })
}

/// Whether this is a keyword with a value that the keyword takes.
fn tells(key: &str, value: &Value, levels: usize) -> bool {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let is_one = |value: &Value| is_schema(value, levels);
    // Data has lists of objects, too.
    let is_telling = |value: &Value| match value {
        Value::Object(keys) => {
            keys.is_empty() || keys.iter().any(|(key, value)| tells(key, value, levels))
        }
        value => value.is_boolean(),
    };
    match (key, value) {
        ("type", Value::Array(types)) => !types.is_empty() && types.iter().all(is_type),
        ("type", value) => is_type(value),
        ("$schema" | "$ref" | "$id" | "$dynamicRef", value) => value.is_string(),
        ("enum", value) => value.is_array(),
        ("const", _) => true,
        ("required", Value::Array(names)) => names.iter().all(Value::is_string),
        ("dependentRequired", value) => value.is_object(),
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(schemas),
        ) => {
            let can_be = |value: &Value| value.is_object() || value.is_boolean();
            schemas.values().all(can_be)
                && (schemas.is_empty()
                    || schemas
                        .values()
                        .any(|value| is_one(value) || has_keyword(value)))
        }
        ("items", Value::Array(schemas)) => !schemas.is_empty() && schemas.iter().all(is_telling),
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
            !schemas.is_empty() && schemas.iter().all(is_one)
        }
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", _) => false,
        (key, value) => is_one_of(TELLING, key) && is_one(value),
    }
}

#[cfg(test)]
mod tests {
    use super::data_fault;
    use serde_json::{Value, json};

    #[test]
    fn schemas_are_told_from_data() {
        let check = |document: Value, expected: Option<&str>| {
            assert_eq!(data_fault(&document).as_deref(), expected, "{document}");
        };
        check(json!(true), None);
        check(json!({}), None);
        check(json!({"title": "A name", "default": ""}), None);
        check(json!({"type": "object"}), None);
        check(json!({"type": ["string", "null"], "vendor": 1}), None);
        check(
            json!({"properties": {"id": {"type": "integer"}, "any": true}}),
            None,
        );
        check(json!({"items": {"$ref": "#/$defs/a"}}), None);
        check(json!({"type": "objekt"}), None);
        check(json!({"minimum": 3, "maximum": 5}), None);
        check(json!({"x-vendor": {"a": 1}}), None);
        check(json!({"anyOf": [{"minLength": 1}, {"pattern": "x"}]}), None);
        check(json!({"allOf": [{"description": "x"}], "title": "t"}), None);
        check(
            json!({"properties": {"a": {"description": "d", "widget": "x"}}}),
            None,
        );
        check(
            json!({"type": "Feature", "properties": {"name": {"de": "x"}}}),
            Some("it looks like data, with the keys `type`, `properties`"),
        );
        check(
            json!({"items": [{"url": "https://a.example", "score": 0.9}]}),
            Some("it looks like data, with the keys `items`"),
        );
        check(
            json!({"items": [{"id": 7, "title": "Login fails"}], "total": 1}),
            Some("it looks like data, with the keys `items`, `total`"),
        );
        check(
            json!({"type": "file", "id": 7}),
            Some("it looks like data, with the keys `type`, `id`"),
        );
        check(
            json!({"items": [{"title": "Login fails", "description": "…"}]}),
            Some("it looks like data, with the keys `items`"),
        );
        check(
            json!({"properties": {"name": "x"}, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1}),
            Some("it looks like data, with the keys `properties`, `a`, `b`, `c`, `d`, …"),
        );
        check(
            json!({"content": [{"type": "text", "text": "hi"}]}),
            Some("it looks like a tool result of MCP"),
        );
        check(
            json!({"name": "search", "inputSchema": {"type": "object"}}),
            Some("it is a tool: give the schema in it"),
        );
        check(json!([1]), Some("it is neither an object nor a boolean"));
    }
}
