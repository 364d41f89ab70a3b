#![allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]
use crossfeed_json::Document;
use crossfeed_store::*;
use crossfeed_store_sqlite::*;
use crossfeed_wire::{CallId, Scope};
use std::time::{Duration, Instant};

fn median(mut v: Vec<Duration>) -> f64 {
    v.sort();
    v[v.len() / 2].as_secs_f64() * 1e6
}
fn p95(v: &[Duration]) -> f64 {
    let mut v = v.to_vec();
    v.sort();
    v[v.len() * 95 / 100].as_secs_f64() * 1e6
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let base = std::env::args().nth(1).unwrap();
    for (name, durability, keep) in [
        ("memory", Durability::Process, false),
        ("process", Durability::Process, true),
        ("flushed", Durability::Flushed, true),
    ] {
        for (size, n) in [(1_000usize, 500usize), (100_000, 200), (1_000_000, 60)] {
            let dir = format!("{base}/{name}-{size}");
            let options = SqliteOptions::default()
                .with_keep_results(keep)
                .with_durability(durability);
            let store = SqliteStore::open(&dir, options.clone()).unwrap();
            let scope = Scope::parse("t", "p", "s").unwrap();
            let ids: Vec<CallId> = (0..n)
                .map(|i| CallId::parse(&format!("call_{i}")).unwrap())
                .collect();
            let mut puts = vec![];
            for (i, id) in ids.iter().enumerate() {
                let data: String = format!("\"{i}{}\"", "x".repeat(size));
                let r = StoredResult::new(Document::new(data), ResultKind::Json)
                    .with_tool("search")
                    .with_arguments("{\"q\": 1}")
                    .with_server("web");
                let t = Instant::now();
                store.put(&scope, id, r).await.unwrap();
                puts.push(t.elapsed());
            }
            let mut warm = vec![];
            for id in ids.iter().rev().take(50).cycle().take(300) {
                let t = Instant::now();
                assert!(store.get(&scope, id).await.unwrap().found().is_some());
                warm.push(t.elapsed());
            }
            drop(store);
            let mut cold = vec![];
            let mut bytes = (0, 0);
            if keep {
                let store = SqliteStore::open(&dir, options.clone()).unwrap();
                for id in &ids {
                    let t = Instant::now();
                    assert!(store.get(&scope, id).await.unwrap().found().is_some());
                    cold.push(t.elapsed());
                }
                store.remove_session(&scope).await.unwrap();
                store
                    .put(
                        &scope,
                        &ids[0],
                        StoredResult::new(Document::new("1"), ResultKind::Json),
                    )
                    .await
                    .unwrap();
                let c = |d: &str| std::fs::metadata(format!("{d}/results.db")).unwrap().len();
                drop(store);
                bytes.0 = c(&dir);
                let store = SqliteStore::open(&dir, options).unwrap();
                let t = Instant::now();
                store.sweep().await.unwrap();
                print!("sweep {:.1} ms; ", t.elapsed().as_secs_f64() * 1e3);
                drop(store);
                bytes.1 = c(&dir);
            } else {
                cold.push(Duration::ZERO);
            }
            println!(
                "{name} {size}: put {:.0} us (p95 {:.0}), warm get {:.0} us, cold get {:.0} us, db {} -> {} KiB after sweep",
                median(puts.clone()),
                p95(&puts),
                median(warm),
                median(cold),
                bytes.0 >> 10,
                bytes.1 >> 10
            );
        }
    }

    // At limits.
    for (what, limits, sessions) in [
        ("1000 results in a session", MemoryLimits::default(), 1usize),
        (
            "bytes in all, 40 sessions",
            MemoryLimits::default().with_total_bytes(4_000_000),
            40,
        ),
    ] {
        let dir = format!("{base}/limit-{sessions}");
        let store = SqliteStore::open(
            &dir,
            SqliteOptions::default()
                .with_keep_results(true)
                .with_limits(limits),
        )
        .unwrap();
        let mut puts = vec![];
        for i in 0..8000usize {
            let scope = Scope::parse("t", "p", &format!("s{}", i % sessions)).unwrap();
            let r = StoredResult::new(Document::new("x".repeat(1000)), ResultKind::Text)
                .with_tool("search")
                .with_arguments("{}")
                .with_server("web");
            let id = CallId::parse(&format!("c{i}")).unwrap();
            let t = Instant::now();
            store.put(&scope, &id, r).await.unwrap();
            if i >= 6000 {
                puts.push(t.elapsed());
            }
        }
        println!(
            "{what}: put {:.0} us (p95 {:.0})",
            median(puts.clone()),
            p95(&puts)
        );
    }
    // Two stores at once.
    let dir = format!("{base}/two");
    let open = || {
        std::sync::Arc::new(
            SqliteStore::open(&dir, SqliteOptions::default().with_keep_results(true)).unwrap(),
        )
    };
    let tasks: Vec<_> = (0..2)
        .map(|w| {
            let store = open();
            std::thread::spawn(move || {
                let rt = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .unwrap();
                rt.block_on(async move {
                    let scope = Scope::parse("t", "p", &format!("s{w}")).unwrap();
                    let mut times = vec![];
                    for i in 0..2000usize {
                        let id = CallId::parse(&format!("c{i}")).unwrap();
                        let r =
                            StoredResult::new(Document::new("x".repeat(1000)), ResultKind::Text);
                        let t = Instant::now();
                        store.put(&scope, &id, r).await.unwrap();
                        store.get(&scope, &id).await.unwrap();
                        times.push(t.elapsed());
                    }
                    (
                        median(times.clone()),
                        p95(&times),
                        times.iter().max().unwrap().as_secs_f64() * 1e6,
                    )
                })
            })
        })
        .collect();
    for t in tasks {
        println!(
            "two writers: put+get {:?} us (median, p95, max)",
            t.join().unwrap()
        );
    }
}
