use super::Session;
use crate::{
    ContextOptions, Engine, EngineOptions, HintDetail, InputSchema, ParameterSchema, RenderOptions,
    ResolveError, ToolResult,
};
use crossfeed_json::Document;
use crossfeed_store::{Listed, MemoryLimits, MemoryStore, StoredArtifact};
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{ArtifactId, CallId, Pointer, Scope};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const SEARCH: &str =
    r#"{"total": 2, "items": [{"title": "a", "url": "u/1"}, {"title": "b", "url": "u/2"}]}"#;

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

async fn record(session: &Session, id: &str, result: ToolResult) {
    session.record(&call(id), result).await.unwrap();
}

/// A session that counts tokens so.
fn counted_by(tokens: TokenCounter) -> Session {
    let context = ContextOptions::default().with_tokens(tokens);
    let options = EngineOptions::default().with_context(context);
    Engine::in_memory(options).session(Scope::parse("t", "p", "s").unwrap())
}

/// A session that counts bytes for tokens, with a search under `c` and a failed call under `bad`.
async fn session() -> Session {
    let session = counted_by(TokenCounter::new("bytes", str::len));
    let search = ToolResult::json(SEARCH).with_tool("search");
    session.record(&call("c"), search).await.unwrap();
    let failed = ToolResult::text("no such table")
        .with_tool("query")
        .failed();
    session.record(&call("bad"), failed).await.unwrap();
    session
}

async fn refused(session: &Session, arguments: Value, schema: Option<Value>) -> ResolveError {
    let schema = schema.map(|schema| InputSchema::compile(schema).unwrap());
    let resolved = session.resolve(arguments, schema.as_ref()).await;
    resolved.unwrap_err()
}

/// What is advised of the first thing that is wrong.
async fn check(arguments: Value, schema: Option<Value>, advice: &str) {
    let error = refused(&session().await, arguments.clone(), schema).await;
    let found = error.failures()[0].error.advice();
    let last = found.rsplit('\n').next().unwrap_or_default();
    assert_eq!(last, advice, "{arguments}: {error}");
}

fn tool(schema: Value) -> Option<Value> {
    Some(json!({"type": "object", "properties": {"x": schema}}))
}

#[tokio::test]
async fn what_is_wrong_in_each_item_is_said_once_with_an_object_that_fits() {
    let item = json!({"type": "object", "required": ["title", "link"]});
    let schema = tool(json!({"type": "array", "items": item}));
    let arguments = json!({"x": {"$tool": "c", "$select": "items"}});
    let error = refused(&session().await, arguments, schema).await;
    assert_eq!(error.failures().len(), 1);
    assert_eq!(
        error.to_string(),
        "expected a property \"link\", found {title: string(1), url: string(3)}, and in 1 more item (argument `/x/0`)\n\
         try: items[*].{title: title, link: url}"
    );
}

#[tokio::test]
async fn a_declared_field_may_be_absent_from_every_item() {
    let session = session().await;
    let nothing = session
        .select(&call("c"), "items[?rating == 'x'].url")
        .await;
    assert_eq!(
        nothing.unwrap_err().error.code().as_str(),
        "select.matched_nothing"
    );
    let item = json!({"properties": {"title": {}, "url": {}, "rating": {}}});
    session.declare_output("search", &json!({"properties": {"items": {"items": item}}}));
    let empty = session
        .select(&call("c"), "items[?rating == 'x'].url")
        .await;
    assert_eq!(empty.unwrap().json, b"[]");
    let arguments = json!({"x": {"$tool": "c", "$select": "items[?rating == 'x'].url"}});
    let resolved = session.resolve(arguments.clone(), None).await.unwrap();
    assert_eq!(resolved.arguments, json!({"x": []}));
    // Another scope knows nothing of it.
    let nothing = session
        .select(&call("c"), "items[?ratnig == 'x'].url")
        .await;
    assert!(nothing.is_err());
}

#[tokio::test]
async fn a_miss_offers_what_fits_the_parameter() {
    let missed = |select: &str| json!({"x": {"$tool": "c", "$select": select}});
    let text = || tool(json!({"type": "string"}));
    check(missed("items[0].urll"), None, "try: items[0].url").await;
    check(missed("items[0].urll"), text(), "try: items[0].url").await;
    // The nearest is a number, which fits as the text that it is written as.
    check(missed("totl"), text(), "try: total").await;
    check(missed("totl"), None, "try: total").await;
    // Of those in one place, only lists are wanted.
    let list = || tool(json!({"type": "array"}));
    check(missed("itmes"), list(), "try: items").await;
    check(
        missed("totl"),
        list(),
        "try: items[*].url, items[*].title, items",
    )
    .await;
    // Where nothing fits, what is near is all there is to say.
    check(
        missed("totl"),
        tool(json!({"type": "boolean"})),
        "try: total",
    )
    .await;
    // A map says where the value belongs.
    let mapped = json!({"_refs": {"x": {"_tool": "c", "_select": "totl"}}});
    check(mapped, list(), "try: items[*].url, items[*].title, items").await;
    let listed = json!({"x": [], "$refs": [{"to": "/x/0", "tool": "c", "select": "item"}]});
    let texts = tool(json!({"type": "array", "items": {"type": "string", "pattern": "^u/"}}));
    check(listed, texts, "try: items[0].url").await;
    let renamed = json!({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": {"$ref": "#/$defs/u"}}}, "u": {"type": "string", "pattern": "^u/"}}});
    check(missed("items[0].titel"), Some(renamed), "try: items[0].url").await;
}

#[tokio::test]
async fn a_misfit_offers_what_fits() {
    let number = tool(json!({"type": "integer"}));
    let title = json!({"x": {"$tool": "c", "$select": "items[0].title"}});
    check(title, number, "try: total").await;
    let whole = Some(json!({"type": "string"}));
    // A number would be written as a text.
    check(
        json!({"$tool": "c"}),
        whole,
        "try: items[0].url, items[0].title, total",
    )
    .await;
    let urls = tool(json!({"type": "array", "items": {"type": "string", "pattern": "^u/"}}));
    check(json!({"x": {"$tool": "c"}}), urls, "try: items[*].url").await;
}

#[tokio::test]
async fn an_id_that_was_never_given_is_unknown_whatever_is_recorded() {
    let session = session().await;
    record(&session, "d", ToolResult::text("x")).await;
    let checked = session.clone().with_id_check(|id| id.as_str() == "c");
    assert!(checked.get(&call("c")).await.is_ok());
    let reference = |id: &str| json!({"q": {"$tool": id}});
    assert!(session.resolve(reference("d"), None).await.is_ok());
    let foreign = refused(&checked, reference("d"), None).await;
    let never = refused(&checked, reference("e"), None).await;
    let said = |error: &ResolveError| {
        let error = &error.failures()[0].error;
        format!("{error}\n{}", error.advice())
    };
    assert_eq!(said(&foreign).replace("`d`", "`e`"), said(&never));
    let ids = |listed: Vec<Listed>| listed.into_iter().map(|it| it.call_id.as_str().to_owned());
    let listed: Vec<_> = ids(checked.results().await.unwrap()).collect();
    assert_eq!(listed, ["c"]);
}

#[tokio::test]
async fn unknown_ids_are_answered_with_those_that_are_there() {
    let session = session().await;
    for (id, advice) in [
        (
            "call_c",
            "found: c (search)\ntry: c; otherwise use the `_toolCallId` of a result of this session, exactly as it was shown",
        ),
        ("C", "found: c (search)\ntry: c"),
    ] {
        let error = refused(&session, json!({"$tool": id}), None).await;
        assert_eq!(error.failures()[0].error.advice(), advice);
        let failure = session.shape(&call(id)).await.unwrap_err();
        assert_eq!(failure.error.advice(), advice);
    }
    let artifact = |id: &str| json!({"$artifact": id, "$tool": "c"});
    let error = refused(&session, artifact("report"), None).await;
    assert!(
        error.failures()[0]
            .error
            .advice()
            .starts_with("found: no artifacts in this session\n")
    );
    let stored = StoredArtifact::new(
        ArtifactId::parse("reports").unwrap(),
        call("c"),
        Document::new("[1]"),
    );
    session.record_artifact(stored).await.unwrap();
    let error = refused(&session, artifact("report"), None).await;
    assert_eq!(
        error.failures()[0].error.advice(),
        "found: reports of call c\ntry: reports of call c"
    );
    // Another session has nothing of this one.
    let other = session
        .engine
        .session(Scope::parse("t", "p", "other").unwrap());
    let error = refused(&other, json!({"$tool": "c"}), None).await;
    assert!(
        error.failures()[0]
            .error
            .advice()
            .starts_with("found: no results in this session\n")
    );
}

#[tokio::test]
async fn malformed_references_are_shown_as_they_should_be() {
    let generic = "give as `$tool` the `_toolCallId` of a result, exactly as it was shown; to pass data that only \
                   looks like a reference: {\"$literal\": …}";
    let best = r#"try: {"$tool":"c","$select":"items[0].url"}"#;
    for (written, advice) in [
        (json!({"x": {"$tool": 7}}), r#"try: {"$tool":"7"}"#),
        (json!({"x": {"$tool": ["c"]}}), r#"try: {"$tool":"c"}"#),
        (json!({"x": {"$tool": {}}}), best),
        (json!({"x": {"$tool": ""}}), best),
        (
            json!({"x": {"$select": "items"}}),
            r#"try: {"$tool":"c","$select":"items"}"#,
        ),
        (json!({"x": {"$artifact": "a"}}), generic),
        (
            json!({"x": {"$tool": "c", "_tool": "c"}}),
            r#"try: {"_tool":"c"}"#,
        ),
        (
            json!({"x": {"$tool": "c", "_tool": "d"}}),
            &generic.replace('$', "_"),
        ),
        (
            json!({"x": {"$literal": {"secret": 1}, "$tool": "c"}}),
            r#"try: {"$tool":"c"}"#,
        ),
        (
            json!({"x": {"$tool": 7, "$default": {"secret": 1}}}),
            generic,
        ),
        (
            json!({"x": {"$tool": "c", "$selector": "items[1].url", "$format": "text"}}),
            r#"try: {"$tool":"c","$select":"items[1].url"}"#,
        ),
        (
            json!({"x": {"$template": "{a} and {b}", "$with": {"a": {"$tool": "c", "$select": "total"}}}}),
            "add a reference named `b` to `$with`, or write `{{b}}` for a text in braces",
        ),
        (json!({"$refs": {"x": "c"}}), r#"try: {"$tool":"c"}"#),
        (json!({"$refs": {"x": 7}}), best),
        (
            json!({"$refs": 7}),
            "write it as an object: each key a parameter, each value a reference, such as \
             {\"$tool\":\"c\",\"$select\":\"items[0].url\"}",
        ),
        (
            json!({"$refs": [{"tool": "c"}]}),
            "add `to`: the name of a parameter, or a JSON Pointer to a place in one",
        ),
        (
            json!({"$refs": [{"to": "x", "tool": 7}]}),
            r#"try: {"to":"x","tool":"7"}"#,
        ),
        (
            json!({"x": "{\"$tool\": \"c\", \"$select\": 5}"}),
            r#"try: {"$tool":"c","$select":"total"}; to pass it as it is: {"$literal": …}"#,
        ),
    ] {
        check(written, None, advice).await;
    }
}

#[tokio::test]
async fn references_and_errors_are_counted() {
    let session = session().await;
    // Without references nothing is noted.
    session.resolve(json!({"x": 1}), None).await.unwrap();
    assert_eq!(session.usage(), Default::default());

    let reference = json!({"$tool": "c", "$select": "items[*].url"});
    let written = reference.to_string().len() as u64;
    session
        .resolve(json!({"x": reference, "y": "z"}), None)
        .await
        .unwrap();
    let sums = session.usage();
    let moved = r#"["u/1","u/2"]"#.len() as u64;
    assert_eq!(
        (sums.references, sums.referred, sums.bytes_moved),
        (written, moved, moved)
    );
    assert_eq!(sums.errors, 0);

    // One value in two places would have been written twice; a default was written already, and came
    // from no result.
    let twice = json!([{"$tool": "c", "$select": "total"}, {"$tool": "c", "$select": "total"}, {"$tool": "c", "$select": "no", "$default": 70}]);
    let before = session.usage();
    session.resolve(twice.clone(), None).await.unwrap();
    let sums = session.usage();
    assert_eq!(
        sums.references - before.references,
        twice.to_string().len() as u64 - 4
    );
    assert_eq!(sums.referred - before.referred, 1 + 1 + 2);
    assert_eq!(sums.bytes_moved - before.bytes_moved, 2);

    // What is refused cost its references and its error, and brought nothing.
    let before = session.usage();
    let missed = json!({"_refs": {"x": {"_tool": "c", "_select": "no"}}});
    let error = refused(&session, missed.clone(), None).await;
    let sums = session.usage();
    assert_eq!(sums.errors - before.errors, error.to_string().len() as u64);
    assert_eq!(
        sums.references - before.references,
        missed.to_string().len() as u64 - 5
    );
    assert_eq!(
        (sums.referred, sums.bytes_moved),
        (before.referred, before.bytes_moved)
    );
    let failure = session.select(&call("c"), "no").await.unwrap_err();
    let errors = sums.errors + failure.to_string().len() as u64;
    assert_eq!(session.usage().errors, errors);
    assert_eq!(
        sums.avoided(),
        (sums.referred as i64) - (sums.references + sums.errors) as i64
    );
}

#[tokio::test]
async fn long_values_are_estimated_by_their_characters() {
    let session = session().await;
    let text = format!("\"{}\"", "é".repeat(100_000));
    session
        .record(&call("long"), ToolResult::json(text.clone()))
        .await
        .unwrap();
    session
        .resolve(json!({"x": {"$tool": "long"}}), None)
        .await
        .unwrap();
    assert_eq!(session.usage().referred, 100_002_u64.div_ceil(4));
    let before = session.usage();
    session
        .resolve(json!({"x": {"$tool": "long", "$select": "[@]"}}), None)
        .await
        .unwrap();
    let sums = session.usage();
    assert_eq!(sums.referred - before.referred, 100_004_u64.div_ceil(4));
    assert_eq!(sums.bytes_moved - before.bytes_moved, text.len() as u64 + 2);
}

#[tokio::test]
async fn a_closed_session_holds_nothing() {
    let session = session().await;
    refused(&session, json!({"$tool": "x"}), None).await;
    session.close().await.unwrap();
    assert_eq!(session.usage(), Default::default());
    let error = session.get(&call("c")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "result.unknown");
    let search = ToolResult::json("1");
    session.record(&call("c"), search).await.unwrap();
}

#[tokio::test]
async fn a_host_asks_for_what_fits() {
    let session = session().await;
    let schema = tool(json!({"type": "string"})).unwrap();
    let parameter = ParameterSchema::at(&schema, &Pointer::parse("/x").unwrap()).unwrap();
    let parameter = parameter.with_name("url");
    let found = session.suggest(&call("c"), &parameter, 2).await.unwrap();
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["items[0].url", "items[0].title"]);
    let id = ArtifactId::parse("a").unwrap();
    let artifact = StoredArtifact::new(
        id.clone(),
        call("c"),
        Document::new(r#"{"b": {"url": "x"}}"#),
    );
    session.record_artifact(artifact).await.unwrap();
    let found = session
        .suggest_from_artifact(&id, &call("c"), &parameter, 9)
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "b.url");
    assert!(
        session
            .suggest(&call("c"), &parameter, 0)
            .await
            .unwrap()
            .is_empty()
    );
    for (id, code) in [("bad", "result.failed"), ("none", "result.unknown")] {
        let failure = session.suggest(&call(id), &parameter, 3).await.unwrap_err();
        assert_eq!(failure.error.code().as_str(), code);
    }
    // A text is the value itself.
    session
        .record(&call("text"), ToolResult::text("u/9"))
        .await
        .unwrap();
    let found = session.suggest(&call("text"), &parameter, 3).await.unwrap();
    assert_eq!(found[0].to_string(), "@");
}

#[tokio::test]
async fn what_is_dropped_half_way_is_in_no_books() {
    // A tokenizer that waits until it may count.
    let (begun, begins) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = parking_lot::Mutex::new(gone);
    let tokens = TokenCounter::new("slow", move |text| {
        let _ = begun.send(());
        let _ = gone.lock().recv();
        text.len()
    });
    let session = counted_by(tokens);
    let long = ToolResult::json(format!("\"{}\"", "x".repeat(50_000)));
    session.record(&call("long"), long).await.unwrap();
    let arguments = json!({"x": {"$tool": "long"}});
    let dropped = {
        let (session, arguments) = (session.clone(), arguments.clone());
        tokio::spawn(async move { session.resolve(arguments, None).await })
    };
    let waited = tokio::task::spawn_blocking(move || begins.recv());
    waited.await.unwrap().unwrap();
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    // It ends all the same, with nobody who waits for it.
    drop(go);
    while Arc::strong_count(session.inner()) > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(session.usage(), Default::default());
    session.resolve(arguments, None).await.unwrap();
    assert_eq!(session.usage().bytes_moved, 50_002);
}

#[tokio::test]
async fn what_a_counter_says_is_summed_without_overflow() {
    let session = counted_by(TokenCounter::new("much", |_| usize::MAX));
    record(&session, "c", ToolResult::json("[1, 2]")).await;
    let two = json!({"_refs": {"x": {"_tool": "c"}, "y": {"_tool": "c"}}, "z": {"$tool": "c"}});
    session.resolve(two, None).await.unwrap();
    let sums = session.usage();
    assert_eq!((sums.references, sums.referred), (u64::MAX, u64::MAX));
    refused(&session, json!({"$tool": "none"}), None).await;
    assert_eq!(session.usage().avoided(), 0);
}

#[tokio::test]
async fn a_wrong_id_is_no_use_of_others() {
    let mut limits = MemoryLimits::default();
    limits.session_results = 2;
    let store = Arc::new(MemoryStore::new(limits));
    let engine = Engine::new(EngineOptions::default(), store);
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let short = r#"{"content": [{"type": "text", "text": "hi"}]}"#;
    for id in ["call_1", "call_2"] {
        record(&session, id, ToolResult::undeclared(short)).await;
    }
    for id in ["call_l", "cal_1", "else"] {
        refused(&session, json!({"$tool": id}), None).await;
    }
    record(&session, "call_3", ToolResult::json("3")).await;
    let oldest = session.get(&call("call_1")).await.unwrap_err();
    assert_eq!(oldest.code().as_str(), "result.evicted");
    session.get(&call("call_2")).await.unwrap();
}

#[tokio::test]
async fn calls_that_failed_are_not_offered() {
    let session = session().await;
    let says = r#"{"content": [{"type": "text", "text": "no such table"}], "isError": true}"#;
    // The same again is a no-op all the same.
    for _ in 0..2 {
        for (id, result) in [
            ("cc", ToolResult::undeclared(says)),
            ("ccc", ToolResult::mcp(says)),
            ("c2", ToolResult::json(says)),
            (
                "c3",
                ToolResult::undeclared(r#"{"isError": true, "rows": 5}"#),
            ),
        ] {
            record(&session, id, result).await;
        }
    }
    // `bad` was recorded as failed, `cc` and `ccc` say so; data may say what it wants.
    for wanted in ["bax", "cccc"] {
        let error = refused(&session, json!({"$tool": wanted}), None).await;
        let advice = error.failures()[0].error.advice();
        let (found, _) = advice.split_once('\n').unwrap();
        assert_eq!(found, "found: c3, c2, c (search)", "{wanted}");
    }
    let error = refused(&session, json!({"$tool": "cc"}), None).await;
    assert_eq!(error.failures()[0].error.code().as_str(), "result.failed");
}

#[tokio::test]
async fn any_number_of_unknown_ids_is_answered() {
    let session = session().await;
    // All alike: compared pair by pair they would take some 10^9 steps.
    let end = "ab".repeat(126);
    for n in 0..900 {
        record(&session, &format!("{n:03}{end}"), ToolResult::json("1")).await;
    }
    let unknown: Vec<Value> = (0..60)
        .map(|n| json!({"$tool": format!("x{n:02}{end}")}))
        .collect();
    let error = refused(&session, json!(unknown), None).await;
    let advice = |n: usize| error.failures()[n].error.advice();
    assert_eq!(error.failures().len(), 60);
    assert!(advice(0).contains("\ntry: "), "{}", advice(0));
    // The last ones get those that were used last, or nothing: the id is unknown all the same.
    assert!(advice(31).contains("; otherwise use the"), "{}", advice(31));
    assert!(advice(32).starts_with("use the"), "{}", advice(32));
}

#[tokio::test]
async fn a_failure_is_an_error() {
    async fn shape(session: &Session, id: &str) -> Result<(), Box<dyn std::error::Error>> {
        session.shape(&CallId::parse(id)?).await?;
        Ok(())
    }
    let error = shape(&session().await, "none").await.unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("no result of call `none`"), "{message}");
    // All that there is to say is in the message.
    assert!(error.source().is_none());
}

/// What a server for files returns: the text of a file, also as the one member of its structured content.
fn file(text: &str) -> ToolResult {
    let result = json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"content": text},
    });
    ToolResult::mcp(result.to_string())
}

#[tokio::test]
async fn one_datum_has_one_root() {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let call = CallId::parse("c").unwrap();
    let users: Vec<_> = (0..400)
        .map(|id| json!({"id": id, "name": format!("User {id}"), "bio": "x".repeat(200)}))
        .collect();
    let users = json!({"users": users}).to_string();
    session.record(&call, file(&users)).await.unwrap();
    for selector in [
        "users[0].name",
        "content.users[0].name",
        "content[0].text.users[0].name",
        "$.users[0].name",
        "users[?id=0].name|[0]",
    ] {
        let found = session.select(&call, selector).await.unwrap();
        assert_eq!(found.json, b"\"User 0\"", "{selector}");
    }
    let hints = session.hints(&call, HintDetail::Full).await.unwrap();
    for selector in hints.selectors() {
        assert!(selector.starts_with("users"), "{selector}");
        let found = session.select(&call, selector).await.unwrap();
        assert!(found.report.repairs.is_empty(), "{selector}");
    }
    let failure = session.select(&call, "usrs[0].naem").await.unwrap_err();
    let failure = failure.to_string();
    assert!(failure.contains("found: {users: [{id: number"), "{failure}");
    assert!(failure.contains("try: users[0].name"), "{failure}");
    let shown = session.render(&call, &RenderOptions::default()).await;
    let shown = shown.unwrap().json;
    assert!(!shown.contains("content[0].text."), "{shown}");
}

#[tokio::test]
async fn what_has_the_wrong_shape_is_written_for_the_right_one() {
    let session = Engine::in_memory(EngineOptions::default());
    let session = session.session(Scope::parse("t", "p", "s").unwrap());
    let users =
        json!({"users": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}], "title": "t"});
    record(&session, "c", ToolResult::json(users.to_string())).await;
    let check = async |schema: Value, select: &str, expected: &str| {
        let schema = json!({"type": "object", "properties": {"to": schema}});
        let schema = InputSchema::compile(schema).unwrap();
        let arguments = json!({"to": {"$tool": "c", "$select": select}});
        let error = session.resolve(arguments, Some(&schema)).await.unwrap_err();
        let advice = error.failures()[0].body().advice.unwrap();
        let mut lines = advice.lines();
        let offered = lines.find(|line| line.starts_with("try: ")).unwrap();
        assert!(offered.starts_with(expected), "{select}: {advice}");
    };
    let string = || json!({"type": "string"});
    let strings = || json!({"type": "array", "items": {"type": "string"}});
    check(
        string(),
        "users[*].name",
        "try: users[0].name, join(', ', users[*].name)",
    )
    .await;
    check(string(), "usrs[*].name", "try: users[0].name").await;
    check(string(), "users.name", "try: users[0].name").await;
    check(strings(), "users.name", "try: users[*].name").await;
    check(strings(), "users[0].name", "try: users[*].name").await;
    check(string(), "name", "try: users[0].name").await;
    check(
        json!({"type": "array"}),
        "users[0].{n: name}",
        "try: users[*].{n: name}",
    )
    .await;
    check(
        string(),
        "users[?name == 'ada'].name",
        "try: users[?name == 'Ada'].name | [0]",
    )
    .await;
}
