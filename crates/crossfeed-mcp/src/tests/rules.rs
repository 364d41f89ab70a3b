use super::{asked, include, plain, run, tool};
use crossfeed_projection::RevealRules;
use serde_json::{Value, json};

/// What becomes of a result by never-rules (and `id` always kept).
fn check(never: &[&str], params: &Value, result: &str, expected: &str) -> Value {
    let rules = RevealRules::parse(["id"], never).unwrap();
    let (json, reply) = run(&plain().with_rules(rules), &tool(), params, result);
    assert_eq!(json, expected, "{never:?} {params}");
    reply
}

#[test]
fn what_is_hidden_is_in_no_result() {
    let result = r#"{"content":[{"type":"text","text":"{\"id\":1,\"pw\":\"x\"}"}],"structuredContent":{"id":1,"pw":"x","body":"b"}}"#;
    let rest = r#"{"content":[{"type":"text","text":"{\"id\":1}"}],"structuredContent":{"id":1,"body":"b"}}"#;
    let nothing = json!({});
    check(&["pw"], &nothing, result, rest);
    // A request that is not followed, an error, a page.
    let odd = asked(json!({"mode": "zip"}));
    assert_eq!(check(&["pw"], &odd, result, rest)["applied"], json!(false));
    let as_error = |json: &str| json.replace("{\"content\"", "{\"isError\":true,\"content\"");
    check(
        &["pw"],
        &include(&["pw"]),
        &as_error(result),
        &as_error(rest),
    );
    let cut = r#"{"content":[{"type":"text","text":"{\"id\":1}"}],"structuredContent":{"id":1}}"#;
    let reply = check(&["pw"], &include(&["pw"]), result, cut);
    assert_eq!(reply["diagnostics"][1]["kind"], json!("withheld"));
    // Nothing to hide: not a byte changes.
    check(&["zz", "a.b"], &nothing, result, result);
}

#[test]
fn what_is_always_kept_is_kept() {
    let result = r#"{"content":[],"structuredContent":{"id":1,"body":"b"}}"#;
    let expected = r#"{"content":[],"structuredContent":{"id":1}}"#;
    check(&[], &include(&["pw"]), result, expected);
    let exclude = asked(json!({"mode": "exclude", "fields": ["id", "body"]}));
    let reply = check(&[], &exclude, result, expected);
    assert_eq!(reply["diagnostics"][0]["kind"], json!("always_kept"));
}

#[test]
fn a_path_begins_at_the_structured_content_and_at_each_text() {
    let result = r#"{"content":[{"type":"text","text":"{\"u\":{\"m\":1,\"n\":2}}"}],"structuredContent":{"u":{"m":1,"n":2}}}"#;
    let rest = r#"{"content":[{"type":"text","text":"{\"u\":{\"n\":2}}"}],"structuredContent":{"u":{"n":2}}}"#;
    check(&["u.m"], &json!({}), result, rest);
}

#[test]
fn text_that_is_no_json_may_have_to_go() {
    let text = |text: &str, own: &str| {
        format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]{own}}}"#)
    };
    let nothing = json!({});
    let gone = text("[withheld]", "");
    check(&["pw"], &nothing, &text("the pw is x", ""), &gone);
    check(
        &["pw"],
        &nothing,
        &text("all is well", ""),
        &text("all is well", ""),
    );
    // It may repeat what is hidden beside it.
    let (own, cut) = (
        r#","structuredContent":{"pw":"x"}"#,
        r#","structuredContent":{}"#,
    );
    // What is left there is told instead, for hosts that read no other.
    check(
        &["pw"],
        &nothing,
        &text("x marks it", own),
        &text("{}", cut),
    );
    let several = r#"{"content":[{"type":"text","text":"x"},{"type":"image","data":"a"},{"type":"text","text":"x"}],"structuredContent":{"pw":"x","n":1},"isError":true}"#;
    let told = r#"{"content":[{"type":"text","text":"{\"n\":1}"},{"type":"image","data":"a"}],"structuredContent":{"n":1},"isError":true}"#;
    check(&["pw"], &include(&["n"]), several, told);
    // JSON beyond a limit, which cannot be looked into.
    let deep = "[".repeat(200) + &"]".repeat(200);
    check(&["pw"], &nothing, &text(&deep, ""), &gone);
}

#[test]
fn parts_that_go_take_what_is_hidden_in_them_along() {
    let result = r#"{"content":[{"type":"text","text":"{}"},{"type":"text","text":"b","_meta":{"pw":"x"},"tail":"x"},{"type":"text","text":"c","pw":"x"},{"type":"image","data":"aa"}],"structuredContent":{"id":1}}"#;
    let expected = r#"{"content":[{"type":"text","text":"{\"id\":1}"},{"type":"image","data":"aa"}],"structuredContent":{"id":1}}"#;
    check(&["pw"], &include(&["id"]), result, expected);
}

#[test]
fn a_reply_names_nothing_that_is_hidden() {
    let rules = || RevealRules::parse([""; 0], ["pw"]).unwrap();
    let result = r#"{"content":[],"structuredContent":{"id":1,"pw":"x"}}"#;
    let mut tool = tool();
    let views = crossfeed_projection::Views::new();
    let views = views
        .with("pw", ["id"])
        .and_then(|views| views.with("v", ["id", "pw"]))
        .and_then(|views| views.with("deep", ["a.b.c.d.e.f.g.h.i.j.k.pw"]));
    tool.annotation.views = views.unwrap();
    let told = |params: &Value| {
        let (_, reply) = run(&plain().with_rules(rules()), &tool, params, result);
        let reply = reply.to_string();
        assert_eq!(reply.matches("\"withheld\"").count(), 1, "{reply}");
        reply
    };
    for asked_for in [
        include(&["id", "p", "*.x"]),
        asked(json!({"mode": "exclude", "fields": ["id"]})),
        asked(json!({"mode": "view", "view": "v"})),
        asked(json!({"mode": "view", "view": "w"})),
        asked(json!({"mode": "view", "view": "deep"})),
        asked(json!({"mode": "zip"})),
    ] {
        let reply = told(&asked_for);
        assert!(!reply.contains("pw"), "{reply}");
    }
    let view = |name: &str| told(&asked(json!({"mode": "view", "view": name})));
    assert!(view("v").contains(r#""fields":["id"]"#));
    assert!(view("w").contains("the view is not one of `v`, `deep`"));
    assert!(view("deep").contains("the view cannot be followed"));
    // What a request names is told as what is not there.
    let same = |name: &str| told(&include(&[name])).replace(name, "?");
    assert_eq!(same("pw"), same("zz"));
    assert!(same("pw").contains("unknown_field"));
    let debug = format!("{:?}", plain().with_rules(rules()));
    assert!(debug.contains("capability") && !debug.contains("pw"));
}

#[test]
fn the_keys_of_the_protocol_stay() {
    let result = r#"{"content":[{"type":"text","text":"fine"}],"structuredContent":{"text":1,"type":2},"x":{"text":3}}"#;
    let expected = r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{},"x":{}}"#;
    check(
        &["text", "type", "content", "structuredContent"],
        &json!({}),
        result,
        expected,
    );
}

#[test]
fn resources_and_metadata_are_looked_into() {
    let result = r#"{"content":[{"type":"resource","resource":{"uri":"a","text":"{\"pw\":1,\"n\":2}"},"_meta":{"pw":3}},{"type":"resource","resource":{"uri":"a","text":"pw: 1"}}],"_meta":{"pw":1,"n":2}}"#;
    let expected = r#"{"content":[{"type":"resource","resource":{"uri":"a","text":"{\"n\":2}"},"_meta":{}},{"type":"resource","resource":{"uri":"a","text":"[withheld]"}}],"_meta":{"n":2}}"#;
    check(&["pw"], &json!({}), result, expected);
    check(&["pw"], &include(&["id"]), result, expected);
    let with = |own: &str| {
        result.replace(
            "{\"content\"",
            &format!("{{\"structuredContent\":{own},\"content\""),
        )
    };
    let with_expected = expected.replace(
        "{\"content\"",
        "{\"structuredContent\":{\"id\":1},\"content\"",
    );
    check(
        &["pw"],
        &include(&["id"]),
        &with(r#"{"id":1,"pw":2}"#),
        &with_expected,
    );
}

#[test]
fn the_schema_that_is_announced_does_not_name_what_is_hidden() {
    let result = r#"{"content":[],"structuredContent":{"id":1,"pw":"x","body":"b"}}"#;
    let expected = r#"{"content":[],"structuredContent":{"id":1,"body":"b"}}"#;
    let reply = check(&["pw"], &include(&[]), result, expected);
    let schema = reply["projectedSchema"].to_string();
    assert!(
        schema.contains("body") && !schema.contains("pw"),
        "{schema}"
    );
}
