//! Telemetry as it is written down: OTLP/JSON, stripped by a policy.
//!
//! Takes a document of traces, logs or metrics as the Collector's file exporter and many SDKs write
//! it, and gives the same bytes without what the policy removes. [`JsonDocuments`] finds the
//! documents in a stream.
//!
//! # What holds
//!
//! - Bytes outside what changes stay as they came: blanks, the order of keys, digits, unknown fields.
//! - Every string of the document is looked at, in unknown fields, too, and of a key that stands twice
//!   each value: whatever a reader of the document takes for what, nothing internal is in it.
//! - What is not OTLP is refused, not passed on: nothing says where in it what stands.

mod documents;
mod structural_fields;
mod value;
mod walk;

#[cfg(test)]
mod tests;

pub use documents::{JsonDocuments, JsonPiece, Place};

use crate::Policy;
use crossfeed_json::{Cursor, Document, JsonError, Kind};
use std::borrow::Cow;

/// What a document of OTLP/JSON has one of, in the spellings that protobuf's JSON admits.
const ROOTS: [&str; 6] = [
    "resourceSpans",
    "resource_spans",
    "resourceLogs",
    "resource_logs",
    "resourceMetrics",
    "resource_metrics",
];

/// Profiles keep what their attributes hold in tables of strings, where nothing says of which attribute a
/// string is.
const PROFILES: [&str; 2] = ["resourceProfiles", "resource_profiles"];

/// Why a document cannot be sanitized. Nothing of it may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpJsonError {
    /// It is not valid JSON, or beyond its limits: `{"resourceSpans": [`.
    #[error("not valid JSON: {0}")]
    NotJson(JsonError),
    /// It is JSON, but no traces, logs or metrics: `{"spans": []}`; or it has profiles.
    #[error(
        "not OTLP: it has none of `resourceSpans`, `resourceLogs` and `resourceMetrics`, or has profiles"
    )]
    NotOtlp,
}

/// A document that may leave.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SanitizedJson<'d> {
    /// The bytes: borrowed where nothing had to change.
    pub json: Cow<'d, [u8]>,
    /// How many attributes, names, messages and bodies are others now.
    pub changed: usize,
    /// How many attributes are gone, and members that were internal themselves.
    pub dropped: usize,
}

/// A document of OTLP/JSON without what the policy takes out of it.
///
/// Takes traces, logs and metrics, in the spellings of protobuf's JSON (`resourceSpans`,
/// `resource_spans`), or a list of such documents.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_otel::{Policy, sanitize_json};
///
/// let document = Document::new(
///     r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "_toolCallId", "value": {"intValue": "7"}}]}]}]}]}"#,
/// );
/// let sanitized = sanitize_json(&document, &Policy::default())?;
/// assert_eq!(
///     String::from_utf8_lossy(&sanitized.json),
///     r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [],"droppedAttributesCount":1}]}]}]}"#,
/// );
/// # Ok::<(), crossfeed_otel::OtlpJsonError>(())
/// ```
///
/// # Errors
///
/// [`OtlpJsonError`] for what is no such document, or nests deeper than
/// [`MAX_DEPTH`](crossfeed_json::MAX_DEPTH).
pub fn sanitize_json<'d>(
    document: &'d Document,
    policy: &Policy,
) -> Result<SanitizedJson<'d>, OtlpJsonError> {
    let root = document.root().map_err(OtlpJsonError::NotJson)?;
    if !is_otlp(root) {
        return Err(OtlpJsonError::NotOtlp);
    }
    Ok(walk::sanitize(document.raw(), root, policy))
}

/// Whether this is such a document, or a list of such. One without members holds nothing.
fn is_otlp(root: Cursor<'_>) -> bool {
    let is_one = |value: Cursor<'_>| {
        let is_root = |key: &&str| value.get(key).is_some();
        let is_sound = value.is_empty() || ROOTS.iter().any(is_root);
        value.kind() == Kind::Object && is_sound && !PROFILES.iter().any(is_root)
    };
    match root.kind() {
        Kind::Array => root.items().all(is_one),
        _ => is_one(root),
    }
}
