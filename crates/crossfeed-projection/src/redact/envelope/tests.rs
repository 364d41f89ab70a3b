use crate::RevealRules;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use crossfeed_json::{Document, MAX_DEPTH};
use serde_json::{Value, json};

/// Judges what is left of a tool result by rules; `None`, if it is all of it.
fn check(never: &[&str], result: &Value, expected: Option<Value>) {
    let rules = RevealRules::parse([""; 0], never).unwrap();
    let document = Document::new(result.to_string());
    let shown = rules.redact_result(document.root().unwrap());
    let shown = shown.map(|shown| String::from_utf8(shown.json).unwrap());
    assert_eq!(
        shown,
        expected.map(|expected| expected.to_string()),
        "{never:?} {result}"
    );
}

/// The same of the only part of a result.
fn check_part(never: &[&str], part: Value, expected: Value) {
    let expected = (part != expected).then(|| json!({"content": [expected]}));
    check(never, &json!({"content": [part]}), expected);
}

fn text(text: impl ToString) -> Value {
    json!({"type": "text", "text": text.to_string()})
}

fn resource(resource: Value) -> Value {
    json!({"type": "resource", "resource": resource})
}

fn blob(bytes: impl AsRef<[u8]>) -> Value {
    resource(json!({"uri": "a://b", "blob": STANDARD.encode(bytes)}))
}

#[test]
fn what_hides_nothing_stays() {
    let result = json!({
        "content": [text("hi"), text("{\"a\":1}"), {"type": "image", "data": "?"}, blob("{}"), 7],
        "structuredContent": {"a": 1}, "isError": false, "_meta": {"b": 1}, "x": null
    });
    check(&["pw", "u.m", "[0].q"], &result, None);
    check(&[], &json!({"content": [text("pw")]}), None);
}

#[test]
fn names_hold_for_all_that_a_part_has() {
    let pw = &["pw"][..];
    let own = || json!({"pw": 1, "n": {"pw": 2}});
    let cut = || json!({"n": {}});
    check_part(
        pw,
        json!({"type": "text", "text": "{}", "pw": 1, "annotations": own(), "_meta": own()}),
        json!({"type": "text", "text": "{}", "annotations": cut(), "_meta": cut()}),
    );
    check_part(
        pw,
        json!({"type": "data", "data": own(), "pw": "x"}),
        json!({"type": "data", "data": cut()}),
    );
    check_part(
        pw,
        resource(json!({"uri": "a", "_meta": own(), "text": "{\"pw\":1}"})),
        resource(json!({"uri": "a", "_meta": cut(), "text": "{}"})),
    );
    check_part(
        pw,
        json!({"type": "resource_link", "uri": "a", "name": "n", "pw": 1, "title": "the pw is x"}),
        json!({"type": "resource_link", "uri": "a", "name": "[withheld]", "title": "[withheld]"}),
    );
    let address =
        |uri: &str, name: &str| json!({"type": "resource_link", "uri": uri, "name": name});
    for (uri, left) in [("a:b?{\"pw\":1}", "[withheld]"), ("{\"pw\":1}", "{}")] {
        check_part(pw, address(uri, "n"), address(left, "[withheld]"));
    }
    check_part(
        pw,
        resource(json!({"uri": "data:application/json,{\"pw\":1}", "text": ""})),
        resource(json!({"uri": "[withheld]", "text": "[withheld]"})),
    );
    let encoded = STANDARD.encode(r#"{"pw":"a>?~x"}"#);
    let coded = encoded.replace('=', "%3D").replace('e', "%65");
    for data in [
        format!("data:application/json;base64,{encoded}"),
        format!("DATA:;charset=utf-8; BASE64,{encoded}"),
        format!("data:image/png;base64,{}", encoded.trim_end_matches('=')),
        format!("data:%3bBase%364,{coded}"),
    ] {
        let left = address("[withheld]", "[withheld]");
        check_part(pw, address(&data, "n"), left);
        let left = resource(json!({"uri": "[withheld]", "text": "[withheld]"}));
        check_part(pw, resource(json!({"uri": data, "text": "a"})), left);
    }
    for data in [
        format!("data:;base64,%%%{encoded}"),
        format!("data:text/plain;base64,{}", STANDARD.encode("the pw is x")),
    ] {
        check_part(pw, address(&data, "n"), address("[withheld]", "n"));
    }
    let harmless = format!("data:text/plain;base64,{}", STANDARD.encode("hello"));
    for kept in [harmless.as_str(), "a:b?100%&c=%2", "data:,;base64"] {
        check_part(pw, address(kept, "n"), address(kept, "n"));
    }
    check_part(
        pw,
        address("a://pw/b?c=pw", "n"),
        address("a://pw/b?c=pw", "n"),
    );
    check_part(pw, own(), cut());
    check_part(pw, json!("{\"pw\":1}"), json!("{}"));
    check_part(pw, json!([own()]), json!([cut()]));
    check_part(
        pw,
        json!({"type": "text", "text": own()}),
        json!({"type": "text", "text": cut()}),
    );
    check_part(pw, resource(json!("pw")), resource(json!("pw")));
}

#[test]
fn names_hold_for_all_that_a_result_has() {
    let pw = &["pw"][..];
    let own = || json!({"pw": 1, "n": 2});
    let cut = || json!({"n": 2});
    for key in ["structuredContent", "content", "isError", "_meta", "x"] {
        check(pw, &json!({key: own()}), Some(json!({key: cut()})));
    }
    check(
        pw,
        &json!({"content": "{\"pw\":1}"}),
        Some(json!({"content": "{}"})),
    );
    check(
        pw,
        &json!({"content": [], "pw": 1}),
        Some(json!({"content": []})),
    );
    check(
        pw,
        &json!({"content": {"a": {"type": "text", "text": "{\"pw\":1}"}}}),
        Some(json!({"content": {"a": {"type": "text", "text": "{}"}}})),
    );
    check(
        pw,
        &json!({"content": [], "structuredContent": "the pw is x"}),
        Some(json!({"content": [], "structuredContent": "[withheld]"})),
    );
}

#[test]
fn what_makes_a_result_stays() {
    let names = [
        "text",
        "type",
        "content",
        "structuredContent",
        "isError",
        "resource",
        "uri",
        "data",
    ];
    let result = json!({
        "content": [text("fine"), resource(json!({"uri": "a", "text": "fine"})), {"type": "image", "data": "a"}],
        "isError": true
    });
    check(&names, &result, None);
    let result = json!({"content": [text("{\"text\":1}")], "structuredContent": {"type": 1, "n": 2}, "x": {"text": 3}});
    let expected = json!({"content": [text("{}")], "structuredContent": {"n": 2}, "x": {}});
    check(&names, &result, Some(expected));
}

#[test]
fn paths_begin_at_what_a_part_stands_for() {
    let path = &["owner.mail"][..];
    let (own, cut) = (|| json!({"owner": {"mail": 1}}), || json!({"owner": {}}));
    let data = |own: Value| {
        let mut part = own;
        part["type"] = json!("data");
        part
    };
    check_part(path, text(own()), text(cut()));
    check_part(path, own(), cut());
    check_part(path, data(own()), data(cut()));
    check_part(path, resource(own()), resource(cut()));
    check_part(path, blob(own().to_string()), blob(cut().to_string()));
    let two = |own: Value| json!({"content": [data(own.clone()), text(own)]});
    for never in ["owner.mail", "[].owner.mail"] {
        check(&[never], &two(own()), Some(two(cut())));
    }
    check(
        &["[1].pin"],
        &json!({"content": [text("{\"a\":{\"pin\":1}}"), text("{\"pin\":1}")]}),
        Some(json!({"content": [text("{\"a\":{\"pin\":1}}"), text("{}")]})),
    );
    check(
        &["[0]"],
        &json!({"content": [data(own()), text("{}")]}),
        Some(json!({"content": [text("[withheld]"), text("{}")]})),
    );
    // `[].pin` is not a name: it holds for the items of the list, and not below.
    check(
        &["[].pin"],
        &json!({"content": [text("{\"a\":{\"pin\":1}}"), text("{\"pin\":1}")]}),
        Some(json!({"content": [text("{\"a\":{\"pin\":1}}"), text("{}")]})),
    );
    let deep = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    check_part(&["[].pin"], text(deep), text("[withheld]"));
    check(
        path,
        &json!({"content": own()}),
        Some(json!({"content": cut()})),
    );
}

#[test]
fn paths_begin_at_the_result_too() {
    check(
        &["_meta.trace"],
        &json!({"content": [], "_meta": {"trace": 1, "n": 2}}),
        Some(json!({"content": [], "_meta": {"n": 2}})),
    );
    check(
        &["structuredContent.k"],
        &json!({"content": [text("it is 7"), text("[7]")], "structuredContent": {"k": 7}}),
        Some(json!({"content": [text("[withheld]"), text("[withheld]")], "structuredContent": {}})),
    );
    // All that is there: what is left is a result still.
    check(
        &["*"],
        &json!({"content": [text("it is 7")], "structuredContent": {"k": 7}}),
        Some(json!({"content": []})),
    );
    check(
        &["*[]"],
        &json!({"content": [7], "structuredContent": [7]}),
        Some(json!({"content": [], "structuredContent": []})),
    );
}

#[test]
fn a_text_may_repeat_what_is_hidden_beside_it() {
    let pw = &["pw"][..];
    let gone = || text("[withheld]");
    let own = || json!({"pw": 7, "n": 1});
    let cut = || json!({"n": 1});
    check(
        pw,
        &json!({"content": [text("it is 7"), text("7"), text("[7]"), text(own()), text("{\"n\":1}")], "structuredContent": own()}),
        Some(
            json!({"content": [gone(), gone(), gone(), text(cut()), gone()], "structuredContent": cut()}),
        ),
    );
    // Anywhere.
    let prose = || {
        json!([
            text("it is 7"),
            resource(json!({"uri": "a", "text": "it is 7", "title": "7"})),
            blob("it is 7"),
            blob([0xff, 0xfe]),
            {"type": "resource_link", "uri": "a", "name": "7", "title": "7", "description": "7"},
            "it is 7"
        ])
    };
    let withheld = || {
        json!([
            gone(),
            resource(json!({"uri": "a", "text": "[withheld]", "title": "[withheld]"})),
            blob("[withheld]"),
            blob("[withheld]"),
            {"type": "resource_link", "uri": "a", "name": "[withheld]", "title": "[withheld]", "description": "[withheld]"},
            "[withheld]"
        ])
    };
    for key in ["structuredContent", "_meta", "x"] {
        check(
            pw,
            &json!({"content": prose(), key: own()}),
            Some(json!({"content": withheld(), key: cut()})),
        );
    }
    let mut content = prose();
    content.as_array_mut().unwrap().push(text(own()));
    let mut expected = withheld();
    expected.as_array_mut().unwrap().push(text(cut()));
    check(
        pw,
        &json!({"content": content}),
        Some(json!({"content": expected})),
    );
    // Pictures do not, and neither does JSON beside other JSON.
    let picture =
        resource(json!({"uri": "a", "mimeType": "image/png", "blob": STANDARD.encode([0xff, 1])}));
    check(
        pw,
        &json!({"content": [picture, text("[7]"), text(own())]}),
        Some(json!({"content": [picture, text("[7]"), text(cut())]})),
    );
}

#[test]
fn what_can_be_told_again_is_known() {
    let repeated = |result: Value| {
        let rules = RevealRules::parse([""; 0], ["pw"]).unwrap();
        let document = Document::new(result.to_string());
        rules
            .redact_result(document.root().unwrap())
            .unwrap()
            .repeated
    };
    let own = json!({"pw": 7});
    assert!(repeated(
        json!({"content": [text("it is 7")], "structuredContent": own})
    ));
    assert!(!repeated(
        json!({"content": [text(&own)], "structuredContent": own})
    ));
    assert!(!repeated(
        json!({"content": [text("it is 7")], "_meta": own})
    ));
}

#[test]
fn what_was_withheld_for_its_name_says_nothing_of_others() {
    check(
        &["pw"],
        &json!({"content": [text("the pw is x"), text("hello")]}),
        Some(json!({"content": [text("[withheld]"), text("hello")]})),
    );
}

#[test]
fn bytes_are_read_as_forgiving_readers_do() {
    let own = r#"{"pw":"a>?~x"}"#;
    let as_blob = |encoded: String| resource(json!({"uri": "a", "blob": encoded}));
    let cut = as_blob(STANDARD.encode("{}"));
    let mut split = STANDARD.encode(own);
    split.insert_str(6, "\r\n ");
    for encoded in [
        STANDARD.encode(own),
        STANDARD_NO_PAD.encode(own),
        URL_SAFE_NO_PAD.encode(own),
        split,
    ] {
        check_part(&["pw"], as_blob(encoded), cut.clone());
    }
    for odd in ["%%%", "data:;base64,e30=", "a"] {
        check_part(&["pw"], as_blob(odd.to_owned()), blob_of_note());
    }
    // A text of two bytes a character.
    let wide: Vec<u8> = own.encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_part(&["pw"], as_blob(STANDARD.encode(&wide)), blob_of_note());
    let wide: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    check_part(&["pw"], blob(&wide), blob(&wide));
    // Media that say they are something else.
    let media = |kind: &str, mime: &str, data: &str| json!({"type": kind, "mimeType": mime, "data": STANDARD.encode(data)});
    for (kind, mime) in [
        ("image", "application/json"),
        ("audio", "text/plain"),
        ("image", "image/svg+xml"),
    ] {
        check_part(&["pw"], media(kind, mime, own), media(kind, mime, "{}"));
        check_part(
            &["pw"],
            media(kind, mime, "pw: x"),
            media(kind, mime, "[withheld]"),
        );
    }
    check_part(
        &["pw"],
        media("image", "image/png", "pw"),
        media("image", "image/png", "pw"),
    );
    check_part(
        &["pw"],
        json!({"type": "image", "data": {"pw": 1}}),
        json!({"type": "image", "data": {}}),
    );
}

fn blob_of_note() -> Value {
    resource(json!({"uri": "a", "blob": STANDARD.encode("[withheld]")}))
}

#[test]
fn json_beyond_a_limit_is_withheld() {
    let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
    check_part(&["pw"], text(&deep), text("[withheld]"));
    check_part(
        &["pw"],
        resource(json!({"uri": "a", "text": deep})),
        resource(json!({"uri": "a", "text": "[withheld]"})),
    );
    check_part(&["pw"], blob_at("a", &deep), blob_of_note());
    check(
        &["pw"],
        &json!({"structuredContent": deep}),
        Some(json!({"structuredContent": "[withheld]"})),
    );
}

fn blob_at(uri: &str, bytes: &str) -> Value {
    resource(json!({"uri": uri, "blob": STANDARD.encode(bytes)}))
}

#[test]
fn what_stands_twice_is_written_once() {
    let rules = RevealRules::parse([""; 0], ["pw"]).unwrap();
    let shown = |json: &str| {
        let document = Document::new(json.to_owned());
        let shown = rules.redact_result(document.root().unwrap()).unwrap();
        (String::from_utf8(shown.json).unwrap(), shown.is_cut)
    };
    assert_eq!(
        shown(r#"{"content":[],"a":{"pw":1},"a":2}"#),
        (r#"{"content":[],"a":2}"#.to_owned(), false)
    );
    assert_eq!(
        shown(r#"{"content":[{"type":"text","text":"x","pw":1,"pw":2}]}"#),
        (
            r#"{"content":[{"type":"text","text":"[withheld]"}]}"#.to_owned(),
            true
        )
    );
}
