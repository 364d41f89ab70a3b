//! What a word of the index has no room for: each limit from both sides, against serde_json.

use crate::{Cursor, Document, Prediction, build, word::Word};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

/// Compares a cursor with what serde_json reads: kinds, ends, counts, keys, first and last items.
fn same(cursor: Cursor<'_>, value: &Value) {
    // Not by assert_eq, as it would print megabytes.
    let read = serde_json::from_slice::<Value>(cursor.raw()).unwrap();
    assert!(read == *value, "{} bytes", cursor.raw().len());
    assert_eq!(cursor.items().len(), cursor.items().count());
    match value {
        Value::Array(items) => {
            assert_eq!(cursor.len(), Some(items.len()));
            let ends = [0, items.len() / 2, items.len().wrapping_sub(1), items.len()];
            for index in ends {
                let found = cursor.at(index).map(|item| item.to_value().unwrap());
                assert!(found.as_ref() == items.get(index), "item {index}");
            }
        }
        Value::Object(members) => {
            assert_eq!(cursor.len(), Some(members.len()));
            assert!(
                cursor
                    .members()
                    .map(|(key, _)| key.text())
                    .eq(members.keys().map(String::as_str))
            );
            for (key, value) in members.iter().take(5).chain(members.iter().next_back()) {
                let member = cursor.get(key).unwrap();
                assert!(member.to_value().unwrap() == *value, "{key:.20}");
                assert!(member.key().text() == *key, "{key:.20}");
                let prediction = cursor.prediction(member);
                let guessed = cursor.get_at(key, prediction);
                assert!(guessed.is_none_or(|found| found.ordinal() == member.ordinal()));
            }
        }
        Value::String(text) => assert!(cursor.as_str().unwrap() == *text),
        _ => assert_eq!(cursor.len(), None),
    }
}

/// Compares a document and everything in it, down to `levels`.
fn check(text: &str, levels: usize) {
    let document = Document::new(text.to_owned());
    walk(document.root().unwrap(), text, levels);
}

fn walk(root: Cursor<'_>, text: &str, levels: usize) {
    let value: Value = serde_json::from_str(text).unwrap();
    let mut open = vec![(root, &value, 0)];
    while let Some((cursor, value, level)) = open.pop() {
        same(cursor, value);
        if level == levels {
            continue;
        }
        let children: Vec<_> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => members.values().collect(),
            _ => Vec::new(),
        };
        open.extend(cursor.items().zip(children).map(|(c, v)| (c, v, level + 1)));
    }
}

#[test]
fn scalars_of_any_length() {
    for length in [1, Word::FULL - 1, Word::FULL, Word::FULL + 1] {
        let text = "x".repeat((length as usize).saturating_sub(2));
        for scalar in [
            format!("\"{text}\""),
            format!("\"\\n{}\"", text.get(2..).unwrap_or_default()),
        ] {
            check(&scalar, 0);
            check(
                &format!("[{scalar},1,{{\"a\":{scalar}}},[[{scalar} ] ],2]"),
                9,
            );
        }
    }
    let digits = format!("0.{}1", "0".repeat(Word::FULL as usize));
    let document = Document::new(format!("[[{digits}],{digits}]"));
    let root = document.root().unwrap();
    assert!(root.items().all(|item| item.raw().len() >= digits.len()));
    assert_eq!(root.at(1).unwrap().as_number(), Some(digits.as_str()));
}

#[test]
fn lists_and_objects_of_any_width() {
    let most = Word::MOST_CHILDREN as usize;
    for count in [0, 1, 2, most - 1, most, most + 1, 1000] {
        let items = vec!["[7]"; count].join(", ");
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\" : {n}")).collect();
        let members = members.join(",");
        check(
            &format!("[[{items}],{{{members}}} , {{\"a\":[{items}]}}]"),
            2,
        );
    }
}

#[test]
fn containers_of_any_size() {
    let most = Word::MOST_DISTANCE as usize;
    for size in [most - 2, most - 1, most, most + 1] {
        // Few children with very many descendants: `size` values in all.
        let half = (size - 4) / 2;
        let (one, other) = (vec!["0"; half], vec!["0"; size - 4 - half]);
        let inner = format!("[[{}],[{}],1]", one.join(","), other.join(","));
        check(&format!("[{inner},{{\"a\":{inner}}},2]"), 2);
    }
}

#[test]
fn brackets_far_from_what_they_close() {
    for count in [0, 1, 3, 500, 511, 512, 513, 2000] {
        let blanks = " ".repeat(count);
        for text in [
            format!("[[1{blanks}],2]"),
            format!("[[[{blanks}]],[{{{blanks}}}],{{\"a\":[[]{blanks}]}},2]"),
            format!("{{\"a\":{{\"b\":1{blanks}}}{blanks}}}"),
            format!("[[[[\"]\"\n{blanks}]\n]{blanks}],2]{blanks}"),
        ] {
            check(&text, 9);
        }
    }
}

#[test]
fn towers() {
    for depth in [1, 2, 60, 125] {
        for (open, close) in [
            ("[", "]"),
            ("{\"a\":", "}"),
            (" [ ", " ] "),
            ("{ \"\\u0061\"\n:\t", "\n}"),
            ("[0,", "]"),
            ("[", ",0]"),
            ("{\"b\":[1,2],\"a\":", ",\"c\":{}}"),
        ] {
            for inside in ["1", "[]", "{}", "\"]}\""] {
                let text = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
                check(&format!("[{text},{text}]"), 200);
            }
        }
    }
}

#[test]
fn keys_near_and_far() {
    for count in [0, 1, 2, 100, 124, 125, 126, 127, 128, 129, 1000] {
        let (blanks, long) = (" ".repeat(count), "k".repeat(count));
        for text in [
            format!("{{\"a\"{blanks}:1,\"b\":{blanks}2,\"c\"{blanks}:\n{blanks}[3]}}"),
            format!("{{\"{long}\":1,\"x{long}\":2,\"\\n{long}\":3,\"é{long}\" :4}}"),
            format!("{{\"{long}\\\\\":1,\"{long}\\\"\":2,\"\\\\\\\"{long}\":3}}"),
        ] {
            // Twice, so that the second object has known keys.
            check(&format!("[{text},{text},{{\"a\":{text}}}]"), 9);
        }
    }
}

#[test]
fn a_key_with_a_quote_is_not_found_across_others() {
    let check = |text: &str, key: &str, found: Option<&str>| {
        let document = Document::new(text.to_owned());
        let root = document.root().unwrap();
        let raw = root.get(key).map(Cursor::raw);
        assert_eq!(raw, found.map(str::as_bytes), "{text} {key}");
    };
    let text = r#"{"b":"x","c":1,"a_longer_key_than_16":"y","d":2,"a\"b":3}"#;
    check(text, r#"b":"x","c"#, None);
    check(text, r#"","c"#, None);
    check(text, r#"x","c"#, None);
    check(text, r#"a_longer_key_than_16":"y","d"#, None);
    check(text, r#"a"b"#, Some("3"));
    check(text, r#"a\"b"#, None);
    check(text, r#"b"#, Some(r#""x""#));
    check(text, "d", Some("2"));
    check("[\"a\" , 1]", "a", None);
}

#[test]
fn keys_of_all_lengths_are_told_apart() {
    for length in 0..40 {
        let key = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn"[..length].to_owned();
        let document = Document::new(format!("{{\"{key}\":1}}"));
        let root = document.root().unwrap();
        assert_eq!(root.get(&key).map(Cursor::raw), Some(b"1".as_slice()));
        for place in 0..length {
            let mut other = key.clone();
            other.replace_range(place..=place, "_");
            assert!(root.get(&other).is_none(), "{other}");
            assert!(root.get(&key[place + 1..]).is_none() && root.get(&key[..place]).is_none());
        }
        assert!(root.get(&format!("x{key}")).is_none());
    }
}

#[test]
fn duplicates_among_many_shapes() {
    let check = |text: &str| {
        let document = Document::new(text.to_owned());
        let expected: Value = serde_json::from_str(text).unwrap();
        let found = document.root().unwrap().to_value().unwrap();
        // As text, whose order counts.
        let [found, expected] = [found, expected].map(|value| value.to_string());
        assert!(found == expected, "{text:.200}");
    };
    let object = |keys: &[String]| {
        let members: Vec<_> = keys.iter().map(|key| format!("\"{key}\":[{{}}]")).collect();
        format!("{{{}}}", members.join(","))
    };
    let mut objects = Vec::new();
    for (count, ascending) in [
        (3, true),
        (17, true),
        (20, true),
        (200, true),
        (20, false),
        (40, false),
        (300, false),
    ] {
        let width = if ascending { 4 } else { 1 };
        let keys: Vec<_> = (0..count).map(|n| format!("k{n:0width$}")).collect();
        objects.push(object(&keys));
        for (from, to) in [
            (0, count - 1),
            (count - 2, count - 1),
            (0, 1),
            (count / 2, count - 1),
        ] {
            let mut keys = keys.clone();
            keys[to] = keys[from].clone();
            objects.push(object(&keys));
            keys[to] = keys[from].replacen('k', "\\u006b", 1);
            objects.push(object(&keys));
            // One more after them.
            keys.push(keys[to].clone());
            keys.push("last".to_owned());
            objects.push(object(&keys));
        }
    }
    for text in &objects {
        check(text);
        check(&format!("[{0},{0},[{0}]]", text));
    }
    check(&format!("[{}]", objects.join(",")));
    objects.reverse();
    check(&format!("[{0},{0}]", objects.join(",")));
    // Many keys after the same ones, and more shapes than are remembered.
    let many: Vec<_> = (0..3000)
        .map(|n| format!("{{\"a\":0,\"b{n}\":1,\"c\":2,\"a\":3}}"))
        .collect();
    check(&format!("[{}]", many.join(",")));
    let many: Vec<_> = (0..3000)
        .map(|n| format!("[{{\"a\":0,\"b{n}\":{{\"c{n}\":1,\"d\":2}},\"c\":2}}"))
        .collect();
    check(&format!("{}{}", many[..100].join(","), "]".repeat(100)));
    let deep: Vec<_> = (0..6000)
        .map(|n| format!("{{\"{n}\":{{\"{n}\":{{\"{n}\":1,\"b\":2,\"b\":3}}}}}}"))
        .collect();
    check(&format!("[{}]", deep.join(",")));
}

#[test]
fn an_index_takes_eight_bytes_for_a_value() {
    for (item, values) in [("0", 1), ("[]", 1), (r#"{"a":[1,"x"]}"#, 4)] {
        let count = 50_000 / values;
        let text = format!("[{}]", vec![item; count].join(","));
        let document = Document::new(text.clone());
        document.root().unwrap();
        let index = document.resident_bytes() - text.len();
        assert!(index >= 8 * count * values, "{item}: {index}");
        assert!(index <= 9 * count * values + 1000, "{item}: {index}");
    }
}

/// Look-ups that the build itself makes, while containers that began before are still open.
#[test]
fn large_containers_without_room_within_others() {
    let list = |item: &str| format!("[{}]", vec![item; 70].join(","));
    let inner = list("0");
    let members: Vec<_> = (0..70)
        .map(|n| format!("\"k{}\":{inner}", n % 65))
        .collect();
    let object = format!("{{{}}}", members.join(","));
    for text in [
        list(&inner),
        format!("[{object},{inner},{}]", list(&object)),
    ] {
        for room in [0, 1, 2] {
            let tape = build::build_with(text.clone().into(), room).unwrap();
            walk(Cursor::root(&tape), &text, 2);
        }
    }
}

proptest! {
    /// Wide lists in wide lists, with room for the numbers of few of them.
    #[test]
    fn many_large_containers(
        shape in vec((0_usize..100, select(["0", "[]", "{\"a\":\"b\"}", " [1 ] "].as_slice())), 1..30),
        room in 0_u32..40,
    ) {
        let inner: Vec<_> = shape
            .iter()
            .map(|&(count, item)| format!("[{}]", vec![item; count].join(",")))
            .collect();
        let text = format!("[[{0}],{{\"a\":[{0}]}}]", inner.join(","));
        let tape = build::build_with(text.clone().into(), room).unwrap();
        walk(Cursor::root(&tape), &text, 3);
    }

    #[test]
    fn predictions_find_what_is_there(
        keys in vec("[a-c\"\\\\]{0,3}", 1..6),
        wanted in "[a-c\"\\\\:,]{0,5}",
        blanks in select(["", " ", "  \n"].as_slice()),
    ) {
        let members: Vec<_> = keys
            .iter()
            .map(|key| format!("{}{blanks}:{blanks}{{\"a\":1,\"b\":\"a\"}}", crate::quoted(key)))
            .collect();
        let text = format!("[{{{0}}},{{\"z\":0,{0}}}]", members.join(","));
        let document = Document::new(text.clone());
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut prediction = Prediction::default();
        for (object, value) in document.root().unwrap().items().zip(value.as_array().unwrap()) {
            let found = object.get_predicted(&wanted, &mut prediction);
            prop_assert_eq!(found.map(|found| found.to_value().unwrap()), value.get(&wanted).cloned());
            for member in object.items() {
                let guess = object.get_at(&wanted, object.prediction(member));
                prop_assert!(guess.is_none_or(|guess| guess.key().text() == wanted));
            }
        }
    }
}
