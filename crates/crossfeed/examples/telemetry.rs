//! What the engine measures of one call: `cargo run -p crossfeed --example telemetry`.
//!
//! Nothing but the trait [`Telemetry`] is needed. The example `export` sends the engine's spans, links and
//! metrics to OpenTelemetry instead.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use crossfeed::{
    CallId, Engine, EngineOptions, Scope, ToolResult,
    telemetry::{Attribute, Instrument, Telemetry, TraceContext},
};
use parking_lot::Mutex;
use serde_json::json;
use std::{error::Error, sync::Arc};
use tracing::Span;

/// Keeps the measurements. It has no traces, so it knows no contexts and adds no links.
#[derive(Debug, Default)]
struct Measurements(Mutex<Vec<(Instrument, f64)>>);

impl Telemetry for Measurements {
    fn context(&self, _: &Span) -> Option<TraceContext> {
        None
    }

    fn adopt(&self, _: &Span, _: &TraceContext) {}

    fn link(&self, _: &Span, _: &TraceContext, _: &[Attribute<'_>]) -> bool {
        false
    }

    fn measure(&self, instrument: Instrument, value: f64, _: &[Attribute<'_>]) {
        self.0.lock().push((instrument, value));
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let measurements = Arc::new(Measurements::default());
    let options = EngineOptions::default().with_telemetry(Arc::clone(&measurements) as _);
    let session =
        Engine::in_memory(options).session(Scope::parse("acme", "support", "conversation-42")?);
    let found = r#"{"items": [{"url": "https://a.example"}]}"#;
    let search = CallId::parse("call_1")?;
    session.record(&search, ToolResult::json(found)).await?;
    let arguments = json!({"url": {"$tool": "call_1", "$select": "items[0].url"}});
    session.resolve(arguments, None).await?;

    let measured = measurements.0.lock();
    for (instrument, value) in &*measured {
        println!("{instrument:?}: {value}");
    }
    let is_resolution = |measured: &&(_, f64)| measured.0 == Instrument::Resolutions;
    assert_eq!(measured.iter().filter(is_resolution).count(), 1);
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(run())
}
