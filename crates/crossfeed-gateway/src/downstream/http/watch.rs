//! For whoever watches the gateway: `/healthz` and `/metrics`.

use super::answer::{Answer, body};
use crate::{
    downstream::Hub,
    metrics::{
        Metrics,
        families::{CONNECTIONS, MEMORY_HELD, MEMORY_LIMIT, SESSIONS},
    },
};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// How the servers are.
pub(super) fn health(hub: &dyn Hub) -> Response<Answer> {
    let servers: Vec<Value> = hub
        .health()
        .into_iter()
        .map(|server| {
            json!({
                "name": server.name,
                "open": server.open,
                "opening": server.opening,
                "down": server.down,
            })
        })
        .collect();
    let health = json!({"status": "ok", "servers": servers});
    let kind = Some("application/json");
    body(StatusCode::OK, kind, health.to_string().into())
}

/// The same, and sessions, and what was counted, as Prometheus reads it.
pub(super) fn metrics(hub: &dyn Hub, metrics: &Metrics, sessions: usize) -> Response<Answer> {
    for server in hub.health() {
        let states = [
            ("open", server.open),
            ("opening", server.opening),
            ("down", server.down),
        ];
        for (state, there) in states {
            metrics.set(CONNECTIONS, &[&server.name, state], there);
        }
    }
    metrics.set(SESSIONS, &[], sessions);
    let budget = hub.budget();
    metrics.set(MEMORY_HELD, &[], budget.held());
    metrics.set(MEMORY_LIMIT, &[], budget.limit());
    let kind = Some("text/plain; version=0.0.4; charset=utf-8");
    body(StatusCode::OK, kind, metrics.text().into())
}
