//! One budget of bytes for all messages, arguments and results that the gateway holds.
//!
//! # Invariants
//!
//! - The charged bytes never exceed the limit, and those of one principal never exceed its share.
//! - Bytes are charged before they are held, and given back when the last reference to them is gone.
//! - Charging takes no lock: it changes two atomic numbers, the budget's and the principal's.

use crate::{
    metrics::{Counter, Metrics, families},
    principal::{Principal, share_of},
    sync::AtomicUsize,
};
use bytes::Bytes;
use crossfeed_core::Memory;
use parking_lot::RwLock;
use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use strum::VariantNames;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

/// How long a reader of a server, or of a client's standard output, waits for room.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Shorter messages are bounded by their number, and are not charged.
pub(crate) const UNCHARGED: usize = 4 << 10;

/// What bytes are charged for: the label of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Purpose {
    /// A message of a client.
    Request,
    /// Reading the arguments of a call.
    Arguments,
    /// The values that references bring into arguments.
    Resolved,
    /// The values that selectors build, until arguments are written from them.
    Built,
    /// A message of a server.
    Answer,
    /// A result as the client is shown it.
    Shown,
    /// Names of resources and subscriptions.
    Remembered,
}

/// The bytes that the gateway may hold.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    /// The most bytes for one principal.
    share: usize,
    held: AtomicUsize,
    accounts: RwLock<HashMap<Principal, Arc<Account>>>,
    /// How many wait for room, and what wakes them when bytes come back.
    waiting: AtomicUsize,
    freed: Notify,
    /// By purpose.
    refused: Vec<Counter>,
}

/// The bytes held for one principal.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    held: AtomicUsize,
}

/// Charged bytes, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

impl Budget {
    /// A budget of `limit` bytes. With several `principals`, one may hold half of them, but always the `least`
    /// that one must be able to hold.
    pub fn new(limit: usize, least: usize, principals: usize, metrics: &Metrics) -> Arc<Self> {
        let limit = limit.max(least);
        let refused = Purpose::VARIANTS.iter();
        Arc::new(Self {
            limit,
            share: share_of(limit, principals).max(least),
            held: AtomicUsize::new(0),
            accounts: RwLock::default(),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            refused: refused
                .map(|purpose| metrics.counter(families::MEMORY_REFUSED, &[purpose]))
                .collect(),
        })
    }

    /// A budget without a limit.
    pub fn unlimited() -> Arc<Self> {
        Self::new(usize::MAX, 0, 0, &Metrics::new())
    }

    /// The account of a principal.
    pub fn account(self: &Arc<Self>, principal: &Principal) -> Arc<Account> {
        let known = self.accounts.read().get(principal).cloned();
        known.unwrap_or_else(|| {
            let mut accounts = self.accounts.write();
            let account = accounts.entry(principal.clone()).or_insert_with(|| {
                Arc::new(Account {
                    budget: Arc::clone(self),
                    held: AtomicUsize::new(0),
                })
            });
            Arc::clone(account)
        })
    }

    /// The most bytes in total.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes held in total.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    /// Wakes those who wait for room.
    fn wake_waiting(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

/// Adds bytes if the sum stays within the limit.
fn add(held: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let sum = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= limit);
    held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, sum)
        .is_ok()
}

impl Account {
    /// An account of a budget without a limit.
    pub fn unlimited() -> Arc<Self> {
        Budget::unlimited().account(&Principal::Local)
    }

    /// The most bytes for the principal.
    pub(crate) fn share(&self) -> usize {
        self.budget.share
    }

    /// A charge of no bytes.
    pub(crate) fn nothing(self: &Arc<Self>) -> Charge {
        Charge {
            account: Arc::clone(self),
            bytes: 0,
        }
    }

    /// Charges bytes if there is room for them.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize, purpose: Purpose) -> Option<Charge> {
        let mut charge = self.nothing();
        charge.more(bytes, purpose).then_some(charge)
    }

    fn take(&self, bytes: usize) -> bool {
        let budget = &*self.budget;
        let left = budget.limit.saturating_sub(budget.held());
        if bytes > left || !add(&self.held, bytes, budget.share) {
            return false;
        }
        let has_room = add(&budget.held, bytes, budget.limit);
        if !has_room {
            self.held.fetch_sub(bytes, Ordering::SeqCst);
            // For a moment these bytes took the room of others of the principal. Those that found too little left did
            // not get here, so those who wait do not wake each other for ever.
            budget.wake_waiting();
        }
        has_room
    }

    fn give_back(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.held.fetch_sub(bytes, Ordering::SeqCst);
        let budget = &*self.budget;
        budget.held.fetch_sub(bytes, Ordering::SeqCst);
        budget.wake_waiting();
    }

    fn refuse(&self, purpose: Purpose) {
        if let Some(counter) = self.budget.refused.get(purpose as usize) {
            counter.add(1);
        }
    }
}

impl Memory for Account {
    fn take(&self, needed: usize, wanted: usize) -> Option<usize> {
        let taken = [wanted, needed].into_iter().find(|bytes| self.take(*bytes));
        if taken.is_none() {
            self.refuse(Purpose::Built);
        }
        taken
    }

    fn give_back(&self, bytes: usize) {
        self.give_back(bytes);
    }
}

/// Counts as waiting for room until it is dropped.
struct Waiter<'b>(&'b Budget);

impl<'b> Waiter<'b> {
    fn new(budget: &'b Budget) -> Self {
        budget.waiting.fetch_add(1, Ordering::SeqCst);
        Self(budget)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Charge {
    /// Charges more bytes if there is room for them.
    pub(crate) fn more(&mut self, bytes: usize, purpose: Purpose) -> bool {
        let has_room = self.account.take(bytes);
        if has_room {
            self.bytes += bytes;
        } else {
            self.account.refuse(purpose);
        }
        has_room
    }

    /// Charges more bytes, and waits for room up to [`WAIT_TIMEOUT`]. Dropped meanwhile, it has charged nothing.
    pub(crate) async fn more_in_time(&mut self, bytes: usize, purpose: Purpose) -> bool {
        if self.account.take(bytes) {
            self.bytes += bytes;
            return true;
        }
        let account = Arc::clone(&self.account);
        let budget = &*account.budget;
        // What exceeds the share together with the bytes charged already never fits.
        if self.bytes.saturating_add(bytes) <= budget.share {
            let deadline = Instant::now() + WAIT_TIMEOUT;
            let _waiter = Waiter::new(budget);
            loop {
                let freed = budget.freed.notified();
                tokio::pin!(freed);
                freed.as_mut().enable();
                if account.take(bytes) {
                    self.bytes += bytes;
                    return true;
                }
                if timeout_at(deadline, freed).await.is_err() {
                    break;
                }
            }
        }
        account.refuse(purpose);
        false
    }

    /// The bytes that are charged.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Splits off a charge of at most as many bytes.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            account: Arc::clone(&self.account),
            bytes,
        }
    }

    /// Gives back the rest of its bytes.
    pub(crate) fn keep(&mut self, bytes: usize) {
        drop(self.split(self.bytes.saturating_sub(bytes)));
    }

    /// Holds bytes: they stay charged as long as anything refers to them.
    pub(crate) fn hold(self, bytes: impl Into<Bytes>) -> Bytes {
        let bytes = bytes.into();
        if self.bytes == 0 {
            return bytes;
        }
        Bytes::from_owner(ChargedBytes {
            bytes,
            _charge: self,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

struct ChargedBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(name: &str) -> Principal {
        Principal::Named(name.to_owned())
    }

    fn budget(limit: usize, least: usize, principals: usize) -> Arc<Budget> {
        Budget::new(limit, least, principals, &Metrics::new())
    }

    const FOR: Purpose = Purpose::Request;

    #[test]
    fn what_is_held_is_bounded_in_sum() {
        let budget = budget(100, 60, 0);
        let account = budget.account(&Principal::Anonymous);
        let mut one = account.nothing();
        assert!(one.more(40, FOR) && one.more(20, FOR));
        let mut two = account.nothing();
        assert!(!two.more(41, FOR));
        assert!(two.more(40, FOR));
        assert!(!one.more(1, FOR));
        let body = two.hold(vec![0; 40]);
        let part = body.slice(3..4);
        drop(body);
        assert!(!one.more(1, FOR));
        drop(part);
        assert!(one.more(40, FOR));
        one.keep(7);
        assert_eq!(budget.held(), 7);
        drop(one);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn one_holder_leaves_room_for_others() {
        let budget = budget(100, 10, 2);
        let (a, b) = (budget.account(&named("a")), budget.account(&named("b")));
        assert!(a.charge(51, FOR).is_none());
        let _held = a.charge(50, FOR).unwrap();
        assert!(budget.account(&named("a")).charge(1, FOR).is_none());
        assert!(b.charge(50, FOR).is_some());
    }

    #[test]
    fn the_largest_message_fits_in() {
        let fits = |budget: Arc<Budget>| budget.account(&named("a")).charge(50, FOR).is_some();
        assert!(fits(budget(1, 50, 0)));
        assert!(fits(budget(60, 50, 9)));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_what_it_holds_itself() {
        let account = budget(10, 1, 0).account(&Principal::Local);
        let mut charge = account.charge(6, FOR).unwrap();
        let began = Instant::now();
        assert!(!charge.more_in_time(6, FOR).await);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(charge.more_in_time(4, FOR).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_gets_what_is_given_back() {
        let budget = budget(10, 1, 0);
        let account = budget.account(&Principal::Local);
        let held = account.charge(8, FOR).unwrap();
        let mut charge = account.nothing();
        let wait = async { charge.more_in_time(5, FOR).await };
        let give = async {
            tokio::task::yield_now().await;
            drop(held);
        };
        assert!(tokio::join!(wait, give).0);
        // And no longer than it may.
        let mut other = account.nothing();
        assert!(!other.more_in_time(6, FOR).await);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
        assert_eq!(budget.held(), 5);
    }

    proptest! {
        /// Whatever is taken, split, kept and dropped in whatever order, the sums are those of what is left.
        #[test]
        fn sums_are_those_of_what_is_held(
            steps in prop::collection::vec((0usize..3, 0usize..4, 0usize..60), 0..60),
        ) {
            let budget = budget(100, 10, 2);
            let mut held: Vec<(usize, Charge)> = Vec::new();
            for (who, what, bytes) in steps {
                let account = budget.account(&named(&who.to_string()));
                match what {
                    0 => held.extend(account.charge(bytes, FOR).map(|charge| (who, charge))),
                    1 => {
                        let half = held.last_mut().map(|(who, charge)| (*who, charge.split(bytes)));
                        held.extend(half);
                    }
                    2 => {
                        if let Some((_, charge)) = held.first_mut() {
                            charge.keep(bytes);
                        }
                    }
                    _ => {
                        if !held.is_empty() {
                            held.swap_remove(bytes % held.len());
                        }
                    }
                }
                let sum: usize = held.iter().map(|(_, charge)| charge.bytes()).sum();
                prop_assert_eq!(budget.held(), sum);
                prop_assert!(sum <= 100);
                for who in 0..3 {
                    let own = held.iter().filter(|(of, _)| *of == who);
                    let own: usize = own.map(|(_, charge)| charge.bytes()).sum();
                    let account = budget.account(&named(&who.to_string()));
                    prop_assert_eq!(account.held.load(Ordering::SeqCst), own);
                    prop_assert!(own <= 50);
                }
            }
            drop(held);
            prop_assert_eq!(budget.held(), 0);
        }
    }
}
