//! Sessions that a server does not know any longer.

use super::*;
use std::time::Instant;

const OVER: &str = "closed: the server has ended: its session is over";

/// An error of JSON-RPC with this id.
fn error(id: &str, says: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{says}"}}}}"#)
}

fn is_ping(request: &Request) -> bool {
    request.body.contains(r#""method":"ping""#)
}

impl Server {
    fn pings(&self) -> usize {
        let requests = self.requests.lock();
        requests.iter().filter(|request| is_ping(request)).count()
    }
}

#[test]
fn a_session_that_is_not_found_ends_the_connection_and_the_request_comes_back() {
    for (kind, body) in [
        ("application/json", "{}".to_owned()),
        ("text/plain", "session not found".to_owned()),
        ("text/plain", String::new()),
        ("application/json", error("null", "Session not found")),
        (
            "application/json",
            error("\"server-error\"", "Session not found"),
        ),
    ] {
        run(async {
            let server = serve(session(move |request| match id_of(request) {
                2 => vec![Part::Until(Arc::default())],
                _ => reply(404, kind, &body),
            }))
            .await;
            let mut client = open(&server).await;
            begin(&mut client).await;
            client.request(2, "m").await;
            client.request(3, "m").await;
            // Of the request that hangs nothing is known.
            assert_eq!(client.rest().await, ["3 came back", OVER]);
            assert_eq!(server.pings(), 0);
            let sent = client
                .upstream
                .send(Message::notification("m", None), &[])
                .await;
            assert_eq!(
                sent.unwrap_err().to_string(),
                "the server has ended: its session is over"
            );
        });
    }
}

/// The request 3 is refused so; the request 2 runs on. How often is the server asked whether it knows the session?
#[track_caller]
fn check_lives(status: u16, body: &str, expected: &str, pings: usize) {
    let body = body.to_owned();
    let (said, last, asked) = run(async {
        let goes = Arc::new(Notify::new());
        let gone = Arc::clone(&goes);
        let server = serve(session(move |request| match id_of(request) {
            2 => {
                let mut reply = vec![Part::Until(Arc::clone(&gone))];
                reply.extend(json(&result(2)));
                reply
            }
            3 => reply(status, "application/json", &body),
            _ if is_ping(request) => {
                gone.notify_one();
                json(&result(0))
            }
            id => {
                gone.notify_one();
                json(&result(id))
            }
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(2, "m").await;
        client.request(3, "m").await;
        let said = client.next().await;
        if pings == 0 {
            goes.notify_one();
        }
        let last = client.next().await;
        client.request(4, "m").await;
        assert_eq!(client.next().await, format!("4> {}", result(4)));
        (said, last, server.pings())
    });
    assert_eq!(said, expected);
    assert_eq!(last, format!("2> {}", result(2)));
    assert_eq!(asked, pings);
}

#[test]
fn an_error_with_the_id_of_its_request_is_the_answer_whatever_its_status() {
    for status in [404, 400, 500] {
        let body = error("3", "no such ticket");
        check_lives(status, &body, &format!("3> {body}"), 0);
    }
}

#[test]
fn an_error_that_speaks_of_some_session_is_the_answer_and_the_server_is_asked_of_its_own() {
    let own = error("3", "browser session 7 is closed");
    let nobodys = error("null", "browser session 7 is closed");
    for (status, body) in [(404, &own), (400, &own), (400, &nobodys)] {
        check_lives(status, body, &format!("3> {own}"), 1);
    }
}

#[test]
fn a_404_that_may_be_the_answer_in_other_words_is_not_sent_again() {
    let unknown = "3 failed: the request may have run: HTTP 404: no reason is given";
    for body in [
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"3","error":{"code":1,"message":"x"}}"#,
    ] {
        check_lives(404, body, unknown, 0);
    }
}

#[test]
fn a_404_that_cannot_be_read_ends_the_session_and_its_request_may_have_run() {
    run(async {
        let cut = "content-type: application/json\r\ncontent-length: 100";
        let server = serve(session(|_| with(404, cut, r#"{"jsonrpc":"2.0","id":3"#))).await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(3, "m").await;
        let unknown =
            "3 failed: the request may have run: the server has ended: its session is over";
        assert_eq!(client.rest().await, [unknown, OVER]);
    });
}

/// Servers that were made by the official examples, and those that know every id.
#[test]
fn a_server_that_refuses_a_ping_as_well_does_not_know_the_session() {
    for (status, own) in [(400, "null"), (404, "3")] {
        run(async {
            let server = serve(session(move |request| {
                let id = if own == "null" { "null" } else { "PING" };
                let id = if is_ping(request) { id } else { own };
                let body = error(id, "No valid session ID");
                let message = Message::parse(request.body.clone()).unwrap();
                let ping = String::from_utf8_lossy(message.id().unwrap().raw()).into_owned();
                reply(status, "application/json", &body.replace("PING", &ping))
            }))
            .await;
            let mut client = open(&server).await;
            begin(&mut client).await;
            client.request(3, "m").await;
            let answer = format!("3> {}", error("3", "No valid session ID"));
            assert_eq!(client.rest().await, [answer.as_str(), OVER]);
            assert_eq!(server.pings(), 1);
        });
    }
}

#[test]
fn a_notification_that_is_not_found_says_nothing_of_the_session() {
    for is_known in [true, false] {
        run(async {
            let server = serve(session(move |request| match id_of(request) {
                2 => json(&result(2)),
                _ if is_ping(request) && is_known => json(&result(0)),
                _ => reply(404, "text/plain", "Not Found"),
            }))
            .await;
            let mut client = open(&server).await;
            begin(&mut client).await;
            client.notify("notifications/roots/list_changed").await;
            if is_known {
                client.request(2, "m").await;
                assert_eq!(client.next().await, format!("2> {}", result(2)));
            } else {
                assert_eq!(client.rest().await, [OVER]);
            }
            assert_eq!(server.pings(), 1);
        });
    }
}

/// Servers that know no `GET` at all say 404 where the specification says 405.
#[test]
fn a_server_without_a_stream_beside_requests_may_say_404() {
    run(async {
        let server = serve(session(|request| match request.method.as_str() {
            "GET" => reply(404, "text/plain", "Cannot GET /mcp"),
            _ if is_ping(request) => json(&result(0)),
            _ if id_of(request) == 0 => accepted(),
            _ => json(&result(id_of(request))),
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.notify("notifications/initialized").await;
        let asked = async {
            while server.pings() == 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(10), asked).await.unwrap();
        for id in 2..5 {
            client.request(id, "m").await;
            assert_eq!(client.next().await, format!("{id}> {}", result(id)));
        }
    });
}

#[test]
fn a_stream_that_is_not_found_when_it_is_resumed_fails_its_request() {
    for is_known in [true, false] {
        run(async {
            let server = serve(session(move |request| match request.method.as_str() {
                "POST" if is_ping(request) && is_known => json(&result(0)),
                "POST" if id_of(request) == 2 => stream("id: a\nretry: 10\ndata: \n\n"),
                "POST" if is_known => json(&result(id_of(request))),
                _ => reply(404, "text/plain", ""),
            }))
            .await;
            let mut client = open(&server).await;
            begin(&mut client).await;
            client.request(2, "tools/call").await;
            let said = client.next().await;
            let lost = "2 failed: the request may have run: the server has ended: its stream ended before the answer and cannot be resumed: HTTP 404";
            assert_eq!(said, lost);
            if is_known {
                client.request(3, "m").await;
                assert_eq!(client.next().await, format!("3> {}", result(3)));
            } else {
                assert_eq!(client.rest().await, [OVER]);
            }
        });
    }
}

/// Requests of which the server may still say the same are waited for, and no others.
#[test]
fn what_runs_for_long_holds_no_other_session_up() {
    run(async {
        let goes = Arc::new(Notify::new());
        let gone = Arc::clone(&goes);
        let server = serve(session(move |request| match id_of(request) {
            2 => vec![Part::Until(Arc::default())],
            3 => {
                let mut reply = vec![Part::Until(Arc::clone(&gone))];
                reply.extend(with(404, "content-length: 0", ""));
                reply
            }
            _ => with(404, "content-length: 0", ""),
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(2, "m").await;
        sleep(Duration::from_millis(150)).await;
        let since = Instant::now();
        client.request(3, "m").await;
        client.request(4, "m").await;
        assert_eq!(client.next().await, "4 came back");
        goes.notify_one();
        assert_eq!(client.rest().await, ["3 came back", OVER]);
        assert!(since.elapsed() < CLOSE_TIMEOUT / 2, "{:?}", since.elapsed());
    });
}

#[test]
fn what_was_not_posted_when_a_session_ends_was_not_sent() {
    run(async {
        let goes = Arc::new(Notify::new());
        let gone = Arc::clone(&goes);
        let server = serve(session(move |request| match id_of(request) {
            2 => {
                let mut reply = vec![Part::Until(Arc::clone(&gone))];
                reply.extend(with(404, "content-length: 0", ""));
                reply
            }
            _ => vec![Part::Until(Arc::default())],
        }))
        .await;
        let mut client = open(&server).await;
        begin(&mut client).await;
        client.request(2, "tools/call").await;
        // This is waited for before anything else is posted.
        client.notify("n").await;
        client.request(3, "tools/call").await;
        while server.requests.lock().len() < 3 {
            tokio::task::yield_now().await;
        }
        goes.notify_one();
        let over = "the server has ended: its session is over";
        assert_eq!(
            client.rest().await,
            [
                "2 came back".to_owned(),
                "3 came back".to_owned(),
                format!("closed: {over}")
            ]
        );
        assert_eq!(server.requests.lock().len(), 3);
    });
}
