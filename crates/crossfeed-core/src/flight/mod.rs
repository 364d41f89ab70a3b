//! Calls in flight: those that were begun and have not returned, and who waits for them.
//!
//! They are kept in this process and nowhere else: a call that runs has a host that runs it.
//!
//! # Order
//!
//! - Whoever wants a result looks here first, then in the store.
//! - A call that returns is put into the store first, then leaves, and whoever waits is woken.
//!
//! So between the two looks no result is missed. A call that begins takes its id first and then asks
//! the store whether it is taken; what is recorded in between is seen by one of the two. Until the
//! store has answered, nobody who wants a result sees it.
//!
//! # Invariants
//!
//! - Nothing is kept of a session in which no call is in flight and nobody waits.
//! - No wait is on a circle: a wait that closes one is told so when it begins, and with it every
//!   other that is on it.
//! - Nobody is woken under the lock.

mod calls;
mod cycle;
mod error;
mod look_up;
#[cfg(test)]
mod models;
mod registry;
#[cfg(test)]
mod tests;

pub(crate) use calls::Outcome;
pub use error::BeginError;
pub(crate) use look_up::look_up;
pub(crate) use registry::{CallHandle, Entry, Registry};

use calls::Calls;
use crossfeed_wire::Scope;
use foldhash::quality::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The calls in flight of an engine.
pub(crate) type Flights = Registry<Mutex<Shard>>;

/// Some of the sessions in which calls are in flight.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    sessions: HashMap<Scope, Calls, RandomState>,
    /// The next number of a call or a wait. No number is given twice.
    next: u64,
}

/// A lock around some of the sessions. There are two: the one that runs, and that of the models that
/// try its interleavings.
pub(crate) trait Lock: Default {
    /// Acts under the lock.
    fn with<R>(&self, act: impl FnOnce(&mut Shard) -> R) -> R;
}

impl Lock for Mutex<Shard> {
    fn with<R>(&self, act: impl FnOnce(&mut Shard) -> R) -> R {
        act(&mut self.lock())
    }
}
