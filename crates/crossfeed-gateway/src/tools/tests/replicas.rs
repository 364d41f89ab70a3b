//! Flow rules where calls of one client reach several gateways over one store, also after restarts.

use super::{
    conversations::{caller, named, recorded},
    flows::{continued, question, refused_as_unknown},
    *,
};
use crate::{
    pattern::fits,
    tools::{rounds::ROUND_TIME, tasks::Task},
};
use proptest::prelude::*;
use std::{collections::BTreeSet, sync::atomic::Ordering, time::Duration};

/// What may go where: nothing of `s` to `b`, but for one tool.
fn rules() -> Vec<FlowRule> {
    vec![
        FlowRule::new("public", "s/public", "b/*", true),
        FlowRule::new("no", "s/*", "b/*", false),
    ]
}

const TOOLS: [&str; 5] = ["s/secret", "s/public", "a/via", "b/sink", "c/other"];

fn servers() -> Vec<(ServerConfig, Value)> {
    let of = |name: &str| {
        let tools = TOOLS
            .iter()
            .filter_map(|tool| tool.strip_prefix(name)?.strip_prefix('/'));
        let tools = tools.map(|tool| json!({"name": tool, "inputSchema": {"type": "object"}}));
        (server(name), tools.collect())
    };
    ["s", "a", "b", "c"].map(of).to_vec()
}

/// The client of one holder at a gateway that has just started.
async fn gateway(store: &Arc<LastingStore>, session: Option<&str>) -> ClientTools {
    let world = World::of(store, None, servers(), rules()).await;
    world.client(caller(named("ada"), session)).await
}

fn refers(tool: &str, calls: &[&String]) -> Bytes {
    let calls: Vec<_> = calls.iter().map(|call| json!({"$tool": call})).collect();
    params(tool, json!({ "v": calls }))
}

async fn refusal(client: &ClientTools, params: Bytes) -> String {
    error(&answered(client, params).await).to_owned()
}

/// A call, by the gateway that it reaches, its tool, and the calls that it refers to; before it a gateway may start anew.
type Hop = (usize, usize, Vec<prop::sample::Index>, bool);

async fn hops(session: Option<&str>, hops: Vec<Hop>) {
    let store = LastingStore::new();
    let mut gateways = Vec::new();
    for _ in 0..3 {
        gateways.push(gateway(&store, session).await);
    }
    let mut made: Vec<(String, BTreeSet<&str>)> = Vec::new();
    for (at, tool, of, restarts) in hops {
        if restarts {
            gateways[at] = gateway(&store, session).await;
        }
        let tool = TOOLS[tool];
        let of = of.iter().filter(|_| !made.is_empty());
        let of: Vec<_> = of.map(|index| &made[index.index(made.len())]).collect();
        let mut sources: BTreeSet<&str> = of.iter().flat_map(|(_, own)| own.clone()).collect();
        let rules = rules();
        let may = sources.iter().all(|from| {
            let mut fitting = rules
                .iter()
                .filter(|rule| fits(&rule.from, from) && fits(&rule.to, tool));
            fitting.next().is_none_or(|rule| rule.allow)
        });
        let calls: Vec<_> = of.iter().map(|(id, _)| id).collect();
        let call = refers(&tool.replace('/', "__"), &calls);
        if may {
            let id = recorded(&gateways[at], call, "x").await;
            sources.insert(tool);
            made.push((id, sources));
        } else {
            let refused = refusal(&gateways[at], call).await;
            assert!(
                refused.starts_with("flow.refused: rule `no` forbids"),
                "{refused}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// As if all calls had reached one gateway: what may go goes, what may not does not.
    #[test]
    fn rules_hold_wherever_calls_arrive(
        calls in prop::collection::vec((0..3usize, 0..TOOLS.len(), prop::collection::vec(any::<prop::sample::Index>(), 0..3), prop::bool::weighted(0.2)), 1..16),
        has_session: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(hops(has_session.then_some("1"), calls));
    }
}

/// A gateway without rules, or of a version that does not keep sources, leaves none.
#[tokio::test]
async fn a_result_of_unknown_sources_goes_nowhere() {
    let store = LastingStore::new();
    let world = World::of(&store, None, servers(), Vec::new()).await;
    let before = world.client(caller(named("ada"), None)).await;
    let id = recorded(&before, params("c__other", json!({})), "x").await;
    let after = gateway(&store, None).await;
    let refused = refusal(&after, refers("a__via", &[&id])).await;
    let expected = format!("flow.refused: the sources of the result of call `{id}` are unknown");
    assert!(refused.starts_with(&expected), "{refused}");
    forward(&before, refers("a__via", &[&id])).await;
}

/// Rules go by the names of servers: under another name the data would be anyone's.
#[tokio::test]
async fn data_of_a_server_that_has_another_name_by_now_goes_nowhere() {
    let store = LastingStore::new();
    let id = recorded(
        &gateway(&store, None).await,
        params("s__secret", json!({})),
        "x",
    )
    .await;
    let mut renamed = servers();
    renamed[0].0 = server("t");
    let rules = vec![FlowRule::new("no", "t/*", "b/*", false)];
    let world = World::of(&store, None, renamed, rules).await;
    let client = world.client(caller(named("ada"), None)).await;
    let refused = refusal(&client, refers("b__sink", &[&id])).await;
    assert!(refused.contains("are unknown"), "{refused}");
}

/// A call of `via` that is asked back, with the secret.
async fn asked(client: &ClientTools, state: &str) {
    let secret = recorded(client, params("s__secret", json!({})), "x").await;
    let call = forward(client, refers("a__via", &[&secret])).await;
    call.pending.finish(question(state)).await;
}

/// Where the result of a call that continues may not go.
async fn assert_holds_secret(client: &ClientTools, other: &ClientTools, state: &str) {
    let id = recorded(client, continued("a__via", &json!(state)), "y").await;
    forward(other, refers("c__other", &[&id])).await;
    let refused = refusal(other, refers("b__sink", &[&id])).await;
    assert!(refused.contains("results of `s/secret` to"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_from_a_state_at_another_gateway() {
    for session in [None, Some("1")] {
        let store = LastingStore::new();
        let [one, two] = [
            gateway(&store, session).await,
            gateway(&store, session).await,
        ];
        asked(&one, "st").await;
        assert_eq!(store.keys("rounds").len(), 1);
        assert_holds_secret(&two, &one, "st").await;
        // Not another's, nor another tool's, nor another state.
        let world = World::of(&store, None, servers(), rules()).await;
        for other in [
            caller(named("bob"), session),
            caller(named("ada"), Some("2")),
        ] {
            let other = world.client(other).await;
            refused_as_unknown(&other, "a__via", &json!("st")).await;
        }
        refused_as_unknown(&two, "c__other", &json!("st")).await;
        refused_as_unknown(&two, "a__via", &json!("ts")).await;
        // Nor for ever: neither there nor here.
        tokio::time::advance(ROUND_TIME + Duration::from_secs(1)).await;
        assert_eq!(store.keys("rounds").len(), 0);
        refused_as_unknown(&two, "a__via", &json!("st")).await;
        refused_as_unknown(&one, "a__via", &json!("st")).await;
    }
}

/// A call without references that is asked back with a state which others have, too.
async fn plain(client: &ClientTools) {
    let call = forward(client, params("a__via", json!({}))).await;
    call.pending.finish(question("st")).await;
}

/// What a server gives to two calls may hold the data of both, whichever came last and where.
#[tokio::test]
async fn a_state_of_several_calls_holds_the_data_of_all() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    plain(&one).await;
    asked(&two, "st").await;
    plain(&one).await;
    assert_holds_secret(&one, &two, "st").await;
    assert_holds_secret(&two, &one, "st").await;
    // What cannot be recorded is not known too little of.
    plain(&one).await;
    store.is_full.store(true, Ordering::Relaxed);
    plain(&one).await;
    store.is_full.store(false, Ordering::Relaxed);
    assert_eq!(store.keys("rounds").len(), 0);
    refused_as_unknown(&two, "a__via", &json!("st")).await;
}

/// A record that says too little would let the secret go where the other data may.
#[tokio::test]
async fn a_state_that_elsewhere_holds_too_little_is_not_passed_on() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    plain(&one).await;
    let secret = recorded(&one, params("s__secret", json!({})), "x").await;
    let with_secret = forward(&one, refers("a__via", &[&secret])).await;
    store.is_away.store(true, Ordering::Relaxed);
    // Also of a call that the store did not note.
    let unnoted = forward(&one, params("a__via", json!({}))).await;
    for call in [with_secret, unnoted] {
        let shown = call.pending.finish(question("st")).await;
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        let text = error(&shown);
        assert!(text.starts_with("store.unavailable: "), "{text}");
        assert!(text.contains("may have had effects"), "{text}");
        assert_eq!(shown["resultType"], "complete");
        assert!(!shown.to_string().contains("\"st\""), "{shown}");
    }
    store.is_away.store(false, Ordering::Relaxed);
    // What is given later to others holds the secret, too.
    plain(&one).await;
    assert_holds_secret(&one, &two, "st").await;
    assert_holds_secret(&two, &one, "st").await;
}

/// Where nothing could be recorded, too.
#[tokio::test]
async fn a_state_of_several_calls_holds_the_data_of_those_that_were_not_recorded() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    let secret = recorded(&one, params("s__secret", json!({})), "x").await;
    let with_secret = forward(&one, refers("a__via", &[&secret])).await;
    store.is_full.store(true, Ordering::Relaxed);
    with_secret.pending.finish(question("st")).await;
    store.is_full.store(false, Ordering::Relaxed);
    let plain = forward(&one, params("a__via", json!({}))).await;
    plain.pending.finish(question("st")).await;
    assert_holds_secret(&one, &two, "st").await;
    assert_holds_secret(&two, &one, "st").await;
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_unknown() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    asked(&one, "st").await;
    let key = &store.keys("rounds")[0];
    let later = r#"{\"users\":[\"x\"]}"#;
    store.overwrite(
        key,
        &format!(r#"{{"format":1,"of":"{key}","sources":"{later}"}}"#),
    );
    for gateway in [&one, &two] {
        refused_as_unknown(gateway, "a__via", &json!("st")).await;
    }
}

#[tokio::test]
async fn without_rules_no_round_is_recorded() {
    let store = LastingStore::new();
    let world = World::of(&store, None, servers(), Vec::new()).await;
    let client = world.client(caller(named("ada"), None)).await;
    asked(&client, "st").await;
    assert_eq!(store.keys("rounds").len(), 0);
    forward(&client, continued("a__via", &json!("st"))).await;
}

/// What a client is shown of a server's word about a task, whichever gateway it reaches.
async fn told(client: &ClientTools, server: usize, task: &str, said: &Value) -> Value {
    let said = Bytes::from(said.to_string());
    let listed = std::future::ready(());
    client.adopt_task((server, task), &said, None, listed).await;
    serde_json::from_slice(&client.task_result(server, task, said).await).unwrap()
}

/// A call that becomes a task.
async fn begun(client: &ClientTools, params: Bytes, task: &str) {
    let forward = forward(client, params).await;
    let created = json!({"resultType": "task", "taskId": task, "ttlMs": 60_000}).to_string();
    forward.pending.finish(created.into()).await;
}

fn got(task: &str, text: &str) -> Value {
    let result = json!({"content": [{"type": "text", "text": text}]});
    json!({"taskId": task, "status": "completed", "result": result})
}

/// The id of a task's result as it is shown.
fn id_of_task(shown: &Value) -> String {
    let shown = shown["result"].to_string();
    let rest = shown
        .split_once(r#"_toolCallId\":\""#)
        .unwrap_or_else(|| panic!("{shown}"))
        .1;
    rest.split_once('\\').unwrap().0.to_owned()
}

/// Results of tasks are recorded and shown by whichever gateway is told them, once for all.
#[tokio::test]
async fn a_task_goes_on_at_another_gateway() {
    for session in [None, Some("1")] {
        let store = LastingStore::new();
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(gateway(&store, session).await);
        }
        let secret = recorded(&all[0], params("s__secret", json!({})), "x").await;
        begun(&all[0], refers("a__via", &[&secret]), "t").await;
        assert!(all[0].runs_tasks());
        let working = json!({"taskId": "t", "status": "working"});
        assert_eq!(told(&all[1], 1, "t", &working).await, working);
        let first = told(&all[1], 1, "t", &got("t", "y")).await;
        let id = id_of_task(&first);
        for client in &all {
            assert_eq!(told(client, 1, "t", &got("t", "y")).await, first);
            forward(client, refers("c__other", &[&id])).await;
            // Whose data went to the call is known, too.
            let refused = refusal(client, refers("b__sink", &[&id])).await;
            assert!(refused.contains("results of `s/secret` to"), "{refused}");
        }
        // Another result is not the one that is referred to.
        let other = told(&all[2], 1, "t", &got("t", "z")).await;
        assert!(
            other.to_string().contains("cannot be referred to"),
            "{other}"
        );
        // Not of another server, nor of another client.
        let plain = got("t", "y");
        assert_eq!(told(&all[2], 0, "t", &plain).await, plain);
        let world = World::of(&store, None, servers(), rules()).await;
        for other in [
            caller(named("bob"), session),
            caller(named("ada"), Some("2")),
        ] {
            let other = world.client(other).await;
            assert_eq!(told(&other, 1, "t", &plain).await, plain);
        }
    }
}

/// Who began a task and is not asked about it keeps neither its room nor its server for it.
#[tokio::test]
async fn a_task_that_ended_elsewhere_is_let_go() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    let call = || params("a__via", json!({}));
    for (task, end) in [
        ("t", got("t", "y")),
        ("u", json!({"taskId": "u", "status": "cancelled"})),
    ] {
        begun(&one, call(), task).await;
        one.release_ended_tasks().await.unwrap();
        assert!(one.runs_tasks());
        let shown = told(&two, 1, task, &end).await;
        one.release_ended_tasks().await.unwrap();
        assert!(!one.runs_tasks());
        assert_eq!(told(&one, 1, task, &end).await, shown);
    }
    // What it failed with may be asked for afterwards, wherever.
    let why = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    for gateway in [&one, &two] {
        assert_eq!(told(gateway, 1, "u", &why).await, why);
    }
}

/// What was asked of the result goes along.
#[tokio::test]
async fn parts_and_previews_of_a_task_are_those_of_the_call() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    begun(&one, params("a__via", json!({})), "t").await;
    let shown = told(&two, 1, "t", &got("t", &"y ".repeat(50_000))).await;
    assert!(
        shown.to_string().contains("[crossfeed preview of "),
        "{shown}"
    );
    assert!(shown.to_string().len() < 10_000);
    // A gateway without the tool passes on what it is told.
    let world = World::of(
        &store,
        None,
        vec![(server("s"), json!([])), (server("a"), json!([]))],
        rules(),
    )
    .await;
    let bare = world.client(caller(named("ada"), None)).await;
    let plain = got("t", "y");
    assert_eq!(told(&bare, 1, "t", &plain).await, plain);
}

/// Without its sources a result would be anyone's.
#[tokio::test]
async fn a_task_of_unknown_sources_is_not_recorded_elsewhere() {
    let store = LastingStore::new();
    let world = World::of(&store, None, servers(), Vec::new()).await;
    let before = world.client(caller(named("ada"), None)).await;
    begun(&before, params("a__via", json!({})), "t").await;
    let after = gateway(&store, None).await;
    let plain = got("t", "y");
    assert_eq!(told(&after, 1, "t", &plain).await, plain);
    store.is_away.store(true, Ordering::Relaxed);
    assert_eq!(told(&after, 1, "t", &plain).await, plain);
    store.is_away.store(false, Ordering::Relaxed);
    let shown = told(&before, 1, "t", &plain).await;
    let id = id_of_task(&shown);
    let refused = refusal(&after, refers("c__other", &[&id])).await;
    assert!(refused.contains("are unknown"), "{refused}");
}

/// Servers acknowledge a cancellation with an empty result, which is none of the task's.
#[tokio::test]
async fn a_cancellation_takes_up_no_task() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    begun(&one, params("a__via", json!({})), "t").await;
    two.task_cancelled(1, "t", &Bytes::from_static(b"{}")).await;
    assert!(!two.runs_tasks());
    let shown = told(&two, 1, "t", &got("t", "y")).await;
    id_of_task(&shown);
    begun(&one, params("a__via", json!({})), "u").await;
    let cancelled = json!({"taskId": "u", "status": "cancelled"}).to_string();
    two.task_cancelled(1, "u", &cancelled.into()).await;
    one.release_ended_tasks().await.unwrap();
    assert!(!one.runs_tasks());
}

/// Requests that are cancelled before the result is recorded leave calls in flight.
#[tokio::test]
async fn tasks_that_are_taken_up_are_bounded() {
    let store = LastingStore::new();
    let [one, two] = [gateway(&store, None).await, gateway(&store, None).await];
    let most = one.shared.room.running;
    for task in 0..most + 3 {
        let task = format!("t{task}");
        begun(&one, params("a__via", json!({})), &task).await;
        let said = Bytes::from(got(&task, "y").to_string());
        let adopted = two.adopt_task((1, &task), &said, None, std::future::ready(()));
        adopted.await;
    }
    let tasks = two.shared.tasks.lock();
    let runs = |task: &&Arc<tokio::sync::Mutex<Task>>| {
        task.try_lock()
            .is_ok_and(|task| matches!(*task, Task::Running(_)))
    };
    assert_eq!(
        tasks.iter().map(|(_, task)| task).filter(runs).count(),
        most
    );
}
