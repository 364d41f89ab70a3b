//! Runs a stage in its span, and records its outcome.

use crate::{
    failure::Failure,
    telemetry::{fail, number, stage},
    validate::TypeRepair,
};
use crossfeed_wire::ErrorCode;
use tracing::{Instrument as _, Span, field};

/// Runs a stage in its span, and records its outcome.
pub(crate) async fn staged<T>(
    span: Span,
    work: impl Future<Output = Result<T, Failure>>,
    note: impl FnOnce(&Span, &T),
) -> Result<T, Failure> {
    coded(span, work, note, |failure| failure.error.code()).await
}

/// The same for any error.
pub(super) async fn coded<T, E>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
    note: impl FnOnce(&Span, &T),
    code: impl FnOnce(&E) -> ErrorCode,
) -> Result<T, E> {
    let result = work.instrument(span.clone()).await;
    if !span.is_disabled() {
        match &result {
            Ok(value) => note(&span, value),
            Err(error) => fail(&span, code(error).as_str()),
        }
    }
    result
}

/// Validates arguments in a span.
pub(crate) fn validated(
    judge: impl FnOnce() -> Result<Vec<TypeRepair>, Vec<Failure>>,
) -> Result<Vec<TypeRepair>, Vec<Failure>> {
    let span = stage!(
        "crossfeed::validate",
        "crossfeed.validate",
        "crossfeed.repairs" = field::Empty,
        "crossfeed.failures" = field::Empty,
    );
    let judged = span.in_scope(judge);
    match &judged {
        Ok(repairs) => {
            span.record("crossfeed.repairs", number(repairs.len()));
        }
        Err(failures) => {
            span.record("crossfeed.failures", number(failures.len()));
            fail(&span, first_code(failures));
        }
    }
    judged
}

/// The code that represents all failures of a call.
pub(super) fn first_code(failures: &[Failure]) -> &'static str {
    let first = failures.first();
    first.map_or("arguments.invalid", |it| it.error.code().as_str())
}
