//! Counters for the paths of messages: found by place, counted without a lock. Labels come from the configuration,
//! never from clients or servers.

use super::{Counter, Histogram, Metrics, families};
use crate::config::GatewayConfig;
use std::{sync::Arc, time::Instant};

/// Kinds of methods, as their label says them.
const KINDS: [&str; 6] = [
    "tools/call",
    "tools/list",
    "resources",
    "prompts",
    "tasks",
    "other",
];

/// The kind of a method, by its place.
fn kind(method: &str) -> usize {
    let family = method.split('/').next().unwrap_or_default();
    let of = KINDS
        .iter()
        .position(|kind| [method, family].contains(kind));
    of.unwrap_or(KINDS.len() - 1)
}

/// How a request to a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By a result.
    Result,
    /// By an error of the protocol.
    Error,
    /// Nobody waited for it any longer.
    Cancelled,
    /// It took longer than it may.
    TimedOut,
    /// It was not sent, or the server refused it.
    Unavailable,
    /// It was sent, and there is no answer that can be used.
    Unknown,
}

const OUTCOMES: [&str; 6] = [
    "result",
    "error",
    "cancelled",
    "timeout",
    "unavailable",
    "unknown",
];

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultOutcome {
    /// It can be referred to.
    Recorded,
    /// It says that the tool failed.
    Failed,
    /// The store did not take it.
    Refused,
}

const RESULT_OUTCOMES: [&str; 3] = ["recorded", "failed", "refused"];

/// What is counted of one server.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    requests: [[Counter; OUTCOMES.len()]; KINDS.len()],
    calls: Histogram,
    results: [Counter; RESULT_OUTCOMES.len()],
    pub(crate) sent: Counter,
    pub(crate) received: Counter,
    pub(crate) references: Counter,
    pub(crate) previews: Counter,
    pub(crate) restarts: Counter,
    pub(crate) failures: Counter,
    pub(crate) returns: Counter,
    pub(crate) no_messages: Counter,
}

impl ServerMetrics {
    fn new(metrics: &Metrics, name: &str) -> Self {
        let counter = |family, labels: &[&str]| metrics.counter(family, labels);
        let of = |family| counter(family, &[name]);
        Self {
            requests: KINDS.map(|kind| {
                OUTCOMES.map(|outcome| counter(families::REQUESTS, &[name, kind, outcome]))
            }),
            calls: metrics.histogram(families::CALLS, &[name]),
            results: RESULT_OUTCOMES.map(|kept| counter(families::RESULTS, &[name, kept])),
            sent: counter(families::BYTES, &[name, "sent"]),
            received: counter(families::BYTES, &[name, "received"]),
            references: of(families::REFERENCES),
            previews: of(families::PREVIEWS),
            restarts: of(families::RESTARTS),
            failures: of(families::FAILURES),
            returns: of(families::RETURNS),
            no_messages: of(families::NO_MESSAGES),
        }
    }

    /// What became of a result.
    pub(crate) fn result(&self, kept: ResultOutcome) {
        if let Some(counter) = self.results.get(kept as usize) {
            counter.add(1);
        }
    }

    /// A request that was not handed over.
    pub(crate) fn unsent(self: &Arc<Self>, method: &str) {
        self.begin(method).end(Outcome::Unavailable);
    }

    /// A request is handed over.
    pub(crate) fn begin(self: &Arc<Self>, method: &str) -> RequestTimer {
        RequestTimer {
            figures: Arc::clone(self),
            kind: kind(method),
            since: Instant::now(),
            outcome: Outcome::Cancelled,
        }
    }
}

/// A request that runs. Dropped, it was given up.
#[derive(Debug)]
pub(crate) struct RequestTimer {
    figures: Arc<ServerMetrics>,
    kind: usize,
    since: Instant,
    outcome: Outcome,
}

impl RequestTimer {
    /// It ended.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let of = self.figures.requests.get(self.kind);
        if let Some(counter) = of.and_then(|of| of.get(self.outcome as usize)) {
            counter.add(1);
        }
        let is_answered = matches!(self.outcome, Outcome::Result | Outcome::Error);
        if is_answered && self.kind == kind("tools/call") {
            self.figures.calls.took(self.since.elapsed());
        }
    }
}

/// What is counted of a gateway.
#[derive(Debug)]
pub(crate) struct GatewayMetrics {
    metrics: Metrics,
    servers: Vec<Arc<ServerMetrics>>,
    /// What the gateway adds before a call goes to its server, and when its result is there.
    pub(crate) before: Histogram,
    pub(crate) after: Histogram,
}

impl GatewayMetrics {
    /// Counts of nothing, of the servers of a configuration.
    pub(crate) fn new(metrics: &Metrics, config: &GatewayConfig) -> Arc<Self> {
        for family in families::ALL {
            metrics.declare(family);
        }
        let servers = config.servers.iter();
        Arc::new(Self {
            metrics: metrics.clone(),
            servers: servers
                .map(|server| Arc::new(ServerMetrics::new(metrics, &server.name)))
                .collect(),
            before: metrics.histogram(families::ADDED, &["before"]),
            after: metrics.histogram(families::ADDED, &["after"]),
        })
    }

    /// Where everything is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Those of a server, by its place in the configuration.
    pub(crate) fn server(&self, server: usize) -> Arc<ServerMetrics> {
        self.servers.get(server).cloned().unwrap_or_default()
    }

    /// A call with references was not made; `code` is one of ours.
    pub(crate) fn refused(&self, code: &'static str) {
        self.metrics.count(families::REFUSED, &[code]);
    }
}
