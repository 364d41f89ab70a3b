//! The selectors nearest to one that matched nothing, to try instead.

use super::Selector;
use crate::{
    paths::{self, Candidate, differ_by_plural, folded},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{
    Arena, Budget, Expression, ParseError, SpineStep, View, emptiness, evaluate,
};

/// How many selectors an error offers.
pub(crate) const OFFERED: usize = 3;
/// How many there are at most where those that fit a parameter are chosen later.
pub(crate) const MAX_CHOICE: usize = 12;
/// The similarity from which a name is taken for a misspelling of another: one slip in three letters.
const ALIKE: f64 = 0.65;
/// The pairs of characters that are compared for one miss: some hundredths of a second.
const MAX_PAIRS: usize = 2_000_000;

/// The names on the path that an expression follows.
pub(super) fn names(expression: &Expression) -> Vec<&str> {
    let spine = expression.spine().into_iter();
    let names = spine.filter_map(|step| match step {
        SpineStep::Field(name) => Some(name),
        SpineStep::Index(_) | SpineStep::Each => None,
    });
    names.collect()
}

/// Whether an expression projects.
pub(super) fn projects(expression: &Expression) -> bool {
    expression.spine().contains(&SpineStep::Each)
}

/// The names in a text that is not an expression: all of its words.
pub(super) fn words(text: &str) -> Vec<&str> {
    let path = text.split(['|', '?', '(']).next().unwrap_or_default();
    path.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .collect()
}

impl<'a> Selector<'a, '_> {
    /// Up to three matching paths nearest to the path of the wanted names, best first, ties in document
    /// order; with `projects` as projections over the lists that they go through.
    pub(super) fn nearest(&self, wanted: &[&str], view: &View<'a>, projects: bool) -> Vec<String> {
        let found = paths::candidates(view, self.arena, self.budget);
        let mut effort = ComparisonBudget::new(MAX_PAIRS);
        let mut ranked: Vec<(f64, &Candidate<'a>)> = found
            .iter()
            .filter_map(|candidate| Some((similarity(wanted, candidate, &mut effort)?, candidate)))
            .collect();
        if ranked.is_empty() {
            // No name is similar: offer the places where the path left the value.
            let deepest = found.iter().map(|c| shared(wanted, c)).max().unwrap_or(0);
            let level = |names: usize| {
                let is_there =
                    |c: &&Candidate<'a>| c.names.len() == names && shared(wanted, c) == deepest;
                found.iter().filter(is_there).map(|c| (0.0, c)).collect()
            };
            ranked = level(deepest + 1);
            if ranked.is_empty() && deepest > 0 {
                // There are none: the path went a step too far.
                ranked = level(deepest);
            }
        }
        // A stable sort keeps document order among equals.
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut offered: Vec<String> = Vec::with_capacity(OFFERED);
        let mut names: Vec<&[String]> = Vec::with_capacity(OFFERED);
        for (_, candidate) in ranked {
            if offered.len() == OFFERED {
                break;
            }
            // One item of a list stands for the others.
            if names.contains(&candidate.names.as_slice()) {
                continue;
            }
            let each = candidate.in_each.as_ref().filter(|_| projects);
            let selector = each.unwrap_or(&candidate.selector);
            let admitted = self.options.admits(selector);
            if admitted && works(selector, view, self.arena, self.budget, false) {
                names.push(&candidate.names);
                offered.push(selector.clone());
            }
        }
        offered
    }
}

/// A text with the function that is nearest to an unknown one, or with the argument that a call lacks.
pub(super) fn called(text: &str, error: &ParseError) -> Option<String> {
    match error {
        ParseError::UnknownFunction {
            name,
            nearest: Some(nearest),
        } => Some(text.replacen(&format!("{name}("), &format!("{nearest}("), 1)),
        _ => text.contains("()").then(|| text.replacen("()", "(@)", 1)),
    }
}

/// Whether a selector gives a value, and with `filled` one that is not empty: only such selectors are offered.
pub(super) fn works(
    selector: &str,
    view: &View<'_>,
    arena: &Arena,
    budget: &Budget,
    filled: bool,
) -> bool {
    let Ok(expression) = Expression::parse(selector) else {
        return false;
    };
    // The views of this check end with it, so a shorter borrow suffices.
    match evaluate(&expression, view, arena, budget) {
        Ok(Some(value)) => !filled || emptiness(&expression, &value, budget).is_none(),
        _ => false,
    }
}

/// Number of leading names that the candidate shares with the wanted path.
fn shared(wanted: &[&str], candidate: &Candidate<'_>) -> usize {
    wanted
        .iter()
        .zip(&candidate.names)
        .take_while(|(a, b)| a == b)
        .count()
}

/// The similarity of the candidate's path to the wanted one; `None` if its last name is a different one.
fn similarity(
    wanted: &[&str],
    candidate: &Candidate<'_>,
    effort: &mut ComparisonBudget,
) -> Option<f64> {
    let (leaf, path) = wanted.split_last()?;
    let (last, before) = candidate.names.split_last()?;
    let leaf = name_similarity(leaf, last, effort)?;
    let along: f64 = path
        .iter()
        .rev()
        .zip(before.iter().rev())
        .map(|(a, b)| name_similarity(a, b, effort).unwrap_or(0.0))
        .sum();
    let longer = path.len().max(before.len()).max(1) as f64;
    // The last name counts most; the path to it decides between places of the same name.
    Some(leaf * 4.0 + along / longer + shared(wanted, candidate) as f64 / 8.0)
}

/// 1 for the same name, less for a similar one, `None` for any other.
pub(super) fn name_similarity(
    wanted: &str,
    name: &str,
    effort: &mut ComparisonBudget,
) -> Option<f64> {
    if wanted == name {
        return Some(1.0);
    }
    let (a, b) = (folded(wanted), folded(name));
    if a == b {
        return Some(0.98);
    }
    if differ_by_plural(&a, &b) {
        return Some(0.95);
    }
    if let Some(similarity) = effort.similarity(&a, &b, ALIKE) {
        return Some(similarity);
    }
    let within = a.len() >= 3 && b.len() >= 3 && (a.contains(&b) || b.contains(&a));
    (within || has_words(wanted, name) || has_words(name, wanted)).then_some(0.6)
}

/// Whether a name has all words of another one, in either number: `comment_count` has that of `comments`.
fn has_words(name: &str, other: &str) -> bool {
    let (own, other) = (paths::words(name), paths::words(other));
    let is_own = |word: &String| {
        let mut own = own.iter();
        own.any(|own| own == word || differ_by_plural(own, word))
    };
    !other.is_empty() && other.iter().all(|word| word.len() > 2 && is_own(word))
}
