//! The calls in flight of all sessions, behind locks. A future that is dropped half-way leaves nothing behind.

use super::{
    Lock,
    calls::{Call, Calls, RunningCall, WaitOutcome},
    cycle::Cycle,
    error::BeginError,
    lease::Lease,
};
use crate::trace::CallTrace;
use crossfeed_store::{CallWait, Leased, StoreError, Tombstone};
use crossfeed_wire::{CallId, Scope};
use foldhash::quality::RandomState;
use std::{
    hash::BuildHasher,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// How many locks there are. Sessions that share one wait for each other while a wait is registered. A wait of a
/// call that others wait for takes a walk over the calls that it depends on; where it closes cycles, all waits on
/// them end.
const SHARDS: usize = 16;

/// A call in flight for which something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallHandle {
    call_id: CallId,
    serial: u64,
}

impl CallHandle {
    pub(crate) fn call_id(&self) -> &CallId {
        &self.call_id
    }
}

/// The calls in flight of all sessions.
pub(crate) struct Registry<L> {
    shards: Box<[L]>,
    hasher: RandomState,
}

impl<L: Lock> Registry<L> {
    pub(crate) fn new() -> Self {
        Self::with_shards(SHARDS)
    }

    pub(super) fn with_shards(shards: usize) -> Self {
        Self {
            shards: std::iter::repeat_with(L::default).take(shards).collect(),
            hasher: RandomState::default(),
        }
    }

    fn shard(&self, scope: &Scope) -> &L {
        &self.shards[self.hasher.hash_one(scope) as usize % self.shards.len()]
    }

    /// Acts on the calls of a session, if there are any, and forgets the session once it is empty.
    fn with<R: Default>(&self, scope: &Scope, act: impl FnOnce(&mut Calls) -> R) -> R {
        self.shard(scope).with(|shard| {
            let Some(calls) = shard.sessions.get_mut(scope) else {
                return R::default();
            };
            let done = act(calls);
            if calls.is_empty() {
                shard.sessions.remove(scope);
            }
            done
        })
    }

    /// Begins a call, unless its id is taken or `limit` calls of the session are in flight.
    /// `is_taken` asks the store once the id is reserved, so that one of the two sees a result that is recorded
    /// in between. Until it has answered, the call is not in flight: look-ups go to the store. `lease` is what the call
    /// then has in the store; dropping the call ends it.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        scope: &Scope,
        call_id: &CallId,
        limit: usize,
        lease: Option<Lease>,
        is_taken: impl Future<Output = Result<bool, StoreError>>,
    ) -> Result<Entry<L>, BeginError> {
        let serial = self.shard(scope).with(|shard| {
            let calls = shard.sessions.entry(scope.clone()).or_default();
            let serial = shard.next;
            shard.next += 1;
            let reserved = calls.reserve(call_id, serial, limit);
            if calls.is_empty() {
                shard.sessions.remove(scope);
            }
            reserved.map(|()| serial)
        })?;
        let mut entry = Entry {
            registry: Arc::clone(self),
            scope: scope.clone(),
            actor: CallHandle {
                call_id: call_id.clone(),
                serial,
            },
            lease,
        };
        if is_taken.await? {
            // It is another's.
            entry.lease = None;
            return Err(BeginError::duplicate(call_id));
        }
        // `None`: the session was closed meanwhile, and the call has left.
        let activated = self.with(scope, |calls| Some(calls.activate(serial, limit)));
        let activated = activated.unwrap_or(Ok(()));
        if let Some(lease) = &mut entry.lease {
            lease.begin();
            if !self.has(scope, serial) {
                lease.give_up(scope, call_id);
            }
        }
        activated?;
        Ok(entry)
    }

    /// Stores the result of a call, then removes the call if it is in flight: `actor`, or the one with that id. If
    /// storing fails, the call stays, unless the error is one by `is_there`: there is a result already.
    pub(crate) async fn complete<T, E>(
        &self,
        scope: &Scope,
        call_id: &CallId,
        actor: Option<&CallHandle>,
        put: impl Future<Output = Result<T, E>>,
        is_there: impl FnOnce(&E) -> bool,
    ) -> Result<T, E> {
        let done = put.await;
        if done.as_ref().err().is_none_or(is_there) {
            wake(self.with(scope, |calls| match actor {
                Some(actor) => calls.leave(actor.serial, false),
                None => calls.leave_id(call_id),
            }));
        }
        done
    }

    /// Removes all calls of a session.
    pub(crate) fn close(&self, scope: &Scope) {
        wake(self.with(scope, Calls::leave_all));
    }

    /// Whether a call is in flight.
    pub(crate) fn is_running(&self, scope: &Scope, call_id: &CallId) -> bool {
        self.with(scope, |calls| calls.running(call_id).is_some())
    }

    /// The trace of a call in flight, if it has one.
    pub(crate) fn trace(&self, scope: &Scope, call_id: &CallId) -> Option<Arc<CallTrace>> {
        self.with(scope, |calls| calls.trace(call_id))
    }

    /// Whether another call has taken over the id of this one, which has left then.
    pub(crate) fn is_superseded(&self, scope: &Scope, actor: &CallHandle) -> bool {
        let running = self.with(scope, |calls| calls.running(&actor.call_id));
        running.is_some_and(|serial| serial != actor.serial)
    }

    /// The calls of a session that are in flight, as seen by the call `actor`, the latest last.
    pub(crate) fn running(&self, scope: &Scope, actor: Option<&CallHandle>) -> Vec<RunningCall> {
        let actor = actor.map(|actor| actor.serial);
        self.with(scope, |calls| calls.all_running(actor))
    }

    /// Begins to wait for those of the calls that are in flight, all at once, on behalf of `actor` if that is in
    /// flight.
    pub(super) fn wait<'r>(
        &'r self,
        scope: &'r Scope,
        actor: Option<&CallHandle>,
        on: &[Option<&CallId>],
    ) -> Waits<'r, L> {
        let (numbers, wakers) = self.shard(scope).with(|shard| {
            let Some(calls) = shard.sessions.get_mut(scope) else {
                return Default::default();
            };
            let actor = actor.map(|actor| actor.serial);
            calls.wait(actor, on.iter().copied(), &mut shard.next)
        });
        // Before anything can panic: dropping this forgets the waits.
        let waits = Waits {
            registry: self,
            scope,
            numbers,
        };
        wake(wakers);
        waits
    }

    /// Whether a call has neither returned nor been given up.
    fn has(&self, scope: &Scope, serial: u64) -> bool {
        self.with(scope, |calls| calls.has(serial))
    }

    /// The waits for a call in flight, directly or through others; `None` if it is not in flight.
    pub(crate) fn waits_for(&self, scope: &Scope, actor: &CallHandle) -> Option<Vec<CallWait>> {
        self.with(scope, |calls| calls.waits_for(actor.serial))
    }

    /// Ends waits that are on cycles through other processes.
    pub(crate) fn end_shared_cycles(&self, scope: &Scope, cycles: &[Cycle]) {
        wake(self.with(scope, |calls| calls.end_shared_cycles(cycles)));
    }

    /// The calls of all sessions whose leases are to be renewed, with their serials.
    pub(super) fn leased(&self) -> Vec<(u64, Leased)> {
        let mut leased = Vec::new();
        for shard in &self.shards {
            shard.with(|shard| {
                for (scope, calls) in &shard.sessions {
                    leased.extend(calls.leased().map(|(serial, call)| {
                        let (call_id, about) = (call.call_id.clone(), call.tombstone.clone());
                        (serial, Leased::new(scope.clone(), call_id, about))
                    }));
                }
            });
        }
        leased
    }

    /// Notes that the lease of a call is lost; returns whether the call is in flight.
    pub(super) fn lose_lease(&self, scope: &Scope, serial: u64) -> bool {
        self.with(scope, |calls| calls.lose_lease(serial))
    }

    /// How many sessions, calls and waits are kept, for tests.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize, usize) {
        let mut kept = (0, 0, 0);
        for shard in &self.shards {
            shard.with(|shard| {
                for calls in shard.sessions.values() {
                    let (running, waits) = calls.kept();
                    kept = (kept.0 + 1, kept.1 + running, kept.2 + waits);
                }
            });
        }
        kept
    }
}

/// Wakes, outside of any lock: a waker is foreign code.
fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// A call in flight. Dropping it gives the call up, unless it has left.
pub(crate) struct Entry<L: Lock> {
    registry: Arc<Registry<L>>,
    scope: Scope,
    actor: CallHandle,
    lease: Option<Lease>,
}

impl<L: Lock> Entry<L> {
    pub(crate) fn call_id(&self) -> &CallId {
        self.actor.call_id()
    }

    pub(crate) fn actor(&self) -> &CallHandle {
        &self.actor
    }

    /// Sets how to repeat the call.
    pub(crate) fn describe(&self, tombstone: Tombstone) {
        self.update(|call| call.tombstone = tombstone);
    }

    /// Sets the trace of the call, without keeping its span from ending.
    pub(crate) fn trace(&self, trace: &Arc<CallTrace>) {
        self.update(|call| call.trace = Arc::downgrade(trace));
    }

    fn update(&self, update: impl FnOnce(&mut Call)) {
        let serial = self.actor.serial;
        self.registry
            .with(&self.scope, |calls| calls.call_mut(serial).map(update));
    }
}

impl<L: Lock> Drop for Entry<L> {
    fn drop(&mut self) {
        // Before those who wait are woken: they must not find it in flight in the store.
        if let Some(lease) = &self.lease
            && self.registry.has(&self.scope, self.actor.serial)
        {
            lease.give_up(&self.scope, &self.actor.call_id);
        }
        let leave = |calls: &mut Calls| calls.leave(self.actor.serial, true);
        wake(self.registry.with(&self.scope, leave));
    }
}

/// The waits of one resolution. Dropping this forgets them.
pub(super) struct Waits<'r, L: Lock> {
    registry: &'r Registry<L>,
    scope: &'r Scope,
    numbers: Vec<Option<u64>>,
}

impl<L: Lock> Waits<'_, L> {
    /// Whether there is a wait for the call wanted at this index.
    pub(super) fn has(&self, place: usize) -> bool {
        self.numbers.get(place).is_some_and(Option::is_some)
    }

    /// The waits, each with the index of its call.
    pub(super) fn each(&self) -> Vec<(usize, Wait<'_, L>)> {
        let (registry, scope) = (self.registry, self.scope);
        let numbers = self.numbers.iter().enumerate();
        let waits = numbers.filter_map(|(place, number)| {
            let number = (*number)?;
            Some((
                place,
                Wait {
                    registry,
                    scope,
                    number,
                },
            ))
        });
        waits.collect()
    }

    /// Ends those that have not ended. The task that calls this polls them, so it wakes only itself.
    pub(super) fn end(&self, outcome: &WaitOutcome) {
        wake(self.registry.with(self.scope, |calls| {
            let numbers = self.numbers.iter().flatten();
            let wakers = numbers.filter_map(|number| calls.finish(*number, outcome.clone()));
            wakers.collect()
        }));
    }
}

impl<L: Lock> Drop for Waits<'_, L> {
    fn drop(&mut self) {
        if self.numbers.iter().any(Option::is_some) {
            self.registry.with(self.scope, |calls| {
                let numbers = self.numbers.iter().flatten();
                numbers.for_each(|number| calls.forget(*number));
            });
        }
    }
}

/// One wait: a future that is done when it has ended.
pub(super) struct Wait<'r, L: Lock> {
    registry: &'r Registry<L>,
    scope: &'r Scope,
    number: u64,
}

impl<L: Lock> Future for Wait<'_, L> {
    type Output = WaitOutcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WaitOutcome> {
        let polled = self.registry.with(self.scope, |calls| {
            Some(calls.poll_wait(self.number, context.waker()))
        });
        // A session exists as long as an unanswered wait; a wait that is polled again looks into the store.
        polled.unwrap_or(Poll::Ready(WaitOutcome::Completed))
    }
}
