//! Which server owns a name: the first that claimed it; or the first in the configuration, where other processes must
//! come to the same.
//!
//! Each server has room of its own: its claims take nothing from others. Names are kept as fingerprints only, and
//! charged to the account of the client.

use super::connection_set::MAX_KEY_BYTES;
use crate::budget::{Account, Charge, Purpose};
use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::{BuildHasher, Hash},
    sync::Arc,
};

/// Bytes of a name and its origin in their tables, with the free space of these.
const ENTRY_BYTES: usize = 160;

/// 128 bits that stand for a name, which cannot be found without the keys.
pub(super) type Fingerprint = u128;

/// The keys of fingerprints.
#[derive(Default)]
pub(super) struct Fingerprints([RandomState; 2]);

impl Fingerprints {
    pub(super) fn get(&self, name: &(impl Hash + ?Sized)) -> Fingerprint {
        let [high, low] = self
            .0
            .each_ref()
            .map(|key| Fingerprint::from(key.hash_one(name)));
        (high << 64) | low
    }
}

/// How a server claims a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Its lists have it.
    List,
    /// A result of its tools names it, which takes nothing from a list.
    Link,
}

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The name is the server's.
    Own,
    /// It is that of another server, which claimed it first.
    OfAnother(usize),
    /// There is no room for it.
    NoRoom,
}

/// Names, and the servers that they are of.
pub(super) struct Owners {
    owners: HashMap<Fingerprint, (usize, Basis)>,
    fingerprints: Fingerprints,
    /// The number of names of each server, and the most.
    counts: HashMap<usize, usize>,
    most: usize,
    /// Of two servers that list a name the first in the configuration has it.
    is_ordered: bool,
    charge: Charge,
}

impl Owners {
    /// Owners of at most so many names of each server.
    pub(super) fn new(most: usize, account: &Arc<Account>, is_ordered: bool) -> Self {
        Self {
            is_ordered,
            owners: HashMap::new(),
            fingerprints: Fingerprints::default(),
            counts: HashMap::new(),
            most,
            charge: account.nothing(),
        }
    }

    /// A server says that a name is its own.
    pub(super) fn claim(&mut self, name: &str, server: usize, by: Basis) -> Claim {
        if name.len() > MAX_KEY_BYTES {
            return Claim::NoRoom;
        }
        let name = self.fingerprints.get(name);
        match self.owners.get_mut(&name) {
            Some((owner, known_by)) if *owner == server => {
                if by == Basis::List {
                    *known_by = Basis::List;
                }
                return Claim::Own;
            }
            Some((owner, known_by)) if by == Basis::Link || *known_by == Basis::List => {
                let is_first = by == Basis::List && server < *owner;
                if !(self.is_ordered && is_first) {
                    return Claim::OfAnother(*owner);
                }
            }
            _ => {}
        }
        let count = self.counts.entry(server).or_default();
        if *count >= self.most || !self.charge.more(ENTRY_BYTES, Purpose::Remembered) {
            return Claim::NoRoom;
        }
        *count += 1;
        if let Some((before, _)) = self.owners.insert(name, (server, by)) {
            if let Some(count) = self.counts.get_mut(&before) {
                *count -= 1;
            }
            self.charge.keep(self.charge.bytes() - ENTRY_BYTES);
        }
        Claim::Own
    }

    /// The server of a name, and how it claimed it.
    pub(super) fn find(&self, name: &str) -> Option<(usize, Basis)> {
        self.owners.get(&self.fingerprints.get(name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{budget::Budget, metrics::Metrics, principal::Principal};

    fn owners(most: usize) -> Owners {
        Owners::new(most, &Account::unlimited(), false)
    }

    #[test]
    fn a_name_is_of_the_first_that_claims_it() {
        let mut owners = owners(2);
        assert_eq!(owners.claim("a", 1, Basis::List), Claim::Own);
        assert_eq!(owners.claim("a", 2, Basis::List), Claim::OfAnother(1));
        owners.claim("b", 1, Basis::List);
        assert_eq!(owners.claim("c", 1, Basis::List), Claim::NoRoom);
        assert_eq!(owners.claim("c", 2, Basis::List), Claim::Own);
        let long = "x".repeat(MAX_KEY_BYTES + 1);
        assert_eq!(owners.claim(&long, 2, Basis::List), Claim::NoRoom);
        let known = ["a", "b", "c"].map(|name| owners.find(name).map(|(server, _)| server));
        assert_eq!(known, [Some(1), Some(1), Some(2)]);
    }

    #[test]
    fn a_list_takes_a_name_from_a_link() {
        let mut owners = owners(2);
        owners.claim("a", 1, Basis::Link);
        assert_eq!(owners.claim("a", 2, Basis::Link), Claim::OfAnother(1));
        assert_eq!(owners.claim("a", 2, Basis::List), Claim::Own);
        assert_eq!(owners.claim("a", 1, Basis::Link), Claim::OfAnother(2));
        assert_eq!(owners.find("a"), Some((2, Basis::List)));
        assert_eq!(owners.counts[&1], 0);
        assert_eq!(owners.charge.bytes(), ENTRY_BYTES);
    }

    #[test]
    fn the_order_of_servers_decides_where_processes_must_agree() {
        let claims = [(0, "a"), (1, "a"), (2, "a"), (1, "b"), (2, "b")];
        let forwards: Vec<usize> = (0..claims.len()).collect();
        let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
        for order in [forwards, backwards, vec![2, 4, 0, 3, 1]] {
            let mut owners = Owners::new(2, &Account::unlimited(), true);
            for at in order {
                let (server, name) = claims[at];
                owners.claim(name, server, Basis::List);
            }
            assert_eq!(owners.find("a"), Some((0, Basis::List)));
            assert_eq!(owners.find("b"), Some((1, Basis::List)));
            assert_eq!(owners.claim("a", 0, Basis::Link), Claim::Own);
            assert_eq!(owners.claim("b", 0, Basis::Link), Claim::OfAnother(1));
            assert_eq!(owners.charge.bytes(), 2 * ENTRY_BYTES);
            assert_eq!(owners.counts.values().sum::<usize>(), 2);
        }
    }

    #[test]
    fn names_are_charged_and_given_back() {
        let budget = Budget::new(10 * ENTRY_BYTES, 0, 0, &Metrics::new());
        let mut owners = Owners::new(100, &budget.account(&Principal::Local), false);
        let claims = (0..12).map(|name| owners.claim(&name.to_string(), 1, Basis::List));
        let refused = claims.filter(|claim| *claim == Claim::NoRoom).count();
        assert_eq!(refused, 2);
        assert_eq!(budget.held(), 10 * ENTRY_BYTES);
        drop(owners);
        assert_eq!(budget.held(), 0);
    }
}
