//! The leases of an engine's calls in flight, by which other processes over the same store know them.
//!
//! A task renews them while there are any, on the runtime that the first of them began on; without a timer they lapse.

use super::{Flights, timer};
use crate::{
    telemetry::{Instrument, Telemetry},
    trace::traced_lease,
};
use crossfeed_store::{
    Acquired, CallLeases, LeaseOwner, Leased, ResultStore, StoreError, Tombstone, with_causes,
};
use crossfeed_wire::{CallId, Scope};
use foldhash::quality::RandomState;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use scopeguard::{ScopeGuard, guard};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};
use tokio::{runtime::Handle, time::Sleep};

/// A lease is renewed this many times while it lasts.
const RENEWALS: u32 = 3;

/// Acquires, renews and releases the leases of an engine's calls.
pub(crate) struct LeaseKeeper {
    /// Chosen when the first call begins.
    owner: OnceLock<LeaseOwner>,
    store: Arc<dyn ResultStore>,
    flights: Arc<Flights>,
    telemetry: Option<Arc<dyn Telemetry>>,
    state: Mutex<State>,
}

type Key = (Scope, CallId);

#[derive(Default)]
struct State {
    /// Whether the task that renews leases runs.
    renews: bool,
    /// Leases that were being acquired when nobody waited for them any more: the rest of it.
    unfinished: HashMap<Key, BoxFuture<'static, Result<Acquired, StoreError>>, RandomState>,
    /// Calls that were given up and whose leases may not have ended yet.
    given_up: HashMap<Key, Release, RandomState>,
}

/// The end of a lease.
#[derive(Clone)]
struct Release {
    /// Says whether the store has ended it.
    ending: Shared<BoxFuture<'static, bool>>,
    /// Whether the store had said that the call is this engine's.
    is_own: bool,
}

impl LeaseKeeper {
    /// The keeper for a store that has leases.
    pub(crate) fn new(
        store: &Arc<dyn ResultStore>,
        flights: &Arc<Flights>,
        telemetry: Option<Arc<dyn Telemetry>>,
    ) -> Option<Arc<Self>> {
        store.leases()?;
        Some(Arc::new(Self {
            owner: OnceLock::new(),
            store: Arc::clone(store),
            flights: Arc::clone(flights),
            telemetry,
            state: Mutex::default(),
        }))
    }

    /// The store's leases.
    pub(crate) fn leases(&self) -> Result<&dyn CallLeases, StoreError> {
        leases_of(&*self.store)
    }

    fn telemetry(&self) -> Option<&dyn Telemetry> {
        self.telemetry.as_deref()
    }

    fn owner(&self) -> Result<LeaseOwner, StoreError> {
        if let Some(owner) = self.owner.get() {
            return Ok(*owner);
        }
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(|error| StoreError::Unavailable {
            source: format!("no random bytes: {error}").into(),
            retry: true,
        })?;
        let owner = LeaseOwner::new(u128::from_le_bytes(number));
        Ok(*self.owner.get_or_init(|| owner))
    }

    /// Begins a call for all processes; says whether its id was free.
    pub(crate) async fn acquire(&self, scope: &Scope, call: &CallId) -> Result<bool, StoreError> {
        let owner = self.owner()?;
        let key = (scope.clone(), call.clone());
        let released = self.state.lock().given_up.get(&key).cloned();
        // Else it could end the new lease.
        if let Some(released) = released {
            released.ending.await;
        }
        let acquiring = acquire(Arc::clone(&self.store), owner, key.clone()).boxed();
        // The store may grant it although nobody waits any more.
        let mut acquiring = guard(acquiring, |rest| {
            self.state.lock().unfinished.insert(key.clone(), rest);
        });
        let acquired = traced_lease("acquire", Some(call), &mut *acquiring).await;
        drop(ScopeGuard::into_inner(acquiring));
        let is_new = acquired? == Acquired::New;
        if is_new {
            self.state.lock().given_up.remove(&key);
        }
        Ok(is_new)
    }

    /// Whether a call was given up here and its lease may not have ended yet.
    pub(crate) fn is_given_up(&self, scope: &Scope, call: &CallId) -> bool {
        let key = (scope.clone(), call.clone());
        let state = self.state.lock();
        state
            .given_up
            .get(&key)
            .is_some_and(|release| release.is_own)
    }

    /// Renews leases from now on, if nothing does it yet.
    fn renew(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.renews {
            return;
        }
        let Some(pause) = self
            .leases()
            .ok()
            .and_then(|leases| timer(renewal_pause(leases)))
        else {
            return;
        };
        state.renews = true;
        tokio::spawn(renew_all(Renewing(Arc::downgrade(self)), pause));
    }

    /// Ends the lease of a call that was given up, in the background.
    fn give_up(self: &Arc<Self>, key: Key, is_own: bool, runtime: Option<&Handle>) {
        let (Ok(owner), Some(runtime)) = (self.owner(), runtime) else {
            return;
        };
        let ending = {
            let (store, (scope, call)) = (Arc::clone(&self.store), key.clone());
            let unfinished = self.state.lock().unfinished.remove(&key);
            let release = async move {
                // Else the lease could begin when it has been released.
                if let Some(unfinished) = unfinished {
                    let _ = unfinished.await;
                }
                let Some(leases) = store.leases() else {
                    return true;
                };
                leases.release(owner, &scope, &call).await.is_ok()
            };
            release.boxed().shared()
        };
        let release = Release {
            ending: ending.clone(),
            is_own,
        };
        let given_up = GivenUp {
            keeper: Arc::downgrade(self),
            key: key.clone(),
            ending: ending.clone(),
        };
        self.state.lock().given_up.insert(key, release);
        let duration = self.leases().map(CallLeases::duration);
        runtime.spawn(async move {
            if !ending.await
                && let Some(lapses) = duration.ok().and_then(timer)
            {
                lapses.await;
            }
            drop(given_up);
        });
    }
}

fn leases_of(store: &dyn ResultStore) -> Result<&dyn CallLeases, StoreError> {
    store.leases().ok_or_else(|| StoreError::Unavailable {
        source: "the store has no leases any more".into(),
        retry: false,
    })
}

async fn acquire(
    store: Arc<dyn ResultStore>,
    owner: LeaseOwner,
    (scope, call): Key,
) -> Result<Acquired, StoreError> {
    let leases = leases_of(&*store)?;
    leases
        .acquire(owner, &scope, &call, &Tombstone::default())
        .await
}

/// A call that was given up and whose lease may not have ended. Dropping it forgets the call.
struct GivenUp {
    keeper: Weak<LeaseKeeper>,
    key: Key,
    ending: Shared<BoxFuture<'static, bool>>,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        let Some(keeper) = self.keeper.upgrade() else {
            return;
        };
        let mut state = keeper.state.lock();
        // Another call of this id may have been given up since.
        let own = state.given_up.get(&self.key);
        if own.is_some_and(|own| own.ending.ptr_eq(&self.ending)) {
            state.given_up.remove(&self.key);
        }
    }
}

/// The lease of one call. What holds it says when the call is given up.
pub(crate) struct Lease {
    keeper: Arc<LeaseKeeper>,
    /// Whether the store has said that the call is this engine's.
    is_own: bool,
    /// Where the call began.
    runtime: Option<Handle>,
}

impl Lease {
    pub(crate) fn new(keeper: &Arc<LeaseKeeper>) -> Self {
        Self {
            keeper: Arc::clone(keeper),
            is_own: false,
            runtime: Handle::try_current().ok(),
        }
    }

    /// Notes that the store has said so, and renews the lease from now on.
    pub(super) fn begin(&mut self) {
        self.is_own = true;
        self.keeper.renew();
    }

    pub(super) fn give_up(&self, scope: &Scope, call: &CallId) {
        let current = Handle::try_current().ok();
        let runtime = current.as_ref().or(self.runtime.as_ref());
        let key = (scope.clone(), call.clone());
        self.keeper.give_up(key, self.is_own, runtime);
    }
}

/// Time between renewals.
pub(crate) fn renewal_pause(leases: &dyn CallLeases) -> Duration {
    leases.duration() / RENEWALS
}

/// That a task renews leases. Dropping it says that none does, as when its runtime ends.
struct Renewing(Weak<LeaseKeeper>);

impl Renewing {
    /// The calls to renew; ends the task if there are none.
    fn calls(&mut self, keeper: &LeaseKeeper) -> Option<Vec<(u64, Leased)>> {
        // Under the lock, so that a call that begins is either seen here or finds that the task has ended.
        let mut state = keeper.state.lock();
        let calls = keeper.flights.leased();
        if calls.is_empty() {
            state.renews = false;
            self.0 = Weak::new();
            return None;
        }
        Some(calls)
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if let Some(keeper) = self.0.upgrade() {
            keeper.state.lock().renews = false;
        }
    }
}

/// Renews the leases of an engine until there are none left, or the engine is dropped.
async fn renew_all(mut renewing: Renewing, mut sleep: Sleep) {
    let mut suspects = Vec::new();
    loop {
        sleep.await;
        let Some(keeper) = renewing.0.upgrade() else {
            return;
        };
        let Some(calls) = renewing.calls(&keeper) else {
            return;
        };
        let (Ok(leases), Ok(owner)) = (keeper.leases(), keeper.owner()) else {
            return;
        };
        let (serials, leased): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let next = match leases.renew(owner, &leased).await {
            Ok(lost) => {
                let serial = |lost: &Leased| {
                    let same =
                        |own: &Leased| own.call_id == lost.call_id && own.scope == lost.scope;
                    Some((*serials.get(leased.iter().position(same)?)?, lost.clone()))
                };
                let lost: Vec<_> = lost.iter().filter_map(serial).collect();
                suspects = keeper.note_lost(&suspects, lost);
                renewal_pause(leases)
            }
            Err(error) => {
                tracing::warn!(
                    target: "crossfeed::lease",
                    error = with_causes(&error),
                    "leases of calls in flight cannot be renewed"
                );
                renewal_pause(leases).min(leases.poll_interval())
            }
        };
        sleep = tokio::time::sleep(next);
    }
}

impl LeaseKeeper {
    /// Notes which leases are lost: those that had ended at the last renewal, too. (The first time the call may just
    /// be returning, which ends its lease.) Returns the serials of the others.
    fn note_lost(&self, suspects: &[u64], ended: Vec<(u64, Leased)>) -> Vec<u64> {
        let mut others = Vec::new();
        for (serial, lease) in ended {
            if !suspects.contains(&serial) {
                others.push(serial);
            } else if self.flights.lose_lease(&lease.scope, serial) {
                if let Some(telemetry) = self.telemetry() {
                    telemetry.measure(Instrument::LeaseLosses, 1.0, &[]);
                }
                tracing::warn!(
                    target: "crossfeed::lease",
                    call_id = lease.call_id.as_str(),
                    "the lease of a call in flight has ended: other processes count it as given up"
                );
            }
        }
        others
    }
}
