//! The fields that the engine adds to a result for the model's use.
//!
//! They are not domain data: at the top level of a result the canonical value and values that references pass
//! on lack them, while the stored bytes keep them. Every other key that begins with `_` is domain data
//! (`_id`, `_source`, `_links`, `_meta`, …) and stays.

/// The call id that the model writes into a reference.
pub const TOOL_CALL_ID: &str = "_toolCallId";
/// The selectors that work on a result, offered to the model beside it.
pub const STRUCTURE_HINTS: &str = "_structureHints";

/// The first digits of the digest of a result, for changes of it.
pub const RESULT_DIGEST: &str = "_crossfeedDigest";

/// The note that something of a result is withheld.
pub const PREVIEW: &str = "_crossfeedPreview";

/// The note on how to refer to the parts of a tool result of MCP that follow it.
pub const PARTS: &str = "_crossfeedParts";

/// Every internal field, in the order in which they are written.
pub const FIELDS: [&str; 5] = [TOOL_CALL_ID, RESULT_DIGEST, STRUCTURE_HINTS, PREVIEW, PARTS];

/// Whether `key` names an internal field.
///
/// ```
/// use crossfeed_wire::internal::is_internal;
///
/// assert!(is_internal("_toolCallId"));
/// assert!(!is_internal("_id"));
/// ```
pub fn is_internal(key: &str) -> bool {
    FIELDS.contains(&key)
}
