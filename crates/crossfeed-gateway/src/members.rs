//! Finds members of JSON objects in their bytes, without an index, and edits objects so that every other byte
//! stays.

use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Quoted, TokenVisitor, read_tokens};
use memchr::memmem;
use std::{borrow::Cow, ops::Range};

/// A member of an object, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Member<K> {
    pub(crate) key: K,
    /// With its key.
    pub(crate) whole: Range<usize>,
    pub(crate) value: Range<usize>,
    /// How deep lists and objects nest in its value, as far as that was counted.
    pub(crate) depth: usize,
}

impl<K> Member<K> {
    /// One whose value begins at a place, and is not read yet.
    pub(crate) fn begin(key: K, written: &Quoted<'_>, value: usize) -> Self {
        Self {
            key,
            // The quote before it is part of the member.
            whole: written.start() - 1..value,
            value: value..value,
            depth: 0,
        }
    }

    /// The same, counted from a place.
    pub(crate) fn within(self, from: usize) -> Self {
        let less = |range: Range<usize>| range.start - from..range.end - from;
        Self {
            whole: less(self.whole),
            value: less(self.value),
            ..self
        }
    }

    /// The same with the end of its value.
    pub(crate) fn ended(mut self, end: usize) -> Self {
        self.whole.end = end;
        self.value.end = end;
        self
    }
}

/// Whether a key can be there: the bytes hold it, or an escape that may hide it.
pub(crate) fn may_hold(json: &[u8], key: &str) -> bool {
    memmem::find(json, key.as_bytes()).is_some()
        || may_hide(json)
        // A slash needs no number to be written as an escape.
        || (key.contains('/') && memmem::find(json, b"\\/").is_some())
}

/// Whether JSON holds escapes of letters or signs of ASCII, of which all keys are that are looked for. Escapes
/// of other characters are common, and hide nothing.
pub(crate) fn may_hide(json: &[u8]) -> bool {
    let mut escapes = memmem::find_iter(json, b"\\u00");
    escapes.any(|at| matches!(json.get(at + 4), Some(b'2'..=b'7')))
}

/// Where the value of a key begins: behind the key stand its closing quote, a colon, and blanks around it.
pub(crate) fn value_start(json: &[u8], key: &Quoted<'_>) -> Option<usize> {
    let behind = key.start() + key.raw().len() + 1;
    let mut rest = json.get(behind..)?.iter();
    let skipped = rest.position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b':'))?;
    Some(behind + skipped)
}

/// Finds the members of the outermost object.
pub(crate) struct Members<'t, T, F> {
    text: &'t [u8],
    /// What is made of a key; `None` where its member is not wanted.
    read: F,
    depth: usize,
    /// The member whose value comes.
    next: Option<Member<T>>,
    found: Vec<Member<T>>,
}

impl<'t, T, F: Fn(&str) -> Option<T>> Members<'t, T, F> {
    /// The members, if it is JSON.
    pub(crate) fn of(text: &'t str, read: F) -> Option<Vec<Member<T>>> {
        let mut members = Self {
            text: text.as_bytes(),
            read,
            depth: 0,
            next: None,
            found: Vec::new(),
        };
        read_tokens(text, &mut members).ok()?;
        Some(members.found)
    }
}

impl<T, F: Fn(&str) -> Option<T>> TokenVisitor for Members<'_, T, F> {
    fn open(&mut self, _: usize) {
        if let Some(member) = &mut self.next {
            member.depth = member.depth.max(self.depth);
        }
        self.depth += 1;
    }

    fn close(&mut self, _: usize) {
        self.depth -= 1;
    }

    fn key(&mut self, key: Quoted<'_>) {
        if self.depth != 1 {
            return;
        }
        let next = (self.read)(&key.text()).zip(value_start(self.text, &key));
        self.next = next.map(|(of_key, value)| Member::begin(of_key, &key, value));
    }

    fn value_end(&mut self, end: usize) {
        if self.depth == 1
            && let Some(member) = self.next.take()
        {
            self.found.push(member.ended(end));
        }
    }
}

/// What a path of keys leads to.
pub(crate) fn at<'d>(document: &'d Document, path: &[&str]) -> Option<Cursor<'d>> {
    let root = document.root().ok()?;
    path.iter().try_fold(root, |value, key| value.get(key))
}

/// An object of these members.
pub(crate) fn object<V: AsRef<[u8]>>(members: &[(&str, V)]) -> Bytes {
    crossfeed_json::object(members).into()
}

/// Whether an object has one of these members.
pub(crate) fn has_any(object: Cursor<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| object.get(key).is_some())
}

/// JSON with changes, shared where there are none; `None` where it cannot be read.
pub(crate) fn edited(
    json: &Bytes,
    change: impl FnOnce(&mut Edits<'_>, Cursor<'_>),
) -> Option<Bytes> {
    let document = Document::new(json.clone());
    let mut edits = Edits::new(document.raw());
    change(&mut edits, document.root().ok()?);
    Some(match edits.done() {
        Cow::Borrowed(_) => json.clone(),
        Cow::Owned(bytes) => bytes.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::may_hold;

    #[test]
    fn a_key_is_not_hidden_by_escapes() {
        for (json, may) in [
            (r#"{"id":1}"#, true),
            (r#"{"\u0069d":1}"#, true),
            (r#"{"\u0069\u0064":1}"#, true),
            (r#"{"a\u0000":"\u00e9\n"}"#, false),
            (r#"{"a":1}"#, false),
            (r#"{"a":"\/"}"#, false),
        ] {
            assert_eq!(may_hold(json.as_bytes(), "id"), may, "{json}");
        }
        assert!(may_hold(br#"{"a\/b":1}"#, "a/b"));
    }
}
