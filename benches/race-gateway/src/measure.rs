//! What is measured of a racer, and the row that says it.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::http::{Connection, Place};
use crate::racers::{Running, Way};

pub(crate) const INITIALIZE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"race\",\"version\":\"1\"}}}\n";
pub(crate) const INITIALIZED: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// How many calls are under way at once where it is not one.
const AT_ONCE: usize = 16;
const SMALL: usize = 1_000;
const LARGE: usize = 1_000_000;

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

/// Whether a message answers something.
pub(crate) fn is_answer(message: &[u8]) -> bool {
    let start = &message[..message.len().min(60)];
    let has = |what: &[u8]| {
        message
            .windows(what.len())
            .take(200)
            .any(|window| window == what)
    };
    start.contains(&b'{') && !has(b"\"method\":") && (has(b"\"result\":") || has(b"\"error\":"))
}

fn check(answer: &[u8]) -> Outcome<()> {
    let end = &answer[answer.len().saturating_sub(400)..];
    let start = &answer[..answer.len().min(200)];
    let has = |part: &[u8], what: &[u8]| part.windows(what.len()).any(|window| window == what);
    if has(start, b"\"error\":") || has(end, b"\"isError\":true") {
        return Err(format!("refused: {}", String::from_utf8_lossy(start)).into());
    }
    Ok(())
}

/// What a call asks for.
#[derive(Clone, Copy)]
enum Asked {
    /// 1 KB of text, which is sent first.
    Echo,
    /// 1 MB of prose.
    Prose,
    /// 1 MB of records as the JSON text that most servers give.
    Records,
}

fn call(prefix: &str, id: usize, asked: Asked) -> Vec<u8> {
    let name = |name: &str| format!("{prefix}{name}");
    let call = match asked {
        Asked::Echo => {
            serde_json::json!({ "name": name("echo"), "arguments": { "message": "x".repeat(SMALL) } })
        }
        Asked::Prose => {
            serde_json::json!({ "name": name("large_text"), "arguments": { "bytes": LARGE } })
        }
        Asked::Records => {
            serde_json::json!({ "name": name("records_text"), "arguments": { "bytes": LARGE } })
        }
    };
    let message =
        serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
    format!("{message}\n").into_bytes()
}

/// One racer and what was measured of it, a value per round.
pub(crate) struct Row {
    racer: Running,
    next: usize,
    idle: Option<u64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    at_once_p50: Vec<f64>,
    at_once_p99: Vec<f64>,
    throughput: Vec<f64>,
    prose: Vec<f64>,
    records: Vec<f64>,
    broken: bool,
}

impl Row {
    pub(crate) const HEAD: &'static str = "| Racer | p50, µs | added, µs | p99, µs | p50 at 16, µs | p99 at 16, µs | calls/s at 16 | 1 MB of prose, ms | 1 MB of JSON, ms | idle, MiB | most, MiB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

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
        let prose = self.one_by_one(pace.large_calls, Asked::Prose)?;
        self.prose.push(percentile(&prose, 50) / 1_000.0);
        let records = self.one_by_one(pace.large_calls, Asked::Records)?;
        self.records.push(percentile(&records, 50) / 1_000.0);
        Ok(())
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
                let mut connection = Connection::open(place.clone())?;
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
                        .map(|share| {
                            let place = place.clone();
                            scope.spawn(move || {
                                posts(place, prefix, share).map_err(|problem| problem.to_string())
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

fn posts(place: Place, prefix: &str, ids: &[usize]) -> Outcome<Vec<Duration>> {
    let mut connection = Connection::open(place)?;
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

/// The number behind the first or, where the envelope comes last, the last `"id":`.
fn id_of(message: &[u8]) -> Option<usize> {
    let at = |range: &[u8]| range.windows(5).position(|window| window == b"\"id\":");
    let start = &message[..message.len().min(40)];
    let tail = message.len().saturating_sub(40);
    let rest = match at(start) {
        Some(found) => &message[found + 5..],
        None => &message[tail + at(&message[tail..])? + 5..],
    };
    let digits: Vec<u8> = rest
        .iter()
        .copied()
        .skip_while(|byte| *byte == b' ')
        .take_while(u8::is_ascii_digit)
        .collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

fn percentile(took: &[Duration], percent: usize) -> f64 {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted
        .get(at)
        .map_or(f64::NAN, |one| one.as_secs_f64() * 1e6)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Row {
    /// Whether its client speaks HTTP.
    fn is_http(&self) -> bool {
        matches!(self.racer.way, Way::Http(..))
    }

    /// Whether it stands for having nothing between.
    fn is_direct(&self) -> bool {
        self.name().starts_with("direct")
    }

    /// What it adds at the median to a direct connection of the same kind, in µs: the median of the differences
    /// within rounds.
    fn added(&self, rows: &[Row]) -> Option<f64> {
        let direct = rows
            .iter()
            .find(|row| row.is_direct() && row.is_http() == self.is_http())?;
        let differences = self.p50.iter().zip(&direct.p50);
        let differences: Vec<_> = differences.map(|(own, direct)| own - direct).collect();
        (!self.is_direct() && !differences.is_empty()).then(|| median(&differences))
    }

    fn line(&self, rows: &[Row]) -> String {
        let mib = |kib: Option<u64>| {
            kib.map_or_else(|| "?".into(), |kib| format!("{:.1}", kib as f64 / 1_024.0))
        };
        let added = self.added(rows);
        format!(
            "| {} | {:.0} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {} | {} |",
            self.name(),
            median(&self.p50),
            added.map_or_else(String::new, |added| format!("{added:.0}")),
            median(&self.p99),
            median(&self.at_once_p50),
            median(&self.at_once_p99),
            median(&self.throughput),
            median(&self.prose),
            median(&self.records),
            mib(self.idle),
            mib(self.racer.memory(true)),
        )
    }

    /// What was asked of the gateway, and whether that is so.
    fn targets(&self, rows: &[Row]) -> Vec<String> {
        let mut targets = Vec::new();
        let mut target = |what: &str, found: f64, below: f64| {
            let met = if found < below { "met" } else { "missed" };
            targets.push(format!(
                "{}: {what} {found:.0}, asked below {below:.0}: {met}",
                self.name()
            ));
        };
        let added = self.added(rows).unwrap_or(f64::NAN);
        if !self.is_http() {
            target("added at the median, µs", added, 120.0);
            target("p99 alone, µs", median(&self.p99), 1_000.0);
        }
        let at_once = median(&self.at_once_p50);
        target(
            "p99 at 16, µs, by five times its median",
            median(&self.at_once_p99),
            5.0 * at_once,
        );
        let idle = self.idle.map_or(f64::NAN, |kib| kib as f64 / 1_024.0);
        target("idle, MiB", idle, 32.0);
        let rivals = rows
            .iter()
            .filter(|row| row.is_rival() && row.is_http() == self.is_http());
        let least = rivals
            .filter_map(|row| row.added(rows))
            .fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            target(
                "added at the median, µs, by the least of the others",
                added,
                least,
            );
        }
        targets
    }

    fn is_ours(&self) -> bool {
        self.name().starts_with("crossfeed")
    }

    /// Whether it is a proxy of others that does more than copy.
    fn is_rival(&self) -> bool {
        !self.is_ours() && !self.is_direct() && !self.name().starts_with("lines copied")
    }
}

/// The table of all, and what became of the targets.
pub(crate) fn report(rows: &[Row], out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{}", Row::HEAD)?;
    for row in rows {
        writeln!(out, "{}", row.line(rows))?;
    }
    writeln!(out)?;
    for row in rows.iter().filter(|row| row.is_ours()) {
        for target in row.targets(rows) {
            writeln!(out, "{target}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_other_messages() {
        assert!(is_answer(
            br#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#
        ));
        assert!(!is_answer(
            br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#
        ));
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Some(7));
        assert_eq!(id_of(br#"{"result":{"content":[{"type":"text","text":"long enough to push it out"}]},"jsonrpc":"2.0","id": 12}"#), Some(12));
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let took: Vec<_> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(
            (percentile(&took, 50).round(), percentile(&took, 99).round()),
            (51.0, 100.0)
        );
    }
}
