//! Figures of known steps, and of what stores hold.

use super::pipeline::{Exported, exported_with, id};
use crate::support::WatchedStore;
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_store::{MemoryLimits, MemoryStore};
use crossfeed_wire::Scope;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

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

#[test]
fn a_store_that_is_asked_may_wait_for_another_engine() {
    let waited = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&waited);
    exported_with(async |telemetry, meters| {
        let options = EngineOptions::default().with_telemetry(telemetry);
        let store = WatchedStore::in_memory();
        let engine = Engine::new(options.clone(), store.clone());
        store.when_held(move || {
            let (options, (done, is_done)) = (options.clone(), mpsc::channel());
            thread::spawn(move || done.send(Engine::in_memory(options)));
            let is_done = is_done.recv_timeout(Duration::from_secs(10)).is_ok();
            noted.fetch_add(usize::from(is_done), Ordering::SeqCst);
        });
        meters.force_flush().unwrap();
        drop(engine);
    });
    // Once for each of the four figures.
    assert_eq!(waited.load(Ordering::SeqCst), 4);
}

/// What one metric came to in the end, by its attributes.
fn check(exported: &Exported, name: &str, expected: &[(&str, i64)]) {
    let mut metrics = exported.metrics.iter().rev();
    let metric = metrics.find(|metric| metric.name == name).unwrap();
    let expected = expected
        .iter()
        .map(|(named, sum)| ((*named).to_owned(), *sum));
    assert_eq!(metric.sums, expected.collect(), "{name}");
}

#[test]
fn each_step_counts_once() {
    let exported = exported_with(async |telemetry, meters| {
        let limits = MemoryLimits::default().with_session_results(2);
        let options = EngineOptions::default().with_telemetry(telemetry);
        let engine = Engine::new(options, Arc::new(MemoryStore::new(limits)));
        let session = engine.session(scope());
        let resolve = async |arguments: Value| {
            let _ = session.resolve(arguments, None).await;
        };
        let record = async |call: &str, result: ToolResult| {
            session.record(&id(call), result).await.unwrap();
        };
        record("call_1", ToolResult::json("[10, 20]")).await;
        let first = json!({"$tool": "call_1", "$select": "[0]"});
        resolve(json!({"one": first, "all": {"$tool": "call_1"}})).await;
        resolve(json!({"one": first})).await;
        resolve(json!({"d": {"$tool": "call_1", "$select": "x", "$default": "long"}})).await;
        resolve(json!({"none": "of it"})).await;
        resolve(json!({"a": {"$tool": "nobody"}, "b": {"$tool": "nobody"}})).await;
        resolve(json!({"a": {"$tool": "call_1", "$select": "x"}})).await;
        record("call_2", ToolResult::text("no").failed()).await;
        resolve(json!({"a": {"$tool": "call_2"}})).await;
        record("call_3", ToolResult::json("[30]")).await;
        resolve(json!({"a": {"$tool": "call_1"}})).await;
        let call = session.begin(&id("call_4")).await.unwrap();
        meters.force_flush().unwrap();
        drop((call, engine));
    });
    let refused = |code: &str| format!("crossfeed.outcome=refused error.type={code}");
    let missed = |code: &str| format!("crossfeed.cache.hit=false error.type={code}");
    check(
        &exported,
        "crossfeed.resolutions",
        &[
            ("crossfeed.outcome=resolved", 4),
            (&refused("result.unknown"), 1),
            (&refused("select.matched_nothing"), 1),
            (&refused("result.failed"), 1),
            (&refused("result.evicted"), 1),
        ],
    );
    check(
        &exported,
        "crossfeed.references",
        &[
            ("crossfeed.cache.hit=true", 4),
            (&missed("result.unknown"), 2),
            (&missed("result.evicted"), 1),
        ],
    );
    // `10`, `[10, 20]` and `10`.
    check(&exported, "crossfeed.bytes.moved", &[("", 12)]);
    check(
        &exported,
        "crossfeed.select.duration",
        &[("", 2), ("error.type=select.matched_nothing", 2)],
    );
    check(&exported, "crossfeed.store.evictions", &[("", 1)]);
    let in_flight = exported.metrics.iter();
    let in_flight = in_flight.filter(|metric| metric.name == "crossfeed.calls.in_flight");
    let in_flight: Vec<_> = in_flight.map(|metric| metric.sum).collect();
    assert_eq!(in_flight, [1, 0]);
}
