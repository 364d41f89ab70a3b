//! Writes diagnostics about paths that met nothing, once the walk is over.

use super::{
    coverage::met,
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics},
    engine::Engine,
    nearest::nearest,
    state::{Spec, State},
    steps::CROSSED,
};
use crate::{
    fold_case,
    path::{Path, Step, write_steps},
    tree::PathTree,
};
use crossfeed_json::{Cursor, Kind};
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// How many values, and names, a search for suggested names reads.
const MOST_PLACES: usize = 64;
const MOST_NAMES: usize = 200;

/// The include or exclude paths of a request, and what the walk met of them.
struct RequestedPaths<'e> {
    tree: &'e PathTree,
    seen: &'e [bool],
    /// Nodes that matched always-kept fields.
    shielded: &'e HashSet<u32>,
    /// The kinds of values that each node met, and those that it met behind a list that it crossed.
    met: Vec<[u8; 2]>,
    /// Says how a value that ends a path too early was treated.
    passes: &'static str,
    /// The names around each node that some path missed.
    names: HashMap<u32, Vec<String>>,
}

pub(super) fn notes(engine: &Engine<'_>, spec: Spec<'_>, value: Cursor<'_>) -> Diagnostics {
    let seen = &engine.states.coverage;
    let mut notes = Diagnostics::default();
    let none = HashSet::new();
    let included = "it was kept as it is";
    let excluded = "nothing was left out of it";
    for (at, tree, seen, shielded, passes) in [
        (0, spec.include, &seen.include, &none, included),
        (2, spec.exclude, &seen.exclude, &seen.shielded, excluded),
    ] {
        let mut met = vec![[0; 2]; tree.branches.len()];
        for known in engine.states.all() {
            for &entry in known.state.trees(spec)[at].1 {
                let crossed = usize::from(entry & CROSSED != 0);
                met[(entry & !CROSSED) as usize][crossed] |= known.met;
            }
        }
        let mut requested = RequestedPaths {
            tree,
            seen,
            shielded,
            met,
            passes,
            names: HashMap::new(),
        };
        requested.note(spec, value, &mut notes);
    }
    withheld(engine, spec, &mut notes);
    notes
}

fn withheld(engine: &Engine<'_>, spec: Spec<'_>, notes: &mut Diagnostics) {
    let seen = &engine.states.coverage;
    for rule in spec.rules.never() {
        let held = match rule.as_name() {
            Some(name) => seen.never_names.contains(&*fold_case(name)),
            None => node_of(&spec.rules.never_tree, rule).is_some_and(|n| seen.never.contains(&n)),
        };
        if held {
            let message = "withheld by a rule of the host; no request can show it";
            let kind = DiagnosticKind::Withheld;
            notes.push(Diagnostic::new(kind, rule.to_string(), message));
        }
    }
    if engine.redacted.strings > 0 {
        let message = format!(
            "{} strings were withheld: they may hold what a rule of the host hides, and could not be looked into",
            engine.redacted.strings
        );
        notes.push(Diagnostic::new(DiagnosticKind::Withheld, "", message));
    }
}

fn node_of(tree: &PathTree, path: &Path) -> Option<u32> {
    path.steps()
        .iter()
        .try_fold(0, |at, step| child(tree, at, step))
}

fn child(tree: &PathTree, at: u32, step: &Step) -> Option<u32> {
    let branch = &tree.branches[at as usize];
    match step {
        Step::Key(name) => tree.child(branch, name),
        Step::EachKey => branch.each_key,
        Step::EachItem => branch.each_item,
        Step::Index(index) => branch.indexes.get(index).copied(),
    }
}

impl RequestedPaths<'_> {
    fn note(&mut self, spec: Spec<'_>, value: Cursor<'_>, notes: &mut Diagnostics) {
        for path in self.tree.paths() {
            let Some((kind, at, node)) = self.fault(&path) else {
                continue;
            };
            if notes.is_full() {
                notes.count(1);
                continue;
            }
            let mut note = Diagnostic::new(kind, path.to_string(), self.message(kind, &path, at));
            if let (DiagnosticKind::UnknownField, Some(Step::Key(name))) =
                (kind, path.steps().get(at))
            {
                let names = self
                    .names
                    .entry(node)
                    .or_insert_with(|| names_around(spec, value, &path.steps()[..at]));
                if names.contains(name) {
                    note.message = "it is not among what is included".to_owned();
                } else {
                    note = note.with_nearest(nearest(name, names.iter().map(String::as_str)));
                }
            }
            notes.push(note);
        }
    }

    /// The fault of a path, its step and its node: the worst fault, else the first.
    fn fault(&self, path: &Path) -> Option<(DiagnosticKind, usize, u32)> {
        let mut first = None;
        let mut node = 0_u32;
        for (at, step) in path.steps().iter().enumerate() {
            let [own, crossed] = self.met[node as usize];
            let child = child(self.tree, node, step)?;
            let found = self.seen[child as usize];
            let lists = step.is_bracket();
            let met = if lists { own } else { own | crossed };
            let missed = !found
                && match step {
                    Step::Key(_) => met & met::OBJECT != 0,
                    Step::Index(_) => met & met::LIST != 0,
                    Step::EachKey | Step::EachItem => false,
                };
            if missed {
                return Some((DiagnosticKind::UnknownField, at, node));
            }
            let ended = if lists && met & (met::OBJECT | met::SCALAR) != 0 {
                Some(DiagnosticKind::NotAList)
            } else if met & met::SCALAR != 0 {
                Some(DiagnosticKind::MetScalar)
            } else if met & met::NULL != 0 {
                Some(DiagnosticKind::MetNull)
            } else {
                None
            };
            first = first.or(ended.map(|kind| (kind, at, node)));
            if !found {
                return first;
            }
            node = child;
        }
        if self.shielded.contains(&node) {
            return Some((DiagnosticKind::AlwaysKept, path.steps().len(), node));
        }
        first
    }

    fn message(&self, kind: DiagnosticKind, path: &Path, at: usize) -> String {
        let place = match at {
            0 => "the value itself".to_owned(),
            _ => format!("`{}`", text(&path.steps()[..at])),
        };
        let step = text(path.steps().get(at..=at).unwrap_or_default());
        let passes = self.passes;
        match kind {
            DiagnosticKind::UnknownField if step.starts_with('[') => {
                format!("no list has an item {step} at {place}")
            }
            DiagnosticKind::UnknownField => match path.steps() {
                // As JSONPath writes the root.
                [Step::Key(root), rest @ ..] if at == 0 && root == "$" && !rest.is_empty() => {
                    format!(
                        "no object has `$` at {place}; paths begin there: `{}`",
                        text(rest)
                    )
                }
                _ => format!("no object has `{step}` at {place}"),
            },
            DiagnosticKind::NotAList => format!("{place} is not a list; {passes}"),
            DiagnosticKind::MetScalar => {
                format!("{place} is a scalar, which has no `{step}`; {passes}")
            }
            DiagnosticKind::MetNull => format!("{place} is null, which has no `{step}`; {passes}"),
            _ => "always kept by a rule of the host; it was not left out".to_owned(),
        }
    }
}

fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_steps(&mut text, steps);
    text
}

/// A visible value, and the state of never-rules at its place.
type Spot<'v> = (Cursor<'v>, State);

/// The names of objects where a path missed one, as far as a bounded search finds them.
fn names_around(spec: Spec<'_>, value: Cursor<'_>, steps: &[Step]) -> Vec<String> {
    let spec = Spec::for_rules(spec.rules);
    let mut places = vec![(value, State::root(spec))];
    for step in steps {
        let from = if step.is_bracket() {
            places
        } else {
            through_lists(spec, places)
        };
        places = from
            .iter()
            .flat_map(|place| match step {
                Step::Key(name) => member(spec, place, name).into_iter().collect(),
                Step::EachKey => members(spec, place).map(|(_, shown)| shown).collect(),
                Step::EachItem => items(spec, place, 0..MOST_PLACES),
                Step::Index(index) => items(spec, place, *index..*index + 1),
            })
            .take(MOST_PLACES)
            .collect();
    }
    let mut seen = HashSet::new();
    let places = through_lists(spec, places);
    let names = places.iter().flat_map(|place| members(spec, place));
    names
        .map(|(name, _)| name)
        .filter(|name| seen.insert(name.clone()))
        .take(MOST_NAMES)
        .collect()
}

fn member<'v>(spec: Spec<'_>, (value, state): &Spot<'v>, name: &str) -> Option<Spot<'v>> {
    Some((value.get(name)?, state.key(spec, Some(name))?))
}

fn members<'v>(
    spec: Spec<'_>,
    (value, state): &Spot<'v>,
) -> impl Iterator<Item = (String, Spot<'v>)> {
    let members = value.members().take(MOST_NAMES);
    members.filter_map(move |(key, member)| {
        let name = key.text().into_owned();
        let state = state.key(spec, Some(&name))?;
        Some((name, (member, state)))
    })
}

fn items<'v>(spec: Spec<'_>, (list, state): &Spot<'v>, places: Range<usize>) -> Vec<Spot<'v>> {
    let shown = |at| Some((list.at(at)?, state.item(spec, Some(at), Some(at))?));
    places.filter_map(shown).collect()
}

/// Replaces lists by their items, and those by theirs.
fn through_lists<'v>(spec: Spec<'_>, places: Vec<Spot<'v>>) -> Vec<Spot<'v>> {
    let mut open = places;
    open.reverse();
    let mut through = Vec::new();
    let mut steps = 0;
    while let Some(place) = open.pop() {
        steps += 1;
        if steps > MOST_PLACES * 4 || through.len() == MOST_PLACES {
            break;
        }
        match place.0.kind() {
            Kind::Array => open.extend(items(spec, &place, 0..MOST_PLACES).into_iter().rev()),
            _ => through.push(place),
        }
    }
    through
}
