//! Circles of calls that wait for each other.
//!
//! What comes in: the waits of a session, none of which is on a circle but through one call. What
//! goes out: the waits that are on one now, each with its way round. Two searches over the calls,
//! however many waits there are on circles.

use super::calls::Calls;
use crossfeed_wire::CallId;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The waits on circles, each with the way from the call that waits round to itself: a shortest one,
/// of several always the same. Every circle goes through `hub`, which has begun to wait.
pub(super) fn circles(calls: &Calls, hub: &CallId) -> Vec<(u64, Vec<CallId>)> {
    // Nobody waits for most calls.
    if calls.waiting_for(hub).next().is_none() {
        return Vec::new();
    }
    let ahead = |id: &CallId| calls.awaited_by(id).map(|(_, on)| on).collect();
    let behind = |id: &CallId| calls.waiting_for(id).collect();
    let from_hub = search(hub, ahead);
    let to_hub = search(hub, behind);
    let mut on_circles = Vec::new();
    let mut between: Vec<_> = from_hub.keys().copied().collect();
    between.retain(|id| to_hub.contains_key(id));
    between.sort_unstable();
    for id in between {
        for (number, on) in calls.awaited_by(id) {
            if to_hub.contains_key(on) {
                on_circles.push((number, round(id, on, &from_hub, &to_hub)));
            }
        }
    }
    on_circles
}

/// Each call that is reached from the hub with the one before it; the hub itself with none.
fn search<'c>(
    hub: &'c CallId,
    next: impl Fn(&CallId) -> BTreeSet<&'c CallId>,
) -> HashMap<&'c CallId, Option<&'c CallId>> {
    let mut before = HashMap::from([(hub, None)]);
    let mut reached = VecDeque::from([hub]);
    while let Some(id) = reached.pop_front() {
        for other in next(id) {
            before.entry(other).or_insert_with(|| {
                reached.push_back(other);
                Some(id)
            });
        }
    }
    before
}

/// The way from a call by the one it waits for to the hub, and from there back to it. No call stands
/// in it twice: two ways that met elsewhere would make a circle beside the hub.
fn round<'c>(
    id: &'c CallId,
    on: &'c CallId,
    from_hub: &HashMap<&'c CallId, Option<&'c CallId>>,
    to_hub: &HashMap<&'c CallId, Option<&'c CallId>>,
) -> Vec<CallId> {
    let step = |ways: &HashMap<&'c CallId, Option<&'c CallId>>, id: &&'c CallId| {
        ways.get(*id).copied().flatten()
    };
    let there = std::iter::successors(Some(on), |id| step(to_hub, id));
    let mut back: Vec<_> = std::iter::successors(Some(id), |id| step(from_hub, id)).collect();
    // The hub ends the way there.
    back.pop();
    let way = std::iter::once(id)
        .chain(there)
        .chain(back.into_iter().rev());
    way.cloned().collect()
}
