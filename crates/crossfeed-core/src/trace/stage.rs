//! Spans of single stages: their ends, their errors, and what takes them to other threads.

use super::{
    Instrument, Telemetry,
    flow::{shown, unmatched},
};
use crate::select::{SelectError, SelectReport};
use std::time::Instant;
use tracing::Span;

/// The span of a stage: with fields for its error, and nothing built where nobody listens.
macro_rules! stage {
    ($target:literal, $name:literal $(, $field:literal = $value:expr)* $(,)?) => {
        tracing::debug_span!(
            target: $target,
            $name,
            $($field = $value,)*
            "error.type" = tracing::field::Empty,
            "otel.status_description" = tracing::field::Empty,
        )
    };
}
pub(crate) use stage;

/// Notes that a span ended with an error, by its stable word.
pub(crate) fn fail(span: &Span, word: &str) {
    span.record("error.type", word);
    // What exports spans takes the status to be an error then.
    span.record("otel.status_description", word);
}

/// Notes how a stage ended.
pub(crate) fn ended<T, E>(span: &Span, done: &Result<T, E>, code: impl FnOnce(&E) -> &'static str) {
    if let Err(error) = done
        && !span.is_disabled()
    {
        fail(span, code(error));
    }
}

/// Work with the span and the subscriber of where it comes from, for another thread.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = Span::current();
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    move || tracing::dispatcher::with_default(&dispatch, || span.in_scope(work))
}

/// Measures how long a stage takes, where somebody wants to know.
pub(crate) struct Timed<'t>(Option<(Instant, &'t dyn Telemetry)>);

impl<'t> Timed<'t> {
    pub(crate) fn new(telemetry: Option<&'t dyn Telemetry>) -> Self {
        Self(telemetry.map(|telemetry| (Instant::now(), telemetry)))
    }

    /// Ends it; `error` is the code of the error that ended it.
    pub(crate) fn end(self, instrument: Instrument, error: Option<&'static str>) {
        if let Some((begun, telemetry)) = self.0 {
            let seconds = begun.elapsed().as_secs_f64();
            match error {
                None => telemetry.measure(instrument, seconds, &[]),
                Some(code) => {
                    let error = ("error.type", super::AttributeValue::Text(code));
                    telemetry.measure(instrument, seconds, &[error]);
                }
            }
        }
    }
}

/// Notes what came of a selector.
pub(crate) fn selected(span: &Span, written: &str, done: Result<&SelectReport, &SelectError>) {
    if span.is_disabled() {
        return;
    }
    span.record("crossfeed.selector.length", written.len());
    let shown = match done {
        Ok(report) => shown(written, Some(report)),
        Err(error) => unmatched(written, error),
    };
    span.record("crossfeed.selector", shown.as_deref());
    match done {
        Ok(report) => {
            span.record("crossfeed.view", report.view.as_str());
            span.record("crossfeed.repairs", report.repairs.len());
        }
        Err(error) => fail(span, error.code().as_str()),
    }
}
