//! Members of JSON objects, set and taken off by their bytes.
//!
//! What comes in: an object, and what is to be in it or not. What goes out: the object with every other
//! byte as it was. Deliberately not here: what members mean.

pub(super) use crate::members::object;

use crate::{
    members::{at, may_hold},
    message::{Id, Message},
};
use bytes::Bytes;
use crossfeed_json::{Document, Edits, Kind, Prune, Quoted, cuts, without as pruned};

/// A key, and the JSON that stands under it.
pub(super) type Member<'m> = (&'m str, &'m [u8]);

/// The object under which messages carry what is about themselves.
const META: &str = "_meta";

/// An object, empty where there is none yet, with members set, those of `meta` in its `_meta`. None where
/// it is not an object, or its `_meta` is none.
pub(super) fn with(
    object: Option<&Bytes>,
    members: &[Member<'_>],
    meta: &[Member<'_>],
) -> Option<Bytes> {
    let object = object.filter(|object| object.as_ref() != b"null");
    let document = Document::new(object.map_or(Bytes::from_static(b"{}"), Bytes::clone));
    let root = document.root().ok()?;
    if root.kind() != Kind::Object {
        return None;
    }
    let mut edits = Edits::new(document.raw());
    let meta_object = self::object(meta);
    let mut members = members.to_vec();
    if !meta.is_empty() {
        match root.get(META) {
            Some(there) if there.kind() == Kind::Object => edits.set_members(there, meta),
            Some(_) => return None,
            None => members.push((META, &meta_object)),
        }
    }
    edits.set_members(root, &members);
    Some(edits.done().into_owned().into())
}

/// An object with those of these members that it has not; none where it is not an object.
pub(super) fn with_absent(object: &Bytes, members: &[Member<'_>]) -> Option<Bytes> {
    let document = Document::new(object.clone());
    let root = document.root().ok()?;
    if root.kind() != Kind::Object {
        return None;
    }
    let absent = members.iter().filter(|(key, _)| root.get(key).is_none());
    let absent: Vec<_> = absent.copied().collect();
    let mut edits = Edits::new(document.raw());
    edits.set_members(root, &absent);
    Some(edits.done().into_owned().into())
}

/// An object without some members, and its `_meta` without those that are for `meta`; a `_meta` that has
/// nothing else goes, too. What is not an object stays as it is.
pub(super) fn without(object: &Bytes, members: &[&str], meta: &[&str]) -> Bytes {
    let mentioned = |key: &&str| may_hold(object, key);
    if !members.iter().any(mentioned) && !meta.iter().any(mentioned) {
        return object.clone();
    }
    let Ok(text) = std::str::from_utf8(object) else {
        return object.clone();
    };
    let mut off = Off {
        members,
        meta,
        whole_meta: meta_goes(object, meta),
        within_meta: false,
    };
    match cuts(text, &mut off) {
        Ok(cuts) if !cuts.is_empty() => pruned(text, &cuts).into(),
        Ok(_) | Err(_) => object.clone(),
    }
}

/// Whether an object's `_meta` has only members that go.
fn meta_goes(object: &Bytes, going: &[&str]) -> bool {
    if going.is_empty() {
        return false;
    }
    let document = Document::new(object.clone());
    let Some(meta) = document.root().ok().and_then(|root| root.get(META)) else {
        return false;
    };
    !meta.is_empty()
        && meta.kind() == Kind::Object
        && meta
            .members()
            .all(|(key, _)| going.contains(&key.text().as_ref()))
}

struct Off<'k> {
    members: &'k [&'k str],
    meta: &'k [&'k str],
    whole_meta: bool,
    within_meta: bool,
}

impl Prune for Off<'_> {
    fn member(&mut self, key: Quoted<'_>, depth: usize) -> bool {
        match depth {
            1 => {
                let key = key.text();
                self.within_meta = key == META;
                self.members.contains(&key.as_ref()) || (self.within_meta && self.whole_meta)
            }
            2 => self.within_meta && self.meta.contains(&key.text().as_ref()),
            _ => false,
        }
    }
}

/// The bytes of a member, by the path of keys that leads to it.
pub(super) fn get(object: &Bytes, path: &[&str]) -> Option<Bytes> {
    let document = Document::new(object.clone());
    let value = at(&document, path)?.shared();
    Some(value)
}

/// The text of a member that is a string.
pub(super) fn get_text(object: &Bytes, path: &[&str]) -> Option<String> {
    text(&get(object, path)?)
}

/// The text of a JSON string.
pub(super) fn text(json: &Bytes) -> Option<String> {
    let document = Document::new(json.clone());
    Some(document.root().ok()?.as_str()?.into_owned())
}

/// The texts of a member that is a list of strings.
pub(super) fn get_texts(object: &Bytes, path: &[&str]) -> Vec<String> {
    let Some(raw) = get(object, path) else {
        return Vec::new();
    };
    let document = Document::new(raw);
    let Ok(root) = document.root() else {
        return Vec::new();
    };
    let texts = root.items().filter(|_| root.kind() == Kind::Array);
    texts
        .filter_map(|item| item.as_str().map(std::borrow::Cow::into_owned))
        .collect()
}

/// A member that is the id of a request.
pub(super) fn get_id(object: &Bytes, path: &[&str]) -> Option<Id> {
    Id::parse(get(object, path)?)
}

/// An error with the code `to`, where it has the code `from`.
pub(super) fn recoded(error: &Bytes, from: i64, to: i64) -> Option<Bytes> {
    let has_code = get(error, &["code"])? == from.to_string();
    has_code.then(|| with(Some(error), &[("code", to.to_string().as_bytes())], &[]))?
}

/// The request that a notification cancels.
pub(super) fn cancelled_id(notification: &Message) -> Option<Id> {
    get_id(&notification.params()?, &["requestId"])
}

/// Whether a member is `true`.
pub(super) fn is_true(object: &Bytes, path: &[&str]) -> bool {
    get(object, path).is_some_and(|raw| raw.as_ref() == b"true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_with(object: Option<&str>, expected: Option<&str>) {
        let object = object.map(|object| Bytes::from(object.to_owned()));
        let set = with(
            object.as_ref(),
            &[("a", b"1")],
            &[("x/y", b"{}"), ("z", b"2")],
        );
        assert_eq!(set.as_deref(), expected.map(str::as_bytes));
    }

    #[test]
    fn members_are_set() {
        check_with(None, Some(r#"{"a":1,"_meta":{"x/y":{},"z":2}}"#));
        check_with(Some("null"), Some(r#"{"a":1,"_meta":{"x/y":{},"z":2}}"#));
        check_with(Some("{ }"), Some(r#"{"a":1,"_meta":{"x/y":{},"z":2}}"#));
        check_with(
            Some(r#"{ "_meta": {}, "b": 1.50 }"#),
            Some(r#"{ "_meta": {"x/y":{},"z":2}, "b": 1.50,"a":1 }"#),
        );
        check_with(
            Some(r#"{"a": 5, "_meta": {"t": 1, "z": 9}}"#),
            Some(r#"{"a": 1, "_meta": {"t": 1, "z": 2,"x/y":{}}}"#),
        );
        check_with(Some("[]"), None);
        check_with(Some(r#"{"_meta": 1}"#), None);
    }

    fn check_without(object: &str, expected: &str) {
        let left = without(&Bytes::from(object.to_owned()), &["a"], &["m", "n"]);
        assert_eq!(left, expected.as_bytes());
    }

    #[test]
    fn members_are_taken_off() {
        check_without(r#"{"b": {"a": 1}}"#, r#"{"b": {"a": 1}}"#);
        check_without(r#"{"a": [1], "b": 2}"#, r#"{ "b": 2}"#);
        check_without(r#"{"b": 2, "a": 1}"#, r#"{"b": 2}"#);
        check_without(
            r#"{"_meta": {"m": 1, "o": 2, "n": 3}}"#,
            r#"{"_meta": { "o": 2}}"#,
        );
        check_without(r#"{"c": 0, "_meta": {"m": 1, "n": 3}}"#, r#"{"c": 0}"#);
        check_without(
            r#"{"c": {"m": 1}, "_meta": {}}"#,
            r#"{"c": {"m": 1}, "_meta": {}}"#,
        );
        check_without(r#"["a", "m"]"#, r#"["a", "m"]"#);
        // Written as escapes they are the same keys.
        check_without(r#"{"\u0061": 1}"#, "{}");
        check_without(r#"{"b": 2, "_\u006deta": {"\u006d": 1}}"#, r#"{"b": 2}"#);
    }

    proptest! {
        /// What is set and taken off again leaves the bytes as they were.
        #[test]
        fn setting_and_taking_off_leaves_nothing(keys in prop::collection::btree_map("[b-l]{1,3}", "[0-9]{1,3}", 0..5)) {
            let members: Vec<_> = keys.iter().map(|(key, value)| format!("{key:?} : \"{value}\"")).collect();
            let object = Bytes::from(format!("{{{}}}", members.join(" , ")));
            let set = with(Some(&object), &[("a", b"[1]")], &[("m", b"1"), ("n", b"2")]).unwrap();
            prop_assert_eq!(get(&set, &["_meta", "n"]).unwrap(), "2");
            prop_assert_eq!(without(&set, &["a"], &["m", "n"]), object);
        }
    }
}
