//! The span of one selector, and how long it took.

use super::SelectReport;
use crate::{
    error::SelectError,
    telemetry::{AttributeValue, Instrument, Telemetry, fail, number, stage},
};
use crossfeed_jmespath::masked;
use std::time::Instant;
use tracing::{Span, field};

/// The trace of one selector.
pub(super) struct SelectTrace<'t> {
    pub(super) span: Span,
    /// Read only where telemetry is received.
    begun: Option<(Instant, &'t dyn Telemetry)>,
}

impl<'t> SelectTrace<'t> {
    pub(super) fn begin(telemetry: Option<&'t dyn Telemetry>) -> Self {
        Self {
            span: stage!(
                "crossfeed::select",
                "crossfeed.select",
                "crossfeed.selector" = field::Empty,
                "crossfeed.selector.length" = field::Empty,
                "crossfeed.view" = field::Empty,
                "crossfeed.repairs" = field::Empty,
                "crossfeed.repair.rules" = field::Empty,
            ),
            begun: telemetry.map(|telemetry| (Instant::now(), telemetry)),
        }
    }

    /// Records the outcome.
    pub(super) fn end(self, written: &str, done: Result<&SelectReport, &SelectError>) {
        if let Some((begun, telemetry)) = self.begun {
            let seconds = begun.elapsed().as_secs_f64();
            let code = done.err().map(|error| error.code().as_str());
            let error = code.map(|code| ("error.type", AttributeValue::Text(code)));
            telemetry.measure(Instrument::SelectDuration, seconds, error.as_slice());
        }
        let span = &self.span;
        if span.is_disabled() {
            return;
        }
        span.record("crossfeed.selector.length", number(written.len()));
        let selector = match done {
            Ok(report) => masked_selector(written, Some(report)),
            Err(error) => masked_failed_selector(written, error),
        };
        span.record("crossfeed.selector", selector.as_deref());
        match done {
            Ok(report) => {
                span.record("crossfeed.view", report.view.as_str());
                span.record("crossfeed.repairs", number(report.repairs.len()));
                if !report.repairs.is_empty() {
                    let rules = report.repairs.iter().map(|repair| repair.rule.as_str());
                    let rules = rules.collect::<Vec<_>>().join(",");
                    span.record("crossfeed.repair.rules", rules.as_str());
                }
            }
            Err(error) => fail(span, error.code().as_str()),
        }
    }
}

/// A selector without its literals, as it was evaluated, because repairs turn words into literals.
pub(crate) fn masked_selector(written: &str, report: Option<&SelectReport>) -> Option<String> {
    let repaired = report.filter(|report| !report.repairs.is_empty());
    let text = repaired.map_or(written, |report| &report.evaluated);
    masked(text, report.is_some_and(|report| report.notice.is_none()))
}

/// The same for one that failed, if it was evaluated.
pub(crate) fn masked_failed_selector(written: &str, error: &SelectError) -> Option<String> {
    match error {
        SelectError::MatchedNothing { .. } | SelectError::Mismatch { .. } => masked(written, false),
        _ => None,
    }
}
