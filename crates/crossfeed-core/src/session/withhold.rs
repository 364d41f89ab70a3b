//! Rewrites what is reported of values that were passed on unseen and do not fit, so that it reveals nothing
//! that the host's rules withhold.

use super::job::ResolveJob;
use crate::{
    canonical::Stored,
    error::RevealError,
    failure::{Error, Failure},
    lineage::LineageEntry,
    shape::Shape,
    validate::TypeRepair,
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::HashMap;

/// What is said of an expectation that names what came.
const EXPECTED: &str = "what the tool's schema asks for";
/// How such an expectation reads: it lists the keys that are too many.
const NAMES_WHAT_CAME: &str = "no property ";

impl ResolveJob {
    /// Says of failures that concern values some of which may never be revealed what would be said if
    /// they had come without that.
    pub(super) fn withhold(
        &self,
        failures: &mut [Failure],
        arguments: &mut Value,
        lineage: &[LineageEntry],
    ) {
        if !self.inner.options.reveal.hides() {
            return;
        }
        let concerns =
            |at: &Pointer, link: &LineageEntry| at.is_within(&link.at) || link.at.is_within(at);
        let mut hiding: Vec<&LineageEntry> = Vec::new();
        for link in lineage {
            let is_asked = || failures.iter().any(|failure| concerns(&failure.at, link));
            if !(is_bare(link) && is_asked()) {
                continue;
            }
            let Some(shown) = self.shown_value(link) else {
                continue;
            };
            if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
                *place = as_repaired(shown, place);
            }
            hiding.push(link);
        }
        for failure in failures {
            let Error::Arguments(error) = &mut failure.error else {
                continue;
            };
            let Some(link) = hiding.iter().find(|link| concerns(&failure.at, link)) else {
                continue;
            };
            if error.expected.contains(NAMES_WHAT_CAME) {
                error.expected = EXPECTED.to_owned();
            }
            if arguments.pointer(failure.at.as_str()).is_none() {
                failure.at = link.at.clone();
                error.expected = EXPECTED.to_owned();
            }
            let found = arguments.pointer(failure.at.as_str());
            error.found = Shape::of_value(found.unwrap_or(&Value::Null));
        }
    }

    /// Leaves out what was repaired within values some of which may never be revealed: a repair names a
    /// key and the types that stand there.
    pub(super) fn withhold_repairs(&self, repairs: &mut Vec<TypeRepair>, lineage: &[LineageEntry]) {
        if repairs.is_empty() || !self.inner.options.reveal.hides() {
            return;
        }
        let bare = lineage.iter().filter(|link| is_bare(link));
        let links: HashMap<&str, &LineageEntry> =
            bare.map(|link| (link.at.as_str(), link)).collect();
        let mut known = HashMap::new();
        let mut hides = |place: &str| {
            let Some((place, link)) = links.get_key_value(place) else {
                return false;
            };
            let hides = || self.shown_of(link).is_some();
            *known.entry(*place).or_insert_with(hides)
        };
        repairs.retain(|repair| !repair.at.and_around().skip(1).any(&mut hides));
    }

    /// What may be shown of what a link refers to; `None` where that is all of it.
    fn shown_of(&self, link: &LineageEntry) -> Option<Result<Stored, RevealError>> {
        let source = &link.source;
        let whole = self.stored(&source.call_id, source.artifact_id.as_ref())?;
        match whole.redacted(&self.inner.options.reveal) {
            Ok(shown) if !whole.hides_from(&shown) => None,
            shown => Some(shown),
        }
    }

    /// What may be shown of the value that a link brought in; `None` where that is all of it, null
    /// where it cannot be told.
    fn shown_value(&self, link: &LineageEntry) -> Option<Value> {
        let value = |shown: &Stored| {
            let arena = Arena::with_memory(self.memory.clone());
            let budget = self.inner.fill_limits().budget(shown.document(), &arena);
            let views = shown.views(&arena, &budget).ok()?;
            let most = self.inner.options.max_resolved_bytes;
            Some(views.bare.to_sized_value(most).ok()?.0)
        };
        let shown = self.shown_of(link)?.ok();
        Some(shown.as_ref().and_then(value).unwrap_or_default())
    }
}

/// Whether a link passed on what it refers to unseen.
fn is_bare(link: &LineageEntry) -> bool {
    link.source.select.is_none() && !link.source.used_default
}

/// A text as what it was read for, where it stood for a list or an object.
fn as_repaired(shown: Value, place: &Value) -> Value {
    match &shown {
        Value::String(text) if place.is_array() || place.is_object() => {
            serde_json::from_str(text).unwrap_or(shown)
        }
        _ => shown,
    }
}
