//! jq, a process for each sample: what is common to N and 2N iterations falls away.

use super::{FAILED, Part, Peer, Reason};
use crate::{files::File, rows::Row};
use crossfeed_benches::Contender;
use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

pub(crate) struct Jq {
    version: String,
    file: PathBuf,
    expression: String,
}

/// The iterations of a sample take at least this long, and this part of what else the process does.
const LEAST: Duration = Duration::from_millis(40);
const LEAST_PART: f64 = 0.4;

/// Files that are named in one command, and evaluations in one process.
const MOST_FILES: u64 = 8192;
const MOST_TIMES: u64 = 10_000_000;

impl Jq {
    pub(crate) fn found() -> Result<Box<dyn Peer>, Reason> {
        let output = command()
            .arg("--version")
            .output()
            .map_err(|error| format!("`jq` could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("`jq --version`: {}", output.status));
        }
        Ok(Box::new(Self {
            version: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            file: PathBuf::new(),
            expression: String::new(),
        }))
    }

    /// How long a process takes that iterates so many times; `None` if it fails.
    fn process(&self, part: Part, times: u64) -> Option<Duration> {
        let mut jq = command();
        match part {
            Part::ParseExcluded => {
                let expression = &self.expression;
                let program = format!(
                    "input as $document | range($n) | $document | ({expression}) | tojson | empty"
                );
                jq.args(["-n", "--argjson", "n", &times.to_string(), &program]);
                jq.arg(&self.file);
            }
            Part::ParseIncluded => {
                jq.args(["-c", &self.expression]);
                jq.args((0..times).map(|_| &self.file));
            }
        }
        let start = Instant::now();
        let status = jq.stdout(Stdio::null()).status();
        let taken = start.elapsed();
        status.is_ok_and(|status| status.success()).then_some(taken)
    }

    /// One iteration, by the difference.
    fn once(&self, part: Part, times: u64) -> Duration {
        let once = self.process(part, times);
        match (once, self.process(part, 2 * times)) {
            (Some(once), Some(twice)) => twice.saturating_sub(once) / u32::try_from(times).unwrap(),
            _ => FAILED,
        }
    }

    /// As many iterations as tell more than noise, found twice in a row.
    fn enough(&self, part: Part) -> u64 {
        let mut times = 1;
        let mut found = 0;
        while found < 2 {
            let (Some(once), Some(twice)) =
                (self.process(part, times), self.process(part, 2 * times))
            else {
                return times;
            };
            let more = twice.saturating_sub(once);
            let rest = once.saturating_sub(more);
            let most = match part {
                Part::ParseExcluded => MOST_TIMES,
                Part::ParseIncluded => MOST_FILES,
            };
            if more >= LEAST.max(rest.mul_f64(LEAST_PART)) || 8 * times > most {
                found += 1;
                continue;
            }
            found = 0;
            let far = more < LEAST.max(rest).mul_f64(LEAST_PART / 8.0);
            times *= if far { 8 } else { 2 };
        }
        times
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "peers that are no libraries are processes"
)]
fn command() -> Command {
    Command::new("jq")
}

impl Peer for Jq {
    fn name(&self) -> &'static str {
        "jq"
    }

    fn contents(&self, part: Part) -> Option<String> {
        let text = match part {
            Part::ParseExcluded => {
                "N and 2N evaluations of one parsed document, each answer made text by `tojson`, \
                 difference divided by N"
            }
            Part::ParseIncluded => {
                "the file named N and 2N times, answers printed to nowhere, difference divided by N"
            }
        };
        Some(format!(
            "{}, a process for each sample; {text}",
            self.version
        ))
    }

    fn open(&mut self, file: &File) -> Result<(), Reason> {
        self.file.clone_from(&file.path);
        Ok(())
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Reason> {
        self.expression.clone_from(&row.jq);
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<u8>, Reason> {
        let mut jq = command();
        jq.args(["-c", &self.expression]).arg(&self.file);
        let Output {
            status,
            stdout,
            stderr,
        } = jq.output().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(stdout)
        } else {
            Err(String::from_utf8_lossy(&stderr).trim().to_owned())
        }
    }

    fn run(&mut self, part: Part, times: u64) -> Duration {
        let once = self.once(part, times);
        once.saturating_mul(u32::try_from(times).unwrap())
    }

    fn contender(&mut self, part: Part) -> Contender<'_> {
        let times = self.enough(part);
        Contender::averaged(move || self.once(part, times))
    }

    fn speaks_jq(&self) -> bool {
        true
    }
}
