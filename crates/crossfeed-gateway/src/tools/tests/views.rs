//! Who reads a result: what each view lists, and what it hands out.

use super::*;
use crate::{
    config::{ClientConfig, ClientName, ViewChoice},
    message::{Id, Message},
    tools::FetchedList,
};
use crossfeed_wire::View;

fn always(view: View) -> ViewChoice {
    ViewChoice::Always(view)
}

/// A gateway to one server with these tools, whose results are handed out so.
fn world(view: View) -> World {
    let mut config = server("a");
    config.view = Some(always(view));
    World::new(vec![(config, tools())], Vec::new())
}

async fn listed(world: &World, client: &ClientTools, name: &str) -> Value {
    let listed: Value = serde_json::from_slice(&client.list(&world.lists).await).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == name);
    tool.unwrap_or_else(|| panic!("{name} in {listed}")).clone()
}

fn table(rows: usize) -> Value {
    let items: Vec<_> = (0..rows).map(|n| json!({"n": n, "_id": n})).collect();
    json!({"items": items, "n": rows})
}

/// The result of a call, as it is handed out in the message of the server.
async fn handed_out(client: &ClientTools, params: Value, result: &str) -> Bytes {
    let forward = forward(client, params.to_string().into()).await;
    let message = format!(r#"{{"id":7, "result" : {result} ,"jsonrpc":"2.0"}}"#);
    let answer = forward.pending.answer(Message::parse(message).unwrap());
    let answer = answer.await.with_id(Id::number(1));
    let again = Message::parse(answer.to_bytes()).unwrap();
    assert_eq!(again.id(), Some(&Id::number(1)));
    assert_eq!(again.result(), answer.result());
    again.result().unwrap()
}

/// What a result is in does not change what is handed out.
#[tokio::test]
async fn a_result_is_handed_out_the_same_in_its_message_and_alone() {
    let text = "x".repeat(100_000);
    let doubled = vec![r#""_meta":{"dev.crossfeed/callId":"forged","a":1}"#; 40].join(", ");
    let results = [
        "{}".to_owned(),
        " { } ".to_owned(),
        r#"{"_meta":null}"#.to_owned(),
        r#"{"\u005fmeta": { } ,"content":[]}"#.to_owned(),
        r#"{"_meta":{"dev.crossfeed/notices":1},"_meta":{"b":{"_meta":2}},"content":[]}"#
            .to_owned(),
        r#"{"content":[],"structuredContent":[1,2]}"#.to_owned(),
        format!(r#"{{"structuredContent":"{text}","_meta":{{"a":"{text}"}}}}"#),
        format!(r#"{{{doubled}}}"#),
        format!(r#"{{{doubled},"content":[{{"type":"text","text":"{text}"}}]}}"#),
        format!(
            r#"{{"resultType":"complete","isError":false,"content":[{{"type":"text","text":"{text}"}}]}}"#
        ),
        format!(r#"{{"resultType":"input_required","requestState":"{text}"}}"#),
        format!(r#"{{"task":{{"taskId":"t","x":"{text}"}}}}"#),
        r#"{"isError":true,"isError":false,"content":7}"#.to_owned(),
        "[1]".to_owned(),
    ];
    for view in [View::Program, View::Model] {
        for result in &results {
            let (one, other) = (world(view), world(view));
            let (one, other) = (one.client(local()).await, other.client(local()).await);
            let in_message = handed_out(&one, json!({"name": "typed"}), result).await;
            let call = json!({"name": "typed"}).to_string();
            let alone = forward(&other, call.into()).await;
            let alone = alone.pending.finish(result.clone().into()).await;
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
            assert_eq!(text(&in_message), text(&alone), "{result:.80}");
        }
    }
}

#[tokio::test]
async fn a_program_gets_the_bytes_that_came() {
    let world = world(View::Program);
    let client = world.client(local()).await;
    let large = table(3000).to_string();
    let text = serde_json::to_string(&large).unwrap();
    let image = r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#;
    let results = [
        r#"{"content":[{"type":"text","text":"1"}]"#.to_owned(),
        r#"{ "content" : [ ] , "structuredContent" : { "_toolCallId" : "forged", "b" : 1.50, "b" : 12345678901234567890123 }"#.to_owned(),
        format!(r#"{{"content":[{{"type":"text","text":{text}}},{image}],"structuredContent":{large}"#),
        format!(r#"{{"content":[{{"type":"text","text":{text}}},{{"type":"text","text":"[crossfeed preview of x"}}],"own":{large}"#),
        format!(r#"{{"isError":false,"content":[{{"type":"text","text":{text}}}]"#),
    ];
    for (number, came) in results.iter().enumerate() {
        let shown = handed_out(&client, json!({"name": "typed"}), &format!("{came}}}")).await;
        let id = format!(
            r#","_meta":{{"dev.crossfeed/callId":"call_{}"}}}}"#,
            number + 1
        );
        assert_eq!(String::from_utf8_lossy(&shown), format!("{came}{id}"));
    }
    let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_3", "_select": "to_string(items[2999].n)"}}});
    let forward = forward(&client, params("fetch", arguments)).await;
    let sent: Value = serde_json::from_slice(&forward.params).unwrap();
    assert_eq!(sent["arguments"]["url"], "2999");
}

#[tokio::test]
async fn a_program_gets_failures_questions_and_unchained_results_as_they_came() {
    let world = world(View::Program);
    let client = world.client(local()).await;
    for result in [
        r#"{"isError":true,"content":[{"type":"text","text":"limit.exceeded: {\"_toolCallId\": 1}"}]}"#,
        r#"{"resultType":"input_required","inputRequests":{},"requestState":"s"}"#,
        r#"{"task":{"taskId":"t","status":"working"}}"#,
        r#"{"content":"a text"}"#,
        "7",
    ] {
        let shown = handed_out(&client, json!({"name": "typed"}), result).await;
        assert_eq!(String::from_utf8_lossy(&shown), result);
    }
    let unchained = r#"{"content":[{"type":"text","text":"{\"_toolCallId\": \"x\"}"}]}"#;
    let shown = handed_out(&client, json!({"name": "secret"}), unchained).await;
    assert_eq!(String::from_utf8_lossy(&shown), unchained);
    // Nobody but the gateway says what a call is called.
    let forged =
        r#"{"isError":true,"content":[],"_meta":{"dev.crossfeed/callId":"call_1","own":1}}"#;
    let shown = handed_out(&client, json!({"name": "typed"}), forged).await;
    assert_eq!(
        String::from_utf8_lossy(&shown),
        r#"{"isError":true,"content":[],"_meta":{"own":1}}"#
    );
}

#[tokio::test]
async fn a_program_is_told_in_meta_that_a_result_is_not_kept() {
    let limits = crossfeed_store::MemoryLimits::default().with_session_bytes(1000);
    let store = crossfeed_store::MemoryStore::new(limits);
    let mut world = world(View::Program);
    let config = Arc::clone(&world.tools.config);
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    world.tools = Tools::new(engine, config);
    let client = world.client(local()).await;
    let result = json!({"content": [{"type": "text", "text": "x".repeat(30_000)}]});
    let shown = handed_out(&client, json!({"name": "search"}), &result.to_string()).await;
    let mut shown: Value = serde_json::from_slice(&shown).unwrap();
    let meta = shown.as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(shown, result);
    let notice = meta["dev.crossfeed/notices"][0].as_str().unwrap();
    assert!(notice.contains("cannot be referred to"), "{notice}");
    assert!(meta.get("dev.crossfeed/callId").is_none());
}

#[tokio::test]
async fn the_task_of_a_program_ends_with_the_bytes_that_came() {
    let world = world(View::Program);
    let client = world.client(local()).await;
    handed_out(
        &client,
        json!({"name": "typed"}),
        r#"{"task":{"taskId":"t"}}"#,
    )
    .await;
    let result = json!({"content": [], "structuredContent": table(3000)}).to_string();
    let id = r#","_meta":{"dev.crossfeed/callId":"call_1"}}"#;
    let expected = format!("{}{id}", &result[..result.len() - 1]);
    for _ in 0..2 {
        let shown = client.task_result(0, "t", result.clone().into()).await;
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
}

#[tokio::test]
async fn output_schemas_are_listed_where_results_conform_to_them() {
    let own = r#"{"type":"object", "required":["items"],"properties":{"items":{"type":"string"}},"$id":"urn:x"}"#;
    let tool = |name: &str, meta: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"outputSchema":{own}{meta}}}"#
        )
    };
    let page = format!(
        r#"{{"tools":[{},{},{},{{"name":"odd","inputSchema":{{"type":"object"}},"outputSchema":{{"type":"array"}}}}]}}"#,
        tool("plain", ""),
        tool("page", r#","_meta":{"ui":{"resourceUri":"ui://x"}}"#),
        tool("secret", r#","_meta":{"dev.crossfeed/chain":false}"#),
    );
    for view in View::ALL {
        let mut world = world(view);
        world.lists = vec![ServerList::new(0, vec![page.clone().into()])];
        let client = world.client(local()).await;
        let list = client.list(&world.lists).await;
        let list = String::from_utf8_lossy(&list).into_owned();
        let is_program = view == View::Program;
        let listed_times = list.matches(&format!("\"outputSchema\":{own}")).count();
        assert_eq!(
            listed_times,
            if is_program { 3 } else { 2 },
            "{view}: {list}"
        );
        let odd = r#""outputSchema":{"type":"array"}"#;
        assert!(!list.contains(odd), "{view}: {list}");
        assert_eq!(
            list.contains("output_fields:"),
            !is_program,
            "{view}: {list}"
        );
        let stateless = Caller::new(Principal::Local, None, Revision::V2026_07_28);
        let client = world.client(stateless).await;
        let list = client.list(&world.lists).await;
        let list = String::from_utf8_lossy(&list).into_owned();
        assert_eq!(list.contains(odd), is_program, "{view}: {list}");
    }
}

#[tokio::test]
async fn who_comes_first_chooses() {
    let (model, program) = (always(View::Model), always(View::Program));
    let client = |name: &str, version: &str| Some(ClientName::new(name, Some(version.to_owned())));
    let mut of_client = ClientConfig::new("Bot");
    of_client.version = Some("2.*".to_owned());
    of_client.view = Some(program);
    let mut config = GatewayConfig {
        servers: vec![server("a")],
        clients: vec![of_client],
        ..GatewayConfig::default()
    };
    let view = |config: &GatewayConfig, client: Option<ClientName>| {
        config.view_of(&config.servers[0], client.as_ref()).view
    };
    assert_eq!(view(&config, None), View::Model);
    assert_eq!(view(&config, client("nobody knows it", "1")), View::Model);
    assert_eq!(view(&config, client("opencode", "2.1")), View::Program);
    config.view = always(View::Ask);
    assert_eq!(view(&config, client("opencode", "2.1")), View::Ask);
    config.servers[0].view = Some(model);
    assert_eq!(view(&config, client("opencode", "2.1")), View::Model);
    assert_eq!(view(&config, client("bot", "2.0")), View::Program);
    assert_eq!(view(&config, client("bot", "20")), View::Model);
    config.servers[0].view = Some(ViewChoice::Auto);
    assert_eq!(view(&config, client("opencode", "2.1")), View::Program);
}

#[tokio::test]
async fn a_request_may_ask_for_another_view() {
    let world = world(View::Model);
    let client = world.client(local()).await;
    let result = json!({"content": [], "structuredContent": table(3000)}).to_string();
    let asking = |view: Value| json!({"name": "typed", "_meta": {"dev.crossfeed/view": view}});
    let shown = handed_out(&client, asking(json!("program")), &result).await;
    assert!(shown.len() > result.len());
    for view in ["model", "auto", "ask"] {
        let shown = handed_out(&client, asking(json!(view)), &result).await;
        assert!(shown.len() < 6000, "{view}");
    }
    for wrong in [json!("Program"), json!(1), json!([])] {
        let Call::Refused(error) = client.call(asking(wrong.clone()).to_string().into()).await
        else {
            panic!("{wrong}");
        };
        assert!(error.message.contains("\"program\""), "{error:?}");
    }
}

#[tokio::test]
async fn in_the_era_without_sessions_each_request_says_which_client_it_is_from() {
    let mut config = ClientConfig::new("bot");
    config.view = Some(always(View::Program));
    let mut world = world(View::Model);
    let mut all = GatewayConfig::clone(&world.tools.config);
    all.clients = vec![config];
    world.tools = Tools::new(Engine::in_memory(EngineOptions::default()), Arc::new(all));
    let result = json!({"content": [], "structuredContent": table(3000)}).to_string();
    for (revision, is_heard) in [
        (Revision::V2026_07_28, true),
        (Revision::V2025_11_25, false),
    ] {
        let session = (!is_heard).then(|| "s".to_owned());
        let client = world
            .client(Caller::new(Principal::Local, session, revision))
            .await;
        let of = json!({"name": "typed", "_meta": {"io.modelcontextprotocol/clientInfo": {"name": "Bot"}}});
        let shown = handed_out(&client, of, &result).await;
        assert_eq!(shown.len() > 6000, is_heard);
        let shown = handed_out(&client, json!({"name": "typed"}), &result).await;
        assert!(shown.len() < 6000);
    }
}

#[tokio::test]
async fn a_client_that_takes_no_references_is_listed_what_came() {
    let mut config = ClientConfig::new("bot");
    config.references = false;
    let mut world = world(View::Model);
    let mut all = GatewayConfig::clone(&world.tools.config);
    all.clients = vec![config];
    world.tools = Tools::new(Engine::in_memory(EngineOptions::default()), Arc::new(all));
    let bot = local().with_client(ClientName::new("bot", None));
    let client = world.client(bot).await;
    let came = tools();
    for tool in came.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(listed(&world, &client, name).await, *tool);
    }
    let result = json!({"content": [{"type": "text", "text": table(3000).to_string()}]});
    assert_eq!(returned(&client, "typed", result.clone()).await, result);
}

#[tokio::test]
async fn a_call_may_ask_for_the_whole_result() {
    let world = world(View::Ask);
    let client = world.client(local()).await;
    let tool = listed(&world, &client, "typed").await;
    assert_eq!(
        tool["inputSchema"]["properties"]["_whole"]["type"], "boolean",
        "{tool}"
    );
    assert!(client.guidance().contains("`_whole`"));
    let result = json!({"content": [], "structuredContent": table(3000)}).to_string();
    let with = |arguments: Value| json!({"name": "typed", "arguments": arguments});
    let asked = forward(&client, with(json!({"_whole": true})).to_string().into()).await;
    assert_eq!(asked.params, with(json!({})).to_string());
    let shown = asked.pending.finish(result.clone().into()).await;
    let id = r#","_meta":{"dev.crossfeed/callId":"call_1"}}"#;
    assert_eq!(shown, format!("{}{id}", &result[..result.len() - 1]));
    let shown = handed_out(&client, with(json!({"_whole": false})), &result).await;
    assert!(shown.len() < 6000);
    // Asked for once, it holds for what the call goes on to.
    let question = json!({"resultType": "input_required", "requestState": "st"}).to_string();
    let mut asked = with(json!({"_whole": true}));
    handed_out(&client, asked.clone(), &question).await;
    asked["requestState"] = json!("st");
    assert!(handed_out(&client, asked, &result).await.len() > result.len());
}

/// A client that shows its model one copy of a result cuts nothing for the size of the other.
#[tokio::test]
async fn what_the_model_is_shown_counts() {
    let large = table(3000);
    let (prose, structure) = (large.to_string(), json!({"n": 1}));
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let large_structure = json!({"content": text("small"), "structuredContent": large});
    let large_text = json!({"content": text(&prose), "structuredContent": structure});
    let no_structure = json!({"content": text(&prose)});
    for (client, is_cut) in [
        (None, [true, true, true]),
        // It shows `structuredContent` where there is any.
        (Some("claude-code"), [true, false, true]),
        (Some("claude-ai"), [false, true, true]),
    ] {
        let caller = match client {
            Some(name) => local().with_client(ClientName::new(name, None)),
            None => local(),
        };
        let client = World::new(vec![(server("a"), tools())], Vec::new())
            .client(caller)
            .await;
        let results = [&large_structure, &large_text, &no_structure];
        for (result, is_cut) in results.into_iter().zip(is_cut) {
            let shown = returned(&client, "typed", result.clone()).await;
            let is_shorter = shown.to_string().len() < result.to_string().len();
            assert_eq!(is_shorter, is_cut, "{shown}");
        }
    }
}

/// Who waited for a list that another reader's request fetched does not get that one.
#[tokio::test]
async fn a_list_is_shared_by_requests_of_one_reader() {
    let world = world(View::Model);
    let client = world.client(local()).await;
    let meta = Bytes::from(r#"{"dev.crossfeed/view":"program"}"#);
    let program = client.reader(Some(&meta)).unwrap();
    let model = client.reader(None).unwrap();
    assert!(matches!(client.relisted(&model), FetchedList::Here(_)));
    assert!(matches!(client.relisted(&program), FetchedList::ForAnother));
    client
        .list_within(&world.lists, true, &program)
        .await
        .unwrap();
    assert!(matches!(client.relisted(&model), FetchedList::ForAnother));
    let FetchedList::Here(list) = client.relisted(&program) else {
        panic!("it was listed");
    };
    assert!(
        String::from_utf8_lossy(&list)
            .contains("outputSchema\":{\"type\":\"object\",\"properties\":{\"items\"")
    );
    client.close().await;
    assert!(matches!(client.relisted(&program), FetchedList::Nothing));
}

fn wanted(view: &str) -> Value {
    json!({"dev.crossfeed/view": view})
}

/// What is projected says so to a program, too, and that something was withheld.
#[tokio::test]
async fn a_program_is_told_what_is_left_out() {
    let mut config = server("a");
    config.projection = true;
    let client = World::new(vec![(config, tools())], Vec::new())
        .client(local())
        .await;
    let mut meta = wanted("program");
    meta["projection"] = json!({"mode": "include", "fields": ["n"]});
    let result = r#"{"content":[],"structuredContent":{"n":1,"items":[]}}"#;
    let shown = handed_out(&client, json!({"name": "typed", "_meta": meta}), result).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(shown["structuredContent"], json!({"n": 1}));
    assert_eq!(shown["_meta"]["dev.crossfeed/callId"], "call_1");
    assert_eq!(
        shown["_meta"][crossfeed_mcp::KEY]["applied"],
        json!(true),
        "{shown}"
    );
    let projection = json!({"mode": "no such mode"});
    let meta = json!({"dev.crossfeed/view": "program", "projection": projection});
    let odd = r#"{"content":[],"structuredContent":[1,2,3]}"#;
    let shown = handed_out(&client, json!({"name": "search", "_meta": meta}), odd).await;
    assert!(
        String::from_utf8_lossy(&shown).contains("[1,2,3]"),
        "{shown:?}"
    );
}

/// Who is not told of a change by others is.
#[tokio::test]
async fn a_change_is_heard_by_all_readers() {
    let mut world = world(View::Model);
    let client = world.client(local()).await;
    let ask = client
        .reader(Some(&wanted("ask").to_string().into()))
        .unwrap();
    let model = client.reader(None).unwrap();
    client.list_within(&world.lists, true, &ask).await.unwrap();
    assert!(client.is_listed_for(&model) && client.is_listed_for(&ask));
    client.forget_list();
    assert!(!client.is_listed_for(&model) && !client.is_listed_for(&ask));
    let page = r#"{"tools":[{"name":"other","inputSchema":{"type":"object"}}]}"#;
    world.lists = vec![ServerList::new(0, vec![page.into()])];
    client.list_within(&world.lists, true, &ask).await.unwrap();
    assert!(!client.is_listed_for(&model));
}

/// Clients of which nothing is said are one reader, however many names they have.
#[tokio::test]
async fn readers_are_few() {
    let world = world(View::Model);
    let client = world
        .client(Caller::new(Principal::Local, None, Revision::V2026_07_28))
        .await;
    let named = |name: &str| {
        let meta = json!({"io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"}});
        client.reader(Some(&meta.to_string().into())).unwrap()
    };
    let one = named("one");
    for n in 0..20 {
        assert_eq!(named(&format!("client {n}")), one);
    }
    assert!(client.is_listed_for(&one));
}
