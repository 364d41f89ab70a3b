//! Finds cycles of calls that wait for each other, by two searches over the calls, however many waits lie on
//! cycles. A path is built when it is read.
//!
//! Two searches over the calls, however many waits there are on circles; the ways are written down by whoever
//! reads them.

use super::calls::Calls;
use crossfeed_wire::CallId;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

/// Each call that is reached from the hub with the one before it; the hub itself with none.
type Reached = BTreeMap<u64, Option<u64>>;

/// The ways between a call and those on circles with it.
struct CyclePaths {
    from_hub: Reached,
    to_hub: Reached,
    /// Of the calls on circles.
    names: BTreeMap<u64, CallId>,
}

/// The way from a call by one that it waits for round to itself: a shortest one, of several always
/// the same.
#[derive(Clone)]
pub(crate) struct Cycle {
    ways: Arc<CyclePaths>,
    of: u64,
    on: u64,
}

impl fmt::Debug for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.path()).finish()
    }
}

impl Cycle {
    /// The calls, the first of them once more at the end. No other call stands in it twice: two ways
    /// that met beside the hub would make a circle there.
    pub(crate) fn path(&self) -> Vec<CallId> {
        let CyclePaths {
            from_hub,
            to_hub,
            names,
        } = &*self.ways;
        let step = |ways: &Reached, serial: &u64| ways.get(serial).copied().flatten();
        let there = std::iter::successors(Some(self.on), |serial| step(to_hub, serial));
        let back = std::iter::successors(Some(self.of), |serial| step(from_hub, serial));
        let mut back: Vec<_> = back.collect();
        // The hub ends the way there.
        back.pop();
        let way = std::iter::once(self.of).chain(there);
        let way = way.chain(back.into_iter().rev());
        way.filter_map(|serial| names.get(&serial).cloned())
            .collect()
    }
}

/// The waits on circles, each with its way round. Every circle goes through `hub`, which has begun to
/// wait.
pub(super) fn find_cycles(calls: &Calls, hub: u64) -> Vec<(u64, Cycle)> {
    // Nobody waits for most calls.
    if calls.needed_by(hub).next().is_none() {
        return Vec::new();
    }
    let from_hub = search(hub, |serial| calls.needs(serial).map(|(on, _)| on));
    if !calls.needed_by(hub).any(|of| from_hub.contains_key(&of)) {
        return Vec::new();
    }
    let is_ahead = |of: &u64| from_hub.contains_key(of);
    let to_hub = search(hub, |serial| calls.needed_by(serial).filter(is_ahead));
    let named = to_hub.keys();
    let named = named.filter_map(|serial| Some((*serial, calls.call_id(*serial)?.clone())));
    let ways = Arc::new(CyclePaths {
        names: named.collect(),
        from_hub,
        to_hub,
    });
    let mut on_circles = Vec::new();
    for of in ways.to_hub.keys().copied() {
        let needs = calls.needs(of);
        for (on, numbers) in needs.filter(|(on, _)| ways.to_hub.contains_key(on)) {
            let ways = Arc::clone(&ways);
            let round = Cycle { ways, of, on };
            on_circles.extend(numbers.iter().map(|number| (*number, round.clone())));
        }
    }
    on_circles
}

/// The nearest first, so that the ways back to the hub are shortest ones.
fn search<I: Iterator<Item = u64>>(hub: u64, next: impl Fn(u64) -> I) -> Reached {
    let mut before = BTreeMap::from([(hub, None)]);
    let mut reached = VecDeque::from([hub]);
    while let Some(serial) = reached.pop_front() {
        for other in next(serial) {
            before.entry(other).or_insert_with(|| {
                reached.push_back(other);
                Some(serial)
            });
        }
    }
    before
}
