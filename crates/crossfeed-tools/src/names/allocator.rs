//! Gives names in place of refused ones: like them, and free.

use crossfeed_wire::{internal, reference};
use std::collections::{HashMap, HashSet};

/// The most characters of a name that is given here.
const MAX_NAME_CHARS: usize = 64;
/// The name of a tool if no part of its own name is admitted.
const UNNAMED: &str = "tool";

/// The names that are taken, and how often each was wanted.
pub(super) struct NameAllocator<'s> {
    taken: HashSet<String>,
    wanted: HashMap<String, usize>,
    own: HashSet<&'s str>,
}

impl<'s> NameAllocator<'s> {
    pub(super) fn new(own: impl Iterator<Item = &'s str>) -> Self {
        Self {
            taken: HashSet::new(),
            wanted: HashMap::new(),
            own: own.collect(),
        }
    }

    /// A name like `name`, or `unnamed`, that is free and admitted; `None` where all are taken.
    pub(super) fn give(
        &mut self,
        name: &str,
        unnamed: &str,
        admits: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let base = like(name, unnamed, admits);
        let count = self.wanted.entry(base.clone()).or_insert(0);
        // Each turn finds a name of the schema in its way, or ends.
        for _ in 0..=self.own.len() + self.taken.len() + SENTINELS {
            *count += 1;
            let shown = match *count {
                1 => base.clone(),
                count => {
                    let suffix = format!("_{count}");
                    let kept = MAX_NAME_CHARS.saturating_sub(suffix.len());
                    base.chars().take(kept).chain(suffix.chars()).collect()
                }
            };
            let free = !self.own.contains(shown.as_str())
                && !self.taken.contains(&shown)
                && !reference::is_sentinel(&shown)
                && !internal::is_internal(&shown);
            if free && admits(&shown) {
                self.taken.insert(shown.clone());
                return Some(shown);
            }
        }
        None
    }
}

/// How many words of ours a name may meet.
const SENTINELS: usize = 16;

/// The name as far as it is admitted: other characters become `_`, at its ends they go.
fn like(name: &str, unnamed: &str, admits: &dyn Fn(&str) -> bool) -> String {
    let admitted = |c: char| admits(&format!("a{c}"));
    let text: String = name
        .chars()
        .map(|c| if admitted(c) { c } else { '_' })
        .take(4 * MAX_NAME_CHARS)
        .collect();
    let text = text.trim_matches('_');
    let text = match text {
        "" => unnamed.to_owned(),
        text if admits(&text.chars().take(1).collect::<String>()) => text.to_owned(),
        text => format!("_{text}"),
    };
    text.chars().take(MAX_NAME_CHARS).collect()
}

/// Names for tools: each as it is where `admits` takes it and no earlier one has it, else one like
/// it; in their order, and none given twice.
///
/// ```
/// use crossfeed_tools::tool_names;
///
/// let admits = |name: &str| name.len() <= 64 && !name.contains(['.', '/']);
/// let names = ["files.read", "files_read", "files/read", "files_read"];
/// let shown = ["files_read_2", "files_read", "files_read_3", "files_read_4"];
/// assert_eq!(tool_names(&names, admits), shown);
/// ```
pub fn tool_names(names: &[&str], admits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut given = NameAllocator::new(names.iter().copied());
    let mut seen = HashSet::new();
    let named = names.iter().map(|name| {
        if seen.insert(*name) && admits(name) {
            (*name).to_owned()
        } else {
            given
                .give(name, UNNAMED, &admits)
                .unwrap_or_else(|| (*name).to_owned())
        }
    });
    named.collect()
}
