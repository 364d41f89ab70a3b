use super::{
    Filling, Malformed, Piece, Reading, Reference, Target, read_object, read_references,
    read_string,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn reference(filling: Filling) -> Reference {
    match filling {
        Filling::Reference(reference) => reference,
        other => panic!("{other:?}"),
    }
}

/// `"data"`, `"literal"`, `"malformed"`, or the reference as `call artifact? select? default?`.
fn read(value: &Value) -> String {
    match read_object(value.as_object().unwrap(), &|_| false) {
        Ok(Reading::Data) => "data".to_owned(),
        Ok(Reading::Literal(content)) => format!("literal {content}"),
        Ok(Reading::Template(template)) => format!("{:?}", template.pieces),
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
    check(
        json!({"$tool": "c", "$select": "x", "weight": 1, "path": null}),
        r#"c None Some("x") None ignored ["weight", "path"]"#,
    );
}

#[test]
fn the_whole_never_passes_instead_of_a_part() {
    for key in [
        "select",
        "$selct",
        "$path",
        "_jmespath",
        "query",
        "filter",
        "field",
        "key",
    ] {
        check(
            json!({"$tool": "c", key: "x"}),
            r#"c None Some("x") None ignored []"#,
        );
    }
    for value in [
        json!({"$tool": "c", "select": ["x[0]", 0]}),
        json!({"$tool": "c", "limit": 1}),
        json!({"$tool": "c", "path": "x", "field": "y"}),
        json!({"$tool": "c", "$select": "x", "path": "y"}),
        json!({"$tool": "c", "$select": "x", "default": 0}),
        json!({"$tool": "c", "artifact": "a"}),
        json!({"$tool": "c", "weight": 1}),
        json!({"$tool": "c", "$with": {}}),
    ] {
        check(value, "malformed");
    }
}

#[test]
fn several_selectors_are_only_offered() {
    for (key, value) in [
        ("select", json!({"a": "x"})),
        ("$select", json!({"a": "x"})),
        ("keys", json!(["a", "b"])),
    ] {
        let object = json!({"$tool": "c", key: value});
        let Ok(Reading::Reference(read)) = read_object(object.as_object().unwrap(), &|_| false)
        else {
            panic!("{object}");
        };
        let repair = read.repair.unwrap();
        assert!(repair.is_guess && !repair.or_data, "{object}");
    }
}

#[test]
fn what_can_only_be_the_selector_is_read_as_it() {
    for (value, select) in [
        (
            json!({"$tool": "c", "$select": ["items", 0, "url"]}),
            "items[0].url",
        ),
        (json!({"$tool": "c", "$path": ["a b", "*"]}), "\"a b\"[*]"),
        (
            json!({"$tool": "c", "$select": ["items[0].url"]}),
            "items[0].url",
        ),
        (json!({"$tool": "c", "$select": 5}), "[5]"),
        (json!({"$tool": "c", "index": -1}), "[-1]"),
        (
            json!({"$tool": "c", "$select": "items", "index": 0}),
            "items | [0]",
        ),
        (json!({"$tool": {"$tool": "c", "$select": "x"}}), "x"),
        (json!({"$tool": {"id": "c", "select": "x"}}), "x"),
        (json!({"_tool": {"call_id": "c", "path": "x"}}), "x"),
    ] {
        check(value, &format!("c None Some({select:?}) None ignored []"));
    }
}

#[test]
fn a_remark_beside_a_literal_is_ignored() {
    check(
        json!({"$literal": {"$tool": "c"}, "note": "x"}),
        r#"literal {"$tool":"c"}"#,
    );
    check(json!({"$literal": 1, "x": 2}), "malformed");
    check(json!({"_literal": 1, "x": 2}), "data");
}

#[test]
fn a_template_holds_references() {
    let pieces = |template: Value| read(&template);
    let with = json!({"a": {"$tool": "c"}, "b": {"_tool": "d", "_select": "x"}});
    assert_eq!(
        pieces(json!({"$template": "{{{a}}} is { b }{a}", "$with": with})),
        r#"[Text("{"), Value(0), Text("} is "), Value(1), Value(0)]"#
    );
    assert_eq!(
        pieces(json!({"_template": "}}", "_with": {}})),
        r#"[Text("}")]"#
    );
    assert_eq!(
        pieces(json!({"template": "See {a}", "with": {"a": {"$tool": "c"}}})),
        r#"[Text("See "), Value(0)]"#
    );
    for data in [
        json!({"template": "See {a}", "with": {"a": "x"}}),
        json!({"template": "See {b}", "with": {"a": {"$tool": "c"}}}),
        json!({"template": "See {a}", "with": {"a": {"$tool": "c"}}, "to": "x"}),
    ] {
        check(data, "data");
    }
    for value in [
        json!({"$template": "{a}"}),
        json!({"$template": "{a}", "a": {"$tool": "c"}}),
        json!({"$template": "{a} {b}", "$with": {"a": {"$tool": "c"}}}),
        json!({"$template": "a", "$with": {"a": {"$tool": "c"}}}),
        json!({"$template": "{a", "$with": {"a": {"$tool": "c"}}}),
        json!({"$template": "{a}", "$with": {"a": "x"}}),
        json!({"$template": "{a}", "$with": {"a": {"$literal": 1}}}),
        json!({"$template": "{a}", "$with": {"a": {"$tool": "c"}}, "$tool": "c"}),
        json!({"$template": "{a}", "$with": {"a": {"$tool": "c"}}, "b": 1}),
        json!({"$template": 7, "$with": {}}),
        json!({"$with": {}}),
    ] {
        check(value, "malformed");
    }
    check(json!({"$template": "{a}", "name": "x"}), "data");
}

#[test]
fn entries_hold_templates_and_literals() {
    let object = json!({"_refs": {
        "a": {"_template": "x{n}", "_with": {"n": {"_tool": "c"}}},
        "b": {"_literal": {"_tool": "c"}},
        "c": "call_1.users[0].name",
        "d": {"tool": "c", "select": "x"},
        "e": {"_toolCallId": "call_1"},
        "f": "{{call_1}}",
        "/paths/0": {"_tool": "c"},
    }});
    let listed = json!({"_refs": [
        {"to": "a", "template": "x{n}", "with": [{"name": "n", "tool": "c", "select": null}], "tool": null},
        {"to": "b", "literal": null, "tool": null, "template": null},
    ]});
    for object in [
        &object,
        &json!({"_refs": object["_refs"].to_string()}),
        &listed,
    ] {
        let refs = read_references(object.as_object().unwrap(), &|_| false).unwrap();
        let readings = refs[0].entries.iter().map(|entry| entry.reading.clone());
        let read: Vec<_> = readings.map(Result::unwrap).collect();
        assert!(matches!(&read[0].1, Filling::Template(template)
            if template.pieces == [Piece::Text("x".to_owned()), Piece::Value(0)]));
        assert!(matches!(&read[1].1, Filling::Literal(..)));
        for (_, filling) in read.iter().skip(2) {
            assert!(matches!(filling, Filling::Reference(_)), "{filling:?}");
        }
        if let Some((target, _)) = read.get(6) {
            assert_eq!(target.to_pointer().as_str(), "/paths/0");
        }
    }
}

proptest! {
    #[test]
    fn placeholders_are_the_values_and_the_rest_is_the_text(
        pieces in prop::collection::vec(prop_oneof!["[a-z{} $é]{0,8}".prop_map(Ok), (0_usize..3).prop_map(Err)], 0..12)
    ) {
        let escaped = |text: &String| text.replace('{', "{{").replace('}', "}}");
        let text: String = pieces.iter().map(|piece| match piece {
            Ok(text) => escaped(text),
            Err(number) => format!("{{n{number}}}"),
        }).collect();
        let names: std::collections::BTreeSet<usize> = pieces.iter().filter_map(|piece| piece.clone().err()).collect();
        let with: serde_json::Map<_, _> = names.iter()
            .map(|number| (format!("n{number}"), json!({"$tool": format!("c{number}")}))).collect();
        let object = json!({"$template": text, "$with": with});
        let read = read_object(object.as_object().unwrap(), &|_| false).unwrap();
        let Reading::Template(template) = read else { panic!() };
        let value = |id: &str| format!("<{id}>");
        let filled: String = template.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(number) => value(template.references[*number].1.call_id.as_str()),
        }).collect();
        let expected: String = pieces.iter().map(|piece| match piece {
            Ok(text) => text.clone(),
            Err(number) => value(&format!("c{number}")),
        }).collect();
        prop_assert_eq!(filled, expected);
    }
}

#[test]
fn sentinel_keys_in_another_shape_are_malformed() {
    for value in [
        json!({"$select": "x"}),
        json!({"$tool": 7}),
        json!({"$tool": null}),
        json!({"$tool": ""}),
        json!({"$tool": "c", "$select": true}),
        json!({"$tool": "c", "$select": {}, "note": "x"}),
        json!({"$tool": {}}),
        json!({"$tool": {"x": "c"}}),
        json!({"$literal": 1, "x": 2}),
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
    let reference = |text| {
        let read = read_string(text, &|_| false);
        read.map(|read| read.map(|read| reference(read).call_id.to_string()))
    };
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
    assert!(reference("{\"$tool\": \"c\", \"$select\": true}").is_err());
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
    let (target, filling) = entries[0].reading.clone().unwrap();
    assert_eq!(target, Target::Parameter("url".into()));
    assert_eq!(reference(filling).select.as_deref(), Some("x"));
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
