//! This process among the replicas of the gateway that share a store: a record with its address that lasts for seconds and
//! is renewed meanwhile.
//!
//! # Invariants
//!
//! - A replica counts itself as dead before others may: its own clock starts before the store's.
//! - Between two times that a replica was alive it has a new term, so that what it knew to be its own is looked at again.

use crate::records::{
    Found, Key, Records,
    owned::{Owned, OwnedRecord},
};
use crossfeed_store::{StoreError, with_causes};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep, timeout};

/// How long the record lasts that is not renewed: the sessions of a replica that was killed wait for so long.
pub(crate) const LEASE_TIME: Duration = Duration::from_secs(6);
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// How long the store may take, and how soon it is asked again: one lost answer leaves time for others.
const RENEW_TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Serialize, Deserialize)]
struct ReplicaRecord {
    address: String,
    /// It ends soon: others may take its sessions up.
    #[serde(default)]
    leaves: bool,
}

/// This process, as a replica.
pub(crate) struct Replica {
    records: Records,
    name: String,
    address: String,
    own: tokio::sync::Mutex<OwnedRecord>,
    lease: Mutex<Lease>,
}

#[derive(Default)]
struct Lease {
    /// Until when no other replica counts this one as dead.
    until: Option<Instant>,
    term: u64,
    leaves: bool,
    /// The record was not there, and others may have seen that.
    was_lost: bool,
    /// When the record was last found not to be there.
    lost_at: Option<Instant>,
    /// When the record was last to be renewed, and whether it was.
    last: Option<(Instant, bool)>,
}

/// Another request has found out that the record cannot be renewed.
#[derive(Debug, thiserror::Error)]
#[error("cannot say that this replica is alive")]
struct NotRenewed;

impl Replica {
    /// One that others reach at this address; dead until it was first [renewed](Self::renew). `name` is a word that no
    /// other has.
    pub(crate) fn new(records: Records, name: String, address: String) -> Self {
        let own = OwnedRecord::new(records.clone(), key_of(&name), name.clone());
        Self {
            records,
            name,
            address,
            own: tokio::sync::Mutex::new(own),
            lease: Mutex::default(),
        }
    }

    /// The name by which records refer to it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address of another replica while it is alive, though it may be about to end.
    pub(crate) async fn last_address_of(&self, other: &str) -> Result<Option<String>, StoreError> {
        Ok(self.read(other).await?.map(|record| record.address))
    }

    /// The address of another replica, while it is alive and stays.
    pub(crate) async fn address_of(&self, other: &str) -> Result<Option<String>, StoreError> {
        let stays = self.read(other).await?.filter(|record| !record.leaves);
        Ok(stays.map(|record| record.address))
    }

    async fn read(&self, name: &str) -> Result<Option<ReplicaRecord>, StoreError> {
        let key = key_of(name);
        let found = self.records.read::<Owned<ReplicaRecord>>(&key).await?;
        Ok(found.and_then(|Found { value, .. }| value.value))
    }

    /// The term in which it is alive, and stays. While it is the same, no other replica had a reason to take up what is
    /// this one's.
    pub(crate) fn term(&self) -> Option<u64> {
        let lease = self.lease.lock();
        let is_alive = lease.until.is_some_and(|until| Instant::now() < until);
        (is_alive && !lease.leaves).then_some(lease.term)
    }

    /// Says that it is alive, once for all who ask for that at the same time.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut own = self.own.lock().await;
        let last = self.lease.lock().last;
        match last.filter(|(begun, _)| *begun > asked) {
            Some((_, true)) => return Ok(()),
            Some((_, false)) => {
                let (source, retry) = (Box::new(NotRenewed), true);
                return Err(StoreError::Unavailable { source, retry });
            }
            None => {}
        }
        let begun = Instant::now();
        // At the start there is nothing to lose.
        let time = if self.lease.lock().until.is_some() {
            RENEW_TIMEOUT
        } else {
            LEASE_TIME
        };
        let renewed = timeout(time, self.try_renew(&mut own, begun)).await;
        let renewed = renewed.unwrap_or_else(|late| {
            let (source, retry) = (Box::new(late), true);
            Err(StoreError::Unavailable { source, retry })
        });
        self.lease.lock().last = Some((begun, renewed.is_ok()));
        renewed
    }

    async fn try_renew(&self, own: &mut OwnedRecord, begun: Instant) -> Result<(), StoreError> {
        let leaves = self.lease.lock().leaves;
        let record = ReplicaRecord {
            address: self.address.clone(),
            leaves,
        };
        if self.read(&self.name).await?.is_none() {
            let mut lease = self.lease.lock();
            lease.was_lost = true;
            // At the start it was not there to be lost.
            lease.lost_at = lease.until.map(|_| Instant::now());
        }
        own.write(&record, LEASE_TIME).await?;
        let mut lease = self.lease.lock();
        if std::mem::take(&mut lease.was_lost)
            || lease.until.is_none_or(|until| until <= Instant::now())
        {
            lease.term += 1;
        }
        lease.until = Some(begun + LEASE_TIME);
        Ok(())
    }

    /// Whether the store may have lost what other replicas wrote, and are about to write again: for the time of a lease after
    /// this one's record was found to be gone.
    pub(crate) async fn may_lack_records(&self) -> Result<bool, StoreError> {
        let (was_alive, lost_at) = {
            let lease = self.lease.lock();
            (lease.until.is_some(), lease.lost_at)
        };
        if lost_at.is_some_and(|at| at.elapsed() < LEASE_TIME) {
            return Ok(true);
        }
        Ok(was_alive && self.read(&self.name).await?.is_none())
    }

    /// Says that it is alive where others may count it as dead; one that ends need not be.
    pub(crate) async fn renew_if_over(&self) -> Result<(), StoreError> {
        let leaves = self.lease.lock().leaves;
        if leaves || self.term().is_some() {
            return Ok(());
        }
        self.renew().await
    }

    /// Renews the record as long as this is polled.
    pub(crate) async fn hold(&self) -> Infallible {
        let mut pause = RENEW_INTERVAL;
        loop {
            sleep(pause).await;
            let Err(error) = self.renew().await else {
                pause = RENEW_INTERVAL;
                continue;
            };
            if std::mem::replace(&mut pause, RETRY_INTERVAL) == RENEW_INTERVAL {
                tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot say that this replica is alive: others will take its sessions up");
            }
        }
    }

    /// Lets other replicas take up what is this one's.
    pub(crate) async fn leave(&self) {
        self.lease.lock().leaves = true;
        if let Err(error) = self.renew().await {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot say that this replica ends: others wait until its time is over");
        }
    }

    /// Takes its record away.
    pub(crate) async fn end(&self) {
        if let Err(error) = self.own.lock().await.end(LEASE_TIME).await {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot say that this replica has ended: others wait until its time is over");
        }
    }
}

/// The state of a call that waits for its client at a replica.
pub(crate) fn state(replica: &str, state: &str) -> String {
    format!("{replica}.{state}")
}

/// The replica at which a call waits, as far as its state names one.
pub(crate) fn replica_of(state: &str) -> Option<&str> {
    Some(state.split_once('.')?.0)
}

fn key_of(name: &str) -> Key {
    Key::new("replica", &[name])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fake::LastingStore;
    use std::sync::{Arc, atomic::Ordering};

    fn replica(store: &Arc<LastingStore>, name: &str) -> Replica {
        let records = Records::of(store.clone()).unwrap();
        Replica::new(records, name.to_owned(), format!("http://{name}"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_is_found_while_it_lives_and_stays() {
        let store = LastingStore::new();
        let [one, other] = ["one", "other"].map(|name| replica(&store, name));
        let found = async || other.address_of("one").await.unwrap();
        assert_eq!(found().await, None);
        one.renew().await.unwrap();
        assert_eq!(found().await.unwrap(), "http://one");
        tokio::select! {
            never = one.hold() => match never {},
            () = sleep(10 * LEASE_TIME) => {}
        }
        assert_eq!(found().await.unwrap(), "http://one");
        assert_eq!(one.term(), Some(1));
        one.leave().await;
        assert_eq!((found().await, one.term()), (None, None));
        let last = async || other.last_address_of("one").await.unwrap();
        assert_eq!(last().await.unwrap(), "http://one");
        one.end().await;
        assert_eq!(last().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_of_the_store_that_are_lost_end_no_replica() {
        let store = LastingStore::new();
        let [one, other] = ["one", "other"].map(|name| replica(&store, name));
        one.renew().await.unwrap();
        let hang = async |time| {
            store.hangs.store(true, Ordering::Relaxed);
            sleep(time).await;
            store.hangs.store(false, Ordering::Relaxed);
        };
        tokio::select! {
            never = one.hold() => match never {},
            () = async {
                for _ in 0..20 {
                    // Two renewals are lost, and the third is not.
                    hang(Duration::from_secs(3)).await;
                    sleep(Duration::from_millis(2_300)).await;
                    assert!(other.address_of("one").await.unwrap().is_some());
                    assert_eq!(one.term(), Some(1));
                }
            } => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_record_ends_a_term_also_where_the_answer_to_its_write_is_lost() {
        let store = LastingStore::new();
        let one = replica(&store, "one");
        one.renew().await.unwrap();
        store.lose_records();
        store.loses_answers.store(true, Ordering::Relaxed);
        assert!(one.renew().await.is_err());
        store.loses_answers.store(false, Ordering::Relaxed);
        one.renew().await.unwrap();
        assert_eq!(one.term(), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_lost_its_data_may_lack_what_others_wrote() {
        let store = LastingStore::new();
        let one = replica(&store, "one");
        let lacks = async || one.may_lack_records().await.unwrap();
        assert!(!lacks().await, "nothing was written yet");
        one.renew().await.unwrap();
        assert!(!lacks().await);
        store.lose_records();
        assert!(lacks().await);
        one.renew().await.unwrap();
        tokio::select! {
            never = one.hold() => match never {},
            () = sleep(LEASE_TIME - Duration::from_secs(1)) => {}
        }
        assert!(lacks().await, "others have not written theirs yet");
        tokio::select! {
            never = one.hold() => match never {},
            () = sleep(Duration::from_secs(2)) => {}
        }
        assert!(!lacks().await);
        one.leave().await;
        assert!(!lacks().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_a_term_before_others_see_it() {
        let store = LastingStore::new();
        let [one, other] = ["one", "other"].map(|name| replica(&store, name));
        assert_eq!(one.term(), None);
        one.renew().await.unwrap();
        for (pause, lives, term) in [(5, true, 1), (5, true, 1), (7, false, 2)] {
            sleep(Duration::from_secs(pause)).await;
            assert_eq!(one.term().is_some(), lives);
            let found = other.address_of("one").await.unwrap();
            assert_eq!(found.is_some(), lives);
            one.renew().await.unwrap();
            assert_eq!(one.term(), Some(term));
        }
        // Others may have looked while the store had lost it.
        store.lose_records();
        one.renew().await.unwrap();
        assert_eq!(one.term(), Some(3));
        // A write that failed renews nothing.
        store.is_away.store(true, Ordering::Relaxed);
        sleep(Duration::from_secs(3)).await;
        assert!(one.renew().await.is_err());
        sleep(Duration::from_secs(3)).await;
        assert_eq!(one.term(), None);
    }
}
