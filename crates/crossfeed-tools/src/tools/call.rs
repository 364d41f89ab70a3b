//! The calls in a model's answer, in each provider's shape.

use crate::Shape;
use crossfeed_json::{Document, JsonError, MAX_DEPTH, NumberOutOfRange, is_deeper};
use crossfeed_wire::{ErrorCode, Fault, reference::type_name};
use serde_json::{Value, json};
use std::fmt;

/// Levels of a call around its arguments, and of an answer around its calls.
const AROUND: usize = 12;
/// The keys through which a model's answer is searched for calls.
const INSIDE: [&str; 7] = [
    "choices",
    "message",
    "tool_calls",
    "output",
    "candidates",
    "content",
    "parts",
];
/// The keys of what a tool returned.
const RETURNED: [&str; 5] = [
    "structuredContent",
    "isError",
    "functionResponse",
    "function_response",
    "tool_result",
];

/// One tool call as a model wrote it.
///
/// ```
/// use crossfeed_tools::ToolCall;
/// use serde_json::json;
///
/// let block = json!({"type": "tool_use", "id": "t1", "name": "fetch", "input": {"url": {"$tool": "c"}}});
/// let call = ToolCall::parse(&block)?;
/// assert_eq!((call.id(), call.name()), (Some("t1"), "fetch"));
/// let resolved = call.with_arguments(json!({"url": "https://a.example"}));
/// assert_eq!(resolved.to_value()["input"]["url"], "https://a.example");
/// # Ok::<(), crossfeed_tools::ToolCallError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ToolCall {
    block: Value,
    form: Form,
    id: Option<String>,
    name: String,
    arguments: Value,
}

/// Where a call's parts stand in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    shape: Shape,
    /// The object that holds name and arguments.
    inside: Option<&'static str>,
    id: &'static str,
    arguments: &'static str,
}

/// A call that cannot be read, with what could be read of it, so that it can be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCallError {
    /// The call's id.
    pub id: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// The fault.
    pub kind: ToolCallErrorKind,
}

/// The fault of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolCallErrorKind {
    /// `{"type": "text", "text": "hello"}`, `7`.
    #[error("expected a tool call, found {found}")]
    NoCall {
        /// The kind of what came.
        found: &'static str,
    },
    /// `{"type": "tool_use", "id": "t", "input": {}}`.
    #[error("the call names no tool")]
    NoName,
    /// `{"type": "function_call", "name": "f", "arguments": 7}`.
    #[error("the arguments must be {expected}, not {found}")]
    Kind {
        /// The kind that the shape asks for.
        expected: &'static str,
        /// The kind that came.
        found: &'static str,
    },
    /// `{"type": "function_call", "name": "f", "arguments": "{\"a\": "}`.
    #[error("the arguments are not valid JSON: {0}")]
    NoJson(JsonError),
    /// `{"type": "function_call", "name": "f", "arguments": "{\"a\": 1e400}"}`.
    #[error("the arguments hold a number that cannot be passed on: {0}")]
    Number(NumberOutOfRange),
    /// 1,000 lists within each other.
    #[error("the arguments nest deeper than {MAX_DEPTH}")]
    TooDeep,
}

impl fmt::Display for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "call of `{name}`: {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl std::error::Error for ToolCallError {}

impl ToolCallError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            ToolCallErrorKind::TooDeep | ToolCallErrorKind::Number(_) => ErrorCode::LimitExceeded,
            _ => ErrorCode::ArgumentsInvalid,
        }
    }

    /// Who can act: the model, where its call is at fault.
    pub fn fault(&self) -> Fault {
        match self.kind {
            ToolCallErrorKind::NoCall { .. } => Fault::Host,
            _ => Fault::Model,
        }
    }

    /// One next step.
    pub fn advice(&self) -> &'static str {
        match self.kind {
            ToolCallErrorKind::NoCall { .. } => "pass on a tool call as the provider wrote it",
            ToolCallErrorKind::NoName => "name the tool that is called",
            ToolCallErrorKind::Kind { .. } | ToolCallErrorKind::NoJson(_) => {
                "write the arguments as one JSON object"
            }
            ToolCallErrorKind::Number(_) => "write a number that a 64-bit float can hold",
            ToolCallErrorKind::TooDeep => "write arguments that nest less",
        }
    }
}

impl ToolCall {
    /// Reads one call: a block of Anthropic's, OpenAI's or Gemini's, the parameters of MCP's
    /// `tools/call`, or its whole request.
    ///
    /// # Errors
    ///
    /// [`ToolCallError`] when it is not a call, names no tool, or its arguments are not valid JSON.
    pub fn parse(block: &Value) -> Result<Self, ToolCallError> {
        let form = Form::detect(block).ok_or_else(|| ToolCallError {
            id: None,
            name: None,
            kind: ToolCallErrorKind::NoCall {
                found: type_name(block),
            },
        })?;
        let holder = form.holder(block);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let id = match (
            block.get(form.id),
            holder.and_then(|holder| holder.get(form.id)),
        ) {
            // A request's id is a number where the client counts.
            (Some(Value::Number(id)), _) => Some(id.to_string()),
            (outer, inner) => text(outer).or_else(|| text(inner)),
        };
        let name = text(holder.and_then(|holder| holder.get("name")));
        let fail = |kind| ToolCallError {
            id: id.clone(),
            name: name.clone(),
            kind,
        };
        if is_deeper(block, MAX_DEPTH + AROUND) {
            return Err(fail(ToolCallErrorKind::TooDeep));
        }
        let arguments = form
            .arguments(holder.and_then(|holder| holder.get(form.arguments)))
            .map_err(fail)?;
        if is_deeper(&arguments, MAX_DEPTH) {
            return Err(fail(ToolCallErrorKind::TooDeep));
        }
        let name = name
            .clone()
            .ok_or_else(|| fail(ToolCallErrorKind::NoName))?;
        Ok(Self {
            block: block.clone(),
            form,
            id,
            name,
            arguments,
        })
    }

    /// Reads every call of a model's answer: a message or a whole response of Anthropic's,
    /// OpenAI's or Gemini's, the event that closes a response, a list of their blocks, or one
    /// block. What is not a call is passed over; results of tools and messages of others are not
    /// looked into. Calls that only their keys tell (`{"name", "arguments"}`) are read where they
    /// are what was given, alone or in a list, and nowhere within an answer.
    pub fn parse_all(answer: &Value) -> Vec<Result<Self, ToolCallError>> {
        let mut blocks = Vec::new();
        collect(answer, AROUND, true, &mut blocks);
        blocks.into_iter().map(Self::parse).collect()
    }

    /// How the call is written.
    pub fn shape(&self) -> Shape {
        self.form.shape
    }

    /// The provider's id of the call, where it has one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The tool's name as it was shown.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments as the model wrote them.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The call with other arguments.
    pub fn with_arguments(mut self, arguments: Value) -> Self {
        if arguments == self.arguments {
            return self;
        }
        let written = if self.form.takes_text() {
            Value::String(arguments.to_string())
        } else {
            arguments.clone()
        };
        self.put(self.form.arguments, written);
        self.arguments = arguments;
        self
    }

    /// The call with another tool's name.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.put("name", Value::String(self.name.clone()));
        self
    }

    /// The block: all as it came but for what was changed.
    pub fn to_value(&self) -> Value {
        self.block.clone()
    }

    fn put(&mut self, key: &str, value: Value) {
        let holder = match self.form.inside {
            Some(inside) => self.block.get_mut(inside),
            None => Some(&mut self.block),
        };
        if let Some(Value::Object(holder)) = holder {
            holder.insert(key.to_owned(), value);
        }
    }
}

impl Form {
    fn detect(block: &Value) -> Option<Self> {
        let block = block.as_object()?;
        let form = |shape, inside, id, arguments| Self {
            shape,
            inside,
            id,
            arguments,
        };
        let is_object = |key: &str| block.get(key).is_some_and(Value::is_object);
        let method = block.get("method").and_then(Value::as_str);
        let is_named = block.get("name").is_some_and(Value::is_string);
        let is_bare = |arguments: &str| is_named && block.contains_key(arguments);
        let is_name_only = is_named && block.keys().all(|key| key == "name" || key == "_meta");
        let found = match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => form(Shape::Anthropic, None, "id", "input"),
            Some("function_call") => form(Shape::OpenAiResponses, None, "call_id", "arguments"),
            Some("function") | None if is_object("function") => {
                form(Shape::OpenAiChat, Some("function"), "id", "arguments")
            }
            None if is_object("functionCall") => {
                form(Shape::Gemini, Some("functionCall"), "id", "args")
            }
            // OpenAI's oldest form: one call in a message.
            None if block
                .get("function_call")
                .is_some_and(|call| call.get("arguments").is_some()) =>
            {
                form(Shape::OpenAiChat, Some("function_call"), "id", "arguments")
            }
            None if is_object("function_call") => {
                form(Shape::Gemini, Some("function_call"), "id", "args")
            }
            None if method == Some("tools/call") => {
                form(Shape::Mcp, Some("params"), "id", "arguments")
            }
            None if is_bare("args") => form(Shape::Gemini, None, "id", "args"),
            None if is_bare("arguments") || is_name_only => {
                form(Shape::Mcp, None, "id", "arguments")
            }
            _ => return None,
        };
        Some(found)
    }

    fn holder<'b>(&self, block: &'b Value) -> Option<&'b Value> {
        match self.inside {
            Some(inside) => block.get(inside),
            None => Some(block),
        }
    }

    /// Whether a block says that it is a call: by its type, or as the part of an answer.
    fn is_told(self, has_type: bool) -> bool {
        has_type || self.inside.is_some() && self.shape != Shape::Mcp
    }

    /// Whether arguments are written as JSON text.
    fn takes_text(self) -> bool {
        matches!(self.shape, Shape::OpenAiChat | Shape::OpenAiResponses)
    }

    fn arguments(self, written: Option<&Value>) -> Result<Value, ToolCallErrorKind> {
        let empty = || Ok(json!({}));
        match written {
            None | Some(Value::Null) => empty(),
            Some(Value::String(text)) if self.takes_text() => {
                if text.trim().is_empty() {
                    return empty();
                }
                let document = Document::new(text.clone());
                let root = document.root().map_err(|error| match error.kind {
                    crossfeed_json::JsonErrorKind::TooDeep => ToolCallErrorKind::TooDeep,
                    _ => ToolCallErrorKind::NoJson(error),
                })?;
                let arguments = root.to_value().map_err(ToolCallErrorKind::Number)?;
                // Some models write this for a tool without parameters.
                match arguments {
                    Value::Null => empty(),
                    arguments => Ok(arguments),
                }
            }
            // Some servers of the same protocol send the object itself.
            Some(Value::Object(_)) => Ok(written.cloned().unwrap_or_default()),
            Some(other) => Err(ToolCallErrorKind::Kind {
                expected: if self.takes_text() {
                    "a string of JSON"
                } else {
                    "an object"
                },
                found: type_name(other),
            }),
        }
    }
}

/// Adds the calls in an answer, in its order; those that only their keys tell where `bare` says so.
fn collect<'a>(answer: &'a Value, levels: usize, bare: bool, blocks: &mut Vec<&'a Value>) {
    if levels == 0 {
        return;
    }
    let object = match answer {
        Value::Array(items) => {
            for item in items {
                collect(item, levels - 1, bare, blocks);
            }
            return;
        }
        Value::Object(object) => object,
        _ => return,
    };
    let has = |key: &str| object.contains_key(key);
    // What a tool returned may hold what looks like a call.
    if RETURNED.into_iter().any(has) || has("name") && has("response") {
        return;
    }
    if let Some(form) = Form::detect(answer) {
        if bare || form.is_told(has("type")) {
            blocks.push(answer);
        }
        return;
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let is_event = text("type").is_some_and(|word| word.starts_with("response."));
    let of_the_model = matches!(text("role"), None | Some("assistant" | "model"))
        && (is_event || matches!(text("type"), None | Some("message" | "response")));
    if !of_the_model {
        return;
    }
    let wraps = is_event || text("object") == Some("response");
    let keys = INSIDE.into_iter().chain(wraps.then_some("response"));
    for key in keys {
        if let Some(inside @ (Value::Array(_) | Value::Object(_))) = object.get(key) {
            collect(inside, levels - 1, false, blocks);
        }
    }
}
