//! Lineage: the call that each argument came from, and how.

use crate::{error::ShownEdit, select::SelectReport};
use crossfeed_wire::{
    ArtifactId, CallId, Pointer, TraceContext,
    reference::{EditKind, Input},
};
use std::{collections::HashMap, fmt, sync::Arc};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceSource {
    /// The call whose result it is; of an input an id for messages, which names no call.
    pub call_id: CallId,
    /// The file or resource, if it is not a result.
    pub input: Option<Input>,
    /// Whether it is base64 because the parameter takes text and its bytes are not text.
    pub encoded: bool,
    /// The artifact; `None` for a result.
    pub artifact_id: Option<ArtifactId>,
    /// The tool that was called, where it is known.
    pub tool: Option<String>,
    /// The selector as it was written.
    pub select: Option<String>,
    /// How the selector was understood; `None` without one, and if the default was used.
    pub report: Option<SelectReport>,
    /// How the value was changed, if it was.
    pub edit: Option<ReferenceEdit>,
    /// Whether the reference's `$default` was used.
    pub used_default: bool,
    /// Bytes of the referenced result; 0 if the default was used.
    pub bytes_in: usize,
    /// Bytes of JSON that were put into the arguments: unchanged if copied from the result, without blanks if a
    /// selector built them or they are a default.
    pub bytes_out: usize,
    /// The place of the call in a trace, if it is known.
    pub trace: Option<TraceContext>,
    /// Where the data of the result came from, if the host [said](crate::ToolResult::with_sources) it; `None` for an
    /// artifact.
    pub sources: Option<Arc<str>>,
}

/// A change of a reference's value, without what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceEdit {
    /// Which one.
    pub kind: EditKind,
    /// Bytes of its JSON, without blanks, with the values that references in it brought in.
    pub bytes: usize,
    /// A later call of the same tool with the same arguments, as far as this engine recorded one: the change was made on
    /// what that has replaced.
    pub superseded_by: Option<CallId>,
}

/// A reference that was not written as the grammar says, and was read as what it must mean.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceRepair {
    /// As it was written: `{{call_1.items[0].url}}`.
    pub written: String,
    /// As it was read, spelled as in the schema that the model was shown: `{"$tool":"call_1","$select":"items[0].url"}`,
    /// or an entry of its references map. Of an edit it has the key only.
    pub read: String,
    /// The edit of the reference.
    pub(crate) edit: Option<ShownEdit>,
}

impl fmt::Display for ReferenceRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.written, self.read)
    }
}

/// One argument and the result it came from: the lineage of a resolved call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LineageEntry {
    /// The place of the value in the resolved arguments.
    pub at: Pointer,
    /// Where it came from.
    pub source: ReferenceSource,
    /// Keys beside the reference that were ignored.
    pub ignored: Vec<String>,
    /// How the reference was read, if it was not written as the grammar says.
    pub repair: Option<ReferenceRepair>,
    /// The number of what the value is a part of, if it is one of several: of a text, or of an edit. The parts have the
    /// same place.
    pub(crate) text: Option<usize>,
    /// Whether an edit brought it in, so that it is in the value that the edit made.
    pub(crate) is_inner: bool,
    /// The digits of a number that is the whole value.
    pub(crate) digits: Option<Box<str>>,
    /// The tokens of the value if the model had written it.
    pub(crate) tokens: usize,
}

/// The entries whose values no later entry overwrote.
pub(crate) fn still_there(lineage: Vec<LineageEntry>) -> Vec<LineageEntry> {
    let mut later: HashMap<String, Option<usize>> = HashMap::new();
    let kept = lineage.into_iter().rev().filter(|link| {
        let is_same = |text: &Option<usize>| text.is_some() && *text == link.text;
        let mut around = link.at.and_around().filter_map(|place| later.get(place));
        let is_overwritten = around.any(|text| !is_same(text));
        if !is_overwritten {
            later.insert(link.at.as_str().to_owned(), link.text);
        }
        !is_overwritten
    });
    let mut kept: Vec<LineageEntry> = kept.collect();
    kept.reverse();
    kept
}
