//! Lineage: the call that each argument came from, and how.

use crate::select::SelectReport;
use crossfeed_wire::{ArtifactId, CallId, Pointer, TraceContext};
use std::collections::HashSet;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceSource {
    /// The call whose result it is.
    pub call_id: CallId,
    /// The artifact; `None` for a result.
    pub artifact_id: Option<ArtifactId>,
    /// The tool that was called, where it is known.
    pub tool: Option<String>,
    /// The selector as it was written.
    pub select: Option<String>,
    /// How the selector was understood; `None` without one, and if the default was used.
    pub report: Option<SelectReport>,
    /// Whether the reference's `$default` was used.
    pub used_default: bool,
    /// Bytes of the referenced result; 0 if the default was used.
    pub bytes_in: usize,
    /// Bytes of JSON that were put into the arguments: unchanged if copied from the result, without blanks if a
    /// selector built them or they are a default.
    pub bytes_out: usize,
    /// The place of the call in a trace, if it is known.
    pub trace: Option<TraceContext>,
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
    /// The digits of a number that is the whole value.
    pub(crate) digits: Option<Box<str>>,
    /// The tokens of the value if the model had written it.
    pub(crate) tokens: usize,
}

/// The entries whose values no later entry overwrote.
pub(crate) fn still_there(lineage: Vec<LineageEntry>) -> Vec<LineageEntry> {
    let mut later = HashSet::new();
    let kept = lineage.into_iter().rev().filter(|link| {
        let is_overwritten = link.at.and_around().any(|place| later.contains(place));
        !is_overwritten && later.insert(link.at.as_str().to_owned())
    });
    let mut kept: Vec<LineageEntry> = kept.collect();
    kept.reverse();
    kept
}
