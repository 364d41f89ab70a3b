//! The calls of one session that are in flight, and the waits for them.
//!
//! What comes in: calls that begin and leave, waits that begin, are asked and are dropped. What goes
//! out: outcomes of waits, and whom to wake. Deliberately not here: locks, time, the store.

use super::circle::circles;
use crossfeed_store::Tombstone;
use crossfeed_wire::CallId;
use std::{
    collections::{BTreeMap, BTreeSet},
    task::{Poll, Waker},
};

/// Why a wait is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call has left: what it returned is in the store.
    Landed,
    /// The call was given up: nothing is in the store, unless that happened while it was being put
    /// there.
    GivenUp(Tombstone),
    /// The call waits for the one that waits: from that one round to itself.
    Circle(Vec<CallId>),
    /// The time is over.
    Overdue,
    /// It is of no use to wait any longer.
    Stopped,
}

/// Why a call does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A call of this id is in flight.
    Taken,
    /// As many as there may be are in flight.
    Full,
}

#[derive(Debug)]
struct Running {
    /// What tells it from another call of the same id, before or after.
    serial: u64,
    /// How to make it again.
    tombstone: Tombstone,
    /// The waits for it.
    awaited: BTreeSet<u64>,
    /// The waits of what is resolved for it.
    waits: BTreeSet<u64>,
}

#[derive(Debug)]
struct Wait {
    on: CallId,
    /// The call in flight for which it waits.
    of: Option<CallId>,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

/// The calls of a session that are in flight, and the waits for them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    running: BTreeMap<CallId, Running>,
    waits: BTreeMap<u64, Wait>,
}

impl Calls {
    /// Whether there is nothing to keep.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waits.is_empty()
    }

    pub(super) fn is_running(&self, call_id: &CallId) -> bool {
        self.running.contains_key(call_id)
    }

    /// The calls in flight with what is known of them, the last one begun last.
    pub(super) fn running(&self) -> Vec<(&CallId, &Tombstone)> {
        let mut running: Vec<_> = self.running.iter().collect();
        running.sort_unstable_by_key(|(_, call)| call.serial);
        let known = running.into_iter().map(|(id, call)| (id, &call.tombstone));
        known.collect()
    }

    pub(super) fn begin(
        &mut self,
        call_id: &CallId,
        serial: u64,
        limit: usize,
    ) -> Result<(), Refused> {
        if self.is_running(call_id) {
            return Err(Refused::Taken);
        }
        if self.running.len() >= limit {
            return Err(Refused::Full);
        }
        let call = Running {
            serial,
            tombstone: Tombstone::default(),
            awaited: BTreeSet::new(),
            waits: BTreeSet::new(),
        };
        self.running.insert(call_id.clone(), call);
        Ok(())
    }

    /// Notes how to make a call again.
    pub(super) fn describe(&mut self, call_id: &CallId, serial: u64, tombstone: Tombstone) {
        if let Some(call) = self.running.get_mut(call_id)
            && call.serial == serial
        {
            call.tombstone = tombstone;
        }
    }

    /// A call leaves, whichever has that id or only the one of that number. Everybody who waits for it
    /// is told that it has landed, or how to make it again if it was given up.
    pub(super) fn leave(
        &mut self,
        call_id: &CallId,
        serial: Option<u64>,
        is_given_up: bool,
    ) -> Vec<Waker> {
        let is_meant = |call: &Running| serial.is_none_or(|serial| serial == call.serial);
        if !self.running.get(call_id).is_some_and(is_meant) {
            return Vec::new();
        }
        let Some(call) = self.running.remove(call_id) else {
            return Vec::new();
        };
        // What is resolved for it may still wait, but now for nobody who could be waited for.
        for number in call.waits {
            if let Some(wait) = self.waits.get_mut(&number) {
                wait.of = None;
            }
        }
        let outcome = match is_given_up {
            true => Outcome::GivenUp(call.tombstone),
            false => Outcome::Landed,
        };
        let told = call.awaited.into_iter();
        told.filter_map(|number| self.tell(number, outcome.clone()))
            .collect()
    }

    /// Every call leaves.
    pub(super) fn leave_all(&mut self) -> Vec<Waker> {
        let ids: Vec<_> = self.running.keys().cloned().collect();
        let left = ids.iter().map(|id| self.leave(id, None, false));
        left.flatten().collect()
    }

    /// Begins to wait for those of the calls that are in flight, all at once; `of` is the call for
    /// which it waits, with its number. Gives the number of each wait, and whom to wake: where one
    /// closes a circle, everybody on it is told, this one too.
    pub(super) fn wait<'i>(
        &mut self,
        of: Option<(&CallId, u64)>,
        on: impl Iterator<Item = Option<&'i CallId>>,
        next: &mut u64,
    ) -> (Vec<Option<u64>>, Vec<Waker>) {
        let is_running = |(id, serial): &(&CallId, u64)| {
            self.running
                .get(*id)
                .is_some_and(|call| call.serial == *serial)
        };
        let of = of.filter(is_running).map(|(id, _)| id);
        let mut numbers = Vec::new();
        for on in on {
            let call = on.and_then(|on| self.running.get_mut(on).map(|call| (on, call)));
            let Some((on, call)) = call else {
                numbers.push(None);
                continue;
            };
            let number = *next;
            *next += 1;
            call.awaited.insert(number);
            if let Some(call) = of.and_then(|of| self.running.get_mut(of)) {
                call.waits.insert(number);
            }
            let wait = Wait {
                on: on.clone(),
                of: of.cloned(),
                outcome: None,
                waker: None,
            };
            self.waits.insert(number, wait);
            numbers.push(Some(number));
        }
        let closed = of.map_or_else(Vec::new, |of| circles(self, of));
        let told = closed.into_iter();
        let wakers = told.filter_map(|(number, round)| self.tell(number, Outcome::Circle(round)));
        let wakers = wakers.collect();
        (numbers, wakers)
    }

    /// Tells a wait how it ended, unless it has. Whoever is told waits no longer.
    pub(super) fn tell(&mut self, number: u64, outcome: Outcome) -> Option<Waker> {
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
    pub(super) fn ask(&mut self, number: u64, waker: &Waker) -> Poll<Outcome> {
        let Some(wait) = self.waits.get_mut(&number) else {
            return Poll::Ready(Outcome::Landed);
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

    /// Takes a wait off the calls between which it is.
    fn detach(&mut self, number: u64) {
        let Some(wait) = self.waits.get(&number) else {
            return;
        };
        if let Some(call) = self.running.get_mut(&wait.on) {
            call.awaited.remove(&number);
        }
        if let Some(call) = wait.of.as_ref().and_then(|of| self.running.get_mut(of)) {
            call.waits.remove(&number);
        }
    }

    /// The waits of what is resolved for a call, each with the call that it waits for.
    pub(super) fn awaited_by(&self, call_id: &CallId) -> impl Iterator<Item = (u64, &CallId)> {
        let numbers = self.running.get(call_id).into_iter();
        let numbers = numbers.flat_map(|call| &call.waits);
        numbers.filter_map(|number| Some((*number, &self.waits.get(number)?.on)))
    }

    /// The calls in flight that wait for a call.
    pub(super) fn waiting_for(&self, call_id: &CallId) -> impl Iterator<Item = &CallId> {
        let numbers = self.running.get(call_id).into_iter();
        let numbers = numbers.flat_map(|call| &call.awaited);
        numbers.filter_map(|number| self.waits.get(number)?.of.as_ref())
    }

    /// How many calls and waits are kept, for tests.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.running.len(), self.waits.len())
    }
}
