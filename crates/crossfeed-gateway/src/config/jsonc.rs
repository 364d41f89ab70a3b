//! Reads JSON as people write it in configurations: with comments, and with a comma after the last item.
//!
//! Every part of the tree knows its bytes, so that one part of a file can be changed and the rest kept.

use super::node::{Entry, Malformed, Node, Value};
use crossfeed_json::{Cursor, Document, JsonError, JsonErrorKind, Kind, WrittenMember};
use std::collections::BTreeSet;

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Node, Malformed> {
    let document = Document::new(strict(text)?);
    match document.root() {
        Ok(root) => node(root, document.raw()),
        Err(JsonError { kind, offset }) => Err(Malformed::new(
            offset,
            match kind {
                JsonErrorKind::Syntax => "unexpected character".to_owned(),
                kind => kind.to_string(),
            },
        )),
    }
}

/// The text as strict JSON with every value at its offset: blanks replace a byte order mark, comments, and commas
/// after last items.
fn strict(text: &str) -> Result<Vec<u8>, Malformed> {
    let mut json = text.as_bytes().to_vec();
    let mut at = 0;
    if text.starts_with('\u{feff}') {
        at = '\u{feff}'.len_utf8();
        json[..at].fill(b' ');
    }
    // A comma that may be the last: one that follows a value.
    let mut comma = None;
    let mut follows_value = false;
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let is_comment = rest.starts_with(b"//") || rest.starts_with(b"/*");
        let length = match rest {
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n'),
            [b'/', b'*', ..] => {
                let close = rest.windows(2).skip(2).position(|two| two == b"*/");
                let close = close.ok_or_else(|| Malformed::new(at, "unterminated comment"))?;
                Some(close + 4)
            }
            [b'"', inside @ ..] => string_end(inside).map(|end| end + 1),
            _ => Some(1),
        };
        let end = length.map_or(text.len(), |length| at + length);
        match rest[0] {
            _ if is_comment => json[at..end].fill(b' '),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' => comma = Some(at).filter(|_| std::mem::take(&mut follows_value)),
            byte => {
                if let (b'}' | b']', Some(comma)) = (byte, comma) {
                    json[comma] = b' ';
                }
                comma = None;
                follows_value = !matches!(byte, b'{' | b'[' | b':');
            }
        }
        at = end;
    }
    Ok(json)
}

/// The length of the rest of a string with its closing quote.
fn string_end(inside: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    Some(inside.iter().position(is_end)? + 1)
}

/// A value as a tree. It nests no deeper than a [`Document`] may.
fn node(value: Cursor<'_>, json: &[u8]) -> Result<Node, Malformed> {
    let (start, raw) = (value.offset(), value.raw());
    let read = match value.kind() {
        Kind::Array => {
            let items = value.items().map(|item| node(item, json));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Kind::Object => Value::Table(entries(value, json)?),
        Kind::String => serde_json::from_slice(raw)
            .map(Value::Text)
            .map_err(|_| Malformed::new(start, "the text has an invalid escape"))?,
        Kind::Number => match serde_json::from_slice::<serde_json::Number>(raw) {
            Ok(number) if number.is_i64() => Value::Integer(number.as_i64().unwrap_or_default()),
            Ok(number) if number.is_f64() => Value::Float(number.as_f64().unwrap_or_default()),
            _ => Value::Other("a number beyond 64 bits"),
        },
        Kind::Boolean => Value::Bool(value.as_bool() == Some(true)),
        Kind::Null => Value::Null,
    };
    Ok(Node {
        value: read,
        span: start..start + raw.len(),
    })
}

fn entries(object: Cursor<'_>, json: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut keys = BTreeSet::new();
    let entry = |member: WrittenMember<'_>| {
        // Before the value stand a colon and blanks only.
        let before = &json[..member.value.offset()];
        let key_end = before
            .iter()
            .rposition(|byte| *byte == b'"')
            .map_or(0, |at| at + 1);
        let key_span = key_end - member.key.raw().len() - 2..key_end;
        let key = member.key.text().into_owned();
        if !keys.insert(key.clone()) {
            return Err(Malformed::new(key_span.start, "duplicate key"));
        }
        Ok(Entry {
            key,
            key_span,
            node: node(member.value, json)?,
        })
    };
    object.written_members().map(entry).collect()
}
