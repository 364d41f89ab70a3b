//! Compact hints: what is most worth its bytes.

use super::{Hints, lists::Lists};

/// Bytes that compact hints are filled up to, as JSON without blanks.
const AIM: usize = 400;
/// Bytes that they may have where the first entry of a list would not fit otherwise.
const MOST: usize = 600;
/// How many entries of a list are tried in vain before others are not.
const REFUSED: usize = 3;

/// Bytes that one ambiguous name may take with all its paths.
const NAME: usize = 160;

/// What is added in one turn.
const TURN: [Entry; 7] = [
    Entry::Example,
    Entry::Terminal,
    Entry::Array,
    Entry::Terminal,
    Entry::Example,
    Entry::Ambiguous,
    Entry::Terminal,
];

#[derive(Clone, Copy)]
enum Entry {
    Terminal,
    Array,
    Example,
    Ambiguous,
}

impl Entry {
    /// How many there are in hints.
    fn count(self, hints: &Hints) -> usize {
        match self {
            Self::Terminal => hints.terminals.len(),
            Self::Array => hints.arrays.len(),
            Self::Example => hints.examples.len(),
            Self::Ambiguous => hints.ambiguous.len(),
        }
    }
}

/// The hints of these lists that fit.
pub(super) fn compact(lists: &mut Lists<'_, '_>, sampled: Option<String>) -> Hints {
    let mut hints = Hints {
        sampled,
        ..Hints::default()
    };
    let mut terminals = lists.best_terminals(12).into_iter();
    let mut arrays = lists.arrays(3).into_iter();
    let mut examples = lists.examples(5, 0).into_iter();
    let named = lists.ambiguous(5);
    let fits = |(name, paths): &&(String, Vec<String>)| {
        name.len() + paths.iter().map(|path| path.len() + 3).sum::<usize>() <= NAME
    };
    let mut fitting: Vec<_> = named.iter().filter(fits).cloned().collect();
    if fitting.is_empty() {
        // Better the first paths of a name than none.
        fitting.extend(
            named
                .into_iter()
                .next()
                .map(|(name, paths)| (name, beginning(paths))),
        );
    }
    let mut ambiguous = fitting.into_iter();
    let mut refused = [0; 4];
    let mut is_empty = false;
    while !is_empty {
        is_empty = true;
        for entry in TURN {
            let refused = &mut refused[entry as usize];
            if *refused == REFUSED {
                continue;
            }
            let mut next = hints.clone();
            match entry {
                Entry::Terminal => {
                    // What stands among the paths of its name needs not be said twice.
                    let said = |selector: &String| {
                        let mut names = hints.ambiguous.iter();
                        names.any(|(_, paths)| paths.contains(selector))
                    };
                    let typed = terminals.by_ref().find(|typed| !said(&typed.selector));
                    next.terminals.extend(typed);
                    next.terminals.sort_by_key(|typed| !typed.ambiguous);
                }
                Entry::Array => next.arrays.extend(arrays.next()),
                Entry::Example => next.examples.extend(examples.next()),
                Entry::Ambiguous => next.ambiguous.extend(ambiguous.next()),
            }
            let before = entry.count(&hints);
            if entry.count(&next) == before {
                continue;
            }
            let is_first = before == 0;
            is_empty = false;
            let most = if is_first { MOST } else { AIM };
            if next.len() <= most {
                hints = next;
            } else {
                *refused += 1;
            }
        }
    }
    hints
}

/// As many paths as fit, but two at least: one would say that the name is not ambiguous.
fn beginning(paths: Vec<String>) -> Vec<String> {
    let mut left = NAME;
    let paths = paths.into_iter().enumerate().take_while(|(at, path)| {
        left = left.saturating_sub(path.len() + 3);
        *at < 2 || left > 0
    });
    paths.map(|(_, path)| path).collect()
}
