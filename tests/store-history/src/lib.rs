//! Checks a shared store by the histories that its processes leave.
//!
//! Several processes record, read, and run calls in one store, while processes are killed and paused and the backend
//! fails. Each writes down what it begins and what comes of it. Afterwards the history is judged: what was acknowledged
//! is there, and nothing is wrong, partial, or back from the dead.

mod content;
mod event;
mod judge;
mod open;
mod run;
mod s3;
mod servers;
mod worker;

use run::{Kind, Plan};
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

/// How long a run takes where nothing is said.
const SECONDS: u64 = 10;
/// The most violations that are printed.
const MAX_PRINTED: usize = 6;

const USAGE: &str = "Does random things to a store from several processes while they and the backend fail, and judges what they saw.

Usage: crossfeed-store-history [STORE…] [--seconds N] [--seed N] [--evict] [--limit]

  STORE        memory, sqlite, redis, redis-blobs, redis-replicated, redis-loose, redis-split, redis-skewed,
               redis-cluster, redis-cluster-replicated; all of them where none is named
  --seconds N  how long the processes work (10)
  --seed N     repeats what each process and each fault draws
  --evict      so few results fit that some are always evicted
  --limit      the same for all sessions of the tenant together (stores on Redis)
";

/// Runs as the arguments say: as one of the processes (`work …`), or a run of the stores.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let done = match arguments {
        [first, orders] if first == "work" => work(orders).map(|()| true),
        _ => check(arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            // There is nowhere to report that standard error is closed.
            let _ = writeln!(io::stderr(), "{problem}");
            ExitCode::from(2)
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.map_err(|error| error.to_string())
}

fn work(orders: &str) -> Result<(), String> {
    let orders = serde_json::from_str(orders).map_err(|error| error.to_string())?;
    runtime()?.block_on(worker::work(orders))
}

/// Whether the stores passed.
fn check(arguments: &[String]) -> Result<bool, String> {
    let mut plan = Plan {
        kind: Kind::Sqlite,
        seconds: SECONDS,
        seed: event::now(),
        evicts: false,
        is_limited: false,
    };
    let mut kinds = Vec::new();
    let mut given = arguments.iter();
    while let Some(argument) = given.next() {
        let mut number = || {
            let value = given.next().ok_or(format!("`{argument}` takes a number"))?;
            value
                .parse()
                .map_err(|_| format!("`{value}` is not a number"))
        };
        match argument.as_str() {
            "--seconds" => plan.seconds = number()?,
            "--seed" => plan.seed = number()?,
            "--evict" => plan.evicts = true,
            "--limit" => plan.is_limited = true,
            "--help" | "-h" => {
                let printed = io::stdout().write_all(USAGE.as_bytes());
                return printed.map(|()| true).map_err(|error| error.to_string());
            }
            name => {
                let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
                kinds.push(known.ok_or(format!("there is no store `{name}` here\n\n{USAGE}"))?);
            }
        }
    }
    if kinds.is_empty() {
        kinds.extend(Kind::ALL);
    }
    let mut sound = true;
    for kind in kinds {
        if kind.is_redis() && !crossfeed_redis_servers::is_installed() {
            continue;
        }
        if kind == Kind::RedisSkewed && crossfeed_redis_servers::faketime().is_none() {
            continue;
        }
        if kind == Kind::RedisBlobs && !s3::is_installed()? {
            continue;
        }
        plan.kind = kind;
        sound &= check_one(&plan)?;
    }
    Ok(sound)
}

fn check_one(plan: &Plan) -> Result<bool, String> {
    let failed = |error: io::Error| error.to_string();
    let name = format!(
        "crossfeed-store-history-{}-{}",
        std::process::id(),
        plan.kind.name()
    );
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let report = runtime()?.block_on(run::run(plan, &folder));
    // What it held says nothing that the report does not.
    let _ = std::fs::remove_dir_all(&folder);
    let report = report?;
    let mut output = io::stdout().lock();
    let eviction = if plan.evicts { " --evict" } else { "" };
    let limit = if plan.is_limited { " --limit" } else { "" };
    writeln!(
        output,
        "{} --seconds {} --seed {}{eviction}{limit}",
        plan.kind.name(),
        plan.seconds,
        plan.seed
    )
    .map_err(failed)?;
    for (what, count) in &report.verdict.counts {
        writeln!(output, "{count:8} {what}").map_err(failed)?;
    }
    for (what, count) in &report.faults {
        writeln!(output, "{count:8} fault: {what}").map_err(failed)?;
    }
    writeln!(
        output,
        "{:8} results, {} bytes at once at least",
        report.verdict.most_results, report.verdict.most_bytes
    )
    .map_err(failed)?;
    if report.verdict.lost > 0 {
        writeln!(
            output,
            "{:8} acknowledged and lost, as may be",
            report.verdict.lost
        )
        .map_err(failed)?;
    }
    let violations = &report.verdict.violations;
    writeln!(output, "{:8} violations", violations.len()).map_err(failed)?;
    for violation in violations.iter().take(MAX_PRINTED) {
        writeln!(output, "- {}:\n    {}", violation.law, violation.text).map_err(failed)?;
    }
    Ok(violations.is_empty())
}
