//! Edits in corrections of references.

use crossfeed_wire::reference::{EditKind, WrittenEdit, is_sentinel};
use serde_json::{Map, Value};
use std::io;

/// The most bytes of an edit in a correction: of a longer one only the key is shown.
const MAX_EDIT_BYTES: usize = 200;

/// The edit of a reference, as a correction shows it: without it, what the correction gives would not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownEdit {
    pub(super) kind: EditKind,
    /// What was written, as JSON; `None` where that is long.
    content: Option<Box<str>>,
}

impl ShownEdit {
    pub(crate) fn new(edit: &WrittenEdit) -> Self {
        Self::of(edit.kind, &edit.content)
    }

    pub(super) fn of(kind: EditKind, content: &Value) -> Self {
        let content = (!is_cut(content)).then(|| short_json(content)).flatten();
        Self { kind, content }
    }

    /// That of an object. A key without a sign is one where its value may be an edit.
    pub(super) fn in_object(object: &Map<String, Value>) -> Option<Self> {
        let mut edits = object.iter().filter_map(|(key, value)| {
            let kind = edit_kind(key, value)?;
            Some(Self::of(kind, value))
        });
        edits.next().filter(|_| edits.next().is_none())
    }

    /// The same without what was written.
    pub(crate) fn without_content(&self) -> Self {
        Self {
            kind: self.kind,
            content: None,
        }
    }

    /// It as a member of an object.
    pub(super) fn member(&self, key: &str) -> String {
        match &self.content {
            Some(content) => format!("\"{key}\":{content}"),
            None => format!("\"{key}\": …"),
        }
    }
}

/// The kind of the edit under a key, if it is one.
pub(super) fn edit_kind(key: &str, value: &Value) -> Option<EditKind> {
    let kinds = [EditKind::Patch, EditKind::Merge, EditKind::Text];
    let is_filled = if is_sentinel(key) {
        !value.is_null()
    } else {
        value.is_object() || value.is_array()
    };
    let mut kinds = kinds.into_iter().filter(|_| is_filled);
    kinds.find(|kind| {
        let is_plural = *kind == EditKind::Text && matches!(key, "edits" | "$edits" | "_edits");
        is_plural || kind.spellings().contains(&key)
    })
}

/// Whether a value may have been long, so that what was in it was left out.
fn is_cut(value: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    match value.as_array().map(Vec::as_slice) {
        Some([only]) => is_empty(only),
        _ => is_empty(value),
    }
}

/// A value as JSON, if that is short and has every digit.
fn short_json(value: &Value) -> Option<Box<str>> {
    struct Short(Vec<u8>);
    impl io::Write for Short {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > MAX_EDIT_BYTES {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    fn is_exact(value: &Value) -> bool {
        match value {
            // Its digits may have been others.
            Value::Number(number) => !number.is_f64(),
            Value::Array(items) => items.iter().all(is_exact),
            Value::Object(members) => members.values().all(is_exact),
            _ => true,
        }
    }
    let mut short = Short(Vec::new());
    serde_json::to_writer(&mut short, value).ok()?;
    let text = String::from_utf8(short.0).ok()?;
    is_exact(value).then(|| text.into())
}
