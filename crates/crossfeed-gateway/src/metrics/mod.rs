//! Counters, gauges and histograms, written in Prometheus' text format. Labels never hold payload.

pub mod families;
mod recorder;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use recorder::{GatewayMetrics, Outcome, RequestTimer, ResultOutcome, ServerMetrics};

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

/// The most series of one family whose labels are not known from the start; others count as `other`.
const MAX_SERIES: usize = 256;
/// The most bytes of a label's value.
const MAX_LABEL_BYTES: usize = 64;
/// What stands for series beyond the limit.
const OTHER: &str = "other";

/// Upper bounds of durations, in seconds: from what the gateway adds to what a slow tool takes.
const SECONDS: [f64; 16] = [
    0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0,
    5.0, 30.0, 120.0,
];

/// How a thing is measured: as a count that grows, as what exists now, or by how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Counter,
    Gauge,
    Seconds,
}

/// One thing that is measured: its name, what it is, and the names of its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    kind: Kind,
}

impl Family {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn none(self) -> Value {
        match self.kind {
            Kind::Counter => Value::Counter(Counter::default()),
            Kind::Gauge => Value::Gauge(Arc::default()),
            Kind::Seconds => Value::Seconds(Histogram::default()),
        }
    }
}

/// One count, found once: counting takes no lock. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// So many more.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long one kind of thing takes, found once: counting takes no lock. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Arc<Durations>);

#[derive(Debug, Default)]
struct Durations {
    buckets: [AtomicU64; SECONDS.len()],
    /// Those beyond the last bound.
    beyond: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// It took so long.
    pub fn took(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let at = SECONDS.partition_point(|bound| *bound < seconds);
        let bucket = self.0.buckets.get(at).unwrap_or(&self.0.beyond);
        bucket.fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Everything that is measured. Cloning shares it.
///
/// # Invariants
///
/// Its memory is bounded by the number of families and by what the configuration names, whatever labels
/// come.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<Families>>);

type Families = BTreeMap<Family, BTreeMap<Vec<String>, Value>>;

#[derive(Clone, Debug)]
enum Value {
    Counter(Counter),
    Gauge(Arc<AtomicI64>),
    Seconds(Histogram),
}

impl Metrics {
    /// Nothing was measured yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The family is written, also as long as nothing of it was measured.
    pub fn declare(&self, family: Family) {
        self.0.lock().entry(family).or_default();
    }

    /// A counter that is there from now on. For labels that the configuration names, or that are few.
    #[must_use]
    pub fn counter(&self, family: Family, labels: &[&str]) -> Counter {
        match self.value(family, labels, usize::MAX) {
            Value::Counter(counter) => counter,
            _ => Counter::default(),
        }
    }

    /// A histogram that is there from now on. For labels that the configuration names, or that are few.
    #[must_use]
    pub fn histogram(&self, family: Family, labels: &[&str]) -> Histogram {
        match self.value(family, labels, usize::MAX) {
            Value::Seconds(histogram) => histogram,
            _ => Histogram::default(),
        }
    }

    /// One more. `labels` are the values of the family's, in order.
    pub fn count(&self, family: Family, labels: &[&str]) {
        if let Value::Counter(counter) = self.value(family, labels, MAX_SERIES) {
            counter.add(1);
        }
    }

    /// More, or less, of what is there now.
    pub fn add(&self, family: Family, labels: &[&str], change: i64) {
        if let Value::Gauge(gauge) = self.value(family, labels, MAX_SERIES) {
            gauge.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// So much is there now.
    pub fn set(&self, family: Family, labels: &[&str], there: usize) {
        if let Value::Gauge(gauge) = self.value(family, labels, MAX_SERIES) {
            gauge.store(i64::try_from(there).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
    }

    /// It took so long.
    pub fn took(&self, family: Family, labels: &[&str], time: Duration) {
        if let Value::Seconds(histogram) = self.value(family, labels, MAX_SERIES) {
            histogram.took(time);
        }
    }

    /// Counts the panics of the process from here on, and logs where each was. What it says is not logged:
    /// it may hold payload.
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

    /// What is measured under these labels; beyond `most` of the family, what stands for all others.
    fn value(&self, family: Family, labels: &[&str], most: usize) -> Value {
        let named = |at: usize| {
            let label = labels.get(at).copied().unwrap_or_default();
            let end = label.len().min(MAX_LABEL_BYTES);
            let end = (0..=end).rfind(|end| label.is_char_boundary(*end));
            label[..end.unwrap_or_default()].to_owned()
        };
        let mut labels: Vec<String> = (0..family.labels.len()).map(named).collect();
        let mut families = self.0.lock();
        let series = families.entry(family).or_default();
        if series.len() >= most && !series.contains_key(&labels) {
            labels.fill(OTHER.to_owned());
        }
        series
            .entry(labels)
            .or_insert_with(|| family.none())
            .clone()
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(&self.0.lock())
    }
}
