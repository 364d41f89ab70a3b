//! `crossfeed gateway`: between MCP clients and MCP servers.
//!
//! From arguments, a configuration and the environment to a gateway that serves until a signal ends
//! it. What the gateway does is `crossfeed-gateway`'s.

mod access;
mod assemble;
mod check;
mod descriptors;
mod log;
mod login;
mod machine;
mod probe;
mod protocol_paths;
mod serve;
mod server_stderr;
mod signals;
mod telemetry;
mod views;
mod waiting;

use crate::{
    cli,
    report::{self, CommandError, Result, Streams},
};
pub(crate) use assemble::{base_directory, environment};

use log::Lines;
use server_stderr::ServerStderr;
use std::{io, process::ExitCode};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::FilterFn, layer::SubscriberExt};

/// Runs the command. Unlike the others it holds neither standard output nor standard error: the client's
/// messages and the log's lines come from tasks and threads.
pub(crate) fn run(args: &cli::Gateway, json: bool) -> ExitCode {
    let mut lines = None;
    let done = begin(args, json, &mut lines);
    if let Some(lines) = lines {
        lines.flush();
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let (mut out, mut err) = (io::stdout(), io::stderr());
            let mut io = Streams::new(&mut out, &mut err);
            report::report(&error, json, &mut io)
        }
    }
}

fn begin(args: &cli::Gateway, json: bool, lines: &mut Option<Lines>) -> Result {
    let environment = environment();
    let descriptors = descriptors::raise();
    let limit = descriptors.as_ref().map(|descriptors| descriptors.limit);
    let machine = machine::read().with_descriptors(limit);
    let mut config = assemble::config(args, &environment, machine)?;
    if args.print_client_config {
        return access::print_client_config(config, &environment, args.holder.as_deref());
    }
    if let Some(descriptors) = descriptors {
        config.limits = config.limits.with_descriptors(descriptors.limit);
        config.limits.child_descriptors = Some(descriptors.inherited);
    }
    let telemetry = telemetry::Pipeline::start(args)?;
    let stderr = args.check.then(ServerStderr::default);
    *lines = Some(subscribe(args, &telemetry, stderr.clone())?);
    let done = if let Some(server) = &args.login {
        serve::alone()?.block_on(signals::until_signal(login::run(&config, server, json)))
    } else if let Some(stderr) = stderr {
        let check = async {
            let mut out = io::stdout();
            check::run(config, &environment, &stderr, (&args.tool, json), &mut out).await
        };
        serve::alone()?.block_on(signals::until_signal(check))
    } else {
        let (config, token_file) = access::require_token(config, &environment)?;
        serve::run(config, &environment, telemetry.telemetry(), token_file)
    };
    telemetry.finish();
    done
}

/// Sends events to the log, what servers print to who reads_stderr it, and spans to telemetry where there is some.
fn subscribe(
    args: &cli::Gateway,
    telemetry: &telemetry::Pipeline,
    stderr: Option<ServerStderr>,
) -> Result<Lines> {
    // Who checks wants to read the answer, not what servers say while they start.
    let usual = if args.check || args.login.is_some() {
        cli::Level::Warn
    } else {
        cli::Level::Info
    };
    let events = log::filter(args.log.unwrap_or(usual));
    let (log, lines) = log::Log::start(args.log_format, events)
        .map_err(|error| CommandError::usage(format!("cannot log: {error}")))?;
    let spans = telemetry.layer();
    let traced = spans.is_some();
    let reads_stderr = stderr.is_some();
    // Spans cost time even if they are not exported.
    let wanted = FilterFn::new(move |metadata| {
        let own = metadata.target().starts_with("crossfeed");
        own && if metadata.is_span() {
            traced
        } else {
            *metadata.level() <= events
                || (reads_stderr && ServerStderr::is_of_a_server(metadata.target()))
        }
    });
    let wanted = if traced {
        wanted
    } else {
        let least = if reads_stderr {
            LevelFilter::INFO
        } else {
            LevelFilter::OFF
        };
        wanted.with_max_level_hint(events.max(least))
    };
    let subscriber = tracing_subscriber::registry()
        .with(wanted)
        .with(spans)
        .with(stderr)
        .with(log);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|error| CommandError::usage(format!("cannot log: {error}")))?;
    Ok(lines)
}
