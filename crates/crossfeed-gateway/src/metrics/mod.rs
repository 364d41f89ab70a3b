//! What is counted, as Prometheus reads it.
//!
//! What comes in: events of the gateway, by names and labels; and states at the time of asking. What goes
//! out: text. Deliberately not here: traces and logs, and whatever is payload: labels hold names of
//! servers, methods and outcomes.

mod text;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Series of one family; whatever comes beyond counts as `other`.
const SERIES: usize = 256;
/// Bytes of a label's value.
const LABEL: usize = 64;
/// What stands for series beyond the limit.
const OTHER: &str = "other";

/// Upper bounds of durations, in seconds: from what the gateway adds to what a slow tool takes.
const SECONDS: [f64; 14] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0,
];

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
}

impl Family {
    /// A thing that is measured: its name, what it is, and the names of its labels.
    #[must_use]
    pub const fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Self {
        Self { name, help, labels }
    }
}

/// Everything that is measured. Cloning shares it.
///
/// # Invariants
///
/// Its memory is bounded by the number of families, whatever labels come.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<Families>>);

type Families = BTreeMap<Family, BTreeMap<Vec<String>, Value>>;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Counter(u64),
    Gauge(i64),
    Seconds {
        buckets: [u64; SECONDS.len()],
        count: u64,
        sum: f64,
    },
}

impl Metrics {
    /// Nothing was measured yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more. `labels` are the values of the family's, in order.
    pub fn count(&self, family: Family, labels: &[&str]) {
        self.change(family, labels, Value::Counter(0), |value| {
            if let Value::Counter(count) = value {
                *count += 1;
            }
        });
    }

    /// More, or less, of what is there now.
    pub fn add(&self, family: Family, labels: &[&str], change: i64) {
        self.change(family, labels, Value::Gauge(0), |value| {
            if let Value::Gauge(there) = value {
                *there = there.saturating_add(change);
            }
        });
    }

    /// So much is there now.
    pub fn set(&self, family: Family, labels: &[&str], there: usize) {
        self.change(family, labels, Value::Gauge(0), |value| {
            *value = Value::Gauge(i64::try_from(there).unwrap_or(i64::MAX));
        });
    }

    /// It took so long.
    pub fn took(&self, family: Family, labels: &[&str], time: Duration) {
        let none = Value::Seconds {
            buckets: [0; SECONDS.len()],
            count: 0,
            sum: 0.0,
        };
        self.change(family, labels, none, |value| {
            if let Value::Seconds {
                buckets,
                count,
                sum,
            } = value
            {
                let seconds = time.as_secs_f64();
                let at = SECONDS.partition_point(|bound| *bound < seconds);
                if let Some(bucket) = buckets.get_mut(at) {
                    *bucket += 1;
                }
                *count += 1;
                *sum += seconds;
            }
        });
    }

    fn families(&self) -> MutexGuard<'_, Families> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(
        &self,
        family: Family,
        labels: &[&str],
        none: Value,
        change: impl FnOnce(&mut Value),
    ) {
        let named = |at: usize| {
            let label = labels.get(at).copied().unwrap_or_default();
            let mut end = label.len().min(LABEL);
            while !label.is_char_boundary(end) {
                end -= 1;
            }
            label[..end].to_owned()
        };
        let mut labels: Vec<String> = (0..family.labels.len()).map(named).collect();
        let mut families = self.families();
        let series = families.entry(family).or_default();
        if series.len() >= SERIES && !series.contains_key(&labels) {
            labels.fill(OTHER.to_owned());
        }
        change(series.entry(labels).or_insert(none));
    }

    /// Everything, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(&self.families())
    }
}
