//! Strips OTLP/JSON: documents of traces, logs or metrics, as the Collector's file exporter and many SDKs write them.
//! [`JsonDocuments`] finds the documents in a stream.
//!
//! # Guarantees
//!
//! - All other bytes stay: blanks, the order of keys, digits, unknown fields.
//! - Every string of the document is stripped, in unknown fields and all values of duplicate keys as well: no reading
//!   of the document reveals internal fields.
//! - Anything but OTLP is refused, because its structure is unknown.

mod documents;
mod structural_fields;
mod value;
mod walk;

#[cfg(test)]
mod tests;

pub use documents::{JsonDocuments, JsonPiece, StreamPosition};

use crate::Policy;
use crossfeed_json::{Cursor, Document, JsonError, Kind};
use std::borrow::Cow;

/// The possible root fields of a document, in both spellings of protobuf's JSON.
const ROOTS: [&str; 6] = [
    "resourceSpans",
    "resource_spans",
    "resourceLogs",
    "resource_logs",
    "resourceMetrics",
    "resource_metrics",
];

/// Profiles keep the values of attributes in tables of strings, apart from the attributes.
const PROFILES: [&str; 2] = ["resourceProfiles", "resource_profiles"];

/// Why a document cannot be stripped, so that it must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpJsonError {
    /// It is not valid JSON, or exceeds a limit: `{"resourceSpans": [`.
    #[error("not valid JSON: {0}")]
    NotJson(JsonError),
    /// It is JSON without traces, logs and metrics: `{"spans": []}`; or it has profiles.
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
    /// How many attributes, names, messages and bodies were changed.
    pub changed: usize,
    /// How many attributes, and members with internal keys, were removed.
    pub dropped: usize,
}

/// Strips a document of OTLP/JSON by a policy.
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
/// [`OtlpJsonError`] for anything but such a document, or one that nests deeper than
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

/// Whether this is such a document, or a list of them. An empty one holds nothing.
fn is_otlp(root: Cursor<'_>) -> bool {
    let is_one = |value: Cursor<'_>| {
        let is_root = |key: &&str| value.get(key).is_some();
        let has_root = value.is_empty() || ROOTS.iter().any(is_root);
        value.kind() == Kind::Object && has_root && !PROFILES.iter().any(is_root)
    };
    match root.kind() {
        Kind::Array => root.items().all(is_one),
        _ => is_one(root),
    }
}
