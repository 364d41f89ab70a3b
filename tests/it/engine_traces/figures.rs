//! Figures of what stores hold.

use super::pipeline::{exported_with, id};
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_store::{MemoryLimits, MemoryStore};
use crossfeed_wire::Scope;
use std::sync::Arc;

fn scope() -> Scope {
    Scope::parse("t", "p", "s").unwrap()
}

#[test]
fn a_shared_store_counts_once_and_what_was_lost_is_not_forgotten() {
    let exported = exported_with(async |telemetry, meters| {
        let limits = MemoryLimits::default().with_session_results(1);
        let options = || EngineOptions::default().with_telemetry(telemetry.clone());
        let lose_one = async |engine: &Engine| {
            for call in ["call_1", "call_2"] {
                let session = engine.session(scope());
                session
                    .record(&id(call), ToolResult::json("[1]"))
                    .await
                    .unwrap();
            }
        };
        let gone = Engine::new(options(), Arc::new(MemoryStore::new(limits.clone())));
        lose_one(&gone).await;
        meters.force_flush().unwrap();
        drop(gone);
        let store = Arc::new(MemoryStore::new(limits));
        let (one, other) = (
            Engine::new(options(), store.clone()),
            Engine::new(options(), store),
        );
        lose_one(&one).await;
        meters.force_flush().unwrap();
        drop((one, other));
    });
    // Nothing is held in the end, but it is known what was lost.
    let sums = |name: &str| {
        let metrics = exported.metrics.iter().filter(|metric| metric.name == name);
        metrics.map(|metric| metric.sum).collect::<Vec<_>>()
    };
    assert_eq!(sums("crossfeed.store.results"), [1, 1, 0]);
    assert_eq!(sums("crossfeed.store.evictions"), [1, 2, 2]);
    assert_eq!(sums("crossfeed.store.expirations"), [0, 0, 0]);
}
