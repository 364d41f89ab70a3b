//! Models of streams: who sends, who reads, whose connection breaks and who goes on, at once.

use super::*;
use crate::{message::Id, sync::explore};
use http_body_util::BodyExt as _;
use shuttle::{future::block_on, thread};

fn told(number: u64) -> Message {
    Message::notification(&format!("n{number}"), None)
}

fn answer() -> Message {
    Message::response(&Id::number(1), &"1".into())
}

/// Sends a notification for each number, then the answer.
fn sends(stream: &Arc<Stream>, numbers: std::ops::Range<u64>) -> thread::JoinHandle<()> {
    let stream = Arc::clone(stream);
    thread::spawn(move || {
        for number in numbers {
            block_on(stream.send(told(number))).unwrap();
        }
        block_on(stream.send(answer())).unwrap();
        assert!(stream.is_over());
    })
}

/// The number and the text of each event, as many as there are, but no more than `most`.
async fn read(events: &mut Events, most: usize) -> Vec<(u64, String)> {
    let mut read = Vec::new();
    let mut text = String::new();
    while read.len() < most
        && let Some(frame) = events.frame().await
    {
        text.push_str(str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
        let Some(event) = text.strip_suffix("\n\n") else {
            continue;
        };
        let (id, data) = event.split_once("\ndata: ").unwrap();
        let number = id.rsplit('-').next().unwrap().parse().unwrap();
        read.push((number, data.to_owned()));
        text.clear();
    }
    read
}

/// What follows an event that was received, or everything.
fn after(read: &[(u64, String)]) -> ReadFrom {
    read.last()
        .map_or(ReadFrom::Start, |(number, _)| ReadFrom::After(*number))
}

/// That these are the events of `sends(.., 0..count)`, from the first one on.
fn check(read: &[(u64, String)], count: u64) {
    for ((number, data), expected) in read.iter().zip(0..) {
        assert_eq!(*number, expected, "{read:?}");
        let message = if expected < count {
            told(expected)
        } else {
            answer()
        };
        assert_eq!(data.as_bytes(), &message.to_bytes()[..]);
    }
}

#[test]
fn who_goes_on_gets_each_event_once() {
    explore(|| {
        let stream = Stream::resumable(1, None);
        let sender = sends(&stream, 0..2);
        let mut events = stream.events(ReadFrom::Unread, false);
        let mut all = block_on(read(&mut events, 1));
        // The connection broke, and the client knows it before the gateway does.
        let mut again = stream.events(after(&all), false);
        let breaks = thread::spawn(move || drop(events));
        all.extend(block_on(read(&mut again, usize::MAX)));
        check(&all, 2);
        assert_eq!(all.len(), 3);
        sender.join().unwrap();
        breaks.join().unwrap();
        // And once more, from anywhere.
        let mut again = stream.events(ReadFrom::After(0), false);
        assert_eq!(block_on(read(&mut again, usize::MAX)), all[1..]);
    });
}

#[test]
fn a_reader_whose_place_is_taken_ends() {
    explore(|| {
        let stream = Stream::resumable(1, None);
        let mut first = stream.events(ReadFrom::Unread, false);
        let reads = thread::spawn(move || block_on(read(&mut first, usize::MAX)));
        let sender = sends(&stream, 0..2);
        let mut second = stream.events(ReadFrom::Start, false);
        let all = block_on(read(&mut second, usize::MAX));
        check(&all, 2);
        assert_eq!(all.len(), 3);
        // What the first one got is the beginning.
        let first = reads.join().unwrap();
        check(&first, 2);
        sender.join().unwrap();
    });
}

#[test]
fn a_full_stream_holds_up_who_sends_only_while_it_is_read() {
    let text = Bytes::from(format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_KEPT_BYTES)));
    let large = Message::notification("n", Some(&text));
    explore(move || {
        let stream = Stream::resumable(1, None);
        let mut events = stream.events(ReadFrom::Unread, false);
        let sender = {
            let (stream, large) = (Arc::clone(&stream), large.clone());
            thread::spawn(move || {
                for _ in 0..3 {
                    block_on(stream.send(large.clone())).unwrap();
                    assert!(stream.bytes() < 2 * MAX_KEPT_BYTES);
                }
                block_on(stream.send(answer())).unwrap();
            })
        };
        let first = block_on(events.frame());
        assert!(first.is_some());
        drop(events);
        sender.join().unwrap();
        let mut events = stream.events(ReadFrom::Unread, false);
        let mut last = Bytes::new();
        while let Some(frame) = block_on(events.frame()) {
            last = frame.unwrap().into_data().unwrap();
        }
        // However much went meanwhile, the answer is there.
        assert!(last.ends_with(b"\n\n") && last.starts_with(b"id: 1-3\n"));
    });
}

#[test]
fn an_answer_is_taken_at_once_or_read_behind_what_came_before_it() {
    explore(|| {
        for before in 0..2 {
            let stream = Stream::resumable(1, None);
            let sender = sends(&stream, 0..before);
            let at_once = block_on(stream.answered_at_once());
            assert_eq!(at_once.is_some(), before == 0);
            let mut events = stream.events(ReadFrom::Unread, false);
            let rest = block_on(read(&mut events, usize::MAX));
            assert_eq!(rest.len(), if before == 0 { 0 } else { 2 });
            check(&rest, before);
            sender.join().unwrap();
        }
    });
}

#[test]
fn nobody_waits_on_a_stream_that_is_closed() {
    explore(|| {
        let stream = Stream::resumable(1, None);
        let waits = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || block_on(stream.answered_at_once()).is_none())
        };
        let mut events = stream.events(ReadFrom::Unread, false);
        let reads = thread::spawn(move || block_on(events.frame()).is_none());
        stream.close();
        assert!(waits.join().unwrap() && reads.join().unwrap());
        assert!(block_on(stream.send(told(0))).is_err());
    });
}
