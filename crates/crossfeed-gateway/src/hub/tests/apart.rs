//! What is large is worked on off the threads that serve others.

use super::fake::{World, message};
use crate::{
    apart::{LARGE, many_values, timed},
    message::{Id, Message},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    task::{spawn_blocking, yield_now},
};
use tracing::{Level, Metadata, Subscriber, span};

/// Less than half of the time that the values take to be indexed once.
#[track_caller]
fn check(served: Duration, indexed: Duration) {
    assert!(served * 2 < indexed, "{served:?} of {indexed:?}");
}

/// The answer to a request, read beforehand.
fn answer(request: &Message, result: &str) -> Message {
    let id = request.id().unwrap();
    message(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
    ))
}

#[tokio::test]
async fn a_large_result_is_searched_for_tasks_elsewhere() {
    let (values, indexed) = many_values();
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(r#"{"resources":{}}"#).await;
    client.request("resources/read", r#"{"uri":"a:1"}"#).await;
    let request = servers[0].expect("resources/read").await;
    let result = answer(&request, &format!(r#"{{"taskId":{values}}}"#));
    let served = timed(async {
        servers[0].say(result).await;
        client.answer().await
    });
    check(served.await.1, indexed);
}

#[tokio::test]
async fn what_carries_no_data_is_not_read_where_it_is_large() {
    let (values, indexed) = many_values();
    let world = World::new(&["a", "b"]);
    let capabilities = r#"{"completions":{},"prompts":{},"tasks":{"list":{}},"skills":{}}"#;
    let (client, mut servers) = world.begun(capabilities).await;
    for method in [
        "completion/complete",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "tasks/list",
        "skills/list",
        "ping",
    ] {
        let params = format!(r#"{{"cursor":1,"ref":{{"name":"p"}},"x":{values}}}"#);
        client.request(method, &params).await;
        let served = timed(async { client.answer().await });
        let (refused, served) = served.await;
        assert!(refused.contains("limit.exceeded"), "{refused:.200}");
        check(served, indexed);
    }
    for method in ["cancelled", "progress"] {
        let params = format!(r#"{{"requestId":9,"progressToken":9,"x":{values}}}"#);
        let told = message(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#
        ));
        let served = timed(Arc::clone(&client.client).receive(told, Arc::clone(&client.outlet)));
        check(served.await.1, indexed);
    }
    let long = format!("\"{}\"", "n".repeat(values.len()));
    let members: String = (0..200_000).map(|n| format!(",\"m{n}\":0")).collect();
    for (method, params) in [
        ("tools/call", format!(r#"{{"name":{long}}}"#)),
        ("prompts/get", format!(r#"{{"name":{long}}}"#)),
        ("resources/read", format!(r#"{{"uri":{long}}}"#)),
        ("tools/call", format!(r#"{{"name":"none"{members}}}"#)),
        ("tools/call", format!(r#"{{"name":"none",{long}:1}}"#)),
    ] {
        client.request(method, &params).await;
        let served = timed(async { client.answer().await });
        let (refused, served) = served.await;
        assert!(
            refused.contains("-32602") && refused.len() < 500,
            "{refused:.500}"
        );
        check(served, indexed);
    }
    assert!(servers.iter_mut().all(|server| server.is_quiet()));
}

/// The same in the other direction: servers say what is dropped where it is large.
#[tokio::test]
async fn what_servers_tell_without_data_is_not_read_where_it_is_large() {
    let (values, indexed) = many_values();
    let world = World::new(&["a", "b"]);
    let (client, servers) = world.begun(r#"{"tools":{},"tasks":{}}"#).await;
    let params = format!(r#"{{"requestId":9,"progressToken":9,"taskId":"t","x":{values}}}"#);
    for method in ["cancelled", "progress", "tasks/status"] {
        let told = message(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#
        ));
        let next = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
        let served = timed(async {
            servers[0].say(told).await;
            servers[0].say(message(next)).await;
            client.next().await
        });
        let (came, served) = served.await;
        assert_eq!(came, next, "{method}: {came:.200}");
        check(served, indexed);
    }
}

/// Counts warnings.
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn a_dropped_notification_is_warned_of_once_for_each_connection() {
    let world = World::new(&["a", "b"]);
    let (client, servers) = world.begun("{}").await;
    let warnings = Arc::new(AtomicUsize::new(0));
    let _counted = tracing::subscriber::set_default(Warnings(Arc::clone(&warnings)));
    let long = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"x":"{}"}}}}"#,
        "x".repeat(LARGE)
    );
    let next = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    for (server, most) in [(0, 1), (1, 2), (0, 2)] {
        for _ in 0..3 {
            servers[server].say(message(&long)).await;
        }
        servers[server].say(message(next)).await;
        assert_eq!(client.next().await, next);
        assert_eq!(warnings.load(Ordering::Relaxed), most);
    }
}

#[tokio::test]
async fn large_messages_of_servers_are_read_elsewhere() {
    let (values, indexed) = many_values();
    let world = World::new(&["a", "b"]);
    let (client, servers) = world.begun(r#"{"tools":{},"tasks":{}}"#).await;
    let params = format!(r#"{{"_meta":{{"progressToken":9}},"taskId":"t","x":{values}}}"#);
    for (method, id) in [
        ("sampling/createMessage", r#""id":5,"#),
        ("notifications/tasks", ""),
    ] {
        let said = message(&format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#
        ));
        let served = timed(async {
            servers[0].say(said).await;
            client.next().await
        });
        let (came, served) = served.await;
        assert!(came.contains(method), "{came:.200}");
        check(served, indexed);
    }
}

#[tokio::test]
async fn what_is_told_for_a_subscription_is_read_elsewhere() {
    let (values, indexed) = many_values();
    let world = World::new(&["a"]);
    let client = world.stateless();
    client.send(r#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("server/discover").await;
    let about = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    server.answer(&handshake, about).await;
    let listen = server.expect("subscriptions/listen").await;
    let id = listen.id().unwrap();
    let told = |method: &str, more: &str| {
        message(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more}}}}}"#
        ))
    };
    let acknowledged = told("subscriptions/acknowledged", r#","notifications":{}"#);
    server.say(acknowledged).await;
    assert!(client.next().await.contains("acknowledged"));
    let large = told("message", &format!(r#","x":{values}"#));
    let served = timed(async {
        server.say(large).await;
        client.next().await
    });
    let (came, served) = served.await;
    assert!(came.contains(r#"subscriptionId":"s""#), "{came:.200}");
    check(served, indexed);
    let last =
        format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"x":{values}}}"#);
    let last = answer(&listen, &last);
    let served = timed(async {
        server.say(last).await;
        client.answer().await
    });
    let (came, served) = served.await;
    assert!(came.contains(r#"subscriptionId":"s""#), "{came:.200}");
    check(served, indexed);
}

/// Keeps the thread that large messages are read on until what comes back is dropped, once it came to that.
fn kept_busy() -> (mpsc::Sender<()>, oneshot::Receiver<()>) {
    let (end, ended) = mpsc::channel::<()>();
    let (begin, begun) = oneshot::channel();
    drop(spawn_blocking(move || {
        let _ = begin.send(());
        let _ = ended.recv();
    }));
    (end, begun)
}

/// Its client would hear of it under an id that the gateway gave to the server.
#[test]
fn nothing_is_told_for_a_subscription_that_ended_while_that_was_read() {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    // How many pieces of work are done before it ends.
    for before in 0..3 {
        runtime.block_on(async {
            let world = World::new(&["a"]);
            let client = world.stateless();
            client.send(r#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#).await;
            let mut server = world.server(0).await;
            let handshake = server.expect("server/discover").await;
            let about = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
            server.answer(&handshake, about).await;
            let listen = server.expect("subscriptions/listen").await;
            let id = listen.id().unwrap();
            let told = |method: &str, more: &str| {
                message(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more}}}}}"#
                ))
            };
            server.say(told("subscriptions/acknowledged", r#","notifications":{}"#)).await;
            assert!(client.next().await.contains("acknowledged"));
            let (mut busy, _) = kept_busy();
            server.say(told("message", &format!(r#","x":"{}""#, "x".repeat(LARGE)))).await;
            for _ in 0..before {
                rest().await;
                let (next, begun) = kept_busy();
                drop(busy);
                begun.await.unwrap();
                busy = next;
            }
            rest().await;
            client.client.give_up(&Id::number(0), &client.outlet).await;
            rest().await;
            drop(busy);
            for _ in 0..3 {
                spawn_blocking(|| ()).await.unwrap();
                rest().await;
            }
            let came = tokio::time::timeout(Duration::from_millis(10), client.next()).await;
            if let Ok(came) = came {
                assert!(came.contains(r#"subscriptionId":"s""#), "{before}: {came:.200}");
            }
        });
    }
}

/// Lets everything else go on for as long as it can.
async fn rest() {
    for _ in 0..100 {
        yield_now().await;
    }
}

#[tokio::test]
async fn large_lists_are_joined_and_learnt_elsewhere() {
    let (values, indexed) = many_values();
    for (method, member, item) in [
        ("resources/list", "resources", r#"{"uri":"a:1"}"#),
        ("prompts/list", "prompts", r#"{"name":"p"}"#),
        ("tasks/list", "tasks", r#"{"taskId":"t"}"#),
    ] {
        let world = World::new(&["a", "b"]);
        let capabilities = r#"{"resources":{},"prompts":{},"tasks":{"list":{}}}"#;
        let (client, mut servers) = world.begun(capabilities).await;
        client.request(method, "{}").await;
        let result = format!(r#"{{"{member}":[{item}],"x":{values}}}"#);
        let mut answers = Vec::new();
        for server in &mut servers {
            let request = server.expect(method).await;
            answers.push(answer(&request, &result));
        }
        let served = timed(async {
            for (server, answer) in servers.iter().zip(answers) {
                server.say(answer).await;
            }
            client.answer().await
        });
        let (listed, served) = served.await;
        assert!(listed.contains(member), "{listed:.200}");
        check(served, indexed);
    }
}

#[tokio::test]
async fn a_resource_is_looked_for_in_large_lists_elsewhere() {
    let (values, indexed) = many_values();
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(r#"{"resources":{}}"#).await;
    client.request("resources/read", r#"{"uri":"a:1"}"#).await;
    let result = format!(r#"{{"resources":[{{"uri":"a:1"}}],"x":{values}}}"#);
    let mut answers = Vec::new();
    for server in &mut servers {
        let request = server.expect("resources/list").await;
        answers.push(answer(&request, &result));
    }
    let served = timed(async {
        for (server, answer) in servers.iter_mut().zip(answers) {
            server.say(answer).await;
        }
        for server in &mut servers {
            let request = server.expect("resources/templates/list").await;
            server.answer(&request, r#"{"resourceTemplates":[]}"#).await;
        }
        servers[0].expect("resources/read").await;
    });
    check(served.await.1, indexed);
}

#[tokio::test]
async fn a_large_request_is_read_elsewhere() {
    let (values, indexed) = many_values();
    let world = World::new(&["a"]);
    let client = world.stateless();
    let meta = r#"{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let params = format!(r#"{{"x":{values},"_meta":{meta},"uri":"a:1"}}"#);
    let request = message(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{params}}}"#
    ));
    let receive = Arc::clone(&client.client).receive(request, Arc::clone(&client.outlet));
    check(timed(receive).await.1, indexed);
    let mut server = world.server(0).await;
    let handshake = server.expect("server/discover").await;
    let about = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}"#;
    server.answer(&handshake, about).await;
    let came = server.expect("resources/read").await.params().unwrap();
    let came = String::from_utf8_lossy(&came);
    assert!(came.contains(r#""_meta":{"progressToken":"#) && came.ends_with(r#","uri":"a:1"}"#));
}
