//! The few members of parameters and results that decide where a message goes.
//!
//! What comes in: JSON, and the keys that lead to a value. What goes out: the value, or the JSON with
//! another value there and every other byte kept. Deliberately not here: what the values mean.

use crate::{members::at, message::Id};
use bytes::Bytes;
use crossfeed_json::{Change, Cursor, Document, Edits, Kind};

/// Whether the last key of a path can be there.
fn may_hold(json: &[u8], path: &[&str]) -> bool {
    path.last()
        .is_none_or(|key| crate::members::may_hold(json, key))
}

/// What is made of the value that a path of keys leads to.
fn found<T>(
    json: &Bytes,
    path: &[&str],
    of: impl FnOnce(&Document, Cursor<'_>) -> Option<T>,
) -> Option<T> {
    if !may_hold(json, path) {
        return None;
    }
    let document = Document::new(json.clone());
    of(&document, at(&document, path)?)
}

/// The bytes of the value that a path of keys leads to.
pub(super) fn raw(json: &Bytes, path: &[&str]) -> Option<Bytes> {
    found(json, path, |_, value| Some(value.shared()))
}

/// The same in memory of its own: what is kept must not keep a whole message.
pub(super) fn kept(json: &Bytes, path: &[&str]) -> Option<Bytes> {
    raw(json, path).map(|value| Bytes::copy_from_slice(&value))
}

/// An id in memory of its own.
pub(super) fn kept_id(id: &Id) -> Id {
    Id::parse(Bytes::copy_from_slice(id.raw())).unwrap_or_else(|| id.clone())
}

/// The string that a path of keys leads to.
pub(super) fn string(json: &Bytes, path: &[&str]) -> Option<String> {
    found(json, path, |_, value| Some(value.as_str()?.into_owned()))
}

/// The same JSON with another value at a path of keys; itself where there is none.
pub(super) fn replaced(json: &Bytes, path: &[&str], with: &[u8]) -> Bytes {
    let replaced = found(json, path, |document, value| {
        let mut edits = Edits::new(document.raw());
        edits.replace(value, with);
        Some(edits.done().into_owned().into())
    });
    replaced.unwrap_or_else(|| json.clone())
}

/// The same object with some members set: replaced where they are, added where they are not.
pub(super) fn with_members(json: &Bytes, members: &[(&str, Bytes)]) -> Bytes {
    let document = Document::new(json.clone());
    let root = document.root().ok();
    let Some(root) = root.filter(|root| root.kind() == Kind::Object) else {
        return json.clone();
    };
    let mut edits = Edits::new(document.raw());
    edits.set_members(root, members);
    edits.done().into_owned().into()
}

/// The same object without a member.
pub(super) fn without_member(json: &Bytes, key: &str) -> Bytes {
    let without = found(json, &[key], |document, _| {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, path: &[&str], expected: Option<&str>, with_9: &str) {
        let json = Bytes::from(json.to_owned());
        let found = raw(&json, path);
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
