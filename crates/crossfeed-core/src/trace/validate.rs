//! The span of judging arguments.

use crate::{
    failure::Failure,
    telemetry::{fail, number, stage},
    validate::TypeRepair,
};
use tracing::field;

/// Judges arguments in a span.
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

/// The code that stands for all that is wrong with the arguments of a call.
pub(super) fn first_code(failures: &[Failure]) -> &'static str {
    let first = failures.first();
    first.map_or("arguments.invalid", |it| it.error.code().as_str())
}
