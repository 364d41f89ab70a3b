//! A soak: the same work for a long time, without faults. Nothing may grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use crate::client::Shared;
use crate::history::{Event, History, now};
use crate::run::{Plan, Report, World, drive, finish, median};

/// How long the gateway works before anything is measured: a quarter of the whole, within these bounds.
const WARM_UP: std::ops::RangeInclusive<u64> = 10..=300;
/// How much more memory it may take in ten minutes, in KiB.
const GROWTH: i64 = 1_024;
const TEN_MINUTES: f64 = 600.0;
/// How much longer a call may take at the end than at the start, in hundredths.
const SLOWER: i64 = 125;
/// The parts of the run whose times are compared: the first and the last of so many.
const PARTS: u64 = 10;

pub(crate) async fn soak(plan: &Plan) -> Result<Report, String> {
    let history = Arc::new(History::default());
    let shared = Arc::new(Shared::new(Arc::clone(&history)));
    let mut world = World::start(plan, &history).await?;
    let clients = world.clients(&shared).await;
    let before = world.figures().await?;
    let warm_up = (plan.seconds / 4).clamp(*WARM_UP.start(), *WARM_UP.end());
    let end = Instant::now() + Duration::from_secs(warm_up);
    drive(&clients, end).await?;

    shared.take_times();
    let from = now();
    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let (driven, samples) = tokio::join!(drive(&clients, end), sample(&world, end));
    driven?;
    let times = shared.take_times();
    world.settle(&clients, &before, &history).await;

    let bounded = |what: &str, value, limit| {
        history.add(Event::Bounded {
            what: what.to_owned(),
            value,
            limit,
        });
    };
    bounded("KiB of memory more in ten minutes", slope(&samples), GROWTH);
    let part = plan.seconds * 1_000_000 / PARTS;
    let middle = |part: std::ops::Range<u64>| {
        let within = times.iter().filter(|(at, _)| part.contains(at));
        median(within.map(|(_, took)| *took))
    };
    let (first, last) = (
        middle(from..from + part),
        middle(from + part * (PARTS - 1)..u64::MAX),
    );
    let ratio = i64::try_from(last * 100 / first.max(1)).unwrap_or(i64::MAX);
    bounded(
        "hundredths: last median time of a plain call to the first",
        ratio,
        SLOWER,
    );

    let mut report = finish(world, history, &shared).await?;
    let memory = |sample: Option<&(f64, f64)>| sample.map_or(0.0, |(_, memory)| *memory / 1024.0);
    report.lines.push(format!(
        "memory {:.1} MiB at the start, {:.1} MiB at the end, {} KiB more in ten minutes; {} samples",
        memory(samples.first()),
        memory(samples.last()),
        slope(&samples),
        samples.len(),
    ));
    report.lines.push(format!(
        "median of a plain call: first {first} µs, last {last} µs"
    ));
    Ok(report)
}

/// The gateway's resident memory in KiB, every second until `end`, with the seconds since the start.
async fn sample(world: &World, end: Instant) -> Vec<(f64, f64)> {
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut samples = Vec::new();
    while Instant::now() < end {
        ticks.tick().await;
        if let Some(usage) = world.gateway.usage() {
            #[expect(clippy::cast_precision_loss, reason = "no process has 2^52 KiB")]
            samples.push((begun.elapsed().as_secs_f64(), usage.memory as f64));
        }
    }
    samples
}

/// How much a line through the samples rises in ten minutes, by least squares.
fn slope(samples: &[(f64, f64)]) -> i64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are a few thousand samples"
    )]
    let count = samples.len().max(1) as f64;
    let mean_time = samples.iter().map(|(time, _)| time).sum::<f64>() / count;
    let mean_memory = samples.iter().map(|(_, memory)| memory).sum::<f64>() / count;
    let (mut product, mut square) = (0.0, 0.0);
    for (time, memory) in samples {
        product += (time - mean_time) * (memory - mean_memory);
        square += (time - mean_time).powi(2);
    }
    if square == 0.0 {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rise of whole KiB is meant"
    )]
    let rise = (product / square * TEN_MINUTES) as i64;
    rise
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn a_rise_is_measured_over_ten_minutes() {
        let samples: Vec<(f64, f64)> = (0..60)
            .map(|second| (f64::from(second), 1000.0 + 2.0 * f64::from(second)))
            .collect();
        assert_eq!(slope(&samples), 1200);
        assert_eq!(slope(&samples[..1]), 0);
        assert_eq!(slope(&[]), 0);
    }
}
