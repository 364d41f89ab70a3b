//! Reads events from a stream of `text/event-stream`, cut anywhere into chunks.
//!
//! Data that lies in one chunk is not copied. Of data beyond the limit, only what is needed to answer is kept.

use crate::{
    budget::{Account, Charge, Purpose, UNCHARGED},
    line::{MessageSummary, Skim},
};
use bytes::{Buf, Bytes, BytesMut};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// What a line may hold that is not data: names, ids and times are short, and comments say nothing.
const MAX_FIELD_BYTES: usize = 8 << 10;

/// May stand before the first line, and is not part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One block of a stream, up to a blank line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The id to resume after; empty means that the stream cannot be resumed any more.
    pub id: Option<String>,
    /// How long to wait before connecting again.
    pub retry: Option<Duration>,
    /// The type; `message` by default.
    pub event: Option<String>,
    /// Its data, where it has any.
    pub data: Option<Data>,
}

/// The data of an event.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// All of it.
    Whole(Bytes),
    /// It is beyond the limit: what is needed to answer.
    TooLong(MessageSummary),
    /// There was no room for it in the budget.
    NoRoom(MessageSummary),
}

/// Reads blocks.
///
/// # Invariants
///
/// It holds at most the limit and a chunk, whatever comes.
#[derive(Debug, Default)]
pub struct Decoder {
    limit: usize,
    /// The beginning of a line whose end has not come.
    line: BytesMut,
    rest: LineMode,
    /// The last byte was a carriage return: a line feed behind it belongs to it.
    after_return: bool,
    /// The first line has begun: no byte order mark may follow.
    has_begun: bool,
    block: Block,
    data: Option<Lines>,
    done: VecDeque<Block>,
    /// What is held, where it is charged.
    charge: Option<Charge>,
    /// The memory budget has no room for the block that comes.
    has_no_room: bool,
}

/// What is done with the bytes of the line that comes.
#[derive(Debug, Default, PartialEq, Eq)]
enum LineMode {
    /// They are held.
    #[default]
    Held,
    /// They are data beyond the limit.
    Skimmed,
    /// They are nothing that is needed.
    Skipped,
}

#[derive(Debug)]
enum Lines {
    One(Bytes),
    More(BytesMut),
    TooLong(Skim),
}

impl Decoder {
    /// A reader of events whose data has at most so many bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Charges what is held to an account.
    pub(super) fn charging(mut self, account: &Arc<Account>) -> Self {
        self.charge = Some(account.nothing());
        self
    }

    /// The next block of what was fed.
    pub fn next_block(&mut self) -> Option<Block> {
        self.done.pop_front()
    }

    /// Takes room for what is fed next. Without room in time, the data of the block that comes is discarded.
    pub(super) async fn make_room(&mut self, bytes: usize) {
        let held = self.held();
        let Some(charge) = &mut self.charge else {
            return;
        };
        // A short event in one piece is not charged.
        let needed = if held == 0 && bytes <= UNCHARGED {
            0
        } else {
            (held + bytes).saturating_sub(charge.bytes())
        };
        if needed > 0 && !charge.more_in_time(needed, Purpose::Answer).await {
            charge.keep(0);
            self.give_up();
        }
    }

    /// Bytes of the block that comes.
    fn held(&self) -> usize {
        self.line.len() + self.data_bytes()
    }

    /// Holds no data of the block that comes.
    fn give_up(&mut self) {
        self.has_no_room = true;
        if is_data(&self.line) {
            let line = std::mem::take(&mut self.line);
            self.skim(value_of(&line, b"data".len()));
            self.rest = LineMode::Skimmed;
        } else if self.data.is_some() {
            self.skim(b"");
        }
    }

    /// Reads on.
    pub fn feed(&mut self, chunk: Bytes) {
        self.read(chunk);
        let held = self.held();
        // A stream may wait for long now, and what was skimmed or goes on is not held here.
        if let Some(charge) = &mut self.charge {
            charge.keep(held);
        }
    }

    fn read(&mut self, mut chunk: Bytes) {
        while !chunk.is_empty() {
            if self.after_return {
                self.after_return = false;
                if chunk[0] == b'\n' {
                    chunk.advance(1);
                    continue;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &chunk) else {
                self.part(&chunk);
                return;
            };
            self.after_return = chunk[end] == b'\r';
            let part = chunk.split_to(end);
            chunk.advance(1);
            self.end_of_line(part);
        }
    }

    /// A part of a line whose end has not come.
    fn part(&mut self, part: &[u8]) {
        match self.rest {
            LineMode::Held => {
                self.line.extend_from_slice(part);
                self.judge();
            }
            LineMode::Skimmed => self.skim(part),
            LineMode::Skipped => {}
        }
    }

    /// Gives up holding a line that has become too long.
    fn judge(&mut self) {
        if !self.has_begun && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.advance(BYTE_ORDER_MARK.len());
            self.has_begun = true;
        }
        if is_data(&self.line) {
            let fits = !self.has_no_room
                && self.line.len() + self.data_bytes() <= self.limit + b"data: ".len();
            // The blank behind the colon may still come.
            if fits || self.line.len() == b"data:".len() {
                return;
            }
            let line = self.line.split();
            self.skim(value_of(&line, b"data".len()));
            self.rest = LineMode::Skimmed;
        } else if self.line.len() > MAX_FIELD_BYTES {
            self.line.clear();
            self.rest = LineMode::Skipped;
        }
    }

    fn end_of_line(&mut self, part: Bytes) {
        if self.rest == LineMode::Held && self.line.is_empty() {
            return self.whole_line(part);
        }
        self.part(&part);
        if self.rest == LineMode::Held {
            let line = self.line.split().freeze();
            self.whole_line(line);
        }
        self.has_begun = true;
        self.rest = LineMode::Held;
    }

    fn whole_line(&mut self, mut line: Bytes) {
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return self.end_of_block();
        }
        if line.len() > MAX_FIELD_BYTES && !is_data(&line) {
            return;
        }
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let value = value_of(&line, colon);
        let text = || std::str::from_utf8(value).ok().map(str::to_owned);
        match &line[..colon] {
            b"data" => {
                let value = line.slice_ref(value);
                self.add(value);
            }
            b"event" => self.block.event = text(),
            b"id" if !value.contains(&0) => self.block.id = text(),
            b"retry" => {
                let milliseconds = text().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let milliseconds = milliseconds.and_then(|text| text.parse().ok());
                self.block.retry = milliseconds.map(Duration::from_millis).or(self.block.retry);
            }
            _ => {}
        }
    }

    fn data_bytes(&self) -> usize {
        match &self.data {
            None | Some(Lines::TooLong(_)) => 0,
            Some(Lines::One(line)) => line.len(),
            Some(Lines::More(lines)) => lines.len(),
        }
    }

    /// Adds a line of data to those before it.
    fn add(&mut self, line: Bytes) {
        let is_skimmed = matches!(self.data, Some(Lines::TooLong(_))) || self.has_no_room;
        if is_skimmed || self.data_bytes() + line.len() > self.limit {
            return self.skim(&line);
        }
        let mut lines = match self.data.take() {
            Some(Lines::One(first)) => BytesMut::from(first),
            Some(Lines::More(lines)) => lines,
            Some(Lines::TooLong(_)) | None => {
                self.data = Some(Lines::One(line));
                return;
            }
        };
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(&line);
        self.data = Some(Lines::More(lines));
    }

    fn skim(&mut self, part: &[u8]) {
        let mut skim = Skim::default();
        match self.data.take() {
            None => {}
            Some(Lines::One(line)) => skim.feed(&line),
            Some(Lines::More(lines)) => skim.feed(&lines),
            Some(Lines::TooLong(before)) => skim = before,
        }
        skim.feed(part);
        self.data = Some(Lines::TooLong(skim));
    }

    /// Data that is charged for as long as anything refers to it.
    fn charged(&mut self, data: Bytes) -> Bytes {
        match &mut self.charge {
            Some(charge) if data.len() > UNCHARGED => charge.split(data.len()).hold(data),
            _ => data,
        }
    }

    fn end_of_block(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        let has_no_room = std::mem::take(&mut self.has_no_room);
        let data = self.data.take();
        block.data = data.map(|data| match data {
            Lines::One(line) => Data::Whole(self.charged(line)),
            Lines::More(lines) => Data::Whole(self.charged(lines.freeze())),
            Lines::TooLong(skim) if has_no_room => Data::NoRoom(skim.finish()),
            Lines::TooLong(skim) => Data::TooLong(skim.finish()),
        });
        if block != Block::default() {
            self.done.push_back(block);
        }
    }
}

fn is_data(line: &[u8]) -> bool {
    line.starts_with(b"data:")
}

/// What follows the colon and one blank.
fn value_of(line: &[u8], colon: usize) -> &[u8] {
    let value = line.get(colon + 1..).unwrap_or_default();
    value.strip_prefix(b" ").unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{budget::Budget, metrics::Metrics, principal::Principal};
    use proptest::prelude::*;

    fn decode(limit: usize, text: &[u8], cuts: &[usize]) -> Vec<Block> {
        let mut decoder = Decoder::new(limit);
        let mut from = 0;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut blocks = Vec::new();
        for cut in cuts {
            decoder.feed(Bytes::copy_from_slice(&text[from..cut]));
            from = cut;
            blocks.extend(std::iter::from_fn(|| decoder.next_block()));
        }
        blocks
    }

    #[track_caller]
    fn check(text: &str, expected: &[(Option<&str>, Option<&str>)]) {
        let blocks = decode(100, text.as_bytes(), &[]);
        let said: Vec<_> = blocks
            .iter()
            .map(|block| {
                let data = block.data.as_ref().map(|data| match data {
                    Data::Whole(data) => std::str::from_utf8(data).unwrap(),
                    Data::TooLong(_) | Data::NoRoom(_) => "too long",
                });
                (block.id.as_deref(), data)
            })
            .collect();
        assert_eq!(said, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_charged_for_as_long_as_they_are_held() {
        let budget = Budget::new(100_000, 1, 0, &Metrics::new());
        let account = budget.account(&Principal::Anonymous);
        let mut decoder = Decoder::new(1 << 20).charging(&account);
        let mut feed = async |text: &str| {
            for chunk in text.as_bytes().chunks(10_000) {
                decoder.make_room(chunk.len()).await;
                decoder.feed(Bytes::copy_from_slice(chunk));
            }
            decoder.next_block().and_then(|block| block.data)
        };
        let long = "x".repeat(60_000);
        let event = |id: usize| format!("data: {{\"id\":{id},\"result\":\"{long}\"}}\n\n");
        let first = feed(&event(1)).await;
        assert!(matches!(&first, Some(Data::Whole(data)) if data.len() > 60_000));
        let before = budget.held();
        assert!((60_000..60_100).contains(&before), "{before}");
        let Some(Data::NoRoom(skimmed)) = feed(&event(2)).await else {
            panic!("there is no room");
        };
        assert_eq!(skimmed.id, Some(crate::message::Id::number(2)));
        // The stream waits, and holds nothing but what came before.
        assert_eq!(budget.held(), before);
        drop(first);
        assert!(matches!(feed(&event(3)).await, Some(Data::Whole(_))));
        assert!(matches!(feed("data: {}\n\n").await, Some(Data::Whole(_))));
        drop(decoder);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn blocks_are_read_as_the_standard_says() {
        check("data: a\n\n", &[(None, Some("a"))]);
        check("data:a\r\n\r\n", &[(None, Some("a"))]);
        check(
            "data:  a \r\rdata: b\r\r",
            &[(None, Some(" a ")), (None, Some("b"))],
        );
        check("\u{feff}data: a\n\n", &[(None, Some("a"))]);
        check("data: {\ndata: }\n\n", &[(None, Some("{\n}"))]);
        check("id: 7\n\n", &[(Some("7"), None)]);
        check(": comment\n\nid: 7\ndata\n\n", &[(Some("7"), Some(""))]);
        check("id: 7\ndata: \n\n", &[(Some("7"), Some(""))]);
        check("id\ndata: a\n\n", &[(Some(""), Some("a"))]);
        check("id: 7\nid: 8\0\ndata: a\n\n", &[(Some("7"), Some("a"))]);
        check("database: x\nevent: y\ndata: a\n\n", &[(None, Some("a"))]);
        // What is not ended by a blank line did not come.
        check("data: a\n", &[]);
        check(
            &format!("data: {}\n\ndata: b\n\n", "x".repeat(101)),
            &[(None, Some("too long")), (None, Some("b"))],
        );
        check(
            &format!("data: {}\n\n", "x".repeat(100)),
            &[(None, Some(&"x".repeat(100)))],
        );
        check(
            &format!(": {}\ndata: b\n\n", "x".repeat(20_000)),
            &[(None, Some("b"))],
        );
    }

    #[test]
    fn fields_are_read() {
        let blocks = decode(
            9,
            b"retry: 250\nevent: message\nid: a\n\nretry: 1x\ndata\n\n",
            &[],
        );
        let first = &blocks[0];
        assert_eq!(first.retry, Some(Duration::from_millis(250)));
        assert_eq!(first.event.as_deref(), Some("message"));
        assert_eq!(blocks[1].retry, None);
    }

    #[test]
    fn data_beyond_the_limit_is_answered_by_its_id() {
        let text = format!(
            "data: {{\"result\":\"{}\",\ndata: \"id\":7}}\n\n",
            "x".repeat(300)
        );
        for cut in 0..text.len() {
            let blocks = decode(100, text.as_bytes(), &[cut]);
            let Some(Data::TooLong(skimmed)) = &blocks[0].data else {
                panic!()
            };
            assert_eq!(
                skimmed.id.as_ref().map(ToString::to_string).as_deref(),
                Some("7")
            );
        }
    }

    #[test]
    fn a_field_is_as_long_wherever_it_is_cut() {
        for length in MAX_FIELD_BYTES - 6..MAX_FIELD_BYTES + 6 {
            let text = format!("id: 1\nid: {}\ndata: a\n\n", "x".repeat(length));
            let whole = decode(100, text.as_bytes(), &[]);
            assert_eq!(decode(100, text.as_bytes(), &[length]), whole, "{length}");
        }
    }

    proptest! {
        #[test]
        fn where_chunks_are_cut_does_not_matter(
            lines in prop::collection::vec("\u{feff}?(data: ?[a-z]{0,60}|id: [0-9]|: x{0,9}|retry: [0-9]|)", 0..20),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 20),
            cuts in prop::collection::vec(0_usize..400, 0..9),
            limit in 1_usize..40,
        ) {
            let text: String = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
            prop_assert_eq!(decode(limit, text.as_bytes(), &cuts), decode(limit, text.as_bytes(), &[]));
        }
    }
}
