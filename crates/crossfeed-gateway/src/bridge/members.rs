//! Members of JSON objects that the eras write differently, set and removed by their bytes.

pub(super) use crate::members::{
    EMPTY, get, get_number, get_text, get_texts, is_true, object, replaced,
};

use crate::{
    members::{edited, may_hold},
    message::{Id, Message},
};
use bytes::Bytes;
use crossfeed_json::{Document, Kind, Prune, RawString, cuts, without as pruned};

/// A key and its JSON.
pub(super) type Member<'m> = (&'m str, &'m [u8]);

/// The key of a message's metadata.
const META: &str = "_meta";

/// An object, empty if there is none yet, with members set, those of `meta` in its `_meta`. None if it, or its `_meta`,
/// is not an object.
pub(super) fn with(
    object: Option<&Bytes>,
    members: &[Member<'_>],
    meta: &[Member<'_>],
) -> Option<Bytes> {
    let object = object.filter(|object| object.as_ref() != b"null");
    let mut is_valid = false;
    let edited = edited(object.unwrap_or(&EMPTY), |edits, root| {
        let meta_object = self::object(meta);
        let mut members = members.to_vec();
        is_valid = root.kind() == Kind::Object;
        match root.get(META).filter(|_| !meta.is_empty()) {
            Some(there) if there.kind() == Kind::Object => edits.set_members(there, meta),
            Some(_) => is_valid = false,
            None if meta.is_empty() => {}
            None => members.push((META, &meta_object)),
        }
        if is_valid {
            edits.set_members(root, &members);
        }
    });
    edited.filter(|_| is_valid)
}

/// An object with those of these members that it does not have; none if it is not an object.
pub(super) fn with_absent(object: &Bytes, members: &[Member<'_>]) -> Option<Bytes> {
    let mut is_valid = false;
    let edited = edited(object, |edits, root| {
        is_valid = root.kind() == Kind::Object;
        if is_valid {
            let absent = members.iter().filter(|(key, _)| root.get(key).is_none());
            edits.set_members(root, &absent.copied().collect::<Vec<_>>());
        }
    });
    edited.filter(|_| is_valid)
}

/// An object without some members, and its `_meta` without those of `meta`; a `_meta` without others goes, too. Other
/// JSON stays as it is.
pub(super) fn without(object: &Bytes, members: &[&str], meta: &[&str]) -> Bytes {
    let mentioned = |key: &&str| may_hold(object, key);
    if !members.iter().any(mentioned) && !meta.iter().any(mentioned) {
        return object.clone();
    }
    let mut off = RemovedMembers {
        members,
        meta,
        whole_meta: meta_goes(object, meta),
        within_meta: false,
    };
    let text = std::str::from_utf8(object).unwrap_or_default();
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
    let meta = document.root().ok().and_then(|root| root.get(META));
    meta.is_some_and(|meta| {
        let mut members = meta.members();
        !meta.is_empty()
            && meta.kind() == Kind::Object
            && members.all(|(key, _)| going.contains(&key.text().as_ref()))
    })
}

struct RemovedMembers<'k> {
    members: &'k [&'k str],
    meta: &'k [&'k str],
    whole_meta: bool,
    within_meta: bool,
}

impl Prune for RemovedMembers<'_> {
    fn member(&mut self, key: RawString<'_>, depth: usize) -> bool {
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

/// A member that is the id of a request.
pub(super) fn get_id(object: &Bytes, path: &[&str]) -> Option<Id> {
    Id::parse(get(object, path)?)
}

/// An error with the code `to` if it has the code `from`.
pub(super) fn recoded(error: &Bytes, from: i64, to: i64) -> Option<Bytes> {
    let has_code = get_number(error, &["code"]) == Some(from);
    has_code.then(|| replaced(error, &["code"], to.to_string().as_bytes()))
}

/// The request that a notification cancels.
pub(super) fn cancelled_id(notification: &Message) -> Option<Id> {
    get_id(&notification.params()?, &["requestId"])
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
