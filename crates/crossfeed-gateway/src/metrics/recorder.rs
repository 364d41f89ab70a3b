//! Counters on the paths of messages, each looked up once. Labels come from the configuration, never from clients
//! or servers.

use super::{Counter, Histogram, Metrics, families};
use crate::config::GatewayConfig;
use std::{sync::Arc, time::Instant};
use strum::{EnumCount, VariantNames};

/// Kinds of methods, as labels.
const KINDS: [&str; 6] = [
    "tools/call",
    "tools/list",
    "resources",
    "prompts",
    "tasks",
    "other",
];

/// The index of a method's kind.
fn kind(method: &str) -> usize {
    let family = method.split('/').next().unwrap_or_default();
    let mut kinds = KINDS.iter();
    let kind = kinds.position(|kind| [method, family].contains(kind));
    kind.unwrap_or(KINDS.len() - 1)
}

/// How a request to a server ended.
#[derive(Clone, Copy, Debug, EnumCount, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Outcome {
    /// With a result.
    Result,
    /// With an error of the protocol.
    Error,
    /// The client cancelled it.
    Cancelled,
    #[strum(serialize = "timeout")]
    TimedOut,
    /// The gateway did not send it, or the server refused it.
    Unavailable,
    /// The server got it, and sent no usable answer.
    Unknown,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum ResultOutcome {
    /// References can name it.
    Recorded,
    /// It is the error of a tool.
    Failed,
    /// The store did not take it.
    Refused,
}

/// The metrics of one server.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    /// By kind of method, then by outcome.
    requests: Vec<Counter>,
    calls: Histogram,
    results: Vec<Counter>,
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
        let requests = |kind| {
            let outcomes = Outcome::VARIANTS.iter();
            outcomes.map(move |outcome| counter(families::REQUESTS, &[name, kind, outcome]))
        };
        let results = ResultOutcome::VARIANTS.iter();
        Self {
            requests: KINDS.into_iter().flat_map(requests).collect(),
            calls: metrics.histogram(families::CALLS, &[name]),
            results: results
                .map(|outcome| counter(families::RESULTS, &[name, outcome]))
                .collect(),
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

    /// Counts a result.
    pub(crate) fn result(&self, outcome: ResultOutcome) {
        if let Some(counter) = self.results.get(outcome as usize) {
            counter.add(1);
        }
    }

    /// Starts the timer of a request that is about to be sent.
    pub(crate) fn begin(self: &Arc<Self>, method: &str) -> RequestTimer {
        RequestTimer {
            metrics: Arc::clone(self),
            kind: kind(method),
            since: Instant::now(),
            outcome: Outcome::Cancelled,
        }
    }
}

/// Counts a running request when it is dropped: as cancelled unless it has ended otherwise.
#[derive(Debug)]
pub(crate) struct RequestTimer {
    metrics: Arc<ServerMetrics>,
    kind: usize,
    since: Instant,
    outcome: Outcome,
}

impl RequestTimer {
    /// Ends the request.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let at = self.kind * Outcome::COUNT + self.outcome as usize;
        if let Some(counter) = self.metrics.requests.get(at) {
            counter.add(1);
        }
        let is_answered = matches!(self.outcome, Outcome::Result | Outcome::Error);
        if is_answered && self.kind == kind("tools/call") {
            self.metrics.calls.took(self.since.elapsed());
        }
    }
}

/// The metrics of a gateway.
#[derive(Debug)]
pub(crate) struct GatewayMetrics {
    pub(crate) metrics: Metrics,
    servers: Vec<Arc<ServerMetrics>>,
    /// The time that the gateway takes before it sends a call, and after its result has come.
    pub(crate) before: Histogram,
    pub(crate) after: Histogram,
}

impl GatewayMetrics {
    /// Registers the metrics of the servers of a configuration.
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

    /// The metrics of a server, by its index in the configuration.
    pub(crate) fn server(&self, server: usize) -> Arc<ServerMetrics> {
        self.servers.get(server).cloned().unwrap_or_default()
    }

    /// Counts a session that goes on here.
    pub(crate) fn took_up(&self) {
        self.metrics.count(families::TAKEN_UP, &[]);
    }

    /// Counts a call that was refused for its references; `code` is one of the gateway's own.
    pub(crate) fn refused(&self, code: &'static str) {
        self.metrics.count(families::REFUSED, &[code]);
    }
}
