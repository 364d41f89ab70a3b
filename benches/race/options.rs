//! How the race was asked to run.

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

/// What is done.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Race {
        /// A row is measured for about so long.
        time: Duration,
        /// But so often at least.
        rounds: usize,
        /// Whoever gets quicker by running does so for so long beforehand.
        warm: Duration,
    },
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
            mode: Mode::Race {
                time: Duration::from_secs(3),
                rounds: 5,
                warm: Duration::from_millis(300),
            },
            peers: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/race")),
            filters: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => {
                    options.mode = Mode::Race {
                        time: Duration::ZERO,
                        rounds: 3,
                        warm: Duration::from_millis(50),
                    }
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
