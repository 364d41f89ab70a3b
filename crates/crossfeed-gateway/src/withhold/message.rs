//! Removes from each kind of message what the rules withhold, or answers in its place.

use super::rules::{Rules, TASK_LEVELS};
use crate::{
    budget::Charge,
    members,
    message::{Id, Kind, Message, RpcError},
    protocol::{code, method},
};
use bytes::Bytes;
use crossfeed_json::{Document, quoted};
use crossfeed_projection::RevealRules;
use std::sync::Arc;

/// The answer in place of a message that cannot be judged.
pub(super) const UNJUDGED: &str =
    "limit.exceeded: the message is withheld: the gateway cannot decide what of it may be shown";
/// The same where there is no memory to judge it.
pub(super) const NO_ROOM: &str = "limit.exceeded: the message is withheld: the gateway has no memory now to \
    decide what of it may be shown; the call that it answers has run";
/// The same where it would take more than there ever is for one client.
pub(super) const TOO_LARGE: &str = "limit.exceeded: the message is withheld: deciding what of it may be shown \
    takes more memory than one client may have (`memoryBytes`); the call that it answers has run";
/// The answer in place of a question whose state may not be shown.
pub(super) const WITHHELD_STATE: &str = "upstream.invalid: the server's question is withheld: its \
    `requestState` holds what the configuration withholds";

/// Whether a failure is one of these answers in place of a server's message.
pub(crate) fn is_refusal(text: &str) -> bool {
    [UNJUDGED, NO_ROOM, TOO_LARGE, WITHHELD_STATE].contains(&text)
}

/// What the answer to a request is, as far as rules differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A tool result, and everything that is not known.
    ToolResult,
    /// What the server is and offers: it names fields and holds no data.
    Listing,
    Resource,
    Prompt,
    Task,
}

impl Reply {
    pub(super) fn to(method: &str) -> Self {
        match method {
            method::INITIALIZE
            | method::DISCOVER
            | method::LIST_TOOLS
            | method::LIST_PROMPTS
            | method::LIST_RESOURCES
            | method::LIST_TEMPLATES
            | method::LIST_SKILLS => Self::Listing,
            method::READ_RESOURCE => Self::Resource,
            method::GET_PROMPT => Self::Prompt,
            method::GET_TASK | method::LIST_TASKS | method::CANCEL_TASK | method::UPDATE_TASK => {
                Self::Task
            }
            _ => Self::ToolResult,
        }
    }
}

/// What becomes of a message.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is passed on without what the rules withhold.
    Passes(Message),
    /// It cannot be judged, and the server waits for this answer.
    Answered(Message),
    /// It cannot be judged, and needs no answer.
    Dropped,
}

/// What becomes of a message that is `reply`, if it is an answer; with room for what is written.
pub(super) fn judged(
    message: Message,
    reply: Reply,
    rules: &Arc<RevealRules>,
    room: Option<Charge>,
) -> Verdict {
    let Some(body) = message.body() else {
        return Verdict::Passes(alone(message));
    };
    let Some(shown) = shown(body, &message, reply, rules) else {
        return unjudged(message.kind(), reply, message.id(), UNJUDGED);
    };
    let message = alone(message);
    Verdict::Passes(match (shown, room) {
        (Some(shown), Some(mut room)) => {
            room.keep(shown.len());
            message.with_body(room.hold(shown))
        }
        (Some(shown), None) => message.with_body(shown),
        (None, _) => message,
    })
}

/// What may be shown of a body: all of it, or the rest; none where that cannot be told.
fn shown(
    body: Bytes,
    message: &Message,
    reply: Reply,
    rules: &Arc<RevealRules>,
) -> Option<Option<Bytes>> {
    let document = Document::new(body);
    let root = document.root().ok()?;
    // What a key had before its last value is not judged, so it must not stay.
    let is_judged = message.kind() != Kind::Response || reply != Reply::Listing;
    let once = (is_judged && root.document_has_duplicates()).then(|| {
        let mut json = Vec::new();
        root.write_compact(&mut json);
        Document::new(json)
    });
    let root = match &once {
        None => root,
        Some(once) => once.root().ok()?,
    };
    let rules = Rules(rules);
    let shown = match message.kind() {
        Kind::Response => match reply {
            Reply::Listing => None,
            Reply::ToolResult => rules.tool_answer(root, TASK_LEVELS),
            Reply::Resource => rules.marked(rules.resource(root), root),
            Reply::Prompt => rules.marked(rules.prompt(root), root),
            Reply::Task => rules.task(root, TASK_LEVELS),
        },
        Kind::Error => rules.error(root),
        Kind::Request => rules.request(message.method().unwrap_or_default(), root),
        Kind::Notification => rules.notification(message.method().unwrap_or_default(), root),
    };
    let shown = shown.map(Bytes::from);
    Some(shown.or_else(|| once.as_ref().map(|once| once.raw().clone())))
}

/// The message without members that JSON-RPC does not know: they have no reader, and are not judged.
fn alone(message: Message) -> Message {
    const KNOWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let document = Document::new(message.to_bytes());
    let is_known = document.root().is_ok_and(|root| {
        let mut members = root.members();
        members.all(|(key, _)| KNOWN.contains(&&*key.text()))
    });
    if is_known {
        return message;
    }
    let body = message.body();
    Message::made(
        message.kind(),
        message.id(),
        message.method(),
        body.as_ref(),
    )
}

/// What becomes of a message that cannot be judged: what waits for an answer gets one.
pub(super) fn unjudged(kind: Kind, reply: Reply, id: Option<&Id>, why: &str) -> Verdict {
    let Some(id) = id else {
        return Verdict::Dropped;
    };
    let failure = || Message::failure(Some(id), &RpcError::new(code::INTERNAL, why));
    match kind {
        Kind::Response if reply == Reply::ToolResult => {
            Verdict::Passes(Message::response(id, &refusal(why)))
        }
        Kind::Response | Kind::Error => Verdict::Passes(failure()),
        Kind::Request => Verdict::Answered(failure()),
        Kind::Notification => Verdict::Dropped,
    }
}

/// A tool result that is an error.
pub(super) fn refusal(why: &str) -> Bytes {
    let part = format!("[{{\"type\":\"text\",\"text\":{}}}]", quoted(why));
    members::object(&[("content", part.as_str()), ("isError", "true")])
}
