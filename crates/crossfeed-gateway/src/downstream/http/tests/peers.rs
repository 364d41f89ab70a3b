//! Sessions that another replica has.

use super::*;
use crate::port::Peer;

/// A replica that knows another by this address.
async fn replica_of(address: Option<SocketAddr>) -> Served {
    let served = served_with(|listen, limits| {
        listen.advertise = Some(format!("http://{}", listen.address));
        limits.drain = Some(Duration::from_millis(300));
    })
    .await;
    *served.hub.peer.lock() = address.map(|address| Peer {
        name: "other".to_owned(),
        address: format!("http://{address}"),
    });
    served
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
        name: "one".to_owned(),
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
    // One that is gone has no calls: it is not known here either.
    owner.stop.send(()).unwrap();
    owner.task.await.unwrap();
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
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let _ = socket.read(&mut buffer).await;
            socket.write_all(answer.as_bytes()).await.unwrap();
            if answer.is_empty() {
                open.push(socket);
            }
        }
    });
    address
}

/// A replica that answers one connection, and is gone before that ends.
async fn gone_after(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        drop(listener);
        let _ = socket.read(&mut [0; 4096]).await;
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
const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

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
    let rated = async |peer: Option<SocketAddr>| {
        let served = served_with(|listen, _| {
            listen.advertise = Some(format!("http://{}", listen.address));
            listen.anonymous = false;
            let mut ada = TokenConfig::new("ada", "0123456789abcdef");
            let requests = std::num::NonZeroU32::new(4).unwrap();
            let per = Duration::from_secs(3600);
            ada.rate = Some(Rate { requests, per });
            listen.tokens = vec![ada];
        })
        .await;
        *served.hub.peer.lock() = peer.map(|address| Peer {
            name: "other".to_owned(),
            address: format!("http://{address}"),
        });
        served
    };
    let owner = rated(None).await;
    let entry = rated(Some(owner.address)).await;
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
    let entry = replica_of(Some(fake_replica(half).await)).await;
    let call = answer(&entry, 7, "tools/call").await;
    assert!(
        call.contains("data: {\"j") && !call.contains("unknown"),
        "{call}"
    );
}

#[tokio::test]
async fn a_replica_that_cannot_be_reached_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let entry = replica_of(Some(address)).await;
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
