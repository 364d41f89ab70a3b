//! Instructions for each item, counted by callgrind: a number that no other process moves.
//!
//! The process starts itself under valgrind, once for N and once for 2N evaluations; what both have
//! in common (making the data, building the index) falls away.
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

use crate::{
    by_hand::{self, QUESTIONS},
    options::Options,
    peers::evaluated,
};
use crossfeed_benches::{data, ratio};
use crossfeed_jmespath::Expression;
use crossfeed_json::Document;
use jmespath::{Context, DEFAULT_RUNTIME, Rcvar, Variable, interpret};
use serde_json::Value;
use std::{hint::black_box, process::Command};

const SIZE: usize = 1_000_000;
const TIMES: u64 = 4;

/// Who is counted, in the order of the columns.
const WHO: [&str; 5] = [
    "crossfeed",
    "by hand, places known",
    "`interpret`",
    "crossfeed, from bytes",
    "by hand, from bytes",
];

/// Prints the table.
pub(crate) fn table(options: &Options) {
    let document = Document::new(data::records(SIZE));
    let root = document.root().unwrap();
    let items = root.get("items").and_then(|items| items.len()).unwrap();
    println!("\n### Instructions for each of {items} items, records 1 MB\n");
    println!(
        "| expression | {} | {1} : {2} | {3} : {4} |",
        WHO.join(" | "),
        WHO[0],
        WHO[1],
        WHO[3],
        WHO[4]
    );
    println!("|---|{}", "---:|".repeat(WHO.len() + 2));
    for (row, (_, text)) in QUESTIONS.iter().enumerate() {
        if !options.wants(&format!("instructions, {text}")) {
            continue;
        }
        let mut counts = Vec::new();
        for who in WHO {
            match (count(row, who, TIMES), count(row, who, 2 * TIMES)) {
                (Ok(once), Ok(twice)) => {
                    counts.push(twice.saturating_sub(once) as f64 / (TIMES * items as u64) as f64);
                }
                (Err(reason), _) | (_, Err(reason)) => {
                    println!("\nMissing: instruction counts ({reason}).");
                    return;
                }
            }
        }
        let cells: Vec<_> = counts.iter().map(|count| format!("{count:.1}")).collect();
        println!(
            "| `` {text} `` | {} | {} | {} |",
            cells.join(" | "),
            ratio(counts[0] / counts[1]),
            ratio(counts[3] / counts[4])
        );
    }
    println!(
        "\nValgrind's callgrind, the difference of {TIMES} and {} evaluations. Ours is over an index that was used before; all write their answer; both loops by hand check nothing.",
        2 * TIMES
    );
}

/// Instructions of a process that does it so many times.
#[expect(clippy::disallowed_methods, reason = "valgrind is a process")]
fn count(row: usize, who: &str, times: u64) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["--counted", &row.to_string(), who, &times.to_string()])
        .output()
        .map_err(|error| format!("`valgrind` could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    collected
        .and_then(|count| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind said no number: {}", said.trim()))
}

/// What is counted: a row's number, who, how many times.
pub(crate) fn counted(arguments: &[String]) {
    let [row, who, times] = arguments else {
        println!("--counted wants a row, a name and a number");
        return;
    };
    let (question, text) = QUESTIONS[row.parse::<usize>().unwrap()];
    let times: u64 = times.parse().unwrap();
    let raw = data::records(SIZE);
    match WHO.iter().position(|name| name == who).unwrap() {
        0 => {
            let document = Document::new(raw.clone());
            let expression = Expression::parse(text).unwrap();
            // What is built when it is first needed, or needed again, is not what is counted.
            for _ in 0..3 {
                evaluated(&expression, &document);
            }
            repeat(times, || evaluated(&expression, &document));
        }
        1 => {
            let fields = by_hand::fields(&raw);
            same(&raw, text, &by_hand::known(question, &fields));
            repeat(times, || by_hand::known(question, &fields));
        }
        2 => {
            let variable: Rcvar = Rcvar::new(serde_json::from_slice::<Variable>(&raw).unwrap());
            let expression = jmespath::compile(text).unwrap();
            repeat(times, || {
                let mut context = Context::new(text, &DEFAULT_RUNTIME);
                let answer = interpret(&variable, expression.as_ast(), &mut context).unwrap();
                serde_json::to_vec(&answer).unwrap()
            });
        }
        3 => {
            let expression = Expression::parse(text).unwrap();
            repeat(times, || {
                evaluated(&expression, &Document::new(raw.clone()))
            });
        }
        _ => {
            same(&raw, text, &by_hand::from_bytes(question, &raw));
            repeat(times, || by_hand::from_bytes(question, &raw));
        }
    }
}

fn repeat(times: u64, mut once: impl FnMut() -> Vec<u8>) {
    for _ in 0..times {
        black_box(once());
    }
}

/// A loop that answers something else is not to be compared.
fn same(raw: &bytes::Bytes, text: &str, by_hand: &[u8]) {
    let document = Document::new(raw.clone());
    let ours = evaluated(&Expression::parse(text).unwrap(), &document);
    let [ours, by_hand]: [Value; 2] =
        [&ours, by_hand].map(|json| serde_json::from_slice(json).unwrap());
    assert_eq!(ours, by_hand);
}
