//! The ids that a session has in place of one that it does not know. Ids of other sessions never come here.
//!
//! Ids of other sessions never come here.

use crate::similarity::ComparisonBudget;
use std::sync::Arc;

/// How many ids are offered.
const OFFERED: usize = 3;
/// How many are looked at: those that were used last.
const LOOKED_AT: usize = 1000;
/// From which likeness on an id is taken for a misspelling of another: one slip in four characters.
const ALIKE: f64 = 0.75;
/// The most characters of a tool's name that are shown.
const TOOL_CHARS: usize = 64;

/// Before the id of an artifact's call.
const OF_CALL: &str = "of call ";

/// The pairs of characters that are looked at for all unknown ids of one call: some hundredths of a
/// second.
const PAIRS: usize = 2_000_000;

/// Something of the session that has an id.
#[derive(Clone, Debug)]
pub(crate) struct KnownId {
    /// The id as the model has to write it.
    id: String,
    /// The id, whatever the case.
    folded: String,
    /// What it is: the tool of a call, the call of an artifact.
    of: Option<Arc<str>>,
}

impl KnownId {
    pub(crate) fn new(id: &str, of: Option<Arc<str>>) -> Self {
        Self {
            id: id.to_owned(),
            folded: id.to_lowercase(),
            of,
        }
    }

    /// An artifact, which takes the id of its call to be named: all of it.
    pub(crate) fn of_call(id: &str, call_id: &str) -> Self {
        Self::new(id, Some(format!("{OF_CALL}{call_id}").into()))
    }
}

/// The effort for all unknown ids of one call.
pub(crate) fn comparison_budget() -> ComparisonBudget {
    ComparisonBudget::new(PAIRS)
}

/// The ids that a session has in place of one that it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alternatives {
    /// How many there are in all; `None` where nobody looked.
    pub in_all: Option<usize>,
    /// The nearest ones, or, where none is alike, those used last: each with what it is of, at most
    /// three.
    pub ids: Vec<(String, Option<String>)>,
    /// Whether they are alike.
    pub alike: bool,
}

impl Alternatives {
    /// What to offer for `wanted` of what is there, the most recently used last.
    /// Where no effort is left, none is alike.
    pub(crate) fn of(
        wanted: &str,
        there: &[KnownId],
        comparison_budget: &mut ComparisonBudget,
    ) -> Self {
        let latest = there.iter().rev().take(LOOKED_AT);
        let wanted = wanted.to_lowercase();
        let mut alike: Vec<(f64, &KnownId)> = latest
            .clone()
            .filter_map(|one| {
                Some((
                    comparison_budget.similarity(&wanted, &one.folded, ALIKE)?,
                    one,
                ))
            })
            .collect();
        // Stable: of those that are equally alike the latest come first.
        alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let is_alike = !alike.is_empty();
        let chosen: Vec<&KnownId> = if is_alike {
            alike.into_iter().map(|(_, one)| one).collect()
        } else {
            latest.collect()
        };
        let line = |one: &KnownId| {
            let of = one.of.as_deref();
            let of = of.map(|of| {
                let chars = if of.starts_with(OF_CALL) {
                    usize::MAX
                } else {
                    TOOL_CHARS
                };
                of.chars().filter(|c| !c.is_control()).take(chars).collect()
            });
            (one.id.clone(), of)
        };
        Self {
            in_all: Some(there.len()),
            ids: chosen.into_iter().take(OFFERED).map(line).collect(),
            alike: is_alike,
        }
    }

    /// What was there, then one next step; `things` are what has ids of this kind.
    pub(crate) fn advice(&self, things: &str, otherwise: &str) -> String {
        let Some(in_all) = self.in_all else {
            return otherwise.to_owned();
        };
        if self.ids.is_empty() {
            return format!("found: no {things} in this session\n{otherwise}");
        }
        let named = |id: &str, of: Option<&str>| match of {
            Some(of) if of.starts_with(OF_CALL) => format!("{id} {of}"),
            Some(of) => format!("{id} ({of})"),
            None => id.to_owned(),
        };
        let ids = self.ids.iter().map(|(id, of)| named(id, of.as_deref()));
        let ids = ids.collect::<Vec<_>>().join(", ");
        if self.alike {
            let call = |of: &&str| of.starts_with(OF_CALL);
            let first = self.ids.first();
            let first = first.map(|(id, of)| named(id, of.as_deref().filter(call)));
            return format!("found: {ids}\ntry: {}", first.unwrap_or_default());
        }
        let more = match in_all - self.ids.len() {
            0 => String::new(),
            more => format!(", {more} more"),
        };
        format!("found: {ids}{more}\n{otherwise}")
    }
}
