//! Names judged by the fields that are known.
//!
//! What comes in: the paths that are asked for, and those that a kind of resource declares. What
//! goes out: which of the first none of the second leads to, with those that may have been meant.
//! Deliberately not here: what the data has. A field that is not known and there all the same is
//! kept.

use super::{ResourceType, error::quoted, hidden::Hidden};
use crate::{Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, Path, Step, nearest};
use std::collections::{BTreeMap, HashSet};

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
    hidden: &Hidden,
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
            "`{}` is not a known field of `{}`",
            quoted(&text),
            quoted(&kind.name)
        );
        // Beyond these they are only counted.
        let names = if seen.len() <= MAX_DIAGNOSTICS {
            let prefix = path.steps().get(..before).unwrap_or_default();
            let whole = |name: &&str| {
                let steps = prefix
                    .iter()
                    .cloned()
                    .chain([Step::Key((*name).to_owned())]);
                !hidden.hides(&steps.collect::<Vec<_>>())
            };
            nearest(name, here.inner.keys().copied().filter(whole))
        } else {
            Vec::new()
        };
        let prefix = path.steps().get(..before).unwrap_or_default();
        let nearest = names.into_iter().map(|name| {
            let steps = prefix.iter().cloned().chain([Step::Key(name)]);
            let steps = steps.collect();
            Path { steps }.to_string()
        });
        let made = Diagnostic::new(DiagnosticKind::UnknownName, text, said);
        diagnostics.push(made.with_nearest(nearest));
    }
    diagnostics
}
