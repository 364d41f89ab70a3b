//! Calls in flight of two engines over one directory, as two processes have them.

use crossfeed_core::{Engine, EngineOptions, Session, ToolResult};
use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, sync::Arc, time::Duration};

/// A directory that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("crossfeed-shared-calls-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// A session as a process of its own has it.
    fn session(&self) -> Session {
        let options = SqliteOptions::default().with_keep_results(true);
        let options = options.with_lease(Duration::from_secs(3));
        let store = SqliteStore::open(&self.0, options).unwrap();
        let engine = Engine::new(EngineOptions::default(), Arc::new(store));
        engine.session(Scope::parse("t", "p", "s").unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn to(id: &str) -> Value {
    json!({"x": {"$tool": id}})
}

#[tokio::test]
async fn a_reference_waits_for_a_call_of_another_process() {
    let folder = Folder::new("wait");
    let (one, other) = (folder.session(), folder.session());
    let flight = one.begin(&call("a")).await.unwrap();
    assert!(other.begin(&call("a")).await.is_err());
    let (resolved, recorded) = tokio::join!(other.resolve(to("a"), None), async {
        // Longer than a lease lasts.
        tokio::time::sleep(Duration::from_secs(4)).await;
        flight.complete(ToolResult::json("7")).await
    });
    recorded.unwrap();
    assert_eq!(resolved.unwrap().arguments, json!({"x": 7}));
    let flight = one.begin(&call("b")).await.unwrap();
    let (resolved, ()) = tokio::join!(other.resolve(to("b"), None), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(flight);
    });
    let text = resolved.unwrap_err().to_string();
    assert!(text.starts_with("call `b` was given up"), "{text}");
}

#[tokio::test]
async fn calls_of_two_processes_that_wait_for_each_other_are_told() {
    let folder = Folder::new("cycle");
    let (one, other) = (folder.session(), folder.session());
    let a = one.begin(&call("a")).await.unwrap();
    let b = other.begin(&call("b")).await.unwrap();
    let waits = tokio::join!(
        a.session().resolve(to("b"), None),
        b.session().resolve(to("a"), None)
    );
    for (resolved, path) in [
        (waits.0, "`a` -> `b` -> `a`"),
        (waits.1, "`b` -> `a` -> `b`"),
    ] {
        let text = resolved.unwrap_err().to_string();
        assert!(text.contains(path), "{text}");
    }
}
