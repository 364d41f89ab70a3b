//! Edits in references: what comes out, in every place where a reference may stand.

use super::Session;
use crate::{
    Engine, EngineOptions, RenderOptions, RevealPolicy, ToolResult,
    lineage::{LineageEntry, ReferenceEdit},
    session::reveal_laws::run,
};
use crossfeed_edit::EditLimits;
use crossfeed_json::Document;
use crossfeed_projection::RevealRules;
use crossfeed_wire::{CallId, ErrorCode, Scope, reference::EditKind};
use proptest::prelude::*;
use serde_json::{Value, json};

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn with(options: EngineOptions) -> Session {
    Engine::in_memory(options).session(Scope::parse("t", "p", "s").unwrap())
}

fn on() -> EngineOptions {
    EngineOptions::default().with_edits(EditLimits::default())
}

async fn recorded<const N: usize>(
    options: EngineOptions,
    results: [(&str, ToolResult); N],
) -> Session {
    let session = with(options);
    for (id, result) in results {
        session.record(&call(id), result).await.unwrap();
    }
    session
}

const PAGE: &str = r#"{"title": "Caf\u00e9", "price": 1.50, "tags": ["a", "b"], "pin": 7}"#;

async fn page() -> Session {
    let text = ToolResult::text("First line.\nSecond line.\n");
    let held = ToolResult::text(" {\"n\":  1, \"list\": [1.0]}\n");
    let results = [
        ("c", ToolResult::json(PAGE).with_tool("get_page")),
        ("t", text),
        ("h", held),
        ("n", ToolResult::json("41")),
    ];
    recorded(on(), results).await
}

/// The arguments that come out, which are the same by values and by bytes.
async fn resolved(session: &Session, arguments: &Value) -> Value {
    let by_value = session.resolve(arguments.clone(), None).await;
    let by_value = by_value.unwrap();
    let by_bytes = session.resolve_json(arguments.to_string(), None).await;
    let by_bytes = by_bytes.unwrap();
    let bytes: Value = serde_json::from_slice(&by_bytes.arguments.to_vec()).unwrap();
    assert_eq!(by_value.arguments, bytes, "{arguments}");
    // Numbers in bytes keep their digits, so sizes may differ.
    let places = |lineage: &[LineageEntry]| -> Vec<_> {
        let place = |link: &LineageEntry| {
            let source = &link.source;
            let kind = source.edit.as_ref().map(|edit| edit.kind);
            (link.at.clone(), source.call_id.clone(), kind)
        };
        lineage.iter().map(place).collect()
    };
    let (one, other) = (places(&by_value.lineage), places(&by_bytes.lineage));
    assert_eq!(one, other, "{arguments}");
    bytes
}

async fn check(arguments: Value, expected: Value) {
    assert_eq!(
        resolved(&page().await, &arguments).await,
        expected,
        "{arguments}"
    );
}

/// The bytes that come out.
async fn check_bytes(arguments: &str, expected: &str) {
    let resolved = page().await.resolve_json(arguments.to_owned(), None).await;
    let resolved = resolved.unwrap().arguments.to_vec();
    assert_eq!(
        String::from_utf8(resolved).unwrap(),
        expected,
        "{arguments}"
    );
}

/// What is refused, and what is advised.
async fn check_refused(session: &Session, arguments: Value, code: ErrorCode, told: &[&str]) {
    let by_value = session.resolve(arguments.clone(), None).await.unwrap_err();
    let by_bytes = session.resolve_json(arguments.to_string(), None).await;
    let by_bytes = by_bytes.unwrap_err();
    assert_eq!(by_value.to_string(), by_bytes.to_string(), "{arguments}");
    let failures = by_value.failures();
    assert_eq!(failures.len(), 1, "{arguments}: {by_value}");
    let failure = &failures[0];
    assert_eq!(failure.error.code(), code, "{arguments}: {failure}");
    for part in told {
        assert!(failure.to_string().contains(part), "{arguments}: {failure}");
    }
}

#[test]
fn each_kind_of_edit_is_made_after_the_selector_and_keeps_the_other_bytes() {
    run(async {
        check_bytes(
            r#"{"x": {"$tool": "c", "$merge": {"tags": null, "price": 2.50}}}"#,
            r#"{"x":{"title": "Caf\u00e9", "price": 2.50, "pin": 7}}"#,
        )
        .await;
        check_bytes(
            r#"{"x": {"$tool": "c", "$select": "tags", "$patch": [{"op": "add", "path": "/-", "value": 1.0}]}}"#,
            r#"{"x":["a", "b", 1.0]}"#,
        )
        .await;
        check_bytes(
            r#"{"x": {"_tool": "c", "_select": "title", "_edit": [{"old": "Caf", "new": "Bar"}]}}"#,
            r#"{"x":"Bar\u00e9"}"#,
        )
        .await;
        let edit = json!([{"old": "line", "new": "row", "all": true}]);
        let expected = json!({"x": "First row.\nSecond row.\n"});
        check(json!({"x": {"$tool": "t", "$edit": edit}}), expected).await;
        let whole = json!([{"op": "replace", "path": "", "value": {"a": 42}}]);
        check(
            json!({"x": {"$tool": "n", "$patch": whole}}),
            json!({"x": {"a": 42}}),
        )
        .await;
    });
}

#[test]
fn a_patch_or_a_merge_of_a_text_that_holds_json_is_made_within_it() {
    run(async {
        check(
            json!({"x": {"$tool": "h", "$merge": {"n": 2}}}),
            json!({"x": " {\"n\":  2, \"list\": [1.0]}\n"}),
        )
        .await;
        let patch = json!([{"op": "remove", "path": "/list/0"}]);
        check(
            json!({"x": {"$tool": "h", "$patch": patch}}),
            json!({"x": " {\"n\":  1, \"list\": []}\n"}),
        )
        .await;
        // Any other text is replaced, as RFC 7396 has it.
        check(
            json!({"x": {"$tool": "t", "$merge": {"a": 1}}}),
            json!({"x": {"a": 1}}),
        )
        .await;
    });
}

#[test]
fn edits_stand_wherever_a_reference_may() {
    run(async {
        let edit = json!([{"old": "Caf", "new": "Bar"}]);
        let title = json!({"$tool": "c", "$select": "title", "$edit": edit});
        check(json!({"$refs": {"x": title}}), json!({"x": "Bar\u{e9}"})).await;
        let entry = json!({"to": "x", "tool": "c", "select": "title", "edit": edit});
        check(json!({"_refs": [entry]}), json!({"x": "Bar\u{e9}"})).await;
        let text = json!({"$template": "{a}, {a}", "$with": {"a": title}});
        check(json!({"x": text}), json!({"x": "Bar\u{e9}, Bar\u{e9}"})).await;
        check(json!({"x": title.to_string()}), json!({"x": "Bar\u{e9}"})).await;
        check(
            json!({"x": [title, title]}),
            json!({"x": ["Bar\u{e9}", "Bar\u{e9}"]}),
        )
        .await;
        // The default is a value as well.
        let stand_in = json!({
            "$tool": "c", "$select": "missing", "$default": [1],
            "$patch": [{"op": "add", "path": "/0", "value": 0}],
        });
        check(json!({"x": stand_in}), json!({"x": [0, 1]})).await;
        // What a tool declares is its own.
        let own = json!({"x": {"$patch": [1], "other": 2}});
        check(own.clone(), own).await;
    });
}

#[test]
fn edits_hold_references() {
    run(async {
        let number = json!({"$tool": "n"});
        check(
            json!({"x": {"$tool": "c", "$select": "tags", "$patch": [
                {"op": "test", "path": "/0", "value": {"$tool": "c", "$select": "tags[0]"}},
                {"op": "replace", "path": "/1", "value": {"deep": [number]}},
            ]}}),
            json!({"x": ["a", {"deep": [41]}]}),
        )
        .await;
        let inner = json!({"$tool": "h", "$merge": {"n": number}});
        check(
            json!({"x": {"$tool": "n", "$merge": {"inner": inner, "literal": {"$literal": {"$tool": "c"}}}}}),
            json!({"x": {"inner": " {\"n\":  41, \"list\": [1.0]}\n", "literal": {"$tool": "c"}}}),
        )
        .await;
        let text = json!({"$template": "{a}st", "$with": {"a": number}});
        check(
            json!({"$refs": {"x": {"$tool": "t", "$edit": [{"old": "First", "new": text}]}}}),
            json!({"x": "41st line.\nSecond line.\n"}),
        )
        .await;
        // What only looks like a reference to models is data in a patch.
        check(
            json!({"x": {"$tool": "n", "$patch": [{"op": "add", "path": "", "value": "{{c.price}}"}]}}),
            json!({"x": "{{c.price}}"}),
        )
        .await;
        let session = page().await;
        let in_text = json!({"$tool": "n", "$merge": {"a": number}}).to_string();
        let code = ErrorCode::ReferenceMalformed;
        let told = [
            "is not looked for",
            "write the reference and its edit as objects",
        ];
        check_refused(&session, json!({"x": in_text}), code, &told).await;
        // What it holds is told of, not the edit that cannot be made without it.
        let missing = json!({"$tool": "n", "$merge": {"a": {"$tool": "nobody"}}});
        let code = ErrorCode::ResultUnknown;
        check_refused(&session, json!({"x": missing}), code, &["`nobody`"]).await;
    });
}

#[test]
fn what_cannot_be_made_says_why_and_what_to_do() {
    run(async {
        let session = page().await;
        let refused = async |edit: Value, code: ErrorCode, told: &[&str]| {
            let mut reference = json!({"$tool": "t"});
            let members = reference.as_object_mut().unwrap();
            members.extend(edit.as_object().unwrap().clone());
            check_refused(&session, json!({"x": reference}), code, told).await;
        };
        let miss = json!({"$edit": [{"old": "Second  line,", "new": "x"}]});
        let told = [
            "`$edit`: operation 0: `old` does not occur",
            "line 2",
            "(call `t`, argument `/x`)",
        ];
        refused(miss, ErrorCode::EditFailed, &told).await;
        let many = json!({"_edit": [{"old": "line", "new": "x"}]});
        refused(many, ErrorCode::EditFailed, &["`_edit`", "occurs 2 times"]).await;
        let shape = json!({"$patch": {"op": "add"}});
        refused(shape, ErrorCode::EditMalformed, &["a list of operations"]).await;
        let two = json!({"$patch": [], "$merge": {}});
        let told = ["`$patch` and `$merge` both", "leave one of them out"];
        refused(two, ErrorCode::ReferenceMalformed, &told).await;
        let alone = json!({"x": {"$edit": []}});
        let told = [
            "`$edit` changes the value of a reference",
            "write `$tool` beside",
        ];
        check_refused(&session, alone, ErrorCode::ReferenceMalformed, &told).await;
        let limits = EditLimits::default().with_bytes(20);
        let options = EngineOptions::default().with_edits(limits);
        let small = recorded(options, [("c", ToolResult::json(PAGE))]).await;
        let added = json!({"x": {"$tool": "c", "$merge": {"a": 1}}});
        check_refused(
            &small,
            added,
            ErrorCode::LimitExceeded,
            &["limit of 20 bytes"],
        )
        .await;
    });
}

#[test]
fn edits_are_off_unless_the_host_wants_them() {
    run(async {
        let session = recorded(EngineOptions::default(), [("c", ToolResult::json(PAGE))]).await;
        let code = ErrorCode::ReferenceMalformed;
        let told = [
            "is switched off here",
            "`references.edits` in the configuration",
        ];
        for written in [
            json!({"$tool": "c", "$patch": []}),
            json!({"_tool": "c", "_merge": {}}),
            json!({"$edit": []}),
            json!({"$tool": "c", "$digest": "abc"}),
            json!({"$tool": "c", "$edit": [{"old": {"$tool": "c", "$select": "title"}, "new": "x"}]}),
        ] {
            check_refused(&session, json!({"x": written}), code, &told).await;
        }
        let data = json!({"x": {"$merge": {"a": 1}, "note": "mine"}});
        assert_eq!(resolved(&session, &data).await, data);
    });
}

#[test]
fn lineage_names_the_edit_and_what_it_brought_without_content() {
    run(async {
        let session = page().await;
        let merge = json!({"a": {"$tool": "n"}, "b": {"$tool": "c", "$select": "price"}});
        let arguments = json!({"x": {"$tool": "h", "$merge": merge}, "y": {"$tool": "n"}});
        let resolved = session.resolve(arguments, None).await.unwrap();
        let edited = ReferenceEdit {
            kind: EditKind::Merge,
            bytes: r#"{"a":41,"b":1.5}"#.len(),
            superseded_by: None,
        };
        let made = " {\"n\":  1, \"list\": [1.0], \"a\": 41, \"b\": 1.5}\n";
        assert_eq!(resolved.arguments["x"], made);
        let lineage = resolved.lineage.iter().map(|link| {
            let at = link.at.as_str().to_owned();
            let id = link.source.call_id.as_str().to_owned();
            (at, id, link.source.edit.clone())
        });
        let lineage: Vec<_> = lineage.collect();
        let own = |at: &str, id: &str, edit| (at.to_owned(), id.to_owned(), edit);
        let expected = [
            own("/x", "n", None),
            own("/x", "c", None),
            own("/x", "h", Some(edited)),
            own("/y", "n", None),
        ];
        assert_eq!(lineage, expected);
    });
}

#[test]
fn a_digest_says_which_result_is_meant() {
    run(async {
        let session = page().await;
        let shown = session.render(&call("c"), &RenderOptions::default()).await;
        let shown: Value = serde_json::from_str(&shown.unwrap().json).unwrap();
        let digest = shown["_crossfeedDigest"].as_str().unwrap();
        assert_eq!(digest.len(), 12);
        let with = |digest: &str| json!({"x": {"$tool": "c", "$select": "tags", "$merge": [], "$digest": digest}});
        let made = json!({"x": []});
        assert_eq!(resolved(&session, &with(digest)).await, made);
        assert_eq!(
            resolved(&session, &with(&digest.to_uppercase())).await,
            made
        );
        let code = ErrorCode::EditOutdated;
        let told = [&*format!(
            "has the digest `{digest}`, not `{}`",
            &digest[..11]
        )];
        check_refused(&session, with(&digest[..11]), code, &told).await;
        let other = session.render(&call("t"), &RenderOptions::default()).await;
        let other = other.unwrap().json;
        let at = other.find("digest ").map(|at| at + 7);
        let at = at.unwrap_or_else(|| other.find("_crossfeedDigest").unwrap() + 19);
        check_refused(
            &session,
            with(&other[at..at + 12]),
            code,
            &["has the digest"],
        )
        .await;
        // It is that of what may be seen, and none is shown where edits are off.
        let hidden = recorded(hiding(&["pin"]), [("c", ToolResult::json(PAGE))]).await;
        let shown = hidden.render(&call("c"), &RenderOptions::default()).await;
        let shown = shown.unwrap().json;
        assert!(
            shown.contains("_crossfeedDigest") && !shown.contains(digest),
            "{shown}"
        );
        let off = recorded(EngineOptions::default(), [("c", ToolResult::json(PAGE))]).await;
        let shown = off.render(&call("c"), &RenderOptions::default()).await;
        assert!(!shown.unwrap().json.contains("igest"));
    });
}

#[test]
fn a_later_call_of_the_same_is_reported() {
    run(async {
        let result = |arguments: &'static str| {
            let page = ToolResult::json(PAGE).with_tool("get_page");
            page.with_arguments(arguments)
        };
        let results = [
            ("a", result(r#"{"id": 1}"#)),
            ("b", result(r#"{"id": 1}"#)),
            ("c", result(r#"{"id": 2}"#)),
            ("d", result(r#"{"id": 1}"#).failed()),
        ];
        let session = recorded(on(), results).await;
        let noticed = async |id: &str| {
            let arguments = json!({"x": {"$tool": id, "$merge": {"n": 1}}});
            let resolved = session.resolve(arguments, None).await.unwrap();
            resolved.notices().to_lines()
        };
        let told = "superseded: /x changes `a`, and `b` is the same call made later";
        assert_eq!(noticed("a").await, [told]);
        assert!(noticed("b").await.is_empty());
        assert!(noticed("c").await.is_empty());
        let bare = session.resolve(json!({"x": {"$tool": "a"}}), None).await;
        assert!(bare.unwrap().notices().is_empty());
    });
}

#[test]
fn a_list_of_references_has_patches_and_merges_as_text() {
    run(async {
        let entry = |edit: &str, text: &str| {
            let mut entry = json!({"to": "x", "tool": "c", "select": "tags"});
            entry[edit] = text.into();
            json!({"x": null, "_refs": [entry]})
        };
        let patch = r#"[{"op": "remove", "path": "/0"}]"#;
        check(entry("patch", patch), json!({"x": ["b"]})).await;
        check(entry("merge", r#"{"a": null}"#), json!({"x": {}})).await;
        let session = page().await;
        let holds = r#"[{"op": "add", "path": "/0", "value": {"$tool": "n"}}]"#;
        let code = ErrorCode::ReferenceMalformed;
        check_refused(
            &session,
            entry("patch", holds),
            code,
            &["is not looked for"],
        )
        .await;
        // Elsewhere a merge with a text is one.
        let merge = json!({"x": {"$tool": "c", "$merge": "{\"a\": 1}"}});
        check(merge, json!({"x": "{\"a\": 1}"})).await;
    });
}

fn hiding(names: &[&str]) -> EngineOptions {
    let rules = RevealRules::parse([] as [&str; 0], names).unwrap();
    on().with_reveal(RevealPolicy::default().with_every_tool(rules))
}

#[test]
fn what_is_withheld_is_absent_to_an_edit_and_keeps_its_bytes() {
    run(async {
        let envelope = json!({
            "content": [{"type": "text", "text": "the pin is 7"}],
            "structuredContent": {"pin": 7, "n": 1, "inner": [{"pin": 8, "m": 2}]},
        });
        let held = json!({"content": [{"type": "text", "text": r#"{"pin":  7, "n": 1}"#}]});
        let results = [
            ("c", ToolResult::json(PAGE)),
            ("e", ToolResult::mcp(envelope.to_string())),
            ("h", ToolResult::mcp(held.to_string())),
            ("t", ToolResult::text("the pin is 7, the rest is 8")),
        ];
        let session = recorded(hiding(&["pin"]), results).await;
        let made = async |reference: Value, expected: Value| {
            let arguments = json!({"x": reference});
            assert_eq!(resolved(&session, &arguments).await, json!({"x": expected}));
        };
        let refused = async |reference: Value, code: ErrorCode| {
            let arguments = json!({"x": reference});
            let error = session.resolve(arguments.clone(), None).await.unwrap_err();
            assert_eq!(
                error.failures()[0].error.code(),
                code,
                "{arguments}: {error}"
            );
            assert!(!error.to_string().contains('7'), "{error}");
        };
        made(
            json!({"$tool": "c", "$merge": {"tags": null, "title": null, "pin": null}}),
            json!({"price": 1.5, "pin": 7}),
        )
        .await;
        let patch = json!([{"op": "replace", "path": "/inner/0/m", "value": 3}]);
        made(
            json!({"$tool": "e", "$patch": patch}),
            json!({"pin": 7, "n": 1, "inner": [{"pin": 8, "m": 3}]}),
        )
        .await;
        made(
            json!({"$tool": "h", "$merge": {"n": 2}}),
            json!(r#"{"pin":  7, "n": 2}"#),
        )
        .await;
        let test = json!([{"op": "test", "path": "/pin", "value": 7}]);
        refused(json!({"$tool": "c", "$patch": test}), ErrorCode::EditFailed).await;
        refused(json!({"$tool": "e", "$patch": test}), ErrorCode::EditFailed).await;
        refused(json!({"$tool": "h", "$patch": test}), ErrorCode::EditFailed).await;
        let edit = json!([{"old": "rest", "new": "x"}]);
        refused(json!({"$tool": "t", "$edit": edit}), ErrorCode::EditFailed).await;
        let miss = json!([{"old": "the pin is 9", "new": "x"}]);
        refused(json!({"$tool": "t", "$edit": miss}), ErrorCode::EditFailed).await;
        // A selector sees what may be seen, and so does an edit of what it gives.
        made(
            json!({"$tool": "c", "$select": "@", "$merge": {"title": null, "tags": null}}),
            json!({"price": 1.5}),
        )
        .await;
    });
}

#[test]
fn a_reference_in_an_edit_brings_in_nothing_that_is_withheld() {
    run(async {
        let results = [
            ("c", ToolResult::json(PAGE)),
            ("t", ToolResult::text("the pin is 7, the rest is 8")),
            ("v", ToolResult::text("hello")),
            ("n", ToolResult::json("{}")),
        ];
        let session = recorded(hiding(&["pin"]), results).await;
        let whole = |id: &str| json!({"$tool": id});
        let template = json!({"$template": "{a}", "$with": {"a": whole("c")}});
        let miss = |new: Value| {
            let edit = json!([{"old": "hello", "new": new}, {"old": "the pen is", "new": "x"}]);
            json!({"x": {"$tool": "v", "$edit": edit}})
        };
        let patch = json!([
            {"op": "add", "path": "", "value": whole("c")},
            {"op": "test", "path": "/pin", "value": 7},
        ]);
        let nested = json!({"$tool": "c", "$merge": {"a": 1}});
        for arguments in [
            miss(whole("t")),
            miss(template),
            json!({"x": {"$tool": "n", "$patch": patch}}),
            json!({"x": {"$tool": "n", "$merge": {"in": nested}}}),
        ] {
            let code = ErrorCode::EditFailed;
            let told = ["bring in what is withheld", "add a selector"];
            check_refused(&session, arguments, code, &told).await;
        }
        let seen = json!({"$tool": "c", "$select": "{price: price}"});
        let arguments = json!({"x": {"$tool": "n", "$merge": {"in": seen}}});
        let made = json!({"x": {"in": {"price": 1.5}}});
        assert_eq!(resolved(&session, &arguments).await, made);
    });
}

#[test]
fn an_edit_is_made_or_refused_however_the_reference_is_arranged() {
    run(async {
        let session = page().await;
        let schema = json!({"type": "object", "properties": {"url": {}, "x": {}}});
        let schema = crate::InputSchema::compile(schema).unwrap();
        let changed = json!({"price": 1.5, "tags": ["a", "b"], "pin": 7});
        for arguments in [
            json!({"x": {"$tool": "c", "$merge": {"title": null}}}),
            json!({"x": null, "_tool": "c", "_merge": {"title": null}}),
            json!({"x": null, "_refs": {"x": {"_tool": "c", "_merge": {"title": null}}}}),
            json!({"x": null, "_refs": [{"to": "x", "tool": "c", "merge": {"title": null}}]}),
            json!({"x": null, "_refs": [{"to": "x", "tool": "c", "$merge": {"title": null}}]}),
            json!({"x": null, "_refs": {"to": "x", "_tool": "c", "_merge": {"title": null}}}),
            json!({"x": null, "_refs": [{"to": {"name": "x"}, "tool": "c", "merge": {"title": null}}]}),
            json!({"x": {"c": {"$select": "@", "$merge": {"title": null}}}}),
            json!({"x": {"$tool": "c", "$select": "@", "merge": {"title": null}}}),
            json!({"x": {"$tool": "c", "$select": "@", "edits": [{"old": "a", "new": "b"}]}}),
            json!({"x": {"$tool": {"$tool": "c", "$merge": {"title": null}}}}),
        ] {
            if let Ok(resolved) = session.resolve(arguments.clone(), Some(&schema)).await {
                let made = json!({"x": changed});
                assert_eq!(resolved.arguments, made, "{arguments}");
            }
        }
        // One that stands in an edit written as a text is never passed as data.
        let patch = r#"[{"op": "add", "path": "/a", "value": {"$tool": "n"}, "note": 1e999}]"#;
        let arguments = json!({"x": {"$tool": "c", "$patch": patch}});
        let code = ErrorCode::ReferenceMalformed;
        check_refused(&session, arguments, code, &["is not looked for"]).await;
    });
}

#[test]
fn corrections_keep_the_edit() {
    run(async {
        let session = page().await;
        let code = ErrorCode::ReferenceMalformed;
        let remove = json!([{"op": "remove", "path": "/0"}]);
        let shown = r#""$patch":[{"op":"remove","path":"/0"}]}"#;
        let long = json!([{"op": "add", "path": "/0", "value": "x".repeat(700)}]);
        let longer = json!([{"op": "remove", "path": "/0"}, {"op": "add", "path": "/0", "value": "x".repeat(700)}]);
        let only_key = r#""$patch": …}"#;
        for (edit, shown) in [(&remove, shown), (&long, only_key), (&longer, only_key)] {
            for written in [
                json!({"$tool": "c", "$select": "tags", "limit": 1, "$patch": edit}),
                json!({"$tool": "c", "_tool": "c", "$select": "tags", "$patch": edit}),
                json!({"$tool": ["c"], "$select": "tags", "$patch": edit}),
                json!({"$tool": "c", "path": "tagz", "$patch": edit}),
                json!({"$tool": "c", "$select": "tags", "limit": 1, "patch": edit}),
            ] {
                // As the keys beside it are spelled.
                let shown = match written.get("_tool") {
                    Some(_) => shown.replacen('$', "_", 1),
                    None => shown.to_owned(),
                };
                let told = ["try: {", r#"tool":"c""#, r#"select":"tags""#, &shown];
                check_refused(&session, json!({"x": written}), code, &told).await;
            }
        }
        // An edit under another name is neither ignored nor left out of the correct form.
        let texts = json!([{"old": "a", "new": "b"}]);
        for key in ["edits", "$edits", "_edits"] {
            let written = json!({"$tool": "c", "$select": "tags", key: texts});
            let told = r#"try: {"$tool":"c","$select":"tags","$edit":[{"old":"a","new":"b"}]}"#;
            // As that key is spelled.
            let told = if key.starts_with('_') {
                told.replace('$', "_")
            } else {
                told.to_owned()
            };
            check_refused(&session, json!({"x": written}), code, &[&told]).await;
        }
        for members in [
            json!({"old": "a", "new": "b"}),
            json!({"oldText": "a", "newText": "b"}),
            json!({"old_string": "a", "new_string": "b"}),
            json!({"replacements": texts}),
            json!({"$replace": texts}),
            json!({"update": {"a": 1}}),
        ] {
            let mut written = json!({"$tool": "c", "$select": "tags"});
            let members = members.as_object().unwrap().clone();
            written.as_object_mut().unwrap().extend(members);
            let told = [r#"write a change of a text as `$edit: [{"old": …, "new": …}]`"#];
            check_refused(&session, json!({"x": written}), code, &told).await;
        }
        // A number that would lose digits is not shown as another.
        for number in ["100000000000000000001", "0.1000000000000000055", "0.5"] {
            let merge = serde_json::from_str::<Value>(&format!(r#"{{"id": {number}}}"#)).unwrap();
            let written = json!({"$tool": ["c"], "$merge": merge});
            let told = [r#"try: {"$tool":"c","$merge": …}"#];
            check_refused(&session, json!({"x": written}), code, &told).await;
        }
        // As it was written, not as it was made.
        let written = json!({"$tool": ["c"], "$merge": {"pin": {"$tool": "n"}}});
        let told = [r#"try: {"$tool":"c","$merge":{"pin":{"$tool":"n"}}}"#];
        check_refused(&session, json!({"x": written}), code, &told).await;
        // What is read as what it means is shown with its key.
        let read = async |arguments: Value| {
            let by_value = session.resolve(arguments.clone(), None).await.unwrap();
            let by_bytes = session.resolve_json(arguments.to_string(), None).await;
            let read = |lineage: &[LineageEntry]| {
                let mut repairs = lineage.iter().filter_map(|link| link.repair.clone());
                repairs.next().unwrap().read
            };
            let by_bytes = read(&by_bytes.unwrap().lineage);
            assert_eq!(read(&by_value.lineage), by_bytes);
            (by_bytes, by_value.notices().to_lines())
        };
        let written = json!({"$tool": "c", "path": "tags", "$patch": remove});
        let (whole, lines) = read(json!({"x": written})).await;
        let meant = format!(r#"{{"$tool":"c","$select":"tags",{only_key}"#);
        assert_eq!(whole, meant);
        assert_eq!(
            lines,
            [format!(
                r#"repaired: `{{"$tool":"c","path":"tags"}}` read as `{meant}`"#
            )]
        );
        // Under the keys of the list.
        let entry = json!({"to": "x", "tool": "c", "path": "tags", "patch": remove.to_string()});
        let (whole, _) = read(json!({"x": null, "_refs": [entry]})).await;
        assert!(whole.contains(r#"patch": …"#), "{whole}");
    });
}

#[test]
fn an_edit_that_fits_the_only_text_of_an_object_is_told_so() {
    run(async {
        let page = json!({"content": r#"{"title": "teh page"}"#, "size": 21});
        let session = recorded(on(), [("c", ToolResult::json(page.to_string()))]).await;
        let fitting = ["select `content`: the edit fits what that gives"];
        for (key, edit) in [
            ("$edit", json!([{"old": "teh", "new": "the"}])),
            (
                "$patch",
                json!([{"op": "replace", "path": "/title", "value": "x"}]),
            ),
        ] {
            let written = json!({"$tool": "c", key: edit});
            let code = ErrorCode::EditFailed;
            check_refused(&session, json!({"x": written}), code, &fitting).await;
            let selected = json!({"x": {"$tool": "c", "$select": "content", key: edit}});
            assert!(session.resolve(selected, None).await.is_ok());
        }
    });
}

#[test]
fn what_is_in_an_edit_counts_once() {
    run(async {
        let usage = async |arguments: Value| {
            let tokens = crossfeed_tokens::TokenCounter::new("bytes", str::len);
            let context = crate::ContextOptions::default().with_tokens(tokens);
            let session = recorded(
                on().with_context(context),
                [("c", ToolResult::json("{}")), ("n", ToolResult::json("41"))],
            );
            let session = session.await;
            session.resolve(arguments.clone(), None).await.unwrap();
            let usage = session.usage();
            let written = arguments["x"].to_string().len() as u64;
            assert_eq!(usage.references, written, "{arguments}");
            usage
        };
        let inner = usage(json!({"x": {"$tool": "c", "$merge": {"n": {"$tool": "n"}}}})).await;
        let plain = usage(json!({"x": {"$tool": "c", "$merge": {"n": 41}}})).await;
        assert_eq!(inner.bytes_moved, plain.bytes_moved);
    });
}

#[test]
fn a_text_with_many_places_for_one_edit_takes_no_more_memory_than_they() {
    run(async {
        let session = page().await;
        let test = json!({"op": "test", "path": "", "value": {"$tool": "n"}});
        let patch = vec![test; 2_000];
        let with = json!({"a": {"$tool": "n", "$patch": patch}});
        let template = "{a}".repeat(100_000);
        let arguments = json!({"x": {"$template": template, "$with": with}});
        let resolved = session.resolve(arguments, None).await.unwrap();
        assert_eq!(resolved.arguments["x"].as_str().unwrap().len(), 200_000);
        assert_eq!(resolved.lineage.len(), 2_001);
    });
}

#[test]
fn callers_who_must_not_know_of_each_other_are_not_told_of_later_calls() {
    run(async {
        let session = with(on()).with_hidden_ids();
        for id in ["a", "b"] {
            let page = ToolResult::json(PAGE).with_tool("get_page");
            let page = page.with_arguments("{}");
            session.record(&call(id), page).await.unwrap();
        }
        let arguments = json!({"x": {"$tool": "a", "$merge": {"n": 1}}});
        let resolved = session.resolve(arguments, None).await.unwrap();
        assert!(resolved.notices().is_empty());
        assert_eq!(
            resolved.lineage[0]
                .source
                .edit
                .as_ref()
                .unwrap()
                .superseded_by,
            None
        );
    });
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c{ ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A reference with an edit gives what the edit makes of what the reference alone gives.
    #[test]
    fn an_edit_is_made_on_what_the_reference_gives(value in document(), merge in document()) {
        let limits = EditLimits::default();
        let whole = value.to_string();
        let edit = Document::new(merge.to_string());
        let edit = crossfeed_edit::Merge::read_json(edit.root().unwrap(), &limits).unwrap();
        let document = Document::new(whole.clone());
        let expected = edit.apply(document.root().unwrap(), None, &limits).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let is_text = value.as_str().is_some_and(|text| text.trim_start().starts_with('{'));
        prop_assume!(!is_text && !merge.to_string().contains("tool"));
        let arguments = json!({"x": {"$tool": "c", "$merge": merge}});
        run(async {
            let session = recorded(on(), [("c", ToolResult::json(whole))]).await;
            // A merge with null is a reference without one.
            let expected = if merge.is_null() { value } else { expected };
            assert_eq!(resolved(&session, &arguments).await, json!({"x": expected}));
        });
    }
}
