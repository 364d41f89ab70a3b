//! The written selector with one name or literal corrected: advice of the same shape.
//!
//! A projection keeps projecting, a function stays a function, a filter a filter. Each rewriting was evaluated.

use super::{Selector, miss::name_similarity};
use crate::{
    paths::{candidates, folded, member, raw_string, relevance, synonymous},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{
    Arena, Budget, Doubt, EvalError, Expression, Function, Kind, Misread, Place, PlaceKind, View,
    emptiness, evaluate, places,
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
/// How like a name is to two, one within the other, that it joins.
const JOINED: f64 = 0.9;
/// How much less likely a name within the items of a list is.
const WITHIN_A_LIST: f64 = 0.5;
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
        self.edited(text, view, most).0
    }

    /// The same, and whether the first of them takes one edit.
    pub(super) fn edited(&self, text: &str, view: &View<'a>, most: usize) -> (Vec<String>, bool) {
        let mut is_near = false;
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
                    Ok(Some(value)) => match emptiness(expression, &value, self.budget) {
                        None => {
                            best.get_or_insert(cost);
                            is_near |= found.is_empty() && depth == 1;
                            found.push(text);
                            continue;
                        }
                        Some(_) => {
                            let doubts = self.doubts(expression, view);
                            if doubts.is_empty() {
                                empty.push(text);
                                continue;
                            }
                            doubted = Some(doubts);
                        }
                    },
                    Ok(None) | Err(EvalError::Type(_)) => {}
                    Err(_) => break,
                }
            }
            if depth == MAX_DEPTH {
                continue;
            }
            let doubted = doubted.unwrap_or_else(|| self.doubts(expression, view));
            let Some(doubt) = doubted.first() else {
                continue;
            };
            let mut next = edits(&text, depth == 0, doubt, view, self.arena, self.budget);
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
        (found, is_near)
    }
}

/// The texts in which what a doubt is about is replaced, the most probable first.
fn edits<'a>(
    text: &str,
    is_written: bool,
    doubt: &Doubt<'a>,
    root: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<String> {
    let all = places(text);
    let place = doubt.place.and_then(|number| all.get(number).copied());
    let replaced = |start: usize, end: usize, with: &str| {
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        Some(format!("{before}{with}{after}"))
    };
    // The path up to the end of this place, if it is read from the whole value: other paths in its place.
    let is_from_root = doubt
        .place
        .is_some_and(|number| is_one_path(&all[..number.min(all.len())], place));
    let elsewhere = |end: usize, paths: Vec<String>| {
        let begin = all.first().map_or(0, |first| first.start);
        let paths = paths.into_iter().filter(move |_| is_from_root);
        let put = move |path: String| replaced(begin, end, &path);
        paths.map(put).collect::<Vec<_>>()
    };
    let found: Vec<Option<String>> = match (&doubt.misread, place) {
        (Misread::NoField, Some(place)) => {
            let start = place.dot.unwrap_or(place.start);
            let Some(written) = text.get(place.start..place.end) else {
                return Vec::new();
            };
            let name = unquoted(written);
            if doubt.around.iter().any(|view| view.kind() == Kind::Array) {
                // `items.{a: b}`: what is built for each item.
                let built = opening(text, place.start).map(|at| replaced(at, at, "[*]"));
                let each = ["[*]", "[0]"].map(|step| {
                    let with = format!("{step}.{written}");
                    replaced(start, place.end, &with)
                });
                let each = built.into_iter().chain(each);
                let without = without(text, place);
                if text[place.end..].starts_with('[') {
                    std::iter::once(without).chain(each).collect()
                } else {
                    each.chain([without]).collect()
                }
            } else {
                let is_list = text[place.end..].starts_with('[');
                let names = near(&doubt.around, &name, arena, budget);
                let mut edits: Vec<_> = names
                    .iter()
                    .map(|path| put_path(text, place, path))
                    .collect();
                edits.push(without(text, place));
                // A step too far, as it was written.
                let is_leaf = |view: &View<'_>| !matches!(view.kind(), Kind::Array | Kind::Object);
                let is_too_far =
                    is_written && doubt.around.iter().all(is_leaf) && text[place.end..].is_empty();
                if is_too_far {
                    edits.push(place.dot.map(|dot| text[..dot].to_owned()));
                }
                // For a path of names alone, what lies there is offered in its order.
                let is_listed = text.contains(['[', '(', '*']) && !is_inside(text, place.start);
                if names.is_empty() && is_listed {
                    let likely = likely(&doubt.around).into_iter();
                    edits.extend(likely.map(|path| put_path(text, place, &path)));
                }
                if is_list {
                    let lists = lists(doubt.around.first(), arena, budget).into_iter();
                    edits.extend(lists.map(|path| put_path(text, place, &path)));
                }
                if names.is_empty() && doubt.place != Some(0) && !is_too_far {
                    let near = near(std::slice::from_ref(root), &name, arena, budget);
                    edits.extend(elsewhere(place.end, near));
                }
                let whole = as_whole(text, place, &name);
                let is_argument = whole.is_some() && !text[place.end..].is_empty();
                if is_argument && !is_list && names.is_empty() {
                    let lists = lists(doubt.around.first(), arena, budget).into_iter();
                    edits.extend(lists.map(|path| put_path(text, place, &path)));
                }
                edits.extend(whole);
                edits
            }
        }
        (Misread::NoList, Some(place)) => {
            let is_first = place.start == 0;
            let own = lists(doubt.around.first(), arena, budget).into_iter();
            let own = own.map(|path| {
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
            let others = elsewhere(place.start, lists(Some(root), arena, budget));
            let all = piped.into_iter().chain(own).chain(dropped).chain(others);
            all.chain([without(text, place)]).collect()
        }
        (Misread::NoItems, Some(place)) => {
            let own = lists(doubt.around.first(), arena, budget).into_iter();
            let own = own.map(|path| {
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
            let others = elsewhere(place.end, lists(Some(root), arena, budget));
            own.chain(each).chain(others).collect()
        }
        (Misread::NoItems, None) => {
            let lists = lists(doubt.around.first(), arena, budget).into_iter();
            let at = whole(text);
            lists
                .filter_map(|path| at.clone().map(|at| replaced(at.start, at.end, &path)))
                .collect()
        }
        (Misread::Types { found, .. }, Some(place))
            if matches!(found, Kind::Array | Kind::Object) =>
        {
            let before = doubt
                .place
                .and_then(|number| all.get(number.checked_sub(1)?));
            let inner = doubt
                .around
                .first()
                .and_then(|item| item_at(item, &doubt.path));
            inner.zip(before).map_or_else(Vec::new, |(inner, before)| {
                let members = likely(std::slice::from_ref(&inner)).into_iter();
                let within = |name: String| {
                    let is_list = *found == Kind::Array;
                    let end = before.end;
                    match text.get(end..place.start)?.trim() {
                        "==" if is_list => {
                            let literal = &text[place.start..place.end];
                            replaced(end, place.end, &format!("[?{name} == {literal}]"))
                        }
                        _ if is_list => replaced(end, end, &format!("[*].{name}")),
                        _ => replaced(end, end, &format!(".{name}")),
                    }
                };
                members.map(within).collect()
            })
        }
        (Misread::Types { found, .. }, Some(place)) => {
            let literal = text.get(place.start..place.end).unwrap_or_default();
            let before = doubt
                .place
                .map_or(&[][..], |number| &all[..number.min(all.len())]);
            if is_ordered(text, before, place) {
                return as_number(text, before, place, *found).into_iter().collect();
            }
            vec![retyped(literal, *found).and_then(|with| replaced(place.start, place.end, &with))]
        }
        (Misread::Constant, Some(place)) => {
            let literal = text.get(place.start..place.end).unwrap_or_default();
            let inside = literal
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix('\''));
            let name = inside.map(|name| member("", name));
            vec![name.and_then(|name| replaced(place.start, place.end, &name))]
        }
        (Misread::Turned { .. }, Some(place)) => vec![turned(text, place)],
        (&Misread::NoSlice { start, stop, step }, _) => slices(text, &all, (start, stop, step)),
        (Misread::Spelling { found, .. }, Some(place)) => {
            vec![raw_string(found).and_then(|with| replaced(place.start, place.end, &with))]
        }
        _ => Vec::new(),
    };
    let name = place.and_then(|place| name_for_text(text, &all, place));
    let first = undotted(text, &all).into_iter().chain(name);
    first.chain(found.into_iter().flatten()).collect()
}

/// The text with other ends of a slice that takes nothing: to the end of the list, the ends turned, or one item.
fn slices(
    text: &str,
    all: &[Place],
    slice: (Option<i64>, Option<i64>, i64),
) -> Vec<Option<String>> {
    let ends = |written: &str| {
        let mut ends = written.split(':').map(|end| match end.trim() {
            "" => Some(None),
            end => end.parse::<i64>().ok().map(Some),
        });
        let (start, stop) = (ends.next()??, ends.next()??);
        let step = ends.next().unwrap_or(Some(None))?.unwrap_or(1);
        ends.next().is_none().then_some((start, stop, step))
    };
    let found = text.match_indices('[').find_map(|(at, _)| {
        let within = at + 1..at + 1 + text[at + 1..].find(']')?;
        let is_slice = !is_within(all, at) && ends(&text[within.clone()]) == Some(slice);
        is_slice.then_some(within)
    });
    let Some(within) = found else {
        return Vec::new();
    };
    let (start, stop, step) = slice;
    let written = |start: Option<i64>, stop: Option<i64>| {
        let end = |end: Option<i64>| end.map_or(String::new(), |end| end.to_string());
        let step = match step {
            1 => String::new(),
            step => format!(":{step}"),
        };
        let (before, after) = (&text[..within.start], &text[within.end..]);
        Some(format!("{before}{}:{}{step}{after}", end(start), end(stop)))
    };
    let to_end = written(start, None);
    let turned = written(stop, start);
    match (start, stop) {
        (Some(first), Some(last)) if first.signum() != last.signum() || first == last => {
            vec![to_end, turned]
        }
        (Some(_), Some(_)) => vec![turned, to_end],
        _ => vec![to_end],
    }
}

/// The arguments of a function of which a literal is the first of two, the other way round.
fn turned(text: &str, literal: Place) -> Option<String> {
    let (first, rest) = (
        text.get(literal.start..literal.end)?,
        text.get(literal.end..)?,
    );
    let second = rest.trim_start().strip_prefix(',')?;
    let mut depth = 0;
    let end = second.find(|sign| {
        depth += match sign {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        depth < 0 || depth == 0 && sign == ','
    })?;
    let (second, rest) = second.split_at(end);
    let before = &text[..literal.start];
    Some(format!("{before}{}, {first}{rest}", second.trim()))
}

/// A text that a step of a path follows, as the name that it stands for: `'a b'.c` and `x['a b'].c`.
fn name_for_text(text: &str, all: &[Place], step: Place) -> Option<String> {
    let start = step.dot.unwrap_or(step.start);
    let literal = all
        .iter()
        .rfind(|place| place.kind == PlaceKind::Literal && place.end <= start)?;
    let inside = text.get(literal.start + 1..literal.end - 1)?;
    let name = member("", inside);
    let (before, between) = (&text[..literal.start], &text[literal.end..start]);
    let before = match between.trim() {
        "" => before.to_owned(),
        "]" => match before.trim_end().strip_suffix('[')? {
            "" => String::new(),
            list => format!("{list}."),
        },
        _ => return None,
    };
    Some(format!("{before}{name}{}", &text[start..]))
}

/// Whether places and the next one are steps of one path.
fn is_one_path(before: &[Place], next: Option<Place>) -> bool {
    let steps = before.iter().copied().chain(next);
    let mut end = None;
    for step in steps {
        let is_next = match end {
            None => step.kind != PlaceKind::Literal,
            Some(end) => step.dot.unwrap_or(step.start) == end,
        };
        if !is_next {
            return false;
        }
        end = Some(step.end);
    }
    true
}

/// Whether a place is in a condition, or in the arguments of a function: another field there has another meaning.
fn is_inside(text: &str, place: usize) -> bool {
    let mut open = Vec::new();
    let mut signs = text.get(..place).unwrap_or_default().chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '[' => open.push(signs.peek() == Some(&'?')),
            '(' | '{' => open.push(sign == '('),
            ']' | ')' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    open.contains(&true)
}

/// The place before the dot of `.{` or `.[` around a place, to go through a list there.
fn opening(text: &str, place: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, sign) in text.get(..place)?.char_indices().rev() {
        match sign {
            ']' | '}' | ')' => depth += 1,
            '[' | '{' | '(' if depth > 0 => depth -= 1,
            '[' | '{' => return text[..at].strip_suffix('.').map(str::len),
            '(' => return None,
            _ => {}
        }
    }
    None
}

/// Whether a place is within a name or literal.
fn is_within(all: &[Place], at: usize) -> bool {
    let mut named = all.iter().filter(|place| place.kind != PlaceKind::Index);
    named.any(|place| (place.start..place.end).contains(&at))
}

/// A dot before a subscript that is none of its own: `items.[*].url`.
fn undotted(text: &str, all: &[Place]) -> Option<String> {
    let at = text.match_indices(".[").map(|(at, _)| at).find(|at| {
        let rest = text[at + 2..].trim_start();
        !is_within(all, *at)
            && rest.starts_with(|c: char| "*?]:-".contains(c) || c.is_ascii_digit())
    })?;
    Some(format!("{}{}", &text[..at], &text[at + 1..]))
}

/// A name that stands for the whole value, as the argument of a function or as the function itself.
fn as_whole(text: &str, place: Place, name: &str) -> Option<Option<String>> {
    let (before, after) = (&text[..place.start], text[place.end..].trim_start());
    if before.is_empty() && after.is_empty() {
        let is_function = name.parse::<Function>().is_ok();
        return is_function.then(|| Some(format!("{name}(@)")));
    }
    let is_argument = before.trim_end().ends_with(['(', ',']) && after.starts_with([')', ',', '[']);
    (is_argument && place.dot.is_none()).then(|| Some(format!("{before}@{}", &text[place.end..])))
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

/// Whether a literal is compared by size.
fn is_ordered(text: &str, before: &[Place], literal: Place) -> bool {
    let start = before.last().map_or(0, |before| before.end);
    let sign = text.get(start..literal.start).unwrap_or_default();
    let behind = text.get(literal.end..).unwrap_or_default().trim_start();
    sign.trim_end_matches(['=', ' ']).ends_with(['<', '>']) || behind.starts_with(['<', '>'])
}

/// The text with a path to texts read as numbers, before a number that it is compared with by size; or with a text as
/// the number that it is compared as. Texts of digits have another order than numbers.
fn as_number(text: &str, before: &[Place], literal: Place, found: Kind) -> Option<String> {
    let written = text.get(literal.start..literal.end)?;
    let number = retyped(written, Kind::Number)?;
    let (start, end) = match found {
        Kind::Number => (literal.start, literal.start),
        _ => {
            let mut steps = before.iter().rev().peekable();
            let last = steps.next()?;
            let mut start = *last;
            while let Some(step) = steps.next_if(|step| start.dot == Some(step.end)) {
                start = *step;
            }
            (start.start, last.end)
        }
    };
    let path = text.get(start..end)?;
    let path = if path.is_empty() {
        String::new()
    } else {
        format!("to_number({path})")
    };
    let (before, between) = (text.get(..start)?, text.get(end..literal.start)?);
    Some(format!(
        "{before}{path}{between}{number}{}",
        text.get(literal.end..)?
    ))
}

/// The text with the first path that is compared by size with a text of a number read as a number.
pub(super) fn as_numbers(text: &str) -> Option<String> {
    if !text.contains(['<', '>']) {
        return None;
    }
    let all = places(text);
    all.iter().enumerate().find_map(|(number, place)| {
        let before = text[..place.start].trim_end().trim_end_matches('=');
        let is_text = text[place.start..].starts_with('\'') && before.ends_with(['<', '>']);
        let put = || as_number(text, &all[..number], *place, Kind::String);
        is_text.then(put).flatten()
    })
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
pub(super) fn likeness(wanted: &str, name: &str, effort: &mut ComparisonBudget) -> Option<f64> {
    let spelled = name_similarity(wanted, name, effort);
    spelled.or_else(|| synonymous(wanted, name).then_some(SYNONYM))
}

/// The paths near a name that is missing, from the values around it: of the same or a similar name, first in the
/// values themselves and then within them.
pub(crate) fn near<'a>(
    around: &[View<'a>],
    name: &str,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<String> {
    let mut effort = ComparisonBudget::new(MAX_PAIRS);
    let mut ranked: Vec<(f64, String)> = Vec::new();
    let mut offer = |likeness: f64, path: String| {
        if ranked.iter().all(|(_, known)| *known != path) {
            ranked.push((likeness, path));
        }
    };
    for view in around {
        for (key, value) in view.members().take(MAX_MEMBERS) {
            if let Some(likeness) = likeness(name, &key, &mut effort) {
                // A name of the same meaning is less likely than the name itself farther away.
                let is_leaf = !matches!(value.kind(), Kind::Array | Kind::Object);
                let here = match (likeness == SYNONYM, is_leaf) {
                    (true, true) => 0.05,
                    (true, false) => 0.0,
                    (false, _) => 0.15,
                };
                offer(likeness + here, member("", &key));
            }
        }
    }
    if let Some(view) = around.first() {
        for candidate in candidates(view, arena, budget) {
            let Some(last) = candidate.names.last() else {
                continue;
            };
            let ends_in_item = candidate.selector.ends_with(']');
            // `user_login` is `user.login`.
            let joined = match &*candidate.names {
                [.., before, last] => folded(before) + &folded(last) == folded(name),
                _ => false,
            };
            let likeness = if joined {
                Some(JOINED)
            } else {
                likeness(name, last, &mut effort)
            };
            let Some(likeness) = likeness.filter(|_| !ends_in_item) else {
                continue;
            };
            // Of an item of a list its own fields are meant.
            let is_within = around.len() > 1 && candidate.selector.contains('[');
            let likeness = if is_within {
                likeness - WITHIN_A_LIST
            } else {
                likeness
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

/// The value at a path of names within an item; of a list its first item.
fn item_at<'a>(item: &View<'a>, path: &str) -> Option<View<'a>> {
    let mut names = path.split('.').filter(|name| !name.is_empty());
    let found = names.try_fold(item.clone(), |view, name| view.get(name))?;
    match found.kind() {
        Kind::Array => found.at(0),
        _ => Some(found),
    }
}

/// The names in the first of some values that a model most likely means by an unknown one.
fn likely(around: &[View<'_>]) -> Vec<String> {
    let Some(view) = around.first() else {
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

/// The paths to lists of objects within a value, those nearest to the root and the longest first.
fn lists<'a>(view: Option<&View<'a>>, arena: &'a Arena, budget: &Budget) -> Vec<String> {
    let Some(view) = view else {
        return Vec::new();
    };
    let all = candidates(view, arena, budget);
    let lists = all
        .into_iter()
        .filter(|candidate| candidate.in_each.is_none())
        .filter_map(|candidate| Some((opened(&candidate.view, arena, budget)?, candidate)));
    let mut lists: Vec<_> = lists
        .filter(|(list, _)| list.kind() == Kind::Array)
        .map(|(list, candidate)| {
            let is_plain = !matches!(list.at(0).map(|item| item.kind()), Some(Kind::Object));
            let items = list.len().unwrap_or(0);
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

/// A value, or the JSON that a text holds.
pub(super) fn opened<'a>(view: &View<'a>, arena: &'a Arena, budget: &Budget) -> Option<View<'a>> {
    if view.kind() != Kind::String {
        return Some(view.clone());
    }
    arena.open(view.as_cursor()?, budget).ok()?.map(View::from)
}
