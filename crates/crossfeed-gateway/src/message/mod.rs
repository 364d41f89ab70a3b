//! A JSON-RPC message: its envelope is read, and all other bytes stay as they came.
//!
//! Where the gateway sets another id or another body, the message is written in pieces that share the bytes that came.

mod body;
mod envelope;
mod error;
mod header;
mod id;
mod make;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use body::{Body, Edits, over};
pub use error::{MessageError, RpcError};
pub use header::Header;
pub use id::Id;
pub(crate) use token::Token;

use crate::{
    apart::apart,
    members::{Member, at},
    protocol::method,
};
use bytes::{Buf, Bytes};
use crossfeed_json::Document;
use envelope::Envelope;
use std::{borrow::Cow, ops::Range};

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC 2.0 has these messages and no others"
)]
pub enum Kind {
    /// `method` and `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `id` and `result`.
    Response,
    /// `error`, with the `id` of a request or, where it could not be read, without.
    Error,
}

impl Kind {
    /// Whether this answers a request.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Response | Self::Error)
    }
}

/// A member of `params` that decides where a message goes. Its place is noted while the envelope is read, so that the
/// whole need not be indexed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    /// What is about the message itself.
    Meta,
    /// A tool, or a prompt.
    Name,
    /// A resource.
    Uri,
    /// A task.
    TaskId,
    /// What a call is known by that was asked back.
    State,
}

impl Param {
    /// The parameter that names what a request is about, by its method.
    pub(crate) fn naming(method: &str) -> Option<Self> {
        match method {
            method::CALL_TOOL | method::GET_PROMPT => Some(Self::Name),
            method::READ_RESOURCE => Some(Self::Uri),
            method::GET_TASK | method::UPDATE_TASK | method::CANCEL_TASK => Some(Self::TaskId),
            _ => None,
        }
    }

    fn key(self) -> &'static str {
        PARAMS[self as usize]
    }
}

/// The members of `params` whose places are noted, by [`Param`].
const PARAMS: [&str; 5] = ["_meta", "name", "uri", "taskId", "requestState"];

/// The members of `result` whose places are noted: they tell what a result is, and stand around its data.
pub(crate) const RESULT_MEMBERS: [&str; 8] = [
    "isError",
    "resultType",
    "requestState",
    "task",
    "taskId",
    "content",
    "structuredContent",
    "_meta",
];

/// A member of `params` or `result`, and where it is within.
pub(crate) type BodyMember = Member<&'static str>;

/// One message.
///
/// # Invariants
///
/// The bytes are valid JSON: one object with `"jsonrpc": "2.0"`, no member of the envelope twice.
/// Cloning shares them.
#[derive(Clone, Debug)]
pub struct Message {
    raw: Bytes,
    envelope: Envelope,
    /// What stands instead of parts of `raw`, in the order of the ranges, which do not overlap.
    edits: Edits,
}

impl Message {
    /// Reads the envelope of a message, and checks that the whole is JSON.
    ///
    /// # Errors
    ///
    /// [`MessageError`], which knows the id of what came where there was one.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, MessageError> {
        let mut raw = bytes.into();
        if raw.starts_with(b"\xef\xbb\xbf") {
            raw.advance(3);
        }
        let envelope = envelope::read(&raw)?;
        Ok(Self {
            raw,
            envelope,
            edits: Vec::new(),
        })
    }

    /// [`parse`](Self::parse), off the threads that serve others where the message is large.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub(crate) async fn read(bytes: Bytes) -> Result<Self, MessageError> {
        apart(bytes.len(), move || Self::parse(bytes)).await
    }

    /// What the message is.
    pub fn kind(&self) -> Kind {
        self.envelope.kind
    }

    /// The method of a request or a notification.
    pub fn method(&self) -> Option<&str> {
        self.envelope.method.as_deref()
    }

    /// The id, as it will be sent.
    pub fn id(&self) -> Option<&Id> {
        self.envelope.id.as_ref()
    }

    /// The id of a request; none of every other message.
    pub fn request_id(&self) -> Option<&Id> {
        self.id().filter(|_| self.kind() == Kind::Request)
    }

    /// The bytes of `params`, `result` or `error`, as they will be sent. Shared, and copied only where something
    /// was changed within them.
    pub fn body(&self) -> Option<Bytes> {
        let range = self.envelope.body.clone()?;
        if let Some((_, with)) = self.edits.iter().find(|(edited, _)| *edited == range) {
            return Some(with.clone());
        }
        let within = self.edits.iter().filter(|(at, _)| is_within(at, &range));
        let less = |at: &Range<usize>| at.start - range.start..at.end - range.start;
        let edits: Vec<_> = within.map(|(at, with)| (less(at), with.clone())).collect();
        let came = self.raw.slice(range.clone());
        Some(if edits.is_empty() {
            came
        } else {
            over(&came, &edits)
        })
    }

    fn body_of(&self, kinds: &[Kind]) -> Option<Bytes> {
        kinds.contains(&self.kind()).then(|| self.body())?
    }

    /// The bytes of `params`.
    pub fn params(&self) -> Option<Bytes> {
        self.body_of(&[Kind::Request, Kind::Notification])
    }

    /// The bytes of a member of `params`. Shared, not copied.
    pub(crate) fn param(&self, param: Param) -> Option<Bytes> {
        let params = self.params()?;
        if self.envelope.members.is_none() {
            let document = Document::new(params);
            return Some(at(&document, &[param.key()])?.shared());
        }
        Some(params.slice(self.param_at(param)?))
    }

    /// Where a member is within `params` as they came. Of several with the same name, the last counts.
    fn param_at(&self, param: Param) -> Option<Range<usize>> {
        let mut members = self.envelope.members.as_ref()?.iter().rev();
        let member = members.find(|member| member.key == param.key())?;
        Some(member.value.clone())
    }

    /// The message with other bytes at a place within the `_meta` of its `params`; `hold` shares the new `params`. Without
    /// `_meta`, the message stays as it is.
    pub(crate) fn with_meta_at(
        mut self,
        place: &Range<usize>,
        bytes: &[u8],
        hold: impl FnOnce(Vec<u8>) -> Bytes,
    ) -> Self {
        let (Some(params), Some(meta)) = (self.params(), self.param_at(Param::Meta)) else {
            return self;
        };
        let (start, end) = (meta.start + place.start, meta.start + place.end);
        let parts = params.get(..start).zip(params.get(end..));
        let (Some((before, behind)), Some(range)) = (parts, self.envelope.body.clone()) else {
            return self;
        };
        let json = hold([before, bytes, behind].concat());
        let moved = |at: usize| {
            if at < end {
                at
            } else {
                at - place.len() + bytes.len()
            }
        };
        for member in self.envelope.members.iter_mut().flatten() {
            for part in [&mut member.whole, &mut member.value] {
                *part = moved(part.start)..moved(part.end);
            }
        }
        self.edit(range, json);
        self
    }

    /// The bytes of `result`.
    pub fn result(&self) -> Option<Bytes> {
        self.body_of(&[Kind::Response])
    }

    /// Where members of `result` are; none where that is not known.
    pub(crate) fn result_members(&self) -> Option<&[BodyMember]> {
        let known = self.envelope.members.as_deref();
        known.filter(|_| self.kind() == Kind::Response)
    }

    /// The bytes of `error`.
    pub fn error(&self) -> Option<Bytes> {
        self.body_of(&[Kind::Error])
    }

    /// Length in bytes, as it will be sent.
    pub fn len(&self) -> usize {
        self.pieces().map(|piece| piece.len()).sum()
    }

    /// Never: a message has an envelope.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The same message with another id; of a message without one, itself.
    pub fn with_id(mut self, id: Id) -> Self {
        if let Some(range) = self.envelope.id_at.clone() {
            self.edit(range, id.raw().clone());
            self.envelope.id = Some(id);
        }
        self
    }

    /// The same message with another body: `params`, `result` or `error`, whichever it has. A request
    /// or a notification without `params` gains them.
    pub fn with_body(mut self, json: impl Into<Bytes>) -> Self {
        let json = json.into();
        self.envelope.members = None;
        match self.envelope.body.clone() {
            Some(range) => self.edit(range, json),
            None => return Self::made(self.kind(), self.id(), self.method(), Some(&json)),
        }
        self
    }

    /// The same message with a body that is new, or changed.
    pub(crate) fn with(mut self, body: Body) -> Self {
        let edits = match body {
            Body::Other(json) => return self.with_body(json),
            Body::Edited(edits) => edits,
        };
        let is_replaced = |body: &Range<usize>| self.edits.iter().any(|(at, _)| at == body);
        match self.envelope.body.clone() {
            Some(range) if !is_replaced(&range) => {
                self.envelope.members = None;
                for (at, with) in edits {
                    self.edit(range.start + at.start..range.start + at.end, with);
                }
                self
            }
            _ => {
                let came = self.body().unwrap_or_default();
                self.with_body(over(&came, &edits))
            }
        }
    }

    /// Puts bytes in the place of a part, and of what was put within it before.
    fn edit(&mut self, range: Range<usize>, with: Bytes) {
        self.edits.retain(|(at, _)| !is_within(at, &range));
        let at = self
            .edits
            .partition_point(|(edited, _)| (edited.start, edited.end) < (range.start, range.end));
        match self.edits.get_mut(at) {
            Some((edited, there)) if *edited == range => *there = with,
            _ => self.edits.insert(at, (range, with)),
        }
    }

    /// The bytes to send, in pieces that share what came.
    pub fn pieces(&self) -> impl Iterator<Item = Bytes> + '_ {
        let mut from = 0;
        let mut edits = self.edits.iter();
        let mut pending = None;
        std::iter::from_fn(move || {
            if let Some(with) = pending.take() {
                return Some(with);
            }
            if let Some((range, with)) = edits.next() {
                let before = self.raw.slice(from..range.start);
                from = range.end;
                pending = Some(Bytes::clone(with));
                return Some(before);
            }
            let rest = self.raw.slice(from..);
            from = self.raw.len();
            (!rest.is_empty()).then_some(rest)
        })
        .filter(|piece| !piece.is_empty())
    }

    /// The bytes to send in one piece; copied only where parts were set.
    pub fn to_bytes(&self) -> Bytes {
        over(&self.raw, &self.edits)
    }
}

/// Whether a place is inside of another, and at neither of its ends: what stands there is around it.
fn is_within(at: &Range<usize>, of: &Range<usize>) -> bool {
    of.start < at.start && at.end < of.end
}

/// A piece of a message on one line: JSON has line breaks between its tokens only, and there a blank
/// says the same.
pub fn on_one_line(piece: &Bytes) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', piece).is_none() {
        return Cow::Borrowed(piece);
    }
    let mut line = piece.to_vec();
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    Cow::Owned(line)
}
