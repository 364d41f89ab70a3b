//! Rewrites failures and repairs of values that were passed on unseen, so that they reveal nothing that the host's rules
//! withhold.

use super::job::ResolveJob;
use crate::{
    canonical::StoredItem,
    error::RevealError,
    failure::{Error, Failure},
    lineage::LineageEntry,
    shape::Shape,
    validate::TypeRepair,
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::Pointer;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Replaces an expectation that names a withheld key.
const EXPECTED: &str = "what the tool's schema asks for";
/// The beginning of such an expectation, which lists unexpected keys.
const NAMES_WHAT_CAME: &str = "no property ";

impl ResolveJob {
    /// Rewrites failures of values that are partly withheld to what they would be for the redacted values.
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
        for link in lineage.iter().filter(|link| is_bare(link)) {
            if failures.iter().any(|failure| concerns(&failure.at, link))
                && let Some(shown) = self.shown_value(link)
            {
                if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
                    *place = if link.source.edit.is_some() || link.text.is_some() {
                        emptied(place)
                    } else {
                        as_repaired(shown, place)
                    };
                }
                hiding.push(link);
            }
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
            error.found = Shape::from_value(found.unwrap_or(&Value::Null));
        }
    }

    /// Removes repairs within values that are partly withheld: a repair names a key and its types.
    pub(super) fn withhold_repairs(&self, repairs: &mut Vec<TypeRepair>, lineage: &[LineageEntry]) {
        if repairs.is_empty() || !self.inner.options.reveal.hides() {
            return;
        }
        let bare = lineage.iter().filter(|link| is_bare(link));
        let mut links: HashMap<&str, Vec<&LineageEntry>> = HashMap::new();
        for link in bare {
            links.entry(link.at.as_str()).or_default().push(link);
        }
        let mut known = HashMap::new();
        let mut hides = |place: &str| {
            let Some((place, links)) = links.get_key_value(place) else {
                return false;
            };
            let hides = || links.iter().any(|link| self.shown_of(link).is_some());
            *known.entry(*place).or_insert_with(hides)
        };
        repairs.retain(|repair| !repair.at.and_around().skip(1).any(&mut hides));
    }

    /// The redacted form of the item that a link refers to; `None` if nothing is withheld.
    fn shown_of(&self, link: &LineageEntry) -> Option<Result<StoredItem, RevealError>> {
        let whole = self.stored(&link.source)?;
        whole.cut(&self.inner.options.reveal).transpose()
    }

    /// The redacted form of the value that a link brought in; `None` if nothing is withheld, null if it cannot be
    /// redacted.
    fn shown_value(&self, link: &LineageEntry) -> Option<Value> {
        let value = |shown: StoredItem| {
            let arena = Arena::with_memory(self.memory.clone());
            let budget = self.inner.fill_limits().budget(shown.document(), &arena);
            let views = shown.views(&arena, &budget).ok()?;
            let most = self.inner.options.max_resolved_bytes;
            Some(views.bare.to_sized_value(most).ok()?.0)
        };
        let shown = self.shown_of(link)?.ok();
        Some(shown.and_then(value).unwrap_or_default())
    }
}

/// A value without what is in it: of one that an edit made it is not known what may be seen.
fn emptied(place: &Value) -> Value {
    match place {
        Value::Object(_) => json!({}),
        Value::Array(_) => json!([]),
        Value::String(_) => json!(""),
        scalar => scalar.clone(),
    }
}

/// Whether a link passed an item on unseen.
fn is_bare(link: &LineageEntry) -> bool {
    link.source.select.is_none() && !link.source.used_default
}

/// The parsed text, if it is the JSON of a list or an object.
fn as_repaired(shown: Value, place: &Value) -> Value {
    match &shown {
        Value::String(text) if place.is_array() || place.is_object() => {
            serde_json::from_str(text).unwrap_or(shown)
        }
        _ => shown,
    }
}
