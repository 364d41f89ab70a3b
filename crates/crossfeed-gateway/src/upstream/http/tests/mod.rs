mod server;
mod session;

use super::*;
use bytes::Bytes;
use server::{Part, Reply, Request, Server, accepted, json, reply, serve, stream, with};
use std::future::Future;

const LIMIT: usize = 100_000;

struct Client {
    upstream: Arc<dyn Upstream>,
    events: mpsc::Receiver<Event>,
}

async fn open(server: &Server) -> Client {
    open_at(&format!("http://{}/mcp?key=secret", server.address), &[]).await
}

async fn open_at(url: &str, headers: &[(&str, &str)]) -> Client {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mut connector = HttpConnector::new("server", url, &headers, None).unwrap();
    let (sender, events) = mpsc::channel(16);
    connector.limit = LIMIT;
    Client {
        upstream: connector.connect(sender).await.unwrap(),
        events,
    }
}

impl Client {
    async fn request(&self, id: u64, method: &str) {
        let message = Message::request(&Id::number(id), method, None);
        self.upstream.send(message, &[]).await.unwrap();
    }

    async fn notify(&self, method: &str) {
        let message = Message::notification(method, None);
        self.upstream.send(message, &[]).await.unwrap();
    }

    async fn next(&mut self) -> String {
        let event = self.events.recv().await.expect("an event");
        say(&event)
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        while let Some(event) = self.events.recv().await {
            said.push(say(&event));
        }
        said
    }
}

fn say(event: &Event) -> String {
    match event {
        Event::Message { message, related } => {
            let text = String::from_utf8_lossy(&message.to_bytes()).into_owned();
            match related {
                Some(id) => format!("{id}> {text}"),
                None => text,
            }
        }
        Event::Failed { id, error } => format!("{id} failed: {error}"),
        Event::Returned { message, .. } => format!("{} came back", message.id().unwrap()),
        Event::Closed(error) => format!("closed: {error}"),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

/// The id of a request, as its text has it.
fn id_of(request: &Request) -> u64 {
    let message = Message::parse(request.body.clone()).unwrap();
    message.id().and_then(Id::as_number).unwrap_or(0)
}

/// A session with `begin`, and whatever `then` says to the rest.
fn session(then: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> impl Fn(&Request) -> Reply {
    move |request| match request.method.as_str() {
        "POST" if request.body.contains("\"initialize\"") => {
            let text = result(id_of(request));
            let headers = format!(
                "content-type: application/json\r\nmcp-session-id: s-1\r\ncontent-length: {}",
                text.len()
            );
            with(200, &headers, &text)
        }
        _ => then(request),
    }
}

async fn begin(client: &mut Client) {
    client.request(1, "initialize").await;
    assert_eq!(client.next().await, format!("1> {}", result(1)));
    client.upstream.speak(Revision::V2025_11_25);
}

/// What one request with the id 7 is answered, and what is then said.
#[track_caller]
fn check(reply: impl Fn() -> Reply + Send + Sync + 'static, expected: &str) {
    let said = run(async {
        let server = serve(move |_| reply()).await;
        let mut client = open(&server).await;
        client.request(7, "m").await;
        client.next().await
    });
    assert_eq!(said, expected);
}

#[test]
fn an_answer_is_json_or_ends_a_stream() {
    check(
        || json(&result(7)),
        r#"7> {"jsonrpc":"2.0","id":7,"result":{}}"#,
    );
    check(
        || reply(200, "Application/JSON; charset=utf-8", &result(7)),
        r#"7> {"jsonrpc":"2.0","id":7,"result":{}}"#,
    );
    check(
        || stream(&format!("data: {}\n\n", result(7))),
        r#"7> {"jsonrpc":"2.0","id":7,"result":{}}"#,
    );
}

#[test]
fn what_is_no_answer_fails_its_request() {
    let page = || reply(200, "text/html", "<p>");
    check(
        page,
        "7 failed: the request may have run: the server sent an invalid JSON-RPC message: HTTP 200 without a message",
    );
    check(
        accepted,
        "7 failed: the request may have run: the server sent an invalid JSON-RPC message: HTTP 202 without a message",
    );
    check(
        || json("{"),
        "7 failed: the request may have run: the server sent an invalid JSON-RPC message: not valid JSON: unexpected end at byte 1",
    );
    check(
        || json("[]"),
        "7 failed: the request may have run: the server sent an invalid JSON-RPC message: a list of messages: send them one by one",
    );
    check(
        || stream("data: {\"jsonrpc\":\"2.0\",\"id\":7}\n\n"),
        "7 failed: the request may have run: the server sent an invalid JSON-RPC message: not a valid JSON-RPC 2.0 message: it is neither a request, a notification nor a response",
    );
    check(
        || stream(""),
        "7 failed: the request may have run: the server has ended: its stream ended before the answer",
    );
    check(
        || reply(500, "text/plain", "x"),
        "7 failed: the request may have run: HTTP 500",
    );
    for (status, why) in [
        (301, ": its address is another"),
        (302, ": its address is another"),
        (303, ": its address is another"),
        (400, ": no reason is given"),
        (404, ": no reason is given"),
        (408, ": no reason is given"),
        (502, ""),
        (503, ""),
        (504, ""),
    ] {
        let answered = move || reply(status, "text/plain", "x");
        check(
            answered,
            &format!("7 failed: the request may have run: HTTP {status}{why}"),
        );
    }
    check(
        || reply(429, "text/plain", "x"),
        "7 failed: the server refuses: HTTP 429: no reason is given",
    );
    check(
        || with(401, "www-authenticate: Bearer", ""),
        "7 failed: the server refuses: HTTP 401: its `headers` do not say who asks, or not rightly",
    );
    check(
        || with(302, "location: /mcp", ""),
        "7 failed: the request may have run: HTTP 302: its address is another",
    );
    check(
        || {
            vec![Part::Text(
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ncontent-type: application/json\r\n\r\n{"
                    .to_owned(),
            )]
        },
        "7 failed: the request may have run: its answer was cut off: end of file before message length reached",
    );
}

#[test]
fn an_error_of_the_server_is_passed_on_as_it_is() {
    check(
        || {
            reply(
                400,
                "application/json",
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020, "message":"m","data":1.50}}"#,
            )
        },
        r#"7> {"jsonrpc":"2.0","id":7,"error":{"code":-32020, "message":"m","data":1.50}}"#,
    );
    check(
        || {
            reply(
                500,
                "application/json",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
            )
        },
        r#"7> {"jsonrpc":"2.0","id":7,"error":{"code":1}}"#,
    );
    check(
        || {
            reply(
                400,
                "application/json",
                r#"{"jsonrpc":"2.0","id":8,"error":{"code":1}}"#,
            )
        },
        "7 failed: the request may have run: HTTP 400: no reason is given",
    );
}

#[test]
fn an_answer_beyond_the_limit_fails_its_request() {
    let failed = "7 failed: the request may have run: a message of more than 100000 bytes";
    check(
        || {
            with(
                200,
                "content-type: application/json\r\ncontent-length: 99999999999",
                "",
            )
        },
        failed,
    );
    check(
        || {
            let mut reply = with(200, "content-type: application/json", "");
            reply.push(Part::Often("x".repeat(1000), 1_000_000));
            reply
        },
        failed,
    );
    // An event without end is read no further than its request waits.
    run(async {
        let server = serve(|_| {
            let mut reply = stream("data: {\"id\":7,\"result\":\"");
            reply.push(Part::Often("x".repeat(1000), 20_000));
            reply.push(Part::Text(format!("\"}}\n\ndata: {}\n\n", note("m"))));
            reply
        })
        .await;
        let mut client = open(&server).await;
        client.request(7, "m").await;
        assert_eq!(client.next().await, failed);
        assert_eq!(client.next().await, format!("7> {}", note("m")));
    });
}

#[test]
fn a_message_beyond_the_limit_is_not_sent() {
    run(async {
        let server = serve(|_| accepted()).await;
        let client = open(&server).await;
        let params = Bytes::from(format!("\"{}\"", "x".repeat(LIMIT)));
        let message = Message::notification("m", Some(&params));
        let sent = client.upstream.send(message, &[]).await;
        assert_eq!(sent, Err(UpstreamError::TooLarge { limit: LIMIT }));
        assert!(server.requests.lock().is_empty());
    });
}

#[test]
fn what_comes_with_an_answer_comes_before_it_and_knows_its_request() {
    run(async {
        let server = serve(|request| {
            let id = id_of(request);
            let ask = r#"{"jsonrpc":"2.0","id":7,"method":"ask"}"#;
            stream(&format!(
                "event: other\ndata: {{}}\n\nid: 1\ndata: {}\n\n: x\n\ndata: {ask}\n\ndata: {}\n\ndata: {}\n\n",
                note("progress"),
                result(id),
                note("late"),
            ))
        })
        .await;
        let mut client = open(&server).await;
        client.request(7, "m").await;
        let expected = [
            note("progress"),
            r#"{"jsonrpc":"2.0","id":7,"method":"ask"}"#.into(),
            result(7),
            note("late"),
        ];
        for text in expected {
            assert_eq!(client.next().await, format!("7> {text}"));
        }
        client.upstream.close().await;
        assert_eq!(
            client.rest().await,
            ["closed: the server has ended: it was closed"]
        );
    });
}

#[test]
fn a_session_is_named_and_ended() {
    run(async {
        let server = serve(session(|request| match request.method.as_str() {
            "POST" if request.body.contains("\"id\"") => json(&result(id_of(request))),
            "GET" => with(405, "content-length: 0", ""),
            _ => accepted(),
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.notify("notifications/initialized").await;
        client.request(2, "m").await;
        client.next().await;
        client.upstream.close().await;
        assert!(
            client
                .upstream
                .send(Message::notification("m", None), &[])
                .await
                .is_err()
        );
        let mut said: Vec<_> = server
            .requests
            .lock()
            .iter()
            .map(|request| {
                assert_eq!(request.path, "/mcp?key=secret");
                let [session, revision] =
                    ["mcp-session-id", "mcp-protocol-version"].map(|name| request.header(name));
                format!(
                    "{} {session} {revision} {}",
                    request.method,
                    request.header("accept")
                )
            })
            .collect();
        said.sort();
        let either = "application/json, text/event-stream";
        assert_eq!(
            said,
            [
                "DELETE s-1 2025-11-25 */*".to_owned(),
                "GET s-1 2025-11-25 text/event-stream".to_owned(),
                format!("POST   {either}"),
                format!("POST s-1 2025-11-25 {either}"),
                format!("POST s-1 2025-11-25 {either}"),
            ]
        );
    });
}

#[test]
fn without_a_session_a_request_says_what_it_is() {
    run(async {
        let server = serve(|request| json(&result(id_of(request)))).await;
        let mut client = open(&server).await;
        let params =
            r#"{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let message = Message::request(&Id::number(1), "tools/call", Some(&Bytes::from(params)));
        let header = Header::new("Mcp-Param-X", "y");
        client.upstream.send(message, &[header]).await.unwrap();
        client.next().await;
        client.upstream.speak(Revision::V2026_07_28);
        client.notify("notifications/cancelled").await;
        client.notify("notifications/initialized").await;
        client.upstream.close().await;
        let requests = server.requests.lock().clone();
        let names = [
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-param-x",
            "mcp-session-id",
            "content-type",
        ];
        assert_eq!(
            names.map(|name| requests[0].header(name)),
            ["2026-07-28", "tools/call", "t", "y", "", "application/json"]
        );
        assert_eq!(requests[1].header("mcp-protocol-version"), "2026-07-28");
        assert_eq!(requests.len(), 2);
        assert!(
            requests.iter().all(|request| request.method == "POST"),
            "{requests:?}"
        );
    });
}

/// The server takes its time with the first message: the second waits for it.
#[test]
fn messages_are_posted_in_order() {
    run(async {
        let go = Arc::new(Notify::new());
        let wait = Arc::clone(&go);
        let server = serve(move |request| match request.number {
            0 => {
                let mut reply = vec![Part::Until(Arc::clone(&wait))];
                reply.extend(accepted());
                reply
            }
            _ => json(&result(id_of(request))),
        })
        .await;
        let mut client = open(&server).await;
        client.notify("first").await;
        for id in 1..9 {
            client.request(id, "m").await;
        }
        while server.requests.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.requests.lock().len(), 1);
        go.notify_one();
        for _ in 1..9 {
            client.next().await;
        }
    });
}

#[test]
fn a_stream_that_breaks_is_resumed_behind_its_last_event() {
    run(async {
        let server = serve(session(|request| {
            match (request.method.as_str(), request.header("last-event-id")) {
                ("POST", _) => stream(&format!(
                    "id: a\nretry: 10\ndata: \n\nid: b\ndata: {}\n\n",
                    note("one")
                )),
                ("GET", "b") => stream(&format!("id: c\ndata: {}\n\n", note("two"))),
                ("GET", "c") => stream(&format!("data: {}\n\ndata: {}\n\n", result(2), result(2))),
                _ => with(405, "content-length: 0", ""),
            }
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(2, "m").await;
        for text in [note("one"), note("two"), result(2)] {
            assert_eq!(client.next().await, format!("2> {text}"));
        }
        client.upstream.close().await;
        assert_eq!(
            client.rest().await,
            ["closed: the server has ended: it was closed"]
        );
    });
}

#[test]
fn a_stream_that_cannot_be_resumed_fails_its_request() {
    run(async {
        let server = serve(|request| match request.method.as_str() {
            "POST" => stream("id: a\nretry: 10\ndata: \n\n"),
            _ if request.body.is_empty() && request.number < 3 => reply(503, "text/plain", ""),
            _ => stream(""),
        })
        .await;
        let mut client = open(&server).await;
        client.request(2, "m").await;
        let said = client.next().await;
        assert_eq!(
            said,
            "2 failed: the request may have run: the server has ended: its stream cannot be resumed"
        );
        assert_eq!(server.requests.lock().len(), 6);
    });
}

#[test]
fn an_answer_may_come_on_any_stream_and_comes_once() {
    run(async {
        let server = serve(session(|request| {
            match (request.method.as_str(), request.header("last-event-id")) {
                ("POST", _) if request.body.contains("\"id\"") => {
                    stream("id: a\nretry: 3600000\ndata: \n\n")
                }
                ("POST", _) => accepted(),
                ("GET", "") => stream(&format!("id: g\nretry: 10\ndata: {}\n\n", note("one"))),
                ("GET", "g") => {
                    let text = format!(
                        "data: {}\n\ndata: {}\n\ndata: {}\n\n",
                        result(2),
                        result(2),
                        note("two")
                    );
                    let mut reply = stream(&text);
                    reply.push(Part::Until(Arc::default()));
                    reply
                }
                _ => accepted(),
            }
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(2, "m").await;
        client.notify("notifications/initialized").await;
        for text in [note("one"), result(2), note("two")] {
            assert_eq!(client.next().await, text);
        }
    });
}

#[test]
fn a_stream_whose_last_event_is_forgotten_goes_on_without_it() {
    run(async {
        let server = serve(session(|request| {
            match (request.method.as_str(), request.header("last-event-id")) {
                ("GET", "") if request.number < 3 => {
                    stream(&format!("id: g\nretry: 10\ndata: {}\n\n", note("one")))
                }
                ("GET", "") => {
                    let mut reply = stream(&format!("data: {}\n\n", note("two")));
                    reply.push(Part::Until(Arc::default()));
                    reply
                }
                ("GET", "g") => reply(400, "text/plain", ""),
                _ => accepted(),
            }
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.notify("notifications/initialized").await;
        for text in [note("one"), note("two")] {
            let next = timeout(Duration::from_secs(10), client.next()).await;
            assert_eq!(next.unwrap(), text);
        }
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_dropped_with_its_stream() {
    run(async {
        let gone = Arc::new(Notify::new());
        let said = Arc::clone(&gone);
        let server = serve(move |request| match id_of(request) {
            1 => {
                let mut reply = stream(&format!("data: {}\n\n", note("one")));
                reply.push(Part::UntilGone(Arc::clone(&said)));
                reply
            }
            id => json(&result(id)),
        })
        .await;
        let mut client = open(&server).await;
        client.request(1, "m").await;
        assert_eq!(client.next().await, format!("1> {}", note("one")));
        client.upstream.abandon(&Id::number(1)).await;
        gone.notified().await;
        // One that was not posted yet never is.
        client.request(2, "m").await;
        client.upstream.abandon(&Id::number(2)).await;
        client.request(3, "m").await;
        assert_eq!(client.next().await, format!("3> {}", result(3)));
        assert_eq!(server.requests.lock().len(), 2);
    });
}

#[test]
fn redirections_are_followed_at_home_and_secrets_stay_there() {
    run(async {
        let elsewhere = serve(|_| json(&result(1))).await;
        let place = elsewhere.address;
        let server = serve(move |request| match request.path.as_str() {
            "/a" => with(308, "location: /b?key=2", ""),
            "/b?key=2" => json(&result(id_of(request))),
            "/circle" => with(307, "location: /circle", ""),
            _ => with(307, &format!("location: http://{place}/"), ""),
        })
        .await;
        for (path, expected) in [
            ("a", r#"1> {"jsonrpc":"2.0","id":1,"result":{}}"#),
            (
                "circle",
                "1 failed: the server refuses: HTTP 307: its address is another",
            ),
            (
                "away",
                "1 failed: the server refuses: HTTP 307: its address is another",
            ),
        ] {
            let url = format!("http://{}/{path}", server.address);
            let mut client = open_at(&url, &[("Authorization", "Bearer secret")]).await;
            client.request(1, "m").await;
            assert_eq!(client.next().await, expected);
        }
        let requests = server.requests.lock().clone();
        assert!(
            requests
                .iter()
                .all(|request| request.header("authorization") == "Bearer secret")
        );
        assert!(elsewhere.requests.lock().is_empty());
    });
}

#[test]
fn what_cannot_be_reached_says_why_without_secrets() {
    run(async {
        // A port that nobody listens on any more.
        let address = serve(|_| accepted()).await.address;
        let url = format!("http://user:secret@{address}/secret?key=secret");
        let mut client = open_at(&url, &[("X-Key", "secret")]).await;
        client.request(1, "m").await;
        let said = client.next().await;
        assert_eq!(
            said,
            "1 failed: the server cannot be reached: Connection refused (os error 111)"
        );
    });
    let header = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    for (url, headers, reason) in [
        (
            "secret",
            BTreeMap::new(),
            "its `url` is not valid: relative URL without a base",
        ),
        (
            "file:///secret",
            BTreeMap::new(),
            "its `url` is neither http nor https",
        ),
        (
            "http://a",
            header("a b", "x"),
            "the header `a b` has an invalid name",
        ),
        (
            "http://a",
            header("host", "x"),
            "the header `host` is set by the gateway",
        ),
        (
            "http://a",
            header("x", "secret\n"),
            "the header `x` has an invalid value",
        ),
    ] {
        let error = HttpConnector::new("server", url, &headers, None).err();
        let reason = reason.to_owned();
        assert_eq!(error, Some(UpstreamError::Unreachable(reason)));
    }
}

/// A hundred requests at once, answered in an order of the server's own.
#[test]
fn many_requests_have_their_own_answers() {
    run(async {
        let go = Arc::new(Notify::new());
        let wait = Arc::clone(&go);
        let server = serve(move |request| {
            let id = id_of(request);
            let mut reply = Vec::new();
            if id.is_multiple_of(2) {
                reply.push(Part::Until(Arc::clone(&wait)));
            }
            reply.extend(json(&result(id)));
            reply
        })
        .await;
        let mut client = open(&server).await;
        for id in 0..50 {
            client.request(id, "m").await;
        }
        let mut said = Vec::new();
        for _ in 0..25 {
            said.push(client.next().await);
        }
        while server.requests.lock().len() < 50 {
            tokio::task::yield_now().await;
        }
        for _ in 0..25 {
            go.notify_one();
            said.push(client.next().await);
        }
        said.sort();
        let mut expected: Vec<_> = (0..50).map(|id| format!("{id}> {}", result(id))).collect();
        expected.sort();
        assert_eq!(said, expected);
    });
}

#[test]
fn a_server_that_takes_no_answers_holds_few_of_them() {
    run(async {
        let wrong = "data: {\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}\n\n".repeat(500);
        let server = serve(move |request| {
            if request.body.contains("\"m\"") {
                return stream(&format!("{wrong}data: {}\n\n", result(7)));
            }
            vec![Part::Until(Arc::default())]
        })
        .await;
        let mut client = open(&server).await;
        client.request(7, "m").await;
        assert_eq!(client.next().await, format!("7> {}", result(7)));
        client.upstream.close().await;
        let seen = server.requests.lock().len();
        assert!(seen <= 1 + 16, "{seen}");
    });
}

#[test]
fn what_waits_at_the_end_has_its_time_in_all() {
    run(async {
        let server = serve(session(|request| match request.method.as_str() {
            "POST" => vec![Part::Until(Arc::default())],
            _ => accepted(),
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        for _ in 0..30 {
            client.notify("n").await;
        }
        client.upstream.close().await;
        let requests = server.requests.lock();
        let told = requests
            .iter()
            .filter(|request| request.body.contains("\"n\""));
        let told = told.count();
        assert!(told <= 3, "{told} of them had their two seconds each");
        assert_eq!(requests.last().unwrap().method, "DELETE");
    });
}

#[test]
fn an_event_with_an_odd_id_is_resumed_behind() {
    run(async {
        let server = serve(|request| {
            if request.method == "GET" {
                return stream(&format!("data: {}\n\n", result(7)));
            }
            stream("id: \u{e9}\nretry: 10\ndata: \n\n")
        })
        .await;
        let mut client = open(&server).await;
        client.request(7, "m").await;
        assert_eq!(client.next().await, format!("7> {}", result(7)));
        let requests = server.requests.lock();
        assert_eq!(requests[1].header("last-event-id"), "\u{e9}");
    });
}

/// A server that reads one request on each connection, answers it or not, and then goes on so. It says how
/// many requests it has read.
async fn cuts(answers: &'static [bool]) -> (std::net::SocketAddr, Arc<Mutex<usize>>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let read = Arc::new(Mutex::new(0));
    let count = Arc::clone(&read);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                for answers in answers {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.ok()?);
                    }
                    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let length = length.lines().next().unwrap().parse().unwrap();
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).await.ok()?;
                    *count.lock() += 1;
                    if *answers {
                        let text = String::from_utf8(body).unwrap();
                        let message = Message::parse(text).unwrap();
                        let text = result(message.id().unwrap().as_number().unwrap());
                        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
                        let length = text.len();
                        let answer = format!("{head}\r\ncontent-length: {length}\r\n\r\n{text}");
                        stream.write_all(answer.as_bytes()).await.ok()?;
                    }
                }
                Some(())
            });
        }
    });
    (address, read)
}

#[test]
fn a_request_whose_connection_is_cut_is_sent_once_and_may_have_run() {
    for answers in [&[false][..], &[true, false]] {
        run(async {
            let (address, read) = cuts(answers).await;
            let mut client = open_at(&format!("http://{address}/"), &[]).await;
            for (id, is_answered) in (1..).zip(answers) {
                client.request(id, "tools/call").await;
                let said = client.next().await;
                if *is_answered {
                    assert_eq!(said, format!("{id}> {}", result(id)));
                } else {
                    let lost = format!("{id} failed: the request may have run: ");
                    assert!(said.starts_with(&lost), "{said}");
                }
            }
            assert_eq!(*read.lock(), answers.len());
        });
    }
}

#[test]
fn a_response_that_is_cut_at_any_byte_is_no_answer_and_is_not_asked_for_again() {
    let body = |id| result(id);
    let whole = move |id: u64, is_stream: bool| {
        let (kind, body) = if is_stream {
            let events = format!("data: {}\n\ndata: {}\n\n", note("n"), body(id));
            ("text/event-stream\r\nconnection: close".to_owned(), events)
        } else {
            let length = body(id).len();
            let kind = format!("application/json\r\ncontent-length: {length}");
            (kind, body(id))
        };
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n{body}")
    };
    for is_stream in [false, true] {
        run(async {
            // The id of a request says where its answer is cut. It has three digits.
            let server = serve(move |request| {
                let id = id_of(request);
                let text = whole(id, is_stream);
                let end = usize::try_from(id - 100).unwrap();
                vec![Part::Text(text[..end].to_owned())]
            })
            .await;
            let mut client = open(&server).await;
            let length = u64::try_from(whole(100, is_stream).len()).unwrap();
            for id in 100..=100 + length {
                client.request(id, "tools/call").await;
                let mut said = client.next().await;
                let said_before = format!("{id}> {}", note("n"));
                if said == said_before {
                    said = client.next().await;
                }
                if id == 100 + length {
                    assert_eq!(said, format!("{id}> {}", result(id)));
                } else {
                    let lost = format!("{id} failed: the request may have run: ");
                    assert!(said.starts_with(&lost), "{} of {length}: {said}", id - 100);
                }
            }
            let asked = server.requests.lock();
            assert_eq!(asked.len() as u64, length + 1);
        });
    }
}

/// The processor time of the thread that serves others while a client gets an answer with this result.
fn served(result: &str, is_event: bool) -> Duration {
    let mut text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    let bytes = text.len();
    let mut reply: fn(&str) -> Reply = json;
    if is_event {
        text = format!("data: {text}\n\n");
        reply = stream;
    }
    let (sender, served) = std::sync::mpsc::channel();
    run(async move {
        let server = serve(move |_| reply(&text)).await;
        let url = format!("http://{}/mcp", server.address);
        let mut connector = HttpConnector::new("server", &url, &Default::default(), None).unwrap();
        let (events_in, mut events) = mpsc::channel(16);
        connector.limit = 2 * bytes;
        let upstream = connector.connect(events_in).await.unwrap();
        let message = Message::request(&Id::number(7), "m", None);
        let work = async {
            upstream.send(message, &[]).await.unwrap();
            events.recv().await
        };
        let (event, served) = crate::apart::timed(work).await;
        assert!(matches!(event, Some(Event::Message { .. })));
        sender.send(served).unwrap();
    });
    served.recv().unwrap()
}

#[test]
fn large_answers_are_read_off_the_threads_that_serve_others() {
    let (values, indexed) = crate::apart::many_values();
    // As many bytes, which take as long to come and no time to index.
    let one = format!("\"{}\"", "a".repeat(values.len() - 2));
    for is_event in [false, true] {
        let [one, many] = [&one, &values].map(|result| served(result, is_event));
        assert!(many < one + indexed / 2, "{many:?}, {one:?}, {indexed:?}");
    }
}
