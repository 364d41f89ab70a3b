//! Tasks belong to the server and to the principal that began them.

use super::fake::{ConnectionSet, Server, World};
use crate::records::fake::LastingStore;
use std::sync::{Arc, atomic::Ordering};

const TASKS: &str = r#"{"tools":{},"tasks":{"list":{},"cancel":{}}}"#;

const METHODS: [&str; 4] = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"];

/// Begins a task by a call.
async fn begin(client: &ConnectionSet, server: &mut Server, tool: &str, task: &str) {
    let params = format!(r#"{{"name":"{tool}","arguments":{{}},"task":{{}}}}"#);
    client.request("tools/call", &params).await;
    let mut request = server.next().await;
    if request.method() == Some("tools/list") {
        let list = r#"{"tools":[{"name":"job","inputSchema":{"type":"object"}}]}"#;
        server.answer(&request, list).await;
        request = server.next().await;
    }
    assert_eq!(request.method(), Some("tools/call"));
    let result = format!(r#"{{"task":{{"taskId":"{task}","status":"working"}}}}"#);
    server.answer(&request, &result).await;
    let begun = client.answer().await;
    assert!(begun.contains(task), "{begun}");
}

/// All that can be asked about a task is answered as of one that never was, and no server hears of it.
async fn assert_unknown(client: &ConnectionSet, servers: &mut [Server], task: &str) {
    for method in METHODS
        .iter()
        .chain(&["TASKS/GET", "tasks/get ", "Tasks/other"])
    {
        let params = format!(r#"{{"taskId":"{task}"}}"#);
        client.request(method, &params).await;
        let refused = client.answer().await;
        let (code, why) = if METHODS.contains(method) {
            (r#""code":-32602"#, "unknown task")
        } else {
            (r#""code":-32601"#, "unknown method")
        };
        assert!(
            refused.contains(code) && refused.contains(why),
            "{method}: {refused}"
        );
        assert!(servers.iter_mut().all(Server::is_quiet), "{method}");
    }
}

/// What a client sees of the tasks that a server lists.
async fn listed(client: &ConnectionSet, server: &mut Server) -> String {
    client.request("tasks/list", "{}").await;
    let request = server.expect("tasks/list").await;
    let list = r#"{ "tasks": [{"taskId":"t1", "x": 1.50},{"taskId":"t2"},{"taskId":"t3"}],"_meta":{"k":1.0}}"#;
    server.answer(&request, list).await;
    client.answer().await
}

#[tokio::test]
async fn a_task_of_one_holder_is_unknown_to_another() {
    let world = World::new(&["a"]);
    let (ada, mut of_ada) = world.begin(world.session_of(Some("ada")), TASKS).await;
    let (bob, mut of_bob) = world.begin(world.session_of(Some("bob")), TASKS).await;
    begin(&ada, &mut of_ada[0], "job", "t1").await;
    begin(&bob, &mut of_bob[0], "job", "t2").await;
    assert_unknown(&bob, &mut of_bob, "t1").await;
    assert_unknown(&ada, &mut of_ada, "t2").await;
    let list = listed(&bob, &mut of_bob[0]).await;
    assert_eq!(
        list,
        r#"{"jsonrpc":"2.0","id":"tasks/list","result":{ "tasks": [{"taskId":"t2"}],"_meta":{"k":1.0}}}"#
    );
    // What a server says of its own accord is for those alone whose task it is.
    for task in ["t1", "t2"] {
        let told = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{task}"}}}}"#
        );
        of_bob[0].say(super::fake::message(&told)).await;
    }
    let told = bob.next().await;
    assert!(told.contains("t2"), "{told}");
    // Another session of the same holder has them.
    let (again, mut of_again) = world.begin(world.session_of(Some("ada")), TASKS).await;
    for method in METHODS {
        again.request(method, r#"{"taskId":"t1"}"#).await;
        let request = of_again[0].expect(method).await;
        of_again[0].answer(&request, r#"{"taskId":"t1"}"#).await;
        again.answer().await;
    }
    let list = listed(&again, &mut of_again[0]).await;
    assert!(list.contains("t1") && !list.contains("t2"), "{list}");
}

#[tokio::test]
async fn a_task_of_an_anonymous_session_is_its_own() {
    let world = World::new(&["a"]);
    let (one, mut of_one) = world.begin(world.session_of(None), TASKS).await;
    let (other, mut of_other) = world.begin(world.session_of(None), TASKS).await;
    begin(&one, &mut of_one[0], "job", "t1").await;
    assert_unknown(&other, &mut of_other, "t1").await;
    one.request("tasks/get", r#"{"taskId":"t1"}"#).await;
    of_one[0].expect("tasks/get").await;
    let list = listed(&other, &mut of_other[0]).await;
    assert!(list.contains(r#""tasks": []"#), "{list}");
}

#[tokio::test]
async fn the_only_client_of_a_process_has_all_tasks() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TASKS).await;
    let list = listed(&client, &mut servers[0]).await;
    assert!(list.contains("t3"), "{list}");
    for method in METHODS {
        client.request(method, r#"{"taskId":"t9"}"#).await;
        let request = servers[0].expect(method).await;
        servers[0].answer(&request, r#"{"taskId":"t9"}"#).await;
        client.answer().await;
    }
}

#[tokio::test]
async fn a_task_that_nobody_is_known_to_have_is_shown_to_nobody() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(TASKS).await;
    assert_unknown(&client, &mut servers, "t9").await;
}

/// Begins a task by a call of the tool `job` of one of two servers.
async fn begin_at(client: &ConnectionSet, servers: &mut [Server], at: usize, task: &str) {
    let name = ["bank", "evil"][at];
    let params = format!(r#"{{"name":"{name}__job","arguments":{{}},"task":{{}}}}"#);
    client.request("tools/call", &params).await;
    let mut request = servers[at].next().await;
    if request.method() == Some("tools/list") {
        let list = r#"{"tools":[{"name":"job","inputSchema":{"type":"object"}}]}"#;
        servers[at].answer(&request, list).await;
        let other = &mut servers[1 - at];
        let list_of_other = other.expect("tools/list").await;
        other.answer(&list_of_other, list).await;
        request = servers[at].next().await;
    }
    assert_eq!(request.method(), Some("tools/call"));
    let result = format!(r#"{{"task":{{"taskId":"{task}","status":"working"}}}}"#);
    servers[at].answer(&request, &result).await;
    client.answer().await;
}

/// Both servers list tasks of these ids.
async fn list_both(client: &ConnectionSet, servers: &mut [Server], ids: [&str; 2]) {
    client.request("tasks/list", "{}").await;
    for (server, id) in servers.iter_mut().zip(ids) {
        let request = server.expect("tasks/list").await;
        let list = format!(r#"{{"tasks":[{{"taskId":"{id}"}}]}}"#);
        server.answer(&request, &list).await;
    }
    client.answer().await;
}

async fn assert_ambiguous(client: &ConnectionSet, servers: &mut [Server], task: &str) {
    for method in METHODS {
        client
            .request(method, &format!(r#"{{"taskId":"{task}"}}"#))
            .await;
        let refused = client.answer().await;
        assert!(
            refused.contains(r#""code":-32602"#) && refused.contains("several servers"),
            "{method}: {refused}"
        );
        assert!(servers.iter_mut().all(Server::is_quiet), "{method}");
    }
}

#[tokio::test]
async fn a_server_does_not_take_over_a_task_by_naming_its_id_first() {
    for holder in [Some("ada"), None] {
        let world = World::new(&["bank", "evil"]);
        let (client, mut servers) = world.begin(world.session_of(holder), TASKS).await;
        begin_at(&client, &mut servers, 1, "task-1").await;
        begin_at(&client, &mut servers, 0, "task-1").await;
        assert_ambiguous(&client, &mut servers, "task-1").await;
        // Neither server can tell the client what became of it.
        let told = r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"task-1"}}"#;
        servers[1].say(super::fake::message(told)).await;
        begin_at(&client, &mut servers, 0, "task-2").await;
        assert!(client.is_quiet().await);
    }
}

#[tokio::test]
async fn a_list_takes_no_task_from_the_server_that_began_it() {
    let world = World::new(&["bank", "evil"]);
    let (client, mut servers) = world.begun(TASKS).await;
    list_both(&client, &mut servers, ["own", "task-1"]).await;
    begin_at(&client, &mut servers, 0, "task-1").await;
    list_both(&client, &mut servers, ["task-1", "task-1"]).await;
    client.request("tasks/get", r#"{"taskId":"task-1"}"#).await;
    let request = servers[0].expect("tasks/get").await;
    servers[0].answer(&request, r#"{"taskId":"task-1"}"#).await;
    client.answer().await;
    assert!(servers[1].is_quiet());
    // What nobody is known to have begun and both list is neither's.
    list_both(&client, &mut servers, ["old", "old"]).await;
    assert_ambiguous(&client, &mut servers, "old").await;
}

/// Another process over the store.
async fn process(store: &Arc<LastingStore>, servers: &[&str]) -> World {
    World::over(servers, store.clone()).await
}

/// Each request about a task of which only another process knows reaches its server.
async fn assert_known(client: &ConnectionSet, server: &mut Server, task: &str) {
    for method in METHODS {
        let params = format!(r#"{{"taskId":"{task}"}}"#);
        client.request(method, &params).await;
        let request = server.expect(method).await;
        server.answer(&request, &params).await;
        let answer = client.answer().await;
        assert!(answer.contains(task), "{method}: {answer}");
    }
}

#[tokio::test]
async fn a_task_is_known_to_every_process_for_its_holder_alone() {
    let store = LastingStore::new();
    let one = process(&store, &["a"]).await;
    let (ada, mut of_ada) = one.begin(one.session_of(Some("ada")), TASKS).await;
    begin(&ada, &mut of_ada[0], "job", "t1").await;
    let keys = store.keys("task");
    assert_eq!(keys.len(), 1);
    let record = String::from_utf8(store.bytes(&keys[0]).to_vec()).unwrap();
    assert!(
        !record.contains("t1") && !keys[0].contains("t1"),
        "{record}"
    );

    let other = process(&store, &["a"]).await;
    let (bob, mut of_bob) = other.begin(other.session_of(Some("bob")), TASKS).await;
    assert_unknown(&bob, &mut of_bob, "t1").await;
    let list = listed(&bob, &mut of_bob[0]).await;
    assert!(list.contains(r#""tasks": []"#), "{list}");
    let (ada, mut of_ada) = other.begin(other.session_of(Some("ada")), TASKS).await;
    // What a server says of its own accord, and its list, before anyone has asked for the task.
    let told = |task| {
        super::fake::message(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{task}"}}}}"#
        ))
    };
    of_bob[0].say(told("t1")).await;
    of_ada[0].say(told("t2")).await;
    of_ada[0].say(told("t1")).await;
    let heard = ada.next().await;
    assert!(heard.contains("t1"), "{heard}");
    let third = process(&store, &["a"]).await;
    let (ada_there, mut of_ada_there) = third.begin(third.session_of(Some("ada")), TASKS).await;
    let list = listed(&ada_there, &mut of_ada_there[0]).await;
    assert!(list.contains("t1") && !list.contains("t2"), "{list}");
    assert_known(&ada, &mut of_ada[0], "t1").await;
    assert!(bob.is_quiet().await);
    assert_unknown(&ada, &mut of_ada, "t9").await;
}

#[tokio::test]
async fn an_anonymous_session_has_its_tasks_to_itself_in_every_process() {
    let store = LastingStore::new();
    let one = process(&store, &["a"]).await;
    let (anonymous, mut of_one) = one.begin(one.session_of(None), TASKS).await;
    begin(&anonymous, &mut of_one[0], "job", "t1").await;
    let other = process(&store, &["a"]).await;
    let (another, mut of_another) = other.begin(other.session_of(None), TASKS).await;
    assert_unknown(&another, &mut of_another, "t1").await;
}

#[tokio::test]
async fn the_same_id_of_two_servers_in_two_processes_is_neithers() {
    let store = LastingStore::new();
    let servers = ["bank", "evil"];
    let one = process(&store, &servers).await;
    let other = process(&store, &servers).await;
    let holder = Some("ada");
    let (here, mut at_one) = one.begin(one.session_of(holder), TASKS).await;
    let (there, mut at_other) = other.begin(other.session_of(holder), TASKS).await;
    begin_at(&here, &mut at_one, 0, "task-1").await;
    assert_known(&there, &mut at_other[0], "task-1").await;
    begin_at(&there, &mut at_other, 1, "task-1").await;
    // The first process hears nothing of that, and may not go by what it knows.
    assert_ambiguous(&here, &mut at_one, "task-1").await;
    assert_ambiguous(&there, &mut at_other, "task-1").await;
    let third = process(&store, &servers).await;
    let (late, mut at_third) = third.begin(third.session_of(holder), TASKS).await;
    assert_ambiguous(&late, &mut at_third, "task-1").await;
    // Also where one of the servers is none of this process.
    let (sole, mut at_sole) = {
        let sole = process(&store, &["evil", "third"]).await;
        let client = sole.session_of(holder);
        sole.begin(client, TASKS).await
    };
    assert_ambiguous(&sole, &mut at_sole, "task-1").await;
}

#[tokio::test]
async fn a_task_that_cannot_be_looked_up_is_not_taken_for_unknown() {
    let store = LastingStore::new();
    let one = process(&store, &["a"]).await;
    let (here, mut at_one) = one.begin(one.session_of(Some("ada")), TASKS).await;
    begin(&here, &mut at_one[0], "job", "t1").await;
    let other = process(&store, &["a"]).await;
    let (there, mut at_other) = other.begin(other.session_of(Some("ada")), TASKS).await;
    store.is_away.store(true, Ordering::Relaxed);
    there.request("tasks/get", r#"{"taskId":"t1"}"#).await;
    let refused = there.answer().await;
    assert!(
        refused.contains(r#""code":-32603"#) && refused.contains("store.unavailable"),
        "{refused}"
    );
    assert!(at_other[0].is_quiet());
    // What is known here needs no store where there is one server.
    assert_known(&here, &mut at_one[0], "t1").await;
    store.is_away.store(false, Ordering::Relaxed);
    assert_known(&there, &mut at_other[0], "t1").await;
}

/// Else each of them would hold up the answers behind it for as long as the store takes to fail.
#[tokio::test]
async fn notifications_do_without_a_store_that_has_just_failed() {
    let store = LastingStore::new();
    let world = process(&store, &["a"]).await;
    let (client, mut servers) = world.begin(world.session_of(Some("ada")), TASKS).await;
    begin(&client, &mut servers[0], "job", "t1").await;
    store.is_away.store(true, Ordering::Relaxed);
    let before = store.reads.load(Ordering::Relaxed);
    for task in ["x", "y", "z", "t1"] {
        let told = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{task}"}}}}"#
        );
        servers[0].say(super::fake::message(&told)).await;
    }
    let told = client.next().await;
    assert!(told.contains("t1"), "{told}");
    assert_eq!(store.reads.load(Ordering::Relaxed), before + 1);
}
