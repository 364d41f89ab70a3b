//! Results and ids that outlive the process.

use super::{
    conversations::{
        caller, in_thread_recorded, in_thread_referred, is_unknown, named, recorded, referred,
    },
    *,
};
use crate::{
    records::fake::LastingStore,
    tools::{IdKeys, ids},
};
use crossfeed_store::{Damage, MemoryLimits, MemoryStore, ResultStore as _, StoreError};
use std::sync::atomic::Ordering;

fn number(id: &str) -> u64 {
    id.strip_prefix("call_").unwrap().parse().unwrap()
}

/// What is said of a result that is not kept.
fn note(shown: &Value) -> String {
    let said: Value = serde_json::from_str(shown["content"][1]["text"].as_str().unwrap()).unwrap();
    let note = said["_crossfeedNote"].as_str().unwrap();
    let why = note.strip_prefix("this result cannot be referred to: ");
    why.unwrap().to_owned()
}

#[tokio::test]
async fn ids_go_on_behind_those_that_were_given() {
    let store = LastingStore::new();
    let mut last = 0;
    for process in 0..4 {
        let world = World::over(&store, None, Vec::new()).await;
        let client = world.client(caller(named("a"), Some("1"))).await;
        for call in 0..20 {
            let id = recorded(&client, params("search", json!({})), "x").await;
            assert!(number(&id) > last, "{process} {call}: {id} {last}");
            last = number(&id);
        }
        let first = referred(&client, "call_1", None).await;
        assert_eq!(first.unwrap(), "x");
        last += 1;
    }
    // Some are left out, but few.
    assert!(last < 4 * (20 + 1 + 16), "{last}");
}

#[tokio::test]
async fn ids_go_on_behind_results_where_their_record_is_gone() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    for _ in 0..3 {
        recorded(&client, params("search", json!({})), "x").await;
    }
    let keys = store.keys("ids");
    assert_eq!(keys.len(), 1);
    store.lose_records();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    let id = recorded(&client, params("search", json!({})), "x").await;
    assert_eq!(id, "call_4");
    client.close().await;
    assert_eq!(store.keys("ids"), Vec::<String>::new());
}

#[tokio::test]
async fn a_process_gives_no_id_twice_whatever_its_store_loses() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    let scope = ids::scope(&named("a"), Some("1"));
    let mut last = 0;
    // Nothing is lost, then the last reservation, then everything.
    for loss in 0..3 {
        for call in 0..40 {
            let id = recorded(&client, params("search", json!({})), "x").await;
            assert!(number(&id) > last, "{loss} {call}: {id} {last}");
            last = number(&id);
        }
        store.remove_session(&scope).await.unwrap();
        match loss {
            0 => {
                let key = &store.keys("ids")[0];
                store.overwrite(key, &format!(r#"{{"format":1,"of":"{key}","last":16}}"#));
            }
            _ => store.lose_records(),
        }
    }
}

#[tokio::test]
async fn a_reservation_behind_which_there_is_no_number_is_damage() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    recorded(&client, params("search", json!({})), "x").await;
    let last = u64::MAX - 3;
    let key = &store.keys("ids")[0];
    store.overwrite(
        key,
        &format!(r#"{{"format":1,"of":"{key}","last":{last}}}"#),
    );
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    let result = json!({"content": [{"type": "text", "text": "y"}]});
    let said = note(&returned(&client, "search", result).await);
    assert!(said.contains("the store is damaged"), "{said}");
    assert!(said.contains("gateway/ids/"), "{said}");
}

#[tokio::test]
async fn conversations_leave_one_record_for_each_principal() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    for name in ["a", "b"] {
        let client = world.client(caller(named(name), Some("1"))).await;
        let mut last = 0;
        for thread in 0..40 {
            let id = in_thread_recorded(&client, &format!("t{thread}"), "x").await;
            assert!(number(&id) > last, "{thread}: {id} {last}");
            last = number(&id);
        }
    }
    assert_eq!(store.keys("ids").len(), 2);
    let local = world.client(caller(Principal::Local, Some("s"))).await;
    in_thread_recorded(&local, "t", "x").await;
    in_thread_recorded(&local, "u", "x").await;
    assert_eq!(store.keys("ids").len(), 3);
    world.tools.close_conversations(&Principal::Local).await;
    assert_eq!(store.keys("ids").len(), 2);
}

#[tokio::test]
async fn conversations_go_on_behind_what_each_holds_where_their_record_is_gone() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    for _ in 0..3 {
        in_thread_recorded(&client, "t", "x").await;
    }
    store.lose_records();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    assert_eq!(in_thread_recorded(&client, "u", "x").await, "call_1");
    assert_eq!(in_thread_recorded(&client, "t", "x").await, "call_4");
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_damage() {
    let store = LastingStore::new();
    Tools::check_records(store.clone()).await.unwrap();
    assert_eq!(store.keys("key"), Vec::<String>::new());
    World::over(&store, None, Vec::new()).await;
    let [key] = &store.keys("key")[..] else {
        panic!("one key")
    };
    Tools::check_records(store.clone()).await.unwrap();
    let short = "5".repeat(62);
    let none = String::new();
    for value in [none, format!("{short}xx"), short] {
        store.overwrite(
            key,
            &format!(r#"{{"format":1,"of":"{key}","key":"{value}"}}"#),
        );
        let engine = Engine::new(EngineOptions::default(), store.clone());
        let tools = Tools::new(engine, Arc::default());
        let Err(error) = tools.with_records(store.clone()).await else {
            panic!("{value}")
        };
        let StoreError::Damaged { damage, source } = error else {
            panic!("{error}")
        };
        assert_eq!(damage, Damage::Record { key: key.clone() });
        let checked = Tools::check_records(store.clone()).await;
        assert!(matches!(checked, Err(StoreError::Damaged { .. })));
        assert!(!source.unwrap().to_string().contains("55"), "a secret");
    }
}

#[tokio::test]
async fn a_store_that_answers_is_there_whatever_its_records_say() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let key = &store.keys("key")[0];
    let later = format!(r#"{{"format":2,"of":"{key}"}}"#);
    for record in ["damaged", &later] {
        store.overwrite(key, record);
        world.tools.check_store().await.unwrap();
    }
    store.is_away.store(true, Ordering::Relaxed);
    let away = world.tools.check_store().await;
    assert!(matches!(away, Err(StoreError::Unavailable { .. })));
}

#[tokio::test]
async fn conversations_go_on() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let before = world.client(caller(named("a"), Some("1"))).await;
    assert_eq!(in_thread_recorded(&before, "t", "one").await, "call_1");
    let world = World::over(&store, None, Vec::new()).await;
    let after = world.client(caller(named("a"), Some("2"))).await;
    let referred = in_thread_referred(&after, "call_1", "t").await;
    assert_eq!(referred.unwrap(), "one");
    assert!(number(&in_thread_recorded(&after, "t", "two").await) > 2);
    is_unknown(in_thread_referred(&after, "call_1", "u").await);
    let other = world.client(caller(named("b"), Some("2"))).await;
    is_unknown(in_thread_referred(&other, "call_1", "t").await);
}

#[tokio::test]
async fn the_local_client_goes_on_under_the_name_of_its_session_only() {
    let store = LastingStore::new();
    let session = |name: &'static str| World::over(&store, Some(name), Vec::new());
    let local = || caller(Principal::Local, Some("named"));
    let before = session("s").await.client(local()).await;
    assert_eq!(in_thread_recorded(&before, "t", "one").await, "call_1");
    let after = session("s").await.client(local()).await;
    let referred = in_thread_referred(&after, "call_1", "t").await;
    assert_eq!(referred.unwrap(), "one");
    let other = session("other").await.client(local()).await;
    is_unknown(in_thread_referred(&other, "call_1", "t").await);
    for _ in 0..2 {
        let unnamed = World::over(&store, None, Vec::new()).await;
        let unnamed = unnamed.client(local()).await;
        is_unknown(in_thread_referred(&unnamed, "call_1", "t").await);
    }
}

#[tokio::test]
async fn signed_ids_are_known_after_a_restart() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let before = world.client(caller(named("a"), None)).await;
    let id = recorded(&before, params("search", json!({})), "one").await;
    let world = World::over(&store, None, Vec::new()).await;
    let after = world.client(caller(named("a"), None)).await;
    assert_eq!(referred(&after, &id, None).await.unwrap(), "one");
    let other = world.client(caller(named("b"), None)).await;
    is_unknown(referred(&other, &id, None).await);
    // The key is the gateway's own.
    assert_eq!(store.keys("key").len(), 1);
}

/// A gateway over a store, with keys of these bytes.
async fn with_keys(store: &Arc<LastingStore>, keys: &[u8]) -> World {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let keys = keys.iter().map(|byte| [*byte; 32]).collect();
    let engine = Engine::new(EngineOptions::default(), store.clone());
    let tools = Tools::new(engine, Arc::clone(&world.tools.config));
    let tools = tools.with_id_keys(IdKeys::try_new(keys).unwrap());
    world.tools = tools.with_records(store.clone()).await.unwrap();
    world
}

#[tokio::test]
async fn gateways_know_the_ids_that_a_key_of_theirs_signed() {
    let store = LastingStore::new();
    let before = with_keys(&store, &[1]).await;
    let before = before.client(caller(named("a"), None)).await;
    let id = recorded(&before, params("search", json!({})), "one").await;
    for (keys, is_known) in [(&[1][..], true), (&[2, 1], true), (&[2], false)] {
        let world = with_keys(&store, keys).await;
        let client = world.client(caller(named("a"), None)).await;
        let found = referred(&client, &id, None).await;
        let read = answered(&client, params("read_result", json!({"call_id": id}))).await;
        assert_eq!(read["isError"] != json!(true), is_known, "{read}");
        if is_known {
            assert_eq!(found.unwrap(), "one", "{keys:?}");
        } else {
            is_unknown(found);
        }
        let next = recorded(&client, params("search", json!({})), "two").await;
        let found = referred(&before, &next, None).await;
        if keys[0] == 1 {
            assert_eq!(found.unwrap(), "two", "{keys:?}");
        } else {
            is_unknown(found);
        }
    }
    // The store's key is not needed, and what it signed is not known.
    assert_eq!(store.keys("key"), Vec::<String>::new());
    let world = World::over(&store, None, Vec::new()).await;
    let of_store = world.client(caller(named("a"), None)).await;
    let id = recorded(&of_store, params("search", json!({})), "three").await;
    is_unknown(referred(&before, &id, None).await);
}

#[tokio::test]
async fn keys_hold_without_a_store_that_lasts() {
    let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
    let gateway = async |byte| {
        let mut world = World::new(vec![(server("a"), tools())], Vec::new());
        let engine = Engine::new(EngineOptions::default(), store.clone());
        let tools = Tools::new(engine, Arc::clone(&world.tools.config));
        let tools = tools.with_id_keys(IdKeys::try_new(vec![[byte; 32]]).unwrap());
        world.tools = tools.with_records(store.clone()).await.unwrap();
        world.client(caller(named("a"), None)).await
    };
    let [one, same, other] = [gateway(1).await, gateway(1).await, gateway(2).await];
    let id = recorded(&one, params("search", json!({})), "one").await;
    assert_eq!(referred(&same, &id, None).await.unwrap(), "one");
    is_unknown(referred(&other, &id, None).await);
}

#[tokio::test]
async fn a_call_without_an_id_may_be_made_but_not_referred_to() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    store.is_away.store(true, Ordering::Relaxed);
    let call = forward(&client, params("search", json!({}))).await;
    drop(call);
    let refused = referred(&client, "call_1", None).await.unwrap_err();
    assert!(refused.starts_with("store.unavailable"), "{refused}");
}

#[tokio::test]
async fn a_store_that_is_away_is_no_reason_to_wait_for_other_calls() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    recorded(&client, params("search", json!({})), "x").await;
    store.is_away.store(true, Ordering::Relaxed);
    let refused = referred(&client, "call_1", None).await.unwrap_err();
    assert!(refused.starts_with("store.unavailable"), "{refused}");
    assert!(refused.contains("try again"), "{refused}");
    assert!(!refused.contains("other calls"), "{refused}");
}

#[tokio::test]
async fn what_a_store_cannot_note_is_called_all_the_same_and_says_so() {
    let store = LastingStore::new();
    let world = World::over(&store, None, Vec::new()).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    assert_eq!(
        recorded(&client, params("search", json!({})), "x").await,
        "call_1"
    );
    let result = json!({"content": [{"type": "text", "text": "y"}]});
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    let full = "the store cannot write: it has no space left";
    for (fault, why) in [
        (&store.is_full, full),
        (&store.is_away, "the store cannot answer"),
    ] {
        fault.store(true, Ordering::Relaxed);
        // More than there are numbers left, so that calls fail to begin as well as to be recorded.
        for call in 0..40 {
            let shown = returned(&client, "search", result.clone()).await;
            let said = note(&shown);
            assert_eq!(shown["content"][0]["text"], "y", "{call}");
            assert!(said.ends_with(why), "{call}: {said}");
            let shown = returned(&client, "search", failed.clone()).await;
            assert_eq!(shown, failed, "{call}: it comes as it came");
            // What is there can be read by all that cannot be noted.
            let referred = referred(&client, "call_1", None).await;
            if why == full {
                assert_eq!(referred.unwrap(), "x");
            } else {
                let refused = referred.unwrap_err();
                assert!(refused.starts_with("store.unavailable"), "{refused}");
            }
        }
        fault.store(false, Ordering::Relaxed);
    }
    assert!(number(&recorded(&client, params("search", json!({})), "z").await) > 1);
}

#[tokio::test]
async fn what_goes_on_from_a_question_knows_whose_data_was_asked_about_though_nothing_was_noted() {
    let store = LastingStore::new();
    let flows = vec![FlowRule::new("no", "a/fetch", "a/typed", false)];
    let world = World::over(&store, None, flows).await;
    let client = world.client(caller(named("a"), Some("1"))).await;
    let secret = recorded(&client, params("fetch", json!({"url": "u"})), "x").await;
    let question =
        json!({"resultType": "input_required", "requestState": "st", "inputRequests": {}});
    let question = Bytes::from(question.to_string());
    // The server says the same to all.
    let before = forward(&client, params("search", json!({}))).await;
    before.pending.finish(question.clone()).await;
    store.is_full.store(true, Ordering::Relaxed);
    for _ in 0..20 {
        forward(&client, params("search", json!({}))).await;
    }
    let asked = forward(&client, params("search", json!({"q": {"$tool": secret}}))).await;
    asked.pending.finish(question).await;
    let go_on = json!({"name": "search", "arguments": {}, "requestState": "st"});
    let go_on = Bytes::from(go_on.to_string());
    forward(&client, go_on.clone()).await;
    store.is_full.store(false, Ordering::Relaxed);
    let id = recorded(&client, go_on, "y").await;
    let answer = answered(&client, params("typed", json!({"v": {"$tool": id}}))).await;
    assert!(error(&answer).starts_with("flow.refused"), "{answer}");
}

#[tokio::test]
async fn a_gateway_starts_over_a_full_store() {
    let store = LastingStore::new();
    let world = World::over(&store, Some("s"), Vec::new()).await;
    let client = world.client(caller(named("a"), None)).await;
    let id = recorded(&client, params("search", json!({})), "x").await;
    store.is_full.store(true, Ordering::Relaxed);
    let world = World::over(&store, Some("s"), Vec::new()).await;
    let client = world.client(caller(named("a"), None)).await;
    assert_eq!(referred(&client, &id, None).await.unwrap(), "x");
}
