//! Our own fields beside a result that is shown whole: the call id, hints, and the note that something
//! is withheld.

use super::subject::RenderContext;
use crossfeed_json::quoted;
use crossfeed_wire::internal::{PARTS, PREVIEW, STRUCTURE_HINTS, TOOL_CALL_ID};

/// What is said where a rule of the host has taken something out before, as a member of the note:
/// not what it is.
const WITHHELD: &str = "\"withheld\":\"some of it, by a rule of the host\"";

/// Our fields, as members of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct InternalFields {
    /// The call id.
    pub(super) id: String,
    /// All that stand at the end of the result.
    pub(super) all: String,
    /// A text part of a tool result with all of them.
    pub(super) part: String,
}

impl InternalFields {
    /// The fields beside a result. One of MCP has them in its content, too, with what is said of its
    /// `parts`.
    pub(super) fn of(
        known: &RenderContext<'_, '_>,
        parts: Option<&str>,
        hints: Option<&str>,
    ) -> Self {
        let id = id(known);
        let withheld = known.withheld.then(|| format!("{{{WITHHELD}}}"));
        let mut all = id.clone();
        for (key, value) in [(STRUCTURE_HINTS, hints), (PREVIEW, withheld.as_deref())] {
            if let Some(value) = value {
                all.push_str(&format!(",\"{key}\":{value}"));
            }
        }
        let mut inside = format!("{{{all}");
        if let Some(parts) = parts {
            inside.push_str(&format!(",\"{PARTS}\":{}", quoted(parts)));
        }
        inside.push('}');
        Self {
            part: format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&inside)),
            all,
            id,
        }
    }
}

/// The call id, as a member.
fn id(known: &RenderContext<'_, '_>) -> String {
    format!("\"{TOOL_CALL_ID}\":{}", quoted(known.call_id.as_str()))
}

/// What is shown of a result that is cut: its preview, and our fields.
pub(super) fn beside_preview(
    known: &RenderContext<'_, '_>,
    text: &str,
    hints: Option<&str>,
) -> String {
    let mut json = format!("{{\"preview\":{},{}", quoted(text), id(known));
    if let Some(hints) = hints {
        json.push_str(&format!(",\"{STRUCTURE_HINTS}\":{hints}"));
    }
    json.push('}');
    json
}
