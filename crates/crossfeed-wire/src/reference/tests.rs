use super::{Malformed, Reading, Target, read_object, read_references, read_string};
use serde_json::{Value, json};

/// `"data"`, `"literal"`, `"malformed"`, or the reference as `call artifact? select? default?`.
fn read(value: &Value) -> String {
    match read_object(value.as_object().unwrap(), &|_| false) {
        Ok(Reading::Data) => "data".to_owned(),
        Ok(Reading::Literal(content)) => format!("literal {content}"),
        Ok(Reading::Reference(r)) => format!(
            "{} {:?} {:?} {:?} ignored {:?}",
            r.call_id,
            r.artifact_id.as_ref().map(|a| a.as_str()),
            r.select,
            r.default.map(|d| d.to_string()),
            r.ignored
        ),
        Err(_) => "malformed".to_owned(),
    }
}

fn check(value: Value, expected: &str) {
    assert_eq!(read(&value), expected, "{value}");
}

#[test]
fn both_spellings_are_references() {
    let plain = r#"c None None None ignored []"#;
    check(json!({"$tool": "c"}), plain);
    check(json!({"_tool": "c"}), plain);
    check(
        json!({"_tool": "c", "_artifact": null, "_select": null}),
        plain,
    );
    let full = r#"c Some("a") Some("x") None ignored []"#;
    check(
        json!({"$tool": "c", "$artifact": "a", "$select": "x"}),
        full,
    );
    check(
        json!({"_tool": "c", "$artifact": "a", "_select": "x"}),
        full,
    );
    check(
        json!({"$tool": "c", "$select": "x", "$default": {"$tool": "d"}}),
        r#"c None Some("x") Some("{\"$tool\":\"d\"}") ignored []"#,
    );
    check(
        json!({"$tool": "c", "note": 1, "$refs": {}}),
        r#"c None None None ignored ["note", "$refs"]"#,
    );
}

#[test]
fn sentinel_keys_in_another_shape_are_malformed() {
    for value in [
        json!({"$select": "x"}),
        json!({"$tool": 7}),
        json!({"$tool": null}),
        json!({"$tool": ""}),
        json!({"$tool": "c", "$select": 5}),
        json!({"$tool": "c", "$select": 5, "note": "x"}),
        json!({"$tool": "c", "$artifact": []}),
        json!({"$artifact": "a"}),
        json!({"$default": 1}),
        json!({"$tool": "c", "_tool": "c"}),
        json!({"$tool": "c", "$select": "a", "_select": "a"}),
        json!({"$literal": 1, "$tool": "c"}),
        json!({"$refs": {}, "$select": "x"}),
    ] {
        check(value, "malformed");
    }
}

#[test]
fn everything_else_is_data() {
    for value in [
        json!({}),
        json!({"tool": "c"}),
        json!({"$tool": 7, "name": "x"}),
        json!({"_select": ["id"], "name": "x"}),
        json!({"_literal": "x", "name": "y"}),
        json!({"$refs": {"a": 1}}),
        json!({"$refs": null}),
        json!({"_id": 1, "_source": {}}),
    ] {
        check(value, "data");
    }
}

#[test]
fn a_literal_stands_for_any_json() {
    check(
        json!({"$literal": {"$tool": "c"}}),
        r#"literal {"$tool":"c"}"#,
    );
    check(json!({"_literal": null}), "literal null");
    check(json!({"$literal": false, "$tool": null}), "literal false");
}

#[test]
fn declared_names_are_no_sentinels() {
    let object = json!({"_tool": "hammer", "_select": 3});
    let declared = |key: &str| key == "_tool" || key == "_select";
    assert_eq!(
        read_object(object.as_object().unwrap(), &declared),
        Ok(Reading::Data)
    );
}

#[test]
fn a_string_is_a_reference_only_if_it_is_nothing_else() {
    let reference = |text| read_string(text, &|_| false).map(|r| r.map(|r| r.call_id.to_string()));
    assert_eq!(reference(" {\"$tool\": \"c\"} "), Ok(Some("c".into())));
    assert_eq!(
        reference("{\"_tool\": \"c\", \"_select\": \"a\"}"),
        Ok(Some("c".into()))
    );
    assert_eq!(reference("see {\"$tool\": \"c\"}"), Ok(None));
    assert_eq!(reference("{\"$tool\": \"c\", \"weight\": 1}"), Ok(None));
    assert_eq!(reference("{\"$tool\": 7}"), Ok(None));
    assert_eq!(reference("{\"$literal\": {\"$tool\": \"c\"}}"), Ok(None));
    assert_eq!(reference("[{\"$tool\": \"c\"}]"), Ok(None));
    assert!(reference("{\"$tool\": \"c\", \"$select\": 5}").is_err());
}

#[test]
fn a_map_gives_its_entries_in_order() {
    let object =
        json!({"$refs": {"b": {"$tool": "c2"}, "a": {"_tool": "c1", "_select": "x"}, "z": 7}});
    let refs = read_references(object.as_object().unwrap(), &|_| false).unwrap();
    assert_eq!(refs.len(), 1);
    let places: Vec<_> = refs[0].entries.iter().map(|e| e.at.as_str()).collect();
    assert_eq!(places, ["/$refs/b", "/$refs/a", "/$refs/z"]);
    assert!(refs[0].entries[0].reading.is_ok());
    assert!(matches!(
        refs[0].entries[2].reading,
        Err(Malformed::NoEntry {
            found: "number",
            ..
        })
    ));
}

#[test]
fn a_list_names_parameters_or_places() {
    let object = json!({"_refs": [
        {"to": "url", "tool": "c", "artifact": null, "select": "x"},
        {"to": "/filters/0/a~1b", "tool": "c"},
        {"to": "", "tool": "c"},
        {"to": "q"},
        {"tool": "c"},
        {"to": "/~2", "tool": "c"},
        7,
    ]});
    let refs = read_references(object.as_object().unwrap(), &|_| false).unwrap();
    let entries = &refs[0].entries;
    let (target, reference) = entries[0].reading.clone().unwrap();
    assert_eq!(target, Target::Parameter("url".into()));
    assert_eq!(reference.select.as_deref(), Some("x"));
    let (target, _) = entries[1].reading.clone().unwrap();
    assert_eq!(target.to_pointer().as_str(), "/filters/0/a~1b");
    assert!(entries[2..].iter().all(|e| e.reading.is_err()));
}

#[test]
fn a_map_of_another_type_is_malformed_and_null_is_empty() {
    let refs = |value: Value| read_references(value.as_object().unwrap(), &|_| false);
    assert!(refs(json!({"$refs": 7})).is_err());
    assert!(refs(json!({"$refs": {}, "_refs": {}})).is_err());
    let both = refs(json!({"$refs": {}, "_refs": null})).unwrap();
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|r| r.entries.is_empty()));
}
