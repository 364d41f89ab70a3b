//! The written selector with one name or literal corrected: advice of the same shape.
//!
//! A projection keeps projecting, a function stays a function, a filter a filter. Each rewriting was evaluated.

use super::{Selector, miss::name_similarity};
use crate::{
    paths::{candidates, member, raw_string, relevance, synonymous},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{
    Arena, Budget, Doubt, EvalError, Expression, Kind, Misread, Place, PlaceKind, View, doubts,
    evaluate, places,
};
use std::{cmp::Reverse, collections::BinaryHeap, ops::Range, sync::Arc};

/// The most places that are corrected in one selector.
const MAX_DEPTH: usize = 4;
/// The most texts that are tried for one selector.
const MAX_TRIES: usize = 32;
/// The most names that are tried in place of one.
const MAX_NAMES: usize = 4;
/// The most names that are tried in place of one that is like none.
const MAX_LIKELY: usize = 3;
/// How much less likely than the first correction the others may be.
const MAX_WORSE: usize = 2;
/// How like two names of one meaning are.
const SYNONYM: f64 = 0.62;
/// The pairs of characters that are compared for one name.
const MAX_PAIRS: usize = 200_000;
/// The most members of an object whose names are compared.
const MAX_MEMBERS: usize = 1000;

/// A text that may be what was meant.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Attempt {
    /// How unlikely it is: two for each edit, and one for each edit that came before it.
    cost: usize,
    /// Earlier ones come first.
    number: usize,
    depth: usize,
    text: String,
}

impl<'a> Selector<'a, '_> {
    /// At most `most` corrections of an expression that give something, the most probable first; those that give an
    /// empty list come last.
    pub(super) fn corrections(&self, text: &str, view: &View<'a>, most: usize) -> Vec<String> {
        let (mut found, mut empty) = (Vec::new(), Vec::new());
        let mut seen = vec![text.to_owned()];
        // The next is what took the fewest and likeliest edits.
        let mut open = BinaryHeap::from([Reverse(Attempt {
            cost: 0,
            number: 0,
            depth: 0,
            text: text.to_owned(),
        })]);
        let mut best = None;
        for _ in 0..MAX_TRIES {
            let Some(Reverse(Attempt {
                cost, depth, text, ..
            })) = open.pop()
            else {
                break;
            };
            if found.len() == most || best.is_some_and(|best| cost > best + MAX_WORSE) {
                break;
            }
            let Ok(expression) = Expression::parse(&text) else {
                continue;
            };
            let expression = self.arena.keep(Arc::new(expression));
            let mut doubted = None;
            if depth > 0 {
                match evaluate(expression, view, self.arena, self.budget) {
                    Ok(Some(value)) => {
                        match super::empty::emptiness(expression, &value, self.budget) {
                            None => {
                                best.get_or_insert(cost);
                                found.push(text);
                                continue;
                            }
                            Some(emptiness) => {
                                let doubts = self.doubts(expression, emptiness, view);
                                if doubts.is_empty() {
                                    empty.push(text);
                                    continue;
                                }
                                doubted = Some(doubts);
                            }
                        }
                    }
                    Ok(None) | Err(EvalError::Type(_)) => {}
                    Err(_) => break,
                }
            }
            if depth == MAX_DEPTH {
                continue;
            }
            let doubted =
                doubted.unwrap_or_else(|| doubts(expression, view, self.arena, self.budget));
            let Some(doubt) = doubted.first() else {
                continue;
            };
            let mut next = edits(&text, doubt, self.arena, self.budget);
            next.retain(|text| self.options.admits(text));
            for (rank, text) in next.into_iter().enumerate() {
                if !seen.contains(&text) {
                    seen.push(text.clone());
                    open.push(Reverse(Attempt {
                        cost: cost + 2 + rank,
                        number: seen.len(),
                        depth: depth + 1,
                        text,
                    }));
                }
            }
        }
        found.extend(empty);
        found.truncate(most);
        found
    }
}

/// The texts in which what a doubt is about is replaced, the most probable first.
fn edits(text: &str, doubt: &Doubt<'_>, arena: &Arena, budget: &Budget) -> Vec<String> {
    let all = places(text);
    let place = doubt.place.and_then(|number| all.get(number).copied());
    let replaced = |start: usize, end: usize, with: &str| {
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        Some(format!("{before}{with}{after}"))
    };
    let found: Vec<Option<String>> = match (&doubt.misread, place) {
        (Misread::NoField, Some(place)) => {
            let start = place.dot.unwrap_or(place.start);
            let Some(written) = text.get(place.start..place.end) else {
                return Vec::new();
            };
            if doubt.around.iter().any(|view| view.kind() == Kind::Array) {
                let each = ["[*]", "[0]"].map(|step| {
                    let with = format!("{step}.{written}");
                    replaced(start, place.end, &with)
                });
                let without = without(text, place);
                if text[place.end..].starts_with('[') {
                    std::iter::once(without).chain(each).collect()
                } else {
                    each.into_iter().chain([without]).collect()
                }
            } else {
                let is_list = text[place.end..].starts_with('[');
                let names = near(doubt, &unquoted(written), arena, budget);
                let lists = is_list
                    .then(|| lists(doubt, arena, budget))
                    .into_iter()
                    .flatten();
                let mut edits: Vec<_> = names
                    .iter()
                    .map(|path| put_path(text, place, path))
                    .collect();
                edits.push(without(text, place));
                // For a path of names alone, what lies there is offered in its order.
                if names.is_empty() && text.contains(['[', '(', '*']) {
                    let likely = likely(doubt).into_iter();
                    edits.extend(likely.map(|path| put_path(text, place, &path)));
                }
                edits.extend(lists.map(|path| put_path(text, place, &path)));
                edits
            }
        }
        (Misread::NoList, Some(place)) => {
            let lists = lists(doubt, arena, budget).into_iter();
            let is_first = place.start == 0;
            let lists = lists.map(|path| {
                let dot = if is_first || path.starts_with('[') {
                    ""
                } else {
                    "."
                };
                replaced(place.start, place.start, &format!("{dot}{path}"))
            });
            let is_object = doubt.around.iter().any(|view| view.kind() == Kind::Object);
            let piped = (!is_first && is_object).then(|| replaced(place.start, place.start, " | "));
            let dropped = (!is_first).then(|| replaced(place.start, place.end, ""));
            let all = piped.into_iter().chain(lists).chain(dropped);
            all.chain([without(text, place)]).collect()
        }
        (Misread::NoItems, Some(place)) => {
            let lists = lists(doubt, arena, budget).into_iter();
            let lists = lists.map(|path| {
                let dot = if path.starts_with('[') { "" } else { "." };
                replaced(place.end, place.end, &format!("{dot}{path}"))
            });
            // `max(items[0].id)`: the index of the path that ends here.
            let before = doubt.place.map_or(&[][..], |number| &all[..=number]);
            let index = before
                .iter()
                .rev()
                .find(|place| place.kind == PlaceKind::Index);
            let each = index.map(|index| replaced(index.start, index.end, "[*]"));
            lists.chain(each).collect()
        }
        (Misread::NoItems, None) => {
            let lists = lists(doubt, arena, budget).into_iter();
            let at = whole(text);
            lists
                .filter_map(|path| at.clone().map(|at| replaced(at.start, at.end, &path)))
                .collect()
        }
        (Misread::Types { found, .. }, Some(place)) => {
            let literal = text.get(place.start..place.end).unwrap_or_default();
            vec![retyped(literal, *found).and_then(|with| replaced(place.start, place.end, &with))]
        }
        (Misread::Spelling { found, .. }, Some(place)) => {
            vec![raw_string(found).and_then(|with| replaced(place.start, place.end, &with))]
        }
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

/// The text with a path in place of a name.
fn put_path(text: &str, place: Place, path: &str) -> Option<String> {
    // `a.[0].b` would be a list of its own.
    let start = match place.dot {
        Some(dot) if path.starts_with('[') => dot,
        _ => place.start,
    };
    Some(format!(
        "{}{path}{}",
        text.get(..start)?,
        text.get(place.end..)?
    ))
}

/// The text without a step of a path, if a step follows.
fn without(text: &str, place: Place) -> Option<String> {
    let after = text.get(place.end..)?;
    let before = text.get(..place.dot.unwrap_or(place.start))?;
    if after.starts_with('[') {
        return Some(format!("{before}{after}"));
    }
    let rest = after.strip_prefix('.')?;
    Some(match place.dot {
        Some(_) => format!("{before}{after}"),
        None => format!("{before}{rest}"),
    })
}

/// Where an expression takes the whole value: `@`, or the place before a bracket that projects.
fn whole(text: &str) -> Option<Range<usize>> {
    let at = text.find("(@").map(|at| at + 1..at + 2);
    let begins = |at: usize| {
        let before = text[..at].trim_end();
        before.is_empty() || before.ends_with(['(', ',', '|', ':', '[', '{'])
    };
    let mut brackets = text.match_indices('[').map(|(at, _)| at);
    at.or_else(|| brackets.find(|at| begins(*at)).map(|at| at..at))
}

/// A literal as a value of another type.
fn retyped(literal: &str, wanted: Kind) -> Option<String> {
    let inside = literal.get(1..literal.len().checked_sub(1)?)?.trim();
    let plain = inside.trim_matches('"');
    match wanted {
        Kind::String => raw_string(plain),
        Kind::Number => {
            let is_number = plain.parse::<f64>().is_ok_and(f64::is_finite);
            let starts = plain.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            (is_number && starts).then(|| format!("`{plain}`"))
        }
        Kind::Boolean => {
            let plain = plain.to_ascii_lowercase();
            matches!(plain.as_str(), "true" | "false").then(|| format!("`{plain}`"))
        }
        _ => None,
    }
}

/// A name without its quotes.
pub(super) fn unquoted(name: &str) -> String {
    let inside = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    inside.unwrap_or(name).to_owned()
}

/// How like two names are, in spelling or meaning.
fn likeness(wanted: &str, name: &str, effort: &mut ComparisonBudget) -> Option<f64> {
    let spelled = name_similarity(wanted, name, effort);
    spelled.or_else(|| synonymous(wanted, name).then_some(SYNONYM))
}

/// The paths near a name that a doubt misses, from the values around it: of the same or a similar name, first in the
/// values themselves and then within them.
pub(super) fn near(doubt: &Doubt<'_>, name: &str, arena: &Arena, budget: &Budget) -> Vec<String> {
    let mut effort = ComparisonBudget::new(MAX_PAIRS);
    let mut ranked: Vec<(f64, String)> = Vec::new();
    let mut offer = |likeness: f64, path: String| {
        if ranked.iter().all(|(_, known)| *known != path) {
            ranked.push((likeness, path));
        }
    };
    for view in &doubt.around {
        for (key, _) in view.members().take(MAX_MEMBERS) {
            if let Some(likeness) = likeness(name, &key, &mut effort) {
                // A name of the same meaning is less likely than the name itself farther away.
                let here = if likeness == SYNONYM { 0.05 } else { 0.15 };
                offer(likeness + here, member("", &key));
            }
        }
    }
    if let Some(view) = doubt.around.first() {
        for candidate in candidates(view, arena, budget) {
            let Some(last) = candidate.names.last() else {
                continue;
            };
            let ends_in_item = candidate.selector.ends_with(']');
            let Some(likeness) = likeness(name, last, &mut effort).filter(|_| !ends_in_item) else {
                continue;
            };
            // What is far away is less likely meant.
            let steps = candidate.selector.matches(['.', '[']).count();
            let exact = if last == name { 0.2 } else { 0.0 };
            let likeness = likeness + exact - steps as f64 / 50.0;
            if let Some(each) = candidate.in_each {
                offer(likeness, each);
            }
            offer(likeness, candidate.selector);
        }
    }
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let names = ranked.into_iter().map(|(_, path)| path);
    names.take(MAX_NAMES).collect()
}

/// The names around a doubt that a model most likely means by an unknown one.
fn likely(doubt: &Doubt<'_>) -> Vec<String> {
    let Some(view) = doubt.around.first() else {
        return Vec::new();
    };
    let keys = view
        .members()
        .take(MAX_MEMBERS)
        .map(|(key, _)| key.into_owned());
    let mut keys: Vec<_> = keys.collect();
    keys.sort_by_cached_key(|key| Reverse(relevance(key)));
    let keys = keys.iter().filter(|key| relevance(key) > 0);
    keys.take(MAX_LIKELY).map(|key| member("", key)).collect()
}

/// The paths to lists of objects within the values around a doubt, those nearest to the root and the longest first.
fn lists(doubt: &Doubt<'_>, arena: &Arena, budget: &Budget) -> Vec<String> {
    let Some(view) = doubt.around.first() else {
        return Vec::new();
    };
    let all = candidates(view, arena, budget);
    let lists = all
        .into_iter()
        .filter(|candidate| candidate.view.kind() == Kind::Array && candidate.in_each.is_none());
    let mut lists: Vec<_> = lists
        .map(|candidate| {
            let is_plain = !matches!(
                candidate.view.at(0).map(|item| item.kind()),
                Some(Kind::Object)
            );
            let items = candidate.view.len().unwrap_or(0);
            (
                (candidate.names.len(), is_plain, Reverse(items)),
                candidate.selector,
            )
        })
        .collect();
    lists.sort();
    lists
        .into_iter()
        .map(|(_, path)| path)
        .take(MAX_NAMES)
        .collect()
}
