//! The stable error codes, and the JSON of errors.

use serde::Serialize;
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One stable word per kind of error; the list with causes is `specs/errors.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word as it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// Something that looks like a reference is not one: `{"$tool": 7}`.
    ReferenceMalformed = "reference.malformed",
    /// No result with this call id was ever recorded in this session.
    ResultUnknown = "result.unknown",
    /// The result was kept for its time to live and has gone.
    ResultExpired = "result.expired",
    /// The result had to make room for newer ones.
    ResultEvicted = "result.evicted",
    /// The call failed, so that it has no result to refer to.
    ResultFailed = "result.failed",
    /// The call is still running.
    ResultPending = "result.pending",
    /// Calls wait for each other.
    ResultCycle = "result.cycle",
    /// A file or resource is one that the session must not have.
    InputRefused = "input.refused",
    /// A file or resource is not there, or cannot be read now.
    InputUnavailable = "input.unavailable",
    /// A file or resource is not what the parameter takes.
    InputInvalid = "input.invalid",
    /// A call id was recorded before, with other bytes.
    RecordDuplicate = "record.duplicate",
    /// No such artifact in this session.
    ArtifactUnknown = "artifact.unknown",
    /// The artifact was kept for its time to live and has gone.
    ArtifactExpired = "artifact.expired",
    /// The artifact is too large to be brought into the model's context.
    ArtifactBlocked = "artifact.blocked",
    /// A selector is not a JMESPath expression, or cannot be evaluated on this value.
    SelectInvalid = "select.invalid",
    /// A selector is longer than the limit.
    SelectTooLong = "select.too_long",
    /// A selector holds a forbidden pattern.
    SelectForbidden = "select.forbidden",
    /// A selector found nothing.
    SelectMatchedNothing = "select.matched_nothing",
    /// A selector needs more steps, depth, output or time than it may have.
    SelectTooCostly = "select.too_costly",
    /// The edit of a reference is not one: `{"$tool": "call_1", "$patch": 7}`.
    EditMalformed = "edit.malformed",
    /// The edit of a reference does not fit the value: what it names is not there, or not as it says.
    EditFailed = "edit.failed",
    /// The edit of a reference was made for another result.
    EditOutdated = "edit.outdated",
    /// The resolved arguments do not fit the tool's own schema.
    ArgumentsInvalid = "arguments.invalid",
    /// A call names a tool that the client was not listed.
    ToolUnknown = "tool.unknown",
    /// The tool's own schema is not a schema.
    SchemaInvalid = "schema.invalid",
    /// A projection names a field, view or preset that does not exist.
    ProjectionInvalid = "projection.invalid",
    /// The store cannot answer now.
    StoreUnavailable = "store.unavailable",
    /// Telemetry is not valid JSON, or not OTLP.
    TelemetryInvalid = "telemetry.invalid",
    /// Telemetry could not be delivered.
    TelemetryUnavailable = "telemetry.unavailable",
    /// A configuration cannot be read, or cannot be applied.
    ConfigInvalid = "config.invalid",
    /// A configuration is not the one that was approved.
    ConfigChanged = "config.changed",
    /// A command cannot be carried out: an unknown option, a file that cannot be read.
    CommandInvalid = "command.invalid",
    /// A server behind the gateway does not answer now.
    UpstreamUnavailable = "upstream.unavailable",
    /// A server did not answer a request that was sent: it may have run.
    UpstreamOutcomeUnknown = "upstream.outcome_unknown",
    /// A server behind the gateway sent an invalid message.
    UpstreamInvalid = "upstream.invalid",
    /// A flow rule forbids passing this result to this tool.
    FlowRefused = "flow.refused",
    /// A path does not name a regular file beneath its root, or a file is there that must stay.
    FileRefused = "file.refused",
    /// The system does not let a file be read or written.
    FileUnavailable = "file.unavailable",
    /// A statement is not SQL that can be run, or names what is not there.
    QueryInvalid = "query.invalid",
    /// A statement does more than to read the tables of results.
    QueryRefused = "query.refused",
    /// The process that runs statements cannot be started, or ended.
    WorkerUnavailable = "worker.unavailable",
    /// Data is larger or nests deeper than the limits allow.
    LimitExceeded = "limit.exceeded",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who can act on an error, which decides where it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every error is routed by exactly one of these"
)]
pub enum Fault {
    /// The model: the error is its tool result, with advice.
    Model,
    /// The host that embeds the engine: the error is an `Err`, or a JSON-RPC error.
    Host,
    /// A backend: the error is logged, and the model gets one neutral line.
    Backend,
}

/// One error as it is written in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorBody {
    /// The stable word.
    pub code: &'static str,
    /// The error in one line.
    pub message: String,
    /// The `$tool` of the reference at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The selector as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Where in the arguments, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What was found, then one next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl ErrorBody {
    /// An error with a code and a message only.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.as_str(),
            message: message.into(),
            call_id: None,
            expression: None,
            at: None,
            advice: None,
        }
    }
}

/// What `--json` prints for a failure: the first error, and all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    error: ErrorBody,
    errors: Vec<ErrorBody>,
}

impl ErrorReport {
    /// A report of `first` and whatever else went wrong.
    pub fn new(first: ErrorBody, rest: impl IntoIterator<Item = ErrorBody>) -> Self {
        let errors = std::iter::once(first.clone()).chain(rest).collect();
        Self {
            error: first,
            errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorBody, ErrorCode, ErrorReport};
    use std::collections::HashSet;

    #[test]
    fn codes_are_distinct() {
        let words: HashSet<_> = ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn absent_fields_are_left_out() {
        let report = ErrorReport::new(ErrorBody::new(ErrorCode::ResultUnknown, "gone"), []);
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            r#"{"error":{"code":"result.unknown","message":"gone"},"errors":[{"code":"result.unknown","message":"gone"}]}"#
        );
    }
}
