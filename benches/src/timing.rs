//! Measuring: who is compared takes turns within one run.
//!
//! Ready harnesses (divan, criterion) finish one bench before they begin the next. On a machine
//! that others use too, a busy minute then falls on one of two rows and decides their ratio. Here
//! the rows of a comparison are sampled in turn (A B C A B C …), and a ratio is the median over
//! rounds, each of which saw both under the same load.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// One row of a comparison.
pub struct Contender<'a> {
    run: Box<dyn FnMut(u64) -> Duration + 'a>,
    /// Whether it is told how many iterations a sample needs.
    counted: bool,
}

impl<'a> Contender<'a> {
    /// Something that is done again and again; what it gives is dropped within the measured time.
    pub fn new<T>(mut work: impl FnMut() -> T + 'a) -> Self {
        Self::timed(move |iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                black_box(work());
            }
            start.elapsed()
        })
    }

    /// Something that is done a number of times and measures itself, without what it prepares.
    pub fn timed(run: impl FnMut(u64) -> Duration + 'a) -> Self {
        Self {
            run: Box::new(run),
            counted: true,
        }
    }

    /// Something that finds for itself how often it must run for a sample, and says how long one
    /// iteration took.
    pub fn averaged(mut run: impl FnMut() -> Duration + 'a) -> Self {
        Self {
            run: Box::new(move |_| run()),
            counted: false,
        }
    }
}

/// What was measured of one row, per iteration.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timing {
    /// The median over all samples, in seconds.
    pub median: f64,
    /// The fastest sample, in seconds.
    pub min: f64,
    /// How much slower than the first row, as the median over rounds.
    pub ratio: f64,
}

/// A sample is at least this long, so that neither the clock nor a single interrupt decides it.
const SAMPLE: Duration = Duration::from_millis(2);

/// Rounds beyond this many tell nothing new.
const MOST_ROUNDS: usize = 101;

/// Measures the rows in turn for about `time`, but at least `least_rounds` times.
pub fn compare(rows: &mut [Contender<'_>], time: Duration, least_rounds: usize) -> Vec<Timing> {
    let iterations: Vec<u64> = rows.iter_mut().map(iterations).collect();
    let mut samples = vec![Vec::new(); rows.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < least_rounds || (rounds < MOST_ROUNDS && start.elapsed() < time) {
        for ((row, samples), &iterations) in rows.iter_mut().zip(&mut samples).zip(&iterations) {
            samples.push((row.run)(iterations).as_secs_f64() / iterations as f64);
        }
        rounds += 1;
    }
    let first = samples.first().cloned().unwrap_or_default();
    samples
        .iter()
        .map(|samples| Timing {
            median: median(samples.clone()),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            ratio: median(samples.iter().zip(&first).map(|(a, b)| a / b).collect()),
        })
        .collect()
}

/// How many iterations a sample needs; finding out warms up as well. What is done only the first time, as loading a
/// script, does not count.
fn iterations(row: &mut Contender<'_>) -> u64 {
    let mut iterations = 1;
    if !row.counted {
        return iterations;
    }
    (row.run)(iterations);
    loop {
        let taken = (row.run)(iterations);
        if taken >= SAMPLE {
            return iterations;
        }
        let missing = SAMPLE.as_secs_f64() / taken.as_secs_f64().max(1e-9);
        iterations = (iterations as f64 * (missing * 1.1).clamp(1.5, 100.0)).ceil() as u64;
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    match samples.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => samples[n / 2],
        n => f64::midpoint(samples[n / 2 - 1], samples[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, SAMPLE, iterations, median};
    use std::time::Duration;

    #[test]
    fn a_slow_beginning_makes_no_short_samples() {
        let mut is_first = true;
        let mut row = Contender::timed(move |n| {
            if std::mem::take(&mut is_first) {
                return 3 * SAMPLE;
            }
            Duration::from_micros(10 * n)
        });
        assert!(iterations(&mut row) >= 200);
    }

    #[test]
    fn median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }
}
