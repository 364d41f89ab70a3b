//! The end of a stage's span.

use crate::{failure::Failure, telemetry::fail};
use tracing::{Instrument as _, Span};

/// Does a stage's work in its span, and notes what came of it.
pub(crate) async fn staged<T>(
    span: Span,
    work: impl Future<Output = Result<T, Failure>>,
    note: impl FnOnce(&Span, &T),
) -> Result<T, Failure> {
    let done = work.instrument(span.clone()).await;
    if !span.is_disabled() {
        match &done {
            Ok(done) => note(&span, done),
            Err(failure) => fail(&span, failure.error.code().as_str()),
        }
    }
    done
}
