//! Whether a stream of events that another replica wrote has its answer, as far as it was passed on.

/// What stands before the message of an event.
const DATA: &[u8] = b"data: ";
/// What stands before the id of an event.
const ID: &[u8] = b"id:";
/// Bytes of a member's name that are kept: more than those of the names that are looked for.
const MAX_NAME: usize = 7;

/// A stream of events, however its bytes are cut.
#[derive(Default)]
pub(super) struct EventScan {
    /// How many line ends are last, two at most.
    ends: usize,
    has_begun: bool,
    /// An event has an id.
    pub(super) names_events: bool,
    has_answer: bool,
    line: Line,
}

/// A line as far as it was read.
#[derive(Default)]
struct Line {
    /// How much of [`ID`] was read; all of it where the line begins otherwise.
    id: usize,
    /// How much of [`DATA`] was read.
    data: usize,
    /// It begins otherwise.
    is_other: bool,
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    /// The next string in the message itself is the name of a member.
    names: bool,
    name: Vec<u8>,
}

impl EventScan {
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let others = bytes.iter().rposition(|byte| *byte != b'\n');
        let last = bytes.len() - others.map_or(0, |at| at + 1);
        self.ends = if others.is_none() {
            self.ends + last
        } else {
            last
        };
        self.ends = self.ends.min(2);
        self.has_begun = true;
        // The answer is the last event.
        self.has_answer = self.has_answer
            || bytes.iter().any(|byte| {
                self.names_events |= self.line.is_id(*byte);
                self.line.read(*byte)
            });
    }

    /// Whether an answer can be put behind it: it ends between two events, none of which is the answer.
    pub(super) fn lacks_answer(&self) -> bool {
        !self.has_answer && (!self.has_begun || self.ends == 2)
    }
}

impl Line {
    /// Whether the line is the id of an event, once the byte that shows it comes.
    fn is_id(&mut self, byte: u8) -> bool {
        let is_next = ID.get(self.id) == Some(&byte);
        self.id = if is_next { self.id + 1 } else { ID.len() };
        is_next && self.id == ID.len()
    }

    /// Whether the message has a result or an error, once the byte that shows it was read.
    fn read(&mut self, byte: u8) -> bool {
        if byte == b'\n' {
            *self = Self::default();
            return false;
        }
        if self.is_other {
            return false;
        }
        if let Some(expected) = DATA.get(self.data) {
            self.data += 1;
            self.is_other = *expected != byte;
            return false;
        }
        if self.is_string {
            return self.read_string(byte);
        }
        let is_member = self.depth == 1;
        match byte {
            b'"' => {
                self.is_string = true;
                self.name.clear();
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.names |= self.depth == 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if is_member => self.names = true,
            b':' if is_member => self.names = false,
            _ => {}
        }
        false
    }

    fn read_string(&mut self, byte: u8) -> bool {
        let is_name = self.depth == 1 && self.names;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_string = false;
                return is_name && matches!(&self.name[..], b"result" | b"error");
            }
            _ => {}
        }
        if is_name && self.name.len() < MAX_NAME {
            self.name.push(byte);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use proptest::prelude::*;

    fn scanned(text: &str, cuts: &[usize]) -> EventScan {
        let mut scan = EventScan::default();
        let mut rest = text.as_bytes();
        for cut in cuts {
            let (piece, behind) = rest.split_at((*cut).min(rest.len()));
            if !piece.is_empty() {
                scan.read(piece);
            }
            rest = behind;
        }
        if !rest.is_empty() {
            scan.read(rest);
        }
        scan
    }

    /// Any JSON, in which names and texts are often those of a message.
    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let word = || {
            prop_oneof![
                Just("result".to_owned()),
                Just("error".to_owned()),
                Just("method".to_owned()),
                Just("data: ".to_owned()),
                "[\"{}\\[\\]:,\\\\\na]{0,5}",
            ]
        };
        let leaf = prop_oneof![
            word().prop_map(Into::into),
            any::<i32>().prop_map(Into::into)
        ];
        leaf.prop_recursive(3, 16, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::hash_map(word(), inner, 0..4).prop_map(|members| members
                    .into_iter()
                    .collect::<serde_json::Map<_, _>>()
                    .into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_end_of_an_event_is_found_however_it_is_cut(pieces in prop::collection::vec("[a\n]{0,4}", 0..6)) {
            let mut scan = EventScan::default();
            pieces.iter().for_each(|piece| scan.read(piece.as_bytes()));
            let all = pieces.concat();
            prop_assert_eq!(scan.lacks_answer(), pieces.is_empty() || all.ends_with("\n\n"));
        }

        #[test]
        fn an_answer_is_found_however_it_is_written_and_cut(
            body in any_json(),
            id in any_json(),
            kind in prop::sample::select(vec!["method", "result", "error"]),
            order in Just([0, 1, 2]).prop_shuffle(),
            spaced: bool,
            start in prop::sample::select(vec!["", ": \n\n", "id: 1-0\n", ": \n\nid: 1-0\n", "x\nid:1\n"]),
            cuts in prop::collection::vec(0_usize..20, 0..20),
        ) {
            let id = if id.is_string() { id } else { 7.into() };
            let body = if kind == "method" { "error".into() } else { body };
            let members = [format!("\"id\":{id}"), format!("\"{kind}\":{body}"), "\"jsonrpc\":\"2.0\"".to_owned()];
            let members = order.map(|at| members[at].clone());
            let text = format!("{{{}}}", members.join(if spaced { " , " } else { "," }));
            let message = Message::parse(text.clone()).unwrap();
            let text = format!("{start}data: \n\ndata: {text}\n\n");
            let scan = scanned(&text, &cuts);
            prop_assert_eq!(scan.names_events, start.contains("id"), "{}", start);
            prop_assert!(scan.ends == 2);
            prop_assert_eq!(!scan.lacks_answer(), message.kind().is_answer(), "{}", text);
        }
    }
}
