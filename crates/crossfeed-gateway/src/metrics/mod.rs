//! Counters, gauges and histograms, written in Prometheus' text format. Labels never hold payload.

pub mod families;
mod recorder;
mod store;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use recorder::{GatewayMetrics, Outcome, RequestTimer, ResultOutcome, ServerMetrics};

use crossfeed_store::{LATENCY_BOUNDS, OperationMetrics};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The most series of one family whose labels are not known from the start; others count as `other`.
const MAX_SERIES: usize = 256;
/// The most bytes of a label's value.
const MAX_LABEL_BYTES: usize = 64;
/// The label of all series beyond the limit.
const OTHER: &str = "other";

/// The type of a metric, named as Prometheus does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Kind {
    Counter,
    Gauge,
    /// Durations in seconds.
    Histogram,
}

/// A metric: its name, its help text, and the names of its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    pub(crate) name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    kind: Kind,
}

/// A counter or a gauge, looked up once: changing it takes no lock. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds to the count.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn set(&self, value: usize) {
        self.0.store(value as u64, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Durations by size, looked up once: adding one takes no lock. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Arc<Durations>);

#[derive(Debug, Default)]
struct Durations {
    /// By [`LATENCY_BOUNDS`], then those beyond the last bound.
    buckets: [AtomicU64; LATENCY_BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// Adds a duration.
    pub fn took(&self, time: Duration) {
        let at = LATENCY_BOUNDS.partition_point(|bound| *bound < time);
        self.0.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.0
            .nanoseconds
            .fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Takes over what was counted elsewhere.
    fn set(&self, counted: &OperationMetrics) {
        for (bucket, count) in self.0.buckets.iter().zip(counted.histogram) {
            bucket.store(count, Ordering::Relaxed);
        }
        self.0
            .nanoseconds
            .store(nanoseconds(counted.total), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// All metrics. Cloning shares them.
///
/// # Invariants
///
/// Its memory is bounded by the number of families and by what the configuration names, whatever labels
/// come.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<Families>>);

type Families = BTreeMap<Family, BTreeMap<Vec<String>, Series>>;

/// The value of a metric under one set of labels.
#[derive(Clone, Debug)]
enum Series {
    Number(Counter),
    Durations(Histogram),
}

impl Metrics {
    /// Metrics without any series.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the family from now on, even while it has no series.
    pub fn declare(&self, family: Family) {
        self.0.lock().entry(family).or_default();
    }

    /// A counter that is written from now on. For labels that are few, or that the configuration names.
    pub fn counter(&self, family: Family, labels: &[&str]) -> Counter {
        self.number(family, labels, usize::MAX)
    }

    /// A histogram that is written from now on. For labels that are few, or that the configuration names.
    pub fn histogram(&self, family: Family, labels: &[&str]) -> Histogram {
        match self.series(family, labels, usize::MAX) {
            Series::Durations(histogram) => histogram,
            Series::Number(_) => Histogram::default(),
        }
    }

    /// Counts one more. `labels` are the values of the family's labels, in order.
    pub fn count(&self, family: Family, labels: &[&str]) {
        self.number(family, labels, MAX_SERIES).add(1);
    }

    /// Sets a gauge.
    pub fn set(&self, family: Family, labels: &[&str], value: usize) {
        self.number(family, labels, MAX_SERIES).set(value);
    }

    /// Counts the panics of the process from here on, and logs where each was, but not its message, which may
    /// hold payload.
    pub fn count_panics(&self) {
        let panics = self.counter(families::PANICS, &[]);
        std::panic::set_hook(Box::new(move |panic| {
            panics.add(1);
            let at = panic.location().map(ToString::to_string);
            tracing::error!(
                target: "crossfeed::gateway",
                at = at.as_deref().unwrap_or("an unknown place"),
                "a task of the gateway panicked: this is a fault of the gateway"
            );
        }));
    }

    fn number(&self, family: Family, labels: &[&str], max_series: usize) -> Counter {
        match self.series(family, labels, max_series) {
            Series::Number(counter) => counter,
            Series::Durations(_) => Counter::default(),
        }
    }

    /// The series of these labels; beyond `max_series` of the family, the series of all others.
    fn series(&self, family: Family, labels: &[&str], max_series: usize) -> Series {
        let label = |at: usize| {
            let label = labels.get(at).copied().unwrap_or_default();
            let end = label.len().min(MAX_LABEL_BYTES);
            let end = (0..=end).rfind(|end| label.is_char_boundary(*end));
            label[..end.unwrap_or_default()].to_owned()
        };
        let mut labels: Vec<String> = (0..family.labels.len()).map(label).collect();
        let mut families = self.0.lock();
        let series = families.entry(family).or_default();
        if series.len() >= max_series && !series.contains_key(&labels) {
            labels.fill(OTHER.to_owned());
        }
        let new = || match family.kind {
            Kind::Counter | Kind::Gauge => Series::Number(Counter::default()),
            Kind::Histogram => Series::Durations(Histogram::default()),
        };
        series.entry(labels).or_insert_with(new).clone()
    }

    /// All metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        text::write(&self.0.lock())
    }
}
