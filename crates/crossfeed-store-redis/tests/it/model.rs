//! Random operations, against the store in memory as the model.

use crate::{conformance::TickingClock, faults::call};
use crossfeed_json::Document;
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    Clock, Lookup, MemoryLimits, MemoryStore, ResultKind, ResultStore, StoredArtifact, StoredResult,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::{ArtifactId, Scope};
use proptest::prelude::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

#[derive(Clone, Debug)]
enum Step {
    Put {
        session: u8,
        id: u8,
        bytes: usize,
        server: u8,
        repeatable: bool,
    },
    Get(u8, u8),
    /// Gets a result and uses it until all are released.
    Hold(u8, u8),
    Release,
    List(u8),
    Advance(u64),
    Remove(u8),
    PutArtifact(u8, u8, usize),
    GetArtifact(u8, u8),
    ListArtifacts(u8),
    Sweep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (session, id) = (0..2u8, 0..5u8);
    let step = prop_oneof![
        8 => (session.clone(), id.clone(), 1..600usize, 0..3u8, any::<bool>()).prop_map(
            |(session, id, bytes, server, repeatable)| Step::Put { session, id, bytes, server, repeatable }
        ),
        6 => (session.clone(), id.clone()).prop_map(|(session, id)| Step::Get(session, id)),
        4 => (session.clone(), id.clone()).prop_map(|(session, id)| Step::Hold(session, id)),
        1 => Just(Step::Release),
        3 => session.clone().prop_map(Step::List),
        3 => (1..6u64).prop_map(|tens| Step::Advance(10 * tens)),
        1 => session.clone().prop_map(Step::Remove),
        2 => (session.clone(), id.clone(), 1..400usize).prop_map(|(s, id, bytes)| Step::PutArtifact(s, id, bytes)),
        2 => (session.clone(), id).prop_map(|(session, id)| Step::GetArtifact(session, id)),
        1 => session.prop_map(Step::ListArtifacts),
        1 => Just(Step::Sweep),
    ];
    prop::collection::vec(step, 1..80)
}

fn limits() -> MemoryLimits {
    // No sum of steps in time is as long as one of these, where a microsecond would decide.
    MemoryLimits::default()
        .with_time_to_live(Duration::from_secs(65))
        .with_max_age(Duration::from_secs(125))
        .with_session_bytes(1200)
        .with_session_results(4)
        .with_artifact_bytes(1000)
        .with_session_artifacts(4)
        .with_artifact_time_to_live(Some(Duration::from_secs(95)))
}

type Held = Vec<Arc<StoredResult>>;

/// What a store answers, as far as both must agree.
async fn answer(store: &dyn ResultStore, step: &Step, held: &mut Held) -> String {
    let scope = |session: &u8| Scope::parse("t", "p", &format!("s{session}")).unwrap();
    let name = |id: &u8| format!("c{id}");
    let artifact_id = |id: &u8| ArtifactId::parse(&format!("a{id}")).unwrap();
    match step {
        Step::Put {
            session,
            id,
            bytes,
            server,
            repeatable,
        } => {
            let document = Document::new("x".repeat(*bytes));
            let result = StoredResult::new(document, ResultKind::Text)
                .with_tool("search")
                .with_server(format!("server {server}"))
                .with_arguments(format!("[{bytes}]"))
                .with_repeatable(*repeatable);
            format!(
                "{:?}",
                store.put(&scope(session), &call(&name(id)), result).await
            )
        }
        Step::Get(session, id) | Step::Hold(session, id) => {
            match store.get(&scope(session), &call(&name(id))).await.unwrap() {
                Lookup::Found(found) => {
                    let shown = format!("{:?} {:?} {:?}", found, found.server(), found.arguments());
                    if let Step::Hold(..) = step {
                        held.push(found);
                    }
                    shown
                }
                Lookup::Missing(missing) => format!("{missing:?}"),
            }
        }
        Step::Release => {
            held.clear();
            String::new()
        }
        Step::List(session) => format!("{:?}", store.list(&scope(session)).await),
        Step::Remove(session) => format!("{:?}", store.remove_session(&scope(session)).await),
        Step::PutArtifact(session, id, bytes) => {
            let document = Document::new("x".repeat(*bytes));
            let artifact =
                StoredArtifact::new(artifact_id(id), call("c1"), document).with_tool("search");
            format!("{:?}", store.put_artifact(&scope(session), artifact).await)
        }
        Step::GetArtifact(session, id) => {
            let (scope, artifact) = (scope(session), artifact_id(id));
            format!(
                "{:?}",
                store.get_artifact(&scope, &artifact, &call("c1")).await
            )
        }
        Step::ListArtifacts(session) => {
            format!("{:?}", store.list_artifacts(&scope(session)).await)
        }
        Step::Sweep => format!("{:?}", store.sweep().await),
        Step::Advance(_) => String::new(),
    }
}

async fn agree(url: &str, prefix: String, steps: &[Step]) -> Result<(), TestCaseError> {
    let clock = Arc::<TickingClock>::default();
    let model = MemoryStore::with_clock(limits(), Arc::clone(&clock) as Arc<dyn Clock>);
    let options = RedisOptions::from_url(url)
        .unwrap()
        .with_prefix(prefix)
        .with_limits(limits());
    let store =
        RedisStore::connect_with_clock(options.clone(), Arc::clone(&clock) as Arc<dyn Clock>);
    let store = store.await.unwrap();
    let (mut expected, mut given) = (Held::new(), Held::new());
    for (number, step) in steps.iter().enumerate() {
        if let Step::Advance(seconds) = step {
            clock.0.advance(Duration::from_secs(*seconds));
        }
        let expected = answer(&model, step, &mut expected).await;
        let given = answer(&store, step, &mut given).await;
        // How long what has gone is remembered is a store's choice.
        let is_gone = given.contains("Expired(") || given.contains("Evicted(");
        let is_forgotten = expected.contains("Unknown") && is_gone;
        prop_assert!(
            given == expected || is_forgotten,
            "step {}: {:?}: `{}`, not `{}`",
            number,
            step,
            given,
            expected
        );
    }
    Ok(())
}

#[test]
fn it_answers_as_the_store_in_memory_does() {
    if !is_installed() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(Server::start(&[])).unwrap();
    let cases = AtomicU32::new(0);
    proptest!(ProptestConfig::with_cases(200), |(steps in steps())| {
        let number = cases.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(agree(&server.url(), format!("case-{number}"), &steps))?;
    });
}
