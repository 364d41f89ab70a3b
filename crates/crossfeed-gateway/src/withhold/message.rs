//! What is taken out of each kind of message.
//!
//! What comes in: a message of a server, what it answers, and rules. What goes out: the message without
//! what the rules name. Members that the protocol itself reads (ids, states, schemas of questions) stay:
//! a message without them would be another one.

use crate::{
    members,
    message::{Id, Kind, Message, RpcError, code},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind as JsonKind, quoted};
use crossfeed_mcp::{Capability, Projector};
use crossfeed_projection::{RevealRules, WITHHELD};
use std::sync::Arc;

/// The member of a result's `_meta` that says that something of the result was withheld.
pub(crate) const WITHHELD_MARK: &str = "dev.crossfeed/withheld";

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
            "initialize"
            | "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "skills/list" => Self::Listing,
            "resources/read" => Self::Resource,
            "prompts/get" => Self::Prompt,
            "tasks/get" | "tasks/list" | "tasks/cancel" | "tasks/update" => Self::Task,
            _ => Self::ToolResult,
        }
    }
}

/// What becomes of a member.
enum Fate {
    Stays,
    Goes,
    Becomes(Vec<u8>),
}

impl From<Option<Vec<u8>>> for Fate {
    fn from(json: Option<Vec<u8>>) -> Self {
        json.map_or(Self::Stays, Self::Becomes)
    }
}

/// The message without what the rules withhold; `None` where it cannot be judged and nobody waits for it.
pub(super) fn judged(message: Message, reply: Reply, rules: &Arc<RevealRules>) -> Option<Message> {
    let Some(body) = message.body() else {
        return Some(alone(message));
    };
    let rules = Rules(rules);
    let document = Document::new(body);
    let Ok(root) = document.root() else {
        return match (message.kind(), message.id()) {
            (Kind::Response, Some(id)) => unjudged(id),
            _ => None,
        };
    };
    // What a key had before its last value is not judged, so it must not stay.
    let once = root.document_has_duplicates().then(|| {
        let mut json = Vec::new();
        root.write_compact(&mut json);
        Document::new(json)
    });
    let root = match &once {
        Some(once) => once.root().ok()?,
        None => root,
    };
    let shown = match message.kind() {
        Kind::Response => match reply {
            Reply::Listing => None,
            Reply::ToolResult => rules.tool_answer(root),
            Reply::Resource => rules.resource(root),
            Reply::Prompt => rules.prompt(root),
            Reply::Task => rules.task(root),
        },
        Kind::Error => rules.error(root),
        Kind::Request => rules.request(message.method().unwrap_or_default(), root),
        Kind::Notification => rules.notification(message.method().unwrap_or_default(), root),
    };
    let shown = shown.map(Bytes::from);
    let shown = shown.or_else(|| once.map(|once| once.raw().clone()));
    let message = alone(message);
    Some(match shown {
        Some(shown) => message.with_body(shown),
        None => message,
    })
}

/// The message without members that JSON-RPC does not know: nobody reads them, and they are not judged.
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
    match (message.kind(), message.id(), message.method()) {
        (Kind::Response, Some(id), _) => Message::response(id, &body.unwrap_or_default()),
        (Kind::Request, Some(id), Some(method)) => Message::request(id, method, body.as_ref()),
        (Kind::Notification, _, Some(method)) => Message::notification(method, body.as_ref()),
        (_, id, _) => {
            let error = RpcError::new(code::INTERNAL, WITHHELD);
            let message = Message::failure(id, &error);
            match body {
                Some(body) => message.with_body(body),
                None => message,
            }
        }
    }
}

/// The answer in place of one that cannot be judged.
pub(super) fn unjudged(id: &Id) -> Option<Message> {
    let why = "limit.exceeded: the result is withheld: it cannot be told what of it may be shown";
    Some(Message::response(id, &refusal(why)))
}

/// A tool result that is an error.
fn refusal(why: &str) -> Bytes {
    let part = format!("[{{\"type\":\"text\",\"text\":{}}}]", quoted(why));
    members::object(&[("content", part.as_str()), ("isError", "true")])
}

/// Never-rules over the messages of a server.
struct Rules<'r>(&'r Arc<RevealRules>);

impl Rules<'_> {
    /// The answer to `tools/call`, and to what is not known.
    fn tool_answer(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        if root.kind() != JsonKind::Object {
            return self.0.redact_value(root);
        }
        let text = |key: &str| root.get(key).and_then(Cursor::as_str);
        let kind = text("resultType");
        if kind.as_deref() == Some("input_required") || root.get("inputRequests").is_some() {
            return self.question(root);
        }
        let is_task = kind.as_deref() == Some("task") || root.get("task").is_some();
        if is_task && root.get("content").is_none() && root.get("structuredContent").is_none() {
            return self.task(root);
        }
        let document = Document::new(root.shared());
        let projector = Projector::new(Capability::default()).with_rules(Arc::clone(self.0));
        let shown = projector.withhold(&document);
        let is_cut = shown.as_ref().is_some_and(|shown| shown.is_cut);
        self.marked(shown.map(|shown| shown.json), root, is_cut)
    }

    /// Says in a result whether something of it was withheld; nobody else may say so.
    fn marked(&self, shown: Option<Vec<u8>>, root: Cursor<'_>, is_cut: bool) -> Option<Vec<u8>> {
        let is_claimed = members::may_hold(root.raw(), WITHHELD_MARK);
        if !is_cut && !is_claimed {
            return shown;
        }
        let document = match shown {
            Some(shown) => Document::new(shown),
            None => Document::new(root.shared()),
        };
        let root = document.root().ok()?;
        let own = root
            .get("_meta")
            .filter(|meta| meta.kind() == JsonKind::Object);
        let members = own.into_iter().flat_map(Cursor::members);
        let members = members.filter(|(key, _)| key.text() != WITHHELD_MARK);
        let mut meta: Vec<(String, &[u8])> = members
            .map(|(key, value)| (key.text().into_owned(), value.raw()))
            .collect();
        if is_cut {
            meta.push((WITHHELD_MARK.to_owned(), b"true"));
        }
        let meta: Vec<_> = meta.iter().map(|(key, raw)| (key.as_str(), *raw)).collect();
        let mut edits = crossfeed_json::Edits::new(document.raw());
        members::put_all(&mut edits, root, &[("_meta", members::object(&meta))]);
        Some(edits.done().into_owned())
    }

    /// A result that asks the client for more. The state goes back to the server as it came, so where
    /// it holds what is withheld, the question cannot be asked.
    fn question(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        let state = root.get("requestState");
        if state.is_some_and(|state| self.0.redact_value(state).is_some()) {
            let why = "upstream.invalid: the server's question is withheld: its `requestState` holds \
                       what the configuration withholds";
            return Some(refusal(why).into());
        }
        object(root, |key, value| match key {
            "resultType" | "requestState" => Fate::Stays,
            "inputRequests" => object(value, |_, request| {
                let method = request.get("method").and_then(Cursor::as_str);
                let method = method.unwrap_or_default().into_owned();
                object(request, |key, value| match key {
                    "method" => Fate::Stays,
                    "params" => self.request(&method, value).into(),
                    key => self.other(key, value),
                })
                .into()
            })
            .into(),
            key => self.other(key, value),
        })
    }

    /// A task, an answer that holds one or several, and what is told of one.
    fn task(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        const PROTOCOL: [&str; 11] = [
            "taskId",
            "status",
            "createdAt",
            "lastUpdatedAt",
            "ttl",
            "ttlMs",
            "pollInterval",
            "pollIntervalMs",
            "resultType",
            "requestState",
            "nextCursor",
        ];
        if root.kind() != JsonKind::Object {
            return self.0.redact_value(root);
        }
        if ["content", "structuredContent"]
            .iter()
            .any(|key| root.get(key).is_some())
        {
            return self.tool_answer(root);
        }
        object(root, |key, value| match key {
            "task" => self.task(value).into(),
            "tasks" => list(value, |task| self.task(task)).into(),
            "result" => self.tool_answer(value).into(),
            "error" => self.error(value).into(),
            "statusMessage" => self.0.redact_value(value).into(),
            "inputRequests" => self
                .question(root)
                .and_then(|shown| {
                    let shown = Document::new(shown);
                    let requests = shown.root().ok()?.get("inputRequests")?;
                    Some(requests.raw().to_vec())
                })
                .into(),
            key if PROTOCOL.contains(&key) => Fate::Stays,
            key => self.other(key, value),
        })
    }

    /// The answer to `resources/read`.
    fn resource(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        object(root, |key, value| match key {
            "contents" if value.kind() == JsonKind::Array => {
                let parts: Vec<Vec<u8>> = value
                    .items()
                    .map(|item| [br#"{"type":"resource","resource":"#, item.raw(), b"}"].concat())
                    .collect();
                let Some(shown) = self.content(&parts.join(&b","[..])) else {
                    return Fate::Stays;
                };
                let shown = Document::new(shown);
                let shown = shown.root().ok();
                let items = shown.into_iter().flat_map(Cursor::items);
                let items: Vec<&[u8]> = items
                    .filter_map(|part| Some(part.get("resource")?.raw()))
                    .collect();
                Fate::Becomes([b"[", items.join(&b","[..]).as_slice(), b"]"].concat())
            }
            "ttlMs" | "cacheScope" | "resultType" => Fate::Stays,
            key => self.other(key, value),
        })
    }

    /// The answer to `prompts/get`, and the messages of a request for sampling.
    fn prompt(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        object(root, |key, value| match key {
            "description" | "systemPrompt" => self.0.redact_value(value).into(),
            "messages" => list(value, |message| {
                object(message, |key, value| match key {
                    "role" => Fate::Stays,
                    "content" => self.message(value).into(),
                    key => self.other(key, value),
                })
            })
            .into(),
            "resultType" | "tools" | "toolChoice" | "modelPreferences" | "maxTokens"
            | "temperature" | "stopSequences" | "includeContext" => Fate::Stays,
            key => self.other(key, value),
        })
    }

    /// The content of a message: one part, or a list of them.
    fn message(&self, content: Cursor<'_>) -> Option<Vec<u8>> {
        if content.kind() == JsonKind::Array {
            let parts: Vec<&[u8]> = content.items().map(Cursor::raw).collect();
            return self.content(&parts.join(&b","[..]));
        }
        let shown = Document::new(self.content(content.raw())?);
        let only = shown.root().ok().and_then(|parts| parts.at(0));
        Some(match only {
            Some(only) => only.raw().to_vec(),
            None => format!("{{\"type\":\"text\",\"text\":\"{WITHHELD}\"}}").into_bytes(),
        })
    }

    /// Parts of content, which are judged as those of one result.
    fn content(&self, parts: &[u8]) -> Option<Vec<u8>> {
        let document = Document::new([br#"{"content":["#, parts, b"]}"].concat());
        let shown = self.0.redact_result(document.root().ok()?)?;
        let shown = Document::new(shown.json);
        let content = shown.root().ok().and_then(|root| root.get("content"));
        Some(content.map_or_else(|| b"[]".to_vec(), |content| content.raw().to_vec()))
    }

    /// The error of a request.
    fn error(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        object(root, |key, value| match key {
            "code" => Fate::Stays,
            "message" | "data" => self.0.redact_value(value).into(),
            key => self.other(key, value),
        })
    }

    /// The parameters of a request of the server.
    fn request(&self, method: &str, params: Cursor<'_>) -> Option<Vec<u8>> {
        match method {
            "ping" | "roots/list" => None,
            "sampling/createMessage" => self.prompt(params),
            "elicitation/create" => object(params, |key, value| match key {
                "mode" | "requestedSchema" | "url" | "elicitationId" => Fate::Stays,
                "message" => self.0.redact_value(value).into(),
                key => self.other(key, value),
            }),
            _ => self.0.redact_value(params),
        }
    }

    /// The parameters of a notification.
    fn notification(&self, method: &str, params: Cursor<'_>) -> Option<Vec<u8>> {
        match method {
            "notifications/tasks" | "notifications/tasks/status" => self.task(params),
            _ => object(params, |key, value| match key {
                "level" | "logger" | "progressToken" | "progress" | "total" | "requestId"
                | "uri" | "elicitationId" | "notifications" => Fate::Stays,
                "message" | "data" | "reason" => self.0.redact_value(value).into(),
                key => self.other(key, value),
            }),
        }
    }

    /// Any other member: judged as a member of an object, by its name and what it holds.
    fn other(&self, key: &str, value: Cursor<'_>) -> Fate {
        let alone = members::object(&[(key, value.raw())]);
        let document = Document::new(alone);
        let Some(shown) = document.root().ok().map(|root| self.0.redact_value(root)) else {
            return Fate::Goes;
        };
        let Some(shown) = shown.map(Document::new) else {
            return Fate::Stays;
        };
        match shown.root().ok().and_then(|root| root.get(key)) {
            Some(left) => Fate::Becomes(left.raw().to_vec()),
            None => Fate::Goes,
        }
    }
}

/// An object with some members gone or in another form; `None` where all are as they were, and of what
/// is no object.
fn object(object: Cursor<'_>, mut fate: impl FnMut(&str, Cursor<'_>) -> Fate) -> Option<Vec<u8>> {
    if object.kind() != JsonKind::Object {
        return None;
    }
    let fates: Vec<_> = object
        .members()
        .map(|(key, value)| (key, value, fate(&key.text(), value)))
        .collect();
    if fates.iter().all(|(.., fate)| matches!(fate, Fate::Stays)) {
        return None;
    }
    let mut json = vec![b'{'];
    for (key, value, fate) in fates {
        let shown = match &fate {
            Fate::Stays => value.raw(),
            Fate::Goes => continue,
            Fate::Becomes(shown) => shown,
        };
        if json.len() > 1 {
            json.push(b',');
        }
        json.push(b'"');
        json.extend_from_slice(key.raw());
        json.extend_from_slice(b"\":");
        json.extend_from_slice(shown);
    }
    json.push(b'}');
    Some(json)
}

/// A list with some items in another form; `None` where all are as they were.
fn list(list: Cursor<'_>, mut shown: impl FnMut(Cursor<'_>) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let items: Vec<_> = list.items().map(|item| (item, shown(item))).collect();
    if items.iter().all(|(_, shown)| shown.is_none()) {
        return None;
    }
    let items: Vec<&[u8]> = items
        .iter()
        .map(|(item, shown)| shown.as_deref().unwrap_or_else(|| item.raw()))
        .collect();
    Some([b"[", items.join(&b","[..]).as_slice(), b"]"].concat())
}
