//! Resolving to bytes: arguments come as JSON, and go as JSON in pieces.
//!
//! What comes in: the bytes of arguments, as a model wrote them. What goes out: the same with every
//! reference replaced, large values without a copy and all numbers with their digits
//! (`specs/references.md#bytes`). Deliberately not here: how references are found, values made, put
//! and judged, which is the same as for values.

use super::{
    Resolved, Session, cost, refusal,
    size::{SMALL_BYTES, run},
    work::Work,
};
use crate::{
    error::{Failure, ResolveError},
    resolve::{LimitError, Plan, SplicedJson, may_hold_references, unheld_number},
    tool::PreparedTool,
    validate::InputSchema,
};
use bytes::Bytes;
use crossfeed_jmespath::View;
use crossfeed_json::{Cursor, Document, JsonError, JsonErrorKind, Kind, quoted};
use crossfeed_schema::{Names, Taken};
use crossfeed_wire::{ErrorCode, Pointer};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap, pin::pin};

/// Arguments as JSON with every reference replaced.
pub type ResolvedJson = Resolved<SplicedJson>;

/// Arguments that are no JSON: `{url: 1}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are no JSON: {error}")]
#[non_exhaustive]
pub struct NotJson {
    /// What is wrong, and at which byte.
    pub error: JsonError,
}

impl NotJson {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::ArgumentsInvalid
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        "write the arguments as one JSON value"
    }
}

/// Arguments as they were written: their bytes, and the value in which references are looked for. A
/// number that no value holds is read as the nearest one, and written as it came.
pub(super) struct Written {
    document: Document,
    value: Value,
}

impl Written {
    /// Bytes and value agree on which members there are, also where a key stands twice.
    fn of(document: Document) -> Self {
        let Ok(root) = document.root() else {
            let value = Value::Null;
            return Self { document, value };
        };
        let value = root.to_nearest_value();
        if root.document_has_duplicates() {
            // Those that nobody reads hide no reference then.
            let mut json = Vec::new();
            root.write_compact(&mut json);
            let document = Document::new(json);
            return Self { document, value };
        }
        Self { document, value }
    }

    /// Arguments in which nothing looks like a reference: no value is needed to find any.
    fn without_references(document: Document) -> Self {
        let value = Value::Null;
        Self { document, value }
    }

    /// The same after the value was read back from what the model was shown: a number keeps its
    /// digits where it is certain that the reading left it at its place.
    ///
    /// # Errors
    ///
    /// [`LimitError::WrittenNumber`] where a number that no value holds would be changed.
    fn read_back(self, value: Value, names: &Names) -> Result<Self, ResolveError> {
        if value == self.value {
            return Ok(self);
        }
        let mut again = Again {
            names,
            json: Vec::new(),
            has_most: false,
        };
        again.write(&value, self.cursor());
        let unheld = || unheld_number(self.cursor()?, &Pointer::root());
        if let Some((at, error)) = again.has_most.then(unheld).flatten() {
            let error = LimitError::WrittenNumber(error).into();
            return Err(ResolveError::new(vec![Failure::new(at, error)]));
        }
        Ok(Self {
            document: Document::new(again.json),
            value,
        })
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// The bytes.
    pub(super) fn raw(&self) -> &Bytes {
        self.document.raw()
    }

    pub(super) fn cursor(&self) -> Option<Cursor<'_>> {
        self.document.root().ok()
    }

    pub(super) fn view(&self) -> View<'_> {
        self.cursor().map_or_else(View::null, View::from)
    }
}

/// Writes arguments again after they were read back.
struct Again<'n> {
    names: &'n Names,
    json: Vec<u8>,
    /// Whether the number that stands for those beyond was written, and nobody knows what for.
    has_most: bool,
}

impl Again<'_> {
    /// Writes a value, and its numbers as they are written in what it is read from, if that is known
    /// for certain. Reading back bounded its depth.
    fn write(&mut self, value: &Value, written: Option<Cursor<'_>>) {
        match value {
            Value::Number(number) => {
                let digits = written.filter(|written| {
                    written.kind() == Kind::Number && written.to_nearest_value() == *value
                });
                match digits {
                    Some(digits) => self.json.extend_from_slice(digits.raw()),
                    None => {
                        let read = number.as_f64().map(f64::abs);
                        self.has_most |= read == Some(f64::MAX);
                        self.json.extend_from_slice(number.to_string().as_bytes());
                    }
                }
            }
            Value::Array(items) => {
                // Reading back neither moves items nor takes any away.
                let written = written.filter(|list| list.len() == Some(items.len()));
                let mut written = written.into_iter().flat_map(Cursor::items);
                self.json.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.json.push(b',');
                    }
                    self.write(item, written.next());
                }
                self.json.push(b']');
            }
            Value::Object(members) => {
                let written = written.into_iter().flat_map(Cursor::members);
                let written = written.map(|(key, value)| (key.text(), value));
                let written: HashMap<_, _> = written.collect();
                self.json.push(b'{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.json.push(b',');
                    }
                    self.json.extend_from_slice(quoted(key).as_bytes());
                    self.json.push(b':');
                    self.write(value, self.source(key, members, &written));
                }
                self.json.push(b'}');
            }
            scalar => self.json.extend_from_slice(scalar.to_string().as_bytes()),
        }
    }

    /// What the member `key` was read from: the member of that name, or of the name that it is shown
    /// under; nothing where it may be either.
    fn source<'w>(
        &self,
        key: &str,
        members: &Map<String, Value>,
        written: &HashMap<Cow<'_, str>, Cursor<'w>>,
    ) -> Option<Cursor<'w>> {
        let own = written.get(key);
        let shown = self.names.shown(key);
        let renamed = written.get(shown).filter(|_| shown != key);
        match (own, renamed, members.contains_key(shown)) {
            (own, None, _) => own.copied(),
            (Some(own), Some(_), true) => Some(*own),
            (None, Some(renamed), false) => Some(*renamed),
            _ => None,
        }
    }
}

/// What the first look at arguments gave.
enum Read {
    /// Nothing in them looks like a reference.
    Plain(Document),
    Other(Document),
}

fn read(document: Document) -> Result<Read, ResolveError> {
    let may_refer = match document.root() {
        Ok(root) => may_hold_references(root),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            return Err(refusal(LimitError::ArgumentsTooDeep));
        }
        Err(error) => {
            let failure = Failure::new(Pointer::root(), NotJson { error }.into());
            return Err(ResolveError::new(vec![failure]));
        }
    };
    Ok(match may_refer {
        true => Read::Other(document),
        false => Read::Plain(document),
    })
}

/// A call of a tool, read back from what the model was shown.
struct Called {
    written: Written,
    schema: Option<InputSchema>,
    asked: Taken,
}

impl Called {
    fn of(tool: &PreparedTool, arguments: Bytes, limit: usize) -> Result<Self, ResolveError> {
        let texts_are_read = tool.listed().folded() > 0;
        let (Read::Plain(document) | Read::Other(document)) = read(Document::new(arguments))?;
        cost::check(document.raw(), limit, texts_are_read).map_err(refusal)?;
        let written = Written::of(document);
        let mut value = written.value().clone();
        let asked = tool.listed().take_projection(&mut value);
        let (value, schema) = tool.read(value)?;
        Ok(Self {
            written: written.read_back(value, tool.listed().names())?,
            schema: schema.cloned(),
            asked,
        })
    }
}

impl Session {
    /// [`Self::resolve`] from bytes to bytes: the arguments come as JSON, and go as JSON in pieces.
    ///
    /// A large value that a reference brings in is passed on as it is stored, without a copy; all
    /// numbers keep their digits, those that the model wrote as well. The schema judges the same
    /// arguments, but what it does not look at is not read: where it asks for a type only, a result
    /// of any size costs the same. Without references what goes out is what came, byte for byte,
    /// except that a key that stands twice is written once where something was to be judged or put.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve`]. Besides, `arguments.invalid` for bytes that are no
    /// JSON. A number that no 64-bit float holds (`1e400`) is passed on, and `limit.exceeded` only
    /// where the schema looks at it. `limit.exceeded` as well, before anything is built, for arguments that
    /// take more than [`EngineOptions::max_argument_bytes`](crate::EngineOptions::max_argument_bytes) to read.
    pub async fn resolve_json(
        &self,
        arguments: impl Into<Bytes>,
        schema: Option<&InputSchema>,
    ) -> Result<ResolvedJson, ResolveError> {
        let resolving = pin!(self.resolved_json(arguments.into(), schema));
        self.traced(None, resolving).await
    }

    /// [`Self::resolve_call`] from bytes to bytes, as [`Self::resolve_json`] is.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve_call`] and [`Self::resolve_json`].
    pub async fn resolve_call_json(
        &self,
        tool: &PreparedTool,
        arguments: impl Into<Bytes>,
    ) -> Result<ResolvedJson, ResolveError> {
        let resolving = pin!(self.resolved_call_json(tool, arguments.into()));
        self.traced(Some(tool.listed().name()), resolving).await
    }

    async fn resolved_json(
        &self,
        arguments: Bytes,
        schema: Option<&InputSchema>,
    ) -> Result<ResolvedJson, ResolveError> {
        let is_judged = schema.is_some();
        let limit = self.inner().options.max_argument_bytes;
        let written = run(arguments.len() <= SMALL_BYTES, move || {
            let (is_plain, document) = match read(Document::new(arguments))? {
                Read::Plain(document) if !is_judged => return Ok(Err(document)),
                Read::Plain(document) => (true, document),
                Read::Other(document) => (false, document),
            };
            // Only the index is there yet, which is less than five times the bytes.
            cost::check(document.raw(), limit, false).map_err(refusal)?;
            Ok(Ok(if is_plain {
                Written::without_references(document)
            } else {
                Written::of(document)
            }))
        });
        match written.await? {
            Ok(written) => self.resolved_written(written, schema).await,
            Err(untouched) => {
                let arguments = untouched.raw().clone().into();
                Ok(ResolvedJson::new(arguments, Vec::new(), Vec::new()))
            }
        }
    }

    async fn resolved_call_json(
        &self,
        tool: &PreparedTool,
        arguments: Bytes,
    ) -> Result<ResolvedJson, ResolveError> {
        let limit = self.inner().options.max_argument_bytes;
        let Called {
            written,
            schema,
            asked,
        } = match arguments.len() <= SMALL_BYTES && tool.is_compiled() {
            true => Called::of(tool, arguments, limit)?,
            false => {
                let tool = tool.clone();
                run(false, move || Called::of(&tool, arguments, limit)).await?
            }
        };
        let mut resolved = self.resolved_written(written, schema.as_ref()).await?;
        resolved.projection = Some(asked.request).filter(|request| !request.is_unsaid());
        resolved.diagnostics = asked.diagnostics;
        Ok(resolved)
    }

    async fn resolved_written(
        &self,
        written: Written,
        schema: Option<&InputSchema>,
    ) -> Result<ResolvedJson, ResolveError> {
        let plan = Plan::of(written.value(), schema.map(InputSchema::as_value)).map_err(refusal)?;
        self.worked_out(plan, schema, written, Work::resolve_json)
            .await
    }
}
