//! What stores hold, read when metrics are collected.

use crossfeed_core::StoreWatch;
use opentelemetry::metrics::Meter;
use parking_lot::Mutex;
use std::sync::Arc;

/// What all stores hold together, and what has left them.
#[derive(Clone, Copy, Default)]
struct Totals {
    bytes: usize,
    results: usize,
    evicted: u64,
    expired: u64,
}

/// The watched stores.
#[derive(Default)]
pub(super) struct StoreMetrics(Mutex<Stores>);

#[derive(Default)]
struct Stores {
    /// Each with how many results it had evicted and expired when it was last read.
    live: Vec<(StoreWatch, [u64; 2])>,
    /// The same of stores that were dropped: counts never go down.
    dropped: [u64; 2],
}

impl Stores {
    /// The stores that are still there.
    fn live(&mut self) -> &mut Vec<(StoreWatch, [u64; 2])> {
        for (_, [evicted, expired]) in self.live.extract_if(.., |(store, _)| store.is_over()) {
            self.dropped[0] += evicted;
            self.dropped[1] += expired;
        }
        &mut self.live
    }
}

impl StoreMetrics {
    pub(super) fn add(&self, store: StoreWatch) {
        let mut stores = self.0.lock();
        let live = stores.live();
        if !live.iter().any(|(known, _)| known.is_same(&store)) {
            live.push((store, [0, 0]));
        }
    }

    fn totals(&self) -> Totals {
        let live = self.0.lock().live().clone();
        // Reading or dropping a store runs the host's code, so no lock is held.
        let read = live.into_iter();
        let read: Vec<_> = read
            .filter_map(|(store, _)| Some((store.usage()?, store)))
            .collect();
        let mut totals = Totals::default();
        let mut stores = self.0.lock();
        for (usage, store) in read {
            totals.bytes = totals.bytes.saturating_add(usage.result_bytes);
            totals.results = totals.results.saturating_add(usage.results);
            let known = stores.live.iter_mut();
            for (_, lost) in known.filter(|(known, _)| known.is_same(&store)) {
                // Another thread may have read it later.
                *lost = [lost[0].max(usage.evicted), lost[1].max(usage.expired)];
            }
        }
        let lost = stores.live.iter().map(|(_, lost)| lost);
        for [evicted, expired] in lost.chain([&stores.dropped]) {
            totals.evicted = totals.evicted.saturating_add(*evicted);
            totals.expired = totals.expired.saturating_add(*expired);
        }
        totals
    }

    /// Reports the totals to a meter.
    pub(super) fn observe(self: &Arc<Self>, meter: &Meter) {
        let gauge = |name, unit, description, value: fn(Totals) -> usize| {
            let metrics = Arc::clone(self);
            let value = move || i64::try_from(value(metrics.totals())).unwrap_or(i64::MAX);
            let _ = meter
                .i64_observable_up_down_counter(name)
                .with_unit(unit)
                .with_description(description)
                .with_callback(move |observer| observer.observe(value(), &[]))
                .build();
        };
        let counter = |name, description, value: fn(Totals) -> u64| {
            let metrics = Arc::clone(self);
            let _ = meter
                .u64_observable_counter(name)
                .with_unit("{result}")
                .with_description(description)
                .with_callback(move |observer| observer.observe(value(metrics.totals()), &[]))
                .build();
        };
        let bytes = "Results that are held, their indexes included";
        gauge("crossfeed.store.bytes", "By", bytes, |all| all.bytes);
        let results = "Results that are held";
        gauge("crossfeed.store.results", "{result}", results, |all| {
            all.results
        });
        let evictions = "Results that had to make room";
        counter("crossfeed.store.evictions", evictions, |all| all.evicted);
        let expirations = "Results whose time was over";
        counter("crossfeed.store.expirations", expirations, |all| {
            all.expired
        });
    }
}
