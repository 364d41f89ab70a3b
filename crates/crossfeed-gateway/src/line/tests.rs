use super::*;
use crate::{
    budget::{Budget, Purpose},
    message::{Id, Kind, Message},
    metrics::Metrics,
    principal::Principal,
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use proptest::prelude::*;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Gives its text in pieces of given lengths, and wants to be asked twice.
struct Pieces {
    text: Vec<u8>,
    lengths: Vec<usize>,
    reads: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.reads += 1;
        if self.reads.is_multiple_of(2) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let length = self.lengths[self.reads / 2 % self.lengths.len()];
        let length = length.min(self.text.len()).min(buffer.remaining());
        buffer.put_slice(&self.text[..length]);
        self.text.drain(..length);
        Poll::Ready(Ok(()))
    }
}

fn lines(text: &[u8], lengths: Vec<usize>, limit: usize) -> Vec<Line> {
    run(async {
        let mut reader = LineReader::new(
            Pieces {
                text: text.to_vec(),
                lengths,
                reads: 0,
            },
            limit,
        );
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    })
}

fn whole(text: &str) -> Line {
    Line::Whole(Bytes::copy_from_slice(text.as_bytes()))
}

fn skim(text: &str) -> MessageSummary {
    let mut skim = Skim::default();
    skim.feed(text.as_bytes());
    skim.finish()
}

#[test]
fn lines_are_split_and_blank_ones_passed_over() {
    let unfinished = |text: &'static str| Line::Unfinished(Bytes::from_static(text.as_bytes()));
    let check = |text: &str, expected: &[Line]| {
        for length in [1, 2, 3, 1000] {
            assert_eq!(lines(text.as_bytes(), vec![length], 20), expected, "{text}");
        }
    };
    check("", &[]);
    check("\n\r\n \t\n", &[]);
    check("a\nb\r\n\nc\n", &[whole("a"), whole("b"), whole("c")]);
    check("a\n{\"half", &[whole("a"), unfinished("{\"half")]);
    check("01234567890123456789\n", &[whole("01234567890123456789")]);
}

#[test]
fn a_line_beyond_the_limit_is_skipped_and_what_follows_is_read() {
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"id\":1,\"t\":\"{}\"}},\"id\":7}}\nnext\n",
        "\\\"{[".repeat(300)
    );
    let long = text.lines().next().unwrap();
    for length in [1, 7, 100, 100_000] {
        let read = lines(text.as_bytes(), vec![length], 64);
        let expected = Line::TooLong(MessageSummary {
            bytes: long.len() as u64,
            id: Some(Id::number(7)),
            kind: Some(Kind::Request),
        });
        assert_eq!(read, [expected, whole("next")]);
        // The same where the input ends within it.
        let read = lines(long.as_bytes(), vec![length], 64);
        assert!(matches!(&read[..], [Line::TooLong(skimmed)] if skimmed.id.is_some()));
    }
}

#[test]
fn memory_does_not_follow_a_line_that_is_skipped() {
    let mut text = br#"{"id":"a","result":""#.to_vec();
    text.resize(8 << 20, b'x');
    text.extend_from_slice(b"\"}\n{}\n");
    run(async {
        let source = std::io::Cursor::new(text);
        let mut reader = LineReader::new(source, 1 << 20);
        let line = reader.next().await.unwrap();
        assert!(
            matches!(line, Some(Line::TooLong(skimmed)) if skimmed.kind == Some(Kind::Response))
        );
        assert_eq!(reader.next().await.unwrap(), Some(whole("{}")));
        assert!(
            reader.buffer.capacity() <= 256 << 10,
            "{}",
            reader.buffer.capacity()
        );
    });
}

#[tokio::test(start_paused = true)]
async fn lines_are_charged_for_as_long_as_they_are_held() {
    let budget = Budget::new(300_000, 1, 0, &Metrics::new());
    let account = budget.account(&Principal::Local);
    let long = |id: usize| {
        let text = "x".repeat(100_000);
        format!("{{\"id\":{id},\"result\":\"{text}\"}}\n")
    };
    let text = [long(1), long(2), long(3), "{}\n".to_owned(), long(4)].concat();
    let source = std::io::Cursor::new(text);
    let mut reader = LineReader::new(source, 1 << 20).charging(&account, Purpose::Answer);
    let mut held = Vec::new();
    let mut skimmed = None;
    while let Some(line) = reader.next().await.unwrap() {
        match line {
            Line::Whole(line) => held.push(line),
            Line::NoRoom(line) => {
                skimmed = Some(line);
                break;
            }
            line => panic!("{line:?}"),
        }
        assert!(budget.held() <= 300_000, "{}", budget.held());
    }
    // The line that found no room is known by its id, and what comes behind it is read.
    let skimmed = skimmed.expect("one found no room");
    let number = held.len() as u64 + 1;
    assert_eq!(skimmed.id, Some(Id::number(number)));
    assert!((2..=3).contains(&number), "{number}");
    assert!(budget.held() >= held.len() * 100_000);
    held.clear();
    while let Some(line) = reader.next().await.unwrap() {
        assert!(matches!(line, Line::Whole(_)), "{line:?}");
    }
    drop(reader);
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_line_that_is_kept_does_not_hold_its_neighbours() {
    let at = |line: &Option<Line>| match line {
        Some(Line::Whole(bytes)) => bytes.as_ptr() as usize,
        other => panic!("{other:?}"),
    };
    run(async {
        let text = [&b"{}\n"[..], &[b'x'; 6000], b"\n{}\n"].concat();
        let mut reader = LineReader::new(&text[..], 1 << 20);
        let small = reader.next().await.unwrap();
        let buffer = reader.buffer.as_ptr() as usize;
        assert!(!(buffer - 3..buffer + 6000).contains(&at(&small)));
        let large = reader.next().await.unwrap();
        assert_eq!(at(&large), buffer, "a large line is not copied");
        assert_ne!(reader.buffer.as_ptr() as usize, buffer + 6000);
    });
}

#[test]
fn bytes_that_drip_are_not_moved_each_time() {
    run(async {
        let text = [&[b'x'; 100_000][..], b"\n"].concat();
        let mut reader = LineReader::new(
            Pieces {
                text,
                lengths: vec![10],
                reads: 0,
            },
            1 << 20,
        );
        let mut moves = 0;
        let mut at = std::ptr::null();
        loop {
            let mut next = Box::pin(reader.next());
            let done = futures_util::FutureExt::now_or_never(&mut next);
            drop(next);
            moves += usize::from(reader.buffer.as_ptr() != at);
            at = reader.buffer.as_ptr();
            if done.is_some() {
                break;
            }
        }
        assert!(moves < 10, "{moves}");
    });
}

#[test]
fn what_is_skimmed_says_which_message_it_was() {
    let check = |text: &str, id: Option<&str>, kind: Option<Kind>| {
        let skimmed = skim(text);
        let found = skimmed.id.map(|id| id.to_string());
        assert_eq!((found.as_deref(), skimmed.kind), (id, kind), "{text}");
    };
    check(r#"{"id":1,"result":{}}"#, Some("1"), Some(Kind::Response));
    check(
        r#" { "result" : {"id":2,"method":"x"} , "id" : "a\"b}" } "#,
        Some(r#""a\"b}""#),
        Some(Kind::Response),
    );
    check(
        r#"{"\u0069d":-1.5e3,"error":{}}"#,
        Some("-1.5e3"),
        Some(Kind::Error),
    );
    check(
        r#"{"method":"x","params":[{"id":3}]}"#,
        None,
        Some(Kind::Notification),
    );
    check(r#"{"id":null,"error":{}}"#, None, Some(Kind::Error));
    check(r#"{"id":1,"id":2,"result":{}}"#, None, Some(Kind::Response));
    check(r#"{"id":{"a":1},"method":"x"}"#, None, Some(Kind::Request));
    check(r#"{"id":[1],"method":"x"}"#, None, Some(Kind::Request));
    check(r#"[{"id":1,"method":"x"}]"#, None, None);
    check(r#"["id",1]"#, None, None);
    check(r#"{"id":1"#, None, None);
    check("}}]]{", None, None);
    check("x", None, None);
    let long = format!(r#"{{"id":"{}","method":"x"}}"#, "y".repeat(2000));
    check(&long, None, Some(Kind::Request));
    let deep = format!(r#"{{"result":{}1,"id":4}}"#, "[".repeat(100_000));
    check(&deep, None, Some(Kind::Response));
}

proptest! {
    /// However the bytes come, the lines are those that stand in them.
    #[test]
    fn lines_do_not_depend_on_how_bytes_come(
        text in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'"'), b'a'..b'd'], 0..200),
        lengths in prop::collection::vec(1usize..50, 1..8),
        limit in 1usize..40,
    ) {
        let mut expected = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[], |end| &rest[end + 1..]);
            if line.len() > limit {
                expected.push(Line::TooLong(skim(std::str::from_utf8(line).unwrap())));
                continue;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().any(|&byte| byte != b'\r') {
                let line = Bytes::copy_from_slice(line);
                expected.push(if end.is_some() { Line::Whole(line) } else { Line::Unfinished(line) });
            }
        }
        prop_assert_eq!(lines(&text, lengths, limit), expected);
    }

    /// A message that is skimmed, in whatever pieces, has the id and the kind that it has when it is read.
    #[test]
    fn skimming_agrees_with_reading(
        id in prop_oneof![Just("7".to_owned()), Just("\"a\\\"\\\\{\"".to_owned()), "[1-9][0-9]{0,20}", "\"[a-z,:{}\\[\\]]{0,9}\""],
        text in "[a-z\\\\\":,{}\\[\\]]{0,30}",
        last in any::<bool>(),
        cut in 1usize..20,
    ) {
        let params = serde_json::json!({"id": text, (text.as_str()): [{"method": text}], "result": 1});
        let id = format!("\"id\" : {id}");
        let rest = format!("\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{params}");
        let message = if last { format!("{{{rest},{id}}}") } else { format!("{{{id},{rest}}}") };
        let read = Message::parse(message.clone()).unwrap();
        let mut skim = Skim::default();
        for piece in message.as_bytes().chunks(cut) {
            skim.feed(piece);
        }
        let skimmed = skim.finish();
        prop_assert_eq!(skimmed.id.as_ref(), read.id());
        prop_assert_eq!(skimmed.kind, Some(read.kind()));
        prop_assert_eq!(skimmed.bytes, message.len() as u64);
    }

    /// However little a sink takes at once, and however often a flush is dropped, every message is
    /// written once, in order, on a line of its own.
    #[test]
    fn messages_are_written_once_and_in_order(
        lengths in prop::collection::vec(0usize..9000, 1..12),
        taken in prop::collection::vec(1usize..6000, 1..6),
        batch in 1usize..4,
    ) {
        let messages: Vec<Message> = lengths
            .iter()
            .enumerate()
            .map(|(number, &length)| {
                let params = format!("[\n\"{}\"\r]", "z".repeat(length));
                let id = Id::number(number as u64);
                let request = Message::request(&Id::number(0), "m", Some(&params.into()));
                request.with_id(id)
            })
            .collect();
        let written = run(async {
            let mut writer = LineWriter::new(Sink { written: Vec::new(), taken, writes: 0 });
            for messages in messages.chunks(batch) {
                for message in messages {
                    writer.put(message);
                }
                // Polled once and dropped.
                let _ = futures_util::FutureExt::now_or_never(writer.flush());
            }
            writer.close().await.unwrap();
            writer.sink.written
        });
        let expected: String = messages
            .iter()
            .map(|message| {
                let text = String::from_utf8(message.to_bytes().to_vec()).unwrap();
                text.replace(['\n', '\r'], " ") + "\n"
            })
            .collect();
        prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}

/// Takes a little at a time, and wants to be asked twice.
struct Sink {
    written: Vec<u8>,
    taken: Vec<usize>,
    writes: usize,
}

impl AsyncWrite for Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.writes += 1;
        if self.writes.is_multiple_of(3) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let taken = self.taken[self.writes % self.taken.len()].min(bytes.len());
        self.written.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_reader_that_waits_for_a_line_holds_nothing() {
    let budget = Budget::new(1 << 20, 0, 0, &Metrics::new());
    let account = budget.account(&Principal::Local);
    let (mut sink, source) = tokio::io::duplex(1 << 20);
    let mut reader = LineReader::new(source, 1 << 20).charging(&account, Purpose::Answer);
    let long = "x".repeat(17_000);
    sink.write_all(&long.as_bytes()[..16_500]).await.unwrap();
    assert!(reader.next().now_or_never().is_none());
    assert!(budget.held() >= 16_500);
    // What comes behind the line is more than the line, so that the buffer stays.
    let rest = format!("{}\n{}", &long[16_500..], "short\n".repeat(4000));
    sink.write_all(rest.as_bytes()).await.unwrap();
    for _ in 0..4001 {
        let line = reader.next().await.unwrap();
        assert!(matches!(line, Some(Line::Whole(_))), "{line:?}");
    }
    assert!(reader.next().now_or_never().is_none());
    assert_eq!(budget.held(), 0);
}
