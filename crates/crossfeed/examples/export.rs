//! A pipeline to copy from: `tracing`, `tracing-opentelemetry`, the sanitizer, OTLP.
//!
//! `cargo run -p crossfeed --features otel --example export -- --print` prints the spans as they would
//! leave. `… --example export -- http://127.0.0.1:4318` sends them to a collector.
//!
//! Two calls run, of which the second takes a part of the first one's result. In between the model is
//! shown a result, and the host's instrumentation notes what the model was sent, as it always did: with
//! the fields in it that are there for the model only. The sanitizer takes these out. That the second
//! call was fed by the first is a link between their spans.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows what it does"
)]

use crossfeed::{
    CallId, Engine, EngineOptions, RenderOptions, Scope, ToolResult,
    telemetry::{EngineTelemetry, Policy, SanitizingSpanExporter},
};
use opentelemetry::{KeyValue, SpanId, global, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData},
};
use parking_lot::Mutex;
use serde_json::json;
use std::{collections::HashMap, error::Error, process::ExitCode, sync::Arc, time::Duration};
use tracing::{Instrument as _, Level, info_span};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _};

/// Two calls, and what the model reads of the first.
async fn agent() -> Result<(), Box<dyn Error>> {
    // The engine's spans come by `tracing` alone. With this there are links and figures, too.
    let telemetry = EngineTelemetry::new(&global::meter("crossfeed"));
    let options = EngineOptions::default().with_telemetry(Arc::new(telemetry));
    let session = Engine::in_memory(options).session(Scope::parse("tenant", "project", "run-1")?);

    let search = session.begin(&CallId::parse("call_1")?).await?;
    let search = search.with_tool("search");
    let found = json!({"items": [
        {"_id": 1, "url": "https://a.example", "score": 0.9},
        {"_id": 2, "url": "https://b.example", "score": 0.2},
    ]});
    search.complete(ToolResult::value(&found)).await?;

    let shown = session
        .render(search.call_id(), &RenderOptions::default())
        .await;
    let shown = shown.map_err(|failure| failure.to_string())?.json;
    println!("the model reads {shown}");
    drop(search);

    // What a host's own instrumentation notes of its call of the model: the messages, as they are.
    let response = json!({"type": "tool_call_response", "id": "call_1", "response": shown});
    let messages = json!([{"role": "tool", "parts": [response]}]).to_string();
    drop(info_span!(
        "chat",
        "gen_ai.operation.name" = "chat",
        "gen_ai.input.messages" = messages
    ));

    let fetch = session.begin(&CallId::parse("call_2")?).await?;
    let fetch = fetch.with_tool("fetch");
    let arguments = json!({"urls": {"$tool": "call_1", "$select": "items[?score > `0.8`].url"}});
    let resolved = fetch.session().resolve(arguments, None).await?;
    println!("the tool gets {}", resolved.arguments);
    fetch.complete(ToolResult::text("two pages")).await?;
    Ok(())
}

/// Spans that are kept to be printed.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl opentelemetry_sdk::trace::SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut spans = self.0.lock();
        spans.extend(batch);
        Ok(())
    }
}

impl Kept {
    /// Prints the spans as a tree, without ids and times: the same for every run.
    fn print(&self) {
        let spans = self.0.lock();
        let mut spans: Vec<&SpanData> = spans.iter().collect();
        spans.sort_by_key(|span| span.start_time);
        let mut levels = HashMap::from([(SpanId::INVALID, 0)]);
        for span in &spans {
            let level = levels
                .get(&span.parent_span_id)
                .copied()
                .unwrap_or_default();
            levels.insert(span.span_context.span_id(), level + 1);
            let indent = "  ".repeat(level);
            println!("{indent}{}", span.name);
            print_attributes(&indent, &span.attributes);
            for link in span.links.iter() {
                let to = link.span_context.span_id();
                let to = spans.iter().find(|span| span.span_context.span_id() == to);
                let to = to.map_or("elsewhere", |span| &*span.name);
                println!("{indent}    fed by {to}");
                print_attributes(&format!("{indent}  "), &link.attributes);
            }
        }
    }
}

fn print_attributes(indent: &str, attributes: &[KeyValue]) {
    for attribute in attributes {
        println!("{indent}    {} = {}", attribute.key, attribute.value);
    }
}

/// Runs the agent with all that it traces going to `provider`.
fn run(provider: &SdkTracerProvider) -> Result<(), Box<dyn Error>> {
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("agent"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_target(false);
    // Calls are of level INFO; their stages, each with a span of its own, are DEBUG.
    let targets = Targets::new()
        .with_target("export", Level::INFO)
        .with_target("crossfeed", Level::INFO);
    let subscriber = tracing_subscriber::registry().with(targets).with(layer);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    tracing::subscriber::with_default(subscriber, || {
        let root = info_span!("invoke_agent", "gen_ai.operation.name" = "invoke_agent");
        runtime.block_on(agent().instrument(root))
    })
}

fn provider() -> opentelemetry_sdk::trace::TracerProviderBuilder {
    SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("an-agent").build())
}

fn print() -> Result<(), Box<dyn Error>> {
    let kept = Kept::default();
    let exporter = SanitizingSpanExporter::new(kept.clone(), Policy::default());
    let provider = provider().with_batch_exporter(exporter).build();
    run(&provider)?;
    provider.shutdown()?;
    println!();
    kept.print();
    Ok(())
}

fn send(endpoint: &str) -> Result<(), Box<dyn Error>> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(Duration::from_secs(5))
        .build()?;
    // The one line that a pipeline gains.
    let exporter = SanitizingSpanExporter::new(exporter, Policy::default());
    let provider = provider().with_batch_exporter(exporter).build();
    run(&provider)?;
    let sent = provider.force_flush();
    let stopped = provider.shutdown();
    sent.and(stopped).map_err(|error| {
        format!("not all was sent to {endpoint} ({error}); `--print` needs no receiver").into()
    })
}

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("--print") => print(),
        Some(other) if !other.starts_with("http://") => {
            Err("usage: export [--print | http://HOST:PORT]".into())
        }
        Some(endpoint) => send(endpoint),
        None => send("http://127.0.0.1:4318"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
