//! Binary results on their way into parameters.
//!
//! What comes in: arguments that did not fit, and the tool's own schema. What goes out: the same
//! arguments, with the references to images, sounds and other binary results read as the parameter wants
//! them: base64, or a data URL where its schema says so. Deliberately not here: resolving. The references
//! stay references, so that what they bring in is known as theirs.

use super::list::Offered;
use bytes::Bytes;
use crossfeed_core::{Error, ResolveError, Session};
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};
use crossfeed_wire::CallId;
use serde_json::Value;

/// References of one call that are looked at.
const MOST: usize = 16;
/// The keys of a binary result's canonical value, and how its data is written.
const DATA: &str = "data";
const ENCODING: (&str, &str) = ("encoding", "base64");
const MEDIA: &str = "mimeType";
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

/// One reference in arguments.
struct Written<'d> {
    object: Cursor<'d>,
    /// Its own key for the selector, in its spelling.
    select_key: &'static str,
    call_id: String,
    select: Option<String>,
    /// Where what it gives is put.
    to: Vec<String>,
}

/// Arguments whose references to binary results give what the parameters take; none where there are
/// no such.
pub(super) async fn fitted(
    session: &Session,
    offered: &Offered,
    written: &Bytes,
    error: &ResolveError,
) -> Option<Bytes> {
    let misfits = |error: &Error| matches!(error, Error::Arguments(_));
    if !error
        .failures()
        .iter()
        .any(|failure| misfits(&failure.error))
    {
        return None;
    }
    let document = Document::new(written.clone());
    let schema = offered.prepared.listed().input_schema();
    let mut wanted = Vec::new();
    for reference in references(&document) {
        let Some(form) = form(schema_at(schema, &reference.to)) else {
            continue;
        };
        let before = reference.select.as_deref();
        let Ok(call_id) = CallId::parse(&reference.call_id) else {
            continue;
        };
        let Ok(selected) = session.select(&call_id, before.unwrap_or("@")).await else {
            continue;
        };
        if is_binary(selected.json) {
            let select = match before {
                Some(before) => format!("{before} | {form}"),
                None => form.to_owned(),
            };
            wanted.push((reference, select));
        }
    }
    if wanted.is_empty() {
        return None;
    }
    let mut edits = Edits::new(document.raw());
    for (reference, select) in wanted {
        edits.put(reference.object, reference.select_key, quoted(&select));
    }
    Some(edits.done().into_owned().into())
}

/// The references in arguments, and where they lead.
fn references(document: &Document) -> Vec<Written<'_>> {
    let mut found = Vec::new();
    if let Ok(root) = document.root() {
        walk(root, &mut Vec::new(), &mut found);
    }
    found
}

/// A document nests no deeper than it may.
fn walk<'d>(at: Cursor<'d>, path: &mut Vec<String>, found: &mut Vec<Written<'d>>) {
    if found.len() >= MOST {
        return;
    }
    match at.kind() {
        Kind::Array => {
            for (index, item) in at.items().enumerate() {
                path.push(index.to_string());
                walk(item, path, found);
                path.pop();
            }
        }
        Kind::Object => {
            if let Some(reference) = reference(at, path.clone(), false) {
                found.push(reference);
                return;
            }
            for (key, value) in at.members() {
                let key = key.text().into_owned();
                // What is meant literally holds no references.
                if matches!(key.as_str(), "_literal" | "$literal") {
                    continue;
                }
                if matches!(key.as_str(), "_refs" | "$refs") {
                    entries(value, path, found);
                    continue;
                }
                path.push(key);
                walk(value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The entries of a map of references, or of a list of them.
fn entries<'d>(map: Cursor<'d>, path: &[String], found: &mut Vec<Written<'d>>) {
    let below = |to: &str| {
        let steps = match to.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(unescaped).collect(),
            None => vec![to.to_owned()],
        };
        path.iter().cloned().chain(steps).collect()
    };
    let pairs: Vec<_> = match map.kind() {
        Kind::Object => map
            .members()
            .filter_map(|(to, entry)| reference(entry, below(&to.text()), false))
            .collect(),
        _ => map
            .items()
            .filter_map(|entry| {
                let to = entry.get("to")?.as_str()?;
                reference(entry, below(&to), true)
            })
            .collect(),
    };
    found.extend(pairs);
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn reference(object: Cursor<'_>, to: Vec<String>, is_listed: bool) -> Option<Written<'_>> {
    const SPELLED: [(&str, &str, &str); 2] = [
        ("$tool", "$select", "$artifact"),
        ("_tool", "_select", "_artifact"),
    ];
    const LISTED: (&str, &str, &str) = ("tool", "select", "artifact");
    let spellings = is_listed.then_some(LISTED).into_iter().chain(SPELLED);
    let text = |key: &str| Some(object.get(key)?.as_str()?.into_owned());
    let (call_id, select_key, artifact) = spellings
        .into_iter()
        .find_map(|(tool, select, artifact)| Some((text(tool)?, select, artifact)))?;
    // An artifact is JSON.
    if text(artifact).is_some() {
        return None;
    }
    Some(Written {
        object,
        select: text(select_key),
        select_key,
        call_id,
        to,
    })
}

/// What a schema says of a place, as far as it can be told by names and positions.
fn schema_at<'s>(schema: &'s Value, path: &[String]) -> Option<&'s Value> {
    path.iter()
        .try_fold(schema, |at, step| {
            let at = referred(schema, at);
            let named = at.get("properties").and_then(|own| own.get(step));
            named.or_else(|| at.get("items").filter(|own| own.is_object()))
        })
        .map(|at| referred(schema, at))
}

/// What a schema says that only refers to another one of the same document.
fn referred<'s>(root: &'s Value, at: &'s Value) -> &'s Value {
    const STEPS: usize = 8;
    let mut at = at;
    for _ in 0..STEPS {
        let target = at.get("$ref").and_then(Value::as_str);
        let pointer = target.and_then(|target| target.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(target) if at.get("type").is_none() => at = target,
            _ => break,
        }
    }
    at
}

/// How a parameter wants binary data: the selector that makes it.
fn form(schema: Option<&Value>) -> Option<&'static str> {
    const BASE64: &str = "data";
    const URL: &str = "join('', ['data:', mimeType, ';base64,', data])";
    let schema = schema?;
    if !admits_text(schema) {
        return None;
    }
    let text = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_lowercase)
    };
    if text("contentEncoding").is_some() {
        return Some(BASE64);
    }
    let is_format = text("format").is_some_and(|own| FORMATS.contains(&own.as_str()));
    let is_pattern = text("pattern").is_some_and(|own| own.starts_with("^data:"));
    let says = ["description", "title"].into_iter().filter_map(text);
    let says: Vec<_> = says.collect();
    let is_said = says
        .iter()
        .any(|own| SAYS_URL.iter().any(|word| own.contains(word)));
    Some(match is_format || is_pattern || is_said {
        true => URL,
        false => BASE64,
    })
}

fn admits_text(schema: &Value) -> bool {
    let is_text = |own: &Value| own.as_str() == Some("string");
    let branches = ["anyOf", "oneOf"].into_iter();
    let mut branches = branches.filter_map(|key| schema.get(key)?.as_array());
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(is_text),
        Some(own) => is_text(own),
        None => branches.any(|branches| {
            let own = branches.iter().filter_map(|branch| branch.get("type"));
            own.into_iter().any(is_text)
        }),
    }
}

/// Whether a value is what stands for binary data.
fn is_binary(json: Vec<u8>) -> bool {
    let document = Document::new(json);
    let Ok(root) = document.root() else {
        return false;
    };
    let is_text = |key: &str| root.get(key).is_some_and(|own| own.kind() == Kind::String);
    let encoding = root.get(ENCODING.0).and_then(Cursor::as_str);
    root.len() == Some(3)
        && is_text(DATA)
        && is_text(MEDIA)
        && encoding.as_deref() == Some(ENCODING.1)
}

#[cfg(test)]
mod tests {
    use super::{form, references, schema_at};
    use crossfeed_json::Document;
    use serde_json::{Value, json};

    fn check(schema: Value, expected: Option<&str>) {
        let found = form(Some(&schema)).map(|form| if form == "data" { "base64" } else { "url" });
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
        let form_of = |name: &str| form(schema_at(&schema, &[name.to_owned()]));
        assert_eq!(form_of("a"), Some("data"));
        assert_eq!(form_of("loop"), None);
    }

    #[test]
    fn references_are_found_where_they_may_stand() {
        let arguments = json!({
            "a": {"$tool": "1"},
            "b": [{"_tool": "2", "_select": "x"}, {"_tool": "9", "_artifact": "a"}],
            "_refs": {"c": {"_tool": "3"}, "d": 7},
            "literal": {"$literal": [{"$tool": "7"}]},
            "e": {"$refs": [{"to": "/f/g~1h", "tool": "4", "select": "y"}]},
        });
        let document = Document::new(arguments.to_string());
        let found: Vec<_> = references(&document)
            .into_iter()
            .map(|found| (found.call_id, found.to.join(" "), found.select))
            .collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            found,
            [
                (text("1"), text("a"), None),
                (text("2"), text("b 0"), Some(text("x"))),
                (text("3"), text("c"), None),
                (text("4"), text("e f g/h"), Some(text("y"))),
            ]
        );
    }
}
