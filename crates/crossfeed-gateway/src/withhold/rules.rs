//! Judges what of a message's body may be shown.
//!
//! A member is withheld by its name and by what it holds, unless the protocol reads it and it is of the kind that
//! the protocol expects: ids, states, numbers, schemas of questions.

use super::message::{WITHHELD_STATE, refusal};
use crate::{members, protocol::log_level};
use crossfeed_json::{Change, Cursor, Document, Edits, Kind, object, quoted};
use crossfeed_mcp::{Capability, Projector};
use crossfeed_projection::{RevealRules, WITHHELD};
use std::sync::Arc;

/// The member of a result's `_meta` that says that something of the result was withheld.
pub(crate) const WITHHELD_MARK: &str = "dev.crossfeed/withheld";

const RESULT_TYPES: [&str; 3] = ["complete", "input_required", "task"];
const TASK_STATUSES: [&str; 5] = [
    "working",
    "input_required",
    "completed",
    "failed",
    "cancelled",
];

/// Keywords of JSON Schema that say nothing of a value but what it may look like.
const SCHEMA_WORDS: [&str; 28] = [
    "type",
    "title",
    "description",
    "format",
    "pattern",
    "$ref",
    "$id",
    "$schema",
    "$comment",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "items",
    "additionalProperties",
    "readOnly",
    "writeOnly",
    "deprecated",
    "contentEncoding",
    "contentMediaType",
];

/// How often tasks and their results may stand within each other: each is judged as what it is, so content goes
/// through the rules once for each that it stands in. MCP needs three: a list of tasks, a task, its result.
pub(super) const TASK_LEVELS: usize = 4;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Never-rules over the messages of a server. Each method returns `None` where all may be shown.
pub(super) struct Rules<'r>(pub(super) &'r Arc<RevealRules>);

impl Rules<'_> {
    /// The answer to `tools/call`, and to what is not known, with so many [levels](TASK_LEVELS) of tasks left.
    pub(super) fn tool_answer(&self, root: Cursor<'_>, levels: usize) -> Option<Vec<u8>> {
        if root.kind() != Kind::Object {
            return self.texts(root);
        }
        let text = |key: &str| root.get(key).and_then(Cursor::as_str);
        let kind = text("resultType");
        if kind.as_deref() == Some("input_required") {
            return self.question(root);
        }
        let is_task = kind.as_deref() == Some("task") || root.get("task").is_some();
        if is_task && !has_content(root) {
            return self.task(root, levels);
        }
        let protocol = self.object(root, |key, value| match key {
            "task" => within(levels, |left| self.task(value, left)),
            "resultType" => self.word(key, value, &RESULT_TYPES),
            _ => Change::Keep,
        });
        let Some(left) = protocol.map(Document::new) else {
            return self.data(root);
        };
        let Ok(root) = left.root() else {
            return Some(refusal(WITHHELD_STATE).into());
        };
        let shown = self.data(root).unwrap_or_else(|| left.raw().to_vec());
        self.marked(Some(shown), root)
    }

    /// A result whose members of the protocol are judged.
    fn data(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        let document = Document::new(root.shared());
        let projector = Projector::new(Capability::default()).with_rules(Arc::clone(self.0));
        match projector.withhold(&document) {
            Some(shown) if !shown.is_cut => {
                let document = Document::new(shown.json);
                let unmarked = document.root().map(|root| self.marked(None, root));
                Some(
                    unmarked
                        .ok()
                        .flatten()
                        .unwrap_or_else(|| document.raw().to_vec()),
                )
            }
            shown => self.marked(shown.map(|shown| shown.json), root),
        }
    }

    /// Says in the result `root`, of which `shown` is left, whether something of it was withheld; only
    /// the gateway may say so.
    pub(super) fn marked(&self, shown: Option<Vec<u8>>, root: Cursor<'_>) -> Option<Vec<u8>> {
        let is_cut = shown.is_some();
        let document = match shown {
            Some(shown) => Document::new(shown),
            None if !members::may_hold(root.raw(), WITHHELD_MARK) => return None,
            None => Document::new(root.shared()),
        };
        let root = document.root().ok()?;
        if root.kind() != Kind::Object {
            return is_cut.then(|| document.raw().to_vec());
        }
        let own = root.get("_meta").filter(|meta| meta.kind() == Kind::Object);
        let is_claimed = own.is_some_and(|own| own.get(WITHHELD_MARK).is_some());
        if !is_cut && !is_claimed {
            return None;
        }
        let mut edits = Edits::new(document.raw());
        match own {
            Some(own) if is_cut => edits.put(own, WITHHELD_MARK, "true"),
            Some(own) => {
                edits.remove_members(own, |key| key == WITHHELD_MARK);
            }
            None => edits.put(root, "_meta", object(&[(WITHHELD_MARK, "true")])),
        }
        Some(edits.done().into_owned())
    }

    /// A result that asks the client for more. The state goes back to the server as it came, so where
    /// it holds what is withheld, the question cannot be asked.
    fn question(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        let state = root.get("requestState");
        if state.is_some_and(|state| self.texts(state).is_some()) {
            return Some(refusal(WITHHELD_STATE).into());
        }
        self.object(root, |key, value| match key {
            "resultType" => self.word(key, value, &RESULT_TYPES),
            "requestState" => Change::Keep,
            "inputRequests" => self.questions(value).into(),
            key => self.other(key, value),
        })
    }

    /// The requests of a question by their names, which are the server's to choose. What is not a request is
    /// judged as any other member.
    fn questions(&self, requests: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(requests, |name, request| {
            if self.is_cut(name) {
                return Change::Remove;
            }
            let Some(method) = request.get("method").and_then(Cursor::as_str) else {
                return self.unexpected(name, request);
            };
            let method = method.into_owned();
            self.object(request, |key, value| match key {
                "method" => self.name(key, value),
                "params" => self.request(&method, value).into(),
                key => self.other(key, value),
            })
            .into()
        })
    }

    /// A task, an answer that holds one or several, and a notification about one.
    pub(super) fn task(&self, root: Cursor<'_>, levels: usize) -> Option<Vec<u8>> {
        if has_content(root) {
            return self.tool_answer(root, levels);
        }
        self.object(root, |key, value| match key {
            "task" => within(levels, |left| self.task(value, left)),
            "tasks" => self.list(key, value, || {
                within(levels, |left| {
                    value.with_items(|task| self.task(task, left))
                })
            }),
            "result" => within(levels, |left| self.tool_answer(value, left)),
            "error" => self.error(value).into(),
            "statusMessage" | "createdAt" | "lastUpdatedAt" => self.texts(value).into(),
            "inputRequests" => self.questions(value).into(),
            "taskId" | "requestState" | "nextCursor" => self.name(key, value),
            "status" => self.word(key, value, &TASK_STATUSES),
            "resultType" => self.word(key, value, &RESULT_TYPES),
            "ttl" | "ttlMs" | "pollInterval" | "pollIntervalMs" => self.number(key, value),
            key => self.other(key, value),
        })
    }

    /// The answer to `resources/read`.
    pub(super) fn resource(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(root, |key, value| match key {
            "contents" => self.list(key, value, || self.contents(value).into()),
            "ttlMs" => self.number(key, value),
            "cacheScope" => self.word(key, value, &["public", "private"]),
            "resultType" => self.word(key, value, &RESULT_TYPES),
            key => self.other(key, value),
        })
    }

    /// The contents of a resource, which are judged as embedded resources of one result.
    fn contents(&self, contents: Cursor<'_>) -> Option<Vec<u8>> {
        let is_object = |item: Cursor<'_>| item.kind() == Kind::Object;
        let parts = contents.with_items(|item| {
            is_object(item)
                .then(|| [br#"{"type":"resource","resource":"#, item.raw(), b"}"].concat())
        });
        let shown = self.content(parts.as_deref().unwrap_or(contents.raw()))?;
        let shown = Document::new(shown);
        let root = shown.root().ok().filter(|root| root.kind() == Kind::Array);
        let Some(root) = root else {
            return Some(b"[]".to_vec());
        };
        let mut items = contents.items();
        let unwrapped = root.with_items(|part| match items.next() {
            Some(item) if is_object(item) => match part.get("resource") {
                Some(resource) => Change::Replace(resource.raw().to_vec()),
                None => Change::Remove,
            },
            _ => Change::Keep,
        });
        Some(unwrapped.unwrap_or_else(|| shown.raw().to_vec()))
    }

    /// The answer to `prompts/get`, and the parameters of a request for sampling.
    pub(super) fn prompt(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(root, |key, value| match key {
            "description" | "systemPrompt" => self.texts(value).into(),
            "messages" => self.list(key, value, || {
                value.with_items(|own| self.message(own)).into()
            }),
            "tools" => self.list(key, value, || value.with_items(|own| self.tool(own)).into()),
            "resultType" => self.word(key, value, &RESULT_TYPES),
            "includeContext" => self.word(key, value, &["none", "thisServer", "allServers"]),
            "maxTokens" | "temperature" => self.number(key, value),
            key => self.other(key, value),
        })
    }

    fn message(&self, message: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(message, |key, value| match key {
            "role" => self.word(key, value, &["user", "assistant"]),
            "content" => self.message_content(value).into(),
            key => self.other(key, value),
        })
    }

    /// The content of a message: one part, or a list of them.
    fn message_content(&self, content: Cursor<'_>) -> Option<Vec<u8>> {
        if content.kind() == Kind::Array {
            return self.content(content.raw());
        }
        let shown = Document::new(self.content(&[b"[", content.raw(), b"]"].concat())?);
        let only = shown.root().ok().and_then(|parts| parts.at(0));
        Some(match only {
            Some(only) => only.raw().to_vec(),
            None => format!("{{\"type\":\"text\",\"text\":\"{WITHHELD}\"}}").into_bytes(),
        })
    }

    /// A list of parts of content, which are judged as those of one result.
    fn content(&self, parts: &[u8]) -> Option<Vec<u8>> {
        let document = Document::new(object(&[("content", parts)]));
        let Ok(root) = document.root() else {
            // It nests so deep that it cannot stand in a result.
            return Some(b"[]".to_vec());
        };
        let shown = Document::new(self.0.redact_result(root)?.json);
        let content = shown.root().ok().and_then(|root| root.get("content"));
        Some(content.map_or_else(|| b"[]".to_vec(), |content| content.raw().to_vec()))
    }

    /// A tool that the model may use while it answers.
    fn tool(&self, tool: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(tool, |key, value| match key {
            "name" => self.name(key, value),
            "inputSchema" | "outputSchema" => self.schema(value, false).into(),
            key => self.other(key, value),
        })
    }

    /// A schema names fields and stays. Of the schema of what is withheld only that stays which says
    /// nothing of its values.
    fn schema(&self, schema: Cursor<'_>, is_withheld: bool) -> Option<Vec<u8>> {
        if is_withheld && !matches!(schema.kind(), Kind::Object | Kind::Boolean) {
            return Some(b"true".to_vec());
        }
        self.object(schema, |key, value| match (key, value.kind()) {
            ("properties" | "$defs" | "definitions", Kind::Object) => self
                .object(value, |name, schema| match schema.kind() {
                    Kind::Object | Kind::Boolean => {
                        // What a definition is for is not followed.
                        let is_withheld =
                            is_withheld || key != "properties" || self.0.is_never_name(name);
                        self.schema(schema, is_withheld).into()
                    }
                    _ if is_withheld => Change::Remove,
                    _ => self.unexpected(name, schema),
                })
                .into(),
            // Without its values, a choice is one that nothing fits.
            ("anyOf" | "oneOf", Kind::Array) | ("not", Kind::Object) if is_withheld => {
                Change::Remove
            }
            ("items" | "additionalProperties" | "not", Kind::Object) => {
                self.schema(value, is_withheld).into()
            }
            ("allOf" | "anyOf" | "oneOf", Kind::Array) => value
                .with_items(|schema| self.schema(schema, is_withheld))
                .into(),
            ("patternProperties", Kind::Object) => self
                .object(value, |_, schema| self.schema(schema, true).into())
                .into(),
            ("properties" | "$defs" | "definitions" | "patternProperties", _) => {
                self.unexpected(key, value)
            }
            ("type", Kind::Array) if is_withheld => {
                let mut types = value.items().map(Cursor::as_str);
                let are_known = types.all(|own| own.is_some_and(|own| TYPES.contains(&&*own)));
                if are_known {
                    Change::Keep
                } else {
                    Change::Remove
                }
            }
            ("required", Kind::Array)
                if is_withheld && value.items().all(|name| name.kind() == Kind::String) =>
            {
                self.texts(value).into()
            }
            (_, Kind::Array | Kind::Object) if is_withheld => Change::Remove,
            (key, _) if is_withheld && !SCHEMA_WORDS.contains(&key) => Change::Remove,
            (key, _) => self.other(key, value),
        })
    }

    /// The error of a request.
    pub(super) fn error(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        self.object(root, |key, value| match key {
            "code" => self.number(key, value),
            "message" => self.texts(value).into(),
            "data" => self.said(value).into(),
            key => self.other(key, value),
        })
    }

    /// The parameters of a request of the server.
    pub(super) fn request(&self, method: &str, params: Cursor<'_>) -> Option<Vec<u8>> {
        match method {
            "sampling/createMessage" => self.prompt(params),
            "elicitation/create" => self.object(params, |key, value| match key {
                "mode" => self.word(key, value, &["form", "url"]),
                "requestedSchema" => self.schema(value, false).into(),
                "url" | "elicitationId" => self.name(key, value),
                "message" => self.texts(value).into(),
                key => self.other(key, value),
            }),
            _ => self.said(params),
        }
    }

    /// The parameters of a notification.
    pub(super) fn notification(&self, method: &str, params: Cursor<'_>) -> Option<Vec<u8>> {
        match method {
            "notifications/tasks" | "notifications/tasks/status" => self.task(params, TASK_LEVELS),
            _ => self.object(params, |key, value| match key {
                "level" if value.as_str().is_some_and(|own| log_level(&own).is_some()) => {
                    Change::Keep
                }
                "level" => self.unexpected(key, value),
                "logger" | "progressToken" | "requestId" | "uri" | "elicitationId" => {
                    self.name(key, value)
                }
                "progress" | "total" => self.number(key, value),
                "message" | "data" | "reason" => self.said(value).into(),
                key => self.other(key, value),
            }),
        }
    }

    /// An object by what becomes of each member; anything else, by its texts.
    fn object(
        &self,
        value: Cursor<'_>,
        change: impl FnMut(&str, Cursor<'_>) -> Change,
    ) -> Option<Vec<u8>> {
        if value.kind() != Kind::Object {
            return self.texts(value);
        }
        value.with_members(change)
    }

    /// A member that is a list.
    fn list(&self, key: &str, value: Cursor<'_>, judge: impl FnOnce() -> Change) -> Change {
        match value.kind() {
            Kind::Array => judge(),
            _ => self.unexpected(key, value),
        }
    }

    /// A member that is one of a few words.
    fn word(&self, key: &str, value: Cursor<'_>, words: &[&str]) -> Change {
        match value.as_str() {
            Some(text) if words.contains(&&*text) => Change::Keep,
            _ => self.unexpected(key, value),
        }
    }

    /// A member that is a number.
    fn number(&self, key: &str, value: Cursor<'_>) -> Change {
        match value.kind() {
            Kind::Number | Kind::Null => Change::Keep,
            _ => self.unexpected(key, value),
        }
    }

    /// A member that only names something: an id, a cursor, an address. It stays unless it is JSON, or
    /// holds a key as JSON does.
    fn name(&self, key: &str, value: Cursor<'_>) -> Change {
        match value.kind() {
            Kind::Number => Change::Keep,
            Kind::String => {
                let mut shown = Vec::new();
                let is_cut = self.0.redact(value, &mut shown).any();
                is_cut.then_some(shown).into()
            }
            _ => self.unexpected(key, value),
        }
    }

    /// Whether something that names is JSON, or holds a key as JSON does.
    fn is_cut(&self, name: &str) -> bool {
        let text = Document::new(quoted(name));
        let root = text.root();
        root.is_ok_and(|text| self.0.redact(text, &mut Vec::new()).any())
    }

    /// A member of the protocol's that is of another kind than it expects.
    fn unexpected(&self, key: &str, value: Cursor<'_>) -> Change {
        match self.other(key, value) {
            Change::Keep => self.texts(value).into(),
            Change::Remove => Change::Remove,
            Change::Replace(shown) => {
                let document = Document::new(shown);
                let again = document.root().map(|root| self.texts(root));
                again.map_or(Change::Remove, |again| {
                    Change::Replace(again.unwrap_or_else(|| document.raw().to_vec()))
                })
            }
        }
    }

    /// Any other member: judged as a member of an object, by its name and what it holds.
    fn other(&self, key: &str, value: Cursor<'_>) -> Change {
        let alone = Document::new(object(&[(key, value.raw())]));
        let Ok(root) = alone.root() else {
            return Change::Remove;
        };
        let Some(shown) = self.0.redact_value(root).map(Document::new) else {
            return Change::Keep;
        };
        let left = shown.root().ok().and_then(|root| root.get(key));
        left.map_or(Change::Remove, |left| Change::Replace(left.raw().to_vec()))
    }

    /// What a server says: data in an object, and texts in anything else.
    fn said(&self, value: Cursor<'_>) -> Option<Vec<u8>> {
        match value.kind() {
            Kind::Object => self.0.redact_value(value),
            _ => self.texts(value),
        }
    }

    /// A value each of whose texts is judged as one that stands alone: it goes where it names what is
    /// withheld.
    fn texts(&self, value: Cursor<'_>) -> Option<Vec<u8>> {
        let shown = self.0.redact_value(value);
        if !matches!(value.kind(), Kind::Array | Kind::Object) {
            return shown;
        }
        let document = shown.clone().map(Document::new);
        let Ok(left) = document.as_ref().map_or(Ok(value), Document::root) else {
            return Some(quoted(WITHHELD).into_bytes());
        };
        self.each_text(left).or(shown)
    }

    fn each_text(&self, value: Cursor<'_>) -> Option<Vec<u8>> {
        match value.kind() {
            Kind::Array => value.with_items(|item| self.each_text(item)),
            Kind::Object => self.object(value, |_, value| self.each_text(value).into()),
            Kind::String => self.0.redact_value(value),
            _ => None,
        }
    }
}

/// What becomes of a member that is judged one level further in; where no level is left, it goes.
fn within(levels: usize, judge: impl FnOnce(usize) -> Option<Vec<u8>>) -> Change {
    match levels.checked_sub(1) {
        Some(left) => judge(left).into(),
        None => Change::Remove,
    }
}

/// Whether a result has what those of tools have.
fn has_content(root: Cursor<'_>) -> bool {
    members::has_any(root, &["content", "structuredContent"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What is left of a form with one field.
    #[track_caller]
    fn check(name: &str, field: &Value, expected: &Value) {
        let rules = Arc::new(RevealRules::parse([""; 0], ["password"]).unwrap());
        let form = |field: &Value| json!({"message": "m", "requestedSchema": {"properties": {(name): field}}});
        let document = Document::new(form(field).to_string());
        let root = document.root().unwrap();
        let shown = Rules(&rules).request("elicitation/create", root);
        let shown = shown.unwrap_or_else(|| document.raw().to_vec());
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown, form(expected));
    }

    /// A choice between options without their values is one that no value fits, and titles of options say what
    /// they are.
    #[test]
    fn a_form_with_a_withheld_choice_can_be_answered() {
        let options = json!([{"const": "red", "title": "Red"}, {"const": "blue", "title": "Blue"}]);
        let one = json!({"type": "string", "oneOf": options});
        let several = json!({"type": "array", "items": {"anyOf": options}, "maxItems": 2});
        let not = json!({"type": "string", "not": {"enum": ["red"]}});
        let text = json!({"type": "string"});
        check("password", &one, &text);
        check("password", &not, &text);
        let list = json!({"type": "array", "items": {}, "maxItems": 2});
        check("password", &several, &list);
        for field in [one, several, not] {
            check("color", &field, &field);
        }
    }
}
