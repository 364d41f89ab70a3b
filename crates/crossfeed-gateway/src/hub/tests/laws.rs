//! What holds whatever the order: each answer reaches its request, as it came, and nobody else's.

use super::fake::{ConnectionSet, Server, World, message};
use crate::message::Message;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// What may come next: a request of one of the clients, or an answer of one of the servers.
#[derive(Clone, Debug)]
enum Step {
    Ask {
        client: usize,
        id: usize,
        spaces: u8,
    },
    Answer {
        server: usize,
        which: prop::sample::Index,
    },
    Cancel {
        client: usize,
        which: prop::sample::Index,
    },
    /// A server asks a client, which answers later.
    Question { server: usize },
    Reply {
        client: usize,
        which: prop::sample::Index,
    },
}

const CLIENTS: usize = 3;

/// Ids as clients may write them; the same for all.
const IDS: [&str; 6] = ["1", "\"1\"", "1.0", "\"\\u0031\"", "-7", "\"a\\\"b\""];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        4 => (0..CLIENTS, 0..IDS.len(), 0..3_u8)
            .prop_map(|(client, id, spaces)| Step::Ask { client, id, spaces }),
        4 => (0..CLIENTS, index()).prop_map(|(server, which)| Step::Answer { server, which }),
        1 => (0..CLIENTS, index()).prop_map(|(client, which)| Step::Cancel { client, which }),
        1 => (0..CLIENTS).prop_map(|server| Step::Question { server }),
        1 => (0..CLIENTS, index()).prop_map(|(client, which)| Step::Reply { client, which }),
    ];
    prop::collection::vec(step, 1..60)
}

/// One client and the end of its connection at the server.
struct Pair {
    client: ConnectionSet,
    server: Server,
    /// Requests that the server has: the number that each carries, and whether it was cancelled.
    open: Vec<(Message, usize)>,
    /// Ids of the client that run, by number.
    running: HashMap<usize, &'static str>,
    /// Questions that the client has, and the number that each carries.
    questions: Vec<(String, usize)>,
}

/// Takes what the server got: requests, or what cancels them.
async fn receive(pair: &mut Pair) {
    while let Ok(next) = pair.server.inbox.try_recv() {
        let text = String::from_utf8(next.to_bytes().to_vec()).unwrap();
        match next.method() {
            Some("notifications/cancelled") => {
                let id = crate::members::get(&next.params().unwrap(), &["requestId"]).unwrap();
                pair.open
                    .retain(|(request, _)| *request.id().unwrap().raw() != id);
            }
            _ => {
                let number = text.split("\"n\":").nth(1).unwrap();
                let number = number.split('}').next().unwrap().parse().unwrap();
                pair.open.push((next, number));
            }
        }
    }
}

async fn run(steps: Vec<Step>) {
    let world = World::new(&["a"]);
    let mut pairs = Vec::new();
    for _ in 0..CLIENTS {
        let (client, mut servers) = world.begun("{}").await;
        pairs.push(Pair {
            client,
            server: servers.remove(0),
            open: Vec::new(),
            running: HashMap::new(),
            questions: Vec::new(),
        });
    }
    let mut numbers = 0..;
    let mut questions = 0..;
    for step in steps {
        match step {
            Step::Ask { client, id, spaces } => {
                let pair = &mut pairs[client];
                let number: usize = numbers.next().unwrap();
                let blank = " ".repeat(usize::from(spaces));
                let id = IDS[id];
                let is_taken = pair.running.values().any(|running| *running == id);
                let text = format!(
                    r#"{blank}{{"id":{blank}{id}, "method" : "m/x","jsonrpc":"2.0","x":1.50,"params":{{"k":"{client}","n":{number}}}}}"#
                );
                pair.client.send(&text).await;
                if is_taken {
                    let refused = pair.client.next().await;
                    assert!(
                        refused.contains("-32600") && refused.contains(id),
                        "{refused}"
                    );
                    continue;
                }
                pair.running.insert(number, id);
                receive(pair).await;
                let (got, of) = pair.open.last().unwrap();
                assert_eq!(*of, number);
                let back = got.clone().with_id(message(&text).id().unwrap().clone());
                assert_eq!(back.to_bytes(), text.as_bytes(), "all but the id");
            }
            Step::Answer { server, which } => {
                let pair = &mut pairs[server];
                if pair.open.is_empty() {
                    continue;
                }
                let (request, number) = pair.open.remove(which.index(pair.open.len()));
                let text = format!(
                    r#"{{ "jsonrpc":"2.0", "result" : {{"n":{number}, "y": 1.50}},"id":{} , "z":[]}}"#,
                    request.id().unwrap()
                );
                pair.server.say(message(&text)).await;
                let id = pair.running.remove(&number).expect("cancelled");
                let answer = pair.client.next().await;
                let expected = text.replace(
                    &format!("\"id\":{}", request.id().unwrap()),
                    &format!("\"id\":{id}"),
                );
                assert_eq!(answer, expected);
            }
            Step::Cancel { client, which } => {
                let pair = &mut pairs[client];
                let mut all: Vec<_> = pair.running.iter().map(|(n, id)| (*n, *id)).collect();
                if all.is_empty() {
                    continue;
                }
                all.sort_unstable();
                let (number, id) = all[which.index(all.len())];
                pair.running.remove(&number);
                pair.client
                    .send(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                    ))
                    .await;
                receive(pair).await;
                assert!(pair.open.iter().all(|(_, of)| *of != number));
            }
            Step::Question { server } => {
                let pair = &mut pairs[server];
                let number: usize = questions.next().unwrap();
                pair.server
                    .say(message(&format!(
                        r#"{{"jsonrpc":"2.0","id":"q-{number}","method":"ask","params":[{number}]}}"#
                    )))
                    .await;
                let text = pair.client.next().await;
                let id = message(&text).id().unwrap().to_string();
                assert_eq!(
                    text,
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask","params":[{number}]}}"#)
                );
                pair.questions.push((id, number));
            }
            Step::Reply { client, which } => {
                let pair = &mut pairs[client];
                if pair.questions.is_empty() {
                    continue;
                }
                let (id, number) = pair.questions.remove(which.index(pair.questions.len()));
                pair.client
                    .send(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"result": {number}.0}}"#
                    ))
                    .await;
                let reply = pair.server.next().await.to_bytes();
                let expected =
                    format!(r#"{{"jsonrpc":"2.0","id":"q-{number}","result": {number}.0}}"#);
                assert_eq!(reply, expected.as_bytes());
            }
        }
    }
    for pair in &mut pairs {
        assert!(pair.server.is_quiet() && pair.client.is_quiet().await);
        // What the server has is what the client waits for.
        let has: HashSet<usize> = pair.open.iter().map(|(_, number)| *number).collect();
        assert_eq!(has, pair.running.keys().copied().collect());
        pair.client.client.close().await;
    }
    assert_eq!(world.gateway.every_client().len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_answer_reaches_its_request(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(run(steps));
    }
}
