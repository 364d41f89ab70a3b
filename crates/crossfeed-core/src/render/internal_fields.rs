//! Our own fields beside a result that is shown whole: the call id, hints, and the note that something
//! is withheld.

use super::subject::RenderContext;
use crossfeed_json::quoted;
use crossfeed_wire::internal::{PARTS, PREVIEW, RESULT_DIGEST, STRUCTURE_HINTS, TOOL_CALL_ID};

/// The note that the host's rules withhold something; it does not say what.
const WITHHELD: &str = r#"{"withheld":"some of it, by a rule of the host"}"#;

/// Our fields, as members of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct InternalFields {
    /// The call id.
    pub(super) id: String,
    /// All fields at the end of the result.
    pub(super) all: String,
    /// A text part of a tool result with all of them.
    pub(super) part: String,
}

impl InternalFields {
    /// The fields beside a result. A tool result of MCP has them in its content as well, with the note on its
    /// `parts`.
    pub(super) fn new(
        known: &RenderContext<'_, '_>,
        parts: Option<&str>,
        hints: Option<&str>,
    ) -> Self {
        let id = id(known);
        let member = |key: &str, value: &str| format!(",\"{key}\":{value}");
        let mut all = id.clone();
        all.extend(hints.map(|hints| member(STRUCTURE_HINTS, hints)));
        all.extend(known.withheld.then(|| member(PREVIEW, WITHHELD)));
        let parts = parts.map(|parts| member(PARTS, &quoted(parts)));
        let inside = format!("{{{all}{}}}", parts.unwrap_or_default());
        Self {
            part: format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&inside)),
            all,
            id,
        }
    }
}

/// The call id, and the digest if it is shown, as members.
fn id(known: &RenderContext<'_, '_>) -> String {
    let digest = known.digest.as_deref();
    let digest = digest.map(|digest| format!(",\"{RESULT_DIGEST}\":{}", quoted(digest)));
    let id = quoted(known.call_id.as_str());
    format!("\"{TOOL_CALL_ID}\":{id}{}", digest.unwrap_or_default())
}

/// The output for a cut result: its preview, and our fields.
pub(super) fn beside_preview(
    known: &RenderContext<'_, '_>,
    text: &str,
    hints: Option<&str>,
) -> String {
    let hints = hints.map(|hints| format!(",\"{STRUCTURE_HINTS}\":{hints}"));
    let (text, id, hints) = (quoted(text), id(known), hints.unwrap_or_default());
    format!("{{\"preview\":{text},{id}{hints}}}")
}
