//! The latest call of each tool with the same arguments, so that a change of an older result can be told of.

use crossfeed_store::StoredResult;
use crossfeed_wire::{CallId, Scope};
use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{fmt, num::NonZeroUsize};

/// The most calls that are remembered, of all sessions together: about a megabyte.
const MAX_CALLS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// What makes two calls the same: the scope, the tool and the arguments as they were written, as a digest.
pub(crate) type SameCall = [u8; 32];

/// The latest call of each tool with the same arguments that this engine recorded, of as many as it remembers.
pub(crate) struct LatestCalls(Mutex<LruCache<SameCall, CallId>>);

impl fmt::Debug for LatestCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LatestCalls")
    }
}

impl Default for LatestCalls {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_CALLS)))
    }
}

/// What makes a call the same as another; `None` where its tool or its arguments are not known, and where it failed.
pub(crate) fn same_call(scope: &Scope, result: &StoredResult) -> Option<SameCall> {
    if result.failed() {
        return None;
    }
    let arguments = result.arguments()?;
    let (tenant, project, session) = (scope.tenant(), scope.project(), scope.session());
    let mut digest = Sha256::new();
    for part in [tenant, project, session, result.tool()?] {
        // No part holds a control character.
        digest.update(part);
        digest.update([0]);
    }
    digest.update(arguments);
    Some(digest.finalize().into())
}

impl LatestCalls {
    /// Notes that a call was recorded.
    pub(crate) fn note(&self, call: SameCall, call_id: &CallId) {
        self.0.lock().put(call, call_id.clone());
    }

    /// The later call in place of this one, if there was one.
    pub(crate) fn after(&self, call: &SameCall, call_id: &CallId) -> Option<CallId> {
        let mut calls = self.0.lock();
        calls.get(call).filter(|latest| *latest != call_id).cloned()
    }
}
