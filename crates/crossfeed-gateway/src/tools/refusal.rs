//! Errors as tool results: a text that a model can act on, and the same for programs in `_meta`.

use super::{flow::FlowError, list::Offered};
use crate::export::ExportError;
use bytes::Bytes;
use crossfeed_core::{Error, Failure, ResolveError};
use crossfeed_store::with_causes;
use crossfeed_tools::ReadError;
use crossfeed_wire::{
    CallId, ErrorBody, ErrorCode, ErrorReport, Fault, printable, printable_lines,
};
use serde_json::{Value, json};
use std::slice;

/// The member of `_meta` under which errors stand for programs.
const META: &str = "dev.crossfeed/error";
/// What to do where a call has run, and its result is lost.
pub(super) const NOT_AGAIN: &str = "do not call again unless repeating the call is intended";
/// How many errors are reported with their advice.
const MAX_IN_FULL: usize = 20;

/// Whether others' results may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Privacy {
    /// Results of the scope are not all this caller's: nothing is learned of them.
    pub(super) is_shared: bool,
    /// Whether results say that they are complete.
    pub(super) says_complete: bool,
}

/// Why something is not done: at least one error.
pub(super) type ErrorBodies = Vec<ErrorBody>;

/// An error with one next step.
pub(super) fn body(
    code: ErrorCode,
    message: impl Into<String>,
    advice: impl Into<String>,
) -> ErrorBodies {
    let mut body = ErrorBody::new(code, message);
    body.advice = Some(advice.into());
    vec![body]
}

/// Logs why a store failed, which its operator has to know, and no client: once for one call.
fn log_backend(failures: &[Failure]) {
    let mut errors = failures.iter().map(|failure| &failure.error);
    if let Some(error) = errors.find(|error| error.fault() == Fault::Backend) {
        tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(error), "cannot use a result");
    }
}

/// What is wrong with one result, or with what was asked of it.
pub(super) fn from_failure(failure: &Failure) -> ErrorBodies {
    log_backend(slice::from_ref(failure));
    let mut body = failure.body();
    body.at = None;
    vec![body]
}

/// Why a value does not leave the gateway.
pub(super) fn not_exported(error: ExportError) -> ErrorBodies {
    match error {
        ExportError::Failure(failure) => from_failure(&failure),
        ExportError::Request(body) => vec![*body],
        ExportError::TooLarge { .. } | ExportError::NoMemory => {
            let advice = "pick a part of it with `select`";
            body(ErrorCode::LimitExceeded, error.to_string(), advice)
        }
    }
}

/// Why what was asked of the result of a call that has run cannot be shown.
pub(super) fn parts_failed(failure: &Failure, call_id: &CallId) -> ErrorBodies {
    log_backend(slice::from_ref(failure));
    let mut body = failure.body();
    body.at = None;
    body.message = format!("the call has run, but: {}", body.message);
    // What is too much now is not less when the call is made again.
    let is_too_much = body.code == ErrorCode::LimitExceeded.as_str();
    let own = body.advice.take().filter(|_| !is_too_much);
    let kept = kept_as(call_id);
    body.advice = Some(match (&failure.error, own) {
        (Error::Lookup(_), _) => NOT_AGAIN.to_owned(),
        (_, Some(own)) => format!("{kept}\n{own}"),
        (_, None) => kept,
    });
    vec![body]
}

/// What to do where a call has run, and its result is kept and not shown.
pub(super) fn kept_as(call_id: &CallId) -> String {
    format!("do not call again: refer to `{call_id}`, or read it with `read_result`")
}

/// Why a call of a tool is not made.
pub(super) fn not_resolved(error: &ResolveError, offered: &Offered) -> ErrorBodies {
    log_backend(error.failures());
    let mut bodies = error.bodies();
    for (body, failure) in bodies.iter_mut().zip(error.failures()) {
        if let Error::Read(error @ ReadError::NotOffered { .. }) = &failure.error {
            let to_offer = if offered.projected.is_some() {
                "they declare the fields of their results"
            } else {
                "their server has `projection = true` in the configuration of the gateway"
            };
            body.advice = Some(error.advice_with(to_offer));
        }
    }
    bodies
}

/// Why a client does not get the question that its call was answered with.
pub(super) fn unrecorded_question() -> ErrorBodies {
    let message =
        "the tool asked back, and the gateway cannot record whose data its `requestState` holds";
    let advice = format!("the tool was called and may have had effects: {NOT_AGAIN}");
    body(ErrorCode::StoreUnavailable, message, advice)
}

/// A flow that a rule forbids.
pub(super) fn flow_body(error: &FlowError) -> ErrorBodies {
    body(ErrorCode::FlowRefused, error.to_string(), error.advice())
}

/// Errors as a tool result.
pub(super) fn to_result(bodies: ErrorBodies, privacy: Privacy) -> Bytes {
    let lines = bodies.iter().enumerate().map(|(index, body)| {
        let line = format!("{}: {}", body.code, printable(&body.message));
        let advice = body.advice.as_ref().filter(|_| index < MAX_IN_FULL);
        advice.map_or_else(
            || line.clone(),
            |advice| format!("{line}\n{}", printable_lines(advice)),
        )
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut bodies = bodies.into_iter();
    let first = bodies.next();
    let report = first.map(|first| ErrorReport::new(first, bodies));
    let report = report.and_then(|report| serde_json::to_value(report).ok());
    let mut result = result(&text, privacy);
    result["isError"] = Value::Bool(true);
    if let Some(report) = report {
        result["_meta"] = json!({ META: report });
    }
    result.to_string().into()
}

/// A tool result of a text.
pub(super) fn result(text: &str, privacy: Privacy) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": text}]});
    if privacy.says_complete {
        result["resultType"] = json!("complete");
    }
    result
}
