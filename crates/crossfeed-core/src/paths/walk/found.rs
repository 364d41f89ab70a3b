//! Queries on a finished walk: how its paths continue each other, the selectors of its places, and the parts
//! that it skipped.

use super::{DEPTH, Path, Step, Walk};
use crate::paths::{SELECTOR_CHARS, text::push_member};

impl Walk<'_> {
    /// The name that a path ends with, before any items.
    pub(crate) fn last_name(&self, path: usize) -> Option<usize> {
        let mut path = &self.paths[path];
        loop {
            match path.step? {
                Step::Name(name) => return Some(name),
                Step::Item => path = &self.paths[path.parent],
            }
        }
    }

    /// The path that continues `path` by a member of this name.
    pub(crate) fn member(&self, path: usize, name: &str) -> Option<&Path> {
        self.step(path, Step::Name(*self.by_name.get(name)?))
    }

    /// The path that continues `path` by a step.
    pub(crate) fn step(&self, path: usize, step: Step) -> Option<&Path> {
        Some(&self.paths[*self.by_step.get(&(path, step))?])
    }

    /// The steps from one path to another that continues it by members only.
    pub(crate) fn members_between(&self, from: usize, to: usize) -> Option<String> {
        let mut names = Vec::new();
        let mut at = to;
        while at != from {
            let path = &self.paths[at];
            let Step::Name(name) = path.step? else {
                return None;
            };
            names.push(name);
            at = path.parent;
        }
        let mut selector = String::new();
        for name in names.into_iter().rev() {
            push_member(&mut selector, &self.names[name].text);
        }
        Some(selector)
    }

    /// The selector of a place: `items[0].title`, and `@` for the root; `None` where it would be
    /// longer than any that is offered.
    pub(crate) fn selector(&self, place: usize) -> Option<String> {
        let mut chain = Vec::new();
        let mut at = place;
        while at != 0 {
            let place = &self.places[at];
            chain.push(place);
            at = place.parent;
        }
        let mut selector = String::new();
        for place in chain.iter().rev() {
            match self.paths[place.path].step? {
                Step::Name(name) => push_member(&mut selector, &self.names[name].text),
                Step::Item => selector.push_str(&format!("[{}]", place.index)),
            }
            if selector.len() > 4 * SELECTOR_CHARS {
                return None;
            }
        }
        if selector.is_empty() {
            selector.push('@');
        }
        let is_long = selector.chars().nth(SELECTOR_CHARS).is_some();
        (!is_long).then_some(selector)
    }

    /// Describes the parts of the value that were examined, the cuts nearest to the root first; `None` if the
    /// whole value was.
    pub(crate) fn sampled(&self) -> Option<String> {
        const MAX_CUTS: usize = 2;
        const MAX_PATH_CHARS: usize = 40;
        let mut parts = Vec::new();
        for cut in self.cuts.iter().take(MAX_CUTS) {
            let (looked, of) = (cut.looked, cut.of);
            let mut part = if cut.is_list {
                format!("{looked} of {of} items")
            } else {
                format!("first {looked} of {of} keys")
            };
            let selector = self.selector(cut.place).filter(|_| cut.place != 0);
            if let Some(selector) = selector.filter(|s| s.chars().count() <= MAX_PATH_CHARS) {
                part.push_str(&format!(" of `{selector}`"));
            }
            parts.push(part);
        }
        let (seen, long_keys, unopened) = (self.seen, self.long_keys, self.unopened);
        let more = self.cuts.len().saturating_sub(MAX_CUTS);
        let rest = [
            (more > 0).then(|| format!("parts of {more} more")),
            self.stopped.then(|| format!("first {seen} values")),
            self.too_deep.then(|| format!("{DEPTH} steps deep")),
            (long_keys > 0).then(|| format!("{long_keys} long keys left out")),
            (unopened > 0).then(|| format!("{unopened} texts not opened")),
        ];
        parts.extend(rest.into_iter().flatten());
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
