//! No payload is in any span, event, link or figure, whatever a session does.

use super::pipeline::{exported, id};
use crossfeed_core::{
    Engine, EngineOptions, HintDetail, NewArtifact, ProjectOptions, RenderOptions, Session,
    ToolResult,
};
use crossfeed_projection::ProjectionRequest;
use crossfeed_wire::{ArtifactId, Scope};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{fmt::Debug, sync::Arc};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt, registry::LookupSpan};

/// What stands wherever payload may.
const PAYLOAD: &str = "zqPAYLOADqz";

/// Everything that is said by `tracing`, at any level.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().push(format!("{field}={value:?}"));
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Said {
    fn on_new_span(&self, span: &span::Attributes<'_>, _: &span::Id, _: Context<'_, S>) {
        span.record(&mut self.clone());
    }

    fn on_record(&self, _: &span::Id, values: &span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

/// JSON whose strings and numbers are payload; its keys are names.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(PAYLOAD)),
        Just(json!(format!("{{\"in\": \"{PAYLOAD}\"}}"))),
        Just(json!(null)),
        Just(json!(true)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key = prop::sample::select(vec!["items", "name", "status", "url", "content", "x-y"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

/// Selectors as models write them: with payload wherever they filter by it, right and wrong.
fn selector() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec![
        format!("'{PAYLOAD}'"),
        format!("\"{PAYLOAD}\""),
        format!("`{PAYLOAD}`"),
        format!("`\"{PAYLOAD}\"`"),
        PAYLOAD.to_owned(),
        format!("'{PAYLOAD}"),
        format!("({PAYLOAD})"),
        format!("[{PAYLOAD}]"),
        format!("{{k: {PAYLOAD}}}"),
        format!("{PAYLOAD}.x[0].*"),
        format!("length({PAYLOAD})"),
        format!("@.{PAYLOAD}"),
    ]);
    let form = prop::sample::select(vec![
        "items[?name == X]",
        "items[?X == name].url | [0]",
        "items[?name == X && status != X].url",
        "[?contains(name, X)]",
        "items[?name ~ contains(@, X)]",
        "[?name=X]",
        "@[?X==missing]",
        "items[*].{name: name, other: X == name}",
        "join(X, items)",
        "items[?name == X",
        "name == X",
        "items[?name != X]",
        "items[?X != 'x'].name",
        "items[?X == `null`] | [0].name",
        "items[?!(X == name)]",
        "name || X",
        "items[0].name || name || X || status",
        "not_null(name, X)",
        "not_null(name, [status, X])",
        "join((', '), X)",
        "contains((name), X)",
        "X, Ann, Bob",
        "name: X",
        "X 4 Privet Drive",
        "items[0].name",
        "$.items[0].url",
        "result.items",
        "no.such.path",
        "length(missing)",
        "${X}",
        "eval(X)",
        "",
    ]);
    // A key in quotes may be one of a map: an address, a name.
    let quoted = prop::sample::select(vec![
        "X",
        "[name, X]",
        "{who: name, by: X}",
        "items[?X].name",
        "name && X",
        "items[*].[name, X][]",
        "length(X)",
        "items.X.name",
        "@.X[0]",
    ]);
    let quoted = quoted.prop_map(|form| form.replace('X', &format!("\"{PAYLOAD} Lee\"")));
    prop_oneof![
        3 => (form, literal).prop_map(|(form, literal)| form.replace('X', &literal)),
        1 => quoted,
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Record(usize, Value, u8),
    Resolve(Vec<(usize, Option<String>, bool)>, bool),
    Look(usize, Option<String>),
}

fn step() -> impl Strategy<Value = Step> {
    let reference = (0..5_usize, prop::option::of(selector()), any::<bool>());
    prop_oneof![
        (0..4_usize, data(), 0..4_u8).prop_map(|(call, data, how)| Step::Record(call, data, how)),
        (prop::collection::vec(reference, 0..4), any::<bool>())
            .prop_map(|(references, judged)| Step::Resolve(references, judged)),
        (0..5_usize, prop::option::of(selector())).prop_map(|(call, s)| Step::Look(call, s)),
    ]
}

/// Does it all; what comes of it does not matter.
async fn run(engine: Engine, steps: Vec<Step>) {
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Record(call, data, how) => record(&session, call, data, how).await,
            Step::Resolve(references, judged) => {
                let consumer = session
                    .begin(&id(&format!("consumer_{number}")))
                    .await
                    .unwrap();
                let consumer = consumer
                    .with_tool("consume")
                    .with_arguments(json!(PAYLOAD).to_string());
                let arguments = arguments(references);
                let schema = json!({"type": "object", "properties": {
                    "r0": {"type": "integer"}, "text": {"const": 1},
                }});
                let schema = engine.input_schema(&schema).unwrap();
                let schema = judged.then_some(&schema);
                let bytes = arguments.to_string();
                let _ = consumer.session().resolve(arguments, schema).await;
                let _ = session.resolve_json(bytes, schema).await;
                let _ = consumer.fail(PAYLOAD).await;
            }
            Step::Look(call, select) => look(&session, call, select.as_deref()).await,
        }
    }
}

async fn record(session: &Session, call: usize, data: Value, how: u8) {
    let call = id(&format!("call_{call}"));
    let text = data.to_string();
    let result = match how {
        0 => ToolResult::json(text),
        1 => ToolResult::text(text),
        2 => ToolResult::mcp(json!({"content": [{"type": "text", "text": text}]}).to_string()),
        _ => ToolResult::text(PAYLOAD).failed(),
    };
    let result = result
        .with_tool("produce")
        .with_arguments(json!(PAYLOAD).to_string());
    let _ = session.record(&call, result).await;
}

fn arguments(references: Vec<(usize, Option<String>, bool)>) -> Value {
    let mut arguments = json!({"text": PAYLOAD, "literal": {"$literal": {"$tool": PAYLOAD}}});
    for (number, (call, select, has_default)) in references.into_iter().enumerate() {
        let mut reference = json!({"$tool": format!("call_{call}")});
        if let Some(select) = select {
            reference["$select"] = json!(select);
            if has_default {
                reference["$default"] = json!(PAYLOAD);
            }
        }
        arguments[format!("r{number}")] = reference;
    }
    arguments
}

async fn look(session: &Session, call: usize, select: Option<&str>) {
    let call = id(&format!("call_{call}"));
    let _ = session
        .render(&call, &RenderOptions::default().with_budget(80))
        .await;
    let _ = session.hints(&call, HintDetail::Full).await;
    let _ = session.retrieve(&call, select).await;
    let request = ProjectionRequest::new().with_include(["items.name"]);
    let mut options = ProjectOptions::default().with_request(request);
    let mut artifact = NewArtifact::new(ArtifactId::parse("best").unwrap(), call.clone());
    if let Some(select) = select {
        let _ = session.select(&call, select).await;
        options = options.with_select(select);
        artifact = artifact.with_base(select).with_detail("d", select);
    }
    let _ = session.project(&call, &options).await;
    let _ = session.create_artifact(artifact).await;
    let stored = json!({"a": {"$artifact": "best", "$tool": call.as_str(), "$select": select}});
    let _ = session.resolve(stored, None).await;
}

/// Whether payload is anywhere in what is said.
fn check(said: &str) {
    if let Some(at) = said.find(PAYLOAD) {
        let around = said.get(at.saturating_sub(200)..(at + 60).min(said.len()));
        panic!("{}", around.unwrap_or("payload"));
    }
}

#[test]
fn an_id_that_nobody_minted_is_not_said() {
    let exported = exported(EngineOptions::default(), |engine| async move {
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let of_call = json!({"$tool": PAYLOAD});
        let of_artifact = json!({"$artifact": PAYLOAD, "$tool": PAYLOAD});
        let refused = session.resolve(json!({"a": of_call, "b": of_artifact}), None);
        refused.await.unwrap_err();
    });
    assert!(!exported.spans.is_empty());
    check(&format!("{:?} {:?}", exported.spans, exported.metrics));
}

/// A correction may turn a literal into a name; it is evaluated before it is offered.
#[test]
fn an_offered_selector_is_not_said() {
    let select = format!("${{`{PAYLOAD}`}}");
    let steps = vec![Step::Record(1, json!([]), 0), Step::Look(1, Some(select))];
    let exported = exported(EngineOptions::default(), |engine| run(engine, steps));
    check(&format!("{:?} {:?}", exported.spans, exported.metrics));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_payload_is_exported(steps in prop::collection::vec(step(), 1..8)) {
        let exported = exported(EngineOptions::default(), |engine| run(engine, steps));
        prop_assert!(!exported.spans.is_empty());
        check(&format!("{:?} {:?}", exported.spans, exported.metrics));
    }

    #[test]
    fn no_payload_is_said(steps in prop::collection::vec(step(), 1..8)) {
        let said = Said::default();
        let subscriber = tracing_subscriber::registry().with(said.clone());
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().unwrap();
        tracing::subscriber::with_default(subscriber, || {
            runtime.block_on(run(Engine::in_memory(EngineOptions::default()), steps));
        });
        let said = said.0.lock();
        prop_assert!(!said.is_empty());
        check(&said.join("\n"));
    }
}
