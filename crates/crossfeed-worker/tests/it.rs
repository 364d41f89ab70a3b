//! Workers as processes: what they answer, what they may take, and how they end. This program is its own worker, so it
//! has a main function of its own; arguments are parts of the names of tests.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "this is a test"
)]

use crossfeed_sql::SqlLimits;
use crossfeed_worker::{Lease, WorkerCommand, WorkerError, WorkerOptions, Workers};
use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    process::ExitCode,
    time::{Duration, Instant},
};

type Test = fn() -> Pin<Box<dyn Future<Output = ()>>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "worker") {
        return crossfeed_worker::serve();
    }
    let tests: [(&str, Test); 8] = [
        ("a_worker_answers_about_what_it_imported", || {
            Box::pin(answers())
        }),
        ("a_worker_is_of_one_owner", || Box::pin(owners())),
        ("what_does_not_end_is_killed", || Box::pin(deadlines())),
        ("what_takes_too_much_memory_ends", || Box::pin(memory())),
        ("a_dropped_lease_ends_its_worker", || Box::pin(cancelled())),
        ("few_run_at_once", || Box::pin(bounded())),
        ("workers_end_when_they_are_not_used", || Box::pin(idle())),
        ("many_runs_leave_nothing_behind", || Box::pin(many())),
    ];
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|own| !own.starts_with('-'))
        .collect();
    let picked = tests.iter().filter(|(name, _)| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    });
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in picked {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test())));
        println!(
            "test {name} ... {}",
            if outcome.is_ok() { "ok" } else { "FAILED" }
        );
        *(if outcome.is_ok() {
            &mut passed
        } else {
            &mut failed
        }) += 1;
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out"
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn options() -> WorkerOptions {
    WorkerOptions::new(WorkerCommand::own(["worker"]).unwrap()).with_warm(0)
}

async fn lease(workers: &Workers<()>, owner: &str) -> Lease<()> {
    workers.lease(owner).await.unwrap()
}

async fn answers() {
    let workers = Workers::new(options());
    let mut worker = lease(&workers, "a").await;
    let outlined = worker
        .import("call_1", r#"{"items": [{"id": 1}, {"id": 2}], "total": 2}"#)
        .await
        .unwrap();
    assert_eq!(
        outlined.text,
        "call_1(total INTEGER): 1 row\ncall_1_items(id INTEGER): 2 rows"
    );
    worker
        .import("call_2", "[{\"item\": 2, \"open\": true}]")
        .await
        .unwrap();
    let sql = "SELECT id, open FROM call_1_items JOIN call_2 ON item = id";
    let answer = worker.query(sql).await.unwrap();
    assert_eq!(
        (answer.json.as_ref(), answer.rows, answer.is_cut),
        (&br#"[{"id":2,"open":true}]"#[..], 1, false)
    );
    assert_eq!(
        worker.outline(&["call_2"]).await.unwrap().text,
        "call_2(item INTEGER, open BOOLEAN): 1 row"
    );
    // What is wrong with a statement does not harm the worker.
    let error = worker
        .query("SELECT idd FROM call_1_items")
        .await
        .unwrap_err();
    assert_eq!(
        (error.code().as_str(), error.to_string().as_str()),
        ("query.invalid", "no such column: idd")
    );
    assert!(
        error.advice().starts_with("try: id\ntables: call_1_items"),
        "{}",
        error.advice()
    );
    assert_eq!(
        worker
            .import("call_3", "[")
            .await
            .unwrap_err()
            .code()
            .as_str(),
        "query.invalid"
    );
    assert_eq!(
        worker.query("SELECT 1 AS one").await.unwrap().json,
        "[{\"one\":1}]"
    );
    // It has neither environment nor files; what of the system gives that, it says.
    let sandbox = workers.warm_up().await.unwrap();
    println!("{sandbox:?}");
    assert!(sandbox.limits);
    let wrong = WorkerOptions::new(WorkerCommand::new("/nowhere/at/all", [""; 0]));
    let error = Workers::<()>::new(wrong)
        .lease("a")
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.code().as_str(), "worker.unavailable");
}

async fn owners() {
    let workers = Workers::new(options());
    let mut worker = lease(&workers, "a").await;
    worker.import("call_1", "[1]").await.unwrap();
    worker.keep();
    let mut other = lease(&workers, "b").await;
    assert!(other.imported("call_1").is_none());
    let error = other.query("SELECT * FROM call_1").await.unwrap_err();
    assert_eq!(error.to_string(), "no such table: call_1");
    other.keep();
    let mut worker = lease(&workers, "a").await;
    assert!(worker.imported("call_1").is_some());
    assert_eq!(worker.query("SELECT * FROM call_1").await.unwrap().rows, 1);
    worker.keep();
    workers.forget("a");
    assert!(lease(&workers, "a").await.imported("call_1").is_none());
}

/// A search that one function of SQLite takes hours for, without a look at the clock.
const ENDLESS: &str =
    "SELECT instr(printf('%.*c', 10000000, 'a'), printf('%.*c', 5000000, 'a') || 'b')";

async fn deadlines() {
    let limits = SqlLimits::default().with_time(Duration::from_millis(200));
    let workers = Workers::new(
        options()
            .with_limits(limits)
            .with_grace(Duration::from_millis(800)),
    );
    for (sql, is_killed) in [
        (
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
            false,
        ),
        (ENDLESS, true),
    ] {
        let mut worker = lease(&workers, "a").await;
        let began = Instant::now();
        let error = worker.query(sql).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(
            matches!(error, WorkerError::Time { .. }),
            is_killed,
            "{error:?}"
        );
        assert_eq!(error.code().as_str(), "limit.exceeded");
        drop(worker);
        assert_eq!(
            lease(&workers, "a")
                .await
                .query("SELECT 1")
                .await
                .unwrap()
                .rows,
            1
        );
    }
}

async fn memory() {
    let workers = Workers::new(options().with_memory_bytes(128 << 20));
    let numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 300)";
    for sql in [
        format!(
            "{numbers} SELECT length(y) FROM (SELECT x || printf('%.*c', 1000000, 'x') AS y FROM c) ORDER BY y DESC"
        ),
        format!(
            "{numbers} SELECT count(DISTINCT y) FROM (SELECT x || printf('%.*c', 1000000, 'x') AS y FROM c)"
        ),
    ] {
        let mut worker = lease(&workers, "a").await;
        let error = worker.query(&sql).await.unwrap_err();
        assert_eq!(error.code().as_str(), "limit.exceeded", "{error}");
        drop(worker);
    }
    let mut worker = lease(&workers, "a").await;
    let large = format!("[{}0]", "\"0123456789\",".repeat(8 << 20));
    let error = worker.import("call_1", large).await.unwrap_err();
    assert_eq!(error.code().as_str(), "limit.exceeded", "{error}");
}

/// The children of this process, also those that have ended and nobody has asked about.
fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let children =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    children
        .map(|children| children.split_whitespace().count())
        .sum()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until so many processes are left.
async fn left(count: usize) {
    let began = Instant::now();
    while children() != count {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{} processes",
            children()
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn cancelled() {
    if !fs::exists("/proc/self/task").unwrap() {
        println!("skip: this system has no /proc");
        return;
    }
    left(0).await;
    let workers = Workers::new(options());
    let mut worker = lease(&workers, "a").await;
    left(1).await;
    let query = worker.query(ENDLESS);
    assert!(
        tokio::time::timeout(Duration::from_millis(100), query)
            .await
            .is_err()
    );
    // Nobody gets the answer that it owes.
    worker.keep();
    left(0).await;
    let mut worker = lease(&workers, "a").await;
    assert_eq!(
        worker.query("SELECT 7 AS n").await.unwrap().json,
        "[{\"n\":7}]"
    );
}

async fn bounded() {
    let limits = SqlLimits::default().with_time(Duration::from_millis(200));
    let workers = Workers::new(
        options()
            .with_limits(limits)
            .with_running(1)
            .with_grace(Duration::from_millis(100)),
    );
    let first = lease(&workers, "a").await;
    let error = workers.lease("b").await.map(drop).unwrap_err();
    assert!(matches!(error, WorkerError::Busy { .. }), "{error:?}");
    drop(first);
    drop(lease(&workers, "b").await);
}

async fn idle() {
    if !fs::exists("/proc/self/task").unwrap() {
        println!("skip: this system has no /proc");
        return;
    }
    left(0).await;
    let workers = Workers::new(options().with_idle(Duration::from_millis(100)).with_kept(2));
    let mut leased = Vec::new();
    for owner in ["a", "b"] {
        leased.push(lease(&workers, owner).await);
    }
    leased.into_iter().for_each(Lease::keep);
    lease(&workers, "c").await.keep();
    left(2).await;
    left(0).await;
    drop(workers);
}

#[expect(
    clippy::disallowed_methods,
    reason = "how many runs there are is for the one who asks for a long test"
)]
async fn many() {
    if !fs::exists("/proc/self/task").unwrap() {
        println!("skip: this system has no /proc");
        return;
    }
    let runs: usize = env::var("CROSSFEED_WORKER_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(200);
    left(0).await;
    let before = descriptors();
    let workers = Workers::new(options().with_idle(Duration::from_millis(20)).with_warm(1));
    for run in 0..runs {
        let mut worker = lease(&workers, &format!("owner {}", run % 7)).await;
        if worker.imported("call_1").is_none() {
            worker.import("call_1", "[{\"id\": 1}]").await.unwrap();
        }
        let sql = [
            "SELECT id FROM call_1",
            "SELECT nothing FROM call_1",
            "SELECT 1; SELECT 2",
            ENDLESS,
        ][run % 4];
        let query = worker.query(sql);
        let outcome = tokio::time::timeout(Duration::from_millis(20), query).await;
        match outcome {
            Ok(Ok(answer)) if run % 4 == 0 => assert_eq!(answer.rows, 1),
            Ok(Err(WorkerError::Query(_))) if run % 4 != 3 => {}
            // Busy machines take longer than 20 ms.
            Err(_) => continue,
            other => panic!("{sql}: {other:?}"),
        }
        worker.keep();
    }
    drop(workers);
    left(0).await;
    assert_eq!(descriptors(), before);
}
