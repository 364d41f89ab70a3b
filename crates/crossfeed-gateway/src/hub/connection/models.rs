//! Models of a connection that opens, rests and ends while requests come, are handed over and are withdrawn.
//!
//! In each, a request ends exactly once, is handed over at most once, and is called unsent only if it never was
//! handed over.

use super::*;
use crate::{
    Revision,
    sync::{explore, join_tasks},
    upstream::Event,
};
use async_trait::async_trait;
use shuttle::{
    future::{block_on, yield_now},
    thread,
};
use tokio::sync::mpsc;

/// A server: what it was handed over, and that it was.
#[derive(Default)]
struct Server(Mutex<Vec<Message>>, Arc<Notify>);

#[async_trait]
impl Upstream for Server {
    async fn send(&self, message: Message, _: &[Header]) -> Result<(), UpstreamError> {
        yield_now().await;
        self.0.lock().push(message);
        self.1.notify_one();
        Ok(())
    }

    fn speak(&self, _: Revision) {}

    async fn abandon(&self, _: &Id) {}

    async fn close(&self) {}
}

#[async_trait]
impl Connector for Server {
    async fn connect(&self, _: mpsc::Sender<Event>) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Err(down())
    }
}

fn down() -> UpstreamError {
    UpstreamError::Unreachable("it is away".to_owned())
}

fn link() -> Arc<ServerConnection> {
    let initialized = Message::notification("notifications/initialized", None);
    let handshake = Handshake {
        method: "initialize",
        params: Bytes::from_static(b"{}"),
        initialized: parking_lot::Mutex::new(Some(initialized)),
        is_again: false,
    };
    Arc::new(ServerConnection {
        server: 0,
        name: "server".into(),
        client: Weak::new(),
        stateless: false,
        abandons: false,
        is_http: false,
        needs: Needs::PROCESS,
        gives_back: true,
        connector: Arc::new(Server::default()),
        handshake,
        phase: watch::Sender::new(Phase::Opening),
        start_timeout: Duration::MAX,
        timeout: None,
        max_bytes: 1 << 20,
        withholds: false,
        state: Mutex::new(State::default()),
        over: watch::Sender::new(0),
        clock: Notify::new(),
        woken: Notify::new(),
        metrics: Arc::default(),
        has_dropped: AtomicBool::new(false),
    })
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Answered,
    NotSent,
    MayHaveRun,
    Withdrawn,
}

fn end(answer: Answer) -> End {
    match answer {
        Ok(_) => End::Answered,
        Err(Failure::Unavailable(_, UpstreamError::OutcomeUnknown { .. })) => End::MayHaveRun,
        Err(failure) if failure.reason() == cancelled().reason() => End::Withdrawn,
        Err(Failure::Unavailable(..)) => End::NotSent,
        Err(error) => panic!("{error:?}"),
    }
}

/// Asks by this method, and waits for the end.
fn ask(link: &Arc<ServerConnection>, method: &'static str) -> thread::JoinHandle<End> {
    let link = Arc::clone(link);
    thread::spawn(move || {
        block_on(async {
            let answer = link.ask(Some(1), method, None).await;
            end(answer.await)
        })
    })
}

impl Server {
    fn methods(&self) -> Vec<String> {
        let messages = self.0.lock();
        let methods = messages.iter().filter_map(|message| message.method());
        methods.map(str::to_owned).collect()
    }

    /// Answers what it was handed over, once. Whether there was anything.
    fn answer(&self, link: &ServerConnection) -> bool {
        let messages = self.0.lock().clone();
        let mut has_answered = false;
        for message in messages {
            let waiting = message.id().and_then(|id| link.take(id, Outcome::Result));
            if let Some(PendingReply::Inner { answer, .. }) = waiting {
                let _ = answer.send(Ok(Bytes::from_static(b"{}")));
                has_answered = true;
            }
        }
        has_answered
    }
}

/// What must hold in the end, when these servers were connected one after the other.
fn check(link: &ServerConnection, servers: &[Arc<Server>], ends: &[(&str, End)]) {
    let methods: Vec<Vec<String>> = servers.iter().map(|server| server.methods()).collect();
    for (method, end) in ends {
        let times = methods.iter().flatten().filter(|one| one == method).count();
        assert!(times <= 1, "{method} was handed over {times} times");
        match end {
            End::Answered => assert_eq!(times, 1, "{method}"),
            End::NotSent => assert_eq!(times, 0, "{method} was handed over, and called unsent"),
            End::MayHaveRun | End::Withdrawn => {}
        }
    }
    for methods in methods {
        let greetings = methods
            .iter()
            .filter(|one| one.starts_with("notif"))
            .count();
        let greeted_first = methods.first().is_none_or(|one| one.starts_with("notif"));
        assert!(greeted_first && greetings <= 1, "{methods:?}");
    }
    let state = link.state.lock();
    assert!(state.is_quiet() && state.in_hand.is_none());
    assert_eq!(state.queued_bytes, 0);
}

#[test]
fn a_connection_that_ends_tells_every_request_what_became_of_it() {
    explore(|| {
        let link = link();
        let servers = [(); 2].map(|()| Arc::<Server>::default());
        let asked = ["a", "b"].map(|method| ask(&link, method));
        block_on(async {
            link.open(servers[0].clone()).await;
            link.down(Phase::Down(down())).await;
            link.open(servers[1].clone()).await;
            servers[1].answer(&link);
            link.down(Phase::Closed).await;
        });
        let [a, b] = asked.map(|end| end.join().unwrap());
        // Whoever still hands over finds out.
        join_tasks();
        check(&link, &servers, &[("a", a), ("b", b)]);
    });
}

#[test]
fn what_is_asked_of_a_server_that_is_away_fails_at_once() {
    explore(|| {
        let link = link();
        let server = Arc::<Server>::default();
        block_on(link.open(server.clone()));
        let asked = ask(&link, "a");
        block_on(link.down(Phase::Down(down())));
        // It stays away.
        let a = asked.join().unwrap();
        assert!([End::NotSent, End::MayHaveRun].contains(&a));
        join_tasks();
        check(&link, &[server], &[("a", a)]);
    });
}

#[test]
fn a_process_that_rests_begins_again_for_whoever_asks() {
    explore(|| {
        let link = link();
        let handed = Arc::<Notify>::default();
        let server = || Arc::new(Server(Mutex::default(), Arc::clone(&handed)));
        let servers = [server(), server()];
        block_on(link.open(servers[0].clone()));
        let rests = {
            let link = Arc::clone(&link);
            thread::spawn(move || link.rest())
        };
        let asked = ask(&link, "a");
        // The life of the connection.
        let lives = {
            let (link, servers) = (Arc::clone(&link), servers.clone());
            thread::spawn(move || {
                rests.join().unwrap();
                block_on(async {
                    if link.has_no_connection() {
                        link.used().await;
                        link.open(servers[1].clone()).await;
                    }
                    while !servers.iter().any(|server| server.answer(&link)) {
                        handed.notified().await;
                    }
                });
            })
        };
        let a = asked.join().unwrap();
        assert_eq!(a, End::Answered);
        lives.join().unwrap();
        block_on(link.down(Phase::Closed));
        check(&link, &servers, &[("a", a)]);
    });
}

#[test]
fn what_is_withdrawn_before_it_was_handed_over_never_is() {
    explore(|| {
        let link = link();
        let server = Arc::<Server>::default();
        let answer = block_on(link.ask(Some(1), "a", None));
        let withdraws = {
            let link = Arc::clone(&link);
            thread::spawn(move || link.withdraw(1))
        };
        block_on(link.open(server.clone()));
        let sent = withdraws.join().unwrap();
        join_tasks();
        assert_eq!(end(block_on(answer)), End::Withdrawn);
        let was_handed_over = server.methods().iter().any(|method| method == "a");
        assert!(!was_handed_over || sent.len() == 1);
        block_on(link.down(Phase::Closed));
        check(&link, &[server], &[("a", End::Withdrawn)]);
    });
}

#[test]
fn what_one_client_sends_keeps_its_order() {
    explore(|| {
        let link = link();
        let server = Arc::<Server>::default();
        let sends = {
            let link = Arc::clone(&link);
            thread::spawn(move || {
                block_on(async {
                    for method in ["1", "2"] {
                        link.send(Message::notification(method, None)).await;
                    }
                    drop(link.ask(Some(1), "3", None).await);
                });
            })
        };
        let other = {
            let link = Arc::clone(&link);
            thread::spawn(move || block_on(link.send(Message::notification("x", None))))
        };
        block_on(link.open(server.clone()));
        sends.join().unwrap();
        other.join().unwrap();
        join_tasks();
        let methods = server.methods();
        assert_eq!(methods.len(), 5);
        let of_one: Vec<&str> = methods[1..]
            .iter()
            .map(String::as_str)
            .filter(|method| *method != "x")
            .collect();
        assert_eq!(of_one, ["1", "2", "3"]);
        block_on(link.down(Phase::Closed));
        check(&link, &[server], &[("3", End::MayHaveRun)]);
    });
}

#[test]
fn an_answer_reaches_the_connection_that_asked_or_none() {
    explore(|| {
        let link = link();
        let servers = [(); 2].map(|()| Arc::<Server>::default());
        block_on(link.open(servers[0].clone()));
        let connection = link.connection();
        let answers = {
            let link = Arc::clone(&link);
            thread::spawn(move || {
                block_on(link.reply(Message::notification("answer", None), connection));
            })
        };
        block_on(async {
            link.renew().await;
            link.open(servers[1].clone()).await;
        });
        answers.join().unwrap();
        join_tasks();
        assert!(!servers[1].methods().iter().any(|method| method == "answer"));
        block_on(link.down(Phase::Closed));
        check(&link, &servers, &[]);
    });
}

#[test]
fn what_came_back_is_sent_again_and_answered() {
    explore(|| {
        let link = link();
        let handed = Arc::<Notify>::default();
        let server = || Arc::new(Server(Mutex::default(), Arc::clone(&handed)));
        let servers = [server(), server()];
        block_on(link.open(servers[0].clone()));
        let asked = ask(&link, "a");
        block_on(async {
            let sent = || {
                let messages = servers[0].0.lock();
                let mut messages = messages.iter();
                messages.find(|one| one.method() == Some("a")).cloned()
            };
            let sent = loop {
                match sent() {
                    Some(sent) => break sent,
                    None => handed.notified().await,
                }
            };
            // The server says that it does not know the session, before it is known that it was handed over.
            link.returned(sent, Vec::new()).await;
            link.renew().await;
            link.open(servers[1].clone()).await;
            while !servers[1].answer(&link) {
                handed.notified().await;
            }
        });
        assert_eq!(asked.join().unwrap(), End::Answered);
        join_tasks();
        block_on(link.down(Phase::Closed));
        check(&link, &servers, &[]);
    });
}
