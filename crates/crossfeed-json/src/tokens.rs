//! Reads JSON token by token, without an index. The grammar is that of a [`Document`](crate::Document), but
//! without limits of depth and size: it needs one bit for each open level.

use crate::{
    document::{JsonError, JsonErrorKind},
    lex::{Text, fail},
    scan::Scanner,
    string,
};
use std::borrow::Cow;

/// A string as it is written, with its escapes.
#[derive(Clone, Copy, Debug)]
pub struct RawString<'t> {
    pub(crate) raw: &'t str,
    pub(crate) start: usize,
    pub(crate) escaped: bool,
}

impl<'t> RawString<'t> {
    /// The bytes between the quotes.
    pub fn raw(self) -> &'t str {
        self.raw
    }

    /// Offset of the first byte between the quotes.
    pub fn start(self) -> usize {
        self.start
    }

    /// Whether some of it is written as an escape.
    pub fn is_escaped(self) -> bool {
        self.escaped
    }

    /// Its text; a lone surrogate is U+FFFD.
    pub fn text(self) -> Cow<'t, str> {
        if self.escaped {
            string::unescape(self.raw)
        } else {
            Cow::Borrowed(self.raw)
        }
    }
}

/// Visits the tokens that [`read_tokens`] reads. Offsets count bytes in the text.
pub trait TokenVisitor {
    /// An object or a list begins.
    fn open(&mut self, _at: usize) {}

    /// The key of a member, whose value comes next.
    fn key(&mut self, _key: RawString<'_>) {}

    /// An item of a list comes next.
    fn item(&mut self) {}

    /// A value that is a string.
    fn string(&mut self, _string: RawString<'_>) {}

    /// A value ends before `end`: called for each string, number and word, and for each object and list after
    /// its [`close`](Self::close).
    fn value_end(&mut self, _end: usize) {}

    /// A comma between members or items.
    fn comma(&mut self, _at: usize) {}

    /// The innermost object or list ends.
    fn close(&mut self, _at: usize) {}
}

/// Reads a text to its end, or to the first error. The visitor may therefore see tokens of an invalid text.
///
/// A byte order mark may precede it. It does not recurse, and holds no more memory than one bit for each
/// level of the text.
///
/// ```
/// use crossfeed_json::{RawString, TokenVisitor, read_tokens};
///
/// #[derive(Default)]
/// struct Keys(Vec<String>);
///
/// impl TokenVisitor for Keys {
///     fn key(&mut self, key: RawString<'_>) {
///         self.0.push(key.text().into_owned());
///     }
/// }
///
/// let mut keys = Keys::default();
/// read_tokens(r#"{"a": [{"\u0062": 1}]}"#, &mut keys)?;
/// assert_eq!(keys.0, ["a", "b"]);
/// assert!(read_tokens(r#"{"a": [{]}"#, &mut keys).is_err());
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
///
/// # Errors
///
/// [`JsonError`] as for a document, but never a limit.
#[inline]
pub fn read_tokens(text: &str, visitor: &mut impl TokenVisitor) -> Result<(), JsonError> {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let bytes = Text(text.as_bytes());
    let mut scanner = Scanner::new(text.as_bytes());
    let mut outer = Bits::default();
    let mut depth = 0_usize;
    let mut in_object = false;
    let (mut byte, mut at) = bytes.token(mark)?;
    'value: loop {
        'read: {
            match byte {
                b'"' => {
                    let start = at + 1;
                    let escaped;
                    (at, escaped) = bytes.string(&mut scanner, start)?;
                    visitor.string(raw_string(text, start, at, escaped));
                }
                b'{' => {
                    outer.push(in_object);
                    in_object = true;
                    depth += 1;
                    visitor.open(at);
                    (byte, at) = bytes.token(at + 1)?;
                    if byte == b'}' {
                        break 'read;
                    }
                    (byte, at) = key(text, &mut scanner, byte, at, visitor)?;
                    continue 'value;
                }
                b'[' => {
                    outer.push(in_object);
                    in_object = false;
                    depth += 1;
                    visitor.open(at);
                    (byte, at) = bytes.token(at + 1)?;
                    if byte == b']' {
                        break 'read;
                    }
                    visitor.item();
                    continue 'value;
                }
                b'-' | b'0'..=b'9' => at = bytes.number(byte, at)?,
                b't' => at = bytes.word(at, b"true")?,
                b'f' => at = bytes.word(at, b"false")?,
                b'n' => at = bytes.word(at, b"null")?,
                _ => return fail(JsonErrorKind::Syntax, at),
            }
            visitor.value_end(at);
        }
        // After a value: a comma, or closing brackets.
        loop {
            (byte, at) = match bytes.token(at) {
                Ok(token) => token,
                Err(_) if depth == 0 => return Ok(()),
                Err(error) => return Err(error),
            };
            let fits = match byte {
                b'}' => in_object,
                b',' => depth > 0,
                b']' => !in_object && depth > 0,
                _ => false,
            };
            if !fits {
                return fail(JsonErrorKind::Syntax, at);
            }
            if byte == b',' {
                visitor.comma(at);
                (byte, at) = bytes.token(at + 1)?;
                if in_object {
                    (byte, at) = key(text, &mut scanner, byte, at, visitor)?;
                } else {
                    visitor.item();
                }
                continue 'value;
            }
            visitor.close(at);
            at += 1;
            depth -= 1;
            in_object = outer.pop();
            visitor.value_end(at);
        }
    }
}

/// Reads `"key" :`; returns the first byte of the value, and its offset.
#[inline(always)]
fn key(
    text: &str,
    scanner: &mut Scanner,
    byte: u8,
    at: usize,
    visitor: &mut impl TokenVisitor,
) -> Result<(u8, usize), JsonError> {
    let bytes = Text(text.as_bytes());
    if byte != b'"' {
        return fail(JsonErrorKind::Syntax, at);
    }
    let (behind, escaped) = bytes.string(scanner, at + 1)?;
    visitor.key(raw_string(text, at + 1, behind, escaped));
    let (byte, at) = bytes.token(behind)?;
    if byte != b':' {
        return fail(JsonErrorKind::Syntax, at);
    }
    bytes.token(at + 1)
}

/// The string that begins after a quote at `start` and ends with one before `behind`.
#[inline(always)]
fn raw_string(text: &str, start: usize, behind: usize, escaped: bool) -> RawString<'_> {
    // Quotes are ASCII, so that these are boundaries of characters.
    let raw = text.get(start..behind - 1).unwrap_or_default();
    RawString {
        raw,
        start,
        escaped,
    }
}

/// A stack of bits.
#[derive(Default)]
pub(crate) struct Bits {
    full: Vec<u64>,
    /// The bits on top, the last one lowest.
    top: u64,
    /// How many of them there are.
    count: u32,
}

impl Bits {
    #[inline(always)]
    pub(crate) fn push(&mut self, bit: bool) {
        if self.count == u64::BITS {
            self.full.push(self.top);
            self.count = 0;
        }
        self.top = self.top << 1 | u64::from(bit);
        self.count += 1;
    }

    /// The bit that was pushed last; `false` if the stack is empty.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> bool {
        if self.count == 0 {
            match self.full.pop() {
                Some(full) => (self.top, self.count) = (full, u64::BITS),
                None => return false,
            }
        }
        let bit = self.top & 1 == 1;
        self.top >>= 1;
        self.count -= 1;
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, RawString, TokenVisitor, read_tokens};
    use crate::{
        Document, JsonErrorKind,
        tests::{Json, blanks, json},
    };
    use proptest::{collection::vec, prelude::*, sample::Index};

    /// Writes down the visited tokens.
    #[derive(Default)]
    struct Transcript(String);

    impl TokenVisitor for Transcript {
        fn open(&mut self, _: usize) {
            self.0.push('(');
        }
        fn key(&mut self, key: RawString<'_>) {
            self.0 += &format!("{:?}:", key.text());
        }
        fn item(&mut self) {
            self.0.push('-');
        }
        fn string(&mut self, string: RawString<'_>) {
            self.0 += &format!("{:?}", string.text());
        }
        fn value_end(&mut self, _: usize) {
            self.0.push('.');
        }
        fn comma(&mut self, _: usize) {
            self.0.push(',');
        }
        fn close(&mut self, _: usize) {
            self.0.push(')');
        }
    }

    /// The same of a value that is known.
    fn expected(json: &Json, told: &mut String) {
        match json {
            Json::Atom(text) if text.starts_with('"') => {
                let document = Document::new(text.clone());
                *told += &format!("{:?}", document.root().unwrap().as_str().unwrap());
            }
            Json::Atom(_) => {}
            Json::Array(items) => {
                told.push('(');
                for (at, item) in items.iter().enumerate() {
                    *told += if at > 0 { ",-" } else { "-" };
                    expected(item, told);
                }
                told.push(')');
            }
            Json::Object(members) => {
                told.push('(');
                for (at, (key, value)) in members.iter().enumerate() {
                    *told += if at > 0 { "," } else { "" };
                    let key = Document::new(format!("\"{key}\""));
                    *told += &format!("{:?}:", key.root().unwrap().as_str().unwrap());
                    expected(value, told);
                }
                told.push(')');
            }
        }
        told.push('.');
    }

    /// A text is JSON to both, or fails in both at the same byte.
    fn agrees(text: &str) {
        let found = read_tokens(text, &mut Transcript::default());
        let document = Document::new(text.to_owned());
        match document.root() {
            Ok(_) => assert_eq!(found, Ok(()), "{text:?}"),
            Err(error) if error.kind == JsonErrorKind::TooDeep => {}
            Err(error) => assert_eq!(found, Err(error), "{text:?}"),
        }
    }

    proptest! {
        #[test]
        fn tells_what_stands_there(json in json(), blanks in blanks()) {
            let (mut told, mut model) = (Transcript::default(), String::new());
            prop_assert_eq!(read_tokens(&json.text(blanks), &mut told), Ok(()));
            expected(&json, &mut model);
            prop_assert_eq!(told.0, model);
        }

        #[test]
        fn accepts_what_a_document_accepts(
            tokens in vec(proptest::sample::select([
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "1", "-", "0", ".5", "e9", "true", "null", " ", "\n", "\\", "\\u", "00e9", "é",
            ].as_slice()), 0..12),
        ) {
            agrees(&tokens.concat());
        }

        #[test]
        fn agrees_on_mutated_json(
            json in json(),
            blanks in blanks(),
            changes in vec((any::<Index>(), 0..17_usize), 0..3),
        ) {
            let mut chars: Vec<char> = json.text(blanks).chars().collect();
            for (place, change) in changes {
                if chars.is_empty() {
                    break;
                }
                let place = place.index(chars.len());
                match "\"\\{}[],:01-.e é\u{1}".chars().nth(change) {
                    Some(c) => chars[place] = c,
                    None => _ = chars.remove(place),
                }
            }
            agrees(&chars.into_iter().collect::<String>());
        }

        #[test]
        fn bits_come_back(bits in vec(any::<bool>(), 0..300), pops in 0..300_usize) {
            let mut stack = Bits::default();
            let mut model = Vec::new();
            for bit in bits.iter().chain(&bits) {
                stack.push(*bit);
                model.push(*bit);
                if model.len() == pops {
                    for _ in 0..pops {
                        assert_eq!(stack.pop(), model.pop().unwrap());
                    }
                }
            }
            while let Some(bit) = model.pop() {
                prop_assert_eq!(stack.pop(), bit);
            }
            prop_assert!(!stack.pop());
        }
    }

    #[test]
    fn every_truncation_is_none() {
        let text =
            "{\"a\": [1.5e+3, -20, true, null, \"x\\n\\u00e9é\u{1f600}\"], \"b\": {\"c\": [[]]}}";
        for (end, _) in text.char_indices() {
            agrees(&text[..end]);
            assert!(read_tokens(&text[..end], &mut Transcript::default()).is_err());
        }
        agrees(text);
    }

    #[test]
    fn nothing_is_too_deep() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            let mut told = Transcript::default();
            assert_eq!(read_tokens(&text, &mut told), Ok(()));
            let opened = told.0.matches('(').count();
            assert_eq!(opened, 100_000 * (open.len() / 6 + 1));
            let unclosed = &text[..text.len() - 1];
            assert!(read_tokens(unclosed, &mut told).is_err());
        }
    }
}
