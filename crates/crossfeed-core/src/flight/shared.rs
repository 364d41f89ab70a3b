//! Finds cycles of calls that several processes run, by the waits that the store names.
//!
//! The store keeps a wait for a while after it is over. A cycle is there once all its waits have been named all the
//! time for longer than that: they have then been there at once, and nothing ends a cycle but giving up.

use super::cycle::{Cycle, WaitGraph, find_cycles};
use crossfeed_store::CallWait;
use crossfeed_wire::CallId;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// The waits of a session in all processes, and since when each has been named without a gap.
#[derive(Debug, Default)]
pub(crate) struct SharedWaits(BTreeMap<CallWait, Instant>);

impl SharedWaits {
    /// Notes which waits are named now.
    pub(crate) fn update(&mut self, named: impl IntoIterator<Item = CallWait>, now: Instant) {
        let before = std::mem::take(&mut self.0);
        let named = named.into_iter().map(|wait| {
            let since = before.get(&wait).copied().unwrap_or(now);
            (wait, since)
        });
        self.0 = named.collect();
    }

    /// The waits on cycles through a call, of those that have been named for longer than `age` at the time `at`.
    pub(crate) fn cycles(&self, call: &CallId, age: Duration, at: Instant) -> Vec<Cycle> {
        let lasting = self.0.iter();
        let lasting = lasting.filter(|(_, since)| at.saturating_duration_since(**since) > age);
        let graph = Graph::new(lasting.map(|(wait, _)| wait));
        let hub = graph.calls.iter().position(|id| *id == call);
        hub.map_or_else(Vec::new, |hub| find_cycles(&graph, hub as u64))
    }
}

/// Waits between calls, which are numbered in the order of their ids.
struct Graph<'w> {
    calls: Vec<&'w CallId>,
    needs: BTreeSet<(u64, u64)>,
    needed_by: BTreeSet<(u64, u64)>,
}

impl<'w> Graph<'w> {
    fn new(waits: impl Iterator<Item = &'w CallWait> + Clone) -> Self {
        let ids: BTreeSet<_> = waits
            .clone()
            .flat_map(|wait| [&wait.of, &wait.on])
            .collect();
        let calls: Vec<_> = ids.into_iter().collect();
        let number = |id: &CallId| calls.binary_search(&id).ok().map(|number| number as u64);
        let needs: BTreeSet<_> = waits
            .filter_map(|wait| Some((number(&wait.of)?, number(&wait.on)?)))
            .collect();
        let needed_by = needs.iter().map(|(of, on)| (*on, *of)).collect();
        Self {
            calls,
            needs,
            needed_by,
        }
    }
}

impl WaitGraph for Graph<'_> {
    fn needs(&self, call: u64) -> impl Iterator<Item = u64> {
        let needs = self.needs.range((call, 0)..=(call, u64::MAX));
        needs.map(|(_, on)| *on)
    }

    fn needed_by(&self, call: u64) -> impl Iterator<Item = u64> {
        let needed_by = self.needed_by.range((call, 0)..=(call, u64::MAX));
        needed_by.map(|(_, of)| *of)
    }

    fn call_id(&self, call: u64) -> Option<&CallId> {
        self.calls.get(usize::try_from(call).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::SharedWaits;
    use crossfeed_store::CallWait;
    use crossfeed_wire::CallId;
    use std::time::Duration;
    use tokio::time::Instant;

    const AGE: Duration = Duration::from_secs(4);

    /// The waits that stand in a text: `ab bc`.
    fn waits(text: &str) -> impl Iterator<Item = CallWait> {
        let id = |id: &str| CallId::parse(id).unwrap();
        text.split(' ')
            .filter(|wait| !wait.is_empty())
            .map(move |wait| CallWait {
                of: id(&wait[..1]),
                on: id(&wait[1..]),
            })
    }

    /// The paths of all cycles through `a` after waits were named once a second.
    fn check(named: &[&str], expected: &[&str]) {
        let (mut shared, start) = (SharedWaits::default(), Instant::now());
        for (second, text) in (0..).zip(named) {
            shared.update(waits(text), start + Duration::from_secs(second));
        }
        let last = start + Duration::from_secs(named.len() as u64 - 1);
        let cycles = shared.cycles(&CallId::parse("a").unwrap(), AGE, last);
        let paths = cycles.iter().map(|cycle| {
            let path = cycle.path();
            path.iter().map(CallId::as_str).collect::<String>()
        });
        assert_eq!(paths.collect::<Vec<_>>(), expected, "{named:?}");
    }

    #[test]
    fn a_cycle_is_one_whose_waits_last() {
        check(&[""; 6], &[]);
        check(&["ab bc ca"; 6], &["abca", "bcab", "cabc"]);
        check(&["ab ba ab"; 6], &["aba", "bab"]);
        check(&["ab bc ca"; 5], &[]);
        // One that is not named any more, and one that was not named for a while.
        check(&["ab ba", "ab ba", "ab ba", "ab ba", "ab ba", "ab"], &[]);
        check(&["ab ba", "ab ba", "ab", "ab ba", "ab ba", "ab ba"], &[]);
        // Nothing but cycles through the call.
        check(&["bc cb ab"; 6], &[]);
        check(&["ab ba ac db"; 6], &["aba", "bab"]);
    }
}
