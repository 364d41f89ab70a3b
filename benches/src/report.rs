//! What a bench prints: Markdown tables, to be read there or pasted into the readme.
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

use crate::timing::{Contender, Timing, compare};
use std::{fmt::Write as _, time::Duration};

/// How a bench was asked to run: `-- [--quick] [part of a title]`.
#[derive(Clone, Debug)]
pub struct Run {
    time: Duration,
    least_rounds: usize,
    filter: Option<String>,
}

/// What one iteration does, which decides in what its time is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Work {
    /// Told as time.
    Once,
    /// So many bytes are read or written: told in megabytes a second.
    Bytes(usize),
    /// So many operations: told in operations a second.
    Operations(usize),
}

impl Run {
    /// Reads the arguments of the process; each comparison takes about `seconds`, or an instant
    /// with `--quick`.
    #[must_use]
    pub fn from_arguments(seconds: f64) -> Self {
        let mut run = Self {
            time: Duration::from_secs_f64(seconds),
            least_rounds: 5,
            filter: None,
        };
        for argument in std::env::args().skip(1) {
            match argument.as_str() {
                "--quick" => {
                    run.time = Duration::ZERO;
                    run.least_rounds = 3;
                }
                // cargo says so.
                "--bench" => {}
                text => run.filter = Some(text.to_owned()),
            }
        }
        run
    }

    /// Whether a table of this title was asked for.
    #[must_use]
    pub fn wants(&self, title: &str) -> bool {
        let mut filter = self.filter.iter();
        filter.all(|filter| title.contains(filter))
    }

    /// Begins a table, unless another was asked for; the first of `rows` is what the others are
    /// compared with.
    #[must_use]
    pub fn table(&self, title: &str, of: &str, rows: &[&str]) -> Option<Table<'_>> {
        if !self.wants(title) {
            return None;
        }
        let first = rows.first().copied().unwrap_or_default();
        let mut head = format!("\n### {title}\n\n| {of} |");
        let mut line = String::from("|---|");
        for row in rows {
            let _ = write!(head, " {row} |");
            line.push_str("---:|");
        }
        for row in rows.iter().skip(1) {
            let _ = write!(head, " {row} : {first} |");
            line.push_str("---:|");
        }
        println!("{head}\n{line}");
        Some(Table { run: self })
    }

    /// Prints a table of texts.
    pub fn print(&self, title: &str, head: &[&str], lines: &[Vec<String>]) {
        if !self.wants(title) {
            return;
        }
        println!("\n### {title}\n\n| {} |", head.join(" | "));
        println!("|---|{}", "---:|".repeat(head.len().saturating_sub(1)));
        for line in lines {
            println!("| {} |", line.join(" | "));
        }
    }
}

/// A table, one comparison a line: medians, in brackets the best, then ratios.
#[derive(Debug)]
pub struct Table<'r> {
    run: &'r Run,
}

impl Table<'_> {
    /// Measures and prints one line.
    pub fn line(&self, name: &str, work: Work, mut rows: Vec<Contender<'_>>) -> Vec<Timing> {
        let timings = compare(&mut rows, self.run.time, self.run.least_rounds);
        let mut line = format!("| {name} |");
        for timing in &timings {
            let _ = write!(
                line,
                " {} ({}) |",
                told(work, timing.median),
                told(work, timing.min)
            );
        }
        for timing in timings.iter().skip(1) {
            let _ = write!(line, " {} |", ratio(timing.ratio));
        }
        println!("{line}");
        timings
    }
}

fn told(work: Work, seconds: f64) -> String {
    match work {
        Work::Once => time(seconds),
        Work::Bytes(bytes) => format!("{} MB/s", digits(bytes as f64 / seconds / 1e6)),
        Work::Operations(count) => match count as f64 / seconds {
            rate if rate < 1e6 => format!("{} k/s", digits(rate / 1e3)),
            rate => format!("{} M/s", digits(rate / 1e6)),
        },
    }
}

/// A time in the unit that suits it.
#[must_use]
pub fn time(seconds: f64) -> String {
    let (unit, factor) = match seconds {
        s if s < 1e-6 => ("ns", 1e9),
        s if s < 1e-3 => ("µs", 1e6),
        s if s < 1.0 => ("ms", 1e3),
        _ => ("s", 1.0),
    };
    format!("{} {unit}", digits(seconds * factor))
}

/// How many times as long; two digits of a small part.
#[must_use]
pub fn ratio(ratio: f64) -> String {
    if (1e-9..0.1).contains(&ratio) {
        let decimals = 1 - ratio.log10().floor() as i32;
        return format!("{ratio:.*}×", decimals.unsigned_abs() as usize);
    }
    format!("{}×", digits(ratio))
}

/// Three digits, or all of an integer's; thousands set apart.
fn digits(n: f64) -> String {
    let decimals = match n {
        n if n < 10.0 => 2,
        n if n < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{n:.decimals$}");
    if decimals > 0 || text.len() <= 3 {
        return text;
    }
    let mut set = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            set.push(',');
        }
        set.push(digit);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::{digits, ratio, time};

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(digits(1.234), "1.23");
        assert_eq!(digits(12.34), "12.3");
        assert_eq!(digits(1_234_567.0), "1,234,567");
        assert_eq!(time(0.000_002_5), "2.50 µs");
    }

    #[test]
    fn small_ratios_have_two() {
        assert_eq!(ratio(0.5), "0.50×");
        assert_eq!(ratio(0.012_34), "0.012×");
        assert_eq!(ratio(0.000_56), "0.00056×");
    }
}
