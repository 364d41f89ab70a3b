//! Reads the envelope of a message: the members of the outermost object, in one pass.

use super::{BodyMember, Id, Kind, MessageError, PARAMS, RESULT_MEMBERS};
use crate::members::{Member, value_start};
use bytes::Bytes;
use crossfeed_json::{JsonError, JsonErrorKind, RawString, TokenVisitor, read_tokens, unescape};
use std::ops::Range;

/// The envelope, and where its parts are.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) kind: Kind,
    pub(super) method: Option<Box<str>>,
    pub(super) id: Option<Id>,
    pub(super) id_at: Option<Range<usize>>,
    pub(super) body: Option<Range<usize>>,
    /// Known members of the body, within it; none where they are [too many](MAX_NOTED), or the body was replaced.
    pub(super) members: Option<Vec<BodyMember>>,
}

/// The members of the outermost object.
const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// Which of their own members are noted.
const NOTED: [&[&str]; NAMES.len()] = [&[], &[], &[], &PARAMS, &RESULT_MEMBERS, &[]];
/// How many members of a body are noted: doubled ones could be any number.
const MAX_NOTED: usize = 32;

/// Looks at the members of the outermost object, and of its `params` and `result`.
struct Reader<'t> {
    text: &'t [u8],
    depth: usize,
    is_object: bool,
    /// The member whose value comes, and where that begins.
    current: Option<(usize, usize)>,
    found: [Option<Range<usize>>; NAMES.len()],
    /// The member of `params` or `result` whose value comes.
    nested: Option<BodyMember>,
    noted: [Option<Vec<BodyMember>>; NAMES.len()],
    twice: bool,
}

impl TokenVisitor for Reader<'_> {
    fn open(&mut self, at: usize) {
        if self.depth == 0 {
            self.is_object = self.text.get(at) == Some(&b'{');
        }
        self.depth += 1;
    }

    fn close(&mut self, _: usize) {
        self.depth -= 1;
    }

    fn key(&mut self, key: RawString<'_>) {
        match (self.depth, self.current) {
            (1, _) => {
                let name = key.text();
                match NAMES.iter().position(|known| *known == name) {
                    Some(member) => {
                        self.current = value_start(self.text, &key).map(|at| (member, at));
                    }
                    None => self.twice |= is_read_as_another(&name),
                }
            }
            (2, Some((of, _))) if !NOTED[of].is_empty() => {
                let name = key.text();
                let known = NOTED[of].iter().find(|known| **known == name);
                let begun = known.zip(value_start(self.text, &key));
                self.nested = begun.map(|(known, at)| Member::begin(*known, &key, at));
            }
            _ => {}
        }
    }

    fn value_end(&mut self, end: usize) {
        match (self.depth, self.current) {
            (2, Some((of, from))) => {
                if let Some(member) = self.nested.take() {
                    let noted = &mut self.noted[of];
                    // Of a parameter that stands twice the last counts, so there are never too many.
                    if NAMES[of] == "params"
                        && let Some(noted) = noted
                    {
                        noted.retain(|other| other.key != member.key);
                    }
                    match noted {
                        Some(noted) if noted.len() < MAX_NOTED => {
                            noted.push(member.ended(end).within(from));
                        }
                        noted => *noted = None,
                    }
                }
            }
            (1, Some((member, start))) => {
                self.current = None;
                self.twice |= self.found[member].replace(start..end).is_some();
            }
            _ => {}
        }
    }
}

/// Whether a reader that ignores the case of keys would take a key for one of the envelope's: it would read another
/// message than the one that was judged here.
fn is_read_as_another(key: &str) -> bool {
    // The longest, of signs of up to three bytes.
    key.len() <= 3 * "jsonrpc".len() && {
        let key = key.to_uppercase();
        NAMES.iter().any(|own| own.eq_ignore_ascii_case(&key))
    }
}

/// Reads an envelope.
pub(super) fn read(raw: &Bytes) -> Result<Envelope, MessageError> {
    let text = std::str::from_utf8(raw).map_err(|error| {
        MessageError::NotJson(JsonError {
            kind: JsonErrorKind::NotUtf8,
            offset: error.valid_up_to(),
        })
    })?;
    let mut reader = Reader {
        text: raw,
        depth: 0,
        is_object: false,
        current: None,
        found: Default::default(),
        nested: None,
        noted: std::array::from_fn(|_| Some(Vec::new())),
        twice: false,
    };
    read_tokens(text, &mut reader).map_err(MessageError::NotJson)?;
    let Reader {
        is_object,
        found: [version, id_at, method, params, result, error],
        noted: [.., of_params, of_result, of_error],
        twice,
        ..
    } = reader;
    if !is_object {
        return Err(if text.trim_start().starts_with('[') {
            MessageError::Batch
        } else {
            not_message("it is not an object", None)
        });
    }
    // `null` stands where an id could not be read: an error without one.
    let id_at = id_at.filter(|range| &raw[range.clone()] != b"null");
    let id = id_at.clone().map(|range| {
        let id = Id::parse(raw.slice(range));
        id.ok_or_else(|| not_message("its id is neither a string nor a number", None))
    });
    let id = id.transpose()?;
    let wrong = |reason| Err(not_message(reason, id.clone()));
    if twice {
        return wrong("a member of the envelope is there twice, or in another case");
    }
    if version.is_none_or(|range| &raw[range] != br#""2.0""#) {
        return wrong("`jsonrpc` is not \"2.0\"");
    }
    let name = match method {
        Some(range) if raw[range.start] == b'"' => {
            Some(unescape(&text[range.start + 1..range.end - 1]).into())
        }
        Some(_) => return wrong("its method is not a string"),
        None => None,
    };
    let (kind, body, members) = match (name.is_some(), id.is_some(), result, error) {
        (true, true, None, None) => (Kind::Request, params, of_params),
        (true, false, None, None) => (Kind::Notification, params, of_params),
        (false, true, Some(result), None) => (Kind::Response, Some(result), of_result),
        (false, _, None, Some(error)) => (Kind::Error, Some(error), of_error),
        _ => return wrong("it is neither a request, a notification nor a response"),
    };
    Ok(Envelope {
        kind,
        method: name,
        id,
        id_at,
        body,
        members,
    })
}

fn not_message(reason: &'static str, id: Option<Id>) -> MessageError {
    MessageError::NotMessage { reason, id }
}
