//! For whoever watches the gateway: `/healthz` and `/metrics`.

use super::answer::{Answer, body};
use crate::downstream::Hub;
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

/// The same, and sessions, as Prometheus reads it.
pub(super) fn metrics(hub: &dyn Hub, sessions: usize) -> Response<Answer> {
    let text = crate::metrics::text(&hub.health(), sessions);
    let kind = Some("text/plain; version=0.0.4; charset=utf-8");
    body(StatusCode::OK, kind, text.into())
}
