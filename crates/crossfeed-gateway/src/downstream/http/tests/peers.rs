//! Sessions that another replica has.

use super::*;
use crate::{
    downstream::fake::FAKE_REPLICA,
    port::{KeptSession, Peer},
    protocol::Revision,
    records::{
        Key, Records,
        fake::LastingStore,
        owned::OwnedRecord,
        session::{Revisions, SessionRecord},
    },
};
use std::collections::BTreeMap;

/// A replica that knows another by this address.
async fn replica_of(address: Option<SocketAddr>) -> Served {
    let served = served_with(|listen, limits| {
        listen.advertise = Some(format!("http://{}", listen.address));
        limits.drain = Some(Duration::from_millis(300));
    })
    .await;
    *served.hub.peer.lock() = address.map(other);
    served
}

fn other(address: SocketAddr) -> Peer {
    Peer {
        name: FAKE_REPLICA.to_owned(),
        address: format!("http://{address}"),
    }
}

#[tokio::test]
async fn a_request_reaches_its_session_through_any_replica() {
    let owner = replica_of(None).await;
    let session = owner.session("").await;
    let entry = replica_of(Some(owner.address)).await;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"n": 1}}"#;
    for replica in [&entry, &owner, &entry] {
        replica
            .check("POST /mcp", &session, &request(1, "x"), 200, answer)
            .await;
    }
    entry
        .check("POST /mcp", &session, &note("notifications/x"), 202, "")
        .await;
    // Streams are passed on as they come.
    let mut call = entry.post(&session, &request(2, "hold")).await;
    call.until("retry").await;
    let mut stream = entry.ask("GET /mcp", &session, "").await;
    stream.until("text/event-stream").await;
    entry
        .check("POST /mcp", &session, &request(3, "ask"), 200, "")
        .await;
    stream.until("ping").await;
    owner.hub.release().await;
    call.until("released").await;
    assert!(call.end().await.contains("\r\n0\r\n"));
    assert!(entry.hub.clients.lock().is_empty());
    entry.check("DELETE /mcp", &session, "", 204, "").await;
    owner.check("DELETE /mcp", &session, "", 404, "").await;
}

#[tokio::test]
async fn nothing_goes_round_between_replicas() {
    let one = replica_of(None).await;
    let session = one.session("").await;
    let other = replica_of(Some(one.address)).await;
    // Each believes that the other has it: nothing goes round.
    *one.hub.peer.lock() = Some(Peer {
        name: FAKE_REPLICA.to_owned(),
        address: format!("http://{}", other.address),
    });
    one.hub.client(0).has_moved.store(true, Ordering::Release);
    let sent_on = format!("{session}|crossfeed-sent-on: 1");
    one.check("POST /mcp", &sent_on, &request(1, "x"), 421, "")
        .await;
    let asked = async { other.post(&session, &request(1, "x")).await.end().await };
    let found = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        *other.hub.peer.lock() = None;
    };
    let (answer, ()) = tokio::join!(asked, found);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn what_answers_at_the_address_of_a_replica_without_its_name_gets_nothing() {
    const OTHER: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nwrong";
    let seen = Arc::new(parking_lot::Mutex::new(String::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = listener.local_addr().unwrap();
    let sees = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let length = socket.read(&mut buffer).await.unwrap();
            *sees.lock() += std::str::from_utf8(&buffer[..length]).unwrap();
            socket.write_all(OTHER.as_bytes()).await.unwrap();
        }
    });
    let headers = format!("{SESSION}|authorization: Bearer secret");
    let entry = replica_of(Some(elsewhere)).await;
    for _ in 0..2 {
        let asked = entry.post(&headers, &request(1, "x")).await;
        let answer = asked.end().await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("retry-after"), "{answer}");
        assert!(!answer.contains("wrong"), "{answer}");
    }
    let seen = seen.lock().clone();
    assert!(seen.contains("GET /healthz"), "{seen}");
    assert!(!seen.contains("secret") && !seen.contains("POST"), "{seen}");
    // Another replica is no better.
    let another = replica_of(None).await;
    let entry = replica_of(None).await;
    *entry.hub.peer.lock() = Some(Peer {
        name: "one".to_owned(),
        address: format!("http://{}", another.address),
    });
    let asked = entry.post(&headers, &request(1, "x")).await;
    let answer = asked.end().await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(another.hub.clients.lock().is_empty());
}

#[tokio::test]
async fn what_a_call_asked_back_is_answered_at_the_replica_where_it_waits() {
    let owner = replica_of(None).await;
    let entry = replica_of(Some(owner.address)).await;
    let headers = format!("{VERSION_2026}|mcp-method: prompts/get|mcp-name: p");
    let came = |served: &Served| {
        let clients = served.hub.clients.lock();
        clients
            .iter()
            .map(|client| client.came().len())
            .sum::<usize>()
    };
    for (state, at_owner) in [
        ("other.abc", true),
        ("another.abc", false),
        ("abc", false),
        ("", false),
    ] {
        let before = came(&owner);
        let params = format!(r#""name":"p","requestState":"{state}","#);
        let request = stateless("prompts/get", &params);
        entry
            .check("POST /mcp", &headers, &request, 200, state)
            .await;
        assert_eq!(came(&owner) - before, usize::from(at_owner), "{state}");
    }
    assert_eq!(came(&entry), 3);
    // One that is gone has no calls: here it is found out what that means.
    owner.stop.send(()).unwrap();
    owner.task.await.unwrap();
    *entry.hub.peer.lock() = None;
    let request = stateless("prompts/get", r#""name":"p","requestState":"other.abc","#);
    entry
        .check("POST /mcp", &headers, &request, 200, "other.abc")
        .await;
    assert_eq!(came(&entry), 4);
}

/// A replica that does what it is told with each connection.
async fn fake_replica(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    fake_replica_at(listener, answer);
    address
}

fn fake_replica_at(listener: TcpListener, answer: &'static str) {
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            read_request(&mut socket).await;
            socket.write_all(answer.as_bytes()).await.unwrap();
            if answer.is_empty() || answer.contains("chunked") {
                open.push(socket);
            }
        }
    });
}

/// Reads a request, and says the name of a replica before that to who asks for it.
async fn read_request(socket: &mut TcpStream) {
    let mut buffer = [0; 4096];
    loop {
        let length = socket.read(&mut buffer).await.unwrap_or_default();
        if !buffer[..length].starts_with(b"GET /healthz") {
            return;
        }
        let named = format!(
            "HTTP/1.1 200 OK\r\ncrossfeed-replica: {FAKE_REPLICA}\r\ncontent-length: 0\r\n\r\n"
        );
        socket.write_all(named.as_bytes()).await.unwrap();
    }
}

/// An address at which nothing listens.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// Sends a request over a connection that stays open.
async fn asked_over(socket: &mut TcpStream, headers: &str, body: &str) -> String {
    let length = body.len();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n\r\n{body}"
    );
    socket.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    while !answer.contains(r#""result""#) {
        let mut buffer = [0; 4096];
        let length = socket.read(&mut buffer).await.unwrap();
        assert!(length > 0, "{answer}");
        answer += std::str::from_utf8(&buffer[..length]).unwrap();
    }
    answer
}

/// A replica that answers one connection, and is gone before that ends.
async fn gone_after(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        drop(listener);
        read_request(&mut socket).await;
        socket.write_all(answer.as_bytes()).await.unwrap();
    });
    address
}

/// All of the answer to a request of a session that another replica has.
async fn answer(entry: &Served, id: usize, method: &str) -> String {
    let asked = entry.post(SESSION, &request(id, method)).await;
    asked.end().await
}

const SESSION: &str = "mcp-session-id: x";
const STREAM: &str = "HTTP/1.1 200 OK\r\ncrossfeed-replica: other\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn what_a_replica_took_and_never_answered_may_have_run() {
    let entry = replica_of(Some(fake_replica("").await)).await;
    let gone = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        *entry.hub.peer.lock() = None;
    };
    let (call, list, ()) = tokio::join!(
        answer(&entry, 7, "tools/call"),
        answer(&entry, 8, "tools/list"),
        gone
    );
    assert!(call.contains("upstream.outcome_unknown"), "{call}");
    assert!(call.contains(r#""id":7"#), "{call}");
    // It is asked for elsewhere.
    assert!(list.starts_with("HTTP/1.1 404"), "{list}");
}

/// Each call says so, and the next is made where the session is taken up.
#[tokio::test]
async fn a_replica_that_died_is_asked_no_second_time() {
    let silent = fake_replica("").await;
    let entry = replica_of(Some(silent)).await;
    let gone = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        *entry.hub.peer.lock() = None;
    };
    let (first, ()) = tokio::join!(answer(&entry, 1, "tools/call"), gone);
    assert!(first.contains("upstream.outcome_unknown"), "{first}");
    let second = answer(&entry, 2, "tools/call").await;
    assert!(second.starts_with("HTTP/1.1 404"), "{second}");
}

#[tokio::test]
async fn a_request_is_counted_once_wherever_it_comes() {
    let rated = async |requests: u32, peer: Option<SocketAddr>| {
        let served = served_with(|listen, _| {
            listen.advertise = Some(format!("http://{}", listen.address));
            listen.anonymous = false;
            let mut ada = TokenConfig::new("ada", "0123456789abcdef");
            let requests = std::num::NonZeroU32::new(requests).unwrap();
            let per = Duration::from_secs(3600);
            ada.rate = Some(Rate { requests, per });
            listen.tokens = vec![ada];
        })
        .await;
        *served.hub.peer.lock() = peer.map(other);
        served
    };
    let owner = rated(4, None).await;
    let entry = rated(4, Some(owner.address)).await;
    let token = "authorization: Bearer 0123456789abcdef";
    let session = owner.session(token).await;
    let headers = format!("{token}|{session}");
    for replica in [&entry, &owner, &entry] {
        replica
            .check("POST /mcp", &headers, &request(1, "x"), 200, "")
            .await;
    }
    // What the client says of the way changes nothing.
    for more in ["", "|crossfeed-sent-on: 1"] {
        let headers = format!("{headers}{more}");
        owner
            .check("POST /mcp", &headers, &request(1, "x"), 429, "")
            .await;
    }
    entry
        .check("POST /mcp", &headers, &request(1, "x"), 429, "retry-after")
        .await;

    // What continues a call is counted where it waits, and nowhere else.
    let (owner, entry) = (rated(2, None).await, rated(1, None).await);
    *entry.hub.peer.lock() = Some(other(owner.address));
    let headers = format!("{token}|{VERSION_2026}|mcp-method: prompts/get|mcp-name: p");
    let continued = stateless("prompts/get", r#""name":"p","requestState":"other.abc","#);
    for status in [200, 200, 429] {
        entry
            .check("POST /mcp", &headers, &continued, status, "")
            .await;
    }
    let fresh = stateless("prompts/get", r#""name":"p","#);
    for status in [200, 429] {
        entry.check("POST /mcp", &headers, &fresh, status, "").await;
    }

    // Whatever is not sent on is counted.
    let entry = rated(5, None).await;
    let headers = format!("{token}|{SESSION}");
    let text = format!("{headers}|content-type: text/plain");
    let sent_on = format!("{headers}|crossfeed-sent-on: 1");
    entry
        .check("POST /mcp", &headers, &request(1, "x"), 404, "")
        .await;
    entry.check("POST /mcp", &headers, "{", 400, "").await;
    entry
        .check("POST /mcp", &text, &request(1, "x"), 415, "")
        .await;
    *entry.hub.peer.lock() = Some(other(owner.address));
    entry
        .check("POST /mcp", &sent_on, &request(1, "x"), 421, "")
        .await;
    *entry.hub.peer.lock() = None;
    for status in [404, 429] {
        entry
            .check("POST /mcp", &headers, &request(1, "x"), status, "")
            .await;
    }
    let initialize = request(0, "initialize");
    entry
        .check("POST /mcp", token, &initialize, 429, "retry-after")
        .await;
}

/// What runs here ends here, though another replica has the session by now.
#[tokio::test]
async fn a_call_runs_on_when_its_session_is_taken_up() {
    let owner = replica_of(None).await;
    let session = owner.session("").await;
    let mut call = owner.post(&session, &request(1, "hold")).await;
    call.until("retry").await;
    let client = owner.hub.client(0);
    client.has_moved.store(true, Ordering::Release);
    owner
        .check("POST /mcp", &session, &request(2, "x"), 404, "")
        .await;
    assert!(!client.is_closed());
    owner.hub.release().await;
    call.until("released").await;
    owner.stop.send(()).unwrap();
    owner.task.await.unwrap();
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_stream_that_breaks_says_what_became_of_its_request() {
    let event = "id: 1-0\ndata: {}\n\n";
    let whole: &'static str = format!("{STREAM}{:x}\r\n{event}\r\n", event.len()).leak();
    let entry = replica_of(Some(gone_after(whole).await)).await;
    let call = answer(&entry, 7, "tools/call").await;
    assert!(
        call.contains("id: 1-0") && call.contains("upstream.outcome_unknown"),
        "{call}"
    );
    // A replica that goes on has the rest for those who can ask for it.
    let owner = replica_of(None).await;
    let session = owner.session("").await;
    let entry = replica_of(Some(owner.address)).await;
    let mut call = entry.post(&session, &request(3, "hold")).await;
    call.until("retry").await;
    owner.stop.send(()).unwrap();
    owner.hub.release().await;
    assert!(call.end().await.contains("released"));
    // Nothing can be put behind half an event.
    let half: &'static str = format!("{STREAM}9\r\ndata: {{\"j\r\n").leak();
    let entry = replica_of(Some(gone_after(half).await)).await;
    let call = answer(&entry, 7, "tools/call").await;
    assert!(
        call.contains("data: {\"j") && !call.contains("unknown"),
        "{call}"
    );
}

#[tokio::test]
async fn a_replica_that_cannot_be_reached_is_waited_for() {
    let entry = replica_of(Some(nobody().await)).await;
    let back = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        *entry.hub.peer.lock() = None;
    };
    let (answer, ()) = tokio::join!(answer(&entry, 1, "tools/call"), back);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn a_balancer_learns_whether_requests_are_to_be_sent() {
    let served = replica_of(None).await;
    served.check("GET /readyz", "", "", 200, "ready").await;
    served.hub.is_away.store(true, Ordering::Release);
    tokio::time::sleep(READINESS_INTERVAL).await;
    served
        .check("GET /readyz", "", "", 503, "the store does not answer")
        .await;
    served.check("GET /healthz", "", "", 200, "ok").await;
    let session = served.session("").await;
    served.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asked = async |line: &str, headers: &str, body: &str| {
        let mut socket = TcpStream::connect(served.address).await.unwrap();
        let length = body.len();
        let text = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n\r\n{body}"
        );
        socket.write_all(text.as_bytes()).await.unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        text
    };
    let ready = asked("GET /readyz", "accept: */*", "").await;
    assert!(
        ready.starts_with("HTTP/1.1 503") && ready.contains("draining"),
        "{ready}"
    );
    // Meanwhile it serves.
    let answer = asked("POST /mcp", &session, &request(1, "x")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    served.task.await.unwrap();
    TcpStream::connect(served.address).await.unwrap_err();
}

/// Balancers and replicas keep connections open: none may send more over them than what ends soon.
#[tokio::test]
async fn connections_to_a_replica_that_leaves_end() {
    let served = replica_of(None).await;
    let session = served.session("").await;
    let mut call = served.post(&session, &request(1, "hold")).await;
    call.until("retry").await;
    let [mut used, mut idle] = [
        TcpStream::connect(served.address).await.unwrap(),
        TcpStream::connect(served.address).await.unwrap(),
    ];
    for socket in [&mut used, &mut idle] {
        let answer = asked_over(socket, &session, &request(2, "x")).await;
        assert!(!answer.contains("connection: close"), "{answer}");
    }
    served.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answer = asked_over(&mut used, &session, &request(3, "x")).await;
    assert!(answer.contains("connection: close"), "{answer}");
    for mut socket in [used, idle] {
        let end = timeout(Duration::from_secs(3), socket.read(&mut [0; 1])).await;
        assert_eq!(end.expect("it ends while a call runs").unwrap(), 0);
    }
    assert!(!served.task.is_finished());
    served.hub.release().await;
    call.until("released").await;
    served.task.await.unwrap();
}

#[tokio::test]
async fn a_session_of_a_replica_that_leaves_is_looked_up_anew() {
    let owner = replica_of(None).await;
    let session = owner.session("").await;
    let entry = replica_of(Some(owner.address)).await;
    let check = async |status| {
        entry
            .check("POST /mcp", &session, &request(1, "x"), status, "")
            .await;
    };
    check(200).await;
    entry.hub.leaves.store(true, Ordering::Release);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    check(404).await;
}

#[tokio::test]
async fn requests_that_wait_for_a_replica_ask_the_store_together() {
    const WAITING: usize = 20;
    let entry = replica_of(Some(nobody().await)).await;
    let requests = (0..WAITING).map(|id| {
        let entry = &entry;
        async move {
            let session = format!("mcp-session-id: {id}");
            let asked = entry.post(&session, &request(id, "tools/call")).await;
            asked.end().await
        }
    });
    let dies = async {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let looks = entry.hub.looks.load(Ordering::Acquire);
        // Each session was looked up once, and the replica about once a second.
        assert!(looks <= WAITING + 10, "{looks}");
        *entry.hub.peer.lock() = None;
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(requests), dies);
    for answer in answers {
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }
}

/// The answer has come, whatever becomes of the connections behind it.
#[tokio::test]
async fn a_request_that_is_answered_gets_no_second_answer() {
    const EVENT: &str =
        "id: 1-0\ndata: {\"id\":7,\"result\":{\"a\":\"{\"},\"jsonrpc\":\"2.0\"}\n\n";
    let whole: &'static str = format!("{STREAM}{:x}\r\n{EVENT}\r\n", EVENT.len()).leak();
    let entry = replica_of(Some(gone_after(whole).await)).await;
    let call = answer(&entry, 7, "tools/call").await;
    assert!(
        call.contains("result") && !call.contains("unknown"),
        "{call}"
    );
    let entry = served_with(|listen, limits| {
        listen.advertise = Some(format!("http://{}", listen.address));
        (limits.drain, limits.shutdown) = (Some(Duration::ZERO), Duration::from_millis(300));
    })
    .await;
    *entry.hub.peer.lock() = Some(other(fake_replica(whole).await));
    let mut call = entry.post(SESSION, &request(7, "tools/call")).await;
    call.until("result").await;
    entry.stop.send(()).unwrap();
    let call = call.end().await;
    assert!(!call.contains("unknown"), "{call}");
    entry.task.await.unwrap();
}

#[tokio::test]
async fn the_replica_at_which_a_call_waits_is_tried_again() {
    let address = nobody().await;
    let entry = replica_of(Some(address)).await;
    let headers = format!("{VERSION_2026}|mcp-method: prompts/get|mcp-name: p");
    let continued = stateless("prompts/get", r#""name":"p","requestState":"other.abc","#);
    let back = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        let listener = TcpListener::bind(address).await.unwrap();
        fake_replica_at(
            listener,
            "HTTP/1.1 200 OK\r\ncrossfeed-replica: other\r\ncontent-length: 4\r\n\r\nback",
        );
    };
    let asked = entry.check("POST /mcp", &headers, &continued, 200, "back");
    tokio::join!(asked, back);
    assert!(entry.hub.clients.lock().is_empty());
}

#[tokio::test]
async fn what_a_client_has_to_know_of_a_refusal_is_passed_back() {
    const REFUSAL: &str = "HTTP/1.1 401 Unauthorized\r\ncrossfeed-replica: other\r\nwww-authenticate: Bearer\r\nallow: GET\r\ncontent-length: 0\r\n\r\n";
    let entry = replica_of(Some(fake_replica(REFUSAL).await)).await;
    let answer = answer(&entry, 1, "x").await;
    assert!(answer.contains("www-authenticate: Bearer\r\n"), "{answer}");
    assert!(answer.contains("allow: GET\r\n"), "{answer}");
}

/// A session that was taken up once.
async fn kept() -> KeptSession {
    let records = Records::of(LastingStore::new()).unwrap();
    let key = || Key::new("session", &["x"]);
    let record = SessionRecord {
        principal: String::new(),
        key: String::new(),
        asked: String::new(),
        agreed: String::new(),
        handshake: String::new(),
        initialized: None,
        announced: Vec::new(),
        listed: Vec::new(),
        servers: BTreeMap::new(),
        replica: None,
    };
    let mut before = OwnedRecord::new(records.clone(), key(), "before".to_owned());
    let time = Duration::from_secs(60);
    before.write(&record, time).await.unwrap();
    let mut own = OwnedRecord::new(records, key(), "own".to_owned());
    own.find::<SessionRecord>().await.unwrap().unwrap();
    KeptSession {
        own,
        revisions: Revisions {
            asked: Revision::V2025_11_25,
            agreed: Revision::V2025_11_25,
        },
        record,
        rooms: HashMap::new(),
        term: 1,
    }
}

/// A call waits for its client at a replica that leaves, and others have the session.
#[tokio::test]
async fn what_belongs_to_a_call_reaches_the_replica_that_had_its_session() {
    let before = replica_of(None).await;
    let session = before.session("").await;
    let mut call = before.post(&session, &request(7, "hold")).await;
    let event = call.until("retry").await;
    let event = event.split("id: ").nth(1).unwrap();
    let event = event.split('\n').next().unwrap().to_owned();
    before
        .hub
        .client(0)
        .has_moved
        .store(true, Ordering::Release);
    let now = replica_of(Some(before.address)).await;
    *now.hub.kept.lock() = Some(kept().await);
    now.check("POST /mcp", &session, &request(8, "x"), 200, "")
        .await;
    let entry = replica_of(Some(now.address)).await;
    let (first, second) = (before.hub.client(0), now.hub.client(0));
    let came = |says: &str| {
        let has = |came: Vec<String>| came.iter().any(|text| text.contains(says));
        (has(first.came()), has(second.came()))
    };
    let answer = |id: u64, says: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"says":"{says}"}}}}"#)
    };
    for (replica, id, says, expected) in [
        (&now, 5, "old", (true, false)),
        (&entry, 6, "round", (true, false)),
        (&before, 7, "there", (true, false)),
        (&now, (1 << 32) + 5, "new", (false, true)),
    ] {
        let answer = answer(id, says);
        replica.check("POST /mcp", &session, &answer, 202, "").await;
        assert_eq!(came(says), expected, "{says}");
    }
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    entry.check("POST /mcp", &session, cancelled, 202, "").await;
    assert!(came("notifications/cancelled").1);
    before
        .hub
        .until(|_| came("notifications/cancelled").0)
        .await;
    drop(call);
    let resumes = format!("{session}|last-event-id: {event}");
    let mut stream = entry.ask("GET /mcp", &resumes, "").await;
    stream.until("event-stream").await;
    before.hub.release().await;
    stream.until("released").await;
    // Where it is gone, no one else knows.
    before.stop.send(()).unwrap();
    before.task.await.unwrap();
    let last = answer(8, "late");
    now.check("POST /mcp", &session, &last, 202, "").await;
    assert_eq!(came("late"), (false, true));
    let mut stream = now.ask("GET /mcp", &resumes, "").await;
    stream.until("upstream.outcome_unknown").await;
}

/// Whatever becomes of the replica that had its session before.
#[tokio::test]
async fn a_cancellation_waits_for_no_other_replica() {
    const GONE: &str =
        "HTTP/1.1 421 Misdirected Request\r\ncrossfeed-replica: other\r\ncontent-length: 0\r\n\r\n";
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    for (before, is_forgotten) in [("", false), (GONE, true)] {
        let now = replica_of(Some(fake_replica(before).await)).await;
        *now.hub.kept.lock() = Some(kept().await);
        let cancels = now.check("POST /mcp", SESSION, cancelled, 202, "");
        timeout(Duration::from_secs(1), cancels).await.unwrap();
        let came = now.hub.client(0).came();
        assert!(came[0].contains("cancelled"), "{came:?}");
        let has_before = || {
            let all = now.http.sessions.all_of("x", &Principal::Anonymous);
            all[0].before().is_some()
        };
        for _ in 0..50 {
            if is_forgotten && !has_before() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(has_before(), !is_forgotten);
    }
}

/// Nothing is tried again, or taken up, by a process that ends.
#[tokio::test]
async fn what_is_sent_on_by_a_process_that_ends_is_refused_at_once() {
    let entry = served_with(|listen, limits| {
        listen.advertise = Some(format!("http://{}", listen.address));
        (limits.drain, limits.shutdown) = (Some(Duration::ZERO), Duration::from_millis(500));
    })
    .await;
    *entry.hub.peer.lock() = Some(other(fake_replica("").await));
    let listed = entry.post(SESSION, &request(8, "tools/list")).await;
    let called = entry.post(SESSION, &request(9, "tools/call")).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    entry.stop.send(()).unwrap();
    let (listed, called) = tokio::join!(listed.end(), called.end());
    assert!(listed.starts_with("HTTP/1.1 503"), "{listed}");
    assert!(called.contains("upstream.outcome_unknown"), "{called}");
    let is_soon = timeout(Duration::from_secs(1), entry.task).await;
    is_soon.unwrap().unwrap();
}

/// A holder of whom it is known here is refused before anything is read.
#[tokio::test]
async fn a_holder_beyond_its_rate_costs_no_look() {
    let entry = served_with(|listen, _| {
        listen.advertise = Some(format!("http://{}", listen.address));
        listen.anonymous = false;
        let mut ada = TokenConfig::new("ada", "0123456789abcdef");
        let requests = std::num::NonZeroU32::MIN;
        let per = Duration::from_secs(3600);
        ada.rate = Some(Rate { requests, per });
        listen.tokens = vec![ada];
    })
    .await;
    let headers = format!("authorization: Bearer 0123456789abcdef|{SESSION}");
    entry
        .check("POST /mcp", &headers, &request(1, "x"), 404, "")
        .await;
    let looks = entry.hub.looks.load(Ordering::Acquire);
    let late = format!("{headers}|content-type: text/plain");
    for headers in [&headers, &late] {
        entry
            .check("POST /mcp", headers, &request(1, "x"), 429, "retry-after")
            .await;
    }
    assert_eq!(entry.hub.looks.load(Ordering::Acquire), looks);
}
