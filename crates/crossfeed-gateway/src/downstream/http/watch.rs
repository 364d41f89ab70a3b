//! For whoever watches the gateway: `/healthz` and `/metrics`.

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
    port::Hub,
};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// That the gateway serves, for who may not know its servers.
pub(super) fn alive() -> Response<Answer> {
    let health = json!({"status": "ok"});
    let kind = Some("application/json");
    body(StatusCode::OK, kind, health.to_string().into())
}

/// How the servers are; of those, if it is said which.
pub(super) fn health(hub: &dyn Hub, of: Option<&[String]>) -> Response<Answer> {
    let servers: Vec<Value> = hub
        .health()
        .into_iter()
        .filter(|server| of.is_none_or(|names| names.contains(&server.name)))
        .map(|server| {
            json!({
                "name": server.name,
                "open": server.open,
                "opening": server.opening,
                "down": server.down,
                "idle": server.idle,
            })
        })
        .collect();
    let health = json!({"status": "ok", "servers": servers});
    let kind = Some("application/json");
    body(StatusCode::OK, kind, health.to_string().into())
}

/// The same, and sessions, and what was counted, as Prometheus reads it.
pub(super) fn metrics(
    hub: &dyn Hub,
    metrics: &Metrics,
    sessions: usize,
    connections: Counts,
) -> Response<Answer> {
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
        ..
    } = connections;
    for (state, there) in [("stranger", strangers), ("idle", idle), ("busy", busy)] {
        metrics.set(CLIENT_CONNECTIONS, &[state], there);
    }
    let quotas = hub.quotas();
    metrics.set(PROCESSES, &[], quotas.processes.used());
    metrics.set(PROCESSES_LIMIT, &[], quotas.processes.total());
    metrics.set(DESCRIPTORS, &["clients"], strangers + idle + busy);
    metrics.set(DESCRIPTORS, &["servers"], quotas.descriptors.used());
    metrics.set(DESCRIPTORS_LIMIT, &["clients"], connections.places);
    metrics.set(DESCRIPTORS_LIMIT, &["servers"], quotas.descriptors.total());
    let kind = Some("text/plain; version=0.0.4; charset=utf-8");
    body(StatusCode::OK, kind, metrics.text().into())
}
