//! Our own fields: the call id, hints, and the note that something is hidden or withheld.

use super::subject::Known;
use crossfeed_json::quoted;
use crossfeed_wire::internal::{PARTS, PREVIEW, STRUCTURE_HINTS, TOOL_CALL_ID};

/// What is said of a preview that can be referred to.
const NOTE: &str = "cut by crossfeed: … marks what is hidden, a reference like reach gets it";
/// What is said of one that cannot: the call failed.
const NOTE_OF_FAILED: &str = "cut by crossfeed: … marks what is hidden";
/// What is said where there is no room for more.
const NOTE_IN_SHORT: &str = "cut by crossfeed";

/// What is said where a rule of the host has taken something out before, as a member of the note:
/// not what it is.
const WITHHELD: &str = "\"withheld\":\"some of it, by a rule of the host\"";

/// How much is said of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Full,
    /// The same, but that the reference is one to all of the result.
    Unselected,
    Short,
}

/// What stands beside a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'h> {
    /// Hints as JSON.
    pub(super) hints: Option<&'h str>,
    /// Whether a tool result of MCP has them beside its content, too.
    pub(super) hints_everywhere: bool,
    pub(super) note: Note,
}

impl<'h> Frame<'h> {
    pub(super) fn of(hints: Option<&'h str>, note: Note) -> Self {
        Self {
            hints,
            hints_everywhere: false,
            note,
        }
    }

    /// The least that must be said.
    pub(super) fn bare() -> Self {
        Self::of(None, Note::Short)
    }

    /// What says that something is hidden, as JSON.
    pub(super) fn note(
        &self,
        known: &Known<'_, '_>,
        select: Option<&str>,
        bytes: usize,
        tokens: usize,
    ) -> String {
        let text = match self.note {
            Note::Short => NOTE_IN_SHORT,
            _ if known.referable => NOTE,
            _ => NOTE_OF_FAILED,
        };
        let mut json = format!("{{\"note\":{}", quoted(text));
        if self.note != Note::Short {
            json.push_str(&format!(",\"bytes\":{bytes},\"tokens\":{tokens}"));
            if known.referable {
                let select = select.filter(|_| self.note == Note::Full);
                json.push_str(",\"reach\":");
                json.push_str(&known.reference(select.filter(|select| !select.is_empty())));
            }
        }
        if known.withheld {
            json.push(',');
            json.push_str(WITHHELD);
        }
        json.push('}');
        json
    }
}

/// Our fields, as members of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Ours {
    /// The call id.
    pub(super) id: String,
    /// All that stand at the end of the result.
    pub(super) all: String,
    /// A text part of a tool result with all of them.
    pub(super) part: String,
}

impl Ours {
    /// The fields beside a result; `note` is what is said of a cut. One of MCP has them in its content,
    /// too, with what is said of its `parts`.
    pub(super) fn of(
        known: &Known<'_, '_>,
        enveloped: bool,
        parts: Option<&str>,
        frame: &Frame<'_>,
        note: Option<&str>,
    ) -> Self {
        let id = format!("\"{TOOL_CALL_ID}\":{}", quoted(known.call_id.as_str()));
        let withheld = known.withheld.then(|| format!("{{{WITHHELD}}}"));
        let note = note.or(withheld.as_deref());
        let fields = |hints: Option<&str>| {
            let mut all = id.clone();
            for (key, value) in [(STRUCTURE_HINTS, hints), (PREVIEW, note)] {
                if let Some(value) = value {
                    all.push_str(&format!(",\"{key}\":{value}"));
                }
            }
            all
        };
        let mut inside = format!("{{{}", fields(frame.hints));
        if let Some(parts) = parts {
            inside.push_str(&format!(",\"{PARTS}\":{}", quoted(parts)));
        }
        inside.push('}');
        let is_everywhere = frame.hints_everywhere || !enveloped;
        Self {
            all: fields(frame.hints.filter(|_| is_everywhere)),
            part: format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&inside)),
            id,
        }
    }
}
