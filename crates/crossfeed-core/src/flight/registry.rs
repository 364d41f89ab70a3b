//! The calls in flight of all sessions, behind locks; and the order of looking and leaving.
//!
//! What comes in: calls that begin, put their results and leave; waits. What goes out: futures that
//! end when a wait does. What is dropped half-way leaves nothing behind.

use super::{
    Lock,
    calls::{Calls, Outcome, Refused},
    error::BeginError,
};
use crossfeed_store::{StoreError, Tombstone};
use crossfeed_wire::{CallId, Scope};
use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// How many locks there are: sessions that share one wait for each other for well below a
/// microsecond, but where somebody closes a circle.
const SHARDS: usize = 16;

/// A call in flight for which something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    call_id: CallId,
    serial: u64,
}

impl Actor {
    pub(super) fn parts(&self) -> (&CallId, u64) {
        (&self.call_id, self.serial)
    }
}

/// The calls in flight of all sessions.
pub(crate) struct Registry<L> {
    shards: Box<[L]>,
    hasher: RandomState,
}

impl<L> fmt::Debug for Registry<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl<L: Lock> Registry<L> {
    pub(crate) fn new() -> Self {
        Self::with_shards(SHARDS)
    }

    pub(super) fn with_shards(shards: usize) -> Self {
        Self {
            shards: std::iter::repeat_with(L::default).take(shards).collect(),
            hasher: RandomState::new(),
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
    /// meanwhile is found by it, or finds this.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        scope: &Scope,
        call_id: &CallId,
        limit: usize,
        is_recorded: impl Future<Output = Result<bool, StoreError>>,
    ) -> Result<Entry<L>, BeginError> {
        let taken = || BeginError::Duplicate {
            call_id: call_id.clone(),
        };
        let begun = self.shard(scope).with(|shard| {
            let calls = shard.sessions.entry(scope.clone()).or_default();
            let serial = shard.next;
            shard.next += 1;
            let begun = calls.begin(call_id, serial, limit);
            if calls.is_empty() {
                shard.sessions.remove(scope);
            }
            begun.map(|()| serial)
        });
        let serial = begun.map_err(|refused| match refused {
            Refused::Taken => taken(),
            Refused::Full => BeginError::TooMany { limit },
        })?;
        let mut entry = Entry {
            registry: Arc::clone(self),
            scope: scope.clone(),
            actor: Actor {
                call_id: call_id.clone(),
                serial,
            },
            // Until the call has begun, nothing is given up: whoever waits looks into the store.
            has_begun: false,
        };
        if is_recorded.await? {
            return Err(taken());
        }
        entry.has_begun = true;
        Ok(entry)
    }

    /// Puts the result of a call, then lets the call leave if it is in flight. Where it cannot be put,
    /// the call stays.
    pub(crate) async fn land<T, E>(
        &self,
        scope: &Scope,
        call_id: &CallId,
        put: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let done = put.await?;
        self.leave(scope, call_id, None, false);
        Ok(done)
    }

    fn leave(&self, scope: &Scope, call_id: &CallId, serial: Option<u64>, is_given_up: bool) {
        let left = |calls: &mut Calls| calls.leave(call_id, serial, is_given_up);
        wake(self.with(scope, left));
    }

    /// Lets all calls of a session leave.
    pub(crate) fn close(&self, scope: &Scope) {
        wake(self.with(scope, Calls::leave_all));
    }

    /// Whether a call is in flight.
    pub(crate) fn is_running(&self, scope: &Scope, call_id: &CallId) -> bool {
        self.with(scope, |calls| calls.is_running(call_id))
    }

    /// The calls of a session that are in flight and the tools that they call, the last one begun
    /// last.
    pub(crate) fn running(&self, scope: &Scope) -> Vec<(CallId, Option<Arc<str>>)> {
        self.with(scope, |calls| {
            let running = calls.running().into_iter();
            let named = running.map(|(id, known)| (id.clone(), known.tool().map(Arc::from)));
            named.collect()
        })
    }

    /// Begins to wait for those of the calls that are in flight, all at once: for `actor`, if that is
    /// a call in flight.
    pub(super) fn wait<'r>(
        &'r self,
        scope: &'r Scope,
        actor: Option<&Actor>,
        on: &[Option<&CallId>],
    ) -> Waits<'r, L> {
        let (numbers, wakers) = self.shard(scope).with(|shard| {
            let Some(calls) = shard.sessions.get_mut(scope) else {
                return Default::default();
            };
            let actor = actor.map(Actor::parts);
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
    actor: Actor,
    has_begun: bool,
}

impl<L: Lock> Entry<L> {
    pub(crate) fn call_id(&self) -> &CallId {
        &self.actor.call_id
    }

    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Notes how to make the call again.
    pub(crate) fn describe(&self, tombstone: Tombstone) {
        let (call_id, serial) = self.actor.parts();
        let describe = |calls: &mut Calls| calls.describe(call_id, serial, tombstone);
        self.registry.with(&self.scope, describe);
    }
}

impl<L: Lock> Drop for Entry<L> {
    fn drop(&mut self) {
        let (call_id, serial) = self.actor.parts();
        let registry = &self.registry;
        registry.leave(&self.scope, call_id, Some(serial), self.has_begun);
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
            let told = numbers.filter_map(|number| calls.tell(*number, outcome.clone()));
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
            Some(calls.ask(self.number, context.waker()))
        });
        // A session without calls has nobody to wait for.
        asked.unwrap_or(Poll::Ready(Outcome::Landed))
    }
}
