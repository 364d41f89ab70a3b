//! The gateway's own tools.
//!
//! What comes in: which of them are offered, and calls of them. What goes out: how they are listed, and
//! answers. Deliberately not here: tools of servers.

mod inspect;
mod page;
mod read;
mod stored;

use super::{client::Shared, refusal};
use crate::config::ExtraTools;
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, quoted};
use crossfeed_output_schema::{INSPECTOR, inspector};
use crossfeed_projection::nearest;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::{Map, Value, json};

/// Characters of an unknown parameter that are quoted.
const MAX_QUOTED_CHARS: usize = 64;
/// Bytes of the arguments of one of them: far more than they take.
const MAX_ARGUMENTS: usize = 64 << 10;

/// Looks into what a tool returns.
pub(super) const INSPECT: &str = INSPECTOR;
/// Brings a stored result into the context, or a part of it.
pub(super) const READ: &str = "read_result";
/// Lists the stored results.
pub(super) const LIST: &str = "list_results";

/// Their names, the inspector's first. Results are listed only to who cannot see those of others.
pub(super) fn offered(tools: ExtraTools, may_list: bool) -> Vec<&'static str> {
    let all = [
        (INSPECT, tools.inspect),
        (READ, tools.read),
        (LIST, tools.list && may_list),
    ];
    let offered = all.into_iter().filter(|(_, offered)| *offered);
    offered.map(|(name, _)| name).collect()
}

/// How one of them is listed.
pub(super) fn definition(name: &str) -> Value {
    let mut tool = match name {
        READ => read_result(),
        LIST => list_results(),
        _ => inspector(),
    };
    if let Some(tool) = tool.as_object_mut() {
        let hints = json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false});
        tool.insert("annotations".to_owned(), hints);
    }
    tool
}

/// What is told of them once.
pub(super) fn guidance(offered: &[&str]) -> Option<String> {
    offered.contains(&READ).then(|| {
        format!("A result that was too long is shown as a preview, which begins with `[crossfeed preview of` and its call id: refer to it to pass it on, or read more of it with `{READ}`.")
    })
}

/// The arguments of a call of one of them.
struct Asked(Value);

impl Asked {
    /// Refuses what the input schema of the tool does not name.
    fn check(&self, name: &str) -> Result<(), Box<ErrorBody>> {
        let definition = definition(name);
        let Value::Object(given) = &self.0 else {
            let message = "the arguments are not an object".to_owned();
            return Err(Box::new(ErrorBody::new(
                ErrorCode::ArgumentsInvalid,
                message,
            )));
        };
        let known: Vec<&str> = definition["inputSchema"]["properties"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        let is_unknown = |key: &&String| !known.contains(&key.as_str());
        let mut given = given.iter().filter(|(_, value)| !value.is_null());
        if let Some(key) = given.find_map(|(key, _)| Some(key).filter(is_unknown)) {
            let start: String = key.chars().take(MAX_QUOTED_CHARS).collect();
            let message = format!("the tool has no parameter {}", quoted(&start));
            let mut body = ErrorBody::new(ErrorCode::ArgumentsInvalid, message);
            let near = nearest(&start, known.iter().copied());
            let offered = if near.is_empty() {
                known.join(", ")
            } else {
                near.join(", ")
            };
            body.advice = Some(format!("try: {offered}"));
            return Err(Box::new(body));
        }
        Ok(())
    }

    fn wrong(name: &str, expected: &str) -> Box<ErrorBody> {
        let message = format!("`{name}` is not {expected}");
        let mut body = ErrorBody::new(ErrorCode::ArgumentsInvalid, message);
        body.advice = Some(format!("give {expected} as `{name}`"));
        Box::new(body)
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<&str>, Box<ErrorBody>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Self::wrong(name, "a string")),
        }
    }

    /// A list of strings; one alone is a list of it.
    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Box<ErrorBody>> {
        let wrong = || Self::wrong(name, "a list of strings");
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text.clone()])),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().ok_or_else(wrong).map(Some)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Yes or no; models write it as a text, too.
    fn flag(&self, name: &str) -> Result<Option<bool>, Box<ErrorBody>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(Self::wrong(name, "true or false")),
        }
    }

    /// A number from 0 on; models write it as a text, too.
    fn count(&self, name: &str) -> Result<Option<usize>, Box<ErrorBody>> {
        let number = match self.given(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            // To a schema 100.0 is an integer.
            Some(Value::Number(number)) => match number.as_f64().filter(|own| own.fract() == 0.0) {
                Some(whole) if number.is_f64() => format!("{whole:.0}").parse().ok(),
                _ => number.as_u64().and_then(|own| usize::try_from(own).ok()),
            },
            Some(_) => None,
        };
        let wrong = || Self::wrong(name, "an integer from 0 on");
        number.map(Some).ok_or_else(wrong)
    }
}

/// The answer to a call of one of them.
pub(super) async fn answer(shared: &Shared, name: &str, arguments: Option<Bytes>) -> Bytes {
    if arguments
        .as_ref()
        .is_some_and(|own| own.len() > MAX_ARGUMENTS)
    {
        let message = format!("the arguments are longer than {MAX_ARGUMENTS} bytes");
        let mut body = ErrorBody::new(ErrorCode::LimitExceeded, message);
        body.advice = Some("ask for fewer `fields`, or by a shorter `select`".to_owned());
        return refusal::of_bodies(vec![body], shared.privacy());
    }
    let read = |arguments| {
        Document::new(arguments)
            .root()
            .ok()
            .map(Cursor::to_nearest_value)
    };
    let asked = Asked(arguments.and_then(read).unwrap_or_else(|| json!({})));
    if let Err(body) = asked.check(name) {
        return refusal::of_bodies(vec![*body], shared.privacy());
    }
    let answer = match name {
        READ => read::answer(shared, &asked).await,
        LIST => stored::answer(shared, &asked).await,
        _ => inspect::answer(shared, &asked),
    };
    // What is wrong is an answer, too.
    answer.unwrap_or_else(|refused| refused)
}

fn read_result() -> Value {
    json!({
        "name": READ,
        "description": "Reads a stored tool result by its `_toolCallId`: all of it, what `select` picks, or only some `fields`. What is longer than `max_tokens` is given page by page. To pass data on to another tool, refer to it instead: then it need not be read.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "call_id": {"type": "string", "description": "the `_toolCallId` of the result"},
                "select": {"type": "string", "description": "a JMESPath expression, e.g. `items[?score > `0.8`].url`"},
                "fields": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "paths to keep, such as `items[].title`",
                },
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "where to go on: `next_offset` of the answer before"},
                "max_tokens": {"type": "integer", "minimum": 50, "default": 2000},
                "as_json": {"type": "boolean", "default": false, "description": "its JSON as a text, for what no page holds otherwise"},
            },
            "required": ["call_id"],
            "additionalProperties": false,
        },
    })
}

fn list_results() -> Value {
    json!({
        "name": LIST,
        "description": "Lists the stored tool results that can be referred to or read, the most recently used first.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "offset": {"type": "integer", "minimum": 0, "default": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            },
            "additionalProperties": false,
        },
    })
}
