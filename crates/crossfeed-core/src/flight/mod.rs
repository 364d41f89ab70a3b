//! Calls in flight: begun and not yet returned, with the waits for them. Those of other processes over the same store are
//! known by their leases.
//!
//! # Order
//!
//! - A look-up checks the calls in flight first, then the store.
//! - A result is stored first; then its call leaves, and its waiters are woken.
//!
//! So no look-up misses a result. A call that begins reserves its id first and then asks the store whether the
//! id is taken, so one of the two sees a result that is recorded in between. Until the store has answered,
//! look-ups do not see the call.
//!
//! # Invariants
//!
//! - A session without calls in flight and without waits takes no memory.
//! - No wait is on a cycle: when a wait closes one, all waits on the cycle end.
//! - Wakers run outside the lock.

mod calls;
mod cycle;
mod error;
mod lease;
mod look_up;
#[cfg(test)]
mod models;
mod registry;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use calls::WaitOutcome;
pub use error::BeginError;
pub(crate) use lease::{Lease, LeaseKeeper, renewal_pause};
pub(crate) use look_up::{Elsewhere, MAX_PARALLEL_LOOKUPS, look_up};
pub(crate) use registry::{CallHandle, Entry, Registry};
pub(crate) use shared::SharedWaits;

use calls::Calls;
use crossfeed_wire::Scope;
use foldhash::quality::RandomState;
use parking_lot::Mutex;
use std::{collections::HashMap, panic::catch_unwind, time::Duration};

/// The calls in flight of an engine.
pub(crate) type Flights = Registry<Mutex<Shard>>;

/// Some of the sessions in which calls are in flight.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    sessions: HashMap<Scope, Calls, RandomState>,
    /// The next number of a call or a wait; numbers are unique.
    next: u64,
}

/// A lock around some of the sessions: a mutex, or in tests the model that tries its interleavings.
pub(crate) trait Lock: Default {
    /// Acts under the lock.
    fn with<R>(&self, act: impl FnOnce(&mut Shard) -> R) -> R;
}

impl Lock for Mutex<Shard> {
    fn with<R>(&self, act: impl FnOnce(&mut Shard) -> R) -> R {
        act(&mut self.lock())
    }
}

/// The end of a time, if there is a timer.
pub(crate) fn timer(time: Duration) -> Option<tokio::time::Sleep> {
    if time.is_zero() || tokio::runtime::Handle::try_current().is_err() {
        return None;
    }
    // The only way to find out whether a runtime has a timer.
    catch_unwind(|| tokio::time::sleep(time)).ok()
}
