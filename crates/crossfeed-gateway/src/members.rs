//! Finds members of JSON objects in their bytes, without an index, and sets them so that every other byte stays.

use bytes::Bytes;
use crossfeed_json::{Change, Cursor, Document, Edits, Kind, RawString, TokenVisitor, read_tokens};
use memchr::memmem;
use std::{borrow::Cow, ops::Range, str::FromStr};

/// An object without members.
pub(crate) static EMPTY: Bytes = Bytes::from_static(b"{}");

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
    pub(crate) fn begin(key: K, written: &RawString<'_>, value: usize) -> Self {
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
pub(crate) fn value_start(json: &[u8], key: &RawString<'_>) -> Option<usize> {
    let behind = key.start() + key.raw().len() + 1;
    let mut rest = json.get(behind..)?.iter();
    let skipped = rest.position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b':'))?;
    Some(behind + skipped)
}

/// Finds the members of the outermost object.
struct Members<'t, T, F, G> {
    text: &'t [u8],
    /// What is made of a key; `None` where its member is not wanted.
    read: F,
    depth: usize,
    /// The member whose value comes.
    next: Option<Member<T>>,
    /// Takes each member.
    take: G,
}

/// Gives the wanted members of the outermost object one by one; `None` where it is not JSON.
pub(crate) fn each_member<T>(
    text: &str,
    read: impl Fn(&str) -> Option<T>,
    take: impl FnMut(Member<T>),
) -> Option<()> {
    let mut members = Members {
        text: text.as_bytes(),
        read,
        depth: 0,
        next: None,
        take,
    };
    read_tokens(text, &mut members).ok()
}

/// The wanted members of the outermost object, if it is JSON.
pub(crate) fn members_of<T>(
    text: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<Vec<Member<T>>> {
    let mut members = Vec::new();
    each_member(text, read, |member| members.push(member))?;
    Some(members)
}

impl<T, F: Fn(&str) -> Option<T>, G: FnMut(Member<T>)> TokenVisitor for Members<'_, T, F, G> {
    fn open(&mut self, _: usize) {
        if let Some(member) = &mut self.next {
            member.depth = member.depth.max(self.depth);
        }
        self.depth += 1;
    }

    fn close(&mut self, _: usize) {
        self.depth -= 1;
    }

    fn key(&mut self, key: RawString<'_>) {
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
            (self.take)(member.ended(end));
        }
    }
}

/// What a path of keys leads to.
pub(crate) fn at<'d>(document: &'d Document, path: &[&str]) -> Option<Cursor<'d>> {
    let root = document.root().ok()?;
    path.iter().try_fold(root, |value, key| value.get(key))
}

/// Reads the value at a path of keys. Most JSON that cannot have the last key is not indexed.
fn read<T>(
    json: &Bytes,
    path: &[&str],
    read: impl FnOnce(&Document, Cursor<'_>) -> Option<T>,
) -> Option<T> {
    if !path.last().is_none_or(|key| may_hold(json, key)) {
        return None;
    }
    let document = Document::new(json.clone());
    read(&document, at(&document, path)?)
}

/// The bytes of the value at a path of keys.
pub(crate) fn get(json: &Bytes, path: &[&str]) -> Option<Bytes> {
    read(json, path, |_, value| Some(value.shared()))
}

/// The same in memory of its own, which does not keep the whole message.
pub(crate) fn get_copy(json: &Bytes, path: &[&str]) -> Option<Bytes> {
    read(json, path, |_, value| {
        Some(Bytes::copy_from_slice(value.raw()))
    })
}

/// The string at a path of keys.
pub(crate) fn get_text(json: &Bytes, path: &[&str]) -> Option<String> {
    read(json, path, |_, value| Some(value.as_str()?.into_owned()))
}

/// The number at a path of keys.
pub(crate) fn get_number<N: FromStr>(json: &Bytes, path: &[&str]) -> Option<N> {
    std::str::from_utf8(&get(json, path)?).ok()?.parse().ok()
}

/// The strings of the list at a path of keys.
pub(crate) fn get_texts(json: &Bytes, path: &[&str]) -> Vec<String> {
    let texts = read(json, path, |_, list| {
        let items = list.items().filter(|_| list.kind() == Kind::Array);
        let texts = items.filter_map(|item| item.as_str().map(Cow::into_owned));
        Some(texts.collect())
    });
    texts.unwrap_or_default()
}

/// Whether `true` is at a path of keys.
pub(crate) fn is_true(json: &Bytes, path: &[&str]) -> bool {
    get(json, path).is_some_and(|value| value == "true")
}

/// The same JSON with another value at a path of keys, if there is a value.
pub(crate) fn replaced(json: &Bytes, path: &[&str], value: &[u8]) -> Bytes {
    let replaced = read(json, path, |document, old| {
        let mut edits = Edits::new(document.raw());
        edits.replace(old, value);
        Some(edits.done().into_owned().into())
    });
    replaced.unwrap_or_else(|| json.clone())
}

/// The same object with these members, replaced or added.
pub(crate) fn with_members(json: &Bytes, members: &[(&str, Bytes)]) -> Bytes {
    let edited = edited(json, |edits, root| {
        if root.kind() == Kind::Object {
            edits.set_members(root, members);
        }
    });
    edited.unwrap_or_else(|| json.clone())
}

/// The same object without a member.
pub(crate) fn without_member(json: &Bytes, key: &str) -> Bytes {
    let without = read(json, &[key], |document, _| {
        document.root().ok()?.with_members(|name, _| {
            if name == key {
                Change::Remove
            } else {
                Change::Keep
            }
        })
    });
    without.map_or_else(|| json.clone(), Bytes::from)
}

/// An object of these members.
pub(crate) fn object<V: AsRef<[u8]>>(members: &[(&str, V)]) -> Bytes {
    crossfeed_json::object(members).into()
}

/// Whether an object has one of these members.
pub(crate) fn has_any(object: Cursor<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| object.get(key).is_some())
}

/// Whether a member of an object is written more than once.
pub(crate) fn is_twice(object: Cursor<'_>, key: &str) -> bool {
    let members = object.written_members();
    members.filter(|member| member.key.text() == key).count() > 1
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
    use super::*;

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

    fn check(json: &str, path: &[&str], expected: Option<&str>, with_9: &str) {
        let json = Bytes::from(json.to_owned());
        let found = get(&json, path);
        assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{json:?}");
        assert_eq!(replaced(&json, path, b"9"), with_9.as_bytes());
    }

    #[test]
    fn values_are_found_and_replaced_where_they_stand() {
        let path = ["_meta", "progressToken"];
        check(
            r#"{"a": 1.50, "_meta": {"progressToken" : "x"}, "b":[ ]}"#,
            &path,
            Some(r#""x""#),
            r#"{"a": 1.50, "_meta": {"progressToken" : 9}, "b":[ ]}"#,
        );
        check(
            r#"{"_meta":{"progress\u0054oken":[1, 2]}}"#,
            &path,
            Some("[1, 2]"),
            r#"{"_meta":{"progress\u0054oken":9}}"#,
        );
        for without in [
            r#"{"progressToken":1}"#,
            r#"{"_meta":[]}"#,
            r#"{"_meta":{"x":"progressToken"}}"#,
            "[]",
            "7",
        ] {
            check(without, &path, None, without);
        }
    }

    #[test]
    fn members_are_taken_out() {
        let without =
            |json: &'static str| without_member(&Bytes::from_static(json.as_bytes()), "b");
        assert_eq!(
            without(r#"{"a": 1.50, "b": 2, "c\n": [ ]}"#),
            &br#"{"a":1.50,"c\n":[ ]}"#[..]
        );
        assert_eq!(without(r#"{"b":{"b":1}}"#), &b"{}"[..]);
        assert_eq!(without(r#"{ "a":1 }"#), &br#"{ "a":1 }"#[..]);
    }

    #[test]
    fn members_are_set() {
        let json = Bytes::from_static(br#"{ "a": 1, "b": 2 }"#);
        let set = [
            ("b", Bytes::from_static(b"3")),
            ("c", Bytes::from_static(b"4")),
        ];
        assert_eq!(
            with_members(&json, &set),
            &br#"{ "a": 1, "b": 3,"c":4 }"#[..]
        );
        let nothing = Bytes::from_static(b"{ }");
        assert_eq!(with_members(&nothing, &set), &br#"{"b":3,"c":4}"#[..]);
        assert_eq!(with_members(&nothing, &[]), nothing);
    }
}
