//! `crossfeed gateway`: builds a gateway from arguments, a configuration and the environment, and runs it until a signal ends
//! it.

mod access;
mod assemble;
mod check;
mod descriptors;
mod id_keys;
mod keys;
mod log;
mod login;
mod machine;
mod probe;
mod protocol_paths;
mod secret;
mod serve;
mod server_stderr;
mod signals;
mod store;
mod views;
mod waiting;

use crate::{
    cli,
    report::{self, CommandError, Result, Streams},
    telemetry::Pipeline,
    terminal::Styles,
};
pub(crate) use assemble::{base_directory, environment};

use log::Lines;
use server_stderr::ServerStderr;
use std::{io, process::ExitCode};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::FilterFn, layer::SubscriberExt};

/// Runs the command. Unlike others it locks neither standard output nor standard error: tasks and threads write the
/// client's messages and the log.
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
            let styles = Styles::of_stream(&err);
            let io = Streams::new(&mut out, &mut err, styles);
            report::report(&error, &mut io.with_errors_as_json(json))
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
    let to = args.otlp.as_ref();
    let pipeline = to.map(|to| Pipeline::start("crossfeed-gateway", Some(to), |tracers| tracers));
    let pipeline = pipeline.transpose()?;
    let stderr = args.check.then(ServerStderr::default);
    *lines = Some(subscribe(args, pipeline.as_ref(), stderr.clone())?);
    let done = if let Some(server) = &args.login {
        serve::alone()?.block_on(signals::until_signal(login::run(&config, server, json)))
    } else if let Some(stderr) = stderr {
        let check = async {
            let mut out = io::stdout();
            check::run(config, &environment, &stderr, &args.tool, json, &mut out).await
        };
        serve::alone()?.block_on(signals::until_signal(check))
    } else {
        let (config, token_file) = access::require_token(config, &environment)?;
        let telemetry = pipeline.as_ref().map(Pipeline::telemetry);
        serve::run(config, &environment, telemetry, token_file)
    };
    if let Some(pipeline) = pipeline {
        pipeline.end();
    }
    done
}

/// Sends events to the log, the lines of servers to `stderr`, and spans to the pipeline.
fn subscribe(
    args: &cli::Gateway,
    pipeline: Option<&Pipeline>,
    stderr: Option<ServerStderr>,
) -> Result<Lines> {
    // With `--check` the answer counts, not the events of servers that start.
    let usual = if args.check || args.login.is_some() {
        LevelFilter::WARN
    } else {
        LevelFilter::INFO
    };
    let events = args.log.unwrap_or(usual);
    let (log, lines) = log::Log::start(args.log_format, events)
        .map_err(|error| CommandError::usage(format!("cannot log: {error}")))?;
    let spans = pipeline.map(Pipeline::layer);
    let traced = spans.is_some();
    let reads_stderr = stderr.is_some();
    // Spans cost time even if none is exported.
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
