//! Names judged by the fields that are known.
//!
//! What comes in: the paths that are asked for, and those that a kind of resource declares. What
//! goes out: which of the first none of the second leads to, with those that may have been meant.
//! Deliberately not here: what the data has. A field that is not known and there all the same is
//! kept.

use super::{ResourceType, error::quoted};
use crate::{Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, Path, RevealRules, Step};
use std::collections::{BTreeMap, HashSet};

/// How many known names are compared with an unknown one.
const COMPARED: usize = 500;
/// The longest name that is compared.
const COMPARED_CHARS: usize = 48;
/// How alike a suggestion is at least, of 1.
const ALIKE: f64 = 0.5;
/// How many suggestions there are.
const NEAREST: usize = 3;

/// Known fields, by name; within one that has none, anything may be.
#[derive(Default)]
struct Known<'p> {
    inner: BTreeMap<&'p str, Known<'p>>,
    any: bool,
}

impl<'p> Known<'p> {
    fn of(paths: &'p [Path]) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut at = &mut root;
            for step in path.steps() {
                match step {
                    Step::Key(name) => at = at.inner.entry(name).or_default(),
                    Step::EachKey => {
                        at.any = true;
                        break;
                    }
                    Step::EachItem | Step::Index(_) => {}
                }
            }
        }
        root
    }

    /// The first name of a path that is not known: how many steps are before it, and what is known
    /// in its place.
    fn missed(&self, path: &'p Path) -> Option<(usize, &'p str, &Self)> {
        let mut at = self;
        for (before, step) in path.steps().iter().enumerate() {
            match step {
                Step::Key(_) | Step::EachKey if at.any || at.inner.is_empty() => return None,
                Step::Key(name) => match at.inner.get(name.as_str()) {
                    Some(inner) => at = inner,
                    None => return Some((before, name, at)),
                },
                Step::EachKey => return None,
                Step::EachItem | Step::Index(_) => {}
            }
        }
        None
    }
}

/// What is not known of `paths`; nothing where no fields are known. Brackets do not count.
pub(super) fn unknown<'p>(
    kind: &'p ResourceType,
    paths: impl IntoIterator<Item = &'p Path>,
    rules: &RevealRules,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    if kind.fields.is_empty() {
        return diagnostics;
    }
    let known = Known::of(&kind.fields);
    let mut seen = HashSet::new();
    for path in paths {
        let Some((before, name, here)) = known.missed(path) else {
            continue;
        };
        if !seen.insert(path) {
            continue;
        }
        let text = path.to_string();
        let said = format!(
            "`{}` is no known field of `{}`",
            quoted(&text),
            quoted(&kind.name)
        );
        // Beyond these they are only counted.
        let names = match seen.len() <= MAX_DIAGNOSTICS {
            true => nearest(name, here.inner.keys().copied(), rules),
            false => Vec::new(),
        };
        let prefix = path.steps().get(..before).unwrap_or_default();
        let nearest = names.into_iter().filter_map(|name| {
            let steps = prefix.iter().cloned().chain([Step::Key(name)]);
            let steps: Vec<_> = steps.collect();
            (!kind.hides(&steps, rules)).then(|| Path { steps }.to_string())
        });
        let made = Diagnostic::new(DiagnosticKind::UnknownName, text, said);
        diagnostics.push(made.with_nearest(nearest));
    }
    diagnostics
}

/// The names that are most like `name`, the most alike first, never one that may not be shown.
pub(super) fn nearest<'n>(
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
    rules: &RevealRules,
) -> Vec<String> {
    let start = |text: &str| -> String {
        let characters = text.chars().take(COMPARED_CHARS);
        characters.flat_map(char::to_lowercase).collect()
    };
    let wanted = start(name);
    let names = names.into_iter().filter(|name| !rules.is_never_name(name));
    let mut alike: Vec<(f64, &str)> = names
        .take(COMPARED)
        .map(|name| {
            let likeness = strsim::normalized_damerau_levenshtein(&wanted, &start(name));
            (likeness, name)
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    // Sorting is stable: of equal ones the first stays first.
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let names = alike.into_iter().map(|(_, name)| name.to_owned());
    names.take(NEAREST).collect()
}

/// Whether rules hide what is at these steps from the root of a value. Brackets do not count.
pub(super) fn is_hidden(steps: &[Step], rules: &RevealRules) -> bool {
    let names = |steps: &'_ [Step]| -> Vec<Option<String>> {
        let names = steps.iter().filter_map(|step| match step {
            Step::Key(name) => Some(Some(name.clone())),
            Step::EachKey => Some(None),
            Step::EachItem | Step::Index(_) => None,
        });
        names.collect()
    };
    let here = names(steps);
    if here.iter().flatten().any(|name| rules.is_never_name(name)) {
        return true;
    }
    rules.never().iter().any(|never| {
        let never = names(never.steps());
        let alike = |(a, b): (&Option<String>, &Option<String>)| a.is_none() || a == b;
        // One name alone holds at any depth, and was looked at.
        never.len() > 1 && never.len() <= here.len() && never.iter().zip(&here).all(alike)
    })
}
