use super::EngineTelemetry;
use crossfeed_core::{Engine, EngineOptions, Session, ToolResult};
use crossfeed_wire::{CallId, Scope, TraceContext};
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::{
    metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider},
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};
use serde_json::json;
use std::sync::Arc;
use tracing::{Instrument as _, info_span};
use tracing_subscriber::layer::SubscriberExt;

/// What was exported of a session.
struct Exported {
    spans: Vec<SpanData>,
    metrics: Vec<String>,
}

impl Exported {
    fn span(&self, name: &str) -> &SpanData {
        let span = self.spans.iter().find(|span| span.name == name);
        span.unwrap_or_else(|| {
            let names: Vec<_> = self.spans.iter().map(|span| &span.name).collect();
            panic!("no span {name}: {names:?}")
        })
    }
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|pair| pair.key.as_str() == name);
    found.map(|pair| match &pair.value {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    })
}

/// Runs a session in a pipeline of its own.
fn run<F: Future<Output = ()>>(use_session: impl FnOnce(Session) -> F) -> Exported {
    let exporter = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder()
        .with_simple_exporter(exporter.clone())
        .build();
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder()
        .with_reader(PeriodicReader::builder(metrics.clone()).build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(tracers.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tracing::subscriber::with_default(subscriber, || {
        use opentelemetry::metrics::MeterProvider;
        let telemetry = EngineTelemetry::new(&meters.meter("test"));
        let options = EngineOptions::default().with_telemetry(Arc::new(telemetry));
        let engine = Engine::in_memory(options);
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        runtime.block_on(use_session(session));
        meters.force_flush().unwrap();
    });
    let metrics = metrics.get_finished_metrics().unwrap();
    let metrics = metrics.iter().flat_map(|all| all.scope_metrics());
    let metrics = metrics.flat_map(|scope| scope.metrics().map(|metric| metric.name().to_owned()));
    Exported {
        spans: exporter.get_finished_spans().unwrap(),
        metrics: metrics.collect(),
    }
}

fn id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

#[test]
fn a_reference_is_a_link_from_the_call_that_takes_to_the_call_that_gave() {
    let exported = run(|session| async move {
        let search = session
            .begin(&id("call_1"))
            .await
            .unwrap()
            .with_tool("search");
        let found = ToolResult::json(r#"{"items": [{"url": "u"}, {"url": "v"}]}"#);
        search.complete(found).await.unwrap();
        drop(search);
        let fetch = session
            .begin(&id("call_2"))
            .await
            .unwrap()
            .with_tool("fetch");
        let arguments = json!({
            "first": {"$tool": "call_1", "$select": "items[?url=='u'].url | [0]"},
            "all": {"$tool": "call_1"},
        });
        fetch.session().resolve(arguments, None).await.unwrap();
        fetch.fail("no").await.unwrap();
    });
    let (search, fetch) = (
        exported.span("execute_tool search"),
        exported.span("execute_tool fetch"),
    );
    assert_eq!(fetch.links.len(), 2);
    for link in fetch.links.iter() {
        assert_eq!(link.span_context.span_id(), search.span_context.span_id());
        assert_eq!(
            text(&link.attributes, "gen_ai.tool.call.id").as_deref(),
            Some("call_1")
        );
        assert_eq!(
            text(&link.attributes, "gen_ai.tool.name").as_deref(),
            Some("search")
        );
    }
    let link = &fetch.links[0];
    assert_eq!(
        text(&link.attributes, "crossfeed.argument").as_deref(),
        Some("/first")
    );
    let selector = text(&link.attributes, "crossfeed.selector");
    assert_eq!(selector.as_deref(), Some("items[?url=='…'].url | [0]"));
    assert_eq!(
        text(&search.attributes, "crossfeed.outcome").as_deref(),
        Some("returned")
    );
    assert_eq!(
        text(&fetch.attributes, "error.type").as_deref(),
        Some("result.failed")
    );
    assert_eq!(fetch.status, Status::error("result.failed"));
    let resolve = exported.span("crossfeed.resolve");
    assert_eq!(resolve.parent_span_id, fetch.span_context.span_id());
    for metric in [
        "crossfeed.resolutions",
        "crossfeed.references",
        "crossfeed.store.bytes",
    ] {
        assert!(
            exported.metrics.iter().any(|name| name == metric),
            "{:?}",
            exported.metrics
        );
    }
}

#[test]
fn a_client_is_the_parent_and_a_tool_the_child() {
    let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let parent = TraceContext::parse(sent, Some("vendor=1")).unwrap();
    let given = parent.clone();
    let exported = run(|session| async move {
        let call = session.begin(&id("call_1")).await.unwrap();
        let call = call.with_parent(&given).with_tool("search");
        let passed_on = call.trace_context().unwrap();
        assert_eq!(passed_on.trace_id(), given.trace_id());
        assert_ne!(passed_on.span_id(), given.span_id());
        assert_eq!(passed_on.tracestate(), Some("vendor=1"));
        async {}
            .instrument(info_span!(parent: call.span(), "the tool"))
            .await;
    });
    let call = exported.span("execute_tool search");
    assert_eq!(call.parent_span_id.to_bytes(), parent.span_id());
    assert!(call.parent_span_is_remote);
    assert_eq!(
        exported.span("the tool").parent_span_id,
        call.span_context.span_id()
    );
    // Nothing was recorded of it.
    assert_eq!(
        text(&call.attributes, "error.type").as_deref(),
        Some("given_up")
    );
}

#[test]
fn without_a_call_in_flight_a_link_leads_from_the_resolution_to_wherever_it_was_recorded() {
    let exported = run(|session| async move {
        let call = id("call_1");
        let recorded = session.record(&call, ToolResult::json("[1]"));
        recorded.instrument(info_span!("turn")).await.unwrap();
        let arguments = json!({"n": {"$tool": "call_1"}});
        let resolved = session.resolve(arguments, None).await.unwrap();
        assert!(resolved.lineage[0].source.trace.is_some());
    });
    let resolve = exported.span("crossfeed.resolve");
    let turn = exported.span("turn");
    assert_eq!(
        resolve.links[0].span_context.span_id(),
        turn.span_context.span_id()
    );
}
