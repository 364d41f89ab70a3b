//! What is said of the race: a table, and what became of the targets.

use std::io;

use crate::measure::{Row, median};
use crate::racers::Way;

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

impl Row {
    pub(crate) const HEAD: &'static str = "| Racer | p50, µs | added, µs | p99, µs | p50 at 16, µs | p99 at 16, µs | calls/s at 16 | 1 MB of prose, ms | 1 MB of JSON, ms | 10 MB of prose, ms | 10 MB of JSON, ms | idle, MiB | most, MiB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

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
        let larger = |took: &[f64]| match took {
            [] => String::new(),
            took => format!("{:.1}", median(took)),
        };
        format!(
            "| {} | {:.0} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {} | {} | {} | {} |",
            self.name(),
            median(&self.p50),
            added.map_or_else(String::new, |added| format!("{added:.0}")),
            median(&self.p99),
            median(&self.at_once_p50),
            median(&self.at_once_p99),
            median(&self.throughput),
            median(&self.prose),
            median(&self.records),
            larger(&self.larger_prose),
            larger(&self.larger_records),
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
        let copier = rows
            .iter()
            .find(|row| row.name().starts_with("lines copied"));
        if let Some(copier) = copier.filter(|_| self.is_for_programs() && !self.is_http()) {
            let sizes = [
                ("1 MB of prose", &self.prose, &copier.prose),
                ("1 MB of JSON", &self.records, &copier.records),
                ("10 MB of prose", &self.larger_prose, &copier.larger_prose),
                (
                    "10 MB of JSON",
                    &self.larger_records,
                    &copier.larger_records,
                ),
            ];
            for (what, own, copied) in sizes {
                let what = format!("{what}, ms, by one and a half times what copying lines takes");
                target(&what, median(own), 1.5 * median(copied));
            }
        }
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

    /// Whether it hands all results to programs.
    fn is_for_programs(&self) -> bool {
        self.name().starts_with("crossfeed for programs")
    }

    fn is_ours(&self) -> bool {
        self.name().starts_with("crossfeed")
    }

    /// Whether it is a proxy of others that does more than copy.
    fn is_rival(&self) -> bool {
        !self.is_ours() && !self.is_direct() && !self.name().starts_with("lines copied")
    }
}
