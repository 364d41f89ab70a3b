//! The race: the same question to crossfeed and to everyone else a user could pick, on the same
//! files, in turn.
//!
//! What comes in: the data sets of the benches. What goes out: two tables, parse excluded and
//! parse included, of medians and of how many times as long as crossfeed each took, with what each
//! figure contains. An answer is compared before it is timed. `README.md` in this folder says how
//! to run it; deliberately not here: targets and results.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

mod answers;
mod by_hand;
mod files;
mod instructions;
mod measure;
mod options;
mod peers;
mod rows;
mod summary;

use bytes::Bytes;
use crossfeed_json::Document;
use files::Folder;
use options::{Mode, Options};
use peers::Peers;
use rows::{Row, SHAPES, Shape};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::from_arguments() {
        Ok(options) => options,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match &options.mode {
        Mode::Race(pace) => {
            measure::race(&options, pace);
            ExitCode::SUCCESS
        }
        Mode::Check => {
            if answers::check(&options) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
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
            let rows = place.rows(options, &file.bytes);
            if rows.is_empty() {
                continue;
            }
            for peer in peers.iter_mut() {
                // Whoever cannot is found out when it is asked for an answer.
                if let Err(reason) = peer.open(&file) {
                    println!("\n{} cannot read the document: {reason}.", peer.name());
                }
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
    fn rows(&self, options: &Options, raw: &Bytes) -> Vec<Row> {
        let document = Document::new(raw.clone());
        let mut rows = (self.shape.rows)(document.root().unwrap());
        rows.retain(|row| options.wants(&format!("{}, {}", self.part, self.of(row))));
        rows
    }

    fn of(&self, row: &Row) -> String {
        format!("{}, {}, {}", self.shape.name, self.size, row.title)
    }
}
