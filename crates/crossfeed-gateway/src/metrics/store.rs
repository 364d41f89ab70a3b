//! What a store counted, in the families of the gateway.

use super::{
    Metrics,
    families::{STORE_CACHE, STORE_FAILURES, STORE_GONE, STORE_LOST_LEASES, STORE_OPERATIONS},
};
use crossfeed_store::StoreMetrics;

impl Metrics {
    /// Shows what a store has counted so far.
    pub(crate) fn show_store(&self, store: &StoreMetrics) {
        let total = |family, labels: &[&str], count: u64| {
            let counter = self.counter(family, labels);
            counter.set(usize::try_from(count).unwrap_or(usize::MAX));
        };
        for counted in &store.operations {
            let labels = [counted.operation];
            self.histogram(STORE_OPERATIONS, &labels).set(counted);
            total(STORE_FAILURES, &labels, counted.failed);
        }
        total(STORE_CACHE, &["hit"], store.cache_hits);
        total(STORE_CACHE, &["miss"], store.cache_misses);
        total(STORE_GONE, &["evicted"], store.evicted);
        total(STORE_GONE, &["expired"], store.expired);
        total(STORE_LOST_LEASES, &[], store.lost_leases);
    }
}
