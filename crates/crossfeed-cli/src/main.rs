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
mod document;
mod encoding;
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
mod schema_file;
mod select;
mod strip;
mod trace;
mod unmatched;

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
        Err(error) => return refuse(&error),
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

/// Ends for arguments that are no command: with what is wrong with them, or with the help or version that they ask for.
fn refuse(error: &clap::Error) -> ExitCode {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let mut arguments = std::env::args_os().take_while(|argument| argument != "--");
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| out.flush());
        return match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report::report(&Stop::Output(error), false, &mut out, &mut err),
        };
    }
    if !arguments.any(|argument| argument == "--json") {
        // Where it cannot be written, the status still says that something is wrong.
        let _ = error.print();
        return ExitCode::from(report::USAGE);
    }
    let text = error.to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).trim();
    report::report(&Stop::Usage(message.to_owned()), true, &mut out, &mut err)
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
        Command::Retrieve(args) => block_on(retrieve::run(args, out, err)),
        Command::Artifact(args) => block_on(artifact::run(&args.command, out, err)),
        Command::Resolve(args) => block_on(resolve::run(args, out, err)),
        Command::Project(args) => block_on(project::run(args, out, err)),
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
