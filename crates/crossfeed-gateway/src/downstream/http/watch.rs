//! `/healthz`, `/readyz` and `/metrics`.

use super::{
    answer::{Answer, body},
    connections::Counts,
};
use crate::{
    metrics::{
        Metrics,
        families::{
            CLIENT_CONNECTIONS, CONNECTIONS, DESCRIPTORS, DESCRIPTORS_LIMIT, MEMORY_HELD,
            MEMORY_LIMIT, PROCESSES, PROCESSES_LIMIT, SESSIONS,
        },
    },
    port::{Hub, ServerHealth},
};
use http_body_util::Full;
use hyper::StatusCode;
use serde_json::json;

/// Whether the gateway serves, and the states of its servers: of those in `of`, where that is given, and of none without
/// `servers`.
pub(super) fn health(servers: Option<Vec<ServerHealth>>, of: Option<&[String]>) -> Answer {
    let mut health = json!({"status": "ok"});
    if let Some(mut servers) = servers {
        servers.retain(|server| of.is_none_or(|names| names.contains(&server.name)));
        health["servers"] = json!(servers);
    }
    let kind = Some("application/json");
    body(StatusCode::OK, kind, Full::from(health.to_string()))
}

/// Whether requests are to be sent to this gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// It ends soon.
    Draining,
    StoreAway,
}

/// 200 where requests are to be sent here, else 503.
pub(super) fn readiness(readiness: Readiness) -> Answer {
    let (status, word) = match readiness {
        Readiness::Ready => (StatusCode::OK, "ready"),
        Readiness::Draining => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        Readiness::StoreAway => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer"),
    };
    let text = json!({"status": word}).to_string();
    body(status, Some("application/json"), Full::from(text))
}

/// Servers, sessions, limits and counters, as Prometheus reads them.
pub(super) fn metrics(
    hub: &dyn Hub,
    metrics: &Metrics,
    sessions: usize,
    connections: Counts,
) -> Answer {
    for server in hub.health() {
        let states = [
            ("open", server.open),
            ("opening", server.opening),
            ("down", server.down),
            ("idle", server.idle),
        ];
        for (state, there) in states {
            metrics.set(CONNECTIONS, &[&server.name, state], there);
        }
    }
    metrics.set(SESSIONS, &[], sessions);
    let budget = hub.budget();
    metrics.set(MEMORY_HELD, &[], budget.held());
    metrics.set(MEMORY_LIMIT, &[], budget.limit());
    let Counts {
        strangers,
        idle,
        busy,
        places,
    } = connections;
    for (state, there) in [("stranger", strangers), ("idle", idle), ("busy", busy)] {
        metrics.set(CLIENT_CONNECTIONS, &[state], there);
    }
    let quotas = hub.quotas();
    metrics.set(PROCESSES, &[], quotas.used().processes);
    metrics.set(PROCESSES_LIMIT, &[], quotas.total().processes);
    metrics.set(DESCRIPTORS, &["clients"], strangers + idle + busy);
    metrics.set(DESCRIPTORS, &["servers"], quotas.used().descriptors);
    metrics.set(DESCRIPTORS_LIMIT, &["clients"], places);
    metrics.set(DESCRIPTORS_LIMIT, &["servers"], quotas.total().descriptors);
    if let Some(store) = hub.store_metrics() {
        metrics.show_store(&store);
    }
    let kind = Some("text/plain; version=0.0.4; charset=utf-8");
    body(StatusCode::OK, kind, Full::from(metrics.text()))
}
