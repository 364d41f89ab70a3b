//! Fits binary results to parameters: rewrites references to images, sounds and other binary results so that they
//! select what the parameter's schema wants, base64 or a data URL.
//!
//! The references stay references, so that the sources of their data stay known.

mod wanted;

use super::list::Offered;
use crate::{
    apart::{apart, indexed},
    export::binary_parts,
    members::edited,
};
use bytes::Bytes;
use crossfeed_core::{Error, ResolveError, Session};
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};
use crossfeed_wire::{CallId, Pointer, reference::read_string};
use std::sync::Arc;
use wanted::form_at;

/// References of one call that are looked at.
const MAX_REFERENCES: usize = 16;

/// One reference in arguments.
struct WrittenReference {
    /// Which value of the document is the object, or the text that is one.
    place: u32,
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
    let mut failures = error.failures().iter();
    if !failures.any(|failure| matches!(failure.error, Error::Arguments(_))) {
        return None;
    }
    let length = written.len();
    let document = Arc::new(indexed(written.clone()).await);
    let walked = Arc::clone(&document);
    let found = apart(length, move || references(&walked)).await;
    let schema = offered.prepared.listed().input_schema();
    let mut wanted = Vec::new();
    for reference in found {
        let Some(form) = form_at(schema, &reference.to) else {
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
            let select = before.map_or_else(|| form.to_owned(), |own| format!("{own} | {form}"));
            wanted.push((reference, select));
        }
    }
    if wanted.is_empty() {
        return None;
    }
    apart(length, move || selected(&document, wanted)).await
}

/// A document whose references select what is beside them.
fn selected(document: &Document, wanted: Vec<(WrittenReference, String)>) -> Option<Bytes> {
    let root = document.root().ok()?;
    let mut edits = Edits::new(document.raw());
    for (reference, select) in wanted {
        let place = root.by_ordinal(reference.place)?;
        let (key, select) = (reference.select_key, quoted(&select));
        match place.as_str() {
            Some(text) => edits.replace(place, put(&text, key, select)?),
            None => edits.put(place, key, select),
        }
    }
    Some(edits.done().into_owned().into())
}

/// An object in a text, with a member.
fn put(text: &str, key: &str, value: String) -> Option<Bytes> {
    let text = Bytes::copy_from_slice(text.trim().as_bytes());
    edited(&text, |edits, root| edits.put(root, key, value))
}

/// The references in arguments, and where they lead.
fn references(document: &Document) -> Vec<WrittenReference> {
    let mut found = Vec::new();
    if let Ok(root) = document.root() {
        walk(root, &mut Vec::new(), &mut found);
    }
    found
}

/// A document nests no deeper than it may.
fn walk(at: Cursor<'_>, path: &mut Vec<String>, found: &mut Vec<WrittenReference>) {
    if found.len() >= MAX_REFERENCES {
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
        Kind::String => found.extend(at.as_str().and_then(|text| in_text(at, &text, path))),
        Kind::Object => {
            if let Some(reference) = reference(at, at, path.clone(), false) {
                found.push(reference);
                return;
            }
            for (key, value) in at.members() {
                match &*key.text() {
                    // What is meant literally holds no references.
                    "_literal" | "$literal" => {}
                    "_refs" | "$refs" => entries(value, path, found),
                    key => {
                        path.push(key.to_owned());
                        walk(value, path, found);
                        path.pop();
                    }
                }
            }
        }
        _ => {}
    }
}

/// The reference that a text is, as models write it.
fn in_text(place: Cursor<'_>, text: &str, path: &[String]) -> Option<WrittenReference> {
    read_string(text, &|_| false).ok()??;
    let document = Document::new(text.trim().to_owned());
    reference(place, document.root().ok()?, path.to_vec(), false)
}

/// The entries of a map of references, or of a list of them.
fn entries(map: Cursor<'_>, path: &[String], found: &mut Vec<WrittenReference>) {
    let below = |to: &str| {
        let steps = match to.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(Pointer::unescaped).collect(),
            None => vec![to.to_owned()],
        };
        path.iter().cloned().chain(steps).collect()
    };
    if map.kind() == Kind::Object {
        let entries = map.members();
        found.extend(
            entries.filter_map(|(to, entry)| reference(entry, entry, below(&to.text()), false)),
        );
    } else {
        found.extend(map.items().filter_map(|entry| {
            let to = entry.get("to")?.as_str()?;
            reference(entry, entry, below(&to), true)
        }));
    }
}

fn reference(
    place: Cursor<'_>,
    object: Cursor<'_>,
    to: Vec<String>,
    is_listed: bool,
) -> Option<WrittenReference> {
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
    Some(WrittenReference {
        place: place.ordinal(),
        select: text(select_key),
        select_key,
        call_id,
        to,
    })
}

/// Whether a value is what stands for binary data.
fn is_binary(json: Vec<u8>) -> bool {
    let document = Document::new(json);
    document
        .root()
        .is_ok_and(|root| binary_parts(root).is_some())
}

#[cfg(test)]
mod tests {
    use super::{is_binary, references};
    use crossfeed_json::Document;
    use serde_json::json;

    #[test]
    fn binary_data_is_told_from_what_looks_like_it() {
        let is = |value: serde_json::Value| is_binary(value.to_string().into_bytes());
        let own = json!({"data": "AAAA", "encoding": "base64", "mimeType": "image/png"});
        assert!(is(own.clone()));
        for (key, other) in [
            ("data", json!(1)),
            ("encoding", json!("hex")),
            ("mimeType", json!(null)),
            ("more", json!("x")),
        ] {
            let mut changed = own.clone();
            changed[key] = other;
            assert!(!is(changed), "{key}");
        }
    }

    #[test]
    fn references_are_found_where_they_may_stand() {
        let arguments = json!({
            "a": {"$tool": "1"},
            "b": [{"_tool": "2", "_select": "x"}, {"_tool": "9", "_artifact": "a"}],
            "_refs": {"c": {"_tool": "3"}, "d": 7},
            "literal": {"$literal": [{"$tool": "7"}]},
            "e": {"$refs": [{"to": "/f/g~1h", "tool": "4", "select": "y"}]},
            "text": "{\"_tool\": \"5\"}",
            "prose": "{\"_tool\": \"6\", \"more\": 1}",
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
                (text("5"), text("text"), None),
            ]
        );
    }
}
