//! Compact hints: the entries that are most worth their bytes.

use super::{Hints, lists::Lists};

/// Bytes that compact hints are filled up to, as JSON without blanks.
const USUAL_BYTES: usize = 400;
/// Bytes that they may have where the first entry of a list would not fit otherwise.
const MAX_BYTES: usize = 600;
/// The number of entries that may fail to fit before a list is given up.
const MAX_REFUSED: usize = 3;
/// Bytes that one ambiguous name may take with all its paths.
const MAX_NAME_BYTES: usize = 160;

/// One entry to be added.
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

/// The hints from these lists that fit the budget.
pub(super) fn compact(lists: &mut Lists<'_, '_>, sampled: Option<String>) -> Hints {
    let mut hints = Hints {
        sampled,
        ..Hints::default()
    };
    let mut terminals = lists.best_terminals(12).into_iter();
    let mut arrays = lists.arrays(3).into_iter();
    let mut examples = lists.examples(5, 0).into_iter();
    let named = lists.ambiguous(5);
    let fits = |(name, paths): &(String, Vec<String>)| {
        name.len() + paths.iter().map(|path| path.len() + 3).sum::<usize>() <= MAX_NAME_BYTES
    };
    let (mut fitting, others): (Vec<_>, Vec<_>) = named.into_iter().partition(fits);
    if fitting.is_empty() {
        // Better the first paths of a name than none.
        let first = others.into_iter().next();
        fitting.extend(first.map(|(name, paths)| (name, beginning(paths))));
    }
    let mut ambiguous = fitting.into_iter();
    let mut refused = [0; 4];
    let mut is_empty = false;
    while !is_empty {
        is_empty = true;
        for entry in TURN {
            let refused = &mut refused[entry as usize];
            if *refused == MAX_REFUSED {
                continue;
            }
            let mut next = hints.clone();
            let is_first = match entry {
                Entry::Terminal => {
                    // A path listed under its ambiguous name is not repeated.
                    let typed = terminals.by_ref().find(|typed| {
                        let mut names = hints.ambiguous.iter();
                        !names.any(|(_, paths)| paths.contains(&typed.selector))
                    });
                    let is_first = add(&mut next.terminals, typed);
                    next.terminals.sort_by_key(|typed| !typed.ambiguous);
                    is_first
                }
                Entry::Array => add(&mut next.arrays, arrays.next()),
                Entry::Example => add(&mut next.examples, examples.next()),
                Entry::Ambiguous => add(&mut next.ambiguous, ambiguous.next()),
            };
            let Some(is_first) = is_first else { continue };
            is_empty = false;
            if next.len() <= if is_first { MAX_BYTES } else { USUAL_BYTES } {
                hints = next;
            } else {
                *refused += 1;
            }
        }
    }
    hints
}

/// Adds an entry to a list. Returns whether it is the first; `None` if the list has no more entries.
fn add<T>(list: &mut Vec<T>, entry: Option<T>) -> Option<bool> {
    list.push(entry?);
    Some(list.len() == 1)
}

/// As many paths as fit, but at least two: a single path would look unambiguous.
fn beginning(paths: Vec<String>) -> Vec<String> {
    let mut left = MAX_NAME_BYTES;
    let paths = paths.into_iter().enumerate().take_while(|(at, path)| {
        left = left.saturating_sub(path.len() + 3);
        *at < 2 || left > 0
    });
    paths.map(|(_, path)| path).collect()
}
