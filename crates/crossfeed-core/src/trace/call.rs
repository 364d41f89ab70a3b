//! The span of a call in flight, until it has returned or is given up.

use crate::telemetry::{Instrument, Telemetry, fail, within};
use crossfeed_wire::{CallId, TraceContext};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};
use tracing::{Span, field};

/// The trace of a call in flight. Dropping it ends the span.
#[derive(Debug)]
pub(crate) struct CallTrace {
    pub(crate) span: Span,
    has_returned: AtomicBool,
    /// The client's context, which is passed on if this call is not part of a trace.
    parent: OnceLock<TraceContext>,
    telemetry: Option<Arc<dyn Telemetry>>,
}

impl CallTrace {
    pub(crate) fn begin(call_id: &CallId, telemetry: Option<Arc<dyn Telemetry>>) -> Self {
        let span = tracing::info_span!(
            target: "crossfeed::call",
            "execute_tool",
            "otel.name" = field::Empty,
            "otel.status_description" = field::Empty,
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = field::Empty,
            "gen_ai.tool.call.id" = call_id.as_str(),
            "crossfeed.outcome" = field::Empty,
            "error.type" = field::Empty,
        );
        if let Some(telemetry) = &telemetry {
            telemetry.measure(Instrument::CallsInFlight, 1.0, &[]);
        }
        Self {
            span,
            has_returned: AtomicBool::new(false),
            parent: OnceLock::new(),
            telemetry,
        }
    }

    pub(crate) fn name_tool(&self, tool: &str) {
        if !self.span.is_disabled() {
            let tool = within(tool);
            self.span.record("gen_ai.tool.name", tool);
            let name = format!("execute_tool {tool}");
            self.span.record("otel.name", name.as_str());
        }
    }

    pub(crate) fn adopt(&self, parent: &TraceContext) {
        if self.parent.set(parent.clone()).is_ok()
            && let Some(telemetry) = &self.telemetry
        {
            telemetry.adopt(&self.span, parent);
        }
    }

    /// The context of the call in a trace, or of its client if the call is not part of one.
    pub(crate) fn context(&self) -> Option<TraceContext> {
        let telemetry = self.telemetry.as_ref().filter(|_| !self.span.is_disabled());
        let own = telemetry.and_then(|telemetry| telemetry.context(&self.span));
        own.or_else(|| self.parent.get().cloned())
    }

    /// Records that the call has returned or failed; only the first time.
    pub(crate) fn returned(&self, has_failed: bool) {
        if self.has_returned.swap(true, Ordering::Relaxed) {
            return;
        }
        if has_failed {
            self.span.record("crossfeed.outcome", "failed");
            fail(&self.span, "result.failed");
        } else {
            self.span.record("crossfeed.outcome", "returned");
        }
    }
}

/// Begins a span within that of a call, if there is one.
pub(super) fn begin_in(call: Option<&Arc<CallTrace>>, begin: impl FnOnce() -> Span) -> Span {
    match call {
        Some(call) => call.span.in_scope(begin),
        None => begin(),
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        if !*self.has_returned.get_mut() {
            self.span.record("crossfeed.outcome", "given_up");
            fail(&self.span, "given_up");
        }
        if let Some(telemetry) = &self.telemetry {
            telemetry.measure(Instrument::CallsInFlight, -1.0, &[]);
        }
    }
}
