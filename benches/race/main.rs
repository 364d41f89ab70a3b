//! The race: the same question to crossfeed and to everyone else a user could pick, on the same
//! files, in turn.
//!
//! What comes in: the data sets of the benches. What goes out: two tables, parse excluded and
//! parse included, of medians and of how many times as long as crossfeed each took, with what each
//! figure contains. An answer is compared before it is timed. `README.md` in this folder says how
//! to run it; deliberately not here: targets and results.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

mod by_hand;
mod files;
mod instructions;
mod options;
mod peers;
mod rows;
mod summary;

use crossfeed_benches::{compare, data, ratio, time};
use crossfeed_json::Document;
use files::{File, Folder};
use options::{Mode, Options};
use peers::{Part, Peer, Reason};
use rows::{Row, SHAPES, Shape};
use serde_json::Value;
use std::{fmt::Write as _, process::ExitCode, time::Duration};
use summary::Summary;

fn main() -> ExitCode {
    let options = match Options::from_arguments() {
        Ok(options) => options,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match &options.mode {
        Mode::Race { .. } => {
            race(&options);
            ExitCode::SUCCESS
        }
        Mode::Check => match check(&options) {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        },
        Mode::Instructions => {
            instructions::table(&options);
            ExitCode::SUCCESS
        }
        Mode::Counted(arguments) => {
            instructions::counted(arguments);
            ExitCode::SUCCESS
        }
    }
}

type Peers = Vec<Box<dyn Peer>>;

/// Says who is missing.
fn peers(options: &Options) -> Peers {
    let (peers, missing) = peers::all(&options.peers);
    for (name, reason) in missing {
        println!("Missing: {name} ({reason}).");
    }
    peers
}

/// Runs `row` for each row that was asked for, with every peer having read the document.
fn each_row(
    options: &Options,
    sizes: &[(&str, usize)],
    part: &str,
    peers: &mut Peers,
    mut row: impl FnMut(&mut Peers, &Place<'_>, &Row),
) {
    let folder = Folder::new().unwrap();
    for shape in &SHAPES {
        for &(size, bytes) in sizes {
            let file = folder
                .file("document.json", (shape.document)(bytes))
                .unwrap();
            let place = Place { shape, size, part };
            let rows = place.rows(options, &file);
            if rows.is_empty() {
                continue;
            }
            for peer in peers.iter_mut() {
                peer.open(&file).unwrap();
            }
            for asked in rows {
                row(peers, &place, &asked);
            }
        }
    }
}

/// Where a row stands.
struct Place<'a> {
    shape: &'a Shape,
    size: &'a str,
    part: &'a str,
}

impl Place<'_> {
    fn rows(&self, options: &Options, file: &File) -> Vec<Row> {
        let document = Document::new(file.bytes.clone());
        let mut rows = (self.shape.rows)(document.root().unwrap());
        rows.retain(|row| options.wants(&format!("{}, {}", self.part, self.of(row))));
        rows
    }

    fn of(&self, row: &Row) -> String {
        format!("{}, {}, {}", self.shape.name, self.size, row.title)
    }
}

/// How a peer's answer stands to ours.
enum Verdict {
    Same,
    /// Another one, as was known beforehand.
    Excused(&'static str),
    Different(Reason),
}

/// Compares as JSON: numbers by value, objects whatever the order of their keys.
fn judge(peer: &mut dyn Peer, row: &Row, ours: &Value) -> Verdict {
    let answer = peer.prepare(row).and_then(|()| peer.answer());
    let answer = match answer {
        Ok(answer) => serde_json::from_slice::<Value>(&answer),
        Err(error) => return Verdict::Different(error),
    };
    match (answer, row.excuse) {
        (Ok(answer), _) if alike(&answer, ours) => Verdict::Same,
        (Ok(_), Some(excuse)) if peer.speaks_jq() => Verdict::Excused(excuse),
        (Ok(_), _) => Verdict::Different(String::from("another answer")),
        (Err(error), _) => Verdict::Different(format!("no JSON: {error}")),
    }
}

/// Whether two answers are one value; `1` and `1.0` are, and data nests too little to matter here.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let of_b = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| alike(a, b));
            a.len() == b.len() && a.iter().all(of_b)
        }
        _ => a == b,
    }
}

/// What crossfeed answers: the first of the peers.
fn our_answer(peers: &mut Peers, row: &Row) -> Value {
    let ours = peers.first_mut().unwrap();
    ours.prepare(row).unwrap();
    serde_json::from_slice(&ours.answer().unwrap()).unwrap()
}

/// Compares all answers on the small files and says how many differ.
fn check(options: &Options) -> usize {
    let mut peers = peers(options);
    let (mut same, mut different) = (0, 0);
    let sizes = &data::SIZES[..1];
    each_row(options, sizes, "check", &mut peers, |peers, place, row| {
        let ours = our_answer(peers, row);
        for peer in peers.iter_mut().skip(1) {
            let name = peer.name();
            match judge(peer.as_mut(), row, &ours) {
                Verdict::Same => same += 1,
                Verdict::Excused(excuse) => println!("{}: {name}: {excuse}", place.of(row)),
                Verdict::Different(reason) => {
                    println!("{}: {name} DIFFERS: {reason}", place.of(row));
                    different += 1;
                }
            }
        }
    });
    println!("{same} answers are ours, {different} differ without excuse.");
    different
}

fn race(options: &Options) {
    let mut peers = peers(options);
    for (part, title) in [
        (Part::ParseExcluded, "parse excluded"),
        (Part::ParseIncluded, "parse included"),
    ] {
        measure(options, part, title, &mut peers);
    }
}

/// One table.
fn measure(options: &Options, part: Part, title: &str, peers: &mut Peers) {
    let columns: Vec<_> = peers
        .iter()
        .filter(|peer| peer.contents(part).is_some())
        .map(|peer| peer.name())
        .collect();
    let mut summary = Summary::new(&columns);
    let mut notes = Vec::new();
    each_row(options, &data::SIZES, title, peers, |peers, place, row| {
        if summary.is_empty() {
            println!(
                "\n### The race, {title}\n\n| data | expression | {} |",
                columns.join(" | ")
            );
            println!("|---|---|{}", "---:|".repeat(columns.len()));
        }
        let ours = our_answer(peers, row);
        let mut cells = Vec::new();
        let mut contenders = Vec::new();
        for peer in peers
            .iter_mut()
            .filter(|peer| peer.contents(part).is_some())
        {
            let name = peer.name();
            let mark = match judge(peer.as_mut(), row, &ours) {
                Verdict::Same => "",
                Verdict::Excused(excuse) => {
                    notes.push(format!("{name}, {}: {excuse}", place.of(row)));
                    " †"
                }
                Verdict::Different(reason) => {
                    notes.push(format!("{name}, {}: not timed, {reason}", place.of(row)));
                    cells.push(None);
                    continue;
                }
            };
            warm(options, peer.as_mut(), part);
            contenders.push(peer.contender(part));
            cells.push(Some(mark));
        }
        let Mode::Race {
            time: most, rounds, ..
        } = options.mode
        else {
            return;
        };
        let mut timings = compare(&mut contenders, most, rounds).into_iter();
        let mut line = format!(
            "| {} {} | `` {} `` |",
            place.shape.name, place.size, row.title
        );
        let mut ratios = Vec::new();
        for (index, mark) in cells.iter().enumerate() {
            let timing = mark.and_then(|_| timings.next());
            let _ = match (timing, mark) {
                (Some(timing), _) if index == 0 => write!(line, " {} |", time(timing.median)),
                (Some(timing), Some(mark)) => {
                    let times = ratio(timing.ratio);
                    write!(line, " {}, {times}{mark} |", time(timing.median))
                }
                _ => write!(line, " differs |"),
            };
            ratios.push(timing.map(|timing| timing.ratio));
        }
        println!("{line}");
        summary.add(place.of(row), ratios);
    });
    if summary.is_empty() {
        return;
    }
    println!(
        "\nMedians; `×` is how many times as long as crossfeed, the median over rounds in which both ran. Each figure contains writing the answer as JSON, and none contains compiling the expression:\n"
    );
    for peer in peers.iter() {
        if let Some(contents) = peer.contents(part) {
            println!("- {}: {contents}.", peer.name());
        }
    }
    if !notes.is_empty() {
        println!("\n† and \"differs\":\n");
        for note in notes {
            println!("- {note}.");
        }
    }
    summary.print();
}

/// Lets who gets quicker by running do so.
fn warm(options: &Options, peer: &mut dyn Peer, part: Part) {
    let Mode::Race { warm, .. } = options.mode else {
        return;
    };
    let (mut taken, mut times) = (Duration::ZERO, 1);
    while peer.warms_up() && taken < warm {
        taken += peer.run(part, times);
        times *= 2;
    }
}
