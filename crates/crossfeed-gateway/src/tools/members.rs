//! Changes of JSON in its bytes.

use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use std::borrow::Cow;

/// JSON with changes, shared where there are none; none where it cannot be read.
pub(super) fn edited(
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

/// Takes out the members of an object whose keys are `unwanted`, every occurrence of them; all other
/// bytes stay.
pub(super) fn take_out(edits: &mut Edits<'_>, object: Cursor<'_>, unwanted: impl Fn(&str) -> bool) {
    if object.kind() != Kind::Object {
        return;
    }
    let open = object.offset() + 1;
    // Where the last member that is kept ends; none before the first.
    let mut kept: Option<usize> = None;
    // Where the members end that are taken out behind it.
    let mut gone: Option<usize> = None;
    for member in object.written_members() {
        if unwanted(&member.key.text()) {
            gone = Some(member.end);
            continue;
        }
        match (kept, gone.take()) {
            (Some(from), Some(to)) => edits.remove(from..to),
            // With the comma behind them: between members there are blanks and that only.
            (None, Some(to)) => {
                let rest = edits.raw().get(to..).unwrap_or_default();
                let comma = rest.iter().position(|byte| *byte == b',');
                edits.remove(open..to + comma.map_or(0, |at| at + 1));
            }
            (_, None) => {}
        }
        kept = Some(member.end);
    }
    if let Some(to) = gone {
        edits.remove(kept.unwrap_or(open)..to);
    }
}

#[cfg(test)]
mod tests {
    use super::take_out;
    use crossfeed_json::{Document, Edits};
    use proptest::prelude::*;
    use serde_json::Value;

    fn without(json: &str, unwanted: impl Fn(&str) -> bool) -> String {
        let document = Document::new(json.to_owned());
        let root = document.root().unwrap();
        let mut edits = Edits::new(document.raw());
        take_out(&mut edits, root, unwanted);
        String::from_utf8(edits.done().into_owned()).unwrap()
    }

    fn check(json: &str, expected: &str) {
        assert_eq!(
            without(json, |key| key.starts_with('x')),
            expected,
            "{json}"
        );
    }

    #[test]
    fn all_other_bytes_stay() {
        check("{}", "{}");
        check("[1]", "[1]");
        check(r#"{ "a" : 1 }"#, r#"{ "a" : 1 }"#);
        check(r#"{ "x" : 1 }"#, "{ }");
        check(r#"{"x":1,"y":2}"#, r#"{"y":2}"#);
        check(r#"{"y":2 , "x":1}"#, r#"{"y":2}"#);
        check(
            r#"{"x":",","x2":2, "a":3,"x":4, "x3":5 ,"b":6}"#,
            r#"{ "a":3 ,"b":6}"#,
        );
        check(r#"{"x":1,"x2":[{}]}"#, "{}");
        check(r#"{"\u0078":1,"a":{"x":1}}"#, r#"{"a":{"x":1}}"#);
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_is_wanted(keys in prop::collection::vec("[abx]{1,2}", 0..6)) {
            let members: Vec<_> = keys.iter().enumerate().map(|(n, key)| format!(" \"{key}\": {n}")).collect();
            let json = format!("{{{}}}", members.join(" ,"));
            let mut expected: Value = serde_json::from_str(&json).unwrap();
            expected.as_object_mut().unwrap().retain(|key, _| !key.starts_with('x'));
            let left = without(&json, |key| key.starts_with('x'));
            prop_assert_eq!(serde_json::from_str::<Value>(&left).unwrap(), expected);
        }
    }
}
