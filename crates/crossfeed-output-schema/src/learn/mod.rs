//! Learns schemas from results, for tools that declare none, and notes what changes between results.
//!
//! Keys and types are kept, never values.
//!
//! # Guarantees
//!
//! - Every observed value validates against the schema. A place at which values were skipped is
//!   `{"anyOf": [SCHEMA, true]}`, which asserts nothing and can still be read.
//! - The same results in the same order give the same bytes.
//! - Learning is bounded: in places, depth, keys of one object, length of a key, items and values read, and
//!   drift noted.
//!
//! # Keys that are data
//!
//! An object whose keys are data becomes `additionalProperties`: one with more keys than the limit;
//! one of whose keys half or more are addresses of e-mail, UUIDs or long numbers; one whose keys are
//! all numbers, dates or long ids; four of which none has a key of another; one with more than 64 keys whose
//! values all have one type; and one in which ever new keys with such values come, so that a key is in fewer
//! than a quarter of the objects. From then on its keys are neither kept nor noted as drift, and what was
//! noted of them is forgotten; what changes within is noted for all of them, as `users.*`.

mod collapse;
mod drift;
mod observe;
mod place;

#[cfg(test)]
mod tests;

pub use drift::{Drift, DriftKind};

use crossfeed_json::Cursor;
use derive_setters::Setters;
use drift::Drifts;
use observe::Observation;
use place::ObservedPlace;
use serde_json::Value;

/// Limits of learning.
///
/// ```
/// use crossfeed_output_schema::{LearnOptions, LearnedSchema};
///
/// let options = LearnOptions::default().with_max_depth(4);
/// let learned = LearnedSchema::new(options);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct LearnOptions {
    /// Places that are kept in all.
    pub max_places: usize,
    /// Levels of lists and objects of which more is kept than their type.
    pub max_depth: usize,
    /// Keys of one object, before they count as data.
    pub max_keys: usize,
    /// Items of one list that are looked at in one result, evenly spread.
    pub max_items: usize,
    /// Values that are looked at in one result.
    pub max_values: usize,
    /// Changes that are kept; the first ones.
    pub max_drift: usize,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            max_places: 5_000, // the schemas of real tools have some hundred
            max_depth: 32,
            max_keys: 200,
            max_items: 100,
            max_values: 100_000, // some milliseconds
            max_drift: 100,
        }
    }
}

/// A schema learned from a tool's results.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_output_schema::{DriftKind, LearnOptions, LearnedSchema};
/// use serde_json::json;
///
/// let mut learned = LearnedSchema::new(LearnOptions::default());
/// for result in [r#"{"id": 7, "tags": ["a"]}"#, r#"{"id": 8, "tags": [], "note": null}"#] {
///     learned.observe(Document::new(result).root()?);
/// }
/// assert_eq!(
///     learned.schema(),
///     Some(json!({
///         "type": "object",
///         "properties": {
///             "id": {"type": "integer"},
///             "tags": {"type": "array", "items": {"type": "string"}},
///             "note": {"type": "null"},
///         },
///         "required": ["id", "tags"],
///     }))
/// );
/// let [drift] = learned.drift() else { panic!() };
/// assert_eq!((&*drift.path, &drift.kind, drift.observation), ("note", &DriftKind::New, 2));
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LearnedSchema {
    options: LearnOptions,
    root: ObservedPlace,
    /// Places below the root.
    places: usize,
    observations: u64,
    drifts: Drifts,
}

impl LearnedSchema {
    /// Nothing learned yet.
    pub fn new(options: LearnOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Learns from a result.
    pub fn observe(&mut self, result: Cursor<'_>) {
        self.observations = self.observations.saturating_add(1);
        let mut observation = Observation {
            options: &self.options,
            number: self.observations,
            places: &mut self.places,
            drifts: &mut self.drifts,
            values: self.options.max_values,
            way: Vec::new(),
        };
        observation.see(&mut self.root, result);
    }

    /// The schema, which every observed result is valid by; `None` before the first.
    pub fn schema(&self) -> Option<Value> {
        (self.observations > 0).then(|| self.root.to_schema())
    }

    /// How many results were learned from.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// What changed from one result to a later one, the first changes first.
    pub fn drift(&self) -> &[Drift] {
        &self.drifts.kept
    }

    /// How many changes there were beyond those that [`Self::drift`] holds.
    pub fn drift_dropped(&self) -> u64 {
        self.drifts.dropped
    }
}
