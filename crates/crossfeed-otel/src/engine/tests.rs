use super::EngineTelemetry;
use crossfeed_core::{Engine, EngineOptions, RenderOptions, Session, Telemetry, ToolResult};
use crossfeed_wire::{CallId, Scope, TraceContext};
use opentelemetry::{
    KeyValue, Value,
    metrics::MeterProvider,
    trace::{Status, TracerProvider},
};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    },
    trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData},
};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};
use tracing::{Instrument as _, info_span};
use tracing_subscriber::{
    Layer,
    filter::filter_fn,
    layer::{Identity, SubscriberExt},
};

/// What was exported of a session.
struct Exported {
    spans: Vec<SpanData>,
    metrics: Vec<String>,
    /// The last value of each sum without attributes.
    sums: HashMap<String, i64>,
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

fn scope() -> Scope {
    Scope::parse("t", "p", "s").unwrap()
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
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    tracing::subscriber::with_default(subscriber, || {
        let telemetry = EngineTelemetry::new(&meters.meter("test"));
        let options = EngineOptions::default().with_telemetry(Arc::new(telemetry));
        let engine = Engine::in_memory(options);
        runtime.block_on(use_session(engine.session(scope())));
        meters.force_flush().unwrap();
    });
    let mut exported = Exported {
        spans: exporter.get_finished_spans().unwrap(),
        metrics: Vec::new(),
        sums: HashMap::new(),
    };
    for all in metrics.get_finished_metrics().unwrap() {
        for metric in all.scope_metrics().flat_map(|scope| scope.metrics()) {
            exported.metrics.push(metric.name().to_owned());
            let sum = match metric.data() {
                AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                    sum.data_points().map(|point| point.value()).sum()
                }
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    sum.data_points().map(|point| point.value() as i64).sum()
                }
                _ => continue,
            };
            exported.sums.insert(metric.name().to_owned(), sum);
        }
    }
    exported
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

#[test]
fn a_call_may_be_recorded_by_others_while_it_is_in_flight() {
    let exported = run(|session| async move {
        let call = session.begin(&id("call_1")).await.unwrap();
        let call = call.with_tool("search");
        session
            .record(&id("call_1"), ToolResult::json("[1]"))
            .await
            .unwrap();
        drop(call);
        session
            .resolve(json!({"n": {"$tool": "call_1"}}), None)
            .await
            .unwrap();
    });
    let call = exported.span("execute_tool search");
    assert_eq!(
        text(&call.attributes, "crossfeed.outcome").as_deref(),
        Some("returned")
    );
    let link = &exported.span("crossfeed.resolve").links[0];
    assert_eq!(link.span_context.span_id(), call.span_context.span_id());
    assert_eq!(exported.sums["crossfeed.calls.in_flight"], 0);
}

#[test]
fn a_host_says_itself_where_a_result_comes_from() {
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let place = TraceContext::parse(given, None).unwrap();
    let expected = place.clone();
    let exported = run(|session| async move {
        let result = ToolResult::json("[1]").with_trace(place);
        session.record(&id("call_1"), result).await.unwrap();
        // The first record stays.
        let again = ToolResult::json("[1]");
        session.record(&id("call_1"), again).await.unwrap();
        session
            .resolve(json!({"n": {"$tool": "call_1"}}), None)
            .await
            .unwrap();
    });
    let link = &exported.span("crossfeed.resolve").links[0];
    assert_eq!(link.span_context.trace_id().to_bytes(), expected.trace_id());
    assert_eq!(link.span_context.span_id().to_bytes(), expected.span_id());
}

#[test]
fn what_leaves_the_async_thread_stays_in_its_span() {
    let exported = run(|session| async move {
        let large = format!(r#"{{"items": [{}0]}}"#, "1, ".repeat(50_000));
        session
            .record(&id("call_1"), ToolResult::json(large))
            .await
            .unwrap();
        let arguments = json!({"n": {"$tool": "call_1", "$select": "items[?@ == `0`] | [0]"}});
        session.resolve(arguments, None).await.unwrap();
    });
    let (resolve, select) = (
        exported.span("crossfeed.resolve"),
        exported.span("crossfeed.select"),
    );
    assert_eq!(select.parent_span_id, resolve.span_context.span_id());
    let selector = text(&select.attributes, "crossfeed.selector");
    assert_eq!(selector.as_deref(), Some("items[?@ == `…`] | [0]"));
}

#[test]
fn where_there_is_nothing_to_link_to_an_event_says_the_same() {
    let exported = run(|session| async move {
        let plain = Engine::in_memory(EngineOptions::default()).session(scope());
        plain
            .record(&id("call_1"), ToolResult::json("[1]"))
            .await
            .unwrap();
        let arguments = json!({"n": {"$tool": "call_1", "$select": "[0]"}});
        plain.resolve(arguments, None).await.unwrap();
        drop(session);
    });
    let resolve = exported.span("crossfeed.resolve");
    assert!(resolve.links.is_empty());
    let [event] = &resolve.events[..] else {
        panic!("{:?}", resolve.events);
    };
    assert_eq!(event.name, "crossfeed.reference");
    assert_eq!(
        text(&event.attributes, "gen_ai.tool.call.id").as_deref(),
        Some("call_1")
    );
    assert_eq!(
        text(&event.attributes, "crossfeed.argument").as_deref(),
        Some("/n")
    );
}

/// Whether a span takes a link, and how many it is exported with.
fn check_link(sampler: Sampler, target_is_exported: bool, expected: (bool, Option<usize>)) {
    let exporter = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder()
        .with_sampler(sampler)
        .with_simple_exporter(exporter.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(tracers.tracer("test"));
    let layer = layer.with_filter(filter_fn(move |_| target_is_exported));
    // Spans are enabled by another layer as well.
    let subscriber = tracing_subscriber::registry()
        .with(layer)
        .with(Identity::new());
    let place = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    let is_linked = tracing::subscriber::with_default(subscriber, || {
        let telemetry = EngineTelemetry::new(&SdkMeterProvider::default().meter("test"));
        let span = info_span!("consumer");
        assert!(!span.is_disabled());
        telemetry.link(&span, &place, &[])
    });
    let spans = exporter.get_finished_spans().unwrap();
    let links = spans.first().map(|span| span.links.len());
    assert_eq!((is_linked, links), expected);
}

#[test]
fn a_link_is_made_only_where_it_is_exported() {
    check_link(Sampler::AlwaysOn, true, (true, Some(1)));
    check_link(Sampler::AlwaysOn, false, (false, None));
    check_link(Sampler::AlwaysOff, true, (false, None));
}

#[test]
fn names_are_cut() {
    let exported = run(|session| async move {
        let call = session.begin(&id("call_1")).await.unwrap();
        let call = call.with_tool("é".repeat(100_000));
        call.complete(ToolResult::json("[1]")).await.unwrap();
        drop(call);
        let arguments = json!({"n": {"$tool": "call_1", "$select": "[0]"}});
        session.resolve(arguments, None).await.unwrap();
    });
    let all = format!("{:?}", exported.spans);
    assert!(all.contains(&"é".repeat(128)) && !all.contains(&"é".repeat(129)));
}

#[test]
fn what_is_avoided_is_the_sum_of_the_account() {
    let exported = run(|session| async move {
        let pages = json!({"pages": vec!["some page of a book"; 1000]});
        let result = ToolResult::json(pages.to_string());
        session.record(&id("call_1"), result).await.unwrap();
        session
            .render(&id("call_1"), &RenderOptions::default())
            .await
            .unwrap();
        let arguments = json!({"book": {"$tool": "call_1", "$select": "pages"}});
        session.resolve(arguments, None).await.unwrap();
        session
            .resolve(json!({"$tool": "nobody"}), None)
            .await
            .unwrap_err();
        let avoided = session.usage().avoided();
        AVOIDED.with(|sum| sum.set(avoided));
    });
    let avoided = AVOIDED.with(std::cell::Cell::get);
    assert!(avoided > 0);
    assert_eq!(exported.sums["crossfeed.tokens.avoided"], avoided);
    assert!(exported.sums["crossfeed.bytes.moved"] > 20_000);
}

thread_local! {
    static AVOIDED: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

#[test]
fn what_a_client_sent_is_passed_on_where_nothing_is_exported() {
    let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let parent = TraceContext::parse(sent, None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    runtime.block_on(async {
        let session = Engine::in_memory(EngineOptions::default()).session(scope());
        let call = session.begin(&id("call_1")).await.unwrap();
        assert_eq!(call.trace_context(), None);
        let call = call.with_parent(&parent);
        assert_eq!(call.trace_context().as_ref(), Some(&parent));
        call.complete(ToolResult::json("[1]")).await.unwrap();
        let stored = session.get(&id("call_1")).await.unwrap();
        assert_eq!(stored.trace(), Some(&parent));
    });
}
