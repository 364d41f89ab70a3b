//! Values, look-ups and duplicate keys against serde_json and a naive model.

use super::{Json, blanks, decoded, grammar::depth, json};
use crate::{Cursor, Document, Kind, Prediction, Tables};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;
use std::fmt::Write;

fn compact(cursor: Cursor<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    cursor.write_compact(&mut out);
    out
}

/// Compares a cursor with the model, recursively.
fn same(cursor: Cursor<'_>, model: &Json, predictions: &mut [Prediction]) {
    for child in cursor.items() {
        assert_eq!(child.depth(), cursor.depth() + 1);
    }
    let members = cursor.written_members().map(|member| member.value);
    let items = cursor.items().filter(|_| cursor.kind() == Kind::Array);
    assert_eq!(
        cursor.last_child().map(Cursor::ordinal),
        members.chain(items).last().map(Cursor::ordinal)
    );
    // Its bytes are one whole value.
    let alone = Document::new(cursor.raw().to_vec());
    assert_eq!(compact(alone.root().unwrap()), compact(cursor));
    match model {
        Json::Atom(text) => {
            assert_eq!(cursor.raw(), text.as_bytes());
            assert_eq!(
                (cursor.len(), cursor.at(0).is_none(), cursor.items().count()),
                (None, true, 0)
            );
            assert_eq!(
                (cursor.get("a").is_none(), cursor.members().count()),
                (true, 0)
            );
        }
        Json::Array(items) => {
            assert_eq!(cursor.len(), Some(items.len()));
            assert_eq!(cursor.items().len(), items.len());
            assert_eq!(
                (cursor.get("a").is_none(), cursor.members().count()),
                (true, 0)
            );
            assert!(cursor.at(items.len()).is_none());
            for (index, (item, model)) in cursor.items().zip(items).enumerate() {
                assert_eq!(cursor.at(index).unwrap().ordinal(), item.ordinal());
                assert_eq!(item.key().raw(), b"");
                same(item, model, predictions);
            }
        }
        Json::Object(members) => {
            assert_eq!(cursor.len(), Some(members.len()));
            assert_eq!(cursor.members().len(), members.len());
            assert!(cursor.at(0).is_none());
            for ((key, member), (written, model)) in cursor.members().zip(members) {
                assert_eq!(key.raw(), written.as_bytes());
                assert_eq!(key.text(), decoded(written));
                same(member, model, predictions);
            }
            for key in [
                "a",
                "b",
                "",
                "é",
                "\n",
                "k1",
                "missing",
                "a_key_of_17_bytes",
                "\u{fffd}",
            ] {
                let expected = members.iter().find(|(known, _)| decoded(known) == key);
                let found = cursor.get(key);
                assert_eq!(
                    found.map(|m| m.key().raw()),
                    expected.map(|(known, _)| known.as_bytes()),
                    "{key}"
                );
                // Wherever a prediction comes from, it must not change what is found.
                for prediction in predictions.iter_mut() {
                    let predicted = cursor.get_predicted(key, prediction);
                    assert_eq!(
                        predicted.map(Cursor::ordinal),
                        found.map(Cursor::ordinal),
                        "{key}"
                    );
                }
            }
        }
    }
}

/// Keys of which some read as U+FFFD.
const LONE: &[&str] = &[
    "a",
    r"\ud800",
    r"\udfff",
    r"\uD800",
    r"\ufffd",
    "\u{fffd}",
    r"\ud83d\ude00",
    "b",
];

proptest! {
    #[test]
    fn cursors_agree_with_a_naive_model(json in json(), blanks in blanks()) {
        let text = json.text(blanks);
        let document = Document::new(text.clone());
        let root = document.root().unwrap();
        let model = json.deduplicated();
        same(root, &model, &mut [Prediction::default(); 3]);
        prop_assert_eq!(root.depth(), 0);
        prop_assert_eq!(root.document_depth(), depth(text.as_bytes()));
        prop_assert_eq!(root.document_is_plain(), text.is_ascii() && !text.contains('\\'));
        prop_assert_eq!(String::from_utf8(compact(root)).unwrap(), model.text(""));
        let mut written = Vec::new();
        root.write(&mut written);
        prop_assert!(written.len() <= root.written_len());
        if model.text("") == json.text("") {
            prop_assert_eq!(written, text.trim().as_bytes());
        } else {
            prop_assert_eq!(String::from_utf8(written).unwrap(), model.text(""));
        }
    }

    /// Keys are one key if they read as the same text, however many there are, in objects of one shape
    /// and alone.
    #[test]
    fn lone_surrogates_read_as_one_key(
        few in vec(vec(select(LONE), 0..9), 1..4), plain in 0_usize..40, surrogates in vec((0_usize..40, select(LONE)), 0..4),
    ) {
        let member = |(n, key): (usize, &str)| (key.to_owned(), Json::Atom(n.to_string()));
        let object = |keys: &[&str]| Json::Object(keys.iter().copied().enumerate().map(member).collect());
        let mut many: Vec<_> = (0..plain).map(|n| member((n, &format!("k{n:02}")))).collect();
        for (place, key) in surrogates {
            many.insert(place.min(many.len()), member((100 + place, key)));
        }
        let mut list: Vec<_> = few.iter().map(|keys| object(keys)).collect();
        list.extend(list.clone());
        list.push(Json::Object(many));
        let model = Json::Array(list);
        let (text, model) = (model.text(""), model.deduplicated());
        let document = Document::new(text.clone());
        let root = document.root().unwrap();
        same(root, &model, &mut [Prediction::default(); 3]);
        prop_assert_eq!(root.document_has_duplicates(), text != model.text(""));
        // So a value has as many members as the document.
        for (object, value) in root.items().zip(root.to_value().unwrap().as_array().unwrap()) {
            prop_assert_eq!(object.len(), value.as_object().map(serde_json::Map::len));
        }
        for object in root.items() {
            let look = || object.get_in_table("\u{fffd}", Tables::Always, || true);
            let found = look().flatten().map(Cursor::ordinal);
            prop_assert_eq!(found, object.get("\u{fffd}").map(Cursor::ordinal));
        }
    }

    #[test]
    fn values_are_those_of_serde_json(json in json(), blanks in blanks()) {
        let text = json.text(blanks);
        let document = Document::new(text.clone());
        let ours = document.root().unwrap().to_value().ok();
        let theirs = serde_json::from_str::<Value>(&text).ok();
        // As text too: equality of maps ignores their order.
        prop_assert_eq!(ours.as_ref().map(Value::to_string), theirs.as_ref().map(Value::to_string));
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn numbers_become_the_nearest_float() {
    for text in [
        "-5.948872217058528e183",
        "0.1",
        "1e23",
        "123456789012345678901234567890",
        "5e-324",
        "1e-400",
    ] {
        let document = Document::new(text);
        let value = document.root().unwrap().to_value().unwrap();
        assert_eq!(value.as_f64(), text.parse().ok(), "{text}");
    }
    for text in ["1e400", "-1e400"] {
        assert!(Document::new(text).root().unwrap().to_value().is_err());
    }
    for text in ["18446744073709551615", "-9223372036854775808", "0"] {
        assert_eq!(
            Document::new(text)
                .root()
                .unwrap()
                .to_value()
                .unwrap()
                .to_string(),
            text
        );
    }
}

/// An object of `count` members in which the one at `second` has the key of the one at `first`.
fn object(count: usize, duplicate: Option<(usize, usize)>, escaped: bool) -> String {
    let mut text = String::from("{");
    for index in 0..count {
        let key = match duplicate {
            Some((first, second)) if index == second => format!("key_{first}"),
            _ => format!("key_{index}"),
        };
        let key = if escaped && duplicate.is_some_and(|(_, second)| index == second) {
            key.replacen('k', "\\u006b", 1)
        } else {
            key
        };
        let comma = if index > 0 { "," } else { "" };
        // The values are objects too: their keys must not get in the way.
        write!(text, "{comma}\"{key}\":{{\"key_{index}\":{index},\"z\":0}}").unwrap();
    }
    text + "}"
}

fn check(text: &str) {
    let document = Document::new(text.to_owned());
    let root = document.root().unwrap();
    let expected: Value = serde_json::from_str(text).unwrap();
    // As text, whose order counts; not by assert_eq, as it would print megabytes.
    let expected = expected.to_string();
    assert!(root.to_value().unwrap().to_string().eq(&expected));
    let mut written = Vec::new();
    root.write(&mut written);
    // Readers that want no duplicates must find none.
    assert!(written == expected.into_bytes() || text.contains("\\u"));
}

#[test]
fn finds_duplicates_in_objects_of_any_size() {
    for count in [
        2, 3, 11, 12, 13, 16, 17, 18, 100, 255, 256, 257, 1000, 70_000,
    ] {
        let last = count - 1;
        check(&object(count, None, false));
        let mut places = vec![
            (0, last),
            (0, 1),
            (last / 2, last),
            (last.saturating_sub(1), last),
        ];
        if count > 1000 {
            places.truncate(1);
        }
        for (first, second) in places.into_iter().filter(|(first, second)| first < second) {
            for escaped in [false, true] {
                let text = object(count, Some((first, second)), escaped);
                check(&text);
                let document = Document::new(text);
                assert_eq!(
                    document.root().unwrap().len(),
                    Some(last),
                    "{count} {first} {second}"
                );
            }
        }
    }
}

#[test]
fn no_neighbour_vouches_for_an_object_with_duplicates() {
    for count in [2, 3, 12, 13, 16, 17, 30, 300] {
        let good = object(count, None, false);
        for duplicate in [(0, 1), (0, count - 1), (count / 2, count - 1)] {
            if duplicate.0 == duplicate.1 {
                continue;
            }
            let bad = object(count, Some(duplicate), false);
            let escaped = object(count, Some(duplicate), true);
            for list in [
                [&good, &bad, &good],
                [&bad, &good, &good],
                [&bad, &bad, &good],
                [&good, &bad, &bad],
                [&escaped, &bad, &good],
                [&good, &good, &escaped],
                [&bad, &bad, &bad],
                [&escaped, &escaped, &escaped],
            ] {
                let text = format!(
                    "[{},[],{},{{\"in\":{}}},{}]",
                    list[0], list[1], list[2], list[1]
                );
                check(&text);
            }
        }
    }
}

#[test]
fn spellings_of_a_key_are_one_key() {
    for (text, expected) in [
        (r#"{"a":1,"\u0061":2}"#, r#"{"\u0061":2}"#),
        (r#"{"\u0061":1,"b":0,"a":2}"#, r#"{"a":2,"b":0}"#),
        (r#"{"\u00e9":1,"é":2}"#, r#"{"é":2}"#),
        (r#"{"\ud83d\ude00":1,"😀":2}"#, r#"{"😀":2}"#),
        (r#"{"\/":1,"/":2,"\\/":3}"#, r#"{"/":2,"\\/":3}"#),
        (r#"{"":1,"":2}"#, r#"{"":2}"#),
        (r#"{"\ud800":1,"\uD800":2,"\ud801":3}"#, r#"{"\ud801":3}"#),
        (r#"{"\ufffd":1,"a":0,"\udfff":2}"#, r#"{"\udfff":2,"a":0}"#),
        ("{\"a\\ud800\":1,\"a\u{fffd}\":2}", "{\"a\u{fffd}\":2}"),
        (
            r#"{"\ud800a":1,"\ud800b":2,"\ud800\udfff":3}"#,
            r#"{"\ud800a":1,"\ud800b":2,"\ud800\udfff":3}"#,
        ),
        (
            r#"{"a":{"a":1,"a":2},"a":[{"b":1,"b":2}]}"#,
            r#"{"a":[{"b":2}]}"#,
        ),
    ] {
        let document = Document::new(text);
        let mut written = Vec::new();
        document.root().unwrap().write(&mut written);
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{text}");
    }
}

#[test]
fn huge_keys_are_found_whole() {
    for length in [65_533, 65_534, 65_535, 65_536, 200_000] {
        let long = "x".repeat(length);
        let longer = format!("{long}y");
        for (mine, other) in [
            (long.clone(), longer.clone()),
            (format!("\\u0078{}", &long[1..]), longer.clone()),
            (format!("{}\\\"", &long[1..]), longer),
        ] {
            let text = format!(r#"{{"{mine}":1,"{other}":2,"{mine}":3,"z":4}}"#);
            let document = Document::new(text);
            let root = document.root().unwrap();
            assert_eq!(root.len(), Some(3));
            let keys: Vec<_> = root.members().map(|(key, _)| key.raw().to_vec()).collect();
            assert_eq!(keys, [mine.as_bytes(), other.as_bytes(), b"z"]);
            let mine = decoded(&mine);
            assert_eq!(root.get(&mine).unwrap().raw(), b"3");
            assert_eq!(root.get(&other).unwrap().raw(), b"2");
            assert!(root.get(&mine[1..]).is_none());
        }
    }
}

#[test]
fn keys_that_may_begin_with_an_underscore_are_found() {
    let check = |json: &str, expected: bool| {
        let document = Document::new(json.to_owned());
        let root = document.root().unwrap();
        // Asked twice: the second answer is the first one, kept.
        assert_eq!(root.may_have_underscored_key(), expected, "{json}");
        assert_eq!(root.may_have_underscored_key(), expected, "{json}");
        let around = Document::new(format!("[{json}]"));
        let within = around.root().unwrap().at(0).unwrap();
        assert_eq!(within.may_have_underscored_key(), expected, "{json}");
    };
    check(r#"{"a": 1, "_b": 2}"#, true);
    check(r#"{"a": 1, "\u005fb": 2}"#, true);
    check(r#"{"a": {"_b": 2}, "c_": 1, "": 2}"#, false);
    check("{}", false);
    check(r#"["_a"]"#, false);
    check(r#""_a""#, false);
}

#[test]
fn a_document_knows_its_depth_and_whether_it_is_plain() {
    let check = |text: &str, depth: usize, plain: bool| {
        let document = Document::new(text.to_owned());
        let root = document.root().unwrap();
        assert_eq!(root.document_depth(), depth, "{text}");
        assert_eq!(root.document_is_plain(), plain, "{text}");
    };
    check("1", 0, true);
    check("[]", 1, true);
    check(r#"[{"a":[]},{}]"#, 3, true);
    check(&format!("[{}1]", " ".repeat(100)), 1, true);
    check(r#"{"a":"é"}"#, 1, false);
    check(r#"{"é":""}"#, 1, false);
    check(&format!("[\"{}é\"]", "x".repeat(100)), 1, false);
    check(r#"["\n"]"#, 1, false);
    check(r#"[{"\"":1}]"#, 2, false);
    check(
        &format!("{}{}", "[".repeat(127), "]".repeat(127)),
        127,
        true,
    );
}
