//! The `crossfeed` command: runs the engine on files, and the gateway.
//!
//! It prints the answer on standard output, remarks and errors on standard error, and exits with 0
//! for an answer, 1 if the answer is an error, 2 if the command could not run. Only this crate reads
//! the environment.

mod artifact;
mod cli;
mod deep_json;
mod demo;
mod document;
mod encoding;
mod gateway;
mod hints;
mod import;
mod input;
mod inputs;
mod layout;
mod learn;
mod lint;
mod manual;
mod otlp;
mod output_schema;
mod project;
mod records;
mod report;
mod resolve;
mod results;
mod retrieve;
mod rewrite;
mod runtime;
mod sanitize;
mod schema_file;
mod select;
#[cfg(feature = "sql")]
mod sql;
mod strip;
mod telemetry;
mod terminal;
mod unmatched;

use clap::Parser;
use cli::{Cli, Command, TraceCommand};
use layout::{Form, TokenStyles};
use report::{CommandError, Result, Streams};
use runtime::block_on;
use std::{
    io::{self, BufWriter},
    process::ExitCode,
};
use terminal::Styles;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are errors of the parser, too.
        Err(error) => return refuse(&error),
    };
    #[cfg(feature = "sql")]
    if let Command::Worker = &cli.command {
        return crossfeed_worker::serve();
    }
    if let Command::Gateway(args) = &cli.command {
        return gateway::run(args, cli.json);
    }
    let styles = Styles::of_stream(&io::stderr());
    let (mut out, mut err) = (BufWriter::new(io::stdout().lock()), io::stderr().lock());
    let io = Streams::new(&mut out, &mut err, styles);
    let mut io = io.with_layout(layout(&cli)).with_errors_as_json(cli.json);
    match run(&cli.command, &mut io).and_then(|()| Ok(io.out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::report(&error, &mut io),
    }
}

/// How JSON answers are laid out.
fn layout(cli: &Cli) -> (Form, TokenStyles) {
    let (form, styles) = terminal::layout_of_stdout();
    let form = if cli.pretty {
        Form::Indented
    } else if cli.compact {
        Form::Compact
    } else {
        form
    };
    (form, styles)
}

/// Prints an error of the arguments, or the requested help or version.
fn refuse(error: &clap::Error) -> ExitCode {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let styles = Styles::of_stream(&err);
    let mut io = Streams::new(&mut out, &mut err, styles);
    if !error.use_stderr() {
        return match error.print().and_then(|()| io.out.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report::report(&CommandError::Output(error), &mut io),
        };
    }
    let mut arguments = std::env::args_os().take_while(|argument| argument != "--");
    if !arguments.any(|argument| argument == "--json") {
        // The status shows the error even if it cannot be written.
        let _ = error.print();
        return ExitCode::from(report::USAGE);
    }
    let text = error.to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    let message = message.split("\n\nUsage:").next().unwrap_or(message).trim();
    report::report(
        &CommandError::usage(message),
        &mut io.with_errors_as_json(true),
    )
}

fn run(command: &Command, io: &mut Streams<'_>) -> Result {
    match command {
        Command::Demo(args) => demo::run(args, io),
        Command::Select(args) => block_on(select::run(args, io)),
        Command::Hints(args) => block_on(hints::run(args, io)),
        Command::Retrieve(args) => block_on(retrieve::run(args, io)),
        Command::Artifact(args) => block_on(artifact::run(&args.command, io)),
        Command::Results(args) => block_on(results::run(&args.command, io)),
        #[cfg(feature = "sql")]
        Command::Sql(args) => sql::run(args, io),
        Command::Resolve(args) => block_on(resolve::run(args, io)),
        Command::Project(args) => block_on(project::run(args, io)),
        Command::Summarize(args) => output_schema::summarize(args, io),
        Command::Inspect(args) => output_schema::inspect(args, io),
        Command::Learn(args) => block_on(learn::run(args, io)),
        Command::Rewrite(args) => rewrite::run(args, io),
        Command::Lint(args) => lint::run(args, io),
        Command::Strip(args) => strip::run(args, io.out),
        Command::Trace(args) => match &args.command {
            TraceCommand::Sanitize(args) => sanitize::run(args, io),
        },
        Command::Import(args) => import::run(args, io.errors_as_json, io.out),
        Command::Completions(args) => manual::complete(args, io.out),
        Command::Man(args) => manual::run(args, io.out),
        // `main` runs these without the streams.
        Command::Gateway(_) => Ok(()),
        #[cfg(feature = "sql")]
        Command::Worker => Ok(()),
    }
}
