use super::*;
use crate::{
    budget::Budget,
    message::Kind,
    metrics::{Metrics, families},
    principal::Principal,
};
use bytes::Bytes;
use proptest::prelude::*;
use std::{fs, future::Future, task::Poll};

/// A shell that is a server, and what it says.
struct Server {
    upstream: Arc<dyn Upstream>,
    events: mpsc::Receiver<Event>,
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn shell(script: &str) -> StdioConnector {
    StdioConnector {
        environment: [("PATH".to_owned(), PATH.to_owned())].into(),
        grace: Duration::from_millis(100),
        ..StdioConnector::new("shell", "sh", ["-c", script])
    }
}

async fn start(connector: &StdioConnector) -> Server {
    let (sender, events) = mpsc::channel(16);
    let upstream = connector.connect(sender).await.unwrap();
    Server { upstream, events }
}

impl Server {
    async fn next(&mut self) -> String {
        let event = self.events.recv().await.expect("an event");
        say(&event)
    }

    /// Everything to the end, which must be one.
    async fn rest(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        while let Some(event) = self.events.recv().await {
            said.push(say(&event));
        }
        said
    }

    async fn send(&self, text: &str) -> Result<(), UpstreamError> {
        let message = Message::parse(text.to_owned()).unwrap();
        self.upstream.send(message, &[]).await
    }
}

fn say(event: &Event) -> String {
    match event {
        Event::Message { message, .. } => String::from_utf8_lossy(&message.to_bytes()).into_owned(),
        Event::Failed { id, error } => format!("failed {id}: {error}"),
        Event::Returned { .. } => panic!("a process has no sessions"),
        Event::Closed(error) => format!("closed: {error}"),
    }
}

/// What a server says that is this script, to its end.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let script = script.to_owned();
    let connector = StdioConnector {
        limit: 1 << 20,
        ..shell(&script)
    };
    let said = run(async move { start(&connector).await.rest().await });
    assert_eq!(said, expected);
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Whether a process runs; one that has ended and that nobody waited for does not.
fn runs(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// Waits until a process that was killed has gone: the system takes a moment to see to a signal.
fn gone(process: &str) {
    while runs(process) {
        std::thread::yield_now();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// `cat` gives back what it gets: everything, as it was, in order, however much of it there is at once.
    #[test]
    fn what_is_sent_arrives_in_order(sizes in prop::collection::vec(0_usize..200_000, 1..40)) {
        run(async {
            let mut server = start(&shell("exec cat")).await;
            let sent: Vec<String> = (0_u64..).zip(&sizes).map(|(number, size)| {
                let params = format!(r#"{{"text":"{}"}}"#, "x".repeat(*size)).into();
                let message = Message::request(&Id::number(number), "echo", Some(&params));
                String::from_utf8(message.to_bytes().to_vec()).unwrap()
            }).collect();
            let upstream = Arc::clone(&server.upstream);
            let texts = sent.clone();
            let sending = tokio::spawn(async move {
                for text in texts {
                    upstream.send(Message::parse(text).unwrap(), &[]).await.unwrap();
                }
            });
            for text in &sent {
                assert!(server.next().await == *text);
            }
            sending.await.unwrap();
            server.upstream.close().await;
            assert_eq!(server.rest().await, ["closed: the server has ended: exit status: 0"]);
        });
    }
}

#[test]
fn a_message_is_one_line_whatever_it_was() {
    run(async {
        let mut server = start(&shell("exec cat")).await;
        let text = "{\"jsonrpc\": \"2.0\",\r\n \"method\": \"a\\nb\"\n}";
        let message = Message::parse(text).unwrap();
        let edited = message.with_body("{\n}");
        server.upstream.send(edited, &[]).await.unwrap();
        let said = server.next().await;
        assert_eq!(said, r#"{"jsonrpc":"2.0","method":"a\nb","params":{ }}"#);
        server.send(text).await.unwrap();
        let said = server.next().await;
        assert_eq!(said, "{\"jsonrpc\": \"2.0\",   \"method\": \"a\\nb\" }");
    });
}

#[test]
fn what_is_no_message_is_passed_over() {
    let note = r#"{"jsonrpc":"2.0","method":"m"}"#;
    check(
        &format!(
            "echo Listening…; echo; printf '\\033[2Jx\\n\\377\\n[1,\\n'; echo '{note}'; exit 3"
        ),
        &[note, "closed: the server has ended: exit status: 3"],
    );
}

#[test]
fn what_is_no_message_is_counted() {
    let metrics = Metrics::new();
    let script =
        "echo text; echo '[1,'; echo '{\"jsonrpc\":\"2.0\",\"method\":\"m\"}'; echo '{\"id\":7}'";
    let connector = StdioConnector {
        no_messages: metrics.counter(families::NO_MESSAGES, &["shell"]),
        ..shell(script)
    };
    run(async { start(&connector).await.rest().await });
    let text = metrics.text();
    let count = "crossfeed_server_invalid_messages_total{server=\"shell\"} 3\n";
    assert!(text.contains(count), "{text}");
}

#[test]
fn a_request_whose_answer_is_no_message_is_told() {
    let invalid =
        "failed 7: the request may have run: the server sent an invalid JSON-RPC message: ";
    for (line, reason) in [
        (
            r#"{"id":7,"result":NaN,"jsonrpc":"2.0"}"#,
            "not valid JSON: ",
        ),
        (
            r#"{"id":7,"result":1}"#,
            "not a valid JSON-RPC 2.0 message: `jsonrpc` is not",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7}"#,
            "not a valid JSON-RPC 2.0 message: it is neither a request",
        ),
    ] {
        let said = run(async { start(&shell(&format!("echo '{line}'"))).await.rest().await });
        assert!(
            said[0].starts_with(&format!("{invalid}{reason}")),
            "{said:?}"
        );
        assert_eq!(said.len(), 2);
    }
}

#[test]
fn a_request_of_the_server_that_is_no_message_is_answered() {
    check(
        r#"echo '{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":.5}}'
        read -r answer; case "$answer" in *'"id":7,"error"'*-32700*) exit 0;; *) exit 1;; esac"#,
        &["closed: the server has ended: exit status: 0"],
    );
}

#[test]
fn half_a_message_at_the_end_is_said() {
    check(
        r#"printf '{"jsonrpc":"2.0","id":1,"resu'; exit 1"#,
        &["closed: the server has ended: exit status: 1, in the middle of a message"],
    );
    let whole = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    check(
        &format!("printf '{whole}'"),
        &[whole, "closed: the server has ended: exit status: 0"],
    );
}

#[test]
fn a_line_beyond_the_limit_fails_its_request_only() {
    let note = r#"{"jsonrpc":"2.0","method":"m"}"#;
    check(
        &format!(
            r#"printf '{{"jsonrpc":"2.0","result":{{"id":1,"text":"'
            head -c 200000000 /dev/zero | tr '\0' x
            printf '"}},"id":"seven"}}\n'; echo '{note}'"#
        ),
        &[
            r#"failed "seven": the request may have run: a message of more than 1048576 bytes"#,
            note,
            "closed: the server has ended: exit status: 0",
        ],
    );
}

/// The request that a line answers is told; a notification that finds no room is passed over.
#[test]
fn a_line_without_room_in_the_budget_fails_its_request_only() {
    let note = r#"{"jsonrpc":"2.0","method":"m"}"#;
    let script = format!(
        r#"say() {{ printf "$1"; head -c 300000 /dev/zero | tr '\0' x; printf "$2\n"; }}
        say '{{"jsonrpc":"2.0","method":"m","params":"' '"}}'
        say '{{"jsonrpc":"2.0","result":{{"id":1,"text":"' '"}},"id":"seven"}}'
        echo '{note}'"#
    );
    // No line of this length ever fits in, so that none waits for room.
    let budget = Budget::new(10_000, 1, 0, &Metrics::new());
    let account = budget.account(&Principal::Local);
    let said = run(async {
        let connector = shell(&script).charged_to(&account).unwrap();
        let (sender, events) = mpsc::channel(16);
        let upstream = connector.connect(sender).await.unwrap();
        Server { upstream, events }.rest().await
    });
    let failed = "failed \"seven\": the request may have run: the server answered, and the gateway has no \
                  memory for the answer now";
    let end = "closed: the server has ended: exit status: 0";
    assert_eq!(said, [failed, note, end]);
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_message_beyond_the_limit_is_not_sent() {
    run(async {
        let connector = StdioConnector {
            limit: 40,
            ..shell("exec cat")
        };
        let server = start(&connector).await;
        let sent = server
            .send(r#"{"jsonrpc":"2.0","method":"xxxxxxxxxxxxxxxxx"}"#)
            .await;
        assert_eq!(sent, Err(UpstreamError::TooLarge { limit: 40 }));
    });
}

#[test]
fn a_server_that_dies_in_a_call_says_how() {
    run(async {
        let mut server = start(&shell("read -r line; kill -SEGV $$")).await;
        server
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
            .await
            .unwrap();
        let said = server.rest().await;
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("closed: the server has ended: signal: 11"),
            "{said:?}"
        );
        let sent = server
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
            .await;
        assert_eq!(sent.unwrap_err().code().as_str(), "upstream.unavailable");
    });
}

#[test]
fn what_cannot_be_started_says_why() {
    for (connector, reason) in [
        (
            StdioConnector::new("s", "no-such-program", [""; 0]),
            "there is no program where its `command` says",
        ),
        (
            StdioConnector {
                directory: Some("/no/such/directory".into()),
                ..shell("true")
            },
            "there is no directory where its `cwd` says",
        ),
        (
            StdioConnector::new("s", "/etc/passwd", [""; 0]),
            "its `command` cannot be started: Permission denied (os error 13)",
        ),
    ] {
        let (events, _) = mpsc::channel(1);
        let error = run(connector.connect(events)).err().unwrap();
        let reason = reason.to_owned();
        assert_eq!(error, UpstreamError::Unreachable(reason));
    }
}

/// It neither reads nor lets itself be asked: it is killed, and so is what it has started.
#[test]
fn a_process_that_does_not_want_to_end_is_ended_with_its_children() {
    let script = r#"trap '' TERM; sleep 1000 & echo "{\"jsonrpc\":\"2.0\",\"method\":\"$$ $!\"}"
        while :; do wait; done"#;
    run(async {
        let mut server = start(&shell(script)).await;
        let said = server.next().await;
        let message = Message::parse(said).unwrap();
        let (parent, child) = message.method().unwrap().split_once(' ').unwrap();
        assert!(runs(parent) && runs(child));
        server.upstream.close().await;
        assert!(!runs(parent));
        let said = server.rest().await;
        assert_eq!(said, ["closed: the server has ended: signal: 9 (SIGKILL)"]);
        gone(child);
    });
}

#[test]
fn a_signal_reaches_what_a_process_has_started() {
    let script = r#"(trap 'echo "{\"jsonrpc\":\"2.0\",\"method\":\"asked\"}"; exit' TERM
        echo '{"jsonrpc":"2.0","method":"begun"}'
        while :; do sleep 1000; done) & wait"#;
    run(async {
        let mut server = start(&shell(script)).await;
        assert!(server.next().await.contains("begun"));
        server.upstream.close().await;
        let said = server.rest().await;
        assert!(said.iter().any(|said| said.contains("asked")), "{said:?}");
    });
}

#[test]
fn a_process_ends_with_its_connection_or_with_the_runtime() {
    let script = r#"sleep 1000 & echo "{\"jsonrpc\":\"2.0\",\"method\":\"$!\"}"; exec sleep 1000"#;
    let process = |message: String| {
        Message::parse(message)
            .unwrap()
            .method()
            .unwrap()
            .to_owned()
    };
    run(async {
        let mut server = start(&shell(script)).await;
        let child = process(server.next().await);
        drop(server.upstream);
        let Some(Event::Closed(_)) = server.events.recv().await else {
            panic!()
        };
        gone(&child);
    });
    let child = run(async {
        let mut server = start(&shell(script)).await;
        process(server.next().await)
    });
    gone(&child);
}

/// A server that writes without end and never reads: who sends waits, who reads goes on.
#[test]
fn a_flood_does_not_depend_on_what_is_sent() {
    run(async {
        let note = r#"{"jsonrpc":"2.0","method":"m"}"#;
        let mut server = start(&shell(&format!("exec yes '{note}'"))).await;
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(1 << 20));
        server.send(&text).await.unwrap();
        let mut waiting = Box::pin(server.send(note));
        assert!(poll_once(&mut waiting).await.is_pending());
        drop(waiting);
        for _ in 0..20_000 {
            assert_eq!(server.next().await, note);
        }
        // It writes on while it is ended, and nobody takes what it writes.
        server.upstream.close().await;
    });
}

async fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
    std::future::poll_fn(|context| Poll::Ready(std::pin::Pin::new(&mut *future).poll(context)))
        .await
}

/// Whoever gives up while a message waits for room has sent nothing; whoever gives up later has sent all.
#[test]
fn a_sender_that_gives_up_leaves_no_half_line() {
    run(async {
        let mut server = start(&shell("read -r go <&0; exec cat")).await;
        let text = |name: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"{name}{}"}}"#,
                "x".repeat(300_000)
            )
        };
        server.send(&text("first")).await.unwrap();
        let (second, third) = (text("second"), text("third"));
        let mut waiting = Box::pin(server.send(&second));
        assert!(poll_once(&mut waiting).await.is_pending());
        drop(waiting);
        let upstream = Arc::clone(&server.upstream);
        let message = Message::parse(third.clone()).unwrap();
        let mut waiting = upstream.send(message, &[]);
        assert!(poll_once(&mut waiting).await.is_pending());
        let (sent, said) = tokio::join!(waiting, server.events.recv());
        sent.unwrap();
        // The first went to `read`.
        assert!(say(&said.unwrap()) == third);
    });
}

#[test]
fn a_child_has_the_environment_that_it_was_given_and_no_more() {
    let own = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    run(async {
        let inherited = own(&[
            ("HOME", "/its/own"),
            ("LANG", "C"),
            ("OTHER_TOKEN", "secret"),
        ]);
        // Cargo tells every test its directory: it stands for what the gateway's own process has.
        let script = r#"pwd=$(pwd); echo "{\"jsonrpc\":\"2.0\",\"method\":\"$HOME $LANG $OTHER_TOKEN$CARGO_MANIFEST_DIR $MINE $pwd\"}""#;
        let connector = StdioConnector {
            environment: environment(
                &own(&[("LANG", "de"), ("MINE", "mine"), ("PATH", PATH)]),
                &inherited,
            ),
            directory: Some("/".into()),
            ..shell(script)
        };
        let said = start(&connector).await.next().await;
        assert_eq!(said, r#"{"jsonrpc":"2.0","method":"/its/own de  mine /"}"#);
    });
}

#[test]
fn kinds_of_messages_of_a_server_are_read() {
    run(async {
        let mut server = start(&shell(r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'"#)).await;
        let Some(Event::Message {
            message,
            related: None,
        }) = server.events.recv().await
        else {
            panic!()
        };
        assert_eq!(message.kind(), Kind::Response);
    });
}

/// Of a server that does not read, the requests that wait are known, and nothing of them goes.
#[test]
fn what_was_not_written_when_a_process_ends_was_not_sent() {
    use tokio::io::AsyncReadExt as _;
    run(async {
        let (pipe, mut server) = pipe::pipe().unwrap();
        let outbox = Arc::new(Outbox::new(pipe));
        let writer = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.run().await }
        });
        let params = Bytes::from(format!("\"{}\"", "x".repeat(4000)));
        let mut read = Vec::new();
        let mut taken = 0;
        while outbox.unsent().len() < 3 {
            let message = Message::request(&Id::number(taken), "m", Some(&params));
            outbox.send(&message).await.unwrap();
            if taken == 0 {
                read.push(server.read_u8().await.unwrap());
            }
            taken += 1;
            tokio::task::yield_now().await;
        }
        let unsent = outbox.unsent();
        outbox.close();
        writer.abort();
        drop(writer.await);
        assert_eq!(outbox.unsent(), unsent);
        server.read_to_end(&mut read).await.unwrap();
        let read = String::from_utf8(read).unwrap();
        for number in 0..taken {
            let id = Id::number(number);
            let was_written = read.contains(&format!("\"id\":{id},"));
            assert_eq!(was_written, !unsent.contains(&id), "{number} of {taken}");
        }
    });
}

#[test]
fn an_answer_that_is_cut_at_any_byte_is_none() {
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"text":"ä"}}"#;
    for end in 0..=answer.len() {
        let part: String = answer.as_bytes()[..end]
            .iter()
            .map(|byte| format!("\\{byte:03o}"))
            .collect();
        run(async {
            let mut server = start(&shell(&format!("read line; printf '{part}'"))).await;
            server
                .send(r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#)
                .await
                .unwrap();
            let said = server.rest().await;
            // What is handed over and has no answer when the connection is over may have run.
            let reason = match end {
                0 => "closed: the server has ended: exit status: 0".to_owned(),
                _ if end == answer.len() => {
                    assert_eq!(said[0], answer);
                    "closed: the server has ended: exit status: 0".to_owned()
                }
                _ => "closed: the server has ended: exit status: 0, in the middle of a message"
                    .to_owned(),
            };
            assert_eq!(said.last(), Some(&reason), "{end}");
            assert_eq!(said.len(), if end == answer.len() { 2 } else { 1 });
        });
    }
}
