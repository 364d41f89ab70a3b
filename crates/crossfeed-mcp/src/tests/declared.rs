use crate::{Annotation, Capability, KEY, Mode, Request, Tool};
use crossfeed_projection::Views;
use serde_json::{Value, json};

#[test]
fn a_capability_reads_back() {
    for capability in [
        Capability::default(),
        Capability::default().with_modes([]).with_max_depth(0),
        Capability::default()
            .with_modes([Mode::View, Mode::View])
            .with_max_depth(3),
    ] {
        let mut declared = json!({"experimental": {"other": {"a": 1}}, "tools": {}});
        capability.declare(&mut declared);
        assert_eq!(Capability::read(&declared), Some(capability));
        assert_eq!(declared["experimental"]["other"], json!({"a": 1}));
    }
    let mut empty = json!({});
    Capability::default().declare(&mut empty);
    assert!(Capability::read(&empty).is_some());
}

#[test]
fn a_capability_has_two_places() {
    let bare = json!({"tools": {"projection": {"supported": true, "modes": ["include", "zip"], "maxDepth": 2}}});
    let read = Capability::read(&bare).unwrap();
    assert_eq!((read.modes, read.max_depth), (vec![Mode::Include], 2));
    let both = json!({
        "experimental": {KEY: {"supported": false}},
        "tools": {"projection": {"supported": true, "modes": ["include"]}}
    });
    assert_eq!(Capability::read(&both), None);
    for none in [
        json!({}),
        json!({"tools": {"projection": true}}),
        json!(null),
    ] {
        assert_eq!(Capability::read(&none), None);
    }
}

#[test]
fn an_annotation_reads_back() {
    let views = Views::new()
        .with("brief", ["id", "\"a b\"[].c"])
        .unwrap()
        .with_everything("all");
    let annotation = Annotation::default().with_views(views);
    let mut tool = json!({"name": "t", "_meta": {"ui": {"resourceUri": "ui://x"}}});
    annotation.annotate(&mut tool);
    assert_eq!(Annotation::read(&tool), Some(annotation));
    assert_eq!(tool["_meta"]["ui"], json!({"resourceUri": "ui://x"}));
    let hint = json!({"annotations": {"projectionHint": {"supported": false}}});
    assert_eq!(
        Annotation::read(&hint),
        Some(Annotation::default().with_supported(false))
    );
    assert_eq!(Annotation::read(&json!({"name": "t"})), None);
}

#[test]
fn a_view_that_cannot_be_read_is_left_out() {
    let tool = json!({"_meta": {KEY: {"supported": true, "recommendedViews": {"bad": ["a..b"], "odd": 7, "good": ["a"]}}}});
    let annotation = Annotation::read(&tool).unwrap();
    assert_eq!(annotation.views.names().collect::<Vec<_>>(), ["good"]);
}

#[test]
fn a_tool_is_read() {
    let tool = Tool::read(&json!({"outputSchema": {"type": "object"}, "_meta": {"ui": {}}}));
    assert!(tool.has_page && tool.annotation.supported && tool.output_schema.is_some());
    let tool = Tool::read(&json!({"outputSchema": 7, "_meta": {"ui": null}}));
    assert!(!tool.has_page && tool.output_schema.is_none());
    assert!(Tool::read(&json!({"_meta": {"ui/resourceUri": "ui://x"}})).has_page);
}

/// What is read of a request under our key, as it would be written; or why it is none.
fn check(request: Value, expected: &str) {
    let outcome = match Request::read(&json!({"_meta": {KEY: request}})) {
        Ok(Some(request)) => request.to_value().to_string(),
        Ok(None) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(outcome, expected, "{request}");
}

#[test]
fn requests_are_read() {
    check(json!(null), "nothing");
    check(
        json!({"mode": "include", "fields": ["a[*].b"]}),
        r#"{"mode":"include","fields":["a[].b"]}"#,
    );
    check(
        json!({"mode": "exclude", "fields": []}),
        r#"{"mode":"exclude","fields":[]}"#,
    );
    check(
        json!({"mode": "view", "view": "brief", "fields": 7}),
        r#"{"mode":"view","view":"brief"}"#,
    );
    check(json!("include"), "the request is not an object");
    check(
        json!({"fields": ["a"]}),
        "`mode` is not one of `include`, `exclude` and `view`",
    );
    check(
        json!({"mode": "zip", "fields": ["a"]}),
        "`mode` is not one of `include`, `exclude` and `view`",
    );
    check(
        json!({"mode": "include"}),
        "`fields` is not a list of strings",
    );
    check(
        json!({"mode": "include", "fields": "a"}),
        "`fields` is not a list of strings",
    );
    check(
        json!({"mode": "include", "fields": [1]}),
        "`fields` is not a list of strings",
    );
    check(json!({"mode": "view"}), "`view` is not a string");
    check(
        json!({"mode": "include", "fields": ["a..b"]}),
        "path `a..b` has an empty segment at byte 2; write a name between dots; a field whose name is empty is `\"\"`",
    );
    check(
        json!({"mode": "include", "fields": vec!["a"; 10_001]}),
        "`fields` has 10001 paths, the limit is 10000",
    );
}

#[test]
fn our_key_counts_before_the_bare_one() {
    let params = json!({"_meta": {
        "projection": {"mode": "include", "fields": ["a"]},
        KEY: {"mode": "exclude", "fields": ["b"]}
    }});
    assert_eq!(Request::read(&params).unwrap().unwrap().mode, Mode::Exclude);
    // `null` asks for nothing.
    let params = json!({"_meta": {KEY: null, "projection": {"mode": "include", "fields": ["a"]}}});
    assert_eq!(Request::read(&params).unwrap().unwrap().mode, Mode::Include);
    for params in [json!({}), json!(null), json!({"_meta": 7}), json!([])] {
        assert_eq!(Request::read(&params), Ok(None));
    }
}
