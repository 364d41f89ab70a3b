//! Finds schemas that refer to themselves.

use crossfeed_schema::index::{Index, Target, find_cycle};
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
    let mut places = targets.into_iter();
    let at = places.find_map(|start| find_cycle(start, &mut done, |at| referred(at, &links)))?;
    Pointer::parse(at)
}

/// The targets of the references in a schema. A schema is nested in few others, so all schemas together are
/// read little more than once.
fn referred<'i>(at: &str, links: &BTreeMap<&'i str, BTreeSet<&'i str>>) -> Vec<&'i str> {
    let own = links.get(at).into_iter();
    // The sign after `/` is `0`: between them are the places inside.
    let (first, after) = (format!("{at}/"), format!("{at}0"));
    let inside = links.range(first.as_str()..after.as_str());
    let inside = inside.map(|(_, to)| to);
    own.chain(inside).flatten().copied().collect()
}
