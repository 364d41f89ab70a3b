//! The calls of one session that are in flight, and the waits for them.

use super::cycle::{Cycle, find_cycles};
use crate::trace::CallTrace;
use crossfeed_store::Tombstone;
use crossfeed_wire::CallId;
use foldhash::quality::RandomState;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Weak},
    task::{Poll, Waker},
};

/// Why a wait is over.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The call has left: what it returned is in the store.
    Completed,
    /// The call was given up: nothing is in the store, unless that happened while it was being put
    /// there.
    GivenUp(Tombstone),
    /// The call waits for the one that waits: from that one round to itself.
    Cycle(Cycle),
    /// The time is over.
    TimedOut,
    /// It is of no use to wait any longer.
    Aborted,
}

/// Why a call does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A call of this id is in flight.
    Taken,
    /// As many as there may be are in flight.
    Full,
}

/// A call in flight, as it is offered in place of an id that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) call_id: CallId,
    pub(crate) tool: Option<Arc<str>>,
    /// Whether waiting for it would close a circle.
    pub(crate) is_circular: bool,
}

#[derive(Debug)]
struct Call {
    call_id: CallId,
    /// Until then it holds its id, and nobody else sees it.
    has_begun: bool,
    /// How to make it again.
    tombstone: Tombstone,
    /// Where it stands in a trace.
    trace: Weak<CallTrace>,
    /// The waits for it.
    awaited: BTreeSet<u64>,
    /// The calls for which something is resolved that waits for it.
    needed_by: BTreeSet<u64>,
    /// The waits of what is resolved for it, by the call that each waits for.
    needs: BTreeMap<u64, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Wait {
    on: u64,
    /// The call in flight for which it waits.
    of: Option<u64>,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

/// The calls of a session that are in flight, and the waits for them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By their serials, which tell each from another call of the same id, before or after: the last
    /// one begun is the last.
    calls: BTreeMap<u64, Call>,
    serials: HashMap<CallId, u64, RandomState>,
    waits: BTreeMap<u64, Wait>,
    /// How many of the calls have begun.
    begun: usize,
}

impl Calls {
    /// Whether there is nothing to keep.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.waits.is_empty()
    }

    /// The call of this id that is in flight, if it has begun.
    pub(super) fn running(&self, call_id: &CallId) -> Option<u64> {
        let serial = self.serials.get(call_id).copied();
        serial.filter(|serial| self.has_begun(*serial))
    }

    fn has_begun(&self, serial: u64) -> bool {
        self.calls.get(&serial).is_some_and(|call| call.has_begun)
    }

    /// The calls in flight as they look to what is resolved for `actor`, the last one begun last.
    pub(super) fn all_running(&self, actor: Option<u64>) -> Vec<Running> {
        let circular = actor.filter(|actor| self.has_begun(*actor));
        let circular = circular.map_or_else(BTreeSet::new, |actor| self.all_needing(actor));
        let begun = self.calls.iter().filter(|(_, call)| call.has_begun);
        let running = begun.map(|(serial, call)| Running {
            call_id: call.call_id.clone(),
            tool: call.tombstone.tool().map(Arc::from),
            is_circular: circular.contains(serial),
        });
        running.collect()
    }

    /// A call, and those that wait for it, by however many.
    fn all_needing(&self, serial: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([serial]);
        let mut next = vec![serial];
        while let Some(serial) = next.pop() {
            next.extend(self.needed_by(serial).filter(|other| found.insert(*other)));
        }
        found
    }

    /// Holds an id, so that no other call of it begins. It counts when it has
    /// [begun](Self::confirm).
    pub(super) fn reserve(
        &mut self,
        call_id: &CallId,
        serial: u64,
        limit: usize,
    ) -> Result<(), Refusal> {
        if self.serials.contains_key(call_id) {
            return Err(Refusal::Taken);
        }
        if self.begun >= limit {
            return Err(Refusal::Full);
        }
        let call = Call {
            call_id: call_id.clone(),
            has_begun: false,
            tombstone: Tombstone::default(),
            trace: Weak::new(),
            awaited: BTreeSet::new(),
            needed_by: BTreeSet::new(),
            needs: BTreeMap::new(),
        };
        self.calls.insert(serial, call);
        self.serials.insert(call_id.clone(), serial);
        Ok(())
    }

    /// A call whose id is held has begun. One that has left meanwhile did so after it began.
    pub(super) fn activate(&mut self, serial: u64, limit: usize) -> Result<(), Refusal> {
        let Some(call) = self.calls.get_mut(&serial) else {
            return Ok(());
        };
        if self.begun >= limit {
            return Err(Refusal::Full);
        }
        call.has_begun = true;
        self.begun += 1;
        Ok(())
    }

    /// Notes how to make a call again.
    pub(super) fn describe(&mut self, serial: u64, tombstone: Tombstone) {
        if let Some(call) = self.calls.get_mut(&serial) {
            call.tombstone = tombstone;
        }
    }

    /// Keeps where a call stands in a trace.
    pub(super) fn keep_trace(&mut self, serial: u64, trace: Weak<CallTrace>) {
        if let Some(call) = self.calls.get_mut(&serial) {
            call.trace = trace;
        }
    }

    /// The trace of a call, if it has begun.
    pub(super) fn trace(&self, call_id: &CallId) -> Option<Arc<CallTrace>> {
        let call = self.calls.get(&self.running(call_id)?)?;
        call.trace.upgrade()
    }

    /// Whichever call has this id leaves.
    pub(super) fn leave_id(&mut self, call_id: &CallId) -> Vec<Waker> {
        let serial = self.serials.get(call_id).copied();
        serial.map_or_else(Vec::new, |serial| self.leave(serial, false))
    }

    /// A call leaves. Everybody who waits for it is told that it has landed, or how to make it again
    /// if it was given up.
    pub(super) fn leave(&mut self, serial: u64, is_given_up: bool) -> Vec<Waker> {
        let Some(call) = self.calls.remove(&serial) else {
            return Vec::new();
        };
        self.serials.remove(&call.call_id);
        self.begun -= usize::from(call.has_begun);
        // What is resolved for it may still wait, but now for nobody who could be waited for.
        for (on, numbers) in call.needs {
            if let Some(on) = self.calls.get_mut(&on) {
                on.needed_by.remove(&serial);
            }
            for number in numbers {
                if let Some(wait) = self.waits.get_mut(&number) {
                    wait.of = None;
                }
            }
        }
        let outcome = if is_given_up {
            Outcome::GivenUp(call.tombstone)
        } else {
            Outcome::Completed
        };
        let told = call.awaited.into_iter();
        told.filter_map(|number| self.finish(number, outcome.clone()))
            .collect()
    }

    /// Every call leaves.
    pub(super) fn leave_all(&mut self) -> Vec<Waker> {
        let serials: Vec<_> = self.calls.keys().copied().collect();
        let left = serials.into_iter().map(|serial| self.leave(serial, false));
        left.flatten().collect()
    }

    /// Begins to wait for those of the calls that are in flight, all at once; `of` is the call for
    /// which it waits. Gives the number of each wait, and whom to wake: where one closes a circle,
    /// everybody on it is told, this one too.
    pub(super) fn wait<'i>(
        &mut self,
        of: Option<u64>,
        on: impl Iterator<Item = Option<&'i CallId>>,
        next: &mut u64,
    ) -> (Vec<Option<u64>>, Vec<Waker>) {
        let of = of.filter(|of| self.has_begun(*of));
        let numbers = on.map(|on| {
            let on = self.running(on?)?;
            let number = *next;
            *next += 1;
            self.attach(number, of, on);
            Some(number)
        });
        let numbers = numbers.collect();
        let closed = of.map_or_else(Vec::new, |of| find_cycles(self, of));
        let told = closed.into_iter();
        let wakers = told.filter_map(|(number, round)| self.finish(number, Outcome::Cycle(round)));
        let wakers = wakers.collect();
        (numbers, wakers)
    }

    /// Tells a wait how it ended, unless it has. Whoever is told waits no longer.
    pub(super) fn finish(&mut self, number: u64, outcome: Outcome) -> Option<Waker> {
        let wait = self.waits.get_mut(&number)?;
        if wait.outcome.is_some() {
            return None;
        }
        wait.outcome = Some(outcome);
        let waker = wait.waker.take();
        self.detach(number);
        waker
    }

    /// Asks how a wait ended. Who was told is forgotten.
    pub(super) fn poll_wait(&mut self, number: u64, waker: &Waker) -> Poll<Outcome> {
        let Some(wait) = self.waits.get_mut(&number) else {
            return Poll::Ready(Outcome::Completed);
        };
        let Some(outcome) = wait.outcome.take() else {
            match &mut wait.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
            return Poll::Pending;
        };
        self.waits.remove(&number);
        Poll::Ready(outcome)
    }

    /// Forgets a wait, however it ended.
    pub(super) fn forget(&mut self, number: u64) {
        self.detach(number);
        self.waits.remove(&number);
    }

    /// Puts a wait between the calls.
    fn attach(&mut self, number: u64, of: Option<u64>, on: u64) {
        if let Some(call) = self.calls.get_mut(&on) {
            call.awaited.insert(number);
            call.needed_by.extend(of);
        }
        if let Some(call) = of.and_then(|of| self.calls.get_mut(&of)) {
            call.needs.entry(on).or_default().insert(number);
        }
        let wait = Wait {
            on,
            of,
            outcome: None,
            waker: None,
        };
        self.waits.insert(number, wait);
    }

    /// Takes a wait off the calls between which it is.
    fn detach(&mut self, number: u64) {
        let Some(Wait { on, of, .. }) = self.waits.get(&number) else {
            return;
        };
        if let Some(call) = self.calls.get_mut(on) {
            call.awaited.remove(&number);
        }
        let Some(of) = of else {
            return;
        };
        let Some(needs) = self.calls.get_mut(of).map(|call| &mut call.needs) else {
            return;
        };
        // The same call may wait more than once, for what is resolved for it at once.
        if let Some(numbers) = needs.get_mut(on) {
            numbers.remove(&number);
            if numbers.is_empty() {
                needs.remove(on);
                if let Some(call) = self.calls.get_mut(on) {
                    call.needed_by.remove(of);
                }
            }
        }
    }

    pub(super) fn call_id(&self, serial: u64) -> Option<&CallId> {
        self.calls.get(&serial).map(|call| &call.call_id)
    }

    /// The calls that a call waits for, each with the waits.
    pub(super) fn needs(&self, serial: u64) -> impl Iterator<Item = (u64, &BTreeSet<u64>)> {
        let needs = self.calls.get(&serial).into_iter();
        needs.flat_map(|call| call.needs.iter().map(|(on, numbers)| (*on, numbers)))
    }

    /// The calls in flight that wait for a call.
    pub(super) fn needed_by(&self, serial: u64) -> impl Iterator<Item = u64> {
        let call = self.calls.get(&serial).into_iter();
        call.flat_map(|call| call.needed_by.iter().copied())
    }

    /// How many calls and waits are kept, for tests.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.calls.len(), self.waits.len())
    }
}
