//! Resolving from JSON bytes to JSON in pieces.

use super::{
    Resolved, Session,
    cost::max_built_bytes,
    job::ResolveJob,
    offload::{SMALL_BYTES, run_or_spawn},
    read_back::read_back,
};
use crate::{
    arguments::{Argument, Node, RemovedMembers, Room, SplicedJson},
    error::{LimitError, NotJson, ReferenceStyle},
    failure::ResolveError,
    resolve::{Notation, Plan, may_hold_references},
    tool::PreparedTool,
    validate::InputSchema,
};
use bytes::Bytes;
use crossfeed_jmespath::View;
use crossfeed_json::{Cursor, Document, JsonErrorKind};
use crossfeed_tools::{ListedTool, TakenProjection};
use serde_json::Value;
use std::pin::pin;

/// Arguments as JSON with every reference replaced.
pub type ResolvedJson = Resolved<SplicedJson>;

/// Arguments as they were written, without duplicate keys.
pub(super) struct WrittenArguments {
    pub(super) document: Document,
    /// The members that reading back removed.
    pub(super) removed: RemovedMembers,
    /// Whether something in them looks like a reference.
    may_refer: bool,
    /// Room for the values built from them, apart from their references: once to validate them and, after that is
    /// freed, once to explain why they do not fit.
    pub(super) room: Room,
}

impl Clone for WrittenArguments {
    /// The same bytes, whose index is built again if need be.
    fn clone(&self) -> Self {
        Self {
            document: Document::new(self.document.raw().clone()),
            removed: self.removed.clone(),
            ..*self
        }
    }
}

impl WrittenArguments {
    fn new(document: Document, removed: RemovedMembers, limit: usize, notation: Notation) -> Self {
        let may_refer = document
            .root()
            .is_ok_and(|root| may_hold_references(root, notation));
        Self {
            room: Room::new(limit),
            may_refer,
            removed,
            document,
        }
    }

    /// The arguments for the tool's own schema, and the model's request for the result.
    fn read_back(
        listed: &ListedTool,
        arguments: Bytes,
        limit: usize,
        notation: Notation,
    ) -> Result<(Self, TakenProjection), ResolveError> {
        let limit = max_built_bytes(limit, arguments.len());
        let document = distinct(read(Document::new(arguments))?);
        let restored = read_back(listed, document, limit)?;
        let own = Self::new(restored.document, restored.removed, limit, notation);
        Ok((own, restored.asked))
    }

    /// The plan of their references, and the room that this leaves.
    fn plan(&self, schema: Option<&Value>, notation: Notation) -> Result<(Plan, Room), LimitError> {
        let mut room = self.room;
        let plan = match self.cursor().filter(|_| self.may_refer) {
            Some(root) => {
                let root = Argument::new(root, &self.removed);
                Plan::from_json(root, schema, notation, &mut room)?
            }
            None => Plan::default(),
        };
        Ok((plan, room))
    }

    /// A value as it was written, without blanks.
    pub(super) fn text_of(&self, ordinal: u32) -> Option<String> {
        let mut text = Vec::new();
        self.cursor()?.by_ordinal(ordinal)?.write_compact(&mut text);
        String::from_utf8(text).ok()
    }

    pub(super) fn cursor(&self) -> Option<Cursor<'_>> {
        self.document.root().ok()
    }

    /// The value with this number.
    pub(super) fn at(&self, ordinal: u32) -> Option<Argument<'_>> {
        let value = self.cursor()?.by_ordinal(ordinal)?;
        Some(Argument::new(value, &self.removed))
    }

    /// The arguments before references are replaced.
    pub(super) fn node(&self) -> Node<'_> {
        let view = self.cursor().map_or_else(View::null, View::from);
        let mut node = Node::View(view);
        self.removed.apply(&mut node);
        node
    }
}

/// Indexes a document, which must be JSON.
pub(super) fn read(document: Document) -> Result<Document, ResolveError> {
    match document.root() {
        Ok(_) => Ok(document),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            Err(LimitError::ArgumentsTooDeep.into())
        }
        Err(error) => Err(NotJson { error }.into()),
    }
}

/// A document without duplicate keys, whose unread members could hide references.
fn distinct(document: Document) -> Document {
    let mut json = Vec::new();
    match document.root() {
        Ok(root) if root.document_has_duplicates() => {
            json.reserve_exact(document.raw().len());
            root.write_compact(&mut json);
        }
        _ => return document,
    }
    // The first index is freed before the second is built.
    drop(document);
    Document::new(json)
}

impl Session {
    /// [`Self::resolve`] from bytes to bytes: takes arguments as JSON, and returns them as JSON in pieces.
    ///
    /// A large value that a reference brings in is passed on as it is stored, without a copy; all numbers keep
    /// their digits, in the arguments as well. The schema judges the same arguments, but parts that it does not
    /// examine are not read: where it asks only for a type, a result of any size costs the same. Arguments without
    /// references are returned byte for byte, except that duplicate keys are written once if there was something
    /// to validate or to replace.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve`]. In addition, `arguments.invalid` for bytes that are not valid
    /// JSON. A number beyond 64-bit floats (`1e400`) is passed on, and is `limit.exceeded` only where the schema
    /// examines it. `limit.exceeded` as well, before anything is built, for arguments that take more than
    /// [`EngineOptions::max_argument_bytes`](crate::EngineOptions::max_argument_bytes) to read.
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
        let notation = self.notation;
        let written = run_or_spawn(arguments.len() <= SMALL_BYTES, move || {
            let limit = max_built_bytes(limit, arguments.len());
            let document = read(Document::new(arguments))?;
            if !is_judged
                && !document
                    .root()
                    .is_ok_and(|root| may_hold_references(root, notation))
            {
                return Ok(Err(document.raw().clone()));
            }
            let document = distinct(document);
            let removed = RemovedMembers::default();
            let written = WrittenArguments::new(document, removed, limit, notation);
            Ok::<_, ResolveError>(Ok(written))
        });
        match written.await? {
            Ok(written) => {
                let spelling = ReferenceStyle::default();
                self.resolved_written(written, schema, spelling).await
            }
            Err(unchanged) => Ok(Resolved::new(unchanged.into(), Vec::new(), Vec::new())),
        }
    }

    async fn resolved_call_json(
        &self,
        tool: &PreparedTool,
        arguments: Bytes,
    ) -> Result<ResolvedJson, ResolveError> {
        let limit = self.inner().options.max_argument_bytes;
        let is_small = arguments.len() <= SMALL_BYTES && tool.is_compiled();
        let own = tool.clone();
        let spelling = ReferenceStyle::of(tool.listed());
        let notation = self.notation;
        let reading = run_or_spawn(is_small, move || {
            let (written, asked) =
                WrittenArguments::read_back(own.listed(), arguments, limit, notation)?;
            let refers = || Ok(!written.plan(None, Notation::Exact)?.0.is_empty());
            let schema = own.schema_for(refers)?.cloned();
            Ok::<_, ResolveError>((written, asked, schema))
        });
        let (written, asked, schema) = reading.await?;
        let resolved = self
            .resolved_written(written, schema.as_ref(), spelling)
            .await?;
        tool.admit(&resolved.lineage)?;
        Ok(resolved.asking(asked))
    }

    async fn resolved_written(
        &self,
        mut written: WrittenArguments,
        schema: Option<&InputSchema>,
        spelling: ReferenceStyle,
    ) -> Result<ResolvedJson, ResolveError> {
        let is_small = written.document.raw().len() <= SMALL_BYTES;
        let own = schema.cloned();
        let notation = self.notation;
        let limit = self.inner().options.max_references;
        let planned = run_or_spawn(is_small, move || {
            let (plan, left) = written.plan(own.as_ref().map(InputSchema::as_value), notation)?;
            // Checked here as well, because dropping very many references takes long.
            plan.check(limit)?;
            written.room = left;
            Ok::<_, LimitError>((plan.spelled(spelling), written))
        });
        let (plan, written) = planned.await?;
        self.execute_plan(plan, schema, written, is_small, ResolveJob::resolve_json)
            .await
    }
}
