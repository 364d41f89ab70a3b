//! Projects the bytes of a `CallToolResult` as the client requests, and replies in `_meta`.
//!
//! Errors are never projected, and neither are results that a page of the tool reads. Never-rules apply to all results,
//! before anything else.

mod decide;
mod meta;
mod parts;
mod schema;
mod scrub;

use crate::{Annotation, Capability, Reply, Request, RequestError};
use crossfeed_json::{Cursor, Document, Edits, JsonError, Kind};
use crossfeed_projection::{RedactedResult, RevealRules};
use decide::about;
use serde_json::Value;
use std::{borrow::Cow, fmt, sync::Arc};

const STRUCTURED: &str = "structuredContent";
const CONTENT: &str = "content";
const META: &str = "_meta";
const IS_ERROR: &str = "isError";

/// Why bytes are not the result of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// They are not valid JSON, or beyond its limits.
    #[error("the result is not valid JSON: {0}")]
    NotJson(JsonError),
    /// They are not an object: `[]`.
    #[error("the result is not an object")]
    NotAnObject,
    /// They are an object without any member of a tool's result: `{}`.
    #[error("the result has none of `content`, `structuredContent` and `isError`")]
    NotAResult,
}

/// The facts about a tool that decide how its results are projected.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tool {
    /// The annotation of its definition.
    pub annotation: Annotation,
    /// The schema of its `structuredContent`.
    pub output_schema: Option<Value>,
    /// Whether its own page reads its results, which are then not projected.
    pub has_page: bool,
}

impl Tool {
    /// Reads a tool's definition from `tools/list`.
    pub fn read(tool: &Value) -> Self {
        Self {
            annotation: Annotation::read(tool).unwrap_or_default(),
            output_schema: tool.get("outputSchema").filter(|s| s.is_object()).cloned(),
            has_page: tool.get(META).is_some_and(names_page),
        }
    }
}

/// Whether the `_meta` of a tool names a page that shows its results.
fn names_page(meta: &Value) -> bool {
    let there = |key: &str| meta.get(key).is_some_and(|page| !page.is_null());
    there("ui") || there("ui/resourceUri")
}

/// A result that may be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Projected<'d> {
    /// The bytes, borrowed if nothing changed.
    pub json: Cow<'d, [u8]>,
    /// The reply in `_meta`; `None` without a request, and for errors, which stay unchanged.
    pub reply: Option<Reply>,
}

/// Projects results by the capability of one server and the rules of its host.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_mcp::{Capability, Projector, Tool};
/// use serde_json::json;
///
/// let projector = Projector::new(Capability::default());
/// let params = json!({"_meta": {"projection": {"mode": "include", "fields": ["id"]}}});
/// let result = Document::new(
///     r#"{"content":[{"type":"text","text":"{\"id\":1,\"body\":2}"}],"structuredContent":{"id":1,"body":2}}"#,
/// );
/// let projected = projector.project(&Tool::default(), &params, &result)?;
/// assert_eq!(
///     String::from_utf8_lossy(&projected.json),
///     concat!(
///         r#"{"content":[{"type":"text","text":"{\"id\":1}"}],"structuredContent":{"id":1},"#,
///         r#""_meta":{"dev.crossfeed/projection":{"applied":true,"mode":"include","fields":["id"]}}}"#,
///     )
/// );
/// # Ok::<(), crossfeed_mcp::ResultError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Projector {
    capability: Capability,
    rules: Arc<RevealRules>,
}

/// Without the rules: even names of withheld fields stay out of logs.
impl fmt::Debug for Projector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projector")
            .field("capability", &self.capability)
            .field("never", &self.rules.never().len())
            .finish_non_exhaustive()
    }
}

impl Projector {
    /// A projector that applies the modes of this capability.
    pub fn new(capability: Capability) -> Self {
        Self {
            capability,
            ..Self::default()
        }
    }

    /// Sets which fields are always kept and which are never shown.
    pub fn with_rules(mut self, rules: impl Into<Arc<RevealRules>>) -> Self {
        self.rules = rules.into();
        self
    }

    /// The result as the `params` of its call ask for it.
    ///
    /// A request that cannot be followed gives the whole result and a reason. Fields that never-rules hide are
    /// removed before projecting. Claims of other parties under this crate's keys in `_meta` are removed.
    ///
    /// # Errors
    ///
    /// [`ResultError`] if the bytes are not a tool result.
    pub fn project<'d>(
        &self,
        tool: &Tool,
        params: &Value,
        result: &'d Document,
    ) -> Result<Projected<'d>, ResultError> {
        let root = result.root().map_err(ResultError::NotJson)?;
        if root.kind() != Kind::Object {
            return Err(ResultError::NotAnObject);
        }
        let has = |key: &&str| root.get(key).is_some();
        if ![CONTENT, STRUCTURED, IS_ERROR].iter().any(has) {
            return Err(ResultError::NotAResult);
        }
        let is_error = root.get(IS_ERROR).and_then(Cursor::as_bool) == Some(true);
        let call = Call {
            tool,
            has_page: tool.has_page || decide::names_page(root),
            request: match Request::read(params) {
                _ if is_error => Ok(None),
                request => request,
            },
        };
        let hidden = self.withhold(result);
        // Splicing keeps bytes, and earlier values of a duplicate key must not be seen. So each key is
        // written once before anything else changes.
        let is_changed = || !matches!(call.request, Ok(None)) || meta::is_claimed(root);
        let once = || {
            let mut once = Vec::new();
            root.write(&mut once);
            once
        };
        let other = match &hidden {
            Some(hidden) => Some(hidden.json.clone()),
            None => (root.document_has_duplicates() && is_changed()).then(once),
        };
        let Some(other) = other.map(Document::new) else {
            return self.answer(&call, result, false);
        };
        let is_cut = hidden.is_some_and(|hidden| hidden.is_cut);
        let Projected { json, reply } = self.answer(&call, &other, is_cut)?;
        Ok(Projected {
            json: Cow::Owned(json.into_owned()),
            reply,
        })
    }

    /// Redacts a result before any request applies; `None` for all of it. A text that was withheld because it may
    /// repeat data hidden in `structuredContent` is replaced by the rest of that.
    pub fn withhold(&self, result: &Document) -> Option<RedactedResult> {
        let mut hidden = self.rules.redact_result(result.root().ok()?)?;
        if hidden.repeated {
            let document = Document::new(hidden.json.clone());
            let root = document.root().ok();
            let own = root.and_then(|root| Some((root, root.get(STRUCTURED)?)));
            if let Some((root, own)) = own.filter(|(_, own)| own.kind() != Kind::Null) {
                let mut edits = Edits::new(document.raw());
                parts::regenerate(root, own.raw(), &mut edits);
                hidden.json = edits.done().into_owned();
            }
        }
        Some(hidden)
    }

    /// Projects a document that is redacted already.
    fn answer<'d>(
        &self,
        call: &Call<'_>,
        document: &'d Document,
        is_cut: bool,
    ) -> Result<Projected<'d>, ResultError> {
        let root = document.root().map_err(ResultError::NotJson)?;
        let mut edits = Edits::new(document.raw());
        let reply = match &call.request {
            Ok(None) => None,
            Ok(Some(request)) => {
                let applied = self.apply(call, root, request, &mut edits);
                Some(applied.unwrap_or_else(|reason| Reply {
                    reason: Some(reason),
                    ..about(request)
                }))
            }
            Err(error) => Some(Reply {
                reason: Some(error.to_string()),
                ..Reply::default()
            }),
        };
        let request = call.request.as_ref().ok().and_then(Option::as_ref);
        let reply = reply.map(|reply| scrub::scrub(reply, request, &self.rules, is_cut));
        let json = reply.as_ref().map(|reply| reply.to_value().to_string());
        meta::write(root, json.as_ref().map(String::as_bytes), &mut edits);
        Ok(Projected {
            json: edits.done(),
            reply,
        })
    }
}

/// The facts about a call that decide its answer.
struct Call<'a> {
    tool: &'a Tool,
    has_page: bool,
    request: Result<Option<Request>, RequestError>,
}
