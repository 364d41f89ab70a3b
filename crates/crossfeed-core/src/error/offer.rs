//! Offers ids of the session in place of an unknown one. Ids of other sessions never appear here.

use crate::similarity::ComparisonBudget;
use std::sync::Arc;

/// The most ids that are offered.
const MAX_OFFERED: usize = 3;
/// The most ids that are compared: those that were used last.
const MAX_COMPARED: usize = 1000;
/// The similarity from which on an id is taken for a misspelling of another: one slip in four characters.
const MIN_SIMILARITY: f64 = 0.75;
/// The most characters of a tool's name that are shown.
const MAX_TOOL_CHARS: usize = 64;

/// Precedes the id of an artifact's call.
const OF_CALL: &str = "of call ";

/// The most pairs of characters that are compared for all unknown ids of one call: some hundredths of a second.
const MAX_PAIRS: usize = 2_000_000;

/// Something of the session that has an id.
#[derive(Clone, Debug)]
pub(crate) struct KnownId {
    /// The id as the model has to write it.
    id: String,
    /// The id in lower case.
    folded: String,
    /// Describes it: the tool of a call, or the call of an artifact.
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

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether `wanted`, in lower case, is the name of its tool: alone, behind that of a server, or with a number.
    pub(crate) fn is_of_tool(&self, wanted: &str) -> bool {
        let tool = self.of.as_deref().filter(|of| !of.starts_with(OF_CALL));
        let plain = |name: &str| {
            let name = name.rsplit(['.', ':', '/']).next().unwrap_or_default();
            name.to_lowercase()
        };
        let is_number = |sign: char| sign.is_ascii_digit() || matches!(sign, '_' | '-' | ':' | '.');
        let wanted = wanted.strip_prefix("call_").unwrap_or(wanted);
        let bare = plain(wanted.trim_end_matches(is_number));
        tool.is_some_and(|tool| {
            let tool = plain(tool);
            !bare.is_empty() && (tool == bare || tool == plain(wanted))
        })
    }

    /// An artifact, named by its id and its call's.
    pub(crate) fn for_artifact(id: &str, call_id: &str) -> Self {
        Self::new(id, Some(format!("{OF_CALL}{call_id}").into()))
    }
}

/// Whether two ids differ only in the number at their end: `call_99` and `call_19`.
fn is_other_number(a: &str, b: &str) -> bool {
    let split = |id: &'_ str| {
        let stem = id
            .trim_end_matches(|sign: char| sign.is_ascii_digit())
            .len();
        (stem, id[stem..].trim_start_matches('0').len())
    };
    let ((a_stem, a_digits), (b_stem, b_digits)) = (split(a), split(b));
    let is_number = a_stem < a.len() && b_stem < b.len();
    is_number && a[..a_stem] == b[..b_stem] && a[a.len() - a_digits..] != b[b.len() - b_digits..]
}

/// Whether only the number at the end of an id is written: `1` or `#1` for `call_1`.
fn is_number_of(wanted: &str, id: &str) -> bool {
    let is_digit = |sign: char| sign.is_ascii_digit();
    let number = wanted.trim_start_matches(|sign: char| sign.is_ascii_punctuation());
    let stem = id.trim_end_matches(is_digit);
    !number.is_empty() && number.chars().all(is_digit) && id[stem.len()..] == *number
}

/// The budget for all unknown ids of one call.
pub(crate) fn comparison_budget() -> ComparisonBudget {
    ComparisonBudget::new(MAX_PAIRS)
}

/// The ids of a session that are offered in place of an unknown one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alternatives {
    /// The number of all ids; `None` if they were not listed.
    pub in_all: Option<usize>,
    /// At most three: the most similar ones or, without any, those used last. Each with its tool, or the call
    /// of an artifact.
    pub ids: Vec<(String, Option<String>)>,
    /// Whether they are similar.
    pub alike: bool,
}

impl Alternatives {
    /// The known ids to offer in place of `wanted`. `known` ends with the most recently used. Once the budget
    /// is spent, no id counts as similar.
    pub(crate) fn new(wanted: &str, known: &[KnownId], budget: &mut ComparisonBudget) -> Self {
        let latest = known.iter().rev().take(MAX_COMPARED);
        let wanted = wanted.to_lowercase();
        let similar = latest.clone().filter_map(|one| {
            if one.is_of_tool(&wanted) || is_number_of(&wanted, &one.folded) {
                return Some((f64::INFINITY, one));
            }
            // Another number is another call, not a slip.
            let similarity = budget.similarity(&wanted, &one.folded, MIN_SIMILARITY)?;
            (!is_other_number(&wanted, &one.folded)).then_some((similarity, one))
        });
        let mut similar: Vec<(f64, &KnownId)> = similar.collect();
        // Stable: of equally similar ones the latest come first.
        similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let offered = |one: &KnownId| {
            let of = one.of.as_deref().map(|of| {
                let is_call = of.starts_with(OF_CALL);
                let chars = if is_call { usize::MAX } else { MAX_TOOL_CHARS };
                of.chars().filter(|c| !c.is_control()).take(chars).collect()
            });
            (one.id.clone(), of)
        };
        let alike = !similar.is_empty();
        let fallback = latest.filter(|_| !alike);
        let chosen = similar.into_iter().map(|(_, one)| one).chain(fallback);
        Self {
            in_all: Some(known.len()),
            ids: chosen.take(MAX_OFFERED).map(offered).collect(),
            alike,
        }
    }

    /// What was found, then one next step; `things` names what these ids belong to.
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
        let is_call = |of: &&str| of.starts_with(OF_CALL);
        let first = self.ids.first();
        let first = first.map(|(id, of)| named(id, of.as_deref().filter(is_call)));
        let first = first.unwrap_or_default();
        if self.alike {
            return format!("found: {ids}\ntry: {first}");
        }
        let more = match in_all - self.ids.len() {
            0 => String::new(),
            more => format!(", {more} more"),
        };
        if self
            .ids
            .iter()
            .any(|(_, of)| of.as_deref().is_some_and(|of| is_call(&of)))
        {
            return format!("found: {ids}{more}\n{otherwise}");
        }
        // The newest.
        format!("found: {ids}{more}\ntry: {first}; otherwise {otherwise}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Alternatives, KnownId, comparison_budget};

    fn check(wanted: &str, first: &str, alike: bool) {
        let known = [
            ("call_1", "files/read_text"),
            ("call_19", "search"),
            ("toolu_01AbC", "search"),
            ("call_20", "fetch"),
        ];
        let known = known.map(|(id, tool)| KnownId::new(id, Some(tool.into())));
        let found = Alternatives::new(wanted, &known, &mut comparison_budget());
        assert_eq!(
            (found.ids[0].0.as_str(), found.alike),
            (first, alike),
            "{wanted}"
        );
    }

    #[test]
    fn the_call_of_the_tool_is_offered_else_a_similar_one_else_the_newest() {
        check("search", "toolu_01AbC", true);
        check("functions.search:0", "toolu_01AbC", true);
        check("read_text", "call_1", true);
        check("call_read_text_1", "call_1", true);
        check("toolu_02abc", "toolu_01AbC", true);
        check("Call_1", "call_1", true);
        check("call_01", "call_1", true);
        check("cal_19", "call_19", true);
        check("call_99", "call_20", false);
        check("nothing", "call_20", false);
    }
}
