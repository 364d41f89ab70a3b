//! Runs the examples. Each checks what it computes; `export` needs arguments and is run by `.ci/run`.

#[path = "../examples/custom_store.rs"]
mod custom_store;
#[path = "../examples/orchestrator.rs"]
mod orchestrator;
#[path = "../examples/rewrite.rs"]
mod rewrite;
#[cfg(feature = "sqlite")]
#[path = "../examples/sqlite.rs"]
mod sqlite;
#[path = "../examples/telemetry.rs"]
mod telemetry;

#[test]
fn an_orchestrator_runs() {
    orchestrator::main().unwrap();
}

#[test]
fn a_tool_list_is_rewritten() {
    rewrite::main().unwrap();
}

#[cfg(feature = "sqlite")]
#[test]
fn artifacts_outlive_their_store() {
    sqlite::main().unwrap();
}

#[test]
fn a_store_of_ones_own_records() {
    custom_store::main().unwrap();
}

#[test]
fn a_call_is_measured() {
    telemetry::main().unwrap();
}
