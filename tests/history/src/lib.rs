//! Checks the gateway by the histories that it leaves.
//!
//! Many clients of both eras and of several principals call servers through a real gateway, while servers are killed,
//! stopped and started again, connections are cut, and clients cancel, leave, or do not read. Servers write down what they
//! run before they answer. Afterwards the history is judged (`judge`). The README says how to run it.

mod client;
mod cuts;
mod faults;
mod gateway;
mod history;
mod judge;
mod key;
mod process;
mod proxy;
mod replicas;
mod round_robin;
mod run;
mod seed;
mod server;
mod soak;
mod wire;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

pub use seed::Seed;

use crossfeed_redis_servers::is_installed;
use judge::Law;
use run::{Plan, Report};
use tokio::runtime::Builder;

/// How long a run takes where nothing is said.
const SECONDS: u64 = 25;
/// The most violations of one law that are printed.
const MAX_PRINTED: usize = 4;

/// Runs as the arguments say: as one of the servers (`serve …`), or a run against this gateway
/// (`[--gateway PROGRAM] [--seconds N] [--seed N] [--soak | --replicas N]`).
///
/// The arguments of `cargo test` and `cargo nextest` are understood, so that a test can be this and nothing else.
#[must_use]
pub fn main(arguments: &[String], gateway: &Path) -> ExitCode {
    let done = match arguments.split_first() {
        Some((first, rest)) if first == "serve" => server::serve(rest).map(|()| ExitCode::SUCCESS),
        _ => test(arguments, gateway),
    };
    done.unwrap_or_else(|problem| {
        // There is nowhere to report that standard error is closed.
        let _ = writeln!(io::stderr(), "{problem}");
        ExitCode::FAILURE
    })
}

const USAGE: &str = "Calls servers through a gateway while servers, connections and clients fail, and judges the history.

Usage: crossfeed-history --gateway PROGRAM [--seconds N] [--seed N] [--soak | --replicas N]

  --gateway PROGRAM  the `crossfeed` to run
  --seconds N        how long clients call (25)
  --seed N           repeats what each client and each fault draws
  --soak             no faults, an even pace: judges memory, descriptors and latency instead
  --replicas N       N gateways over one Redis, behind a balancer, while they are killed, paused and stopped
";

/// The names under which test runners know the runs with one gateway and with several.
const NAME: &str = "history";
const REPLICAS: &str = "replicas";

fn test(arguments: &[String], gateway: &Path) -> Result<ExitCode, String> {
    let mut plan = Plan {
        gateway: gateway.to_owned(),
        seconds: SECONDS,
        seed: history::now(),
        soak: false,
        replicas: 1,
    };
    let (mut lists, mut wanted, mut filters) = (false, true, Vec::new());
    let mut given = arguments.iter();
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("`{argument}` takes a value"));
        let number = |text: &String| {
            text.parse()
                .map_err(|_| format!("`{text}` is not a number"))
        };
        match argument.as_str() {
            "--gateway" => plan.gateway = value()?.into(),
            "--seconds" => plan.seconds = number(value()?)?,
            "--seed" => plan.seed = number(value()?)?,
            "--soak" => plan.soak = true,
            "--replicas" => {
                plan.replicas = usize::try_from(number(value()?)?)
                    .unwrap_or(usize::MAX)
                    .max(1);
            }
            "--help" | "-h" => {
                let printed = io::stdout().write_all(USAGE.as_bytes());
                printed.map_err(|error| error.to_string())?;
                return Ok(ExitCode::SUCCESS);
            }
            "--list" => lists = true,
            // What is ignored is asked for apart from the rest; nothing is.
            "--ignored" => wanted = false,
            "--format" | "--test-threads" | "--color" | "-Z" | "--skip" => {
                value()?;
            }
            flag if flag.starts_with('-') => {}
            filter => filters.push(filter),
        }
    }
    let name = if plan.replicas > 1 { REPLICAS } else { NAME };
    wanted &= filters.iter().all(|filter| name.contains(filter));
    let mut output = io::stdout().lock();
    let failed = |error: io::Error| error.to_string();
    if lists {
        if wanted {
            writeln!(output, "{name}: test").map_err(failed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !wanted {
        return Ok(ExitCode::SUCCESS);
    }
    if plan.replicas > 1 && !is_installed() {
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.gateway.is_file() {
        let gateway = plan.gateway.display();
        return Err(format!(
            "there is no program `{gateway}`: name the gateway with --gateway PROGRAM"
        ));
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(failed)?;
    let report = runtime.block_on(async {
        if plan.replicas > 1 {
            replicas::run(&plan).await
        } else if plan.soak {
            soak::soak(&plan).await
        } else {
            run::run(&plan).await
        }
    })?;
    runtime.shutdown_background();
    print(&mut output, &plan, &report).map_err(failed)?;
    let sound = report.violations.is_empty();
    let (word, passed) = if sound { ("ok", 1) } else { ("FAILED", 0) };
    writeln!(
        output,
        "test result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out",
        1 - passed
    )
    .map_err(failed)?;
    Ok(if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(output: &mut impl io::Write, plan: &Plan, report: &Report) -> io::Result<()> {
    let (seconds, seed, replicas) = (plan.seconds, plan.seed, plan.replicas);
    writeln!(output, "{seconds} s, --seed {seed} --replicas {replicas}")?;
    for (what, count) in &report.counts {
        if !what.starts_with("fault: ") {
            writeln!(output, "{count:8} {what}")?;
        }
    }
    for (what, count) in &report.faults {
        writeln!(output, "{count:8} {what}")?;
    }
    writeln!(output, "{:8} µs: median of a plain call", report.median)?;
    writeln!(output, "{:8} moments in the history", report.moments)?;
    for line in &report.lines {
        writeln!(output, "{line}")?;
    }
    let mut laws: Vec<(Law, usize)> = Vec::new();
    for violation in &report.violations {
        let known = laws.iter().position(|(law, _)| *law == violation.law);
        let index = known.unwrap_or(laws.len());
        if known.is_none() {
            laws.push((violation.law, 0));
        }
        laws[index].1 += 1;
        if laws[index].1 <= MAX_PRINTED {
            writeln!(output, "- {violation}")?;
        }
    }
    for (law, count) in laws {
        writeln!(output, "{count:8} violations of: {law}")?;
    }
    if let Some(folder) = &report.folder {
        writeln!(output, "logs and history: {}", folder.display())?;
    }
    Ok(())
}
