//! The span of a recording, and the place of the recorded result in a trace.

use super::call::{CallTrace, begin_in};
use crate::telemetry::{Telemetry, fail, number, stage, within};
use crossfeed_store::{Recorded, StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::sync::Arc;
use tracing::{Span, field};

/// The trace of one recording.
pub(crate) struct RecordTrace {
    pub(crate) span: Span,
    /// The span in which it happens.
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
            stage!(
                "crossfeed::record",
                "crossfeed.record",
                "gen_ai.tool.call.id" = call_id.as_str(),
                "gen_ai.tool.name" = result.tool().map(within),
                "crossfeed.bytes" = number(result.document().raw().len()),
                "crossfeed.result.failed" = result.failed(),
                "crossfeed.outcome" = field::Empty,
            )
        };
        Self {
            around: Span::current(),
            span: begin_in(call.as_ref(), begin),
            call,
            has_failed: result.failed(),
        }
    }

    /// Adds the place in a trace, if the result has none: of the call in flight, else of the recording.
    pub(crate) fn placed(
        &self,
        result: StoredResult,
        telemetry: Option<&dyn Telemetry>,
    ) -> StoredResult {
        if result.trace().is_some() {
            return result;
        }
        let context = |span: &Span| telemetry?.context(span);
        let call = self.call.as_ref().and_then(|call| call.context());
        let place = call
            .or_else(|| context(&self.around))
            .or_else(|| context(&self.span));
        match place {
            Some(place) => result.with_trace(place),
            None => result,
        }
    }

    /// Records how it ended.
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
