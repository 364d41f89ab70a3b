//! A result as the client asked for it.
//!
//! What comes in: the bytes of a `CallToolResult`, the tool, and the parameters of the call. What
//! goes out: the bytes with what was asked for cut out of them, and a reply that says so.
//!
//! Errors are never projected, and neither is what a page of the tool reads. Never-rules hold for
//! all of them.

mod decide;
mod hidden;
mod parts;
mod schema;
mod splice;

use crate::{Annotation, Capability, KEY, Reply, Request};
use crossfeed_json::{Cursor, Document, JsonError, Kind};
use crossfeed_projection::{Projection, RevealRules};
use decide::{Source, Wanted, about};
use hidden::Hidden;
use serde_json::Value;
use splice::Edits;
use std::{borrow::Cow, sync::Arc};

const STRUCTURED: &str = "structuredContent";
const CONTENT: &str = "content";
const META: &str = "_meta";

/// Why bytes are no result of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// They are no JSON, or beyond its limits.
    #[error("the result is no JSON: {0}")]
    NotJson(JsonError),
    /// They are JSON, but no object: `[]`.
    #[error("the result is no object")]
    NotAnObject,
}

/// What is to be known of a tool to project its results.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tool {
    /// What its definition says about projection.
    pub annotation: Annotation,
    /// The schema of its `structuredContent`.
    pub output_schema: Option<Value>,
    /// Whether a page of its own reads its results: they are not projected.
    pub has_page: bool,
}

impl Tool {
    /// Reads a tool's definition as `tools/list` has it.
    #[must_use]
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
    /// The bytes: borrowed where nothing had to change.
    pub json: Cow<'d, [u8]>,
    /// What `_meta` says; `None` where nothing was asked for, and in errors, which stay as they are.
    pub reply: Option<Reply>,
}

/// Projects results by what one server declares, and by the rules of its host.
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
#[derive(Clone, Debug, Default)]
pub struct Projector {
    capability: Capability,
    rules: Arc<RevealRules>,
    hidden: Hidden,
}

impl Projector {
    /// A projector of what this capability declares: other modes are not applied.
    #[must_use]
    pub fn new(capability: Capability) -> Self {
        Self {
            capability,
            ..Self::default()
        }
    }

    /// The same with what is always kept and what is never shown.
    #[must_use]
    pub fn with_rules(mut self, rules: impl Into<Arc<RevealRules>>) -> Self {
        self.rules = rules.into();
        self.hidden = Hidden::new(&self.rules);
        self
    }

    /// The result as the `params` of its call ask for it.
    ///
    /// A request that cannot be followed gives the whole result and a reason. What never-rules hide is
    /// in no result.
    ///
    /// # Errors
    ///
    /// [`ResultError`] where the bytes are no result.
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
        if root.document_has_duplicates() {
            // Splicing leaves bytes as they are, and what a key had before its last value is not to be
            // seen: so each key is written once before.
            let mut once = Vec::new();
            root.write(&mut once);
            let once = Document::new(once);
            let projected = self.project(tool, params, &once)?;
            return Ok(Projected {
                json: Cow::Owned(projected.json.into_owned()),
                reply: projected.reply,
            });
        }
        let mut edits = Edits::new(result.raw());
        let reply = self.edit(tool, params, root, &mut edits);
        Ok(Projected {
            json: edits.done(),
            reply,
        })
    }

    fn edit(
        &self,
        tool: &Tool,
        params: &Value,
        root: Cursor<'_>,
        edits: &mut Edits<'_>,
    ) -> Option<Reply> {
        let is_error = root.get("isError").and_then(Cursor::as_bool) == Some(true);
        let reply = match Request::read(params) {
            Ok(None) => None,
            _ if is_error => None,
            Err(error) => Some(Reply {
                reason: Some(error.to_string()),
                ..Reply::default()
            }),
            Ok(Some(request)) => Some(match self.decide(tool, root, &request) {
                Ok(wanted) => self.apply(tool, root, wanted, edits),
                Err(reason) => Reply {
                    reason: Some(reason),
                    ..about(&request)
                },
            }),
        };
        if !reply.as_ref().is_some_and(|reply| reply.applied) {
            self.hidden.shown(root, edits);
        }
        let said = reply.as_ref().map(|reply| (KEY, reply.to_value()));
        self.hidden.other_members(root, said, edits);
        reply
    }

    fn apply(
        &self,
        tool: &Tool,
        root: Cursor<'_>,
        wanted: Wanted<'_>,
        edits: &mut Edits<'_>,
    ) -> Reply {
        let Wanted {
            include,
            exclude,
            source,
            mut reply,
        } = wanted;
        let mut projection = Projection::new().with_rules(self.rules.clone());
        if let Some(tree) = include {
            projection = projection.with_include(tree);
        }
        if let Some(tree) = exclude {
            projection = projection.with_exclude(tree);
        }
        let mut json = Vec::new();
        match source {
            Source::Structured(own) => {
                reply.diagnostics = projection.write(own, &mut json);
                edits.replace(own, json.clone());
                if let Some(schema) = &tool.output_schema {
                    match schema::announced(schema, &projection, &json) {
                        Ok(schema) => reply.projected_schema = Some(schema),
                        Err(note) => reply.diagnostics.push(note),
                    }
                }
            }
            Source::Text(document) => {
                if let Ok(own) = document.root() {
                    reply.diagnostics = projection.write(own, &mut json);
                }
            }
        }
        let parts = parts::of(root);
        parts::regenerate(&parts, &json, edits);
        self.hidden.other_parts(root, &parts, edits);
        reply
    }
}
