//! The descriptors and child processes of connections to servers, given out as permits and shared by the principals.
//!
//! # Invariants
//!
//! - The permits never exceed the total, and those of one principal never exceed its share: half of the total,
//!   with several principals.
//! - Every permit comes back exactly once, however its holder ends.

use crate::{config::Limits, principal::Principal, sync::Mutex};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::Notify, time::Instant};

/// Idle connections that are kept to a server over HTTP.
pub(crate) const UNUSED_SOCKETS: usize = 16;

/// Child processes, and descriptors: the pipes of child processes, and the sockets of requests to servers over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Child processes.
    pub processes: usize,
    /// Descriptors.
    pub descriptors: usize,
}

impl Needs {
    pub(crate) const NOTHING: Self = Self::new(0, 0);
    /// A child process: three pipes and, on Linux, one descriptor that signals its end.
    pub(crate) const PROCESS: Self = Self::new(1, 4);
    /// A server over HTTP: the stream of messages outside requests. Requests take one each.
    pub(crate) const HTTP: Self = Self::new(0, 1);

    const fn new(processes: usize, descriptors: usize) -> Self {
        Self {
            processes,
            descriptors,
        }
    }

    fn with(self, other: Self, combine: fn(usize, usize) -> usize) -> Self {
        Self {
            processes: combine(self.processes, other.processes),
            descriptors: combine(self.descriptors, other.descriptors),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.with(other, usize::saturating_add)
    }

    fn minus(self, other: Self) -> Self {
        self.with(other, usize::saturating_sub)
    }
}

/// Gives out child processes and descriptors for connections to servers.
#[derive(Debug)]
pub struct Quotas {
    total: Needs,
    /// The most for one principal.
    share: Needs,
    used: Mutex<Usage>,
    /// Woken when permits come back.
    freed: Notify,
}

/// What the permits take: in total, and by principal.
#[derive(Debug, Default)]
struct Usage {
    all: Tally,
    by_principal: HashMap<Principal, Tally>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    taken: Needs,
    /// The part of it whose holders are ending.
    ending: Needs,
}

impl Usage {
    fn for_principal(&self, principal: &Principal) -> Tally {
        self.by_principal
            .get(principal)
            .copied()
            .unwrap_or_default()
    }

    /// Changes the usage of a principal, and so of all.
    fn change(&mut self, principal: &Principal, change: impl Fn(&mut Tally)) {
        change(&mut self.all);
        let own = self.by_principal.entry(principal.clone()).or_default();
        change(own);
        if own.taken == Needs::NOTHING {
            self.by_principal.remove(principal);
        }
    }
}

/// Too little is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    /// Of processes; else of descriptors.
    pub(crate) is_processes: bool,
    pub(crate) shortage: Shortage,
}

/// Whose limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The principal's share.
    Share,
    /// The total.
    All,
}

/// Processes and descriptors, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    quotas: Arc<Quotas>,
    principal: Principal,
    needs: Needs,
    /// Changes under the lock of the quotas only.
    is_ending: AtomicBool,
}

impl Quotas {
    /// The quotas of these limits, shared by the principals. One principal can always have one connection to each
    /// server: to so many child `processes`, and so many over `http`, whose idle sockets have descriptors of their
    /// own.
    pub(crate) fn for_servers(
        limits: &Limits,
        processes: usize,
        http: usize,
        principals: usize,
    ) -> Arc<Self> {
        let unused = http.saturating_mul(UNUSED_SOCKETS);
        let descriptors = limits.server_descriptors().saturating_sub(unused);
        let pipes = processes.saturating_mul(Needs::PROCESS.descriptors);
        // One for the connection, and one for a request on it.
        let least = Needs::new(processes, pipes.saturating_add(http.saturating_mul(2)));
        Self::new(Needs::new(limits.processes, descriptors), least, principals)
    }

    /// Quotas of this total. With several principals, one may have half of it, but always `least`.
    fn new(total: Needs, least: Needs, principals: usize) -> Arc<Self> {
        let total = total.with(least, usize::max);
        let half = total.with(least, |total, least| total.div_ceil(2).max(least));
        Arc::new(Self {
            total,
            share: if principals > 1 { half } else { total },
            used: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// The total.
    pub fn total(&self) -> Needs {
        self.total
    }

    /// What is given out.
    pub fn used(&self) -> Needs {
        self.used.lock().all.taken
    }

    /// What a principal has.
    pub(crate) fn held_by(&self, principal: &Principal) -> Needs {
        self.used.lock().for_principal(principal).taken
    }

    /// What a principal could get once all ending holders have ended.
    pub(crate) fn left_soon(&self, principal: &Principal) -> Needs {
        let used = self.used.lock();
        let stays = |held: Tally| held.taken.minus(held.ending);
        let of_share = self.share.minus(stays(used.for_principal(principal)));
        of_share.with(self.total.minus(stays(used.all)), usize::min)
    }

    /// As [`take`](Self::take), but waits as long as `is_coming` says that permits are coming back.
    pub(crate) async fn take_when_there(
        self: &Arc<Self>,
        principal: &Principal,
        needs: Needs,
        until: Instant,
        mut is_coming: impl FnMut(Lack) -> bool,
    ) -> Result<Permit, Lack> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Registered before taking, so that permits that come back in between are not missed.
            freed.as_mut().enable();
            let lack = match self.take(principal, needs) {
                Err(lack) if is_coming(lack) => lack,
                taken => return taken,
            };
            tokio::select! {
                biased;
                () = freed => {}
                () = tokio::time::sleep_until(until) => return Err(lack),
            }
        }
    }

    /// Gives out all that is needed, or nothing.
    ///
    /// # Errors
    ///
    /// What is lacking, processes first, and the principal's share first.
    pub(crate) fn take(
        self: &Arc<Self>,
        principal: &Principal,
        needs: Needs,
    ) -> Result<Permit, Lack> {
        let mut used = self.used.lock();
        let of_share = self.share.minus(used.for_principal(principal).taken);
        let of_all = self.total.minus(used.all.taken);
        for is_processes in [true, false] {
            for (left, shortage) in [(of_share, Shortage::Share), (of_all, Shortage::All)] {
                let lack = Lack {
                    is_processes,
                    shortage,
                };
                if lack.count(needs) > lack.count(left) {
                    return Err(lack);
                }
            }
        }
        used.change(principal, |held| held.taken = held.taken.plus(needs));
        Ok(Permit {
            quotas: Arc::clone(self),
            principal: principal.clone(),
            needs,
            is_ending: AtomicBool::new(false),
        })
    }
}

impl Lack {
    /// The name of the kind that is lacking.
    pub(crate) fn what(self) -> &'static str {
        if self.is_processes {
            "processes"
        } else {
            "descriptors"
        }
    }

    /// The number of processes or descriptors, whichever is lacking.
    pub(crate) fn count(self, needs: Needs) -> usize {
        if self.is_processes {
            needs.processes
        } else {
            needs.descriptors
        }
    }
}

impl Permit {
    /// Splits a part of it off.
    pub(crate) fn split(&mut self, needs: Needs) -> Self {
        let needs = needs.with(self.needs, usize::min);
        self.needs = self.needs.minus(needs);
        Self {
            quotas: Arc::clone(&self.quotas),
            principal: self.principal.clone(),
            needs,
            is_ending: AtomicBool::new(self.is_ending()),
        }
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Marks its holder as ending: others may wait for it to come back.
    pub(crate) fn ends(&self) {
        let mut used = self.quotas.used.lock();
        if !self.is_ending.swap(true, Ordering::Relaxed) {
            let ends = |held: &mut Tally| held.ending = held.ending.plus(self.needs);
            used.change(&self.principal, ends);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.needs == Needs::NOTHING {
            return;
        }
        self.quotas.used.lock().change(&self.principal, |held| {
            held.taken = held.taken.minus(self.needs);
            if self.is_ending() {
                held.ending = held.ending.minus(self.needs);
            }
        });
        self.quotas.freed.notify_waiters();
    }
}

#[cfg(test)]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(name: usize) -> Principal {
        Principal::Named(name.to_string())
    }

    fn descriptors(total: usize, least: usize, principals: usize) -> Arc<Quotas> {
        Quotas::new(Needs::new(0, total), Needs::new(0, least), principals)
    }

    #[test]
    fn one_principal_leaves_room_for_others() {
        let quota = descriptors(10, 1, 2);
        let take = |who, count| quota.take(&named(who), Needs::new(0, count));
        let five = take(0, 5).unwrap();
        assert_eq!(take(0, 1).unwrap_err().shortage, Shortage::Share);
        let _rest = take(1, 5).unwrap();
        assert_eq!(take(2, 1).unwrap_err().shortage, Shortage::All);
        drop(five);
        assert!(take(2, 5).is_ok());
    }

    #[test]
    fn processes_and_descriptors_are_given_together_or_not_at_all() {
        let quotas = Quotas::new(Needs::new(10, 10), Needs::NOTHING, 1);
        let mut taken = quotas.take(&named(0), Needs::new(2, 8)).unwrap();
        let freed = quotas.freed.notified();
        tokio::pin!(freed);
        freed.as_mut().enable();
        let lack = quotas.take(&named(0), Needs::PROCESS).unwrap_err();
        assert!(!lack.is_processes && lack.shortage == Shortage::Share);
        // What was not taken wakes no one.
        assert!(futures_util::FutureExt::now_or_never(freed.as_mut()).is_none());
        assert_eq!(quotas.used(), Needs::new(2, 8));
        drop(taken.split(Needs::new(1, 0)));
        assert_eq!(quotas.used(), Needs::new(1, 8));
        assert!(futures_util::FutureExt::now_or_never(freed).is_some());
        drop(taken);
        assert_eq!(quotas.used(), Needs::NOTHING);
    }

    #[test]
    fn one_session_always_fits() {
        let quota = descriptors(2, 3, 2);
        assert!(quota.take(&named(0), Needs::new(0, 3)).is_ok());
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Take(usize, usize),
        End(usize),
        Drop(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4_usize, 0..5_usize).prop_map(|(who, count)| Step::Take(who, count)),
            (0..16_usize).prop_map(Step::End),
            (0..16_usize).prop_map(Step::Drop),
        ]
    }

    proptest! {
        /// What is given out is what the permits hold, whatever comes in which order; nothing is refused
        /// that fits, and nothing is left when all are gone.
        #[test]
        fn what_is_given_comes_back_once(
            total in 0..12_usize,
            principals in 0..4_usize,
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let quota = descriptors(total, 1, principals);
            let mut permits: Vec<(usize, Permit)> = Vec::new();
            let of = |permits: &[(usize, Permit)], who| -> usize {
                permits.iter().filter(|(of, _)| *of == who).map(|(_, permit)| permit.needs.descriptors).sum()
            };
            for step in steps {
                match step {
                    Step::Take(who, count) => {
                        let all: usize = permits.iter().map(|(_, permit)| permit.needs.descriptors).sum();
                        let fits = of(&permits, who) + count <= quota.share.descriptors && all + count <= quota.total.descriptors;
                        let permit = quota.take(&named(who), Needs::new(0, count));
                        prop_assert_eq!(permit.is_ok(), fits);
                        permits.extend(permit.map(|permit| (who, permit)));
                    }
                    Step::Drop(at) if at < permits.len() => drop(permits.swap_remove(at)),
                    Step::End(at) => {
                        if let Some((_, permit)) = permits.get(at) {
                            permit.ends();
                        }
                    }
                    Step::Drop(_) => {}
                }
                let all: usize = permits.iter().map(|(_, permit)| permit.needs.descriptors).sum();
                prop_assert_eq!(quota.used().descriptors, all);
                prop_assert!(all <= quota.total.descriptors);
                let stays = |of: Option<usize>| -> usize {
                    let permits = permits.iter().filter(|(who, _)| of.is_none_or(|of| of == *who));
                    let permits = permits.filter(|(_, permit)| !permit.is_ending());
                    permits.map(|(_, permit)| permit.needs.descriptors).sum()
                };
                for who in 0..4 {
                    prop_assert_eq!(quota.held_by(&named(who)).descriptors, of(&permits, who));
                    let left = (quota.share.descriptors - stays(Some(who))).min(quota.total.descriptors - stays(None));
                    prop_assert_eq!(quota.left_soon(&named(who)).descriptors, left);
                }
            }
            drop(permits);
            prop_assert_eq!(quota.used(), Needs::NOTHING);
            prop_assert!(quota.used.lock().by_principal.is_empty());
            prop_assert_eq!(quota.used.lock().all.ending, Needs::NOTHING);
        }
    }
}
