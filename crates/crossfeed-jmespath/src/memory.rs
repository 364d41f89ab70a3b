//! Memory that evaluations share: values are charged to it before they are built.
//!
//! # Invariants
//!
//! - Bytes are taken before they are allocated, and given back when the value is dropped.
//! - Small values take nothing.

use crate::budget::Cost;
use std::{cell::Cell, fmt, sync::Arc};

/// A host's memory, to which all values built by selectors are charged.
///
/// All bytes taken are given back. Both methods may be called from any thread.
///
/// ```
/// use crossfeed_jmespath::Memory;
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// /// The bytes that are left.
/// #[derive(Debug)]
/// struct Left(AtomicUsize);
///
/// impl Memory for Left {
///     fn take(&self, needed: usize, wanted: usize) -> Option<usize> {
///         let take = |left, bytes| usize::checked_sub(left, bytes);
///         let all = self.0.fetch_update(Relaxed, Relaxed, |left| take(left, wanted));
///         let least = || self.0.fetch_update(Relaxed, Relaxed, |left| take(left, needed));
///         all.map(|_| wanted).or_else(|_| least().map(|_| needed)).ok()
///     }
///
///     fn give_back(&self, bytes: usize) {
///         self.0.fetch_add(bytes, Relaxed);
///     }
/// }
///
/// let left = Left(AtomicUsize::new(100));
/// assert_eq!(left.take(10, 80), Some(80));
/// assert_eq!(left.take(10, 80), Some(10));
/// assert_eq!(left.take(11, 80), None);
/// ```
pub trait Memory: fmt::Debug + Send + Sync {
    /// Takes `wanted` bytes, or at least the `needed` ones. Returns how many it took; `None` if there are too
    /// few.
    fn take(&self, needed: usize, wanted: usize) -> Option<usize>;

    /// Gives back bytes that were taken.
    fn give_back(&self, bytes: usize);
}

/// Bytes that are free of charge: most selections build less.
const UNCHARGED: usize = 64 << 10;
/// Bytes are taken in tranches of this size, so that small lists seldom cost anything.
const TRANCHE: usize = 256 << 10;

/// The bytes that one piece of work takes from a [`Memory`], given back on drop.
#[derive(Debug)]
pub struct Reservation {
    memory: Option<Arc<dyn Memory>>,
    taken: Cell<usize>,
    used: Cell<usize>,
    /// How many more may be used without taking any.
    covered: Cell<usize>,
}

/// Bytes taken from a [`Memory`], given back on drop.
#[derive(Debug)]
pub struct Charge {
    memory: Option<Arc<dyn Memory>>,
    bytes: usize,
}

impl Default for Reservation {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Reservation {
    /// An empty reservation. Without a memory there is no limit.
    pub fn new(memory: Option<Arc<dyn Memory>>) -> Self {
        let uncharged = if memory.is_some() {
            UNCHARGED
        } else {
            usize::MAX
        };
        Self {
            memory,
            taken: Cell::new(0),
            used: Cell::new(0),
            covered: Cell::new(uncharged),
        }
    }

    /// Reserves bytes before they are built. The first 64 KiB are free.
    ///
    /// # Errors
    ///
    /// [`Cost::Memory`] if there is not enough.
    #[inline]
    pub fn reserve(&self, bytes: usize) -> Result<(), Cost> {
        let used = self.used.get().saturating_add(bytes);
        if used > self.covered.get() {
            self.cover(used)?;
        }
        self.used.set(used);
        Ok(())
    }

    /// Frees reserved bytes: later values use them, and many are given back.
    #[inline]
    pub fn release(&self, bytes: usize) {
        let used = self.used.get().saturating_sub(bytes);
        self.used.set(used);
        if self.covered.get() - used >= TRANCHE && self.taken.get() > 0 {
            self.uncover(used);
        }
    }

    /// Whether bytes are charged to a memory.
    pub(crate) fn is_charged(&self) -> bool {
        self.memory.is_some()
    }

    /// Bytes that are reserved.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    #[cold]
    fn uncover(&self, used: usize) {
        let (taken, covered) = (self.taken.get(), self.covered.get());
        let unused = taken.min(covered - used);
        if let Some(memory) = &self.memory {
            self.taken.set(taken - unused);
            self.covered.set(covered - unused);
            memory.give_back(unused);
        }
    }

    #[cold]
    fn cover(&self, used: usize) -> Result<(), Cost> {
        let covered = self.covered.get();
        let Some(memory) = &self.memory else {
            return Ok(());
        };
        let needed = used - covered;
        let taken = memory
            .take(needed, needed.max(TRANCHE))
            .ok_or(Cost::Memory)?;
        self.taken.set(self.taken.get() + taken);
        self.covered.set(covered.saturating_add(taken));
        Ok(())
    }

    /// Lets a list grow by this many items, once their bytes are reserved.
    ///
    /// # Errors
    ///
    /// [`Cost::Memory`] if there is not enough.
    #[inline]
    pub fn grow_by<T>(&self, list: &mut Vec<T>, items: usize) -> Result<(), Cost> {
        if list.capacity() - list.len() < items {
            return self.regrow(list, items);
        }
        Ok(())
    }

    #[inline(never)]
    fn regrow<T>(&self, list: &mut Vec<T>, items: usize) -> Result<(), Cost> {
        let before = list.capacity();
        let needed = list.len().saturating_add(items);
        let after = needed.max(before.saturating_mul(2)).max(4);
        // While it moves, it exists twice.
        self.reserve(after.saturating_mul(size_of::<T>()))?;
        list.reserve_exact(after - list.len());
        self.release(before.saturating_mul(size_of::<T>()));
        Ok(())
    }

    /// The bytes taken so far, to be held for longer than the work.
    pub fn into_charge(mut self) -> Charge {
        self.taken()
    }

    fn taken(&mut self) -> Charge {
        Charge {
            memory: self.memory.take(),
            bytes: self.taken.replace(0),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        drop(self.taken());
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory
            && self.bytes > 0
        {
            memory.give_back(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[derive(Debug)]
    struct Bytes {
        limit: usize,
        held: AtomicUsize,
    }

    impl Memory for Bytes {
        fn take(&self, needed: usize, wanted: usize) -> Option<usize> {
            let left = self.limit - self.held.load(SeqCst);
            let taken = wanted.min(left);
            (taken >= needed).then(|| {
                self.held.fetch_add(taken, SeqCst);
                taken
            })
        }

        fn give_back(&self, bytes: usize) {
            self.held.fetch_sub(bytes, SeqCst);
        }
    }

    fn memory(limit: usize) -> Arc<Bytes> {
        let held = AtomicUsize::new(0);
        Arc::new(Bytes { limit, held })
    }

    #[test]
    fn what_is_large_takes_memory_and_gives_it_back() {
        let memory = memory(1 << 20);
        let reservation = Reservation::new(Some(memory.clone()));
        reservation.reserve(UNCHARGED).unwrap();
        assert_eq!(memory.held.load(SeqCst), 0);
        reservation.reserve(1).unwrap();
        assert_eq!(memory.held.load(SeqCst), TRANCHE);
        reservation.reserve(TRANCHE - 1).unwrap();
        assert_eq!(memory.held.load(SeqCst), TRANCHE);
        // With less than a tranche left, the needed bytes suffice.
        reservation.reserve(3 * TRANCHE - 5).unwrap();
        assert_eq!(reservation.reserve(6), Err(Cost::Memory));
        reservation.release(10);
        reservation.reserve(15).unwrap();
        assert_eq!(memory.held.load(SeqCst), 1 << 20);
        reservation.release(2 * TRANCHE);
        assert_eq!(memory.held.load(SeqCst), 2 * TRANCHE);
        drop(reservation);
        assert_eq!(memory.held.load(SeqCst), 0);
    }

    #[test]
    fn what_is_taken_may_be_held_for_longer() {
        let memory = memory(1 << 20);
        let reservation = Reservation::new(Some(memory.clone()));
        reservation.reserve(1 << 19).unwrap();
        let taken = reservation.into_charge();
        assert_eq!(memory.held.load(SeqCst), (1 << 19) - UNCHARGED);
        drop(taken);
        assert_eq!(memory.held.load(SeqCst), 0);
    }

    #[test]
    fn without_a_memory_there_is_no_limit() {
        let reservation = Reservation::default();
        reservation.reserve(usize::MAX).unwrap();
        reservation.reserve(usize::MAX).unwrap();
    }
}
