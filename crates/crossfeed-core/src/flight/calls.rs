//! The calls of one session that are in flight, and the waits for them.

use super::{
    cycle::{Cycle, WaitGraph, find_cycles},
    error::BeginError,
};
use crate::trace::CallTrace;
use crossfeed_store::{CallWait, Tombstone};
use crossfeed_wire::CallId;
use foldhash::quality::RandomState;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry},
    sync::{Arc, Weak},
    task::{Poll, Waker},
};

/// Why a wait is over.
#[derive(Clone, Debug)]
pub(crate) enum WaitOutcome {
    /// The call has returned: its result is in the store.
    Completed,
    /// The call was given up: the store has no result, unless it was given up while storing one.
    GivenUp(Tombstone),
    /// The call waits for the waiting call: the path from that one round to itself.
    Cycle(Cycle),
    /// The time is over.
    TimedOut,
    /// Waiting any longer is useless.
    Aborted,
}

/// A call in flight, as it is offered in place of an unknown id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningCall {
    pub(crate) call_id: CallId,
    pub(crate) tool: Option<Arc<str>>,
    /// Whether waiting for it would close a cycle.
    pub(crate) is_circular: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) call_id: CallId,
    /// Before it has begun, a call only reserves its id.
    has_begun: bool,
    /// Whether the store counts it as ended although it has not left, and it is not renewed there any longer.
    lease_is_lost: bool,
    /// How to repeat it.
    pub(super) tombstone: Tombstone,
    pub(super) trace: Weak<CallTrace>,
    /// The waits for it.
    awaited: BTreeSet<u64>,
    /// The calls whose arguments wait for it.
    needed_by: BTreeSet<u64>,
    /// The waits for its own arguments, by the call that each waits for.
    needs: BTreeMap<u64, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Wait {
    on: u64,
    /// The call in flight whose arguments wait.
    of: Option<u64>,
    outcome: Option<WaitOutcome>,
    waker: Option<Waker>,
}

/// The calls of a session that are in flight, and the waits for them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By their serials, which ascend and distinguish calls that use one id in turn.
    calls: BTreeMap<u64, Call>,
    serials: HashMap<CallId, u64, RandomState>,
    waits: BTreeMap<u64, Wait>,
    /// How many of the calls have begun.
    begun: usize,
}

impl Calls {
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

    /// The calls in flight, as seen by the call `actor`, the latest last.
    pub(super) fn all_running(&self, actor: Option<u64>) -> Vec<RunningCall> {
        let circular = actor.filter(|actor| self.has_begun(*actor));
        let circular = circular.map_or_else(BTreeSet::new, |actor| self.all_needing(actor));
        let begun = self.calls.iter().filter(|(_, call)| call.has_begun);
        let running = begun.map(|(serial, call)| RunningCall {
            call_id: call.call_id.clone(),
            tool: call.tombstone.tool().map(Arc::from),
            is_circular: circular.contains(serial),
        });
        running.collect()
    }

    /// A call, and those that wait for it, directly or through others.
    fn all_needing(&self, serial: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([serial]);
        let mut next = vec![serial];
        while let Some(serial) = next.pop() {
            next.extend(self.needed_by(serial).filter(|other| found.insert(*other)));
        }
        found
    }

    /// Reserves an id, so that no other call can use it. The call counts once it is
    /// [active](Self::activate).
    pub(super) fn reserve(
        &mut self,
        call_id: &CallId,
        serial: u64,
        limit: usize,
    ) -> Result<(), BeginError> {
        if self.serials.contains_key(call_id) {
            return Err(BeginError::duplicate(call_id));
        }
        if self.begun >= limit {
            return Err(BeginError::TooMany { limit });
        }
        let call = Call {
            call_id: call_id.clone(),
            has_begun: false,
            lease_is_lost: false,
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

    /// Begins a call that has reserved its id; does nothing if the call has left already.
    pub(super) fn activate(&mut self, serial: u64, limit: usize) -> Result<(), BeginError> {
        let Some(call) = self.calls.get_mut(&serial) else {
            return Ok(());
        };
        if self.begun >= limit {
            return Err(BeginError::TooMany { limit });
        }
        call.has_begun = true;
        self.begun += 1;
        Ok(())
    }

    /// Whether a call has neither returned nor been given up.
    pub(super) fn has(&self, serial: u64) -> bool {
        self.calls.contains_key(&serial)
    }

    pub(super) fn call_mut(&mut self, serial: u64) -> Option<&mut Call> {
        self.calls.get_mut(&serial)
    }

    /// The trace of a call, if it has begun.
    pub(super) fn trace(&self, call_id: &CallId) -> Option<Arc<CallTrace>> {
        let call = self.calls.get(&self.running(call_id)?)?;
        call.trace.upgrade()
    }

    /// Removes the call with this id; returns whom to wake.
    pub(super) fn leave_id(&mut self, call_id: &CallId) -> Vec<Waker> {
        let serial = self.serials.get(call_id).copied();
        serial.map_or_else(Vec::new, |serial| self.leave(serial, false))
    }

    /// Removes a call and ends the waits for it; returns whom to wake.
    pub(super) fn leave(&mut self, serial: u64, is_given_up: bool) -> Vec<Waker> {
        let Some(call) = self.calls.remove(&serial) else {
            return Vec::new();
        };
        self.serials.remove(&call.call_id);
        self.begun -= usize::from(call.has_begun);
        // Its own arguments may still wait, but no other call waits for it any more.
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
            WaitOutcome::GivenUp(call.tombstone)
        } else {
            WaitOutcome::Completed
        };
        let waits = call.awaited.into_iter();
        let wakers = waits.filter_map(|number| self.finish(number, outcome.clone()));
        wakers.collect()
    }

    /// Removes every call; returns whom to wake.
    pub(super) fn leave_all(&mut self) -> Vec<Waker> {
        let serials: Vec<_> = self.calls.keys().copied().collect();
        let left = serials.into_iter().map(|serial| self.leave(serial, false));
        left.flatten().collect()
    }

    /// Begins to wait for those of the calls that are in flight, all at once; `of` is the call whose arguments
    /// wait. Returns the number of each wait, and whom to wake: where a wait closes a cycle, all waits on
    /// the cycle end, this one included.
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
        let cycles = of.map_or_else(Vec::new, |of| find_cycles(self, of));
        let cycles = cycles.into_iter().map(|cycle| (cycle.of, cycle.on, cycle));
        let wakers = self.end_cycles(cycles);
        (numbers, wakers)
    }

    /// Ends the waits of calls for others that are on cycles; returns whom to wake.
    fn end_cycles(&mut self, cycles: impl Iterator<Item = (u64, u64, Cycle)>) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for (of, on, cycle) in cycles {
            let needs = self.calls.get(&of).and_then(|call| call.needs.get(&on));
            let numbers: Vec<_> = needs.into_iter().flatten().copied().collect();
            let ended = numbers.into_iter();
            wakers.extend(
                ended.filter_map(|number| self.finish(number, WaitOutcome::Cycle(cycle.clone()))),
            );
        }
        wakers
    }

    /// The same for cycles that go through other processes, as far as their waits are here.
    pub(super) fn end_shared_cycles(&mut self, cycles: &[Cycle]) -> Vec<Waker> {
        let own: Vec<_> = cycles
            .iter()
            .filter_map(|cycle| {
                let (of, on) = cycle.wait()?;
                Some((self.running(of)?, self.running(on)?, cycle.clone()))
            })
            .collect();
        self.end_cycles(own.into_iter())
    }

    /// The waits of calls for a call, directly or through others; `None` if it is not in flight.
    pub(super) fn waits_for(&self, serial: u64) -> Option<Vec<CallWait>> {
        if !self.has_begun(serial) {
            return None;
        }
        let all = self.all_needing(serial);
        let mut waits = Vec::new();
        for of in &all {
            let needed = self.needs(*of).filter(|on| all.contains(on));
            waits.extend(needed.filter_map(|on| {
                let (of, on) = (self.call_id(*of)?.clone(), self.call_id(on)?.clone());
                Some(CallWait { of, on })
            }));
        }
        Some(waits)
    }

    /// The calls whose leases are to be renewed, by their serials.
    pub(super) fn leased(&self) -> impl Iterator<Item = (u64, &Call)> {
        let calls = self.calls.iter().map(|(serial, call)| (*serial, call));
        calls.filter(|(_, call)| call.has_begun && !call.lease_is_lost)
    }

    /// Notes that the lease of a call is lost; returns whether the call is in flight.
    pub(super) fn lose_lease(&mut self, serial: u64) -> bool {
        let call = self.calls.get_mut(&serial);
        call.map(|call| call.lease_is_lost = true).is_some()
    }

    /// Ends a wait, unless it has ended; returns its waker.
    pub(super) fn finish(&mut self, number: u64, outcome: WaitOutcome) -> Option<Waker> {
        let wait = self.waits.get_mut(&number)?;
        if wait.outcome.is_some() {
            return None;
        }
        wait.outcome = Some(outcome);
        let waker = wait.waker.take();
        self.detach(number);
        waker
    }

    /// How a wait ended; a wait that has answered is forgotten.
    pub(super) fn poll_wait(&mut self, number: u64, waker: &Waker) -> Poll<WaitOutcome> {
        let Some(wait) = self.waits.get_mut(&number) else {
            return Poll::Ready(WaitOutcome::Completed);
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

    /// Adds a wait, and links it to the calls on both ends.
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

    /// Unlinks a wait from the calls on both ends.
    fn detach(&mut self, number: u64) {
        let Some(Wait { on, of, .. }) = self.waits.get(&number) else {
            return;
        };
        if let Some(call) = self.calls.get_mut(on) {
            call.awaited.remove(&number);
        }
        let Some((of, call)) = of.and_then(|of| Some((of, self.calls.get_mut(&of)?))) else {
            return;
        };
        // A call may wait for another more than once, where several of its resolutions run at once.
        if let Entry::Occupied(mut waits) = call.needs.entry(*on) {
            waits.get_mut().remove(&number);
            if waits.get().is_empty() {
                waits.remove();
                if let Some(call) = self.calls.get_mut(on) {
                    call.needed_by.remove(&of);
                }
            }
        }
    }

    /// How many calls and waits are kept, for tests.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.calls.len(), self.waits.len())
    }
}

impl WaitGraph for Calls {
    fn needs(&self, call: u64) -> impl Iterator<Item = u64> {
        let call = self.calls.get(&call).into_iter();
        call.flat_map(|call| call.needs.keys().copied())
    }

    fn needed_by(&self, call: u64) -> impl Iterator<Item = u64> {
        let call = self.calls.get(&call).into_iter();
        call.flat_map(|call| call.needed_by.iter().copied())
    }

    fn call_id(&self, call: u64) -> Option<&CallId> {
        self.calls.get(&call).map(|call| &call.call_id)
    }
}
