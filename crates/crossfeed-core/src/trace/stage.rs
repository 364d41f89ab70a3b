//! The end of a stage's span.

use crate::{failure::Failure, telemetry::fail};
use crossfeed_wire::ErrorCode;
use tracing::{Instrument as _, Span};

/// Does a stage's work in its span, and notes what came of it.
pub(crate) async fn staged<T>(
    span: Span,
    work: impl Future<Output = Result<T, Failure>>,
    note: impl FnOnce(&Span, &T),
) -> Result<T, Failure> {
    coded(span, work, note, |failure| failure.error.code()).await
}

/// The same of any error.
pub(super) async fn coded<T, E>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
    note: impl FnOnce(&Span, &T),
    code: impl FnOnce(&E) -> ErrorCode,
) -> Result<T, E> {
    let done = work.instrument(span.clone()).await;
    if !span.is_disabled() {
        match &done {
            Ok(done) => note(&span, done),
            Err(error) => fail(&span, code(error).as_str()),
        }
    }
    done
}
