//! Whether a schema refers to itself.

use crossfeed_schema::index::{Index, Target};
use crossfeed_wire::Pointer;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The place of the first schema that a reference in it leads back to.
pub(super) fn found(index: &Index) -> Option<Pointer> {
    let mut links: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, _, target) in index.links() {
        if let Target::Here { at: to, .. } = target {
            links.entry(at).or_default().insert(to);
        }
    }
    let targets: BTreeSet<&str> = links.values().flatten().copied().collect();
    let mut done = HashSet::new();
    for start in targets {
        if let Some(at) = circle(start, &links, &mut done) {
            return Pointer::parse(at);
        }
    }
    None
}

/// The first place from which a way leads back to it, of those that are reached from a start.
fn circle<'i>(
    start: &'i str,
    links: &BTreeMap<&'i str, BTreeSet<&'i str>>,
    done: &mut HashSet<&'i str>,
) -> Option<&'i str> {
    let mut open = HashSet::new();
    // Each place on the way, with what it refers to and was not followed yet.
    let mut way: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut next = Some(start);
    loop {
        if let Some(at) = next.take() {
            if open.contains(at) {
                return Some(at);
            }
            if done.insert(at) {
                open.insert(at);
                let mut inside = referred(at, links);
                inside.reverse();
                way.push((at, inside));
            }
        }
        let (at, rest) = way.last_mut()?;
        match rest.pop() {
            Some(to) => next = Some(to),
            None => {
                open.remove(*at);
                way.pop();
            }
        }
    }
}

/// What the references in a schema lead to. A schema nests within few others, so that all schemas
/// together are not looked through much more often than once.
fn referred<'i>(at: &str, links: &BTreeMap<&'i str, BTreeSet<&'i str>>) -> Vec<&'i str> {
    let own = links.get(at).into_iter();
    // The sign after `/` is `0`: between them are the places inside.
    let (first, after) = (format!("{at}/"), format!("{at}0"));
    let inside = links.range(first.as_str()..after.as_str());
    let inside = inside.map(|(_, to)| to);
    own.chain(inside).flatten().copied().collect()
}
