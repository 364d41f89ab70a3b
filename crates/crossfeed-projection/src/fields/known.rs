//! Checks names against the fields that a kind of resource declares. An unknown field that is present is kept.

use super::{ResourceType, error::quoted, hidden::Hidden};
use crate::{
    Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, Path, PathTree, Step, nearest,
    tree::Branch,
};
use std::collections::HashSet;

/// The first unknown name of a path: the number of steps before it, and the names known in its place. Any
/// name is known within a field that declares none.
fn first_unknown<'t, 'p>(
    known: &'t PathTree,
    path: &'p Path,
) -> Option<(usize, &'p str, &'t Branch)> {
    let mut at = &known.branches[0];
    for (before, step) in path.steps().iter().enumerate() {
        match step {
            Step::EachItem | Step::Index(_) => {}
            _ if at.each_key.is_some() || at.keys.is_empty() => return None,
            Step::EachKey => return None,
            Step::Key(name) => match known.child(at, name) {
                Some(inner) => at = &known.branches[inner as usize],
                None => return Some((before, name, at)),
            },
        }
    }
    None
}

/// The unknown names of `paths`; none if the kind declares no fields. Brackets do not count.
pub(super) fn unknown<'p>(
    kind: &ResourceType,
    paths: impl IntoIterator<Item = &'p Path>,
    hidden: &Hidden,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    if kind.fields.is_empty() {
        return diagnostics;
    }
    let known = PathTree::new(kind.fields.iter().filter_map(Path::without_brackets));
    let mut seen = HashSet::new();
    for path in paths {
        let Some((before, name, here)) = first_unknown(&known, path) else {
            continue;
        };
        if !seen.insert(path) {
            continue;
        }
        let text = path.to_string();
        let message = format!(
            "`{}` is not a known field of `{}`",
            quoted(&text),
            quoted(&kind.name)
        );
        let prefix = path.steps().get(..before).unwrap_or_default();
        let beside = |name: &str| -> Vec<Step> {
            let name = Step::Key(name.to_owned());
            prefix.iter().cloned().chain([name]).collect()
        };
        // Further diagnostics are only counted.
        let names = if seen.len() <= MAX_DIAGNOSTICS {
            let mut names: Vec<_> = here.keys.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            names.retain(|name| !hidden.hides(&beside(name)));
            nearest(name, names)
        } else {
            Vec::new()
        };
        let nearest = names.iter().map(|name| {
            let steps = beside(name);
            Path { steps }.to_string()
        });
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownName, text, message);
        diagnostics.push(diagnostic.with_nearest(nearest));
    }
    diagnostics
}
