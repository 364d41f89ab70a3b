//! The in-memory store: inserts, hits and evictions, on one thread and on two, against the least
//! that a cache can be: an LRU map behind one lock.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work};
use crossfeed_json::Document;
use crossfeed_store::{MemoryLimits, MemoryStore, ResultKind, ResultStore, StoredResult};
use crossfeed_wire::{CallId, Scope};
use lru::LruCache;
use parking_lot::Mutex;
use std::{
    future::Future,
    num::NonZeroUsize,
    pin::pin,
    sync::{Arc, Barrier},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// Results that each thread uses: some milliseconds of work, beside which it does not matter that
/// threads wake up one after the other.
const RESULTS: usize = 20_000;

/// Sessions that each thread uses.
const SESSIONS: usize = 50;

type Key = (Scope, CallId);
type Plain = Mutex<LruCache<Key, Arc<StoredResult>>>;

fn main() {
    let run = Run::from_arguments(1.5);
    for (title, spread) in [
        ("one session", Spread::One),
        ("50 sessions a thread", Spread::Many),
    ] {
        let rows = [
            "MemoryStore",
            "2 threads",
            "lru and a mutex",
            "its 2 threads",
        ];
        let title = format!("The store in memory, {title}");
        let Some(table) = run.table(&title, "operations per second", &rows) else {
            continue;
        };
        let keys: Vec<Vec<Key>> = (0..2).map(|thread| spread.keys(thread)).collect();
        let operations = Work::Operations(RESULTS);
        table.line("insert", operations, insert(&keys, RESULTS));
        table.line("hit", operations, hit(&keys));
        table.line("insert that evicts", operations, insert(&keys, 50));
    }
}

#[derive(Clone, Copy)]
enum Spread {
    One,
    Many,
}

impl Spread {
    /// The keys of one thread; threads do not share results.
    fn keys(self, thread: usize) -> Vec<Key> {
        let key = |n: usize| {
            let session = match self {
                Self::One => "session".to_owned(),
                Self::Many => format!("session {thread} {}", n % SESSIONS),
            };
            let scope = Scope::parse("tenant", "project", &session).unwrap();
            (scope, CallId::parse(&format!("call_{thread}_{n}")).unwrap())
        };
        (0..RESULTS).map(key).collect()
    }
}

fn result() -> StoredResult {
    StoredResult::new(
        Document::new(Bytes::from_static(b"[1,2,3]")),
        ResultKind::Json,
    )
}

/// Stores that hold all, or `most` results of each list of keys.
fn insert(keys: &[Vec<Key>], most: usize) -> Vec<Contender<'_>> {
    let results = move |lists: usize| most * lists;
    let store = move |lists: usize| {
        let one_session = keys[0][0].0 == keys[0][1].0;
        let limits = MemoryLimits::default().with_session_results(if one_session {
            results(lists)
        } else {
            most.div_ceil(SESSIONS)
        });
        let store = MemoryStore::new(limits);
        move |(scope, call): &Key| {
            ready(store.put(scope, call, result())).unwrap();
        }
    };
    let plain = move |lists: usize| {
        let cache = Plain::new(LruCache::new(NonZeroUsize::new(results(lists)).unwrap()));
        move |key: &Key| {
            let old = cache.lock().push(key.clone(), Arc::new(result()));
            drop(old);
        }
    };
    vec![
        Contender::timed(move |n| (0..n).map(|_| together(&keys[..1], &store(1))).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(keys, &store(2))).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(&keys[..1], &plain(1))).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(keys, &plain(2))).sum()),
    ]
}

fn hit(keys: &[Vec<Key>]) -> Vec<Contender<'_>> {
    let store = Arc::new(MemoryStore::new(
        MemoryLimits::default().with_session_results(2 * RESULTS),
    ));
    let plain = Arc::new(Plain::new(LruCache::unbounded()));
    for (scope, call) in keys.iter().flatten() {
        ready(store.put(scope, call, result())).unwrap();
        let key = (scope.clone(), call.clone());
        plain.lock().put(key, Arc::new(result()));
    }
    let from_store = move |(scope, call): &Key| {
        ready(store.get(scope, call)).unwrap().found().unwrap();
    };
    let from_plain = move |key: &Key| {
        let found = plain.lock().get(key).cloned();
        found.unwrap();
    };
    let (store_again, plain_again) = (from_store.clone(), from_plain.clone());
    vec![
        Contender::timed(move |n| (0..n).map(|_| together(&keys[..1], &from_store)).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(keys, &store_again)).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(&keys[..1], &from_plain)).sum()),
        Contender::timed(move |n| (0..n).map(|_| together(keys, &plain_again)).sum()),
    ]
}

/// Does `operation` on every key, each list of keys on a thread of its own; gives the time that
/// one list's share took, so that as many threads as lists count as much faster.
fn together(lists: &[Vec<Key>], operation: &(impl Fn(&Key) + Sync)) -> Duration {
    let [keys] = lists else {
        let barrier = Barrier::new(lists.len());
        let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
            let threads: Vec<_> = lists
                .iter()
                .map(|keys| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        let start = Instant::now();
                        keys.iter().for_each(operation);
                        (start, Instant::now())
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let start = spans.iter().map(|(start, _)| *start).min().unwrap();
        let end = spans.iter().map(|(_, end)| *end).max().unwrap();
        return (end - start) / lists.len() as u32;
    };
    let start = Instant::now();
    keys.iter().for_each(operation);
    start.elapsed()
}

/// The outcome of a future of the store in memory, which never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => std::process::abort(),
    }
}
