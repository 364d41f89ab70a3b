//! JSON as people write it in configurations: with comments, and a comma behind the last item.
//!
//! The parts of the tree know their bytes, so that a file can be changed in one place and kept in all others.

use super::node::{Entry, Malformed, Node, Value};
use std::ops::Range;

/// How deep values may be nested.
const MAX_DEPTH: usize = 100;

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Node, Malformed> {
    let mut parser = Parser {
        text,
        // Some editors put a byte order mark there.
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
    };
    let node = parser.value(0)?;
    parser.blank()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.wrong("unexpected text behind the document")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn wrong(&self, why: &str) -> Malformed {
        Malformed {
            at: self.at.min(self.text.len()),
            why: why.to_owned(),
        }
    }

    /// Skips what means nothing: white space and comments.
    fn blank(&mut self) -> Result<(), Malformed> {
        loop {
            let rest = self.rest();
            if rest.starts_with(b"//") {
                let line = rest.iter().position(|byte| *byte == b'\n');
                self.at += line.unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") {
                let close = rest.windows(2).skip(2).position(|two| two == b"*/");
                let Some(close) = close else {
                    return Err(self.wrong("unterminated comment"));
                };
                self.at += close + 4;
            } else if matches!(rest.first(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        self.blank()?;
        if depth > MAX_DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?.0),
            Some(_) => self.word()?,
            None => return Err(self.wrong("expected a value")),
        };
        Ok(Node {
            value,
            span: start..self.at,
        })
    }

    fn table(&mut self, depth: usize) -> Result<Value, Malformed> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        self.at += 1;
        loop {
            self.blank()?;
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Table(entries));
                }
                Some(b'"') => {}
                _ => return Err(self.wrong("expected a key in double quotes or `}`")),
            }
            let begin = self.at;
            let (key, key_span) = self.string()?;
            if !keys.insert(key.clone()) {
                self.at = begin;
                return Err(self.wrong("duplicate key"));
            }
            self.blank()?;
            if self.peek() != Some(b':') {
                return Err(self.wrong("expected `:`"));
            }
            self.at += 1;
            let node = self.value(depth + 1)?;
            entries.push(Entry {
                key,
                key_span,
                node,
            });
            self.comma(b'}', "expected `,` or `}`")?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Malformed> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.comma(b']', "expected `,` or `]`")?;
        }
    }

    /// Skips a comma, unless the end comes.
    fn comma(&mut self, end: u8, missing: &str) -> Result<(), Malformed> {
        self.blank()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => {}
            _ => return Err(self.wrong(missing)),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(String, Range<usize>), Malformed> {
        let start = self.at;
        let mut escaped = false;
        let inner = self.rest().iter().skip(1);
        let end = inner.take_while(|byte| **byte != b'\n').position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            return Err(self.wrong("the text does not end on its line"));
        };
        let span = start..start + end + 2;
        let text = self.text.get(span.clone()).unwrap_or_default();
        match serde_json::from_str(text) {
            Ok(text) => {
                self.at = span.end;
                Ok((text, span))
            }
            Err(_) => {
                Err(self.wrong("the text has an escape or a character that JSON does not allow"))
            }
        }
    }

    fn word(&mut self) -> Result<Value, Malformed> {
        let ends = |byte: &u8| {
            matches!(byte, b',' | b']' | b'}' | b':' | b'/' | b'"') || byte.is_ascii_whitespace()
        };
        let length = self.rest().iter().position(ends);
        let end = length.map_or(self.text.len(), |length| self.at + length);
        let word = self.text.get(self.at..end).unwrap_or_default();
        let value = match serde_json::from_str::<serde_json::Value>(word) {
            Ok(serde_json::Value::Null) => Value::Null,
            Ok(serde_json::Value::Bool(truth)) => Value::Bool(truth),
            Ok(serde_json::Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => Value::Integer(integer),
                (None, Some(float)) if !number.is_u64() => Value::Float(float),
                _ => Value::Other("a number beyond 64 bits"),
            },
            _ => return Err(self.wrong("not a JSON value")),
        };
        self.at = end;
        Ok(value)
    }
}
