//! The gateway's own tools: how they are listed, and their answers.

mod inspect;
mod page;
#[cfg(feature = "sql")]
mod query;
mod read;
mod save;
mod stored;

#[cfg(feature = "sql")]
pub(super) use query::{Queries, answer as answer_query};

use super::{
    client::Shared,
    refusal::{self, ErrorBodies},
};
use crate::config::{self, ExtraTools, GatewayConfig};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, quoted};
use crossfeed_output_schema::{INSPECTOR, inspector};
use crossfeed_projection::nearest;
use crossfeed_wire::{CallId, ErrorBody, ErrorCode};
use serde_json::{Value, json};

/// Characters of an unknown parameter that are quoted.
const MAX_QUOTED_CHARS: usize = 64;
/// The most bytes of the arguments of one of them: far more than they take.
const MAX_ARGUMENT_BYTES: usize = 64 << 10;

/// Looks into what a tool returns.
pub(super) const INSPECT: &str = INSPECTOR;
/// Brings a stored result into the context, or a part of it.
pub(super) const READ: &str = "read_result";
/// Lists the stored results.
pub(super) const LIST: &str = "list_results";
/// Saves a stored result as a file.
pub(super) const SAVE: &str = config::SAVE;
/// Answers SQL over stored results.
pub(super) const QUERY: &str = "query_results";

/// Their names, the inspector's first. Results are listed only to who cannot see those of others; they are saved where
/// there is a directory for it, and queried where there are processes for that.
pub(super) fn offered(
    tools: ExtraTools,
    may_list: bool,
    (may_save, may_query): (bool, bool),
) -> Vec<&'static str> {
    let all = [
        (INSPECT, tools.inspect),
        (READ, tools.read),
        (LIST, tools.list && may_list),
        (SAVE, may_save),
        (QUERY, may_query),
    ];
    let offered = all.into_iter().filter(|(_, offered)| *offered);
    offered.map(|(name, _)| name).collect()
}

/// How one of them is listed.
pub(super) fn definition(name: &str, config: &GatewayConfig) -> Value {
    let mut tool = match name {
        READ => read_result(),
        LIST => list_results(),
        SAVE => save_result(config.shares_saves()),
        QUERY => query_results(),
        _ => inspector(),
    };
    let mut hints = json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false});
    if name == SAVE {
        hints["readOnlyHint"] = json!(false);
        // It may be told to replace a file.
        hints["destructiveHint"] = json!(true);
    }
    if let Some(tool) = tool.as_object_mut() {
        tool.insert("annotations".to_owned(), hints);
    }
    tool
}

/// The guidance for models, once for all calls.
pub(super) fn guidance(offered: &[&str]) -> Option<String> {
    let reading = offered.contains(&READ).then(|| {
        format!("A long result is shown as a preview that begins with `[crossfeed preview of` and its call id: refer to that id to pass the result on, or read more of it with `{READ}`.")
    });
    let querying = offered.contains(&QUERY).then(|| {
        format!("To pass on a value, a list or a filtered list, refer to the result with a selector. Where results must be joined, counted, grouped, sorted or compared first, use `{QUERY}`, whose answer is a result that can be referred to.")
    });
    let all: Vec<String> = reading.into_iter().chain(querying).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The arguments of a call of one of them.
struct Arguments(Value);

impl Arguments {
    /// Those of a call.
    ///
    /// # Errors
    ///
    /// They are too long, or hold what the input schema of the tool does not name.
    fn parse(
        name: &str,
        arguments: Option<Bytes>,
        config: &GatewayConfig,
    ) -> Result<Self, ErrorBodies> {
        let bytes = arguments.as_ref().map_or(0, Bytes::len);
        if bytes > MAX_ARGUMENT_BYTES {
            let message = format!("the arguments are longer than {MAX_ARGUMENT_BYTES} bytes");
            let advice = if name == QUERY {
                "write a shorter statement"
            } else {
                "ask for fewer `fields`, or use a shorter `select`"
            };
            return Err(refusal::body(ErrorCode::LimitExceeded, message, advice));
        }
        let read = |arguments| {
            let document = Document::new(arguments);
            document.root().ok().map(Cursor::to_nearest_value)
        };
        let arguments = Self(arguments.and_then(read).unwrap_or_else(|| json!({})));
        arguments.check(name, config)?;
        Ok(arguments)
    }

    /// Refuses what the input schema of the tool does not name.
    fn check(&self, name: &str, config: &GatewayConfig) -> Result<(), ErrorBodies> {
        let definition = definition(name, config);
        let Value::Object(given) = &self.0 else {
            let message = "the arguments are not an object";
            return Err(vec![ErrorBody::new(ErrorCode::ArgumentsInvalid, message)]);
        };
        let known = definition["inputSchema"]["properties"].as_object();
        let known: Vec<&str> = known.into_iter().flatten().map(|(key, _)| &**key).collect();
        let is_unknown =
            |(key, value): &(&String, &Value)| !value.is_null() && !known.contains(&key.as_str());
        let Some((key, _)) = given.iter().find(is_unknown) else {
            return Ok(());
        };
        let start: String = key.chars().take(MAX_QUOTED_CHARS).collect();
        let near = nearest(&start, known.iter().copied());
        let offered = if near.is_empty() {
            known.join(", ")
        } else {
            near.join(", ")
        };
        let message = format!("the tool has no parameter {}", quoted(&start));
        let advice = format!("try: {offered}");
        Err(refusal::body(ErrorCode::ArgumentsInvalid, message, advice))
    }

    /// An argument as `read` reads it; none where it is absent or null.
    fn read<'v, T>(
        &'v self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, ErrorBodies> {
        let Some(value) = self.0.get(name).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        read(value).map(Some).ok_or_else(|| {
            let message = format!("`{name}` is not {expected}");
            let advice = format!("give {expected} as `{name}`");
            refusal::body(ErrorCode::ArgumentsInvalid, message, advice)
        })
    }

    fn text(&self, name: &str) -> Result<Option<&str>, ErrorBodies> {
        self.read(name, "a string", Value::as_str)
    }

    /// A list of strings; one alone is a list of it.
    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, ErrorBodies> {
        self.read(name, "a list of strings", |value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            value => {
                let texts = value.as_array()?.iter();
                texts.map(|item| item.as_str().map(str::to_owned)).collect()
            }
        })
    }

    /// True or false; models write it as a text, too.
    fn flag(&self, name: &str) -> Result<Option<bool>, ErrorBodies> {
        self.read(name, "true or false", |value| match value {
            Value::String(text) => text.parse().ok(),
            value => value.as_bool(),
        })
    }

    /// A number from 0 on; models write it as a text, too.
    fn count(&self, name: &str) -> Result<Option<usize>, ErrorBodies> {
        self.read(name, "an integer from 0 on", |value| match value {
            Value::String(text) => text.trim().parse().ok(),
            // To a schema 100.0 is an integer.
            Value::Number(number) => match number.as_f64().filter(|own| own.fract() == 0.0) {
                Some(whole) if number.is_f64() => format!("{whole:.0}").parse().ok(),
                _ => number.as_u64().and_then(|own| usize::try_from(own).ok()),
            },
            _ => None,
        })
    }
}

/// The call whose result is named.
fn call_id_of(shared: &Shared, arguments: &Arguments) -> Result<CallId, ErrorBodies> {
    let Some(call_id) = arguments.text("call_id")? else {
        let message = "the required parameter `call_id` is missing";
        let code = ErrorCode::ArgumentsInvalid;
        return Err(refusal::body(code, message, HOW_TO_NAME));
    };
    known_call(shared, call_id)
}

const HOW_TO_NAME: &str = "use the `_toolCallId` of a result, exactly as it was shown";

/// The call of an id. One that was never given out is not even looked up.
fn known_call(shared: &Shared, call_id: &str) -> Result<CallId, ErrorBodies> {
    let id = CallId::parse(call_id).ok();
    let id = id.filter(|id| shared.place.ids.may_be(id.as_str()));
    id.ok_or_else(|| {
        let start: String = call_id.chars().take(MAX_QUOTED_CHARS).collect();
        let message = format!(
            "no result of call {} is known in this session",
            quoted(&start)
        );
        refusal::body(ErrorCode::ResultUnknown, message, HOW_TO_NAME)
    })
}

/// The answer to a call of one of them; an error is an answer, too. `is_model`: a model may read it.
pub(super) async fn answer(
    shared: &Shared,
    name: &str,
    arguments: Option<Bytes>,
    is_model: bool,
) -> Bytes {
    let answer = answered(shared, name, arguments, is_model).await;
    answer.unwrap_or_else(|body| shared.refused(body))
}

async fn answered(
    shared: &Shared,
    name: &str,
    arguments: Option<Bytes>,
    is_model: bool,
) -> Result<Bytes, ErrorBodies> {
    let arguments = Arguments::parse(name, arguments, &shared.tools.config)?;
    match name {
        READ => read::answer(shared, &arguments, is_model).await,
        LIST => stored::answer(shared, &arguments).await,
        SAVE => match &shared.tools.saves {
            Some(directory) => save::answer(shared, directory, &arguments, is_model).await,
            None => Err(refusal::body(
                ErrorCode::ToolUnknown,
                "there is no directory to save results in",
                "read the result with `read_result`",
            )),
        },
        _ => inspect::answer(shared, &arguments),
    }
}

fn read_result() -> Value {
    json!({
        "name": READ,
        "description": "Reads a stored tool result by its `_toolCallId`: all of it, what `select` picks, or only some `fields`. Longer results than `max_tokens` come page by page. To pass data to another tool, refer to it instead of reading it.",
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
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "where to continue: `next_offset` of the previous answer"},
                "max_tokens": {"type": "integer", "minimum": 50, "default": 2000},
                "as_json": {"type": "boolean", "default": false, "description": "pages the JSON as a text, for values that no page can hold otherwise"},
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

fn query_results() -> Value {
    json!({
        "name": QUERY,
        "description": "Answers one SQLite `SELECT` over stored tool results, also of different servers. A result is a table named by its `_toolCallId` (in double quotes if that begins with a digit): `SELECT state, count(*) AS n FROM call_1 GROUP BY state`. A list in an object is a table of its own, named by the id and the key: `call_1_items`. Nested values are JSON: `json_extract(user, '$.name')`. The answer is a list of objects that can be referred to like any result. With `describe`, gives the tables and columns of these results instead.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "sql": {"type": "string"},
                "describe": {"type": "array", "items": {"type": "string"}, "description": "`_toolCallId`s"},
            },
            "additionalProperties": false,
        },
    })
}

fn save_result(is_shared: bool) -> Value {
    let mut tool = json!({
        "name": SAVE,
        "description": "Saves a stored tool result by its `_toolCallId`, or what `select` picks of it, as a file for the user's other programs: text as text, images and other binary data as bytes, the rest as JSON. Answers with path, bytes and SHA-256.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "call_id": {"type": "string", "description": "the `_toolCallId` of the result"},
                "select": {"type": "string", "description": "a JMESPath expression, e.g. `items[*].url`"},
                "path": {"type": "string", "description": "where, e.g. `reports/june.json`"},
            },
            "required": ["call_id", "path"],
            "additionalProperties": false,
        },
    });
    if !is_shared {
        let description = "replaces a file that was not saved by you";
        tool["inputSchema"]["properties"]["overwrite"] =
            json!({"type": "boolean", "default": false, "description": description});
    }
    tool
}
