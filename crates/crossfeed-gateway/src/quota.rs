//! What the machine gives to the gateway in small numbers: descriptors and child processes.
//!
//! What comes in: who asks for how many. What goes out: permits, which give back what they hold when they
//! are dropped. Deliberately not here: connections of clients, which wait and give way to each other.
//!
//! # What holds
//!
//! - Never more is given out than there is, and never more to one principal than its share: half, where
//!   there are several principals.
//! - What was given out comes back exactly once, whichever way its holder ends.

use crate::{config::Limits, principal::Principal, sync::Mutex};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::Notify, time::Instant};

/// Child processes and descriptors for connections to servers, and what each client may have of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quotas {
    /// Child processes.
    pub processes: Arc<Quota>,
    /// Descriptors: the pipes of child processes, and the sockets of requests to servers over HTTP.
    pub descriptors: Arc<Quota>,
}

impl Quotas {
    /// As many as the limits say, shared by so many `principals`. One principal can always have one connection
    /// to each server: to so many child processes, and so many over HTTP, whose unused sockets have their own
    /// descriptors.
    pub(crate) fn new(limits: &Limits, processes: usize, http: usize, principals: usize) -> Self {
        let unused = http.saturating_mul(UNUSED_SOCKETS);
        let descriptors = limits.server_descriptors().saturating_sub(unused);
        let pipes = processes.saturating_mul(Needs::PROCESS.descriptors);
        // One for the connection, and one for a request on it.
        let least = pipes.saturating_add(http.saturating_mul(2));
        Self {
            processes: Quota::new(limits.processes, processes, principals),
            descriptors: Quota::new(descriptors, least, principals),
        }
    }
}

/// Connections to a server over HTTP that are kept without use.
pub(crate) const UNUSED_SOCKETS: usize = 16;

impl Quotas {
    /// The same as [`take`](Self::take), and waits for what comes back while `is_coming` says that something does.
    pub(crate) async fn take_when_there(
        &self,
        principal: &Principal,
        needs: Needs,
        until: Instant,
        mut is_coming: impl FnMut(Lack) -> bool,
    ) -> Result<(Permit, Permit), Lack> {
        loop {
            let processes = self.processes.freed();
            let descriptors = self.descriptors.freed();
            tokio::pin!(processes, descriptors);
            // Registered before it is looked: what comes back in between is not missed.
            processes.as_mut().enable();
            descriptors.as_mut().enable();
            let lack = match self.take(principal, needs) {
                Ok(permits) => return Ok(permits),
                Err(lack) if is_coming(lack) => lack,
                Err(lack) => return Err(lack),
            };
            tokio::select! {
                biased;
                () = processes => {}
                () = descriptors => {}
                () = tokio::time::sleep_until(until) => return Err(lack),
            }
        }
    }

    /// Gives processes and descriptors, or neither: what is taken and given back again at once would wake who
    /// waits for it, for nothing. Else says of what there is too little.
    pub(crate) fn take(
        &self,
        principal: &Principal,
        needs: Needs,
    ) -> Result<(Permit, Permit), Lack> {
        let lack = |is_processes| {
            move |shortage| Lack {
                is_processes,
                shortage,
            }
        };
        let Self {
            processes,
            descriptors,
        } = self;
        // Always in this order.
        let mut used = (processes.used.lock(), descriptors.used.lock());
        let checked = processes.check(&used.0, principal, needs.processes);
        checked.map_err(lack(true))?;
        let checked = descriptors.check(&used.1, principal, needs.descriptors);
        checked.map_err(lack(false))?;
        Ok((
            processes.give(&mut used.0, principal, needs.processes),
            descriptors.give(&mut used.1, principal, needs.descriptors),
        ))
    }
}

/// There is too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    /// Of processes, or else of descriptors.
    pub(crate) is_processes: bool,
    pub(crate) shortage: Shortage,
}

/// What one connection to a server takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) processes: usize,
    pub(crate) descriptors: usize,
}

impl Needs {
    /// A child process: three pipes and, on Linux, one descriptor that tells when it ends.
    pub(crate) const PROCESS: Self = Self {
        processes: 1,
        descriptors: 4,
    };
    /// A server over HTTP: the stream of what belongs to no request. Requests take one each.
    pub(crate) const HTTP: Self = Self {
        processes: 0,
        descriptors: 1,
    };
}

/// A number of equal things, given out and taken back.
#[derive(Debug)]
pub struct Quota {
    total: usize,
    /// How many one principal may have.
    share: usize,
    used: Mutex<Used>,
    /// Some came back.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    of: HashMap<Principal, usize>,
    /// Those of them whose holders are ending.
    ending: HashMap<Principal, usize>,
}

/// Why nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The principal has its share.
    Share,
    /// All are taken.
    All,
}

/// So many of them, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Permit {
    quota: Arc<Quota>,
    principal: Principal,
    count: usize,
    /// Changes under the lock of the quota only.
    is_ending: AtomicBool,
}

impl Quota {
    /// So many in all; half of them for one principal where there are several, but at least `least`.
    pub(crate) fn new(total: usize, least: usize, principals: usize) -> Arc<Self> {
        let total = total.max(least);
        let share = if principals > 1 {
            total.div_ceil(2).max(least)
        } else {
            total
        };
        Arc::new(Self {
            total,
            share,
            used: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many are given out.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.lock().all
    }

    /// How many a principal has.
    pub(crate) fn held_by(&self, principal: &Principal) -> usize {
        self.used.lock().of(principal)
    }

    /// How many a principal could be given once everything that is ending has ended.
    pub(crate) fn left_soon(&self, principal: &Principal) -> usize {
        let used = self.used.lock();
        let own_ending = used.ending.get(principal).copied().unwrap_or_default();
        let all_ending: usize = used.ending.values().sum();
        let of_share = self.share + own_ending - used.of(principal);
        of_share.min(self.total + all_ending - used.all)
    }

    /// Gives `count`, or none.
    pub(crate) fn take(
        self: &Arc<Self>,
        principal: &Principal,
        count: usize,
    ) -> Result<Permit, Shortage> {
        let mut used = self.used.lock();
        self.check(&used, principal, count)?;
        Ok(self.give(&mut used, principal, count))
    }

    fn check(&self, used: &Used, principal: &Principal, count: usize) -> Result<(), Shortage> {
        if count > self.share.saturating_sub(used.of(principal)) {
            Err(Shortage::Share)
        } else if count > self.total.saturating_sub(used.all) {
            Err(Shortage::All)
        } else {
            Ok(())
        }
    }

    fn give(self: &Arc<Self>, used: &mut Used, principal: &Principal, count: usize) -> Permit {
        used.all += count;
        if count > 0 {
            let of = used.of(principal);
            used.of.insert(principal.clone(), of + count);
        }
        Permit {
            quota: Arc::clone(self),
            principal: principal.clone(),
            count,
            is_ending: AtomicBool::new(false),
        }
    }

    /// Waits until some come back after this was first polled or enabled.
    pub(crate) fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }
}

impl Permit {
    /// So many of these, by a permit of their own.
    pub(crate) fn split(&mut self, count: usize) -> Self {
        let count = count.min(self.count);
        self.count -= count;
        Self {
            quota: Arc::clone(&self.quota),
            principal: self.principal.clone(),
            count,
            is_ending: AtomicBool::new(self.is_ending()),
        }
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Its holder is ending: these come back soon.
    pub(crate) fn ends(&self) {
        let mut used = self.quota.used.lock();
        if self.count > 0 && !self.is_ending.swap(true, Ordering::Relaxed) {
            *used.ending.entry(self.principal.clone()).or_default() += self.count;
        }
    }
}

impl Used {
    fn of(&self, principal: &Principal) -> usize {
        self.of.get(principal).copied().unwrap_or_default()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        {
            let mut used = self.quota.used.lock();
            used.all -= self.count;
            match used.of(&self.principal) - self.count {
                0 => used.of.remove(&self.principal),
                left => used.of.insert(self.principal.clone(), left),
            };
            if self.is_ending() {
                let ending = used.ending.get(&self.principal).copied();
                match ending.unwrap_or_default().saturating_sub(self.count) {
                    0 => used.ending.remove(&self.principal),
                    left => used.ending.insert(self.principal.clone(), left),
                };
            }
        }
        self.quota.freed.notify_waiters();
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

    #[test]
    fn one_principal_leaves_room_for_others() {
        let quota = Quota::new(10, 1, 2);
        let five = quota.take(&named(0), 5).unwrap();
        assert_eq!(quota.take(&named(0), 1).unwrap_err(), Shortage::Share);
        let _rest = quota.take(&named(1), 5).unwrap();
        assert_eq!(quota.take(&named(2), 1).unwrap_err(), Shortage::All);
        drop(five);
        assert!(quota.take(&named(2), 5).is_ok());
    }

    #[test]
    fn processes_and_descriptors_are_given_together_or_not_at_all() {
        let quotas = Quotas {
            processes: Quota::new(10, 0, 1),
            descriptors: Quota::new(10, 0, 1),
        };
        let (mut processes, descriptors) = quotas
            .take(
                &named(0),
                Needs {
                    processes: 2,
                    descriptors: 8,
                },
            )
            .unwrap();
        let freed = quotas.processes.freed();
        tokio::pin!(freed);
        freed.as_mut().enable();
        let lack = quotas.take(&named(0), Needs::PROCESS).unwrap_err();
        assert!(!lack.is_processes && lack.shortage == Shortage::Share);
        // Nobody is woken for what was not taken.
        assert!(futures_util::FutureExt::now_or_never(freed.as_mut()).is_none());
        assert_eq!(quotas.processes.used(), 2);
        drop(processes.split(1));
        assert_eq!(quotas.processes.used(), 1);
        assert!(futures_util::FutureExt::now_or_never(freed).is_some());
        drop((processes, descriptors));
        assert_eq!((quotas.processes.used(), quotas.descriptors.used()), (0, 0));
    }

    #[test]
    fn one_session_always_fits() {
        let quota = Quota::new(2, 3, 2);
        assert!(quota.take(&named(0), 3).is_ok());
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
            let quota = Quota::new(total, 1, principals);
            let mut permits: Vec<(usize, Permit)> = Vec::new();
            let of = |permits: &[(usize, Permit)], who| -> usize {
                permits.iter().filter(|(of, _)| *of == who).map(|(_, permit)| permit.count).sum()
            };
            for step in steps {
                match step {
                    Step::Take(who, count) => {
                        let all: usize = permits.iter().map(|(_, permit)| permit.count).sum();
                        let fits = of(&permits, who) + count <= quota.share && all + count <= quota.total;
                        let permit = quota.take(&named(who), count);
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
                let all: usize = permits.iter().map(|(_, permit)| permit.count).sum();
                prop_assert_eq!(quota.used(), all);
                prop_assert!(all <= quota.total);
                let stays = |of: Option<usize>| -> usize {
                    let permits = permits.iter().filter(|(who, _)| of.is_none_or(|of| of == *who));
                    let permits = permits.filter(|(_, permit)| !permit.is_ending());
                    permits.map(|(_, permit)| permit.count).sum()
                };
                for who in 0..4 {
                    prop_assert_eq!(quota.held_by(&named(who)), of(&permits, who));
                    let left = (quota.share - stays(Some(who))).min(quota.total - stays(None));
                    prop_assert_eq!(quota.left_soon(&named(who)), left);
                }
            }
            drop(permits);
            prop_assert_eq!(quota.used(), 0);
            prop_assert!(quota.used.lock().of.is_empty() && quota.used.lock().ending.is_empty());
        }
    }
}
