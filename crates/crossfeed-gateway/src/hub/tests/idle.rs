//! Processes that are not used: given back, begun again, and shared.

use super::fake::{INITIALIZE, Server, World, message};
use crate::{
    config::{ListenConfig, TokenConfig},
    message::Message,
    port::{Crowded, Disconnected, Hub, HubClient, MessageSink},
    principal::Principal,
};
use async_trait::async_trait;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Mutex, mpsc};

/// A client of HTTP: it reads what is for it, or not.
struct Reader {
    to: mpsc::UnboundedSender<Message>,
    is_read: AtomicBool,
}

#[async_trait]
impl MessageSink for Reader {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        self.to.send(message).map_err(|_| Disconnected)
    }

    fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }
}

struct Session {
    client: Arc<dyn HubClient>,
    reader: Arc<Reader>,
    inbox: Mutex<mpsc::UnboundedReceiver<Message>>,
}

impl Session {
    fn of(world: &World, name: &str) -> Self {
        let (to, inbox) = mpsc::unbounded_channel();
        let is_read = AtomicBool::new(false);
        let reader = Arc::new(Reader { to, is_read });
        let principal = Principal::Named(name.to_owned());
        Self {
            client: Arc::clone(&world.gateway).connect(principal, reader.clone()),
            reader,
            inbox: Mutex::new(inbox),
        }
    }

    async fn send(&self, text: &str) {
        let reply = self.reader.clone();
        Arc::clone(&self.client).receive(message(text), reply).await;
    }

    async fn ask(&self, id: u32, method: &str) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"u:x","level":"info"}}}}"#
        );
        self.send(&text).await;
    }

    async fn next(&self) -> String {
        let mut inbox = self.inbox.lock().await;
        let next = tokio::time::timeout(Duration::from_secs(5), inbox.recv()).await;
        let next = next.expect("nothing came").expect("closed");
        String::from_utf8(next.to_bytes().to_vec()).unwrap()
    }

    /// A session that has begun, with one server.
    async fn begun(world: &World, name: &str) -> (Self, Server) {
        let session = Self::of(world, name);
        Arc::clone(&session.client).reserve().await.unwrap();
        session.send(INITIALIZE).await;
        let mut server = world.server(0).await;
        server.begin(CAPABILITIES).await;
        let answer = session.next().await;
        assert!(answer.contains("protocolVersion"), "{answer}");
        session
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        server.expect("notifications/initialized").await;
        (session, server)
    }

    /// A request that the server answers.
    async fn asked(&self, server: &mut Server, id: u32, method: &str) {
        self.ask(id, method).await;
        let request = server.expect(method).await;
        server.answer(&request, "{}").await;
        assert!(self.next().await.contains("result"));
    }
}

const CAPABILITIES: &str = r#"{"logging":{},"resources":{"subscribe":true}}"#;

fn processes(world: &World) -> usize {
    world.gateway.quotas().used().processes
}

/// Waits until that many run.
async fn until(world: &World, count: usize) {
    let is_so = async {
        while processes(world) != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let is_so = tokio::time::timeout(Duration::from_secs(30), is_so).await;
    assert!(is_so.is_ok(), "{} run", processes(world));
}

/// A long time passes, in which it is looked as often as the gateway does.
async fn pass(world: &World, seconds: u64) {
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.gateway.give_back();
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_not_used_is_given_back_and_begun_again() {
    let world = World::new(&["one"]);
    let (session, mut server) = Session::begun(&world, "ann").await;
    session.asked(&mut server, 1, "logging/setLevel").await;
    session.asked(&mut server, 2, "resources/subscribe").await;
    pass(&world, 58).await;
    assert_eq!(processes(&world), 1);
    pass(&world, 4).await;
    until(&world, 0).await;
    assert!(server.inbox.recv().await.is_none());
    assert_eq!(world.gateway.health()[0].idle, 1);
    // Nothing is begun for what a server need not know.
    session
        .send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .await;
    assert!(world.try_server(0).await.is_none());

    session.ask(3, "resources/read").await;
    let mut server = world.server(0).await;
    server.begin(CAPABILITIES).await;
    server.expect("notifications/initialized").await;
    let mut methods = Vec::new();
    for _ in 0..3 {
        let request = server.next().await;
        methods.push(request.method().unwrap().to_owned());
        server.answer(&request, r#"{"again":true}"#).await;
    }
    methods.sort_unstable();
    assert_eq!(
        methods,
        ["logging/setLevel", "resources/read", "resources/subscribe"]
    );
    // It is the same server: only the answer comes.
    assert!(session.next().await.contains("again"));
    assert!(session.inbox.lock().await.try_recv().is_err());
    assert_eq!(processes(&world), 1);
    session.client.close().await;
    until(&world, 0).await;
}

#[tokio::test(start_paused = true)]
async fn who_may_need_its_process_keeps_it() {
    let world = World::new(&["one"]);
    // One that listens; one whose request runs; one that called a tool, for ten minutes.
    let (listens, _first) = Session::begun(&world, "ann").await;
    listens.reader.is_read.store(true, Ordering::Relaxed);
    let (asks, mut second) = Session::begun(&world, "ann").await;
    asks.ask(1, "resources/read").await;
    second.expect("resources/read").await;
    let (calls, mut third) = Session::begun(&world, "ann").await;
    calls
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let called = third.expect("tools/call").await;
    third.refuse(&called, -32601).await;
    calls.next().await;
    assert!(third.is_quiet());
    pass(&world, 590).await;
    assert_eq!(processes(&world), 3);
    pass(&world, 15).await;
    until(&world, 2).await;
    assert!(third.inbox.recv().await.is_none());
    listens.reader.is_read.store(false, Ordering::Relaxed);
    pass(&world, 1).await;
    until(&world, 1).await;
    assert!(second.is_quiet());

    let world = World::with(&["one"], |config| config.servers[0].keep = true);
    let (_kept, _server) = Session::begun(&world, "ann").await;
    pass(&world, 700).await;
    assert_eq!(processes(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_changed_meanwhile_is_announced() {
    let world = World::new(&["one"]);
    let (session, _server) = Session::begun(&world, "ann").await;
    pass(&world, 61).await;
    until(&world, 0).await;
    session.ask(1, "resources/read").await;
    let mut server = world.server(0).await;
    server.begin(r#"{"resources":{}}"#).await;
    let said = session.next().await;
    assert!(
        said.contains("notifications/resources/list_changed"),
        "{said}"
    );
}

fn of_two_holders(processes: usize) -> World {
    World::with(&["one"], |config| {
        config.limits.processes = processes;
        let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
        listen.tokens = vec![
            TokenConfig::new("ann", "a".repeat(16)),
            TokenConfig::new("bob", "b".repeat(16)),
        ];
        config.listen = Some(listen);
    })
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_used_makes_room_for_another() {
    let world = of_two_holders(4);
    let (one, mut first) = Session::begun(&world, "ann").await;
    let (two, mut second) = Session::begun(&world, "ann").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    one.asked(&mut first, 1, "resources/read").await;
    // It has its share: its own session that was not used for longest gives its process back.
    let (three, mut third) = Session::begun(&world, "ann").await;
    assert!(second.inbox.recv().await.is_none());
    assert_eq!(processes(&world), 2);
    // All of its sessions work: it is refused, and nothing is started.
    one.ask(2, "resources/read").await;
    three.ask(2, "resources/read").await;
    let read = first.expect("resources/read").await;
    third.expect("resources/read").await;
    let four = Session::of(&world, "ann");
    let crowded = Err(Crowded { what: "processes" });
    assert_eq!(four.client.reserve().await, crowded);
    assert!(world.try_server(0).await.is_none());
    // Others have their share.
    let (_five, _fifth) = Session::begun(&world, "bob").await;
    assert_eq!(processes(&world), 3);

    // What was given back cannot begin now, and says so; later it can.
    two.ask(3, "resources/read").await;
    let refused = two.next().await;
    assert!(refused.contains("limit.exceeded"), "{refused}");
    first.answer(&read, "{}").await;
    assert!(one.next().await.contains("result"));
    two.ask(4, "resources/read").await;
    let mut again = world.server(0).await;
    again.begin(CAPABILITIES).await;
    again.expect("notifications/initialized").await;
    let read = again.expect("resources/read").await;
    again.answer(&read, "{}").await;
    assert!(two.next().await.contains("result"));
    assert_eq!(processes(&world), 3);
}

#[tokio::test(start_paused = true)]
async fn descriptors_bound_sessions_as_processes_do() {
    // Half of them for connections of clients: two processes.
    let world = World::with(&["one"], |config| config.limits.descriptors = 16);
    let (_one, mut first) = Session::begun(&world, "ann").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (two, mut second) = Session::begun(&world, "ann").await;
    let (three, mut third) = Session::begun(&world, "ann").await;
    assert!(first.inbox.recv().await.is_none());
    assert_eq!(world.gateway.quotas().used().descriptors, 8);
    two.ask(1, "resources/read").await;
    second.expect("resources/read").await;
    three.ask(1, "resources/read").await;
    third.expect("resources/read").await;
    let four = Session::of(&world, "ann");
    let crowded = Err(Crowded {
        what: "descriptors",
    });
    assert_eq!(four.client.reserve().await, crowded);
}

#[tokio::test(start_paused = true)]
async fn room_comes_back_whichever_way_a_session_ends() {
    let world = of_two_holders(4);
    let unused = Session::of(&world, "ann");
    Arc::clone(&unused.client).reserve().await.unwrap();
    assert_eq!(processes(&world), 1);
    unused.client.close().await;
    until(&world, 0).await;

    let unused = Session::of(&world, "ann");
    Arc::clone(&unused.client).reserve().await.unwrap();
    drop(unused);
    until(&world, 0).await;

    // The server ends; one that cannot be started.
    let (session, server) = Session::begun(&world, "ann").await;
    world.fakes[0].is_down.store(true, Ordering::Relaxed);
    drop(server);
    until(&world, 0).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(processes(&world), 0);
    session.client.close().await;

    // One that takes its time to end has its place as long.
    world.fakes[0].is_down.store(false, Ordering::Relaxed);
    let (session, _server) = Session::begun(&world, "ann").await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    let closing = tokio::spawn(async move { session.client.close().await });
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(processes(&world), 1);
    closing.await.unwrap();
    until(&world, 0).await;
    assert_eq!(world.gateway.quotas().used().descriptors, 0);
}

/// A request without a session, of a client that calls itself so.
fn stateless(id: u32, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"u:x","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}}}}}}}"#
    )
}

/// The next session behind a bridge, and the request that it was begun for.
async fn bridged(world: &World) -> (Server, Message) {
    let mut server = world.server(0).await;
    server.begin(CAPABILITIES).await;
    server.expect("notifications/initialized").await;
    let read = server.expect("resources/read").await;
    (server, read)
}

#[tokio::test(start_paused = true)]
async fn every_session_behind_a_bridge_takes_room() {
    let world = World::with(&["one"], |config| config.limits.processes = 2);
    let client = world.stateless();
    client.send(&stateless(1, "ann")).await;
    let mut probed = world.server(0).await;
    let probe = probed.expect("server/discover").await;
    probed.refuse(&probe, -32601).await;
    // Lists are read in a session of the gateway's own.
    let mut own = world.server(0).await;
    own.begin(CAPABILITIES).await;
    let (first, read) = bridged(&world).await;
    assert_eq!(processes(&world), 2);
    assert_eq!(world.gateway.health()[0].open, 2);

    // It takes the place of the one that is not used.
    own.expect("notifications/initialized").await;
    client.send(&stateless(2, "bob")).await;
    let (second, _) = bridged(&world).await;
    assert!(own.inbox.recv().await.is_none());
    assert_eq!(processes(&world), 2);

    // Both are used.
    client.send(&stateless(3, "cat")).await;
    let refused = client.next().await;
    assert!(refused.contains("limit.exceeded"), "{refused}");
    assert!(world.try_server(0).await.is_none());
    assert_eq!(processes(&world), 2);

    // Those that run go on, and everything comes back.
    first.answer(&read, "{}").await;
    assert!(client.next().await.contains("result"));
    client.send(&stateless(4, "cat")).await;
    let (_third, _) = bridged(&world).await;
    assert_eq!(processes(&world), 2);
    drop(second);
    until(&world, 1).await;
    client.client.close().await;
    until(&world, 0).await;
    assert_eq!(world.gateway.quotas().used().descriptors, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_ending_already_is_waited_for() {
    let world = of_two_holders(4);
    let (one, _first) = Session::begun(&world, "ann").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (two, mut second) = Session::begun(&world, "ann").await;
    // It takes its time to end: as long the other keeps its process, though it does not use it.
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    one.client.ends();
    let closing = tokio::spawn(async move { one.client.close().await });
    let three = Session::of(&world, "ann");
    Arc::clone(&three.client).reserve().await.unwrap();
    assert!(second.is_quiet() && !second.inbox.is_closed());
    assert_eq!(world.gateway.health()[0].idle, 0);
    world.fakes[0].is_stuck.store(false, Ordering::Relaxed);
    closing.await.unwrap();

    // The same where the other is used: nothing is refused for nothing.
    two.ask(1, "resources/read").await;
    second.expect("resources/read").await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    three.client.ends();
    let closing = tokio::spawn(async move { three.client.close().await });
    let four = Session::of(&world, "ann");
    four.client.reserve().await.unwrap();
    closing.await.unwrap();
}

/// Also where another server is there at once.
#[tokio::test(start_paused = true)]
async fn a_server_that_could_not_begin_is_waited_for_once_it_can() {
    const PROMPTS: &str = r#"{"prompts":{}}"#;
    // Whether it was waited for used to be a matter of chance.
    for _ in 0..8 {
        let world = World::new(&["one", "two"]);
        world.fakes[1].is_down.store(true, Ordering::Relaxed);
        let session = Session::of(&world, "ann");
        Arc::clone(&session.client).reserve().await.unwrap();
        session.send(INITIALIZE).await;
        let mut first = world.server(0).await;
        first.begin(PROMPTS).await;
        assert!(session.next().await.contains("protocolVersion"));
        pass(&world, 70).await;
        until(&world, 0).await;
        world.fakes[1].is_down.store(false, Ordering::Relaxed);
        session.ask(1, "prompts/list").await;
        let mut second = world.server(1).await;
        second.begin(PROMPTS).await;
        let mut first = world.server(0).await;
        first.begin(PROMPTS).await;
        for (server, name) in [(&mut first, "a"), (&mut second, "b")] {
            let asked = server.expect("prompts/list").await;
            let list = format!(r#"{{"prompts":[{{"name":"{name}"}}]}}"#);
            server.answer(&asked, &list).await;
        }
        let mut said = session.next().await;
        while said.contains("list_changed") {
            said = session.next().await;
        }
        assert!(said.contains("one__a") && said.contains("two__b"), "{said}");
    }
}
