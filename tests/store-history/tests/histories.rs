//! A short run of each store; `README.md` says how to make a long one.

use std::process::Command;

/// Runs the checker, and fails if it found anything.
#[expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that runs a program"
)]
fn check(arguments: &[&str]) {
    let run = Command::new(env!("CARGO_BIN_EXE_crossfeed-store-history"))
        .args(arguments)
        .args(["--seconds", "6"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&run.stdout);
    let problem = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{printed}\n{problem}");
}

#[test]
fn memory() {
    check(&["memory", "--evict"]);
}

#[test]
fn sqlite() {
    check(&["sqlite"]);
}

#[test]
fn sqlite_that_evicts() {
    check(&["sqlite", "--evict"]);
}

#[test]
fn redis() {
    check(&["redis"]);
}

#[test]
fn redis_that_evicts() {
    check(&["redis", "--evict"]);
}

#[test]
fn redis_with_a_replica() {
    check(&["redis-replicated"]);
}

#[test]
fn a_cluster_of_redis() {
    check(&["redis-cluster"]);
}

#[test]
fn redis_with_large_data_in_s3() {
    check(&["redis-blobs"]);
}

#[test]
fn redis_with_limits_of_a_tenant() {
    check(&["redis", "--limit"]);
}

#[test]
fn a_primary_that_is_cut_off() {
    check(&["redis-split"]);
}

#[test]
fn a_cluster_of_redis_with_replicas() {
    check(&["redis-cluster-replicated"]);
}
