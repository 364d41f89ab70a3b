//! The `crossfeed` command: the engine by hand, on files.
//!
//! What comes in: arguments, files, standard input. What goes out: the answer on standard output,
//! remarks and errors on standard error, and an exit status: 0 for an answer, 1 if the answer is an
//! error, 2 for a command that could not be carried out. Everything ambient is read in this crate
//! and nowhere else.

mod artifact;
mod cli;
mod deep;
mod demo;
mod gateway;
mod hints;
mod import;
mod input;
mod learn;
mod lint;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod project;
mod records;
mod report;
mod resolve;
mod retrieve;
mod rewrite;
mod select;
mod strip;
mod trace;

use clap::Parser;
use cli::{Cli, Command};
use report::Stop;
use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version come this way, too.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(report::USAGE));
        }
    };
    if let Command::Gateway(args) = &cli.command {
        return gateway::run(args, cli.json);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut err = io::stderr().lock();
    let done = run(&cli.command, cli.json, &mut out, &mut err).and_then(|()| Ok(out.flush()?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => report::report(&stop, cli.json, &mut out, &mut err),
    }
}

fn run(
    command: &Command,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    match command {
        Command::Demo(args) => demo::run(args, out, err),
        Command::Select(args) => block_on(select::run(args, out, err)),
        Command::Hints(args) => block_on(hints::run(args, out, err)),
        Command::Retrieve(args) => block_on(retrieve::run(args, out)),
        Command::Artifact(args) => block_on(artifact::run(&args.command, out, err)),
        Command::Resolve(args) => block_on(resolve::run(args, out, err)),
        Command::Project(args) => block_on(project::run(args, out)),
        Command::Summarize(args) => output::summarize(args, out, err),
        Command::Inspect(args) => output::inspect(args, out),
        Command::Learn(args) => block_on(learn::run(args, out, err)),
        Command::Rewrite(args) => rewrite::run(args, out, err),
        Command::Lint(args) => lint::run(args, json, out, err),
        Command::Strip(args) => strip::run(args, out),
        Command::Trace(args) => trace::run(&args.command, out, err),
        Command::Import(args) => import::run(args, json, out),
        // It holds no output, and has begun already.
        Command::Gateway(_) => Ok(()),
    }
}

fn block_on(command: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Stop::Usage(format!("cannot start: {error}")))?
        .block_on(command)
}
