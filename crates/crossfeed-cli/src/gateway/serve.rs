//! Serves clients until a signal ends the process.

use super::{assemble, signals::Signals};
use crate::report::{CommandError, Result};
use crossfeed::telemetry::Telemetry;
use crossfeed_gateway::{
    claim::{ClaimError, SessionClaim},
    config::{GatewayConfig, ListenConfig},
    downstream::{http::Http, stdio},
    hub::Gateway,
    metrics::Metrics,
    port::Hub,
    watchdog::Watchdog,
};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::oneshot,
};

/// How long to wait for threads that read standard input: they cannot be interrupted.
const THREADS_TIMEOUT: Duration = Duration::from_millis(50);

pub(super) fn run(
    config: GatewayConfig,
    environment: &BTreeMap<String, String>,
    telemetry: Option<Arc<dyn Telemetry>>,
    token_file: Option<PathBuf>,
) -> Result {
    let metrics = Metrics::new();
    let watchdog = Watchdog::new(&metrics);
    let runtime = runtime(&config, &watchdog).map_err(unstarted)?;
    let watching = watchdog.watch(runtime.handle()).map_err(unstarted)?;
    let done = runtime.block_on(async {
        let signals = Signals::watch().map_err(unstarted)?;
        metrics.count_panics();
        let assembled = assemble::gateway(config, environment, telemetry, &metrics);
        let (gateway, claim) = tokio::select! {
            assembled = assembled => assembled?,
            () = signals.clone().first() => return Ok(()),
        };
        tokio::select! {
            served = serve(&gateway, metrics, token_file, claim, signals.clone()) => served,
            () = signals.second() => {
                tracing::warn!("second signal: cancelling what still runs");
                Ok(())
            }
            never = gateway.sweep() => match never {},
            never = gateway.stay() => match never {},
        }
    });
    drop(watching);
    runtime.shutdown_timeout(THREADS_TIMEOUT);
    done
}

/// One thread for one client, so that no message wakes another thread. A thread for every two processors for many clients:
/// more threads would wake each other for single messages, and compete with the servers.
fn runtime(config: &GatewayConfig, watchdog: &Watchdog) -> io::Result<Runtime> {
    let mut builder = match config.listen {
        None => Builder::new_current_thread(),
        Some(_) => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads((processors / 2).max(1));
            builder
        }
    };
    watchdog.attach(&mut builder);
    builder.enable_all().build()
}

/// Listens at the address; the result has the actual port.
async fn bind(listen: &ListenConfig) -> Result<(TcpListener, ListenConfig)> {
    let listener = TcpListener::bind(listen.address).await;
    let listener = listener.map_err(|error| {
        CommandError::usage(format!("cannot listen at {}: {error}", listen.address))
    })?;
    let mut listen = listen.clone();
    listen.address = listener.local_addr().map_err(unstarted)?;
    Ok((listener, listen))
}

/// A runtime for a single task.
pub(super) fn alone() -> Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().map_err(unstarted)
}

async fn serve(
    gateway: &Arc<Gateway>,
    metrics: Metrics,
    token_file: Option<PathBuf>,
    mut claim: Option<SessionClaim>,
    signals: Signals,
) -> Result {
    let mut lost = None;
    let served = {
        let (lose, is_lost) = oneshot::channel();
        // Until all has ended: no other process goes on with the session before that.
        let holding = async {
            lost = Some(held(claim.as_mut()).await);
            let _ = lose.send(());
            std::future::pending::<Infallible>().await
        };
        // Another process that goes on with the session ends this one.
        let stop = async {
            tokio::select! {
                () = signals.first() => {}
                _ = is_lost => {}
            }
        };
        let serving = async {
            let served = serve_clients(gateway, metrics, token_file, stop).await;
            gateway.shut_down().await;
            served
        };
        tokio::select! {
            served = serving => served,
            never = holding => match never {},
        }
    };
    if let Some(claim) = claim {
        claim.release().await;
    }
    tracing::info!("ended");
    match lost {
        Some(why) => Err(assemble::unclaimed(why)),
        None => served,
    }
}

/// Serves clients until `stop` is there, or the only one is gone.
async fn serve_clients(
    gateway: &Arc<Gateway>,
    metrics: Metrics,
    token_file: Option<PathBuf>,
    stop: impl Future<Output = ()> + Send,
) -> Result {
    let config = gateway.config();
    let names: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
    match &config.listen {
        None => {
            tracing::info!(servers = %names.join(", "), "serving on standard input and output");
            if io::stdin().is_terminal() {
                tracing::info!(
                    "an MCP client starts this command and writes to it; `--check` shows what it does, Ctrl-D ends it"
                );
            }
            log_limits(gateway);
            let (input, output) = stdio::standard().map_err(unstarted)?;
            let hub = Arc::clone(gateway) as Arc<_>;
            let served = stdio::serve(hub, input, output, &config.limits, stop).await;
            served.map_err(|error| {
                CommandError::usage(format!("cannot read standard input: {error}"))
            })
        }
        Some(listen) => {
            let is_picked = listen.address.port() == 0;
            let (listener, listen) = bind(listen).await?;
            let (address, path) = (listen.address, &listen.path);
            tracing::info!(servers = %names.join(", "), "serving on http://{address}{path}");
            if let Some(file) = token_file {
                // A port that the system picks changes with each start.
                let advice = if is_picked {
                    ""
                } else {
                    ": `--print-client-config` prints a client's entry"
                };
                tracing::info!(
                    token_file = %file.display(),
                    "clients need the token in this file{advice}"
                );
            }
            if listen.anonymous {
                tracing::warn!(
                    "no token is needed: anyone who can reach this address can use the servers"
                );
            }
            log_limits(gateway);
            let hub = Arc::clone(gateway) as Arc<_>;
            let http = Http::new(hub, &listen, &config.limits, metrics);
            http.serve(listener, stop).await;
            Ok(())
        }
    }
}

/// Waits until another process has the claim.
async fn held(claim: Option<&mut SessionClaim>) -> ClaimError {
    match claim {
        Some(claim) => claim.hold().await,
        None => std::future::pending().await,
    }
}

/// Logs the limits for clients and servers.
fn log_limits(gateway: &Gateway) {
    let limits = &gateway.config().limits;
    tracing::info!(
        descriptors = limits.descriptors,
        connections = limits.connections(),
        sessions = limits.sessions,
        processes = gateway.quotas().total().processes,
        "limits"
    );
}

fn unstarted(error: io::Error) -> CommandError {
    CommandError::usage(format!("cannot start: {error}"))
}
