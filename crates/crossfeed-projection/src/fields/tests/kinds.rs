//! What a host says of its kinds of resources: envelopes, defaults, and documents.

use super::{ISSUE, ask, check, issue};
use crate::fields::hidden::Hidden;
use crate::{
    Operation, Path, ProjectionError, ProjectionRequest, ResourceType, ResourceTypes, RevealRules,
    Views,
};
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn envelopes_are_a_hosts_choice() {
    let kind = ResourceType::new("row")
        .with_envelopes(["rows[].cells", "list"])
        .unwrap();
    let value = r#"{"rows":[{"cells":{"a":1,"b":2},"at":0}],"items":[{"a":1,"b":2}]}"#;
    let expected = r#"{"rows":[{"cells":{"a":1},"at":0}],"items":[{"a":1,"b":2}]}"#;
    check(
        &ask(json!({"fields": ["a"]})).of(kind),
        value,
        expected,
        &[],
    );
    for path in ["a[][]", "[]", "a[0]", "*", "a[].b[].c"] {
        let error = ResourceType::new("row").with_envelopes([path]).unwrap_err();
        assert!(
            matches!(error, ProjectionError::Form { .. }),
            "{path}: {error}"
        );
    }
}

#[test]
fn nothing_is_told_of_what_is_never_shown() {
    let kind = ResourceType::new("user").with_everything("every");
    // Not whether it is there.
    let mut asked = ask(json!({"fields": "secret"})).of(kind);
    asked.rules = RevealRules::parse([""; 0], ["secret"]).unwrap();
    assert!(asked.answer(r#"{"id":1,"secret":2}"#).is_ok());
    assert!(asked.answer(r#"{"id":1}"#).is_ok());
    asked.request = json!({"fields": "secrit"});
    let error = asked.answer(r#"{"id":1,"secret":2}"#).unwrap_err();
    assert_eq!(error.advice(), "try: every");
    // Nor where it is: what is read as a collection does not depend on it.
    asked.request = json!({"fields": ["secret"]});
    let (with, _) = asked.answer(r#"{"secret":1,"items":[]}"#).unwrap();
    let (without, _) = asked.answer(r#"{"items":[]}"#).unwrap();
    assert_eq!(with, without);
}

#[test]
fn what_may_not_be_shown_is_not_suggested() {
    let rules = RevealRules::parse([""; 0], ["mail", "items.titled"]).unwrap();
    let kind = issue()
        .with_fields(["titled", "owner.mail", "age"])
        .unwrap();
    let kind = kind.with_preset("p", ["owner[].mail", "age"]).unwrap();
    let told = kind.without(&rules).introspect();
    assert_eq!(
        (&told["fields"], &told["presets"]["p"]),
        (&json!(["age"]), &json!(["age"]))
    );
    let mut asked = ask(json!({"fields": "titlex"})).of(kind);
    asked.rules = rules;
    let value = r#"{"items":[{"titled":1,"x":2}]}"#;
    let error = asked.answer(value).unwrap_err();
    assert_eq!(error.advice(), "try: minimal");
    asked.request = json!({"fields": ["titlex", "owner.mial"]});
    let (request, _) = ProjectionRequest::from_value(&asked.request);
    let rules = Arc::new(asked.rules.clone());
    let plan = request
        .plan(&Views::new(), asked.resource.as_ref(), None, &rules)
        .unwrap();
    assert!(
        plan.diagnostics
            .iter()
            .all(|noted| noted.nearest.is_empty())
    );
}

fn with_usual_defaults(kind: ResourceType) -> ResourceType {
    kind.with_default(Operation::Single, "full")
        .with_default(Operation::Collection, "standard")
        .with_default(Operation::Search, "minimal")
}

#[test]
fn defaults_are_for_those_who_ask_for_nothing() {
    let kind = || with_usual_defaults(issue());
    let short = r#"{"id":1,"title":"a","owner":{"name":"n"}}"#;
    check(
        &ask(json!({})).of(kind()).when(Operation::Single),
        ISSUE,
        ISSUE,
        &[],
    );
    check(
        &ask(json!({})).of(kind()).when(Operation::Collection),
        ISSUE,
        short,
        &[],
    );
    let search = ask(json!(null)).of(kind()).when(Operation::Search);
    check(&search, ISSUE, r#"{"id":1,"title":"a"}"#, &[]);
    // Without opting in, or where something is said, results are whole.
    check(
        &ask(json!({})).of(issue()).when(Operation::Search),
        ISSUE,
        ISSUE,
        &[],
    );
    check(
        &ask(json!({"fields": []}))
            .of(kind())
            .when(Operation::Search),
        ISSUE,
        ISSUE,
        &[],
    );
    check(
        &ask(json!({"preset": "full"}))
            .of(kind())
            .when(Operation::Search),
        ISSUE,
        ISSUE,
        &[],
    );
    check(&ask(json!({})).of(kind()), ISSUE, ISSUE, &[]);
    let bare = with_usual_defaults(ResourceType::new("x"));
    check(
        &ask(json!({})).of(bare).when(Operation::Search),
        ISSUE,
        ISSUE,
        &[],
    );
}

#[test]
fn kinds_are_told_and_read_back() {
    let types = ResourceTypes::new().with(with_usual_defaults(issue()));
    let told = types.introspect();
    assert_eq!(
        told,
        json!({"types": {"issue": {
            "presets": {"minimal": ["id", "title"], "standard": ["id", "title", "owner.name"],
                "all": null, "full": null},
            "fields": ["id", "title", "body", "owner.name", "owner.mail"],
            "envelopes": ["items", "results", "data", "edges[].node", "nodes", "records", "hits",
                "hits.hits", "data.items"],
            "defaults": {"single": "full", "collection": "standard", "search": "minimal"},
        }}})
    );
    assert_eq!(
        ResourceTypes::parse(&told)
            .unwrap()
            .introspect()
            .to_string(),
        told.to_string()
    );
    assert_eq!(
        ResourceTypes::parse(&told["types"]).unwrap().introspect(),
        told
    );
}

#[test]
fn documents_of_the_wrong_form_are_refused() {
    for (document, said) in [
        (json!([]), "`types` must be an object, not array"),
        (
            json!({"types": {"a": 7}}),
            "`a` must be an object, not number",
        ),
        (
            json!({"a": {"presets": {"full": ["x"]}}}),
            "the preset `full` is always everything",
        ),
        (
            json!({"a": {"presets": {"p": [1]}}}),
            "`p` must be a list of paths, not array",
        ),
        (
            json!({"a": {"fields": 1}}),
            "`fields` must be a list of paths, not number",
        ),
        (
            json!({"a": {"defaults": {"delete": "p"}}}),
            "there is no kind of operation `delete`; there are `single`, `collection`, `search`",
        ),
    ] {
        let error = ResourceTypes::parse(&document).unwrap_err();
        assert_eq!(error.to_string(), said, "{document}");
        assert!(!error.advice().is_empty());
    }
    assert!(Views::parse(&json!({"a": "id,b"})).is_ok());
    assert_eq!(
        Views::parse(&json!({"a": {}})).unwrap_err().to_string(),
        "`a` must be a list of paths, not object"
    );
}

#[test]
fn a_document_says_nothing_that_is_not_read() {
    let refused = |kind: Value, message: &str| {
        let error = ResourceTypes::parse(&json!({"types": {"x": kind}})).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    refused(
        json!({"preset": {}}),
        "there is no member `preset`; there are `presets`, `fields`, `envelopes`, `defaults`",
    );
    refused(
        json!({"presets": {"small": ["id"]}, "defaults": {"search": "smal"}}),
        "there is no preset `smal`; there are `small`, `full`",
    );
    refused(
        json!({"defaults": {"find": "full"}}),
        "there is no kind of operation `find`; there are `single`, `collection`, `search`",
    );
    let fine =
        json!({"defaults": {"single": "full", "search": "small"}, "presets": {"small": ["id"]}});
    assert!(ResourceTypes::parse(&json!({"x": fine})).is_ok());
}

#[test]
fn a_hidden_field_is_hidden_wherever_its_resource_stands() {
    let rules = RevealRules::parse(
        [""; 0],
        ["pin", "items.a.b", "*.c", "data[0].d", "deep.*.e", "nodes"],
    );
    let rules = Arc::new(rules.unwrap());
    let hides = |envelopes: &[&str], field: &str| {
        let kind = ResourceType::new("x").with_envelopes(envelopes).unwrap();
        Hidden::new(&rules, &kind.envelopes).hides(Path::parse(field).unwrap().steps())
    };
    for (envelopes, field, expected) in [
        (&["items"] as &[_], "pin", true),
        (&["items"], "x.pin", true),
        (&["items"], "a.b", true),
        (&["items"], "a[].b.x", true),
        (&["items"], "a", false),
        (&["items"], "c", true),
        (&["rows"], "a.b", false),
        (&["rows"], "items.a.b", true),
        (&["data"], "d", true),
        (&["deep"], "x.e", true),
        (&["deep"], "e", false),
        (&["rows[].nodes"], "x", true),
        (&["rows"], "nodes.x", true),
        (&["rows"], "x", false),
    ] {
        assert_eq!(hides(envelopes, field), expected, "{envelopes:?} {field}");
    }
}
