//! Calls in flight that all processes over one store know of.

use crate::{StoreError, Tombstone};
use async_trait::async_trait;
use crossfeed_wire::{CallId, Scope};
use std::{fmt, time::Duration};

/// The process that runs a call: a number that no other has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseOwner(u128);

impl LeaseOwner {
    /// An owner by its number, which should be random.
    pub fn new(number: u128) -> Self {
        Self(number)
    }
}

impl fmt::Display for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The outcome of [`acquire`](CallLeases::acquire).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an id is free, in use, or used up; each leads elsewhere"
)]
pub enum Acquired {
    /// The call is in flight, and this owner's.
    New,
    /// The call is in flight already.
    InFlight,
    /// The call has a result.
    Recorded,
}

/// That a call waits for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallWait {
    /// The call whose arguments wait.
    pub of: CallId,
    /// The call that it waits for.
    pub on: CallId,
}

/// A call in flight, as its owner renews it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leased {
    /// Where the call's id means something.
    pub scope: Scope,
    /// The call.
    pub call_id: CallId,
    /// How to repeat it, as far as it is known by now.
    pub about: Tombstone,
}

impl Leased {
    /// A call of this scope and id.
    pub fn new(scope: Scope, call_id: CallId, about: Tombstone) -> Self {
        Self {
            scope,
            call_id,
            about,
        }
    }
}

/// What is known of the calls in flight of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flights {
    /// The calls that were asked for and are in flight.
    pub running: Vec<CallId>,
    /// Who waits for whom, in any process, in any order.
    pub waits: Vec<CallWait>,
}

impl Flights {
    /// These calls and waits.
    pub fn new(running: Vec<CallId>, waits: Vec<CallWait>) -> Self {
        Self { running, waits }
    }
}

/// The leases of a store: which calls are in flight, in whichever process.
///
/// A call is in flight from [`acquire`](Self::acquire) on, until its result is
/// [recorded](crate::ResultStore::put) by anyone, it is [released](Self::release), its session is
/// [removed](crate::ResultStore::remove_session), or [`duration`](Self::duration) has passed since it was acquired or
/// last [renewed](Self::renew). Meanwhile [`get`](crate::ResultStore::get) answers
/// [`Missing::InFlight`](crate::Missing::InFlight).
///
/// Each method is atomic within a session. Of several `acquire`s of one id at once one is [`Acquired::New`]; none is
/// while there is a result. Time goes by one clock for all processes where the backend has one.
///
/// ```
/// use crossfeed_store::{Acquired, CallLeases, LeaseOwner, StoreError, Tombstone};
/// use crossfeed_wire::{CallId, Scope};
///
/// /// Waits until nobody runs the call, and begins it unless it has a result.
/// async fn begin(
///     leases: &dyn CallLeases,
///     owner: LeaseOwner,
///     scope: &Scope,
///     call: &CallId,
/// ) -> Result<bool, StoreError> {
///     let about = Tombstone::new(Some("search".into()), None);
///     loop {
///         match leases.acquire(owner, scope, call, &about).await? {
///             Acquired::New => return Ok(true),
///             Acquired::Recorded => return Ok(false),
///             Acquired::InFlight => leases.changed(scope).await,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait CallLeases: Send + Sync {
    /// How long a lease lasts. Whoever holds some renews them a few times in that time.
    fn duration(&self) -> Duration;

    /// How long to wait, at most, until [`flights`](Self::flights) is asked again. What a call waits for counts as over
    /// if it was not named for four times as long.
    fn poll_interval(&self) -> Duration;

    /// Begins a call. `about` may be renewed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError>;

    /// Renews leases; returns which of them the owner has lost: they have ended without a result, or are another's.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails for all of them. Where it fails for some, as
    /// where a part of it is away, the others are renewed.
    async fn renew(&self, owner: LeaseOwner, calls: &[Leased]) -> Result<Vec<Leased>, StoreError>;

    /// Gives a call up, and wakes those who wait for it. One that is not the owner's stays.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn release(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
    ) -> Result<(), StoreError>;

    /// Which of the calls `on` are in flight, and who waits for whom. `waits` are those that the caller knows of; they
    /// are kept for four [poll intervals](Self::poll_interval).
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn flights(
        &self,
        scope: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError>;

    /// Returns when a call of this session may have ended, at the latest after the
    /// [poll interval](Self::poll_interval). It may return early for any reason, and never fails.
    async fn changed(&self, scope: &Scope);
}
