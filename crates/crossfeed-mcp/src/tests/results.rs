use super::{asked, include, plain, run, tool};
use crate::{Capability, Mode, Projector, Reply, ResultError, Tool};
use crossfeed_json::Document;
use serde_json::{Value, json};

const BOTH: &str = r#"{ "content" : [ {"type":"text", "text":"{\"id\":1}","annotations":{"p":1.0}} ], "structuredContent":{"id": 1 ,"body":"b"}, "x" : 1.50 }"#;

/// Projects the usual result, and says what becomes of it; the reply without its schema.
fn check(params: &Value, result: &str, expected: &str, reply: Value) {
    let (json, mut said) = run(&plain(), &tool(), params, result);
    assert_eq!(json, expected, "{params}");
    if let Some(said) = said.as_object_mut() {
        said.remove("projectedSchema");
    }
    assert_eq!(said, reply, "{params}");
}

#[test]
fn text_and_structure_are_cut_alike() {
    let expected = r#"{ "content" : [ {"type":"text", "text":"{\"id\":1}","annotations":{"p":1.0}} ], "structuredContent":{"id":1}, "x" : 1.50 }"#;
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), BOTH, expected, applied.clone());
    let bare = json!({"_meta": {"projection": {"mode": "include", "fields": ["\"id\""]}}});
    check(&bare, BOTH, expected, applied);
    let exclude = asked(json!({"mode": "exclude", "fields": ["body"]}));
    let applied = json!({"applied": true, "mode": "exclude", "fields": ["body"]});
    check(&exclude, BOTH, expected, applied);
    let view = asked(json!({"mode": "view", "view": "brief"}));
    let applied = json!({"applied": true, "mode": "view", "view": "brief", "fields": ["id"]});
    check(&view, BOTH, expected, applied);
}

#[test]
fn everything_is_a_projection_too() {
    let expected = BOTH.replace(r#""{\"id\":1}""#, r#""{\"id\": 1 ,\"body\":\"b\"}""#);
    let view = asked(json!({"mode": "view", "view": "all"}));
    let applied = json!({"applied": true, "mode": "view", "view": "all", "fields": null});
    check(&view, BOTH, &expected, applied);
    let applied = json!({"applied": true, "mode": "include", "fields": []});
    check(&include(&[]), BOTH, &expected, applied);
}

#[test]
fn nothing_asked_is_nothing_done() {
    let document = Document::new(BOTH);
    let projected = plain()
        .project(&tool(), &json!({"name": "list"}), &document)
        .unwrap();
    assert!(matches!(projected.json, std::borrow::Cow::Borrowed(_)));
    assert_eq!((&*projected.json, projected.reply), (BOTH.as_bytes(), None));
}

#[test]
fn several_texts_become_one() {
    let result = r#"{"content":[{"type":"image","data":"aa"},{"type":"text","text":"a"}, {"type":"text","text":"b"} , {"type":"audio","data":"bb"},{"type":"text","text":"c"}],"structuredContent":{"id":1,"body":"b"}}"#;
    let expected = r#"{"content":[{"type":"image","data":"aa"},{"type":"text","text":"{\"id\":1}"} , {"type":"audio","data":"bb"}],"structuredContent":{"id":1}}"#;
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), result, expected, applied.clone());
    let result = r#"{"content":[],"structuredContent":{"id":1,"body":"b"}}"#;
    let expected = r#"{"content":[],"structuredContent":{"id":1}}"#;
    check(&include(&["id"]), result, expected, applied);
}

#[test]
fn a_text_that_is_json_is_cut() {
    let result = r#"{"content":[{"type":"text","text":"[{\"id\":1.50,\"body\":\"\\n\"}]"},{"type":"image","data":"aa"}]}"#;
    let expected =
        r#"{"content":[{"type":"text","text":"[{\"id\":1.50}]"},{"type":"image","data":"aa"}]}"#;
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), result, expected, applied);
}

/// A request that is not followed: the result as it came, and this reason.
fn refuse(projector: &Projector, tool: &Tool, params: &Value, result: &str, reason: &str) {
    let (json, reply) = run(projector, tool, params, result);
    assert_eq!(json, result, "{params}");
    assert_eq!(reply["applied"], json!(false));
    assert_eq!(reply["reason"], json!(reason));
    assert!(reply.get("fields").is_none() && reply.get("projectedSchema").is_none());
}

#[test]
fn what_cannot_be_followed_gives_the_whole_and_a_reason() {
    let include_only = Projector::new(
        Capability::default()
            .with_modes([Mode::Include])
            .with_max_depth(2),
    );
    let exclude = asked(json!({"mode": "exclude", "fields": ["id"]}));
    refuse(
        &include_only,
        &tool(),
        &exclude,
        BOTH,
        "mode `exclude` is not supported",
    );
    let deep = include(&["id", "a[].b[0][].c"]);
    refuse(
        &include_only,
        &tool(),
        &deep,
        BOTH,
        "path `a[].b[0][].c` is deeper than 2",
    );
    // Brackets lead deeper, too.
    let deep = include(&["[0][0][0]"]);
    let reason = "path `[0][0][0]` is deeper than 2";
    refuse(&include_only, &tool(), &deep, BOTH, reason);
    let (_, reply) = run(&include_only, &tool(), &include(&["a[]", "id.x"]), BOTH);
    assert_eq!(reply["applied"], json!(true));
    let view = asked(json!({"mode": "view", "view": "wide"}));
    refuse(
        &plain(),
        &tool(),
        &view,
        BOTH,
        "the view is not one of `brief`, `all`",
    );
    refuse(
        &plain(),
        &Tool::default(),
        &view,
        BOTH,
        "the tool has no views",
    );
    let odd = asked(json!({"mode": "include", "fields": 7}));
    refuse(
        &plain(),
        &tool(),
        &odd,
        BOTH,
        "`fields` is not a list of strings",
    );
    let mut closed = tool();
    closed.annotation.supported = false;
    refuse(
        &plain(),
        &closed,
        &include(&["id"]),
        BOTH,
        "the tool does not support projection",
    );
}

#[test]
fn what_a_page_reads_stays_whole() {
    let mut paged = tool();
    paged.has_page = true;
    let reason = "the tool has a page that reads the whole result";
    refuse(&plain(), &paged, &include(&["id"]), BOTH, reason);
    let result = r#"{"content":[],"structuredContent":{"id":1,"b":2},"_meta":{"ui":{"resourceUri":"ui://x"}}}"#;
    refuse(&plain(), &tool(), &include(&["id"]), result, reason);
}

#[test]
fn what_is_no_json_stays_whole() {
    let reason = "the result has no `structuredContent`, and no single text that is JSON";
    for result in [
        r#"{"content":[{"type":"text","text":"hello"}]}"#,
        r#"{"content":[{"type":"text","text":"7"}]}"#,
        r#"{"content":[{"type":"text","text":"{}"},{"type":"text","text":"{}"}]}"#,
        r#"{"content":[{"type":"image","data":"aa"}]}"#,
        r#"{"content":[],"structuredContent":null}"#,
        r#"{"content":7}"#,
        r#"{"content":[7,{"type":"text"},{"type":"text","text":7}]}"#,
        r#"{"structuredContent":null}"#,
        r#"{"isError":false}"#,
    ] {
        let document = Document::new(result);
        let projected = plain()
            .project(&tool(), &include(&["id"]), &document)
            .unwrap();
        let reply = projected.reply.unwrap();
        assert_eq!(
            (reply.applied, reply.reason.as_deref()),
            (false, Some(reason)),
            "{result}"
        );
        let mut written: Value = serde_json::from_slice(&projected.json).unwrap();
        written.as_object_mut().unwrap().remove("_meta");
        assert_eq!(written, serde_json::from_str::<Value>(result).unwrap());
    }
}

#[test]
fn errors_are_untouched() {
    let result = r#"{ "isError":true,"content":[{"type":"text","text":"{\"id\":1,\"body\":2}"}], "structuredContent":{"id":1,"body":"b"} }"#;
    check(&include(&["id"]), result, result, Value::Null);
    check(&asked(json!(7)), result, result, Value::Null);
    let fine = result.replace("true", "false");
    let (_, reply) = run(&plain(), &tool(), &include(&["id"]), &fine);
    assert_eq!(reply["applied"], json!(true));
}

#[test]
fn other_metadata_is_kept() {
    let result =
        r#"{"_meta" : { "trace" : [1.0] } ,"content":[],"structuredContent":{"id":1,"body":"b"}}"#;
    let document = Document::new(result);
    let projected = plain()
        .project(&Tool::default(), &include(&["id"]), &document)
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&projected.json),
        r#"{"_meta" : { "trace" : [1.0],"dev.crossfeed/projection":{"applied":true,"mode":"include","fields":["id"]} } ,"content":[],"structuredContent":{"id":1}}"#
    );
    // What a server said before is not what was done now; and what is not an object cannot be added to.
    for meta in [
        r#"{"dev.crossfeed\/projection":{"applied":true,"fields":["body"]}}"#,
        "null",
        "7",
        "{}",
    ] {
        let result =
            format!(r#"{{"content":[],"structuredContent":{{"id":1,"body":"b"}},"_meta":{meta}}}"#);
        let document = Document::new(result);
        let projected = plain()
            .project(&Tool::default(), &include(&["id"]), &document)
            .unwrap();
        let written: Value = serde_json::from_slice(&projected.json).unwrap();
        assert_eq!(written["_meta"].as_object().unwrap().len(), 1, "{meta}");
        assert!(Reply::is_applied(&written));
        assert_eq!(written["structuredContent"], json!({"id": 1}));
    }
}

#[test]
fn unknown_fields_are_noted() {
    let (_, reply) = run(&plain(), &tool(), &include(&["id", "boddy"]), BOTH);
    assert_eq!(reply["diagnostics"][0]["kind"], json!("unknown_field"));
    assert_eq!(reply["diagnostics"][0]["nearest"], json!(["body"]));
}

#[test]
fn the_schema_of_what_is_left_is_announced() {
    let (json, reply) = run(&plain(), &tool(), &include(&["id"]), BOTH);
    assert_eq!(reply["projectedSchema"]["required"], json!(["id"]));
    let value: Value = serde_json::from_str(&json).unwrap();
    let validator = crossfeed_schema::compile(&reply["projectedSchema"]).unwrap();
    assert!(validator.is_valid(&value["structuredContent"]));
    // A result that breaks its own schema.
    let broken = BOTH.replace(r#""id": 1 "#, r#""id":"one""#);
    let (_, reply) = run(&plain(), &tool(), &include(&["id"]), &broken);
    assert_eq!(reply["applied"], json!(true));
    assert!(reply.get("projectedSchema").is_none());
    assert_eq!(reply["diagnostics"][0]["kind"], json!("breaks_schema"));
    // A schema that is none.
    let mut odd = tool();
    odd.output_schema = Some(json!({"type": "objekt"}));
    let (_, reply) = run(&plain(), &odd, &include(&["id"]), BOTH);
    assert_eq!(reply["diagnostics"][0]["kind"], json!("no_schema"));
    // A number that no validator reads.
    let huge = BOTH.replace(r#""id": 1 "#, r#""id":1e400"#);
    let (json, reply) = run(&plain(), &tool(), &include(&["id"]), &huge);
    assert!(json.contains(r#""structuredContent":{"id":1e400}"#));
    assert_eq!(reply["diagnostics"][0]["kind"], json!("no_schema"));
}

#[test]
fn duplicate_keys_show_once() {
    let result = r#"{"structuredContent":{"pw":1},"content":[],"structuredContent":{"id":1,"id":2,"body":"b"}}"#;
    let expected = r#"{"structuredContent":{"id":2},"content":[]}"#;
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), result, expected, applied);
}

#[test]
fn what_is_no_result_is_an_error() {
    let project = |raw: &str| {
        let document = Document::new(raw.to_owned());
        plain()
            .project(&tool(), &json!({}), &document)
            .map(|_| ())
            .unwrap_err()
    };
    assert!(matches!(project("{"), ResultError::NotJson(_)));
    assert_eq!(project("[]"), ResultError::NotAnObject);
    for none in ["{}", r#"{"_meta":{}}"#, r#"{"type":"text","text":"a"}"#] {
        assert_eq!(project(none), ResultError::NotAResult);
    }
}

#[test]
fn a_claim_of_another_is_none_of_ours() {
    let claim = r#"{"applied":true,"mode":"include","fields":["zz"]}"#;
    let claimed = |rest: &str| {
        format!(
            r#"{{"_meta":{{"dev.crossfeed/projection":{claim},"a" : 1.0,"projection":{claim}}},{rest}}}"#
        )
    };
    let without = |rest: &str| format!(r#"{{"_meta":{{"a" : 1.0}},{rest}}}"#);
    let fine = r#""content":[],"structuredContent":{"id":1}"#;
    let failed = r#""content":[ ],"isError":true"#;
    let nothing = json!({});
    check(&nothing, &claimed(fine), &without(fine), Value::Null);
    check(&nothing, &claimed(failed), &without(failed), Value::Null);
    check(
        &include(&["id"]),
        &claimed(failed),
        &without(failed),
        Value::Null,
    );
    let odd = asked(json!({"mode": "zip"}));
    let reason = "`mode` is not one of `include`, `exclude` and `view`";
    let refused = json!({"applied": false, "reason": reason});
    check(&odd, &claimed(fine), &without(fine), refused);
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), &claimed(fine), &without(fine), applied);
    // What is not an object claims nothing.
    let odd = r#"{"_meta":["projection"],"content":[]}"#;
    check(&nothing, odd, odd, Value::Null);
}

#[test]
fn keys_that_repeat_stay_where_nothing_is_done() {
    let twice = r#"{ "content" : [ ] , "a":1, "a": 2 }"#;
    check(&json!({}), twice, twice, Value::Null);
    let failed = r#"{"content":[],"isError":true,"a":1,"a":2}"#;
    check(&include(&["id"]), failed, failed, Value::Null);
    let twice = r#"{"content":[],"a":1,"a":2,"structuredContent":{"id":1,"id":2,"b":3}}"#;
    let once = r#"{"content":[],"a":2,"structuredContent":{"id":2}}"#;
    let applied = json!({"applied": true, "mode": "include", "fields": ["id"]});
    check(&include(&["id"]), twice, once, applied);
}
