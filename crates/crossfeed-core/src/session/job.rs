//! One resolution, after its look-ups: work that does not wait.

use super::{
    Resolved,
    json::{ResolvedJson, Written},
    offload::counted_bytes,
};
use crate::{
    account::SessionUsage,
    arguments::{Node, SplicedJson, Tree, spliced, unheld_number},
    canonical::Stored,
    engine::Inner,
    error::LimitError,
    failure::{Failure, ResolveError},
    lineage::LineageEntry,
    resolve::{FillArena, FillContext, Filled, LookupResult, Plan, Step, Tally, fill, malformed},
    reveal::Unredacted,
    trace::validated,
    validate::{self, InputSchema, TypeRepair, built_bytes},
};
use crossfeed_jmespath::{Arena, Memory, Reservation, View};
use crossfeed_json::{Cursor, Document, indexing_bytes};
use crossfeed_wire::{CallId, Pointer};
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

/// One resolution, after its look-ups.
pub(super) struct ResolveJob {
    pub(super) inner: Arc<Inner>,
    pub(super) plan: Plan,
    pub(super) looked: Vec<LookupResult>,
    pub(super) schema: Option<InputSchema>,
    /// Whether it is done on the async thread.
    pub(super) small: bool,
    /// What selectors build is charged to it.
    pub(super) memory: Option<Arc<dyn Memory>>,
}

/// What came of one resolution, and what its references cost and brought.
pub(super) struct ResolveOutcome<R> {
    pub(super) resolved: Result<R, ResolveError>,
    /// Tokens of the references as they were written.
    written: usize,
    /// Tokens of what came in their places.
    referred: usize,
    /// Bytes of what came from results.
    moved: usize,
}

impl<R> ResolveOutcome<R> {
    /// Notes it in the books of the session: only when the caller gets the answer, because what is
    /// dropped half-way brought nothing.
    pub(super) fn record_usage(
        self,
        account: impl FnOnce() -> Arc<SessionUsage>,
    ) -> Result<R, ResolveError> {
        let (written, referred, moved) = (self.written, self.referred, self.moved);
        if (written, referred, moved) != (0, 0, 0) {
            account().refer(written, referred, moved);
        }
        self.resolved
    }
}

impl ResolveJob {
    /// Resolves arguments to a value.
    pub(super) fn resolve(&self, arguments: Value) -> ResolveOutcome<Resolved> {
        let tally = self.tally();
        let text = |at: &Pointer, _| Some(arguments.pointer(at.as_str())?.to_string());
        let written = self.written_tokens(text, &tally);
        let resolved = self.resolved(arguments, &tally);
        self.worked(written, resolved, |resolved| &resolved.lineage)
    }

    /// Resolves arguments to bytes.
    pub(super) fn resolve_json(&self, arguments: Written) -> ResolveOutcome<ResolvedJson> {
        let tally = self.tally();
        let written = self.written_tokens(|_, ordinal| arguments.text_of(ordinal?), &tally);
        let resolved = self.resolved_json(&arguments, &tally);
        self.worked(written, resolved, |resolved| &resolved.lineage)
    }

    fn arena(&self) -> FillArena {
        FillArena::new(Arena::with_memory(self.memory.clone()))
    }

    fn tally(&self) -> Tally<'_> {
        let tokens = &self.inner.options.context.tokens;
        Tally::new(tokens, counted_bytes(self.small))
    }

    fn worked<R>(
        &self,
        written: usize,
        resolved: Result<R, ResolveError>,
        lineage: impl Fn(&R) -> &[LineageEntry],
    ) -> ResolveOutcome<R> {
        // What a call that does not run was to bring never came.
        let lineage = resolved.as_ref().map_or(&[][..], lineage);
        let moved = lineage.iter().filter(|link| !link.source.used_default);
        ResolveOutcome {
            written,
            referred: sum(lineage.iter().map(|link| link.tokens)),
            moved: sum(moved.map(|link| link.source.bytes_out)),
            resolved,
        }
    }

    /// Bytes held of each result that is wanted, as many as there are wanted.
    pub(super) fn resident_bytes(&self) -> Vec<usize> {
        let bytes = |looked: &LookupResult| match looked.as_ref().map(Unredacted::as_stored) {
            Ok(Stored::Result(result)) => result.resident_bytes(),
            _ => 0,
        };
        self.looked.iter().map(bytes).collect()
    }

    /// The calls whose results take more than before.
    pub(super) fn grown(&self, before: &[usize]) -> Vec<CallId> {
        let now = self.resident_bytes();
        let both = self.plan.wanted.iter().zip(before.iter().zip(now));
        let grown = both.filter(|(_, (before, now))| *before != now);
        grown.map(|(wanted, _)| wanted.call_id.clone()).collect()
    }

    /// What the references took that the model wrote: with their keys and braces, as they stand in
    /// the arguments.
    fn written_tokens(
        &self,
        text: impl Fn(&Pointer, Option<u32>) -> Option<String>,
        tally: &Tally<'_>,
    ) -> usize {
        let count = |text: Option<String>| text.map_or(0, |text| tally.of_text(&text));
        let of_step = |step: &Step| match step {
            Step::Literal(_) => 0,
            Step::Put { at, reference } => {
                let planned = self.plan.references.get(*reference);
                count(text(at, planned.and_then(|planned| planned.ordinal)))
            }
            Step::Map {
                object,
                key,
                ordinal,
                ..
            } => {
                let map = text(&object.key(key), *ordinal);
                tally.of_text(key).saturating_add(count(map))
            }
        };
        sum(self.plan.steps.iter().map(of_step))
    }

    fn resolved(&self, arguments: Value, tally: &Tally<'_>) -> Result<Resolved, ResolveError> {
        let at = |at: &Pointer, _| arguments.pointer(at.as_str()).map(Cow::Borrowed);
        let malformed = malformed(&self.plan, at);
        let arena = self.arena();
        let filled = self.filled(arguments, malformed, &arena, tally)?;
        let Filled {
            mut arguments,
            lineage,
            ..
        } = filled;
        let mut repairs = self.judged(&mut arguments, &lineage)?;
        self.withhold_repairs(&mut repairs, &lineage);
        Ok(Resolved::new(arguments, lineage, repairs))
    }

    fn resolved_json(
        &self,
        written: &Written,
        tally: &Tally<'_>,
    ) -> Result<ResolvedJson, ResolveError> {
        let at = |_: &Pointer, ordinal: Option<u32>| {
            Some(Cow::Owned(written.at(ordinal?)?.as_malformed()))
        };
        let malformed = malformed(&self.plan, at);
        let arena = self.arena();
        let mut filled = self.filled(written.node(), malformed, &arena, tally)?;
        let schema = self.schema.as_ref();
        if let (Some(schema), Some(cursor)) = (schema, written.cursor()) {
            let mut room = written.room;
            schema.take(cursor, &mut room)?;
        }
        let memory = (!self.plan.is_empty()).then(|| Reservation::new(self.memory.clone()));
        let fits = schema.map(|schema| schema.accepts_unread(&filled.arguments, memory.as_ref()));
        drop(memory);
        let mut repairs = Vec::new();
        if fits.transpose().map_err(LimitError::from)? == Some(false) {
            let mut arguments = self.materialised(&filled, written, &arena)?;
            repairs = self.judged(&mut arguments, &filled.lineage)?;
            for repair in &repairs {
                repaired(&mut filled.arguments, repair, &arguments, &arena)?;
            }
        }
        let is_repaired = !repairs.is_empty();
        self.withhold_repairs(&mut repairs, &filled.lineage);
        let arguments = if self.plan.is_empty() && !is_repaired && written.removed.is_empty() {
            written.document.raw().clone().into()
        } else {
            self.spliced(&filled.arguments)?
        };
        Ok(ResolvedJson::new(arguments, filled.lineage, repairs))
    }

    fn spliced(&self, arguments: &Node<'_>) -> Result<SplicedJson, LimitError> {
        spliced(arguments, self.memory.as_ref()).map_err(LimitError::from)
    }

    /// The arguments with every reference replaced.
    fn filled<'a, T: Tree<'a>>(
        &'a self,
        arguments: T,
        malformed: Vec<Failure>,
        arena: &'a FillArena,
        tally: &Tally<'_>,
    ) -> Result<Filled<'a, T>, ResolveError> {
        if self.plan.is_empty() {
            return Ok(Filled::without_references(arguments));
        }
        let context = FillContext {
            arena,
            results: &self.looked,
            reveal: &self.inner.options.reveal,
            selectors: &self.inner.selectors,
            limits: self.inner.fill_limits(),
            tally,
            telemetry: self.inner.telemetry(),
        };
        fill(&self.plan, arguments, malformed, &context).map_err(|failures| {
            let mut failures = self.in_order(failures);
            self.advise_misses(&mut failures);
            ResolveError::new(failures)
        })
    }

    /// Judges arguments, and repairs what may be repaired.
    fn judged(
        &self,
        arguments: &mut Value,
        lineage: &[LineageEntry],
    ) -> Result<Vec<TypeRepair>, ResolveError> {
        let Some(schema) = &self.schema else {
            return Ok(Vec::new());
        };
        let scope = self.inner.options.repairs;
        let judge = || validate::validate(arguments, schema, lineage, scope);
        validated(judge).map_err(|mut failures| {
            self.advise_misfits(&mut failures, arguments, schema, lineage);
            self.withhold(&mut failures, arguments, lineage);
            ResolveError::new(failures)
        })
    }

    /// All of the arguments, for a schema that sees more of them than may be left out, or that refuses
    /// what it sees.
    fn materialised(
        &self,
        filled: &Filled<'_, Node<'_>>,
        written: &Written,
        arena: &FillArena,
    ) -> Result<Value, ResolveError> {
        if let Some(cursor) = written.cursor() {
            let (values, bytes) = (cursor.value_count(), cursor.raw().len());
            // References are replaced, and what they mean was taken before.
            let references = self.plan.references.iter();
            let ordinals = references.filter_map(|reference| reference.ordinal);
            let replaced = ordinals.filter_map(|ordinal| cursor.by_ordinal(ordinal));
            let (values, bytes) = replaced.fold((values, bytes), |(values, bytes), reference| {
                let values = values.saturating_sub(reference.value_count());
                (values, bytes.saturating_sub(reference.raw().len()))
            });
            let mut room = written.room;
            room.take(values, bytes)?;
        }
        let json = self.spliced(&filled.arguments)?;
        // One piece is made of all of them, and indexed; then it is read into values.
        let reserve = |bytes| {
            let reserved = arena.arena.reservation().reserve(bytes);
            reserved.map_err(LimitError::from)
        };
        let bytes = json.len();
        let indexing = sum(json.chunks().iter().map(|chunk| indexing_bytes(chunk)));
        reserve(bytes.saturating_add(indexing))?;
        let json = Document::new(json.into_bytes());
        if let Ok(root) = json.root() {
            reserve(built_bytes(root))?;
        }
        let value = json.root().ok().map(Cursor::to_value);
        arena.arena.reservation().release(bytes + indexing);
        if let Some(Ok(value)) = value {
            return Ok(value);
        }
        let mut failures = self.in_order(filled.unheld(&self.plan));
        if failures.is_empty() {
            let unheld = written
                .cursor()
                .and_then(|cursor| unheld_number(cursor, &Pointer::root()));
            failures.push(match (unheld, value) {
                (Some((at, error)), _) => Failure::new(at, LimitError::WrittenNumber(error)),
                (None, Some(Err(error))) => {
                    let error = LimitError::WrittenNumber(error);
                    Failure::new(Pointer::root(), error)
                }
                (None, _) => {
                    let limit = self.inner.options.max_resolved_bytes;
                    let error = LimitError::TooLarge { limit };
                    Failure::new(Pointer::root(), error)
                }
            });
        }
        Err(ResolveError::new(failures))
    }

    /// Failures in the order in which the walk over the arguments came by their places.
    fn in_order(&self, mut failures: Vec<Failure>) -> Vec<Failure> {
        let order = self.plan.order();
        failures.sort_by_key(|failure| order.get(&failure.at).copied());
        failures
    }
}

/// Repeats a repair where arguments become bytes: the text that was the JSON of what is demanded is
/// written as it is, digits and all.
fn repaired<'a>(
    arguments: &mut Node<'a>,
    repair: &TypeRepair,
    judged: &Value,
    arena: &'a FillArena,
) -> Result<(), ResolveError> {
    let Some(place) = arguments.at_mut(&repair.at) else {
        return Ok(());
    };
    let text = match place {
        Node::View(view) => match view.as_str() {
            Some(text) => {
                let bytes = text.len().saturating_add(indexing_bytes(text.as_bytes()));
                let reserved = arena.arena.reservation().reserve(bytes);
                reserved.map_err(LimitError::from)?;
                Some(text.into_owned())
            }
            None => None,
        },
        Node::List(..) | Node::Object(..) => None,
    };
    let now = judged.pointer(repair.at.as_str());
    *place = Node::View(match (text, now) {
        (_, Some(Value::String(digits))) => View::text(digits.as_str()),
        (Some(text), _) => arena.documents.view(text),
        (None, _) => return Ok(()),
    });
    Ok(())
}

/// A sum of what a host's counter gave, which may be anything.
fn sum(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(0, usize::saturating_add)
}
