//! Brackets and quotes in a text, and where what they hold ends.

use super::{
    MAX_PATH_BYTES,
    id::{Head, is_distinctive},
};

/// Whether blanks are only in brackets and quotes, or around pipes: prose is not an expression.
pub(super) fn is_one_expression(text: &str) -> bool {
    let mut scan = Scan::default();
    let mut last = b' ';
    let mut open = false;
    for byte in text.bytes() {
        scan.take(byte);
        if scan.is_inside() || byte == b']' {
            (last, open) = (byte, false);
            continue;
        }
        if byte.is_ascii_whitespace() {
            open = last != b'|';
            continue;
        }
        if open && byte != b'|' || matches!(byte, b',' | b';') {
            return false;
        }
        (last, open) = (byte, false);
    }
    true
}

/// Follows brackets and quotes.
#[derive(Default)]
pub(crate) struct Scan {
    depth: usize,
    quote: Option<u8>,
    is_escaped: bool,
}

impl Scan {
    pub(crate) fn take(&mut self, byte: u8) {
        if let Some(quote) = self.quote {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else if byte == quote {
                self.quote = None;
            }
            return;
        }
        match byte {
            b'\'' | b'"' | b'`' => self.quote = Some(byte),
            b'[' | b'(' | b'{' => self.depth += 1,
            b']' | b')' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.depth > 0 || self.quote.is_some()
    }
}

/// The bytes before the closing delimiter, in one line and before another opening one.
pub(super) fn closing(text: &str, open: &str, close: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate().take(MAX_PATH_BYTES) {
        if byte == b'\n' {
            return None;
        }
        let rest = &bytes[at..];
        if !scan.is_inside() && rest.starts_with(close.as_bytes()) {
            // `call_1->items` in angle brackets
            let is_arrow = close == ">" && bytes[..at].ends_with(b"-");
            if !is_arrow {
                return Some(at);
            }
        }
        // `<` and `{` are of expressions, too.
        let is_opening = open.len() > 1 && rest.starts_with(open.as_bytes())
            || open.len() == 1
                && rest.starts_with(open.as_bytes())
                && Head::read(text.get(at + 1..)?).is_some_and(|head| is_distinctive(head.id));
        if is_opening {
            return None;
        }
        scan.take(byte);
    }
    None
}
