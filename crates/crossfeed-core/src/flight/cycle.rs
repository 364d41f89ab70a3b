//! Finds cycles of calls that wait for each other, by two searches over the calls, however many waits lie on
//! cycles. A path is built when it is read.

use crossfeed_wire::CallId;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

/// Which calls wait for which, by numbers of calls.
pub(super) trait WaitGraph {
    /// The calls that a call waits for.
    fn needs(&self, call: u64) -> impl Iterator<Item = u64>;
    /// The calls that wait for a call.
    fn needed_by(&self, call: u64) -> impl Iterator<Item = u64>;
    /// The id of a call.
    fn call_id(&self, call: u64) -> Option<&CallId>;
}

/// The call before each call that is reached from the hub; the hub has none.
type Predecessors = BTreeMap<u64, Option<u64>>;

/// The paths between a call and those on cycles with it.
struct CyclePaths {
    from_hub: Predecessors,
    to_hub: Predecessors,
    /// The ids of the calls on cycles.
    call_ids: BTreeMap<u64, CallId>,
}

/// The path from a call through one that it waits for round to itself: a shortest one, chosen
/// deterministically.
#[derive(Clone)]
pub(crate) struct Cycle {
    paths: Arc<CyclePaths>,
    /// The call.
    pub(super) of: u64,
    /// The one that it waits for.
    pub(super) on: u64,
}

impl fmt::Debug for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.path()).finish()
    }
}

impl Cycle {
    /// The call that waits, and the one that it waits for.
    pub(super) fn wait(&self) -> Option<(&CallId, &CallId)> {
        let ids = &self.paths.call_ids;
        Some((ids.get(&self.of)?, ids.get(&self.on)?))
    }

    /// Whether it is that of a call's wait for another.
    pub(crate) fn is_of(&self, of: &CallId, on: &CallId) -> bool {
        self.wait() == Some((of, on))
    }

    /// The calls, the first of them again at the end. Within one process every other call is on it once: two paths that
    /// met beside the hub would close a cycle there.
    pub(crate) fn path(&self) -> Vec<CallId> {
        let CyclePaths {
            from_hub,
            to_hub,
            call_ids,
        } = &*self.paths;
        let step = |before: &Predecessors, serial: &u64| before.get(serial).copied().flatten();
        let there = std::iter::successors(Some(self.on), |serial| step(to_hub, serial));
        let back = std::iter::successors(Some(self.of), |serial| step(from_hub, serial));
        let mut back: Vec<_> = back.collect();
        // `there` ends with the hub.
        back.pop();
        let all = std::iter::once(self.of)
            .chain(there)
            .chain(back.into_iter().rev());
        all.filter_map(|serial| call_ids.get(&serial).cloned())
            .collect()
    }
}

/// The waits of one call for another that are on cycles, each with its path. Every cycle goes through `hub`.
pub(super) fn find_cycles(graph: &impl WaitGraph, hub: u64) -> Vec<Cycle> {
    // A fast path: most calls have no waits on them.
    if graph.needed_by(hub).next().is_none() {
        return Vec::new();
    }
    let from_hub = search(hub, |call| graph.needs(call));
    if !graph.needed_by(hub).any(|of| from_hub.contains_key(&of)) {
        return Vec::new();
    }
    let is_ahead = |of: &u64| from_hub.contains_key(of);
    let to_hub = search(hub, |call| graph.needed_by(call).filter(is_ahead));
    let call_id = |call: &u64| Some((*call, graph.call_id(*call)?.clone()));
    let paths = Arc::new(CyclePaths {
        call_ids: to_hub.keys().filter_map(call_id).collect(),
        from_hub,
        to_hub,
    });
    let mut cycles = Vec::new();
    for of in paths.to_hub.keys().copied() {
        let needs = graph.needs(of);
        cycles.extend(
            needs
                .filter(|on| paths.to_hub.contains_key(on))
                .map(|on| Cycle {
                    paths: Arc::clone(&paths),
                    of,
                    on,
                }),
        );
    }
    cycles
}

/// Searches breadth first, so that paths to the hub are shortest.
fn search<I: Iterator<Item = u64>>(hub: u64, next: impl Fn(u64) -> I) -> Predecessors {
    let mut before = BTreeMap::from([(hub, None)]);
    let mut queue = VecDeque::from([hub]);
    while let Some(serial) = queue.pop_front() {
        for other in next(serial) {
            before.entry(other).or_insert_with(|| {
                queue.push_back(other);
                Some(serial)
            });
        }
    }
    before
}
