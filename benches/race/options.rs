//! How the race was asked to run.

use crossfeed_benches::data::SIZES;
use std::{path::PathBuf, time::Duration};

/// `-- [--quick | --check | --instructions] [--peers FOLDER] [FILTER…]`.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// Where the packages of peers were installed.
    pub(crate) peers: PathBuf,
    /// A row is run if its name holds all of these.
    filters: Vec<String>,
}

/// How long is measured.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// A row is measured for about so long.
    pub(crate) time: Duration,
    /// But so often at least.
    pub(crate) rounds: usize,
    /// Whoever gets quicker by running does so for so long beforehand.
    pub(crate) warm: Duration,
    /// On files of these sizes.
    pub(crate) sizes: &'static [(&'static str, usize)],
}

/// What is done.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Race(Pace),
    /// Only compares answers.
    Check,
    /// Counts instructions.
    Instructions,
    /// Is counted: a row's number, who does it, how often.
    Counted(Vec<String>),
}

impl Options {
    pub(crate) fn from_arguments() -> Result<Self, String> {
        let mut options = Self {
            mode: Mode::Race(Pace {
                time: Duration::from_secs(5),
                rounds: 7,
                warm: Duration::from_millis(300),
                sizes: &SIZES,
            }),
            peers: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/race")),
            filters: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => {
                    options.mode = Mode::Race(Pace {
                        time: Duration::ZERO,
                        rounds: 3,
                        warm: Duration::from_millis(50),
                        sizes: &SIZES[..2],
                    })
                }
                "--check" => options.mode = Mode::Check,
                "--instructions" => options.mode = Mode::Instructions,
                "--counted" => options.mode = Mode::Counted(arguments.by_ref().collect()),
                "--peers" => {
                    options.peers = arguments.next().ok_or("--peers names no folder")?.into()
                }
                // cargo says so.
                "--bench" => {}
                unknown if unknown.starts_with("--") => {
                    return Err(format!(
                        "`{unknown}` is none of --quick, --check, --instructions, --peers"
                    ));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }

    /// Whether a row of this name was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filters
            .iter()
            .all(|filter| name.contains(filter.as_str()))
    }
}
