//! Inputs: files and resources that references name in place of calls (`$file`, `$resource`). The host reads them; the
//! parameter's schema decides whether the tool gets text, JSON or base64 (`specs/references.md#inputs`).

use crate::{error::InputError, record::ToolResult};
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_json::Document;
use crossfeed_schema::Position;
use crossfeed_store::{ResultKind, StoredResult};
use crossfeed_wire::reference::{Input, Reference};
use serde_json::Value;

/// Reads the files and resources that references of a session name.
///
/// Each reading is for one resolution; a host that wants several to see the same keeps what it read. What is read is
/// bounded by the host.
///
/// ```
/// use async_trait::async_trait;
/// use crossfeed_core::{Engine, EngineOptions, InputError, Inputs, ToolResult};
/// use crossfeed_wire::{Scope, reference::{Input, InputKind}};
/// use serde_json::json;
/// use std::sync::Arc;
///
/// /// One file, and no resources.
/// struct Notes;
///
/// #[async_trait]
/// impl Inputs for Notes {
///     async fn read(&self, input: &Input) -> Result<ToolResult, InputError> {
///         match (input.kind(), input.name()) {
///             (InputKind::File, "today.md") => Ok(ToolResult::text("# Today")),
///             (InputKind::File, _) => Err(InputError::Refused {
///                 why: "there is no such note".to_owned(),
///                 advice: "name `today.md`".to_owned(),
///             }),
///             _ => Err(InputError::SwitchedOff { setting: None }),
///         }
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let engine = Engine::in_memory(EngineOptions::default());
/// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
/// let session = session.with_inputs(Arc::new(Notes));
/// let resolved = session.resolve(json!({"text": {"$file": "today.md"}}), None).await?;
/// assert_eq!(resolved.arguments, json!({"text": "# Today"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Reads one: a [text](ToolResult::text) where the bytes are UTF-8, else [bytes](ToolResult::bytes) with their media
    /// type; [JSON](ToolResult::json) only for what is made for the session. Its
    /// [sources](ToolResult::with_sources) are those of the value.
    ///
    /// # Errors
    ///
    /// [`InputError`]: such references are off, the host refuses this one, or it cannot be read.
    async fn read(&self, input: &Input) -> Result<ToolResult, InputError>;
}

/// How an input is passed where nothing of it is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// The parameter takes no other text than base64.
    Base64,
    /// It takes text, and nothing that only JSON gives.
    Text,
    /// It takes what only JSON gives, and no text.
    Json,
    /// It says nothing, or takes both: JSON where the input says that it is, and holds; else text.
    #[default]
    Any,
}

impl Form {
    /// What a reference gives at a place.
    pub(crate) fn of_reference(reference: &Reference, place: Option<&Position<'_>>) -> Self {
        let is_bare = reference.input.is_some() && reference.select.is_none();
        if is_bare { Self::of(place) } else { Self::Any }
    }

    /// What a reference gives in a text.
    pub(crate) fn in_text(reference: &Reference) -> Self {
        let is_bare = reference.input.is_some() && reference.select.is_none();
        if is_bare { Self::Text } else { Self::Any }
    }

    /// What the schema of a place takes.
    fn of(place: Option<&Position<'_>>) -> Self {
        let Some(place) = place else {
            return Self::Any;
        };
        let is = |schema: &Value, key: &str, words: &[&str]| {
            let word = schema.get(key).and_then(Value::as_str);
            word.is_some_and(|word| words.contains(&word))
        };
        let mut schemas = place.schemas();
        if schemas.any(|schema| {
            is(schema, "contentEncoding", &["base64"]) || is(schema, "format", &["byte", "binary"])
        }) {
            return Self::Base64;
        }
        let (mut takes_text, mut takes_more) = (false, false);
        let mut take = |kind: &Value| match kind.as_str() {
            Some("string") => takes_text = true,
            Some("null") | None => {}
            Some(_) => takes_more = true,
        };
        for schema in place.schemas() {
            match schema.get("type") {
                Some(Value::Array(several)) => several.iter().for_each(&mut take),
                Some(one) => take(one),
                None => {}
            }
        }
        match (takes_text, takes_more) {
            (true, false) => Self::Text,
            (false, true) => Self::Json,
            _ => Self::Any,
        }
    }
}

/// Whether a name or a media type says that what it names is JSON.
fn says_json(name: &str, media_type: Option<&str>) -> bool {
    let path = name.split(['?', '#']).next().unwrap_or_default();
    let is_named = path
        .rsplit_once('.')
        .is_some_and(|(_, end)| end.eq_ignore_ascii_case("json"));
    let media = media_type.and_then(|media| media.split(';').next());
    media.map_or(is_named, |media| {
        let media = media.trim().to_ascii_lowercase();
        media == "application/json"
            || media.ends_with("+json")
            || is_named && matches!(&*media, "text/plain" | "application/octet-stream")
    })
}

/// The media type of base64 that stands for bytes where a parameter takes text.
const ENCODED: &str = "application/base64";

/// Whether an input is base64 only because it is not text.
pub(crate) fn is_encoded(input: &StoredResult) -> bool {
    input.kind() == ResultKind::Text && input.media_type() == Some(ENCODED)
}

/// An input in the form that its parameter takes.
pub(crate) fn formed(
    read: StoredResult,
    name: &str,
    form: Form,
) -> Result<StoredResult, InputError> {
    let raw = read.document().raw();
    let text = std::str::from_utf8(raw);
    let base64 = || {
        let text = Document::new(STANDARD.encode(raw));
        keep(&read, StoredResult::new(text, ResultKind::Text))
    };
    match (form, text) {
        (Form::Base64, _) => Ok(base64()),
        (Form::Text, Err(_)) => Ok(base64().with_media_type(ENCODED)),
        (Form::Json, _) => as_json(&read),
        (Form::Any, Ok(_)) if says_json(name, read.media_type()) => {
            let json = Document::new(raw.clone());
            Ok(if json.root().is_ok() {
                keep(&read, StoredResult::new(json, ResultKind::Json))
            } else {
                as_text(read)
            })
        }
        (Form::Text | Form::Any, Ok(_)) => Ok(as_text(read)),
        (Form::Any, Err(_)) => Ok(read),
    }
}

/// The same as a text, unless the host says that it is JSON.
fn as_text(read: StoredResult) -> StoredResult {
    if matches!(read.kind(), ResultKind::Bytes) {
        let text = Document::new(read.document().raw().clone());
        return keep(&read, StoredResult::new(text, ResultKind::Text));
    }
    read
}

fn as_json(read: &StoredResult) -> Result<StoredResult, InputError> {
    let raw = read.document().raw();
    let json = Document::new(raw.clone());
    match json.root().err() {
        None => Ok(keep(read, StoredResult::new(json, ResultKind::Json))),
        Some(error) if error.is_limit() => Err(InputError::JsonTooComplex),
        Some(error) => Err(not_json(raw, error.offset)),
    }
}

/// The place of the first byte that no JSON has there.
fn not_json(raw: &[u8], at: usize) -> InputError {
    let before = raw.get(..at).unwrap_or(raw);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.rsplit(|byte| *byte == b'\n').next();
    InputError::NotJson {
        line,
        column: column.map_or(0, <[u8]>::len) + 1,
    }
}

/// What the host says of what it read, said of another form of it.
fn keep(read: &StoredResult, mut formed: StoredResult) -> StoredResult {
    if let Some(sources) = read.sources() {
        formed = formed.with_sources(sources.clone());
    }
    if let Some(tool) = read.tool() {
        formed = formed.with_tool(tool);
    }
    formed
}
