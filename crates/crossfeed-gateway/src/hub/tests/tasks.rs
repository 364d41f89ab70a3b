//! Tasks belong to the server and to the principal that began them.

use super::fake::{ConnectionSet, Server, World};

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
