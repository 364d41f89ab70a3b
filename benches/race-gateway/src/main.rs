//! Races the gateway against a direct connection and other proxies, all in front of the same server, in one run.
//!
//! In: the programs, and a folder with what could be installed of the others (`benches/race-gateway/run` does both). Out: a
//! table. All racers stay up for the whole run and are measured in turn, round after round; a figure is the median of its
//! rounds. Not here: what a racer does beside passing messages on; each answer is only looked at for being one. The program is
//! a racer itself, too: one that copies lines, which is the least that a process between two others can take.

mod http;
mod measure;
mod messages;
mod racers;
mod report;
mod stdio;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::measure::{Pace, Row};
use crate::racers::Programs;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Arguments {
    programs: Programs,
    pace: Pace,
    only: Option<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut given = std::env::args().skip(1);
    let (mut fixture, mut gateway, mut peers) = (PathBuf::new(), PathBuf::new(), PathBuf::new());
    let (mut pace, mut only, mut redis) = (Pace::FULL, None, None);
    while let Some(flag) = given.next() {
        let mut value = || {
            given
                .next()
                .ok_or_else(|| format!("`{flag}` wants a value"))
        };
        match flag.as_str() {
            "--fixture" => fixture = value()?.into(),
            "--gateway" => gateway = value()?.into(),
            "--peers" => peers = value()?.into(),
            "--redis" => redis = Some(value()?),
            "--only" => only = Some(value()?),
            "--quick" => pace = Pace::QUICK,
            "--check" => pace = Pace::CHECK,
            _ => return Err(format!("unknown argument `{flag}`").into()),
        }
    }
    Ok(Arguments {
        programs: Programs {
            fixture,
            gateway,
            peers,
            redis,
        },
        pace,
        only,
    })
}

fn race(arguments: &Arguments) -> Outcome<()> {
    let mut rows = Vec::new();
    let mut stderr = io::stderr();
    for racer in racers::all(&arguments.programs)? {
        if arguments
            .only
            .as_ref()
            .is_some_and(|only| !racer.name.contains(only.as_str()))
        {
            continue;
        }
        match racer.start() {
            Ok(running) => rows.push(Row::new(running)),
            Err(problem) => writeln!(stderr, "missing: {}: {problem}", racer.name)?,
        }
    }
    for round in 0..arguments.pace.rounds {
        for row in &mut rows {
            if let Err(problem) = row.round(&arguments.pace) {
                writeln!(stderr, "round {round}: {}: {problem}", row.name())?;
            }
        }
    }
    report::report(&rows, &mut io::stdout())?;
    if rows.iter().any(Row::is_broken) {
        Err("a racer did not finish".into())
    } else {
        Ok(())
    }
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some((first, command)) = words.split_first()
        && first == racers::COPY
    {
        return match stdio::copy(command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match arguments().and_then(|arguments| race(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // There is nowhere to report that standard error is closed.
            let _ = writeln!(io::stderr(), "{problem}");
            ExitCode::FAILURE
        }
    }
}
