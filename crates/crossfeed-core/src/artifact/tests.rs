//! Artifacts from results: laws over generated data, then one example for each rule.

mod components;
mod stores;

use super::{Component, CreatedArtifact, NewArtifact};
use crate::{
    ContextOptions, Engine, EngineOptions, Failure, LookupError, Retrieved, Session, ToolResult,
};
use crossfeed_json::Document;
use crossfeed_store::{ManualClock, MemoryLimits, MemoryStore, Recorded};
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn id(id: &str) -> ArtifactId {
    ArtifactId::parse(id).unwrap()
}

fn wanted() -> NewArtifact {
    NewArtifact::new(id("a"), call("c"))
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

fn session() -> Session {
    let engine = Engine::in_memory(EngineOptions::default());
    engine.session(Scope::parse("t", "p", "s").unwrap())
}

/// A session in which `c` returned that.
fn recorded(result: ToolResult) -> Session {
    let session = session();
    run(session.record(&call("c"), result.with_tool("search"))).unwrap();
    session
}

fn text(document: &Document) -> String {
    String::from_utf8(document.raw().to_vec()).unwrap()
}

/// Makes an artifact: its full data, and its summary or nothing; or what is wrong, as a model reads
/// it.
fn make(result: &str, wanted: NewArtifact) -> Result<(String, String), String> {
    let session = recorded(ToolResult::json(result.to_owned()));
    let created = run(session.create_artifact(wanted)).map_err(|failure| failure.to_string())?;
    let summary = created.artifact.summary().map(text);
    Ok((
        text(created.artifact.document()),
        summary.unwrap_or_default(),
    ))
}

fn check(result: &str, wanted: NewArtifact, data: &str, summary: &str) {
    let made = make(result, wanted);
    assert_eq!(made, Ok((data.to_owned(), summary.to_owned())), "{result}");
}

fn check_refused(result: &str, wanted: NewArtifact, expected: &str) {
    let refused = make(result, wanted).unwrap_err();
    assert_eq!(refused, expected, "{result}");
}

const BOOKS: &str = r#"{"items": [
    {"title": "One", "pages": 1.50, "by": {"name": "A"}},
    {"title": "Two", "pages": 20000000000000000001, "by": {"name": "B"}}
], "total": 2}"#;

fn card() -> Component {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "inPreview": true},
            "author": {"type": "string", "inPreview": true},
            "pages": {"type": "number"},
        },
        "required": ["title", "author"],
    });
    Component::parse(&schema).unwrap()
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        "[a-z\"\\\\é{}\\[\\]]{0,6}".prop_map(Value::from),
        // Such as is opened, and such as a reference looks like.
        Just(json!("{\"a\": [1, {\"b\": 2}]}")),
        Just(json!({"$tool": "c", "$select": "a"})),
        Just(json!({"_toolCallId": "x", "a": 1})),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[abc]|items|result", inner, 0..5)
                .prop_map(|members| json!(members)),
        ]
    })
}

fn selector() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        "[abc]",
        Just("items".to_owned()),
        Just("result".to_owned()),
        Just("items[0]".to_owned()),
        Just("a[*]".to_owned()),
        Just("[0]".to_owned()),
        Just("[*].a".to_owned()),
        Just("{x: a, y: @}".to_owned()),
        Just("[a, b]".to_owned()),
        Just("keys(@)".to_owned()),
        Just("to_string(@)".to_owned()),
        Just("items[?a == b]".to_owned()),
        Just("length(".to_owned()),
    ];
    prop::collection::vec(step, 1..3).prop_map(|steps| steps.join(" | "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The full data is what the base selects; each field of the summary what its detail selects
    /// from it; and where one of them fails, it fails here in the same way.
    #[test]
    fn an_artifact_is_what_its_selectors_select(
        value in json_value(),
        base in prop::option::of(selector()),
        details in prop::collection::btree_map("[xyz]", selector(), 0..3),
    ) {
        let session = recorded(ToolResult::json(value.to_string()));
        let mut wanted = wanted();
        if let Some(base) = &base {
            wanted = wanted.with_base(base);
        }
        for (name, selector) in &details {
            wanted = wanted.with_detail(name, selector);
        }
        let created = run(session.create_artifact(wanted));
        let selected = run(session.select(&call("c"), base.as_deref().unwrap_or("@")));
        let selected = match selected {
            Ok(selected) => selected,
            // A null is not an outcome of a selector, but it is a whole.
            Err(_) if base.is_none() => return Ok(()),
            Err(failure) => {
                prop_assert_eq!(created.unwrap_err().to_string(), failure.to_string());
                prop_assert!(run(session.artifacts()).unwrap().is_empty());
                return Ok(());
            }
        };
        // A reference to the artifact would read the same as one to a result with this data.
        let other = call("other");
        run(session.record(&other, ToolResult::json(selected.json.clone()))).unwrap();
        let pick = async {
            let mut picked = Vec::new();
            for (name, selector) in &details {
                picked.push((name, session.select(&other, selector).await?));
            }
            Ok::<_, Failure>(picked)
        };
        let picked = run(pick);
        match (created, picked) {
            (Err(refused), Err(failure)) => {
                prop_assert_eq!(refused.error.to_string(), failure.error.to_string());
                prop_assert_eq!(refused.error.advice(), failure.error.advice());
            }
            (Ok(created), Ok(picked)) => {
                let artifact = created.artifact;
                prop_assert_eq!(&artifact.document().raw()[..], &selected.json[..]);
                match artifact.summary() {
                    None => prop_assert!(details.is_empty()),
                    Some(summary) => {
                        let root = summary.root().unwrap();
                        prop_assert_eq!(root.len(), Some(picked.len()));
                        for (name, selected) in &picked {
                            prop_assert_eq!(root.get(name).unwrap().raw(), &selected.json[..]);
                        }
                    }
                }
                let reports: Vec<_> = created.reports.into_iter().map(|(_, report)| report).collect();
                let expected = base.iter().map(|_| selected.report.clone());
                let expected = expected.chain(picked.into_iter().map(|(_, s)| s.report));
                prop_assert_eq!(reports, expected.collect::<Vec<_>>());
            }
            (created, picked) => prop_assert!(false, "{created:?} {picked:?}"),
        }
    }

    /// A reference to an artifact gives its full data, also what looks like a reference within it.
    #[test]
    fn a_reference_gives_the_full_data(value in json_value()) {
        let data = json!({"items": [value, {"$tool": "nobody"}]});
        let session = recorded(ToolResult::json(data.to_string()));
        run(session.create_artifact(wanted().with_base("items"))).unwrap();
        let arguments = json!({"x": {"$artifact": "a", "$tool": "c"}});
        let resolved = run(session.resolve(arguments, None)).unwrap();
        prop_assert_eq!(&resolved.arguments["x"], &data["items"]);
    }
}

#[test]
fn values_keep_their_bytes() {
    check(BOOKS, wanted(), BOOKS, "");
    check(
        BOOKS,
        wanted().with_base("items[1]").with_detail("n", "pages"),
        r#"{"title": "Two", "pages": 20000000000000000001, "by": {"name": "B"}}"#,
        r#"{"n":20000000000000000001}"#,
    );
    check(
        BOOKS,
        wanted()
            .with_base("items[].pages")
            .with_detail("b", "[1]")
            .with_detail("a", "[0]")
            .with_detail("b", "[0]"),
        "[1.50,20000000000000000001]",
        r#"{"b":1.50,"a":1.50}"#,
    );
}

#[test]
fn selectors_are_read_like_any_other() {
    check(
        BOOKS,
        wanted()
            .with_base(" result.items[?title == \"Two\"] | [0].by ")
            .with_detail("who", "$.name"),
        r#"{"name": "B"}"#,
        r#"{"who":"B"}"#,
    );
    // JSON that a text holds is opened.
    check(
        r#"{"text": "[{\"n\": 1.0}]"}"#,
        wanted().with_base("text").with_detail("n", "[0].n"),
        r#""[{\"n\": 1.0}]""#,
        r#"{"n":1.0}"#,
    );
    let session = recorded(ToolResult::json(BOOKS));
    let created = run(session.create_artifact(
        wanted()
            .with_base("items[?pages > 2] | [0]")
            .with_detail("t", "result.title"),
    ));
    let CreatedArtifact { reports, .. } = created.unwrap();
    assert_eq!(reports[0].0, "items[?pages > 2] | [0]");
    assert_eq!(reports[0].1.repairs.len(), 1);
    assert_eq!(reports[1].0, "result.title");
    assert!(reports[1].1.prefix_stripped);
}

#[test]
fn a_miss_explains_itself() {
    check_refused(
        BOOKS,
        wanted().with_base("itms[0]"),
        "selector `itms[0]` matched nothing in the result of call `c`\n\
         found: {items: [{title: string(3), pages: number, by: {...}}](len=2), total: number}\n\
         try: items[0], items",
    );
    check_refused(
        BOOKS,
        wanted().with_base("items[0]").with_detail("t", "titel"),
        "selector `titel` matched nothing in artifact `a` of call `c`\n\
         found: {title: string(3), pages: number, by: {name: string(1)}}\n\
         try: title",
    );
    let refused = make(BOOKS, wanted().with_base("__proto__")).unwrap_err();
    assert!(refused.contains("is refused"), "{refused}");
    let refused = make(BOOKS, wanted().with_detail("x", "")).unwrap_err();
    assert!(refused.contains("blank"), "{refused}");
}

#[test]
fn a_component_picks_full_data_and_summary() {
    check(
        BOOKS,
        wanted()
            .with_base("items[0]")
            .with_detail("author", "by.name")
            .with_component(card()),
        r#"{"title":"One","author":"A","pages":1.50}"#,
        r#"{"title":"One","author":"A"}"#,
    );
    // A detail stands above the base's own member; what is not required may be missing.
    check(
        r#"{"title": "t", "author": "x"}"#,
        wanted()
            .with_detail("author", "title")
            .with_component(card().with_preview_fields(["author", "nothing"])),
        r#"{"title":"t","author":"t"}"#,
        r#"{"author":"t"}"#,
    );
}

#[test]
fn what_does_not_fit_a_component_is_named() {
    check_refused(
        r#"{"items": [{"title": 7, "by": {"autor": "A"}}]}"#,
        wanted().with_base("items[0]").with_component(card()),
        "the data does not fit the component: `/author` is missing, expected string; \
         `/title`: expected string, found number\n\
         found: {title: number, by: {autor: string(1)}}\n\
         try: for the detail `author`: by.autor",
    );
    check_refused(
        r#"{"title": 7, "author": "A"}"#,
        wanted().with_component(card()),
        "the data does not fit the component: `/title`: expected string, found number\n\
         found: {title: number, author: string(1)}\n\
         try: for the detail `title`: author",
    );
    check_refused(
        r#"{"title": 7, "author": 8}"#,
        wanted().with_component(card()),
        "the data does not fit the component: `/title`: expected string, found number; \
         `/author`: expected string, found number\n\
         found: {title: number, author: number}\n\
         try: a detail selector for `title` that gives string",
    );
    check_refused(
        BOOKS,
        wanted().with_base("items").with_component(card()),
        "the component's properties are missing: found [{title: string(3), pages: number, by: {name: string(1)}}](len=2)\n\
         try: a base selector that picks one object with `title`, `author`, `pages`, or a detail selector for each",
    );
    check_refused(
        BOOKS,
        wanted().with_detail("name", "total").with_component(card()),
        "the component has no property for the detail `name`\n\
         its properties are `title`, `author`, `pages`",
    );
    let session = recorded(ToolResult::json("{}"));
    let refused = run(session.create_artifact(wanted().with_component(card())));
    assert_eq!(
        refused.unwrap_err().error.code(),
        ErrorCode::ArgumentsInvalid
    );
}

#[test]
fn of_details_of_one_name_the_last_counts() {
    let mut wanted = wanted();
    for (name, selector) in [("k", "a"), ("l", "a"), ("k", "b")] {
        wanted.details.push((name.to_owned(), selector.to_owned()));
    }
    let session = recorded(ToolResult::json(r#"{"a": 1, "b": 2}"#));
    let created = run(session.create_artifact(wanted)).unwrap();
    let summary = created.artifact.summary().map(text);
    assert_eq!(summary.as_deref(), Some(r#"{"k":2,"l":1}"#));
    let details = [("k", "b"), ("l", "a")].map(|(k, s)| (k.to_owned(), s.to_owned()));
    assert_eq!(created.artifact.details(), details);
    assert_eq!(created.reports.len(), 2);
}

#[test]
fn a_notice_is_in_the_reports() {
    let session = recorded(ToolResult::json(BOOKS));
    let wanted = wanted()
        .with_base("items[?title == 'Three']")
        .with_detail("n", "length(@)");
    let created = run(session.create_artifact(wanted)).unwrap();
    let notices: Vec<_> = created
        .reports
        .iter()
        .map(|(selector, report)| (selector.as_str(), report.notice.is_some()))
        .collect();
    assert_eq!(
        notices,
        [("items[?title == 'Three']", true), ("length(@)", false)]
    );
}

#[test]
fn logs_are_shown_shapes_only() {
    let secret = json!({"type": "object", "properties": {"title": {"default": "secret"}}});
    let wanted = wanted()
        .with_base("items[?title != 'secret'] | [0]")
        .with_detail("title", "title || 'secret'")
        .with_component(Component::parse(&secret).unwrap());
    let shown = format!("{wanted:?}");
    assert!(
        shown.contains("title") && !shown.contains("secret"),
        "{shown}"
    );
    let session = recorded(ToolResult::json(BOOKS));
    let created = run(session.create_artifact(wanted)).unwrap();
    let listed = run(session.artifacts()).unwrap();
    let shown = format!("{created:?} {listed:?}");
    assert!(
        !shown.contains("secret") && !shown.contains("One"),
        "{shown}"
    );
}

#[test]
fn what_is_not_there_or_failed_makes_no_artifact() {
    let refused = run(session().create_artifact(wanted())).unwrap_err();
    assert_eq!(refused.error.code(), ErrorCode::ResultUnknown);
    let failed = recorded(ToolResult::text("no such table").failed());
    let refused = run(failed.create_artifact(wanted())).unwrap_err();
    assert_eq!(refused.error.code(), ErrorCode::ResultFailed);
    assert!(refused.to_string().contains("no such table"), "{refused}");
}

#[test]
fn what_could_not_be_read_again_makes_no_artifact() {
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let wrapped = "[[[[[[[[[[@]]]]]]]]]]";
    let levels = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    check(&deep, wanted().with_base("[[@]]"), &levels(122), "");
    for wrong in [
        wanted().with_base(wrapped),
        wanted().with_detail("x", wrapped),
    ] {
        let refused = make(&deep, wrong).unwrap_err();
        assert!(refused.contains("nests deeper than 127"), "{refused}");
    }
    // Brackets in strings are not levels.
    let text = format!("[\"{}\\\"[\"]", "[".repeat(200));
    check(&text, wanted().with_base("[@[0]]"), &text, "");
}

#[test]
fn what_is_too_large_makes_no_artifact() {
    let limits = crossfeed_jmespath::Limits::default().with_output_bytes(100);
    let select = crate::SelectOptions::default().with_limits(limits);
    let engine = Engine::in_memory(EngineOptions::default().with_select(select));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let result = json!({"text": "x".repeat(100), "n": 1}).to_string();
    run(session.record(&call("c"), ToolResult::json(result))).unwrap();
    let refused = |wanted| {
        run(session.create_artifact(wanted))
            .unwrap_err()
            .to_string()
    };
    let message = refused(wanted());
    assert!(message.contains("larger than 100 bytes"), "{message}");
    let message = refused(wanted().with_base("text"));
    assert!(message.contains("is too costly"), "{message}");
    run(session.create_artifact(wanted().with_base("n"))).unwrap();

    let store = MemoryStore::new(MemoryLimits::default().with_artifact_bytes(50));
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    run(session.record(&call("c"), ToolResult::json(BOOKS))).unwrap();
    let refused = run(session.create_artifact(wanted())).unwrap_err();
    assert_eq!(refused.error.code(), ErrorCode::LimitExceeded);
}

#[test]
fn the_same_again_changes_nothing_and_nothing_is_overwritten() {
    let session = recorded(ToolResult::json(BOOKS));
    let make = |wanted| run(session.create_artifact(wanted)).map_err(Box::new);
    let first = wanted().with_base("items[0]").with_detail("t", "title");
    let CreatedArtifact {
        artifact, recorded, ..
    } = make(first.clone()).unwrap();
    assert_eq!(recorded, Recorded::New);
    assert_eq!(
        (artifact.tool(), artifact.base(), artifact.details().len()),
        (Some("search"), Some("items[0]"), 1)
    );
    // Another selector for the same data is the same artifact.
    let again = make(first.clone().with_base("items | [0]")).unwrap();
    assert_eq!(again.recorded, Recorded::Unchanged);
    for other in [
        first.clone().with_base("items[1]"),
        first.with_detail("t", "by.name"),
    ] {
        let refused = make(other).unwrap_err();
        assert_eq!(refused.error.code(), ErrorCode::RecordDuplicate);
        assert!(
            refused
                .to_string()
                .contains("was recorded before with other data"),
            "{refused}"
        );
    }
    let listed = run(session.artifacts()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].summary.as_deref(), Some(&br#"{"t":"One"}"#[..]));
}

#[test]
fn an_artifact_outlives_its_result_and_expires_if_it_is_told_to() {
    let clock = Arc::new(ManualClock::new());
    let day = Duration::from_secs(24 * 60 * 60);
    let limits = MemoryLimits::default().with_artifact_time_to_live(Some(day));
    let store = MemoryStore::with_clock(limits, clock.clone());
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let result = ToolResult::json(BOOKS).with_tool("search");
    run(session.record(&call("c"), result)).unwrap();
    run(session.create_artifact(wanted().with_base("total"))).unwrap();

    clock.advance(day - Duration::from_secs(1));
    let reference = json!({"n": {"$artifact": "a", "$tool": "c"}});
    let resolved = run(session.resolve(reference.clone(), None)).unwrap();
    assert_eq!(resolved.arguments, json!({"n": 2}));
    let gone = run(session.get(&call("c"))).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::ResultExpired);

    clock.advance(Duration::from_secs(1));
    let gone = run(session.artifact(&id("a"), &call("c"))).unwrap_err();
    assert!(matches!(gone, LookupError::ArtifactExpired { .. }));
    assert!(gone.advice().contains("`search`"), "{}", gone.advice());
    let refused = run(session.resolve(reference, None)).unwrap_err();
    assert_eq!(refused.bodies()[0].code, "artifact.expired");
    let brought = run(session.retrieve_artifact(&id("a"), &call("c"), None)).unwrap();
    assert_eq!(brought.status(), "expired");
}

#[test]
fn an_artifact_is_brought_into_the_context_once_and_in_parts_if_it_is_large() {
    let context = ContextOptions::default().with_window(100).with_share(30);
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let large = json!({"head": "short", "body": "x".repeat(1000)}).to_string();
    run(session.record(&call("c"), ToolResult::json(large))).unwrap();
    let make = |name, base: &str| {
        let wanted = NewArtifact::new(id(name), call("c")).with_base(base);
        run(session.create_artifact(wanted)).unwrap()
    };
    let (small, blocked) = (make("small", "head"), make("large", "@"));
    assert!(!small.artifact.retrieval_blocked() && blocked.artifact.retrieval_blocked());
    assert!(small.tokens <= 30 && blocked.tokens > 30);

    let bring = |name, select| {
        let brought = run(session.retrieve_artifact(&id(name), &call("c"), select)).unwrap();
        let json = match &brought {
            Retrieved::Data { json, .. } => String::from_utf8(json.clone()).unwrap(),
            _ => String::new(),
        };
        (brought.status(), json)
    };
    assert_eq!(bring("small", None), ("data", "\"short\"".to_owned()));
    assert_eq!(bring("small", None).0, "already_shown");
    assert_eq!(bring("large", None).0, "oversized");
    assert_eq!(
        bring("large", Some("head")),
        ("data", "\"short\"".to_owned())
    );
    assert_eq!(bring("large", Some("body")).0, "oversized");
    assert_eq!(bring("nothing", None).0, "unknown");
    let failure = run(session.retrieve_artifact(&id("large"), &call("c"), Some("haed")));
    assert!(failure.unwrap_err().to_string().contains("try: head"));
}
