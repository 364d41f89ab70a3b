//! Names judged by the fields that a kind of resource declares. A field that is not known and there all
//! the same is kept.

use super::{ResourceType, error::quoted, hidden::Hidden};
use crate::{
    Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, Path, PathTree, Step, nearest,
    tree::Branch,
};
use std::collections::HashSet;

/// The first name of a path that is not known: how many steps are before it, and what is known
/// in its place. Within a field that has no known ones, anything may be.
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

/// What is not known of `paths`; nothing where no fields are known. Brackets do not count.
pub(super) fn unknown<'p>(
    kind: &ResourceType,
    paths: impl IntoIterator<Item = &'p Path>,
    hidden: &Hidden,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    if kind.fields.is_empty() {
        return diagnostics;
    }
    let known = PathTree::of(kind.fields.iter().filter_map(Path::without_brackets));
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
        // Beyond these they are only counted.
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
