//! A store as it is watched for its figures.

use crossfeed_store::{ResultStore, Usage};
use std::{
    fmt,
    sync::{Arc, Weak},
};

/// What a store holds, for whoever reports it; it does not keep the store.
#[derive(Clone)]
pub struct StoreWatch(Weak<dyn ResultStore>);

impl StoreWatch {
    pub(crate) fn of(store: &Arc<dyn ResultStore>) -> Self {
        Self(Arc::downgrade(store))
    }

    /// What the store holds, and what has left it; `None` where it does not know or is gone.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.0.upgrade()?.held()
    }

    /// Whether the store is gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Whether both are of one store: engines may share it.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl fmt::Debug for StoreWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWatch")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
