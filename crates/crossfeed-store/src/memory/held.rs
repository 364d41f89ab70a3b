//! The bytes that a session, or all sessions of one tenant and project, hold.
//!
//! Keeps sums of bytes, and which results go first when something must go.

use crate::StoredResult;
use crossfeed_wire::Scope;
use foldhash::quality::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Sums over results.
#[derive(Default)]
pub(super) struct HeldBytes {
    /// Bytes of all results.
    pub(super) bytes: usize,
    /// Bytes of results whose calls may be made again.
    repeatable: usize,
    /// Bytes of the others, by server.
    lasting: HashMap<Option<Arc<str>>, usize, RandomState>,
}

impl HeldBytes {
    /// A result takes `after` bytes where it took `before`.
    pub(super) fn change(&mut self, result: &StoredResult, before: usize, after: usize) {
        self.bytes = self.bytes + after - before;
        if result.repeatable() {
            self.repeatable = self.repeatable + after - before;
            return;
        }
        self.change_lasting(&result.server().cloned(), before, after);
    }

    /// A server's results take `after` bytes where they took `before`.
    fn change_lasting(&mut self, server: &Option<Arc<str>>, before: usize, after: usize) {
        let bytes = self.lasting.entry(server.clone()).or_default();
        *bytes = (*bytes + after).saturating_sub(before);
        if *bytes == 0 {
            self.lasting.remove(server);
        }
    }

    /// Another's results are gone.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.bytes -= other.bytes;
        self.repeatable -= other.repeatable;
        for (server, bytes) in &other.lasting {
            self.change_lasting(server, *bytes, 0);
        }
    }

    /// Which results go first.
    pub(super) fn order(&self) -> Order {
        // Of one server at most.
        let is_heavy = |bytes: usize| bytes > self.bytes - bytes;
        let heavy = self.lasting.iter().find(|(_, bytes)| is_heavy(**bytes));
        Order {
            has_repeatable: self.repeatable > 0,
            heavy: heavy.map(|(server, _)| server.clone()),
        }
    }
}

/// Which results go first: those whose calls may be made again, and those of a server whose other results
/// are more than half of the bytes. All others go last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    has_repeatable: bool,
    heavy: Option<Option<Arc<str>>>,
}

impl Order {
    pub(super) fn goes_first(&self, result: &StoredResult) -> bool {
        let is_heavy = |server: &Option<Arc<str>>| server.as_ref() == result.server();
        (self.has_repeatable && result.repeatable()) || self.heavy.as_ref().is_some_and(is_heavy)
    }

    /// Whether no result goes before another.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_repeatable && self.heavy.is_none()
    }
}

/// The tenant and project of a scope, who share what the store can hold with all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct OwnerName(String, String);

impl OwnerName {
    pub(super) fn new(scope: &Scope) -> Self {
        Self(scope.tenant().to_owned(), scope.project().to_owned())
    }
}

/// The bytes of all sessions of one tenant and project. Its lock is the last of all: nothing else is locked
/// under it.
pub(super) struct Owner {
    pub(super) name: OwnerName,
    held: Mutex<HeldBytes>,
    /// Whether the bytes changed since the queue last read them.
    is_changed: AtomicBool,
}

impl Owner {
    pub(super) fn new(name: OwnerName) -> Arc<Self> {
        Arc::new(Self {
            name,
            held: Mutex::default(),
            is_changed: AtomicBool::new(false),
        })
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HeldBytes> {
        self.held.lock()
    }

    /// Whether this is the first change since the queue last read the bytes.
    pub(super) fn set_changed(&self) -> bool {
        !self.is_changed.swap(true, Ordering::SeqCst)
    }

    /// Reads the bytes for the queue.
    pub(super) fn looked_at(&self) -> usize {
        self.is_changed.store(false, Ordering::SeqCst);
        self.held().bytes
    }
}
