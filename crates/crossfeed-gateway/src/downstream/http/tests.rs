use super::{
    stream::{EventId, Events, ReadFrom, Stream},
    *,
};
use crate::{
    config::{Rate, TokenConfig},
    downstream::fake::FakeHub,
    message::{Id, Message},
    port::MessageSink,
};
use crossfeed_store::StoreError;
use hyper::body::Body;
use proptest::prelude::*;
use std::{net::SocketAddr, sync::atomic::Ordering};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

mod peers;
mod places;

const LIMIT: usize = 2000;

/// A gateway that serves until it is dropped, or told to stop.
struct Served {
    hub: Arc<FakeHub>,
    http: Arc<Http>,
    address: SocketAddr,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

async fn served_with(change: impl FnOnce(&mut ListenConfig, &mut Limits)) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut listen = ListenConfig::new(address);
    listen.anonymous = true;
    let mut limits = Limits {
        message_bytes: LIMIT,
        ..Limits::default()
    };
    change(&mut listen, &mut limits);
    let budget = Budget::new(
        limits.held_bytes(),
        limits.message_bytes,
        listen.tokens.len(),
        &Metrics::new(),
    );
    let hub = Arc::new(FakeHub::within(budget));
    let http = Http::new(hub.clone(), &listen, &limits, Metrics::new());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(Arc::clone(&http).serve(listener, async {
        let _ = stopped.await;
    }));
    Served {
        hub,
        http,
        address,
        stop,
        task,
    }
}

async fn served() -> Served {
    served_with(|_, _| {}).await
}

/// A connection on which something was asked.
struct Asked {
    socket: TcpStream,
    text: String,
}

impl Asked {
    /// Reads until that is there.
    async fn until(&mut self, part: &str) -> &str {
        let mut buffer = [0; 1024];
        while !self.text.contains(part) {
            let length = self.socket.read(&mut buffer).await.unwrap();
            assert!(length > 0, "{part} is not in {}", self.text);
            self.text += std::str::from_utf8(&buffer[..length]).unwrap();
        }
        &self.text
    }

    async fn end(mut self) -> String {
        self.socket.read_to_string(&mut self.text).await.unwrap();
        self.text
    }
}

impl Served {
    /// Sends a request: its first line, more headers, its body.
    async fn ask(&self, line: &str, headers: &str, body: &str) -> Asked {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let mut text = format!(
            "{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ] {
            if !headers
                .split('|')
                .any(|header| header.starts_with(&format!("{name}:")))
            {
                text += &format!("{name}: {value}\r\n");
            }
        }
        text += &headers
            .split('|')
            .filter(|header| !header.is_empty())
            .map(|header| format!("{header}\r\n"))
            .collect::<String>();
        text += "\r\n";
        text += body;
        socket.write_all(text.as_bytes()).await.unwrap();
        Asked {
            socket,
            text: String::new(),
        }
    }

    async fn post(&self, headers: &str, body: &str) -> Asked {
        self.ask("POST /mcp", headers, body).await
    }

    /// Begins a session.
    async fn session(&self, headers: &str) -> String {
        let answer = self
            .post(headers, &request(0, "initialize"))
            .await
            .end()
            .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let (_, id) = answer.split_once("mcp-session-id: ").unwrap();
        format!("mcp-session-id: {}", id.split_once('\r').unwrap().0)
    }

    async fn check(&self, line: &str, headers: &str, body: &str, status: u16, part: &str) {
        let answer = self.ask(line, headers, body).await.end().await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{line} {headers} {body}: {answer}"
        );
        assert!(answer.contains(part), "{line} {headers} {body}: {answer}");
    }
}

fn request(id: usize, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"n": {id}}}}}"#)
}

fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

#[tokio::test]
async fn a_session_that_cannot_be_looked_up_is_not_said_to_be_gone() {
    let served = served().await;
    let unavailable = |retry| StoreError::Unavailable {
        source: "a secret".into(),
        retry,
    };
    let newer = StoreError::Newer { found: 2, known: 1 };
    let full = StoreError::NoSpace {
        source: "a secret".into(),
    };
    for (fault, status, part) in [
        (unavailable(true), 503, "does not answer"),
        (full, 503, "is full"),
        (unavailable(false), 500, "the store cannot answer"),
        (newer, 500, "format 2"),
    ] {
        *served.hub.fault.lock() = Some(fault);
        let asked = served.post("mcp-session-id: x", &request(1, "x")).await;
        let answer = asked.end().await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert!(
            answer.contains(part) && answer.contains("store.unavailable"),
            "{answer}"
        );
        assert_eq!(answer.contains("retry-after"), status == 503, "{answer}");
        assert!(!answer.contains("secret"), "{answer}");
    }
}

#[tokio::test]
async fn a_session_begins_is_used_and_ends() {
    let served = served().await;
    let session = served.session("").await;
    served
        .check(
            "POST /mcp",
            &session,
            &note("notifications/initialized"),
            202,
            "",
        )
        .await;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"n": 1}}"#;
    served
        .check("POST /mcp", &session, &request(1, "x"), 200, answer)
        .await;
    served
        .check(
            "POST /mcp",
            "",
            &request(1, "x"),
            400,
            "Mcp-Session-Id is missing",
        )
        .await;
    served
        .check(
            "POST /mcp",
            "mcp-session-id: x",
            &request(1, "x"),
            404,
            "no such session",
        )
        .await;
    served
        .check("GET /mcp", "", "", 400, "Mcp-Session-Id is missing")
        .await;
    served
        .check("DELETE /mcp", "", "", 400, "Mcp-Session-Id is missing")
        .await;
    let client = served.hub.client(0);
    assert_eq!(client.came().len(), 3);
    assert!(!client.is_closed());
    served.check("DELETE /mcp", &session, "", 204, "").await;
    assert!(client.is_closed());
    served
        .check(
            "POST /mcp",
            &session,
            &request(1, "x"),
            404,
            "no such session",
        )
        .await;
    served.check("DELETE /mcp", &session, "", 404, "").await;
    let other = served.session("").await;
    assert_ne!(session, other);
}

#[tokio::test]
async fn an_end_that_cannot_be_kept_is_not_acknowledged() {
    let served = served().await;
    let session = served.session("").await;
    let client = served.hub.client(0);
    served.hub.is_away.store(true, Ordering::Release);
    let says = r#""code":"store.unavailable""#;
    served.check("DELETE /mcp", &session, "", 503, says).await;
    assert!(!client.is_closed());
    served
        .check("POST /mcp", &session, &request(1, "x"), 200, "")
        .await;
    served.hub.is_away.store(false, Ordering::Release);
    // One that another process has is looked up there.
    client.has_moved.store(true, Ordering::Release);
    served.check("DELETE /mcp", &session, "", 404, "").await;
    let session = served.session("").await;
    served.check("DELETE /mcp", &session, "", 204, "").await;
}

#[tokio::test]
async fn what_is_no_message_of_the_protocol_is_refused() {
    let served = served_with(|listen, _| {
        listen.origins = vec!["http://localhost:5".to_owned()];
    })
    .await;
    let session = served.session("").await;
    let call = request(1, "x");
    let check = async |line: &str, headers: &str, body: &str, status: u16, part: &str| {
        let headers = format!("{session}|{headers}");
        served.check(line, &headers, body, status, part).await;
    };
    check(
        "POST /mcp",
        "",
        "{",
        400,
        r#""id":null,"error":{"code":-32700"#,
    )
    .await;
    check("POST /mcp", "", "[]", 400, r#""code":-32600"#).await;
    check("POST /mcp", "", r#"{"id":"a"}"#, 400, r#""id":"a""#).await;
    check(
        "POST /mcp",
        "content-type: text/plain",
        &call,
        415,
        "-32600",
    )
    .await;
    check("POST /mcp", "accept: text/html", &call, 406, "-32600").await;
    check(
        "POST /mcp",
        "accept: application/json",
        &call,
        406,
        "-32600",
    )
    .await;
    check(
        "POST /mcp",
        "accept: text/event-stream",
        &call,
        200,
        "data: {",
    )
    .await;
    check("POST /mcp", "accept: */*", &call, 200, "application/json").await;
    check(
        "POST /mcp",
        "content-type: Application/JSON; charset=utf-8",
        &call,
        200,
        "",
    )
    .await;
    check("GET /mcp", "accept: application/json", "", 406, "-32600").await;
    check("GET /mcp", "last-event-id: x", "", 400, "no such event").await;
    check("GET /mcp", "last-event-id: 9-1", "", 400, "no such event").await;
    check("PUT /mcp", "", "", 405, "allow: GET, POST, DELETE").await;
    check("GET /other", "", "", 404, "").await;
    let long = format!("[\"{}\"]", "x".repeat(LIMIT));
    check(
        "POST /mcp",
        "",
        &long,
        413,
        r#""code":"limit.exceeded","limit":2000"#,
    )
    .await;
    check("POST /mcp", "host: evil.example", &call, 403, "").await;
    check("GET /healthz", "origin: http://evil.example", "", 403, "").await;
    for origin in ["http://localhost:3000", "ftp://localhost", "null"] {
        check("POST /mcp", &format!("origin: {origin}"), &call, 403, "").await;
    }
    let own = format!("origin: http://{}", served.address);
    check("POST /mcp", &own, &call, 200, "").await;
    check(
        "POST /mcp",
        "origin: http://localhost:5",
        &call,
        200,
        "access-control-allow-origin: http://localhost:5",
    )
    .await;
    check(
        "OPTIONS /mcp",
        "origin: http://localhost:5",
        "",
        204,
        "access-control-allow-methods",
    )
    .await;
    check(
        "OPTIONS /mcp",
        "origin: http://localhost:5|access-control-request-headers: content-type,Mcp-Param-Region, x-other,mcp-param-a b",
        "",
        204,
        "mcp-session-id, mcp-method, mcp-name, mcp-param-region\r\n",
    )
    .await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_though_nobody_said_how_long_it_is() {
    let served = served().await;
    let mut socket = TcpStream::connect(served.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{}\r\n", 1500, "x".repeat(1500));
    for text in [head, &chunk, &chunk] {
        socket.write_all(text.as_bytes()).await.unwrap();
    }
    let mut asked = Asked {
        socket,
        text: String::new(),
    };
    assert!(
        asked
            .until("limit.exceeded")
            .await
            .starts_with("HTTP/1.1 413")
    );
}

#[tokio::test]
async fn a_body_that_says_that_it_is_too_long_is_refused_before_it_comes() {
    let served = served().await;
    let mut socket = TcpStream::connect(served.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut asked = Asked {
        socket,
        text: String::new(),
    };
    let answer = asked.until("limit.exceeded").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_request_that_is_cut_at_any_byte_reaches_no_server() {
    let served = served().await;
    let session = served.session("").await;
    let body = request(1, "x");
    let length = body.len();
    let whole = format!(
        "POST /mcp HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\n{session}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let came = || served.hub.client(0).came().len();
    let before = came();
    for end in 0..=whole.len() {
        let mut socket = TcpStream::connect(served.address).await.unwrap();
        socket.write_all(&whole.as_bytes()[..end]).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = String::new();
        // Where the gateway closes first, the rest of what was sent may reset the connection.
        let _ = socket.read_to_string(&mut answer).await;
        if end == whole.len() {
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert_eq!(came(), before + 1);
        } else {
            assert!(!answer.starts_with("HTTP/1.1 2"), "{end}: {answer}");
            assert_eq!(came(), before, "{end}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_takes_long_is_a_stream_that_can_be_resumed() {
    let served = served().await;
    let session = served.session("").await;
    let mut first = served.post(&session, &request(1, "hold")).await;
    first.until("id: 2--MQ\nretry: 1000\ndata: \n\n").await;
    // The connection breaks; the call runs on.
    drop(first);
    assert_eq!(served.hub.held(), 1);
    served.hub.release().await;
    assert_eq!(served.hub.client(0).given_up.lock().len(), 0);
    for last in ["2--MQ", "2-"] {
        let headers = format!("{session}|last-event-id: {last}");
        let resumed = served.ask("GET /mcp", &headers, "").await.end().await;
        assert!(
            resumed.contains(
                "id: 2-0-MQ\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"released\"}\n\n"
            ),
            "{resumed}"
        );
    }
    let headers = format!("{session}|last-event-id: 2-0-MQ");
    let resumed = served.ask("GET /mcp", &headers, "").await.end().await;
    assert!(!resumed.contains("data:"), "{resumed}");
}

#[tokio::test]
async fn what_comes_before_an_answer_comes_first() {
    let served = served().await;
    let session = served.session("").await;
    let answer = served
        .post(&session, &request(1, "notify"))
        .await
        .end()
        .await;
    let places = [
        "content-type: text/event-stream",
        "id: 2--MQ\n",
        "id: 2-0-MQ\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n",
        "id: 2-1-MQ\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,",
    ];
    let found: Vec<_> = places.iter().map(|part| answer.find(part)).collect();
    assert!(
        found.iter().all(Option::is_some) && found.is_sorted(),
        "{answer}"
    );
}

#[tokio::test]
async fn what_belongs_to_no_request_goes_to_the_stream_of_the_session() {
    let served = served().await;
    let session = served.session("").await;
    // Before there is a stream.
    served
        .check("POST /mcp", &session, &request(1, "ask"), 200, "result")
        .await;
    let mut stream = served.ask("GET /mcp", &session, "").await;
    let ping = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n";
    stream.until(&format!("id: 0-0\n{ping}")).await;
    served
        .check("POST /mcp", &session, &request(2, "ask"), 200, "result")
        .await;
    stream.until(&format!("id: 0-1\n{ping}")).await;
    // A later one takes over, and gets again what it did not get.
    let headers = format!("{session}|last-event-id: 0-0");
    let mut later = served.ask("GET /mcp", &headers, "").await;
    later.until(&format!("id: 0-1\n{ping}")).await;
    stream.end().await;
    served.check("DELETE /mcp", &session, "", 204, "").await;
    later.end().await;
}

#[tokio::test]
async fn sessions_are_their_owners_alone() {
    let served = served_with(|listen, _| {
        listen.tokens = vec![TokenConfig::new("ada", "a"), TokenConfig::new("bob", "b")];
    })
    .await;
    let (ada, bob) = ("authorization: Bearer a", "authorization: Bearer b");
    served
        .check(
            "POST /mcp",
            "",
            &request(1, "initialize"),
            401,
            "www-authenticate: Bearer",
        )
        .await;
    served.check("GET /metrics", "", "", 401, "").await;
    let session = served.session(ada).await;
    assert_eq!(
        served.hub.client(0).principal,
        Principal::Named("ada".to_owned())
    );
    served
        .check(
            "POST /mcp",
            &format!("{session}|{ada}"),
            &request(1, "x"),
            200,
            "",
        )
        .await;
    for line in ["POST /mcp", "GET /mcp", "DELETE /mcp"] {
        served
            .check(
                line,
                &format!("{session}|{bob}"),
                &request(1, "x"),
                404,
                "no such session",
            )
            .await;
        served
            .check(line, &session, &request(1, "x"), 401, "")
            .await;
    }
    served
        .check("GET /healthz", "", "", 200, "\r\n\r\n{\"status\":\"ok\"}")
        .await;
    served
        .check(
            "GET /healthz",
            ada,
            "",
            200,
            r#"{"status":"ok","servers":[]}"#,
        )
        .await;
    served
        .check("GET /metrics", ada, "", 200, "crossfeed_sessions 1\n")
        .await;
}

#[tokio::test]
async fn a_holder_sends_no_more_than_its_rate() {
    let served = served_with(|listen, _| {
        let mut ada = TokenConfig::new("ada", "a");
        ada.rate = Some(Rate {
            requests: std::num::NonZeroU32::new(2).unwrap(),
            per: Duration::from_secs(86_400),
        });
        listen.tokens = vec![ada, TokenConfig::new("bob", "b")];
    })
    .await;
    let (ada, bob) = ("authorization: Bearer a", "authorization: Bearer b");
    let session = served.session(ada).await;
    let headers = format!("{session}|{ada}");
    let ask = async |headers: &str, status: u16, part: &str| {
        served
            .check("POST /mcp", headers, &request(1, "x"), status, part)
            .await;
    };
    ask(&headers, 200, "").await;
    ask(&headers, 429, "retry-after: 432").await;
    ask(&headers, 429, r#""code":"limit.exceeded","limit":2"#).await;
    ask(ada, 429, "").await;
    // What is not a request is not counted, and others have their own.
    served.check("DELETE /mcp", &headers, "", 204, "").await;
    served.session(bob).await;
    served.check("POST /mcp", "", "", 401, "").await;
    for count in [
        "crossfeed_client_refused_total{status=\"429\"} 3\n",
        "crossfeed_client_refused_total{status=\"401\"} 1\n",
    ] {
        served.check("GET /metrics", bob, "", 200, count).await;
    }
}

#[tokio::test]
async fn a_holder_of_some_servers_sees_no_metrics() {
    let served = served_with(|listen, _| {
        let mut ada = TokenConfig::new("ada", "a");
        ada.servers = vec!["files".to_owned()];
        listen.tokens = vec![ada];
    })
    .await;
    let ada = "authorization: Bearer a";
    served.check("GET /metrics", ada, "", 403, "").await;
    served.check("GET /healthz", ada, "", 200, "servers").await;
}

#[tokio::test]
async fn a_session_that_does_not_begin_is_none() {
    let served = served().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"fails":true}}"#;
    for accept in ["", "accept: text/event-stream"] {
        let answer = served.post(accept, body).await.end().await;
        assert!(answer.contains("it fails"), "{answer}");
        assert!(!answer.contains("mcp-session-id"), "{answer}");
    }
    // Also if it says so on a stream, whose head has said the session's id by then.
    let late = body.replace("true", "\"late\"");
    let answer = served.post("", &late).await.end().await;
    assert!(answer.contains("it fails"), "{answer}");
    let (_, id) = answer.split_once("mcp-session-id: ").unwrap();
    let session = format!("mcp-session-id: {}", id.split_once('\r').unwrap().0);
    served
        .check("POST /mcp", &session, &request(1, "x"), 404, "")
        .await;
    let closed = |hub: &FakeHub| (0..3).all(|number| hub.client(number).is_closed());
    served.hub.until(closed).await;
}

#[tokio::test]
async fn a_session_whose_id_nobody_will_know_is_none() {
    let served = served().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"holds":true}}"#;
    let asked = served.post("", body).await;
    served.hub.until(|hub| hub.held() == 1).await;
    drop(asked);
    let closed = served.hub.until(|hub| hub.client(0).is_closed());
    timeout(Duration::from_secs(5), closed).await.unwrap();
}

#[tokio::test]
async fn there_are_no_more_sessions_than_there_may_be() {
    let served = served_with(|_, limits| limits.sessions = 2).await;
    let idle = served.session("").await;
    let first = served.session("").await;
    // The one that was idle for longest makes room.
    let second = served.session("").await;
    served
        .check("POST /mcp", &idle, &request(1, "m"), 404, "")
        .await;
    let mut first_call = served.post(&first, &request(1, "hold")).await;
    first_call.until("retry").await;
    let mut second_call = served.post(&second, &request(1, "hold")).await;
    second_call.until("retry").await;
    served
        .check(
            "POST /mcp",
            "",
            &request(1, "initialize"),
            503,
            "limit.exceeded",
        )
        .await;
    served.check("DELETE /mcp", &first, "", 204, "").await;
    served.session("").await;
}

#[tokio::test(start_paused = true)]
async fn sessions_that_nobody_uses_end() {
    let hub = Arc::new(FakeHub::default());
    let sessions = Sessions::new(10, 0);
    let idle = Duration::from_secs(100);
    let begin = || {
        let begun = sessions.begin(hub.clone(), &Principal::Anonymous);
        Arc::clone(&begun.unwrap())
    };
    let (unused, read, busy) = (begin(), begin(), begin());
    let (standalone, _) = read.resume(None).await.unwrap();
    let events = standalone.events(ReadFrom::Unread, false);
    let running = sessions.find(&busy.id, &Principal::Anonymous).unwrap();
    tokio::time::sleep(Duration::from_secs(99)).await;
    sessions.sweep(idle).await;
    assert_eq!(sessions.count(), 3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    sessions.sweep(idle).await;
    assert!(sessions.find(&unused.id, &Principal::Anonymous).is_none());
    assert_eq!(sessions.count(), 2);
    drop((events, running));
    tokio::time::sleep(Duration::from_secs(100)).await;
    sessions.sweep(idle).await;
    assert_eq!(sessions.count(), 0);
    hub.until(|hub| (0..3).all(|number| hub.client(number).is_closed()))
        .await;
}

#[tokio::test]
async fn calls_that_run_may_finish() {
    let served = served().await;
    let session = served.session("").await;
    let mut call = served.post(&session, &request(1, "hold")).await;
    call.until("retry").await;
    served.stop.send(()).unwrap();
    assert!(!served.hub.client(0).is_closed());
    served.hub.release().await;
    call.until("released").await;
    served.task.await.unwrap();
    assert!(served.hub.client(0).is_closed());
    assert!(TcpStream::connect(served.address).await.is_err());
}

const VERSION_2026: &str = "mcp-protocol-version: 2026-07-28";

fn stateless(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

#[tokio::test]
async fn without_sessions_headers_must_say_what_the_message_says() {
    let served = served().await;
    let check = async |headers: &str, body: &str, status: u16, part: &str| {
        served.check("POST /mcp", headers, body, status, part).await;
    };
    let list = stateless("tools/list", "");
    let headers = |more: &str| format!("{VERSION_2026}|{more}");
    let mismatch = r#""id":1,"error":{"code":-32020"#;
    check(
        &headers("mcp-method: tools/list"),
        &list,
        200,
        r#""result":{"_meta""#,
    )
    .await;
    check(&headers("MCP-METHOD:  tools/list "), &list, 200, "result").await;
    check(&headers("mcp-method: TOOLS/LIST"), &list, 400, mismatch).await;
    check(&headers("mcp-method: prompts/list"), &list, 400, mismatch).await;
    check(
        &headers("mcp-method: tools/list|mcp-method: tools/list"),
        &list,
        400,
        mismatch,
    )
    .await;
    check(VERSION_2026, &list, 400, mismatch).await;
    check("mcp-method: tools/list", &list, 400, mismatch).await;
    let meta = r#""id":1,"error":{"code":-32602"#;
    check(&headers("mcp-method: x"), &request(1, "x"), 400, meta).await;
    check("", &request(1, "server/discover"), 400, meta).await;
    // Another version than is spoken, and than the header says.
    let other = list.replace("2026-07-28", "2999-01-01");
    check(&headers("mcp-method: tools/list"), &other, 400, mismatch).await;
    let unsupported = r#""code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2999-01-01"}"#;
    check(
        "mcp-protocol-version: 2999-01-01|mcp-method: tools/list",
        &other,
        400,
        unsupported,
    )
    .await;
    // Names.
    let call = stateless("tools/call", r#""name":"Hello","#);
    let named = |name: &str| headers(&format!("mcp-method: tools/call{name}"));
    check(&named("|mcp-name:   Hello "), &call, 200, "result").await;
    check(
        &named("|mcp-name: =?base64?SGVsbG8=?="),
        &call,
        200,
        "result",
    )
    .await;
    check(&named("|mcp-name: hello"), &call, 400, mismatch).await;
    check(
        &named("|mcp-name: =?base64?SGVsbG8?="),
        &call,
        400,
        mismatch,
    )
    .await;
    check(
        &named("|mcp-name: =?base64?SGVs!!!bG8=?="),
        &call,
        400,
        mismatch,
    )
    .await;
    check(&named(""), &call, 400, mismatch).await;
    let read = stateless("resources/read", r#""uri":"a://b","#);
    check(
        &headers("mcp-method: resources/read|mcp-name: a://b"),
        &read,
        200,
        "result",
    )
    .await;
    check(&headers("mcp-method: resources/read"), &read, 400, mismatch).await;
    // Parameters that the tool's schema wants as headers: `Hello` here.
    let call = stateless(
        "tools/call",
        r#""name":"t","arguments":{"region":"Hello"},"#,
    );
    let named = |name: &str| headers(&format!("mcp-method: tools/call|mcp-name: t{name}"));
    check(&named("|mcp-param-region: Hello"), &call, 200, "result").await;
    check(
        &named("|mcp-param-region: =?base64?SGVsbG8=?="),
        &call,
        200,
        "result",
    )
    .await;
    check(&named("|mcp-param-region: SGVsbG8="), &call, 400, mismatch).await;
    check(&named(""), &call, 400, mismatch).await;
    // Methods that are unknown.
    served.check("GET /mcp", VERSION_2026, "", 405, "").await;
    check(
        &headers("mcp-method: notifications/x"),
        &note("notifications/x"),
        202,
        "",
    )
    .await;
    // Nobody asked for an answer: in this revision servers ask by results.
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let refused = "in `inputResponses` of its next request";
    check(VERSION_2026, answer, 400, refused).await;
}

#[tokio::test]
async fn without_sessions_a_client_that_leaves_cancels() {
    let served = served().await;
    let headers = format!("{VERSION_2026}|mcp-method: hold");
    let call = served.post(&headers, &stateless("hold", "")).await;
    served.hub.until(|hub| hub.held() == 1).await;
    drop(call);
    served
        .hub
        .until(|hub| {
            let client = hub.client(0);
            let given_up = client.given_up.lock();
            *given_up == [Id::number(1)]
        })
        .await;
    // Answered, nothing is left to cancel.
    let headers = format!("{VERSION_2026}|mcp-method: notify");
    let answer = served
        .post(&headers, &stateless("notify", ""))
        .await
        .end()
        .await;
    assert!(
        answer.contains("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"),
        "{answer}"
    );
    assert!(
        answer.contains("result") && !answer.contains("id: "),
        "{answer}"
    );
    assert_eq!(served.hub.client(1).given_up.lock().len(), 0);
}

#[tokio::test]
async fn what_is_given_up_while_it_is_handed_over_is_given_up_behind() {
    let served = served().await;
    let headers = format!("{VERSION_2026}|mcp-method: late");
    let call = served.post(&headers, &stateless("late", "")).await;
    let came = |hub: &FakeHub| {
        let clients = hub.clients.lock();
        clients
            .first()
            .is_some_and(|client| !client.came().is_empty())
    };
    served.hub.until(came).await;
    drop(call);
    let given_up = |hub: &FakeHub| !hub.client(0).given_up.lock().is_empty();
    served.hub.until(given_up).await;
    assert_eq!(served.hub.held(), 1);
}

#[tokio::test]
async fn nobody_waits_for_the_end_of_a_subscription() {
    let served = served().await;
    let headers = format!("{VERSION_2026}|mcp-method: subscriptions/listen");
    let _call = served
        .post(&headers, &stateless("subscriptions/listen", ""))
        .await;
    served.hub.until(|hub| hub.held() == 1).await;
    served.stop.send(()).unwrap();
    timeout(Duration::from_secs(3), served.task)
        .await
        .unwrap()
        .unwrap();
}

/// What a reader gets, until nothing is there.
fn read(events: &mut Events) -> String {
    let mut text = String::new();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while let std::task::Poll::Ready(Some(frame)) =
        std::pin::Pin::new(&mut *events).poll_frame(&mut context)
    {
        let Ok(frame) = frame;
        text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap();
    }
    text
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_bounded_and_keeps_what_waits_for_an_answer() {
    let notification = || Message::notification("n", None);
    let stream = Stream::resumable(0, None);
    for _ in 0..1000 {
        stream.send(notification()).await.unwrap();
    }
    let text = read(&mut stream.events(ReadFrom::Unread, false));
    assert_eq!(text.matches("data:").count(), 256);
    assert!(text.starts_with("id: 0-744\n"), "{text}");
    let stream = Stream::resumable(0, None);
    let mut sent = 0;
    for id in 0..1000 {
        let ask = Message::request(&Id::number(id), "ask", None);
        sent += usize::from(stream.send(ask).await.is_ok());
    }
    assert_eq!(sent, 256);
    // The answer has a place whatever is there.
    let answer = Message::response(&Id::number(1), &"{}".into());
    stream.send(answer).await.unwrap();
    let text = read(&mut stream.events(ReadFrom::Start, false));
    assert_eq!(text.matches("data:").count(), 257);
}

#[tokio::test]
async fn a_stream_that_is_read_slowly_waits() {
    let stream = Stream::ephemeral();
    let mut events = stream.events(ReadFrom::Start, false);
    let send = |stream: Arc<Stream>| async move {
        for number in 0..1000 {
            let message = Message::request(&Id::number(number), "n", None);
            stream.send(message).await.unwrap();
        }
    };
    let sending = tokio::spawn(send(stream.clone()));
    let mut text = String::new();
    while !sending.is_finished() {
        tokio::task::yield_now().await;
        assert!(stream.bytes() < 256 * 100);
        text += &read(&mut events);
    }
    text += &read(&mut events);
    assert_eq!(text.matches("data:").count(), 1000);
}

proptest! {
    /// However often the connection breaks, and wherever: a client that goes on behind the last event that
    /// it got sees every message once and in order.
    #[test]
    fn nothing_is_lost_where_a_connection_breaks(
        steps in prop::collection::vec((0usize..4, 0usize..6, any::<bool>()), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let stream = Stream::resumable(3, None);
            let (mut sent, mut got) = (0, 0);
            let mut events = stream.events(ReadFrom::Start, true);
            for (send, receive, breaks) in steps {
                for _ in 0..send {
                    let params = format!("[{sent}]").into();
                    stream.send(Message::notification("n", Some(&params))).await.unwrap();
                    sent += 1;
                }
                if !breaks {
                    let text = read(&mut events);
                    for number in got..sent {
                        let expected = format!("id: 3-{number}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[{number}]}}\n\n");
                        assert_eq!(text.matches(&expected).count(), 1, "{text}");
                    }
                    assert_eq!(text.matches("params").count(), sent - got);
                    got = sent;
                    continue;
                }
                // Some of what was read did not arrive.
                read(&mut events);
                let arrived = got + receive.min(sent - got);
                got = arrived;
                let id = arrived.checked_sub(1).map_or("3-".to_owned(), |last| format!("3-{last}"));
                let EventId { from, .. } = EventId::parse(&id).unwrap();
                events = stream.events(from, false);
            }
        });
    }
}

/// What clients have sent is bounded in sum, for as long as it is held.
#[tokio::test]
async fn what_all_clients_send_is_bounded() {
    let served = served_with(|_, limits| (limits.memory_bytes, limits.total_bytes) = (0, 0)).await;
    let session = served.session("").await;
    let body = |id: usize| {
        let long = "x".repeat(1800);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold","params":"{long}"}}"#)
    };
    // Four messages always find room.
    let mut first = Vec::new();
    for id in 1..=4 {
        first.push(served.post(&session, &body(id)).await);
    }
    served.hub.until(|hub| hub.held() == 4).await;
    let refused = served.post(&session, &body(5)).await.end().await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: 1"), "{refused}");
    assert!(
        refused.contains(r#""code":"limit.exceeded","limit":8000"#),
        "{refused}"
    );
    // What is small finds room.
    served
        .check("POST /mcp", &session, &request(6, "x"), 200, "")
        .await;
    served.hub.release().await;
    for first in first {
        first.end().await;
    }
    let again = served.post(&session, &body(7)).await;
    served.hub.until(|hub| hub.held() == 1).await;
    served.hub.release().await;
    assert!(again.end().await.starts_with("HTTP/1.1 200 "));
}

/// Connections on which nothing is said keep nobody out for long.
#[tokio::test]
async fn who_says_nothing_keeps_nobody_out() {
    let served = served_with(|_, limits| limits.sessions = 4).await;
    let mut silent = Vec::new();
    for _ in 0..16 {
        let mut socket = TcpStream::connect(served.address).await.unwrap();
        socket
            .write_all(b"POST /mcp HTTP/1.1\r\nx: ")
            .await
            .unwrap();
        silent.push(socket);
    }
    let asked = async {
        served
            .check("POST /mcp", "", &request(1, "initialize"), 200, "")
            .await;
    };
    timeout(Duration::from_secs(10), asked).await.unwrap();
    // The first of them it was that gave way.
    let mut end = Vec::new();
    let _ = timeout(Duration::from_secs(10), silent[0].read_to_end(&mut end))
        .await
        .unwrap();
    assert!(end.is_empty());
}
