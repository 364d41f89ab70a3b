//! Lineage: which argument came from which call, and how.

use crate::select::SelectReport;
use crossfeed_wire::{ArtifactId, CallId, Pointer, TraceContext};
use std::collections::HashSet;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceSource {
    /// The call whose result it is.
    pub call_id: CallId,
    /// The artifact, if it was one.
    pub artifact_id: Option<ArtifactId>,
    /// The tool that was called, where it is known.
    pub tool: Option<String>,
    /// The selector as it was written.
    pub select: Option<String>,
    /// How the selector was understood; `None` without one, and where the default stood in.
    pub report: Option<SelectReport>,
    /// Whether the reference's `$default` was used.
    pub used_default: bool,
    /// Bytes of the result that was referred to; 0 where the default stood in.
    pub bytes_in: usize,
    /// Bytes of JSON that were put into the arguments: as they came for what was copied from the
    /// result, without blanks for what a selector built and for a default.
    pub bytes_out: usize,
    /// Where in a trace the call stands that gave it, where that is known.
    pub trace: Option<TraceContext>,
}

/// One argument and the result it came from: the lineage of a resolved call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LineageEntry {
    /// Where the value was put, in the resolved arguments.
    pub at: Pointer,
    /// Where it came from.
    pub source: ReferenceSource,
    /// Keys that stood beside the reference and were ignored.
    pub ignored: Vec<String>,
    /// The digits of a number that is the whole value.
    pub(crate) digits: Option<Box<str>>,
    /// What the value would have taken if the model had written it.
    pub(crate) tokens: usize,
}

/// The links whose values no later one has overwritten.
pub(crate) fn still_there(lineage: Vec<LineageEntry>) -> Vec<LineageEntry> {
    let mut later = HashSet::new();
    let mut kept: Vec<LineageEntry> = Vec::with_capacity(lineage.len());
    for link in lineage.into_iter().rev() {
        if !link.at.and_around().any(|place| later.contains(place)) {
            later.insert(link.at.as_str().to_owned());
            kept.push(link);
        }
    }
    kept.reverse();
    kept
}
