//! The span of one resolution: its outcome, and the results it used.

use super::{
    call::{CallTrace, begin_in},
    flow::{self, missed},
    stage::first_code,
};
use crate::{
    failure::ResolveError,
    lineage::LineageEntry,
    telemetry::{Attribute, AttributeValue, Instrument, Telemetry, fail, number, stage, within},
};
use std::sync::Arc;
use tracing::{Span, field};

/// The trace of one resolution.
pub(crate) struct ResolutionTrace {
    pub(crate) span: Span,
    /// The call in flight that it is for.
    call: Option<Arc<CallTrace>>,
}

impl ResolutionTrace {
    /// Begins the trace, within that of a call in flight; `tool` is the tool to be called.
    pub(crate) fn begin(call: Option<Arc<CallTrace>>, tool: Option<&str>) -> Self {
        let begin = || {
            stage!(
                "crossfeed::resolve",
                "crossfeed.resolve",
                "gen_ai.tool.name" = tool.map(within),
                "crossfeed.outcome" = field::Empty,
                "crossfeed.references" = field::Empty,
                "crossfeed.references.unlinked" = field::Empty,
                "crossfeed.repairs" = field::Empty,
                "crossfeed.bytes.in" = field::Empty,
                "crossfeed.bytes.out" = field::Empty,
                "crossfeed.failures" = field::Empty,
            )
        };
        let span = begin_in(call.as_ref(), begin);
        Self { span, call }
    }

    /// The span that data flows to: that of the call, or of the resolution; `None` if both are disabled.
    fn consumer(&self) -> Option<&Span> {
        let call = self.call.as_ref().map(|call| &call.span);
        let mut spans = call.into_iter().chain([&self.span]);
        spans.find(|span| !span.is_disabled())
    }

    /// Records that everything was resolved.
    pub(crate) fn resolved(
        &self,
        lineage: &[LineageEntry],
        repairs: usize,
        telemetry: Option<&dyn Telemetry>,
    ) {
        if let Some(telemetry) = telemetry {
            telemetry.measure(
                Instrument::Resolutions,
                1.0,
                &[("crossfeed.outcome", AttributeValue::Text("resolved"))],
            );
            if !lineage.is_empty() {
                let hit = [("crossfeed.cache.hit", AttributeValue::Flag(true))];
                telemetry.measure(Instrument::References, lineage.len() as f64, &hit);
                let moved = lineage.iter().filter(|link| !link.source.used_default);
                let sizes = moved.map(|link| link.source.bytes_out);
                let bytes = sizes.fold(0, usize::saturating_add) as f64;
                telemetry.measure(Instrument::BytesMoved, bytes, &[]);
            }
        }
        let Some(consumer) = self.consumer() else {
            return;
        };
        let sum =
            |of: fn(&LineageEntry) -> usize| lineage.iter().map(of).fold(0, usize::saturating_add);
        self.span.record("crossfeed.outcome", "resolved");
        let record = |name, n| self.span.record(name, number(n));
        record("crossfeed.references", lineage.len());
        record("crossfeed.repairs", repairs);
        record("crossfeed.bytes.in", sum(|link| link.source.bytes_in));
        record("crossfeed.bytes.out", sum(|link| link.source.bytes_out));
        let unlinked = flow::brought(consumer, telemetry, lineage);
        if unlinked > 0 {
            record("crossfeed.references.unlinked", unlinked);
        }
    }

    /// Records that the call must not run.
    pub(crate) fn refused(&self, error: &ResolveError, telemetry: Option<&dyn Telemetry>) {
        let code = first_code(error.failures());
        if let Some(telemetry) = telemetry {
            let code: Attribute<'_> = ("error.type", AttributeValue::Text(code));
            let outcome = ("crossfeed.outcome", AttributeValue::Text("refused"));
            telemetry.measure(Instrument::Resolutions, 1.0, &[outcome, code]);
            for failure in error.failures() {
                if let Some(code) = missed(&failure.error) {
                    let hit = ("crossfeed.cache.hit", AttributeValue::Flag(false));
                    let why = ("error.type", AttributeValue::Text(code));
                    telemetry.measure(Instrument::References, 1.0, &[hit, why]);
                }
            }
        }
        let Some(consumer) = self.consumer() else {
            return;
        };
        self.span.record("crossfeed.outcome", "refused");
        let failures = number(error.failures().len());
        self.span.record("crossfeed.failures", failures);
        fail(&self.span, code);
        flow::failed(consumer, error.failures());
    }
}
