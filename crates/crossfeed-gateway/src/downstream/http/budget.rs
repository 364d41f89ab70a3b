//! The bytes that clients have sent and that are held, of all requests together.
//!
//! What comes in: how much the body of a request takes. What goes out: that there is room for it, or not.
//! Deliberately not here: reading bodies.
//!
//! # What holds
//!
//! - What is held is never more than the budget, and of one principal never more than its share.
//! - What a body takes is given back when the last that refers to its bytes is gone: not when it was read.

use crate::downstream::Principal;
use bytes::Bytes;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What all bodies may take together.
pub(super) struct Budget {
    most: usize,
    /// What those of one principal may take.
    share: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    of: HashMap<Principal, usize>,
}

/// What one body takes.
pub(super) struct Share {
    budget: Arc<Budget>,
    principal: Principal,
    bytes: usize,
}

impl Budget {
    /// As many bytes in all; half of them for one principal where there are several. One message of
    /// `largest` bytes always fits in.
    pub(super) fn new(most: usize, largest: usize, principals: usize) -> Arc<Self> {
        let most = most.max(largest);
        Arc::new(Self {
            most,
            share: match principals > 1 {
                true => most.div_ceil(2).max(largest),
                false => most,
            },
            held: Mutex::default(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all may take.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// What the body of a request takes: nothing yet.
    pub(super) fn share(self: &Arc<Self>, principal: &Principal) -> Share {
        Share {
            budget: Arc::clone(self),
            principal: principal.clone(),
            bytes: 0,
        }
    }
}

impl Share {
    /// Takes as many bytes, if there is room for them.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let mut held = self.budget.held();
        let of = held.of.get(&self.principal).copied().unwrap_or_default();
        let fits = |held: usize, most: usize| bytes <= most.saturating_sub(held);
        if !fits(held.all, self.budget.most) || !fits(of, self.budget.share) {
            return false;
        }
        held.all += bytes;
        held.of.insert(self.principal.clone(), of + bytes);
        self.bytes += bytes;
        true
    }

    /// Bytes that take this share for as long as anything refers to them.
    pub(super) fn of(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Body {
            bytes,
            _share: self,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.budget.held();
        held.all -= self.bytes;
        let of = held.of.get(&self.principal).copied().unwrap_or_default();
        match of - self.bytes {
            0 => held.of.remove(&self.principal),
            left => held.of.insert(self.principal.clone(), left),
        };
    }
}

struct Body {
    bytes: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Principal {
        Principal::Named(name.to_owned())
    }

    #[test]
    fn what_is_held_is_bounded_in_sum() {
        let budget = Budget::new(100, 60, 0);
        let mut one = budget.share(&Principal::Anonymous);
        assert!(one.take(40) && one.take(20));
        let mut two = budget.share(&Principal::Anonymous);
        assert!(!two.take(41));
        assert!(two.take(40));
        assert!(!one.take(1));
        let body = two.of(vec![0; 40]);
        let part = body.slice(3..4);
        drop(body);
        assert!(!one.take(1));
        drop(part);
        assert!(one.take(40));
        drop(one);
        assert_eq!(budget.held().all, 0);
        assert!(budget.held().of.is_empty());
    }

    #[test]
    fn one_holder_leaves_room_for_others() {
        let budget = Budget::new(100, 10, 2);
        let mut one = budget.share(&named("a"));
        assert!(!one.take(51));
        assert!(one.take(50));
        assert!(!budget.share(&named("a")).take(1));
        assert!(budget.share(&named("b")).take(50));
    }

    #[test]
    fn the_largest_message_fits_in() {
        assert!(Budget::new(1, 50, 0).share(&named("a")).take(50));
        assert!(Budget::new(60, 50, 9).share(&named("a")).take(50));
    }
}
