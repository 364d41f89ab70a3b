//! The members of the outermost object, found in one pass.

use super::{Id, Kind, MessageError, Param, RESULT_MEMBERS, ResultMember};
use crate::members::{Member as Found, value_start};
use bytes::Bytes;
use crossfeed_json::{JsonError, JsonErrorKind, Quoted, TokenVisitor, read_tokens, unescape};
use std::ops::Range;

/// What the outermost object says, and where.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) kind: Kind,
    pub(super) method: Option<Box<str>>,
    pub(super) id: Option<Id>,
    pub(super) id_at: Option<Range<usize>>,
    pub(super) body: Option<Range<usize>>,
    /// Where members of `params` are, within these; none where it has none of them.
    pub(super) params: Option<Box<Params>>,
    /// Where members of `result` are, within it; none where they are [more](MAX_NOTED) than are noted.
    pub(super) result: Option<Vec<ResultMember>>,
}

/// Where members of `params` are, by [`Param`](super::Param). Of several of the same name, the last counts.
pub(super) type Params = [Option<Range<usize>>; Param::ALL.len()];

/// The members of the outermost object.
const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// The places of those whose members are noted.
const PARAMS: usize = 3;
const RESULT: usize = 4;
/// Members of a result that are noted: doubled ones could be any number.
const MAX_NOTED: usize = 32;

/// Looks at the members of the outermost object, and of its `params` and `result`.
struct Reader<'t> {
    text: &'t [u8],
    depth: usize,
    is_object: bool,
    current: Option<(usize, usize)>,
    found: [Option<Range<usize>>; NAMES.len()],
    /// The member of `params` whose value comes, and where that begins.
    param: Option<(Param, usize)>,
    params: Option<Box<Params>>,
    /// The member of `result` whose value comes.
    of_result: Option<ResultMember>,
    result: Option<Vec<ResultMember>>,
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

    fn key(&mut self, key: Quoted<'_>) {
        match (self.depth, &self.current) {
            (1, _) => {}
            (2, Some((PARAMS, _))) => {
                let name = key.text();
                let param = Param::ALL.into_iter().find(|param| param.key() == name);
                self.param = param.and_then(|param| Some((param, value_start(self.text, &key)?)));
                return;
            }
            (2, Some((RESULT, _))) => {
                let name = key.text();
                let known = RESULT_MEMBERS.into_iter().find(|known| *known == name);
                let begun = known.zip(value_start(self.text, &key));
                self.of_result = begun.map(|(known, at)| Found::begin(known, &key, at));
                return;
            }
            _ => return,
        }
        let name = key.text();
        match NAMES.iter().position(|own| *own == name) {
            Some(member) => {
                self.current = value_start(self.text, &key).map(|at| (member, at));
            }
            None => self.twice |= is_read_as_another(&name),
        }
    }

    fn value_end(&mut self, end: usize) {
        if self.depth == 2
            && let (Some((param, at)), Some((_, from))) = (self.param.take(), self.current)
        {
            let params = self.params.get_or_insert_default();
            params[param as usize] = Some(at - from..end - from);
        }
        if self.depth == 2
            && let (Some(member), Some((_, from))) = (self.of_result.take(), self.current)
        {
            let noted = self.result.as_mut().filter(|noted| noted.len() < MAX_NOTED);
            match noted {
                Some(noted) => noted.push(member.ended(end).within(from)),
                None => self.result = None,
            }
        }
        if self.depth != 1 {
            return;
        }
        if let Some((member, start)) = self.current.take() {
            let slot = &mut self.found[member];
            self.twice |= slot.is_some();
            *slot = Some(start..end);
        }
    }
}

/// Whether a key is one of the envelope's for those who read keys whatever their case is: what they took
/// the message for is not what was judged here.
fn is_read_as_another(key: &str) -> bool {
    // The longest, of signs of up to three bytes.
    let may_be = key.len() <= 3 * "jsonrpc".len();
    may_be
        && NAMES
            .iter()
            .any(|own| own.to_uppercase() == key.to_uppercase())
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
        param: None,
        params: None,
        of_result: None,
        result: Some(Vec::new()),
        twice: false,
    };
    read_tokens(text, &mut reader).map_err(MessageError::NotJson)?;
    let Reader {
        is_object,
        found: [version, id_at, method, params, result, error],
        params: members,
        result: result_members,
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
    let id = match &id_at {
        Some(range) if matches!(raw[range.start], b'"' | b'-' | b'0'..=b'9') => {
            Some(Id::of(raw.slice(range.clone())))
        }
        Some(_) => return Err(not_message("its idis neither a string nor a number", None)),
        None => None,
    };
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
    let (kind, body) = match (name.is_some(), id.is_some(), result, error) {
        (true, true, None, None) => (Kind::Request, params),
        (true, false, None, None) => (Kind::Notification, params),
        (false, true, Some(result), None) => (Kind::Response, Some(result)),
        (false, _, None, Some(error)) => (Kind::Error, Some(error)),
        _ => return wrong("it is neither a request, a notification nor a response"),
    };
    Ok(Envelope {
        kind,
        method: name,
        id,
        id_at,
        body,
        params: members,
        result: result_members,
    })
}

fn not_message(reason: &'static str, id: Option<Id>) -> MessageError {
    MessageError::NotMessage { reason, id }
}
