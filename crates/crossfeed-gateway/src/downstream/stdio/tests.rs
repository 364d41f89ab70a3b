use super::*;
use crate::{downstream::fake::FakeHub, message::Id};
use proptest::prelude::*;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

const LIMIT: usize = 200;

fn limits() -> Limits {
    Limits {
        message_bytes: LIMIT,
        ..Limits::default()
    }
}

/// A client, and the gateway that serves it until `stop`.
struct Served {
    hub: Arc<FakeHub>,
    input: DuplexStream,
    output: DuplexStream,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

fn served(room: usize) -> Served {
    let hub = Arc::new(FakeHub::default());
    let (input, theirs_in) = tokio::io::duplex(1 << 16);
    let (output, theirs_out) = tokio::io::duplex(room);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn({
        let hub = hub.clone();
        async move {
            let stopped = async {
                // Dropped, it never stops.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            serve(hub, theirs_in, theirs_out, &limits(), stopped).await
        }
    });
    Served {
        hub,
        input,
        output,
        stop,
        task,
    }
}

/// What a client that sends `text` and ends its input gets, and the hub that served it.
async fn answers(text: &str) -> (Vec<String>, Arc<FakeHub>) {
    let Served {
        hub,
        mut input,
        mut output,
        task,
        ..
    } = served(1 << 20);
    let written = async {
        input.write_all(text.as_bytes()).await.unwrap();
        drop(input);
    };
    let mut read = String::new();
    let (_, length) = tokio::join!(written, output.read_to_string(&mut read));
    length.unwrap();
    task.await.unwrap().unwrap();
    (read.lines().map(str::to_owned).collect(), hub)
}

fn request(id: usize, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"n": {id}}}}}"#)
}

fn answer(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n": {id}}}}}"#)
}

#[tokio::test]
async fn lines_become_messages_and_what_is_none_is_answered() {
    let check = async |line: &str, reaches: &[&str], answered: &[&str]| {
        let (answers, hub) = answers(&format!("{line}\n")).await;
        assert_eq!(hub.client(0).came(), reaches, "{line}");
        assert_eq!(answers.len(), answered.len(), "{answers:?}");
        for (answer, expected) in answers.iter().zip(answered) {
            assert!(answer.starts_with(expected), "{answer}");
        }
        assert!(hub.client(0).is_closed());
        assert_eq!(hub.client(0).principal, Principal::Local);
    };
    let call = request(5, "x");
    check(&call, &[&call], &[&answer(5)]).await;
    check(&format!("\u{feff}{call}\r"), &[&call], &[&answer(5)]).await;
    check("", &[], &[]).await;
    let note = r#"{ "jsonrpc" : "2.0", "method" : "n" }"#;
    check(note, &[note], &[]).await;
    check(
        "{\"half",
        &[],
        &[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#],
    )
    .await;
    check(
        "[]",
        &[],
        &[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600"#],
    )
    .await;
    check(
        r#"{"jsonrpc":"1.0","id":"q","method":"x"}"#,
        &[],
        &[r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32600"#],
    )
    .await;
    let notified = [
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
        &answer(6),
    ];
    let call = request(6, "notify");
    check(&call, &[&call], &notified).await;
    let asked = [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &answer(7)];
    let call = request(7, "ask");
    check(&call, &[&call], &asked).await;
}

#[tokio::test]
async fn a_line_that_is_cut_at_any_byte_reaches_no_server() {
    let call = request(5, "x");
    for end in 0..=call.len() {
        let (answers, hub) = answers(&call[..end]).await;
        let reaches: &[&str] = if end == call.len() { &[&call] } else { &[] };
        assert_eq!(hub.client(0).came(), reaches, "{end}");
        let is_answered = answers.contains(&answer(5));
        assert_eq!(is_answered, end == call.len(), "{answers:?}");
    }
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_answered() {
    let long = "y".repeat(LIMIT);
    let refused = r#""error":{"code":-32600,"message":"a message of more than 200 bytes","data":{"code":"limit.exceeded","limit":200}}}"#;
    let check = async |line: String, reaches: &[String], answered: &[String]| {
        let (answers, hub) = answers(&format!("{line}\n{}", request(1, "x"))).await;
        let mut expected = reaches.to_vec();
        // The last line has no break, and is a message nevertheless.
        expected.push(request(1, "x"));
        assert_eq!(hub.client(0).came(), expected, "{line}");
        let mut expected = answered.to_vec();
        expected.push(answer(1));
        assert_eq!(answers, expected, "{line}");
    };
    check(
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":["{long}"],"id":"a"}}"#),
        &[],
        &[format!(r#"{{"jsonrpc":"2.0","id":"a",{refused}"#)],
    )
    .await;
    check(
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":["{long}"]}}"#),
        &[],
        &[format!(r#"{{"jsonrpc":"2.0","id":null,{refused}"#)],
    )
    .await;
    // The server that asked is told.
    check(
        format!(r#"{{"jsonrpc":"2.0","id":9,"result":["{long}"]}}"#),
        &[format!(r#"{{"jsonrpc":"2.0","id":9,{refused}"#)],
        &[],
    )
    .await;
}

#[tokio::test]
async fn a_thousand_requests_at_once_are_answered_in_order() {
    let requests: Vec<String> = (0..1000).map(|id| request(id, "x")).collect();
    let (answers, hub) = answers(&requests.join("\n")).await;
    assert_eq!(hub.client(0).came(), requests);
    assert_eq!(answers, (0..1000).map(answer).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn calls_that_run_may_finish() {
    for stops in [false, true] {
        let Served {
            hub,
            mut input,
            mut output,
            stop,
            task,
        } = served(1 << 16);
        let call = request(1, "hold") + "\n";
        input.write_all(call.as_bytes()).await.unwrap();
        hub.until(|hub| hub.held() == 1).await;
        if stops {
            stop.send(()).unwrap();
        } else {
            drop(input);
        }
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(!hub.client(0).is_closed());
        hub.release().await;
        let mut read = String::new();
        output.read_to_string(&mut read).await.unwrap();
        assert_eq!(
            read,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"released\"}\n"
        );
        task.await.unwrap().unwrap();
        assert!(hub.client(0).is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_end_ends_with_the_time_that_it_has() {
    let Served {
        hub,
        mut input,
        task,
        output: _output,
        ..
    } = served(1 << 16);
    let call = request(1, "hold") + "\n" + &request(2, "drop");
    input.write_all(call.as_bytes()).await.unwrap();
    let began = tokio::time::Instant::now();
    drop(input);
    task.await.unwrap().unwrap();
    assert_eq!(began.elapsed().as_secs(), limits().shutdown.as_secs());
    assert!(hub.client(0).is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_answers_holds_nobody_up() {
    let began = tokio::time::Instant::now();
    let (answers, _) = answers(&request(2, "drop")).await;
    assert!(answers.is_empty());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_waited_for_and_left_behind() {
    let Served {
        hub,
        mut input,
        output: _output,
        stop,
        task,
    } = served(64);
    let calls: Vec<String> = (0..100).map(|id| request(id, "x")).collect();
    input
        .write_all((calls.join("\n") + "\n").as_bytes())
        .await
        .unwrap();
    hub.until(|hub| !hub.clients.lock().is_empty()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    // What it sends waits, too: nothing piles up here.
    assert!((1..5).contains(&hub.client(0).came().len()));
    stop.send(()).unwrap();
    task.await.unwrap().unwrap();
    assert!(hub.client(0).is_closed());
}

#[tokio::test]
async fn a_client_that_went_away_is_closed() {
    let Served {
        hub,
        mut input,
        output,
        task,
        ..
    } = served(1 << 16);
    let calls = request(1, "hold") + "\n" + &request(2, "x") + "\n";
    drop(output);
    input.write_all(calls.as_bytes()).await.unwrap();
    // The input stays open, and a call runs: neither is waited for.
    task.await.unwrap().unwrap();
    assert!(hub.client(0).is_closed());
}

#[tokio::test]
async fn a_message_whose_sender_does_not_wait_is_written_all_the_same() {
    let (mut output, theirs) = tokio::io::duplex(10);
    let outgoing = Outgoing::new(theirs);
    let message = |id| Message::response(&Id::number(id), &"{}".into());
    for id in 0..3 {
        let sent = futures_util::FutureExt::now_or_never(outgoing.send(message(id)));
        assert_eq!(sent, None);
    }
    drop(outgoing);
    let mut read = String::new();
    output.read_to_string(&mut read).await.unwrap();
    let expected: String = (0..3)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"))
        .collect();
    assert_eq!(read, expected);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_end_of_a_subscription() {
    let since = tokio::time::Instant::now();
    let (_, hub) = answers(&request(1, "subscriptions/listen")).await;
    assert_eq!(hub.held(), 1);
    assert!(since.elapsed() < Duration::from_secs(1));
}

proptest! {
    /// Many senders at once, a reader that takes little: every message is written once, whole, those of
    /// one sender in order.
    #[test]
    fn senders_do_not_get_into_each_others_lines(
        senders in prop::collection::vec(prop::collection::vec(0usize..6000, 0..5), 1..6),
        room in 1usize..200,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = runtime.block_on(async {
            let (mut output, theirs) = tokio::io::duplex(room);
            let outgoing = Outgoing::new(theirs);
            for (sender, lengths) in senders.iter().cloned().enumerate() {
                let outgoing = outgoing.clone();
                tokio::spawn(async move {
                    for (number, length) in lengths.into_iter().enumerate() {
                        let params = format!("[{sender},{number},\"{}\"]", "z".repeat(length));
                        let message = Message::notification("n", Some(&params.into()));
                        outgoing.send(message).await.unwrap();
                    }
                });
            }
            drop(outgoing);
            let mut read = String::new();
            output.read_to_string(&mut read).await.unwrap();
            read
        });
        let mut next = vec![0; senders.len()];
        for line in read.lines() {
            let message = Message::parse(line.to_owned()).unwrap();
            let (sender, number, text): (usize, usize, String) =
                serde_json::from_slice(&message.params().unwrap()).unwrap();
            prop_assert_eq!(number, next[sender]);
            prop_assert_eq!(text.len(), senders[sender][number]);
            next[sender] += 1;
        }
        let sent: Vec<usize> = senders.iter().map(Vec::len).collect();
        prop_assert_eq!(next, sent);
    }
}
