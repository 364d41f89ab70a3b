//! What is measured of a racer.

use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::http::{Connection, Place};
use crate::messages::{Asked, LARGE, LARGER, call, check, id_of};
use crate::racers::{Running, Way};

/// How many calls are under way at once where it is not one.
const AT_ONCE: usize = 16;

/// How much is measured.
pub(crate) struct Pace {
    pub(crate) rounds: usize,
    calls: usize,
    calls_at_once: usize,
    large_calls: usize,
}

impl Pace {
    pub(crate) const FULL: Self = Pace {
        rounds: 7,
        calls: 400,
        calls_at_once: 1_600,
        large_calls: 10,
    };
    pub(crate) const QUICK: Self = Pace {
        rounds: 3,
        calls: 150,
        calls_at_once: 480,
        large_calls: 4,
    };
    pub(crate) const CHECK: Self = Pace {
        rounds: 1,
        calls: 3,
        calls_at_once: 32,
        large_calls: 1,
    };
}

/// One racer and what was measured of it, a value per round.
pub(crate) struct Row {
    pub(crate) racer: Running,
    next: usize,
    pub(crate) idle: Option<u64>,
    pub(crate) p50: Vec<f64>,
    pub(crate) p99: Vec<f64>,
    pub(crate) at_once_p50: Vec<f64>,
    pub(crate) at_once_p99: Vec<f64>,
    pub(crate) throughput: Vec<f64>,
    pub(crate) prose: Vec<f64>,
    pub(crate) records: Vec<f64>,
    pub(crate) larger_prose: Vec<f64>,
    pub(crate) larger_records: Vec<f64>,
    broken: bool,
}

impl Row {
    pub(crate) fn new(racer: Running) -> Self {
        let idle = racer.memory(false);
        Row {
            racer,
            next: 1,
            idle,
            p50: Vec::new(),
            p99: Vec::new(),
            at_once_p50: Vec::new(),
            at_once_p99: Vec::new(),
            throughput: Vec::new(),
            prose: Vec::new(),
            records: Vec::new(),
            larger_prose: Vec::new(),
            larger_records: Vec::new(),
            broken: false,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.racer.name
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn round(&mut self, pace: &Pace) -> Outcome<()> {
        let done = self.measure(pace);
        self.broken |= done.is_err();
        done
    }

    fn measure(&mut self, pace: &Pace) -> Outcome<()> {
        self.one_by_one(pace.calls / 10 + 1, Asked::Echo)?; // what gets quicker by running does so first
        let alone = self.one_by_one(pace.calls, Asked::Echo)?;
        self.p50.push(percentile(&alone, 50));
        self.p99.push(percentile(&alone, 99));
        let began = Instant::now();
        let at_once = self.at_once(pace.calls_at_once)?;
        self.throughput
            .push(at_once.len() as f64 / began.elapsed().as_secs_f64());
        self.at_once_p50.push(percentile(&at_once, 50));
        self.at_once_p99.push(percentile(&at_once, 99));
        let calls = pace.large_calls;
        let prose = self.large(calls, Asked::Prose(LARGE))?;
        self.prose.push(prose);
        let records = self.large(calls, Asked::Records(LARGE))?;
        self.records.push(records);
        if self.passes_larger() {
            let calls = calls.div_ceil(2);
            let prose = self.large(calls, Asked::Prose(LARGER))?;
            self.larger_prose.push(prose);
            let records = self.large(calls, Asked::Records(LARGER))?;
            self.larger_records.push(records);
        }
        Ok(())
    }

    /// Whether it is one of those that are compared by what larger results take: not all of the others pass them.
    fn passes_larger(&self) -> bool {
        let names = ["direct", "lines copied", "crossfeed"];
        names.iter().any(|name| self.name().starts_with(name))
    }

    /// The median of calls with a large result, in milliseconds.
    fn large(&mut self, calls: usize, asked: Asked) -> Outcome<f64> {
        let took = self.one_by_one(calls, asked)?;
        Ok(percentile(&took, 50) / 1_000.0)
    }

    fn ids(&mut self, count: usize) -> std::ops::Range<usize> {
        let first = self.next;
        self.next += count;
        first..self.next
    }

    /// Calls, one after the other: how long each took.
    fn one_by_one(&mut self, count: usize, asked: Asked) -> Outcome<Vec<Duration>> {
        let ids = self.ids(count);
        let mut took = Vec::with_capacity(count);
        let prefix = self.racer.prefix;
        match &mut self.racer.way {
            Way::Lines(lines) => {
                for id in ids {
                    let message = call(prefix, id, asked);
                    let began = Instant::now();
                    lines.send(&message)?;
                    let answer = lines.receive()?;
                    took.push(began.elapsed());
                    check(answer)?;
                }
            }
            Way::Http(place) => {
                // Of several replicas, another than the one that has the session.
                let mut connection = Connection::open(place.clone(), 1)?;
                for id in ids {
                    let message = call(prefix, id, asked);
                    let began = Instant::now();
                    let answer = connection.post(&message)?;
                    took.push(began.elapsed());
                    check(answer)?;
                }
            }
        }
        Ok(took)
    }

    /// Calls, so many under way at once: how long each took.
    fn at_once(&mut self, count: usize) -> Outcome<Vec<Duration>> {
        let mut ids = self.ids(count);
        let prefix = self.racer.prefix;
        match &mut self.racer.way {
            Way::Lines(lines) => {
                let first = ids.start;
                let mut began = vec![Instant::now(); count];
                let mut took = Vec::with_capacity(count);
                for id in ids.by_ref().take(AT_ONCE) {
                    began[id - first] = Instant::now();
                    lines.send(&call(prefix, id, Asked::Echo))?;
                }
                while took.len() < count {
                    let answer = lines.receive()?;
                    let id = id_of(answer).ok_or("an answer without an id")?;
                    took.push(began.get(id - first).ok_or("an unknown id")?.elapsed());
                    check(answer)?;
                    if let Some(id) = ids.next() {
                        began[id - first] = Instant::now();
                        lines.send(&call(prefix, id, Asked::Echo))?;
                    }
                }
                Ok(took)
            }
            Way::Http(place) => {
                let ids: Vec<_> = ids.collect();
                thread::scope(|scope| {
                    let shares = ids.chunks(ids.len().div_ceil(AT_ONCE));
                    let workers: Vec<_> = shares
                        .enumerate()
                        .map(|(number, share)| {
                            let place = place.clone();
                            scope.spawn(move || {
                                posts(place, number, prefix, share)
                                    .map_err(|problem| problem.to_string())
                            })
                        })
                        .collect();
                    let mut took = Vec::with_capacity(count);
                    for worker in workers {
                        took.extend(worker.join().map_err(|_| "a worker panicked")??);
                    }
                    Ok(took)
                })
            }
        }
    }
}

fn posts(place: Place, number: usize, prefix: &str, ids: &[usize]) -> Outcome<Vec<Duration>> {
    let mut connection = Connection::open(place, number)?;
    let mut took = Vec::with_capacity(ids.len());
    for id in ids {
        let message = call(prefix, *id, Asked::Echo);
        let began = Instant::now();
        let answer = connection.post(&message)?;
        took.push(began.elapsed());
        check(answer)?;
    }
    Ok(took)
}

fn percentile(took: &[Duration], percent: usize) -> f64 {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted
        .get(at)
        .map_or(f64::NAN, |one| one.as_secs_f64() * 1e6)
}

/// The middle one.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let took: Vec<_> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(
            (percentile(&took, 50).round(), percentile(&took, 99).round()),
            (51.0, 100.0)
        );
    }
}
