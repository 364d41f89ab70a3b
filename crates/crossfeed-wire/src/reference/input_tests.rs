use super::{
    Filling, Input, InputKind, Malformed, Reading, read_object, read_references, read_string,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// `"data"`, `"malformed: why"`, or the input with what stands beside it.
fn read(value: &Value) -> String {
    match read_object(value.as_object().unwrap(), &|_| false) {
        Ok(Reading::Data) => "data".to_owned(),
        Ok(Reading::Reference(r)) => {
            let input = r.input.map_or(r.call_id.to_string(), |own| own.to_string());
            let edit = r.edit.map(|edit| edit.key);
            format!("{input} {:?} {:?} {edit:?}", r.select, r.default)
        }
        Ok(other) => format!("{other:?}"),
        Err(malformed) => format!("malformed: {malformed}"),
    }
}

fn check(value: Value, expected: &str) {
    assert_eq!(read(&value), expected, "{value}");
}

#[test]
fn an_input_stands_where_a_call_does() {
    let plain = "file `a/b.txt` None None None";
    check(json!({"$file": "a/b.txt"}), plain);
    check(json!({"_file": "a/b.txt"}), plain);
    check(
        json!({"_file": "a/b.txt", "_tool": null, "_select": null, "_resource": null}),
        plain,
    );
    check(
        json!({"_resource": "docs://a?b=c#d", "$select": "x", "_default": 7, "_merge": {}}),
        r#"resource `docs://a?b=c#d` Some("x") Some(Number(7)) Some("_merge")"#,
    );
    // What only a call has.
    check(
        json!({"$file": "a", "$artifact": "b"}),
        "malformed: `$artifact` beside `$file` is not a key of a reference",
    );
    for (one, other) in [
        ("$file", "$resource"),
        ("$tool", "$file"),
        ("_tool", "$resource"),
    ] {
        let both = format!(
            "malformed: `{one}` and `{other}` both stand in one reference, which takes one of them"
        );
        check(json!({one: "a", other: "b"}), &both);
    }
    check(
        json!({"$file": "a", "_file": "a"}),
        "malformed: `$file` and `_file` both stand in one object",
    );
    check(
        json!({"$file": 7}),
        "malformed: `$file` must be a string, not number",
    );
    check(
        json!({"$file": {"$tool": "c"}}),
        "malformed: `$file` must be a string, not object",
    );
}

#[test]
fn beside_keys_of_others_it_is_data() {
    check(json!({"$file": "a", "path": "b"}), "data");
    check(json!({"$file": "a", "note": "b"}), "data");
    check(json!({"$resource": "a", "id": "call_1"}), "data");
    check(json!({"file": "a"}), "data");
    check(json!({"file": "a", "select": "b"}), "data");
    // A member that the tool itself has.
    let own = json!({"$file": "a"});
    let reading = read_object(own.as_object().unwrap(), &|key| key == "$file");
    assert_eq!(reading, Ok(Reading::Data));
    // A call beside words of others is one, as ever.
    check(json!({"$tool": "c", "note": "b"}), "c None None None");
}

#[test]
fn names_are_bounded() {
    for (name, fault) in [
        ("".to_owned(), "it must not be empty".to_owned()),
        (
            "a".repeat(4097),
            "it has at most 4096 bytes, this one has 4097".to_owned(),
        ),
        (
            "a\0b".to_owned(),
            "it must not hold control characters".to_owned(),
        ),
        (
            "a\u{85}".to_owned(),
            "it must not hold control characters".to_owned(),
        ),
    ] {
        let expected = format!("malformed: `$file` holds no name: {fault}");
        check(json!({"$file": name}), &expected);
    }
    check(
        json!({"$file": "é".repeat(2048)}),
        &format!("file `{}…` None None None", "é".repeat(100)),
    );
}

/// The inputs of a references map, and their targets.
fn entries(arguments: Value) -> Vec<String> {
    let maps = read_references(arguments.as_object().unwrap(), &|_| false).unwrap();
    let entries = maps.into_iter().flat_map(|map| map.entries);
    let shown = entries.map(|entry| match entry.reading {
        Ok((target, Filling::Reference(r))) => {
            format!(
                "{} {} {:?}",
                target.to_pointer(),
                r.input.unwrap(),
                r.select
            )
        }
        Ok((target, Filling::Template(template))) => {
            let inputs = template
                .references
                .iter()
                .map(|(_, r)| r.input.as_ref().unwrap());
            format!(
                "{} {:?}",
                target.to_pointer(),
                inputs.map(Input::to_string).collect::<Vec<_>>()
            )
        }
        Ok(other) => format!("{other:?}"),
        Err(malformed) => malformed.to_string(),
    });
    shown.collect()
}

#[test]
fn maps_lists_and_templates_take_inputs() {
    let expected = ["/text file `a` Some(\"x\")"];
    assert_eq!(
        entries(json!({"_refs": {"text": {"_file": "a", "_select": "x"}}})),
        expected
    );
    assert_eq!(
        entries(json!({"_refs": [{"to": "text", "file": "a", "select": "x"}]})),
        expected
    );
    assert_eq!(
        entries(
            json!({"_refs": [{"to": "text", "tool": null, "file": "a", "resource": null, "artifact": null, "select": "x", "default": null}]})
        ),
        expected
    );
    assert_eq!(
        entries(json!({"_refs": {"to": "text", "file": "a", "select": "x"}})),
        expected
    );
    assert_eq!(
        entries(json!({"_refs": [{"to": "text", "tool": "c", "file": "a"}]})),
        ["`tool` and `file` both stand in one reference, which takes one of them"]
    );
    assert_eq!(
        entries(json!({"_refs": {"text": {"_file": "a", "path": "x"}}})),
        ["`path` beside `_file` is not a key of a reference"]
    );
    let template = ["/text [\"file `a`\", \"resource `b:c`\"]"];
    assert_eq!(
        entries(
            json!({"_refs": {"text": {"_template": "{a}{b}", "_with": {"a": {"_file": "a"}, "b": {"$resource": "b:c"}}}}})
        ),
        template
    );
    assert_eq!(
        entries(
            json!({"_refs": [{"to": "text", "template": "{a}{b}", "with": [{"name": "a", "file": "a"}, {"name": "b", "resource": "b:c"}]}]})
        ),
        template
    );
}

#[test]
fn a_text_may_be_one() {
    let read = read_string(r#" {"$file": "a", "$select": "b"} "#, &|_| false);
    assert!(
        matches!(read, Ok(Some(Filling::Reference(ref r))) if r.input.as_ref().is_some_and(|own| own.kind() == InputKind::File)),
        "{read:?}"
    );
    assert_eq!(
        read_string(r#"{"$file": "a", "b": 1}"#, &|_| false),
        Ok(None)
    );
    assert!(matches!(
        read_string(r#"{"$resource": ""}"#, &|_| false),
        Err(Malformed::NoName { .. })
    ));
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(7)),
        "[a-z:/]{0,6}".prop_map(Value::from),
        Just(json!({})),
        Just(json!([]))
    ]
}

proptest! {
    /// One reference names one thing: a call and no input, or the input that was written.
    #[test]
    fn a_reference_names_one_thing(
        members in prop::collection::btree_map(
            prop::sample::select(&["$tool", "_tool", "$file", "_file", "$resource", "$artifact", "$select", "$default", "$patch", "note", "path", "to"][..]),
            scalar(),
            1..5,
        ),
    ) {
        let object: serde_json::Map<_, _> = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let named = |key: &&str| object.get(*key).is_some_and(|value| !value.is_null());
        let inputs: Vec<_> = ["$file", "_file", "$resource"].into_iter().filter(named).collect();
        let calls: Vec<_> = ["$tool", "_tool"].into_iter().filter(named).collect();
        if let Ok(Reading::Reference(reference)) = read_object(&object, &|_| false) {
            prop_assert_eq!(inputs.len() + calls.len(), 1, "{:?}", object);
            let input = reference.input.as_ref().map(|own| Value::from(own.name()));
            prop_assert_eq!(input.as_ref(), inputs.first().map(|key| &object[*key]));
            if input.is_some() {
                prop_assert!(reference.ignored.is_empty() && reference.artifact_id.is_none());
            }
        }
    }
}
