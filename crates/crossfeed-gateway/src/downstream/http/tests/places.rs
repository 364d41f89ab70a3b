//! Places of connections and of sessions, between clients that do not leave each other any.

use super::*;
use std::sync::atomic::Ordering;

const ANN: &str = "authorization: Bearer aaaaaaaaaaaaaaaa";
const BOB: &str = "authorization: Bearer bbbbbbbbbbbbbbbb";

/// Eight places: four of strangers, and two for each of two holders.
async fn shared_by_two() -> Served {
    served_with(|listen, limits| {
        listen.tokens = vec![
            TokenConfig::new("ann", "a".repeat(16)),
            TokenConfig::new("bob", "b".repeat(16)),
        ];
        limits.descriptors = 16;
    })
    .await
}

/// A connection over which a request begins and does not end.
async fn begun(served: &Served, token: &str) -> Asked {
    let mut socket = TcpStream::connect(served.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{token}\r\ncontent-length: 100\r\n\r\n{{"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    Asked {
        socket,
        text: String::new(),
    }
}

#[tokio::test]
async fn a_holder_leaves_connections_to_others() {
    let served = shared_by_two().await;
    let mut slow = Vec::new();
    // Bodies that never end: the third finds no place, and says so at once.
    for _ in 0..3 {
        slow.push(begun(&served, BOB).await);
    }
    let mut refused = None;
    for asked in &mut slow {
        let answered = timeout(Duration::from_secs(1), asked.socket.readable()).await;
        if answered.is_ok() {
            refused = Some(asked);
        }
    }
    let refused = refused.expect("one is refused");
    let answer = refused.until("limit.exceeded").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    served.session(ANN).await;
    let metrics = served.ask("GET /metrics", ANN, "").await.end().await;
    let counted = "crossfeed_refusals_total{limit=\"connections\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_session_without_room_is_refused_before_anything_begins() {
    let served = served().await;
    served.hub.is_crowded.store(true, Ordering::Release);
    let answer = served.post("", &request(0, "initialize")).await.end().await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.contains("limit.exceeded"), "{answer}");
    assert!(answer.contains("too many processes"), "{answer}");
    let client = served.hub.client(0);
    assert!(client.came().is_empty());
    served.hub.until(|hub| hub.client(0).is_closed()).await;
    served.hub.is_crowded.store(false, Ordering::Release);
    served.session("").await;
}
