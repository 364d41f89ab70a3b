//! Suggesting: selectors whose values fit a parameter.
//!
//! What comes in: a view of a result, and a test that says whether a value fits. What goes out: at
//! most three selectors, each evaluated and tested. Selectors near to one that missed are found by
//! [`crate::select`].

use crate::{
    paths::{Candidate, candidates},
    validate::keeps_numbers,
};
use crossfeed_jmespath::{Arena, Budget, Expression, View, evaluate};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::cmp::Reverse;

/// How many selectors are offered.
const OFFERED: usize = 3;
/// How many values are tested: each test is a validation.
const TESTED: usize = 60;
/// The largest value that is tested, in bytes: the fields of some thousands of records.
const TESTED_BYTES: usize = 1 << 20;
/// Bytes of all values that are tested.
const TESTED_BYTES_IN_ALL: usize = 4 << 20;

/// Selectors on `view` whose values `fits` accepts for the parameter at `at`: those named alike
/// first, then those nearest to the root, ties in document order. `fits` gets the digits of a number, too.
/// A value that would lose digits on its way to the tool is not offered.
pub(crate) fn fitting<'a>(
    view: &View<'a>,
    at: &Pointer,
    arena: &'a Arena,
    budget: &Budget,
    fits: &mut dyn FnMut(Value, Option<&str>) -> bool,
) -> Vec<String> {
    let parameter = at.tokens().filter(|t| t.parse::<usize>().is_err()).last();
    let parameter = parameter.unwrap_or_default().to_lowercase();
    let mut found = candidates(view, arena, budget);
    found.sort_by_key(|candidate| {
        let like = likeness(&parameter, candidate);
        (Reverse((like * 4.0) as u8), candidate.names.len())
    });
    let mut offered: Vec<String> = Vec::with_capacity(OFFERED);
    let mut tested = 0;
    let mut bytes_left = TESTED_BYTES_IN_ALL;
    for candidate in &found {
        let texts = [
            Some(candidate.selector.as_str()),
            candidate.in_each.as_deref(),
        ];
        for text in texts.into_iter().flatten() {
            if offered.len() == OFFERED || tested == TESTED {
                return offered;
            }
            tested += 1;
            let value = value_of(text, view, arena, budget, &mut bytes_left);
            if value.is_some_and(|(value, digits)| fits(value, digits.as_deref())) {
                offered.push(text.to_owned());
            }
        }
    }
    offered
}

fn value_of(
    selector: &str,
    view: &View<'_>,
    arena: &Arena,
    budget: &Budget,
    bytes_left: &mut usize,
) -> Option<(Value, Option<String>)> {
    let expression = Expression::parse(selector).ok()?;
    let found = evaluate(&expression, view, arena, budget).ok()??;
    let most = TESTED_BYTES.min(*bytes_left);
    let mut left = most;
    let value = found.to_value(&mut left).ok();
    *bytes_left -= most - left;
    let value = value.filter(|_| keeps_digits(&found))?;
    let digits = value.is_number().then(|| {
        let mut digits = Vec::new();
        found.write(&mut digits, most).ok()?;
        String::from_utf8(digits).ok()
    });
    Some((value, digits.flatten()))
}

/// Whether 64 bits hold every number of a value. Depth is bounded by the document.
fn keeps_digits(view: &View<'_>) -> bool {
    match view.as_cursor() {
        Some(cursor) => keeps_numbers(cursor),
        None => {
            view.items().all(|item| keeps_digits(&item))
                && view.members().all(|(_, value)| keeps_digits(&value))
        }
    }
}

/// How much the last name of a candidate is like the parameter's: 0 to 1.
fn likeness(parameter: &str, candidate: &Candidate<'_>) -> f64 {
    let Some(name) = candidate.names.last() else {
        return 0.0;
    };
    let name = name.to_lowercase();
    if name == parameter {
        return 1.0;
    }
    if name.len() >= 3 && (parameter.contains(&name) || name.contains(parameter)) {
        return 0.75;
    }
    let likeness = strsim::normalized_damerau_levenshtein(parameter, &name);
    if likeness > 0.7 { 0.5 } else { 0.0 }
}
