//! Each spelling, alone and with others, and what is wrong with them.

use super::{ISSUE, ask, check, fails, issue, page};
use crate::{Operation, ProjectionError, ProjectionRequest, ResourceType, RevealRules, Views};
use crossfeed_json::Document;
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn spellings_add_up() {
    let select = |names: &[&str]| json!({"_select": names});
    check(
        &ask(select(&["title", "id"])),
        ISSUE,
        r#"{"id":1,"title":"a"}"#,
        &[],
    );
    let both = json!({"_select": ["id"], "include": ["owner.name"], "fields": ["title"]});
    check(
        &ask(both),
        ISSUE,
        r#"{"id":1,"title":"a","owner":{"name":"n"}}"#,
        &[],
    );
    let preset = json!({"preset": "minimal", "fields": ["body"]});
    let expected = r#"{"id":1,"title":"a","body":"b"}"#;
    check(&ask(preset).of(issue()), ISSUE, expected, &[]);
    check(
        &ask(json!({"include": "id", "preset": "full"})),
        ISSUE,
        ISSUE,
        &[],
    );
    check(
        &ask(json!({"exclude": "owner,body"})),
        ISSUE,
        r#"{"id":1,"title":"a"}"#,
        &[],
    );
    let cut = json!({"fields": "all", "exclude": ["owner", "body"]});
    check(&ask(cut).of(issue()), ISSUE, r#"{"id":1,"title":"a"}"#, &[]);
}

#[test]
fn selected_keys_are_no_paths() {
    let value = r#"[{"a.b":1,"a":{"b":2},"":3,"__proto__":4,"*":5}]"#;
    check(
        &ask(json!({"_select": ["a.b"]})),
        value,
        r#"[{"a.b":1}]"#,
        &[],
    );
    check(
        &ask(json!({"_select": ["", "__proto__"]})),
        value,
        r#"[{"":3,"__proto__":4}]"#,
        &[],
    );
    check(&ask(json!({"_select": ["*"]})), value, r#"[{"*":5}]"#, &[]);
}

#[test]
fn nothing_asked_is_everything() {
    for request in [
        json!({}),
        json!(null),
        json!({"include": [], "fields": [], "_select": []}),
        json!({"include": "", "fields": " ", "exclude": []}),
        json!({"view": null, "preset": null, "other": 7}),
        json!({"preset": "full"}),
        json!({"view": "full"}),
        json!({"fields": "full"}),
    ] {
        let page = page();
        check(&ask(request.clone()), &page, &page, &[]);
        check(&ask(request).of(issue()), &page, &page, &[]);
    }
}

#[test]
fn wrong_forms_are_ignored_and_noted() {
    let request = json!({"include": {"a": 1}, "exclude": [1], "view": [], "_select": "id",
        "fields": 7, "preset": true});
    let told = ["exclude", "fields", "include", "preset", "view", "_select"];
    let (_, diagnostics) = ProjectionRequest::from_value(&request);
    let mut at: Vec<_> = diagnostics.iter().map(|noted| noted.path.clone()).collect();
    at.sort();
    let mut told: Vec<_> = told.iter().map(|name| (*name).to_owned()).collect();
    told.sort();
    assert_eq!(at, told);
    check(&ask(json!("id")), ISSUE, ISSUE, &["ignored projection"]);
    let error = ProjectionRequest::parse(&json!({"_select": ["a", 1]})).unwrap_err();
    let said = "`_select` must be a list of strings, not a list of other things";
    assert_eq!(error.to_string(), said);
}

#[test]
fn the_injected_spelling_counts() {
    let request =
        json!({"_fields": ["id"], "fields": ["title"], "select": ["body"], "_select": null});
    check(&ask(request), ISSUE, r#"{"id":1,"body":"b"}"#, &[]);
}

#[test]
fn collections_are_filtered_in_their_items() {
    let minimal = || ask(json!({"preset": "minimal"})).of(issue());
    let expected =
        r#"{"total":2.50,"items":[{"id":1,"title":"a"},{"id":2},null,7],"next":{"title":1}}"#;
    let (projected, _) = minimal().answer(&page()).unwrap();
    assert_eq!(projected.replace(' ', ""), expected);
    let list = format!("[{ISSUE}]");
    check(&minimal(), &list, r#"[{"id":1,"title":"a"}]"#, &[]);
    let edges = format!(r#"{{"edges":[{{"node":{ISSUE},"cursor":"c"}}],"pageInfo":{{"id":0}}}}"#);
    let expected = r#"{"edges":[{"node":{"id":1,"title":"a"},"cursor":"c"}],"pageInfo":{"id":0}}"#;
    check(&minimal(), &edges, expected, &[]);
    let nested = format!(r#"{{"hits":{{"total":1,"hits":[{ISSUE}]}},"took":3}}"#);
    let expected = r#"{"hits":{"total":1,"hits":[{"id":1,"title":"a"}]},"took":3}"#;
    check(&minimal(), &nested, expected, &[]);
    let empty = r#"{"items":[],"next":null}"#;
    check(&minimal(), empty, empty, &[]);
    check(&minimal(), r#"{"items":[]}"#, r#"{"items":[]}"#, &[]);
}

#[test]
fn a_resource_with_an_empty_list_is_no_collection() {
    let wrong = || ask(json!({"fields": ["nme"]}));
    for list in ["[]", "[1]", "[null]"] {
        let user = format!(r#"{{"id":1,"name":"x","items":{list}}}"#);
        check(&wrong(), &user, "{}", &["unknown_field nme"]);
        // Who says what it is, is believed.
        check(
            &wrong().when(Operation::Collection),
            &user,
            &user,
            &match list {
                "[1]" => vec!["met_scalar items[].nme"],
                "[null]" => vec!["met_null items[].nme"],
                _ => vec![],
            },
        );
    }
    let order = r#"{"id":1,"items":[{"sku":2}]}"#;
    let expected = r#"{"id":1,"items":[{}]}"#;
    check(&wrong(), order, expected, &["unknown_field items[].nme"]);
    let data = r#"{"id":1,"name":"x","data":[]}"#;
    check(&wrong(), data, "{}", &["unknown_field nme"]);
}

#[test]
fn an_envelope_may_hold_one_resource() {
    let value = format!(r#"{{"success":true,"data":{ISSUE},"meta":{{"id":7}}}}"#);
    let expected = r#"{"success":true,"data":{"id":1,"title":"a"},"meta":{"id":7}}"#;
    let asked = || ask(json!({"fields": ["id", "title"]}));
    check(&asked(), &value, expected, &[]);
    for operation in Operation::ALL {
        check(&asked().when(operation), &value, expected, &[]);
    }
    // A resource that has such a field is none.
    let own = r#"{"id":1,"title":"a","data":{"id":2}}"#;
    check(&asked(), own, r#"{"id":1,"title":"a"}"#, &[]);
    let other = ask(json!({"fields": ["id"]})).of(issue().with_envelopes(["items"]).unwrap());
    check(&other, &value, "{}", &["unknown_field id"]);
}

#[test]
fn a_field_of_the_resource_is_offered_for_one_of_the_root() {
    let offered = |request: Value, value: &str, rules: RevealRules| -> Vec<String> {
        let (request, _) = ProjectionRequest::from_value(&request);
        let plan = request.plan(&Views::new(), None, None, &Arc::new(rules));
        let document = Document::new(value.to_owned());
        let root = document.root().unwrap();
        let applied = plan.unwrap().project(root, &mut Vec::new()).unwrap();
        let nearest = applied.diagnostics.iter().flat_map(|noted| &noted.nearest);
        nearest.cloned().collect()
    };
    let none = RevealRules::default;
    let data = format!(r#"{{"data":{ISSUE},"success":true}}"#);
    assert_eq!(
        offered(json!({"include": ["id"]}), &data, none()),
        ["data.id"]
    );
    let of_owner = json!({"include": ["owner.name"]});
    assert_eq!(offered(of_owner, &data, none()), ["data.owner.name"]);
    assert_eq!(
        offered(json!({"_select": ["id"]}), &page(), none()),
        ["items[].id"]
    );
    let rules = RevealRules::parse([""; 0], ["data.id"]).unwrap();
    assert!(offered(json!({"include": ["id"]}), &data, rules).is_empty());
}

#[test]
fn what_is_asked_for_tells_a_resource_from_a_collection() {
    let order = r#"{"id":1,"total":5,"items":[{"id":2,"sku":"x"}]}"#;
    check(
        &ask(json!({"fields": ["id", "total"]})),
        order,
        r#"{"id":1,"total":5}"#,
        &[],
    );
    check(
        &ask(json!({"fields": ["sku"]})),
        order,
        r#"{"id":1,"total":5,"items":[{"sku":"x"}]}"#,
        &[],
    );
    let tie = r#"{"id":1,"total":5,"items":[{"id":2}]}"#;
    check(&ask(json!({"fields": ["id"]})), order, tie, &[]);
    let single = ask(json!({"fields": ["id"]})).when(Operation::Single);
    check(&single, order, r#"{"id":1}"#, &[]);
    let search = ask(json!({"fields": ["total", "sku"]})).when(Operation::Search);
    let expected = r#"{"id":1,"total":5,"items":[{"sku":"x"}]}"#;
    check(&search, order, expected, &["unknown_field items[].total"]);
    // Each resource may be written with brackets, too.
    check(&ask(json!({"fields": ["[].sku"]})), order, expected, &[]);
    check(
        &ask(json!({"fields": ["items.sku", "total"]})),
        order,
        r#"{"total":5,"items":[{"sku":"x"}]}"#,
        &[],
    );
}

#[test]
fn a_word_is_a_preset_or_a_field() {
    let word = |word: &str| ask(json!({"fields": word})).of(issue());
    check(&word("minimal"), ISSUE, r#"{"id":1,"title":"a"}"#, &[]);
    check(&word("body"), ISSUE, r#"{"body":"b"}"#, &[]);
    check(&word("body"), r#"{"id":1}"#, "{}", &["unknown_field body"]);
    check(&word("id,title"), ISSUE, r#"{"id":1,"title":"a"}"#, &[]);
    fails(
        &word("minmal"),
        ISSUE,
        "`minmal` is neither a preset nor a field that is there; there are the presets `minimal`, \
         `standard`, `all`, `full`",
        "try: minimal",
    );
    // Where there are no presets, it is a field that is not there.
    check(
        &ask(json!({"fields": "ownr"})),
        ISSUE,
        "{}",
        &["unknown_field ownr"],
    );
    fails(
        &ask(json!({"fields": "ownr"})).of(ResourceType::new("x").with_everything("all")),
        ISSUE,
        "`ownr` is neither a preset nor a field that is there; there are the presets `all`, `full`",
        "try: owner",
    );
    // Where nothing is, nothing is missing.
    check(
        &word("minmal"),
        r#"{"items":[]}"#,
        r#"{"items":[]}"#,
        &["unknown_name minmal"],
    );
    check(
        &ask(json!({"fields": "minmal"})),
        "7",
        "7",
        &["met_scalar minmal"],
    );
}

#[test]
fn unknown_names_are_errors_that_name_the_valid_ones() {
    let asked = ask(json!({"preset": "tiny"})).of(issue());
    let said = "there is no preset `tiny`; there are `minimal`, `standard`, `all`, `full`";
    fails(&asked, ISSUE, said, "try: minimal");
    let mut asked = ask(json!({"view": "breif"}));
    asked.views = json!({"brief": ["id"], "all": null});
    let said = "there is no view `breif`; there are `brief`, `all`, `full`";
    fails(&asked, ISSUE, said, "try: brief");
    asked.request = json!({"view": "brief"});
    check(&asked, ISSUE, r#"{"id":1}"#, &[]);
    asked.request = json!({"view": "all"});
    check(&asked, ISSUE, ISSUE, &[]);
    // Presets may stand among the views.
    asked.request = json!({"preset": "brief"});
    check(
        &asked,
        r#"{"items":[{"id":1,"x":2}],"n":1}"#,
        r#"{"items":[{"id":1}],"n":1}"#,
        &[],
    );
    let error = ResourceType::new("x")
        .with_preset("full", ["id"])
        .unwrap_err();
    assert_eq!(error, ProjectionError::FullIsEverything);
}

#[test]
fn bad_paths_are_errors() {
    for (request, said) in [
        (
            json!({"include": ["a..b"]}),
            "path `a..b` has an empty segment at byte 2 (in `include`)",
        ),
        (
            json!({"include": ["a", ""]}),
            "path `` is empty at byte 0 (in `include`)",
        ),
        (
            json!({"include": [" "]}),
            "path ` ` is empty at byte 1 (in `include`)",
        ),
        (
            json!({"exclude": "a[-1]"}),
            "path `a[-1]` has a negative index at byte 1 (in `exclude`)",
        ),
    ] {
        let error = ask(request.clone()).answer(ISSUE).unwrap_err();
        assert_eq!(error.code().as_str(), "projection.invalid");
        assert_eq!(error.to_string(), said, "{request}");
    }
}

#[test]
fn ten_thousand_fields_are_enough() {
    let names = |count: usize| (0..count).map(|n| format!("f{n}")).collect::<Vec<_>>();
    let value = r#"{"f0":0,"x":1,"f9999":2}"#;
    let (projected, told) = ask(json!({"fields": names(10_000)})).answer(value).unwrap();
    assert_eq!(projected, r#"{"f0":0,"f9999":2}"#);
    assert_eq!(told.len(), crate::MAX_DIAGNOSTICS);
    let known = issue();
    let (projected, told) = ask(json!({"fields": names(10_000)}))
        .of(known)
        .answer(value)
        .unwrap();
    assert_eq!(projected, r#"{"f0":0,"f9999":2}"#);
    assert_eq!(told.len(), crate::MAX_DIAGNOSTICS);
    for request in [
        json!({"fields": names(10_001)}),
        json!({"include": names(5_000), "_select": names(3_000), "exclude": names(2_001)}),
        json!({"fields": [names(6_000).join(","), names(6_000).join(",")]}),
        json!({"fields": names(10_001).join(",")}),
    ] {
        let error = ask(request).answer(value).unwrap_err();
        assert_eq!(error.code().as_str(), "limit.exceeded", "{error}");
    }
}

#[test]
fn names_that_are_not_known_are_noted_once_with_the_nearest() {
    let asked =
        ask(json!({"fields": ["titel", "owner.nmae", "owner[].x.y", "id.deep"]})).of(issue());
    let (request, _) = ProjectionRequest::from_value(&asked.request);
    let rules = Arc::new(RevealRules::parse([""; 0], ["mail"]).unwrap());
    let plan = request
        .plan(&Views::new(), asked.resource.as_ref(), None, &rules)
        .unwrap();
    let told: Vec<_> = plan
        .diagnostics
        .iter()
        .map(|noted| (noted.path.as_str(), noted.nearest.join(" ")))
        .collect();
    assert_eq!(
        told,
        [
            ("titel", "title".into()),
            ("owner.nmae", "owner.name".into()),
            ("owner[].x.y", String::new())
        ]
    );
    let (_, told) = ask(json!({"fields": ["titel", "id"]}))
        .of(issue())
        .answer(&page())
        .unwrap();
    assert_eq!(
        told,
        ["unknown_field items[].titel", "met_scalar items[].id"]
    );
    // What is there is kept, known or not.
    let there = ask(json!({"fields": ["extra"]})).of(issue());
    check(
        &there,
        r#"{"extra":1,"id":2}"#,
        r#"{"extra":1}"#,
        &["unknown_name extra"],
    );
}
