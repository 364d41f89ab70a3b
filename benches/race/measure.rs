//! The tables: each row's peers in turn, as far as their answers are ours.
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

use crate::{
    Place,
    answers::{Verdict, judge, our_answer},
    each_row,
    options::{Options, Pace},
    peers::{FAILED, Part, Peer, Peers},
    rows::Row,
    summary::Summary,
};
use crossfeed_benches::{Timing, compare, ratio, time};
use std::{fmt::Write as _, time::Duration};

/// Prints both tables.
pub(crate) fn race(options: &Options, pace: &Pace) {
    let mut peers = crate::peers(options);
    for (part, title) in [
        (Part::ParseExcluded, "parse excluded"),
        (Part::ParseIncluded, "parse included"),
    ] {
        let mut table = Table::new(part, &peers);
        each_row(
            options,
            pace.sizes,
            title,
            &mut peers,
            |peers, place, row| {
                if table.summary.is_empty() {
                    println!("\n### The race, {title}\n\n{}", table.head());
                }
                table.row(pace, peers, place, row);
            },
        );
        if !table.summary.is_empty() {
            table.print_end(&peers);
        }
    }
}

struct Table {
    part: Part,
    columns: Vec<&'static str>,
    notes: Vec<String>,
    summary: Summary,
}

impl Table {
    fn new(part: Part, peers: &Peers) -> Self {
        let taking_part = peers.iter().filter(|peer| peer.contents(part).is_some());
        let columns: Vec<_> = taking_part.map(|peer| peer.name()).collect();
        Self {
            part,
            notes: Vec::new(),
            summary: Summary::new(&columns),
            columns,
        }
    }

    fn head(&self) -> String {
        let columns = self.columns.join(" | ");
        let line = "---:|".repeat(self.columns.len());
        format!("| data | expression | {columns} |\n|---|---|{line}")
    }

    /// Compares the answers, then measures and prints a line.
    fn row(&mut self, pace: &Pace, peers: &mut Peers, place: &Place<'_>, row: &Row) {
        let part = self.part;
        let ours = our_answer(peers, row);
        let mut marks = Vec::new();
        let mut contenders = Vec::new();
        for peer in peers.iter_mut() {
            if peer.contents(part).is_none() {
                continue;
            }
            let name = peer.name();
            marks.push(match judge(peer.as_mut(), row, &ours) {
                Verdict::Same => Some(""),
                Verdict::Excused(excuse) => {
                    self.note(name, place, row, excuse);
                    Some(" †")
                }
                Verdict::Different(reason) => {
                    self.note(name, place, row, &format!("not timed, {reason}"));
                    None
                }
            });
            if marks.last().is_some_and(Option::is_some) {
                warm(pace, peer.as_mut(), part);
                contenders.push(peer.contender(part));
            }
        }
        let timings = compare(&mut contenders, pace.time, pace.rounds);
        self.print(place, row, &marks, timings);
    }

    fn note(&mut self, name: &str, place: &Place<'_>, row: &Row, what: &str) {
        self.notes
            .push(format!("{name}, {}: {what}", place.of(row)));
    }

    fn print(
        &mut self,
        place: &Place<'_>,
        row: &Row,
        marks: &[Option<&str>],
        timings: Vec<Timing>,
    ) {
        let mut timings = timings.into_iter();
        let mut line = format!(
            "| {} {} | `` {} `` |",
            place.shape.name, place.size, row.title
        );
        let mut ratios = Vec::new();
        for (index, mark) in marks.iter().enumerate() {
            let Some((mark, timing)) = mark.and_then(|mark| Some((mark, timings.next()?))) else {
                line.push_str(" differs |");
                ratios.push(None);
                continue;
            };
            if timing.median >= FAILED.as_secs_f64() / 1e9 {
                line.push_str(" failed |");
                ratios.push(None);
                continue;
            }
            // A difference of two processes may be none.
            if timing.median <= 0.0 {
                line.push_str(" below noise |");
                ratios.push(None);
                continue;
            }
            let median = time(timing.median);
            let _ = match index {
                0 => write!(line, " {median} |"),
                _ => write!(line, " {median}, {}{mark} |", ratio(timing.ratio)),
            };
            ratios.push(Some(timing.ratio));
        }
        println!("{line}");
        self.summary.add(place.of(row), ratios);
    }

    fn print_end(&self, peers: &Peers) {
        println!(
            "\nMedians; `×` is how many times as long as crossfeed, the median over rounds in which \
             both ran. Each figure contains writing the answer as JSON, and none contains compiling \
             the expression:\n"
        );
        for peer in peers {
            if let Some(contents) = peer.contents(self.part) {
                println!("- {}: {contents}.", peer.name());
            }
        }
        if !self.notes.is_empty() {
            println!("\nAnswers that are not ours (†: timed all the same):\n");
            for note in &self.notes {
                println!("- {note}.");
            }
        }
        self.summary.print();
    }
}

/// Lets who gets quicker by running do so.
fn warm(pace: &Pace, peer: &mut dyn Peer, part: Part) {
    let (mut taken, mut times) = (Duration::ZERO, 1);
    while peer.warms_up() && taken < pace.warm {
        taken = taken.saturating_add(peer.run(part, times));
        times *= 2;
    }
}
