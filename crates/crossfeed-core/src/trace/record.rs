//! The span of a recording, and where in a trace what is recorded comes from.

use super::call::{CallTrace, begin_in};
use crate::telemetry::{Telemetry, fail, number, within};
use crossfeed_store::{Recorded, StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::sync::Arc;
use tracing::{Span, field};

/// One recording, as a trace has it.
pub(crate) struct RecordTrace {
    pub(crate) span: Span,
    /// Where it is made.
    around: Span,
    /// The call that has returned, if it was in flight.
    call: Option<Arc<CallTrace>>,
    has_failed: bool,
}

impl RecordTrace {
    pub(crate) fn begin(
        call_id: &CallId,
        result: &StoredResult,
        call: Option<Arc<CallTrace>>,
    ) -> Self {
        let begin = || {
            tracing::debug_span!(
                target: "crossfeed::record",
                "crossfeed.record",
                "otel.status_description" = field::Empty,
                "gen_ai.tool.call.id" = call_id.as_str(),
                "gen_ai.tool.name" = result.tool().map(within),
                "crossfeed.bytes" = number(result.document().raw().len()),
                "crossfeed.result.failed" = result.failed(),
                "crossfeed.outcome" = field::Empty,
                "error.type" = field::Empty,
            )
        };
        let around = Span::current();
        let span = begin_in(call.as_deref(), begin);
        Self {
            span,
            around,
            call,
            has_failed: result.failed(),
        }
    }

    /// The result with its place in a trace: that which it has, else the call in flight, else wherever
    /// it is recorded.
    pub(crate) fn placed(
        &self,
        result: StoredResult,
        telemetry: Option<&dyn Telemetry>,
    ) -> StoredResult {
        if result.trace().is_some() {
            return result;
        }
        let call = self.call.as_ref().and_then(|call| call.context());
        let of = |span: &Span| telemetry?.context(span);
        let place = call.or_else(|| of(&self.around)).or_else(|| of(&self.span));
        match place {
            Some(place) => result.with_trace(place),
            None => result,
        }
    }

    /// Notes how it ended.
    pub(crate) fn end(&self, recorded: &Result<Recorded, StoreError>) {
        if let (Some(call), Ok(_)) = (&self.call, recorded) {
            call.returned(self.has_failed);
        }
        match recorded {
            Ok(Recorded::New) => self.span.record("crossfeed.outcome", "new"),
            Ok(Recorded::Unchanged) => self.span.record("crossfeed.outcome", "unchanged"),
            Err(error) => {
                fail(&self.span, error.code().as_str());
                self.span.record("crossfeed.outcome", "refused")
            }
        };
    }
}
