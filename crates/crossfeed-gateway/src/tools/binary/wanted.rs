//! How a parameter wants binary data.
//!
//! A tool's own input schema says whether it takes base64 or a data URL.

use crossfeed_schema::Position;
use serde_json::Value;

/// The words of a data URL in what a schema says of itself.
const SAYS_URL: [&str; 9] = [
    "data url",
    "data uri",
    "data-url",
    "data:image/",
    "data:audio/",
    "data:application/",
    "data:text/",
    "data:;base64",
    "data:<",
];
/// The formats that a data URL has.
const FORMATS: [&str; 5] = ["uri", "url", "uri-reference", "iri", "data-url"];

/// The branches of a schema of which one is meant.
fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].into_iter();
    let lists = lists.filter_map(|key| schema.get(key)?.as_array());
    lists.flatten()
}

/// The selector that makes of a binary result what a tool's schema wants at a place of the arguments.
pub(super) fn form_at(schema: &Value, path: &[String]) -> Option<&'static str> {
    let root = Position::root(schema);
    let position = path.iter().fold(root, |at, step| {
        let child = at.child(step);
        // A number may be the name of a member that is not declared.
        if child.is_empty() {
            at.member(step)
        } else {
            child
        }
    });
    position.schemas().find_map(form)
}

/// How a parameter wants binary data: the selector that makes it.
fn form(schema: &Value) -> Option<&'static str> {
    const BASE64: &str = "data";
    const URL: &str = "join('', ['data:', mimeType, ';base64,', data])";
    if !admits_text(schema) {
        return None;
    }
    let text = |key: &str| schema[key].as_str().map(str::to_lowercase);
    if text("contentEncoding").is_some() {
        return Some(BASE64);
    }
    let is_format = text("format").is_some_and(|own| FORMATS.contains(&own.as_str()));
    let is_pattern = text("pattern").is_some_and(|own| own.starts_with("^data:"));
    let mut texts = ["description", "title"].into_iter().filter_map(text);
    let is_said = texts.any(|own| SAYS_URL.iter().any(|word| own.contains(word)));
    Some(if is_format || is_pattern || is_said {
        URL
    } else {
        BASE64
    })
}

fn admits_text(schema: &Value) -> bool {
    let is_text = |own: &Value| own.as_str() == Some("string");
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(is_text),
        Some(own) => is_text(own),
        None => branches(schema).any(|branch| branch.get("type").is_some_and(is_text)),
    }
}

#[cfg(test)]
mod tests {
    use super::{form, form_at};
    use serde_json::{Value, json};

    fn check(schema: Value, expected: Option<&str>) {
        let found = form(&schema).map(|form| if form == "data" { "base64" } else { "url" });
        assert_eq!(found, expected, "{schema}");
    }

    #[test]
    fn a_parameter_says_what_it_wants() {
        check(json!({}), None);
        check(json!({"type": "object"}), None);
        check(json!({"type": "string"}), Some("base64"));
        check(json!({"type": ["string", "null"]}), Some("base64"));
        check(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            Some("base64"),
        );
        check(json!({"type": "string", "format": "uri"}), Some("url"));
        check(
            json!({"type": "string", "pattern": "^data:image/"}),
            Some("url"),
        );
        check(
            json!({"type": "string", "description": "A Data URL of it"}),
            Some("url"),
        );
        check(
            json!({"type": "string", "description": "Image data: PNG or JPEG as base64"}),
            Some("base64"),
        );
        check(
            json!({"type": "string", "description": "data:image/png;base64,…"}),
            Some("url"),
        );
        check(
            json!({"type": "string", "contentEncoding": "base64", "format": "uri"}),
            Some("base64"),
        );
    }

    #[test]
    fn a_parameter_may_refer_to_what_it_is() {
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/s"}, "loop": {"$ref": "#/properties/loop"}},
            "$defs": {"s": {"type": "string"}},
        });
        let form_of = |name: &str| form_at(&schema, &[name.to_owned()]);
        assert_eq!(form_of("a"), Some("data"));
        assert_eq!(form_of("loop"), None);
    }

    #[test]
    fn a_place_is_found_by_names_and_positions() {
        let text = json!({"type": "string"});
        let schema = json!({
            "type": "object",
            "properties": {
                "map": {"additionalProperties": text},
                "first": {"prefixItems": [{}, text], "items": {"type": "number"}},
                "old": {"items": [{}, text]},
                "any": {"anyOf": [{"type": "string"}, {"type": "array", "items": text}]},
                "one": {"oneOf": [{"$ref": "#/$defs/o"}]},
            },
            "$defs": {"o": {"properties": {"x": text}}},
        });
        let form_of = |path: &str| {
            let path: Vec<_> = path.split('/').map(str::to_owned).collect();
            form_at(&schema, &path).is_some()
        };
        for path in [
            "map/a", "map/7", "first/1", "old/1", "any", "any/3", "one/x",
        ] {
            assert!(form_of(path), "{path}");
        }
        for path in [
            "map", "first/0", "first/2", "old/0", "old/2", "one/y", "none",
        ] {
            assert!(!form_of(path), "{path}");
        }
    }
}
