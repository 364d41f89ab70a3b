//! The span of judging arguments.

use crate::{
    failure::Failure,
    telemetry::{fail, number, stage},
    validate::TypeRepair,
};
use tracing::{Span, field};

/// One judgement, as a trace has it.
pub(crate) struct ValidateTrace(Span);

impl ValidateTrace {
    pub(crate) fn begin() -> Self {
        Self(stage!(
            "crossfeed::validate",
            "crossfeed.validate",
            "crossfeed.repairs" = field::Empty,
            "crossfeed.failures" = field::Empty,
        ))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0
    }

    pub(crate) fn end(self, judged: &Result<Vec<TypeRepair>, Vec<Failure>>) {
        match judged {
            Ok(repairs) => {
                self.0.record("crossfeed.repairs", number(repairs.len()));
            }
            Err(failures) => {
                self.0.record("crossfeed.failures", number(failures.len()));
                let first = failures.first();
                let code = first.map_or("arguments.invalid", |it| it.error.code().as_str());
                fail(&self.0, code);
            }
        }
    }
}
