//! What stores hold, asked for when metrics are collected.

use crossfeed_core::StoreWatch;
use opentelemetry::metrics::Meter;
use parking_lot::Mutex;
use std::sync::Arc;

/// What stores hold, and what has left them, of all of them together.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: i64,
    results: i64,
    evicted: u64,
    expired: u64,
}

/// The stores that are watched.
#[derive(Default)]
pub(super) struct StoreMetrics(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    /// Each with what had left it when it was asked last.
    stores: Vec<(StoreWatch, [u64; 2])>,
    /// What left stores that are gone: counts never go down.
    gone: [u64; 2],
}

impl Watched {
    fn forget_those_gone(&mut self) {
        let gone = &mut self.gone;
        self.stores.retain(|(store, [evicted, expired])| {
            let is_over = store.is_over();
            if is_over {
                *gone = [gone[0] + evicted, gone[1] + expired];
            }
            !is_over
        });
    }
}

impl StoreMetrics {
    pub(super) fn add(&self, store: StoreWatch) {
        let mut watched = self.0.lock();
        watched.forget_those_gone();
        if !watched
            .stores
            .iter()
            .any(|(known, _)| known.is_same(&store))
        {
            watched.stores.push((store, [0, 0]));
        }
    }

    fn sums(&self) -> Sums {
        // Stores are a host's: they are asked, and dropped, while nothing is locked.
        let stores: Vec<StoreWatch> = {
            let mut watched = self.0.lock();
            watched.forget_those_gone();
            watched
                .stores
                .iter()
                .map(|(store, _)| store.clone())
                .collect()
        };
        let asked: Vec<_> = stores
            .into_iter()
            .filter_map(|store| Some((store.usage()?, store)))
            .collect();
        let mut sums = Sums::default();
        let mut watched = self.0.lock();
        for (usage, store) in asked {
            let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
            sums.bytes = sums.bytes.saturating_add(whole(usage.result_bytes));
            sums.results = sums.results.saturating_add(whole(usage.results));
            let known = watched.stores.iter_mut();
            for (_, lost) in known.filter(|(known, _)| known.is_same(&store)) {
                // Another thread may have asked later.
                *lost = [lost[0].max(usage.evicted), lost[1].max(usage.expired)];
            }
        }
        let lost = watched.stores.iter().map(|(_, lost)| lost);
        for [evicted, expired] in lost.chain([&watched.gone]) {
            sums.evicted = sums.evicted.saturating_add(*evicted);
            sums.expired = sums.expired.saturating_add(*expired);
        }
        sums
    }

    /// Offers the sums to a meter.
    pub(super) fn observe(self: &Arc<Self>, meter: &Meter) {
        let gauge = |name, unit, description, value: fn(Sums) -> i64| {
            let metrics = Arc::clone(self);
            let _ = meter
                .i64_observable_up_down_counter(name)
                .with_unit(unit)
                .with_description(description)
                .with_callback(move |observer| observer.observe(value(metrics.sums()), &[]))
                .build();
        };
        let counter = |name, description, value: fn(Sums) -> u64| {
            let metrics = Arc::clone(self);
            let _ = meter
                .u64_observable_counter(name)
                .with_unit("{result}")
                .with_description(description)
                .with_callback(move |observer| observer.observe(value(metrics.sums()), &[]))
                .build();
        };
        let bytes = "Results that are held, their indexes included";
        gauge("crossfeed.store.bytes", "By", bytes, |sums| sums.bytes);
        let results = "Results that are held";
        gauge("crossfeed.store.results", "{result}", results, |sums| {
            sums.results
        });
        let evictions = "Results that had to make room";
        counter("crossfeed.store.evictions", evictions, |sums| sums.evicted);
        let expirations = "Results whose time was over";
        counter("crossfeed.store.expirations", expirations, |sums| {
            sums.expired
        });
    }
}
