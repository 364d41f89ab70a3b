//! Calls that run as tasks.

use super::*;

/// Calls a tool that makes a task of it.
async fn began(client: &ClientTools, name: &str, task: &str) {
    let created = json!({"task": {"taskId": task, "status": "working"}}).to_string();
    let forward = forward(client, params(name, json!({}))).await;
    let shown = forward.pending.finish(created.clone().into()).await;
    assert_eq!(shown, created);
}

/// What is shown of a server's word about a task.
async fn told(client: &ClientTools, task: &str, said: &Value) -> Value {
    let shown = client.task_result(0, task, said.to_string().into()).await;
    serde_json::from_slice(&shown).unwrap()
}

fn refers(call: &str) -> Bytes {
    params("search", json!({"q": {"$tool": call}}))
}

#[tokio::test]
async fn a_result_that_is_asked_for_again_is_shown_as_before() {
    let text = |length| json!([{"type": "text", "text": "y ".repeat(length)}]);
    let image = json!([{"type": "image", "data": "A".repeat(100_000), "mimeType": "image/png"}]);
    for (name, result) in [
        ("search", json!({"content": text(1)})),
        ("search", json!({"content": text(100_000)})),
        (
            "typed",
            json!({"content": image, "structuredContent": {"n": "bad"}, "_meta": {"dev.crossfeed/error": 1}}),
        ),
    ] {
        let client = one().await;
        began(&client, name, "t").await;
        let first = told(&client, "t", &result).await;
        assert!(first.to_string().contains("call_1"), "{first}");
        assert_eq!(told(&client, "t", &result).await, first);
        assert_eq!(told(&client, "t", &result).await, first);
    }
}

/// By `tasks/result`, and, without sessions, by `tasks/get`, which holds the result.
#[tokio::test]
async fn a_failed_task_is_cut_as_any_failure_however_often_it_is_asked_for() {
    let failure = results::long_failure();
    let got = json!({"taskId": "t", "status": "completed", "result": failure});
    for (said, at) in [(&failure, ""), (&got, "/result")] {
        let client = one().await;
        began(&client, "search", "t").await;
        let first = told(&client, "t", said).await;
        let shown = first.pointer(at).unwrap();
        assert!(
            error(shown)
                .starts_with("[crossfeed preview of call_1: cut, not the data; the call failed"),
            "{shown}"
        );
        assert!(shown.to_string().len() < 4_000, "{shown}");
        for _ in 0..2 {
            assert_eq!(told(&client, "t", said).await, first);
        }
        let text = failure["content"][0]["text"].as_str().unwrap();
        results::can_be_read_to_its_end(&client, "call_1", text).await;
        assert_eq!(told(&client, "t", said).await, first);
    }
}

/// Who asks how a task is hears that it failed before it asks for what it failed with.
#[tokio::test]
async fn what_a_task_failed_with_is_cut_also_where_it_is_known_to_have_failed() {
    let failure = results::long_failure();
    let text = failure["content"][0]["text"].as_str().unwrap();
    let client = one().await;
    began(&client, "search", "t").await;
    let status = json!({"taskId": "t", "status": "failed"});
    assert_eq!(told(&client, "t", &status).await, status);
    let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_1"}}});
    let answer = answered(&client, params("fetch", arguments)).await;
    assert!(error(&answer).starts_with("result.failed"), "{answer}");
    let first = told(&client, "t", &failure).await;
    let shown = error(&first);
    let id = shown
        .strip_prefix("[crossfeed preview of ")
        .and_then(|shown| shown.split_once(':'))
        .map(|(id, _)| id.to_owned())
        .unwrap_or_else(|| panic!("{first}"));
    assert!(first.to_string().len() < 4_000, "{first}");
    for _ in 0..2 {
        assert_eq!(told(&client, "t", &failure).await, first);
    }
    results::can_be_read_to_its_end(&client, &id, text).await;
    // A small one is what it is.
    began(&client, "search", "u").await;
    told(&client, "u", &json!({"taskId": "u", "status": "failed"})).await;
    let small = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    assert_eq!(told(&client, "u", &small).await, small);
}

#[tokio::test]
async fn another_result_of_the_same_task_is_not_referred_to() {
    let client = one().await;
    began(&client, "typed", "t").await;
    let result = json!({"content": [], "structuredContent": {"items": []}});
    told(&client, "t", &result).await;
    let other = json!({
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        "structuredContent": {"n": "bad"}, "_meta": {"dev.crossfeed/error": 1},
    });
    let shown = told(&client, "t", &other).await;
    let text = shown.to_string();
    assert!(text.contains("this result cannot be referred to"), "{text}");
    assert!(
        !text.contains("_toolCallId") && !text.contains("dev.crossfeed/error"),
        "{text}"
    );
    assert_eq!(shown["structuredContent"], json!({"n": "bad"}));
    // The first one is what is referred to.
    let reference =
        json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "to_string(items)"}}});
    let forward = forward(&client, params("fetch", reference)).await;
    let sent = String::from_utf8_lossy(&forward.params).into_owned();
    assert!(sent.contains(r#""url":"[]""#), "{sent}");
}

#[tokio::test]
async fn whoever_asks_at_the_same_time_sees_the_same() {
    let client = one().await;
    began(&client, "search", "t").await;
    let result = json!({"content": [{"type": "text", "text": "y ".repeat(100_000)}]});
    let (one, two) = tokio::join!(told(&client, "t", &result), told(&client, "t", &result));
    assert!(one.to_string().contains("preview of call_1"), "{one}");
    assert_eq!(one, two);
}

#[tokio::test]
async fn a_request_that_is_cancelled_takes_no_result_with_it() {
    let client = one().await;
    began(&client, "search", "t").await;
    let result = json!({"content": [{"type": "text", "text": "y ".repeat(100_000)}]});
    let mut asked = Box::pin(told(&client, "t", &result));
    // It is left where it first waits.
    let polled = futures_util::future::poll_immediate(&mut asked).await;
    assert!(polled.is_none());
    drop(asked);
    let shown = told(&client, "t", &result).await;
    assert!(shown.to_string().contains("preview of call_1"), "{shown}");
    forward(&client, refers("call_1")).await;
}

#[tokio::test]
async fn a_result_with_nothing_in_it_is_one() {
    for said in [
        json!({"taskId": "t", "status": "completed", "result": {}}),
        json!({"resultType": "complete", "taskId": "t", "status": "completed", "result": {}}),
        json!({}),
        json!({"_meta": {}}),
    ] {
        let client = one().await;
        began(&client, "typed", "t").await;
        let shown = told(&client, "t", &said).await;
        assert!(shown.to_string().contains("_toolCallId"), "{shown}");
        assert_eq!(shown.get("status"), said.get("status"));
    }
    // These are none.
    for said in [
        json!({"taskId": "t", "status": "completed"}),
        json!({"taskId": "t"}),
        json!({"task": {"taskId": "t"}}),
        json!({"resultType": "input_required"}),
        json!({"taskId": "t", "status": "working", "result": {}}),
        json!([]),
    ] {
        let client = one().await;
        began(&client, "typed", "t").await;
        assert_eq!(told(&client, "t", &said).await, said);
        let result = json!({"content": []});
        let shown = told(&client, "t", &result).await;
        assert!(shown.to_string().contains("_toolCallId"), "{said}: {shown}");
    }
}

#[tokio::test]
async fn a_task_that_is_cancelled_ends_its_call() {
    let client = one().await;
    began(&client, "search", "t").await;
    // Some servers say no more than that they heard.
    let heard = Bytes::from("{}");
    client.task_cancelled(0, "t", &heard).await;
    let result = json!({"content": []});
    let shown = told(&client, "t", &result).await;
    assert!(shown.to_string().contains("call_1"), "{shown}");
    began(&client, "search", "u").await;
    let cancelled = Bytes::from(r#"{"taskId":"u","status":"cancelled"}"#);
    client.task_cancelled(1, "u", &cancelled).await;
    client.task_cancelled(0, "u", &cancelled).await;
    let answer = answered(&client, refers("call_2")).await;
    assert!(
        error(&answer).contains("the task was cancelled"),
        "{answer}"
    );
    // What comes of it all the same is shown as any other.
    let shown = told(
        &client,
        "u",
        &json!({"content": [], "_meta": {"dev.crossfeed/x": 1}}),
    )
    .await;
    let text = shown.to_string();
    assert!(
        text.contains("cannot be referred to") && !text.contains("dev.crossfeed/x"),
        "{text}"
    );
}

#[tokio::test]
async fn tasks_that_nobody_ends_keep_no_call_from_being_recorded() {
    let client = one().await;
    for number in 0..300 {
        began(&client, "search", &format!("t{number}")).await;
        // One that is asked about is not forgotten.
        let working = json!({"taskId": "t0", "status": "working"});
        assert_eq!(told(&client, "t0", &working).await, working);
    }
    let result = json!({"content": []});
    let shown = returned(&client, "search", result.clone()).await;
    assert!(shown.to_string().contains("call_301"), "{shown}");
    for (task, is_kept) in [
        ("t0", true),
        ("t299", true),
        ("t237", true),
        ("t236", false),
    ] {
        let shown = told(&client, task, &result).await;
        let says = shown.to_string();
        assert_eq!(says.contains("_toolCallId"), is_kept, "{task}: {says}");
        assert_eq!(says.contains("cannot be referred to"), !is_kept, "{task}");
    }
}

/// Who can be told apart has tasks of its own; who cannot shares more of them.
#[tokio::test]
async fn tasks_of_one_do_not_end_those_of_another() {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    let stateless = |principal| Caller::new(principal, None, Revision::V2026_07_28);
    let named = |name: &str| stateless(Principal::Named(name.to_owned()));
    let one = world.client(named("one")).await;
    let other = world.client(named("other")).await;
    let nobody = world.client(stateless(Principal::Anonymous)).await;
    for client in [&one, &nobody] {
        began(client, "search", "first").await;
    }
    for number in 0..300 {
        began(&other, "search", &format!("t{number}")).await;
        began(&nobody, "search", &format!("t{number}")).await;
    }
    let result = json!({"content": []});
    for (client, task, is_kept) in [
        (&one, "first", true),
        (&other, "t235", false),
        (&other, "t236", true),
        (&nobody, "first", true),
        (&nobody, "t0", true),
    ] {
        let shown = told(client, task, &result).await.to_string();
        assert_eq!(shown.contains("_toolCallId"), is_kept, "{task}: {shown}");
    }
    for number in 300..1000 {
        began(&nobody, "search", &format!("t{number}")).await;
    }
    for (task, is_kept) in [("t487", false), ("t488", true)] {
        let shown = told(&nobody, task, &result).await.to_string();
        assert_eq!(shown.contains("_toolCallId"), is_kept, "{task}: {shown}");
    }
    // They leave room for calls that are not tasks.
    let shown = returned(&nobody, "search", result).await;
    assert!(shown.to_string().contains("_toolCallId"), "{shown}");
}

/// Of a call that runs as a task no more is kept than its result takes.
#[tokio::test]
async fn what_is_kept_of_a_task_is_bounded() {
    let mut config = server("a");
    config.projection = true;
    let client = World::new(vec![(config, tools())], Vec::new())
        .client(local())
        .await;
    let asked = json!({"mode": "include", "fields": ["n"]});
    let long = "x".repeat(1 << 20);
    let kept = async |meta: Value| {
        let call = json!({"name": "typed", "arguments": {"q": long}, "_meta": meta});
        let forward = forward(&client, call.to_string().into()).await;
        forward.pending.kept.unwrap().slim().replay.params
    };
    let slim = kept(json!({"projection": asked, "other": long})).await;
    let slim: Value = serde_json::from_slice(&slim).unwrap();
    assert_eq!(slim, json!({"_meta": {"projection": asked}}));
    assert!(kept(json!({"other": 1})).await.is_empty());
    let longer_than_kept = json!({"mode": "include", "fields": ["n".repeat(4 << 10)]});
    assert!(
        kept(json!({"projection": longer_than_kept}))
            .await
            .is_empty()
    );
}

/// What a task is called by is kept, and bounded.
#[tokio::test]
async fn a_task_with_an_endless_id_is_not_followed() {
    let client = one().await;
    let long = "t".repeat(5000);
    began(&client, "search", &long).await;
    let said = json!({"content": []});
    assert_eq!(told(&client, &long, &said).await, said);
    let answer = answered(&client, refers("call_1")).await;
    assert!(answer["isError"] == json!(true), "{answer}");
}

#[tokio::test]
async fn a_task_shows_what_its_call_asked_for() {
    let mut config = server("a");
    config.projection = true;
    let world = World::new(vec![(config, tools())], Vec::new());
    let client = world.client(local()).await;
    let result = json!({"structuredContent": {"items": [{"id": 1}], "n": 2}});
    let meta = json!({"projection": {"mode": "include", "fields": ["n"]}});
    for (task, asked) in [
        (
            "t",
            json!({"name": "typed", "arguments": {"_select": ["n"]}}),
        ),
        ("u", json!({"name": "typed", "_meta": meta})),
    ] {
        let forward = forward(&client, asked.to_string().into()).await;
        let created = json!({"task": {"taskId": task}}).to_string();
        forward.pending.finish(created.into()).await;
        let shown = told(&client, task, &result).await;
        assert_eq!(shown["structuredContent"]["n"], 2);
        assert!(shown["structuredContent"].get("items").is_none(), "{shown}");
        assert_eq!(told(&client, task, &result).await, shown);
    }
}

/// What a server says of a task is looked at as any result is, in whichever form it says it.
#[tokio::test]
async fn nothing_that_tells_of_a_task_poses_as_the_gateway() {
    let client = one().await;
    let posing = |mut said: Value| {
        said["_meta"] = json!({"dev.crossfeed/error": 1, "own": 2});
        said["_toolCallId"] = json!("call_7");
        said
    };
    let check = |shown: &Value| {
        let text = shown.to_string();
        assert_eq!(shown["_meta"], json!({"own": 2}), "{text}");
        assert!(!text.contains("\"_toolCallId\":\"call_7\""), "{text}");
    };
    let created = posing(json!({"task": {"taskId": "t", "status": "working"}}));
    let forward = forward(&client, params("search", json!({}))).await;
    let shown = forward.pending.finish(created.to_string().into()).await;
    check(&serde_json::from_slice(&shown).unwrap());
    for said in [
        json!({"taskId": "t", "status": "working"}),
        json!({"taskId": "t", "status": "completed", "result": {"content": []}}),
        json!({"taskId": "t", "status": "failed"}),
    ] {
        let shown = told(&client, "t", &posing(said.clone())).await;
        check(&shown);
        if said["result"].is_object() {
            assert!(shown["result"].to_string().contains("call_1"), "{shown}");
        }
    }
}
