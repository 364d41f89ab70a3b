//! The calls in flight of all sessions, behind locks, and the order of looking and leaving. A future that is
//! dropped half-way leaves nothing behind.
//!
//! What is dropped half-way leaves nothing behind.

use super::{
    Lock,
    calls::{Calls, Outcome, Refusal, Running},
    error::BeginError,
};
use crate::trace::CallTrace;
use crossfeed_store::{StoreError, Tombstone};
use crossfeed_wire::{CallId, Scope};
use foldhash::quality::RandomState;
use std::{
    hash::BuildHasher,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// How many locks there are. Sessions that share one wait for each other for as long as it takes to
/// put down waits. Where somebody begins to wait who is waited for himself, it takes a walk over the
/// calls behind those that he waits for; and where that closes circles, telling all that are on them.
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
        let at = match self.shards.len() {
            1 => 0,
            many => self.hasher.hash_one(scope) as usize % many,
        };
        &self.shards[at]
    }

    /// Acts on the calls of a session, if there are any, and forgets the session if none are left.
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
    /// `is_recorded` asks the store; it is asked when the id is held already, so that what is recorded
    /// meanwhile is found by it, or finds this. Until it has answered, the call is not in flight: whoever
    /// wants its result looks into the store.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        scope: &Scope,
        call_id: &CallId,
        limit: usize,
        is_recorded: impl Future<Output = Result<bool, StoreError>>,
    ) -> Result<Entry<L>, BeginError> {
        let refused = |refused| match refused {
            Refusal::Taken => BeginError::Duplicate {
                call_id: call_id.clone(),
            },
            Refusal::Full => BeginError::TooMany { limit },
        };
        let held = self.shard(scope).with(|shard| {
            let calls = shard.sessions.entry(scope.clone()).or_default();
            let serial = shard.next;
            shard.next += 1;
            let held = calls.reserve(call_id, serial, limit);
            if calls.is_empty() {
                shard.sessions.remove(scope);
            }
            held.map(|()| serial)
        });
        let serial = held.map_err(refused)?;
        let entry = Entry {
            registry: Arc::clone(self),
            scope: scope.clone(),
            actor: CallHandle {
                call_id: call_id.clone(),
                serial,
            },
        };
        if is_recorded.await? {
            return Err(refused(Refusal::Taken));
        }
        let begun = self.with(scope, |calls| Some(calls.activate(serial, limit)));
        // Where nothing is kept, the call has left meanwhile.
        begun.unwrap_or(Ok(())).map_err(refused)?;
        Ok(entry)
    }

    /// Puts the result of a call, then lets the call leave if it is in flight: `actor`, or whichever has
    /// that id. Where it cannot be put, the call stays, unless `is_there` says of the error that a
    /// result is there all the same.
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

    /// Lets all calls of a session leave.
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

    /// Whether another call is in flight by the id of this one, which has left then.
    pub(crate) fn is_superseded(&self, scope: &Scope, actor: &CallHandle) -> bool {
        let running = self.with(scope, |calls| calls.running(&actor.call_id));
        running.is_some_and(|serial| serial != actor.serial)
    }

    /// The calls of a session that are in flight as they look to what is resolved for `actor`, the
    /// last one begun last.
    pub(crate) fn running(&self, scope: &Scope, actor: Option<&CallHandle>) -> Vec<Running> {
        let actor = actor.map(|actor| actor.serial);
        self.with(scope, |calls| calls.all_running(actor))
    }

    /// Begins to wait for those of the calls that are in flight, all at once: for `actor`, if that is
    /// a call in flight.
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
        // From here on they are forgotten when this is dropped.
        let waits = Waits {
            registry: self,
            scope,
            numbers,
        };
        wake(wakers);
        waits
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

/// A call in flight. Dropped, it is given up, unless it has left.
pub(crate) struct Entry<L: Lock> {
    registry: Arc<Registry<L>>,
    scope: Scope,
    actor: CallHandle,
}

impl<L: Lock> Entry<L> {
    pub(crate) fn call_id(&self) -> &CallId {
        self.actor.call_id()
    }

    pub(crate) fn actor(&self) -> &CallHandle {
        &self.actor
    }

    /// Notes how to make the call again.
    pub(crate) fn describe(&self, tombstone: Tombstone) {
        let serial = self.actor.serial;
        let describe = |calls: &mut Calls| calls.describe(serial, tombstone);
        self.registry.with(&self.scope, describe);
    }

    /// Keeps at hand where the call stands in a trace, but does not keep the span from ending.
    pub(crate) fn trace(&self, trace: &Arc<CallTrace>) {
        let (serial, trace) = (self.actor.serial, Arc::downgrade(trace));
        let keep = |calls: &mut Calls| calls.keep_trace(serial, trace);
        self.registry.with(&self.scope, keep);
    }
}

impl<L: Lock> Drop for Entry<L> {
    fn drop(&mut self) {
        let left = |calls: &mut Calls| calls.leave(self.actor.serial, true);
        wake(self.registry.with(&self.scope, left));
    }
}

/// The waits of one resolution. Dropped, they are forgotten.
pub(super) struct Waits<'r, L: Lock> {
    registry: &'r Registry<L>,
    scope: &'r Scope,
    numbers: Vec<Option<u64>>,
}

impl<L: Lock> Waits<'_, L> {
    /// Whether it waits for the call that was wanted in this place.
    pub(super) fn has(&self, place: usize) -> bool {
        self.numbers.get(place).is_some_and(Option::is_some)
    }

    /// The waits, each with its place among what is wanted.
    pub(super) fn each(&self) -> Vec<(usize, Wait<'_, L>)> {
        let numbers = self.numbers.iter().enumerate();
        let each = numbers.filter_map(|(place, number)| {
            let wait = Wait {
                registry: self.registry,
                scope: self.scope,
                number: (*number)?,
            };
            Some((place, wait))
        });
        each.collect()
    }

    /// Tells those that have not ended how they end. They are asked by whoever does this, so nobody is
    /// woken but by himself.
    pub(super) fn end(&self, outcome: &Outcome) {
        wake(self.registry.with(self.scope, |calls| {
            let numbers = self.numbers.iter().flatten();
            let told = numbers.filter_map(|number| calls.finish(*number, outcome.clone()));
            told.collect()
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
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let asked = self.registry.with(self.scope, |calls| {
            Some(calls.poll_wait(self.number, context.waker()))
        });
        // A session is kept as long as a wait that was not answered: whoever asks once more is told to
        // look into the store.
        asked.unwrap_or(Poll::Ready(Outcome::Completed))
    }
}
