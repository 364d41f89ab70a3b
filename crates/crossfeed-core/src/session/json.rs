//! Resolving to bytes: arguments come as JSON, and go as JSON in pieces.

use super::{
    Resolved, Session,
    cost::most,
    job::ResolveJob,
    offload::{SMALL_BYTES, run_or_spawn},
    read_back::read_back,
};
use crate::{
    arguments::{Came, Node, Removed, Room, SplicedJson},
    error::{LimitError, NotJson},
    failure::ResolveError,
    resolve::{Plan, may_hold_references},
    tool::PreparedTool,
    validate::InputSchema,
};
use bytes::Bytes;
use crossfeed_jmespath::View;
use crossfeed_json::{Cursor, Document, JsonErrorKind};
use crossfeed_tools::{ListedTool, Taken};
use serde_json::Value;
use std::pin::pin;

/// Arguments as JSON with every reference replaced.
pub type ResolvedJson = Resolved<SplicedJson>;

/// Arguments as they were written, each key once.
pub(super) struct Written {
    pub(super) document: Document,
    /// What reading back took out of them.
    pub(super) removed: Removed,
    /// Whether something in them looks like a reference.
    may_refer: bool,
    /// Room for what is built of them beside what references in them mean: once to judge them, and, when
    /// that is gone, once to say why they do not fit.
    pub(super) room: Room,
}

impl Written {
    fn of(document: Document, removed: Removed, limit: usize) -> Self {
        let may_refer = document.root().is_ok_and(may_hold_references);
        Self {
            room: Room::new(limit),
            may_refer,
            removed,
            document,
        }
    }

    /// Arguments of a tool as it means them, and what the model asked of the result.
    fn read_back(
        listed: &ListedTool,
        arguments: Bytes,
        limit: usize,
    ) -> Result<(Self, Taken), ResolveError> {
        let limit = most(limit, arguments.len());
        let document = distinct(read(Document::new(arguments))?);
        let back = read_back(listed, document, limit)?;
        Ok((Self::of(back.document, back.removed, limit), back.asked))
    }

    /// What references in them mean, and the room that this leaves.
    fn plan(&self, schema: Option<&Value>) -> Result<(Plan, Room), LimitError> {
        let mut room = self.room;
        let plan = match self.cursor().filter(|_| self.may_refer) {
            Some(root) => Plan::of_document(Came::new(root, &self.removed), schema, &mut room)?,
            None => Plan::default(),
        };
        Ok((plan, room))
    }

    /// A value of theirs as it was written, without blanks.
    pub(super) fn text_of(&self, ordinal: u32) -> Option<String> {
        let mut text = Vec::new();
        self.cursor()?.by_ordinal(ordinal)?.write_compact(&mut text);
        String::from_utf8(text).ok()
    }

    pub(super) fn cursor(&self) -> Option<Cursor<'_>> {
        self.document.root().ok()
    }

    /// The value with this number.
    pub(super) fn at(&self, ordinal: u32) -> Option<Came<'_>> {
        let value = self.cursor()?.by_ordinal(ordinal)?;
        Some(Came::new(value, &self.removed))
    }

    /// The arguments, in which nothing is replaced yet.
    pub(super) fn node(&self) -> Node<'_> {
        let view = self.cursor().map_or_else(View::null, View::from);
        let mut node = Node::View(view);
        self.removed.apply(&mut node);
        node
    }
}

/// A document that is JSON and has an index.
pub(super) fn read(document: Document) -> Result<Document, ResolveError> {
    match document.root() {
        Ok(_) => Ok(document),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            Err(LimitError::ArgumentsTooDeep.into())
        }
        Err(error) => Err(NotJson { error }.into()),
    }
}

/// The same with each key once: those members that nobody reads hide no reference then.
fn distinct(document: Document) -> Document {
    let mut json = Vec::new();
    match document.root() {
        Ok(root) if root.document_has_duplicates() => {
            json.reserve_exact(document.raw().len());
            root.write_compact(&mut json);
        }
        _ => return document,
    }
    drop(document);
    Document::new(json)
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
        let resolving = pin!(self.resolved_call_json(tool, arguments.into(), true));
        self.traced(Some(tool.listed().name()), resolving).await
    }

    /// [`Self::resolve_call_json`] without judging: what is wrong then is a reference, or cannot be read back.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve_call_json`].
    pub async fn resolve_call_unjudged_json(
        &self,
        tool: &PreparedTool,
        arguments: impl Into<Bytes>,
    ) -> Result<ResolvedJson, ResolveError> {
        let resolving = pin!(self.resolved_call_json(tool, arguments.into(), false));
        self.traced(Some(tool.listed().name()), resolving).await
    }

    async fn resolved_json(
        &self,
        arguments: Bytes,
        schema: Option<&InputSchema>,
    ) -> Result<ResolvedJson, ResolveError> {
        let is_judged = schema.is_some();
        let limit = self.inner().options.max_argument_bytes;
        let written = run_or_spawn(arguments.len() <= SMALL_BYTES, move || {
            let limit = most(limit, arguments.len());
            let document = read(Document::new(arguments))?;
            if !is_judged && !document.root().is_ok_and(may_hold_references) {
                return Ok(Err(document));
            }
            let document = distinct(document);
            Ok::<_, ResolveError>(Ok(Written::of(document, Removed::default(), limit)))
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
        is_judged: bool,
    ) -> Result<ResolvedJson, ResolveError> {
        let limit = self.inner().options.max_argument_bytes;
        let is_small = arguments.len() <= SMALL_BYTES && (!is_judged || tool.is_compiled());
        let tool = tool.clone();
        let reading = run_or_spawn(is_small, move || {
            let (written, asked) = Written::read_back(tool.listed(), arguments, limit)?;
            let refers = || Ok(!written.plan(None)?.0.is_empty());
            let schema = if is_judged {
                tool.schema_for(refers)?.cloned()
            } else {
                None
            };
            Ok::<_, ResolveError>((written, asked, schema))
        });
        let (written, asked, schema) = reading.await?;
        let resolved = self.resolved_written(written, schema.as_ref()).await?;
        Ok(resolved.asking(asked))
    }

    async fn resolved_written(
        &self,
        mut written: Written,
        schema: Option<&InputSchema>,
    ) -> Result<ResolvedJson, ResolveError> {
        let is_small = written.document.raw().len() <= SMALL_BYTES;
        let own = schema.cloned();
        let limit = self.inner().options.max_references;
        let planned = run_or_spawn(is_small, move || {
            let (plan, left) = written.plan(own.as_ref().map(InputSchema::as_value))?;
            // Here as well: it takes long to drop very many.
            plan.check(limit)?;
            written.room = left;
            Ok::<_, LimitError>((plan, written))
        });
        let (plan, written) = planned.await?;
        self.execute_plan(plan, schema, written, is_small, ResolveJob::resolve_json)
            .await
    }
}
