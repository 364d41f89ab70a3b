//! One resolution after its look-ups: work that does not wait.

use super::{
    Resolved,
    json::{ResolvedJson, WrittenArguments},
    offload::counted_bytes,
};
use crate::{
    account::SessionUsage,
    arguments::{Node, SplicedJson, Tree, spliced, unheld_number},
    canonical::StoredItem,
    engine::Inner,
    error::LimitError,
    failure::{Failure, ResolveError},
    lineage::LineageEntry,
    resolve::{
        FillArena, FillContext, FilledArguments, LookupKey, LookupResult, Plan, Step, Tally, fill,
        malformed,
    },
    reveal::UnredactedItem,
    trace::validated,
    validate::{self, InputSchema, TypeRepair, built_bytes},
};
use crossfeed_jmespath::{Arena, Memory, Reservation, View};
use crossfeed_json::{Cursor, Document, indexing_bytes};
use crossfeed_wire::{CallId, Pointer, Scope};
use serde_json::Value;
use std::{borrow::Cow, cell::Cell, sync::Arc};

/// One resolution after its look-ups.
pub(super) struct ResolveJob {
    pub(super) inner: Arc<Inner>,
    pub(super) scope: Scope,
    pub(super) plan: Plan,
    pub(super) looked: Vec<LookupResult>,
    pub(super) schema: Option<InputSchema>,
    /// Whether it runs on the async thread.
    pub(super) small: bool,
    /// Whether ids of the session may be told of.
    pub(super) tells_ids: bool,
    /// Charged for values that selectors build.
    pub(super) memory: Option<Arc<dyn Memory>>,
    /// Set if what was selected from excerpts may not be what the whole results give.
    pub(super) needs_whole: Cell<bool>,
}

/// The outcome of one resolution, and the tokens of its references as they were written.
pub(super) struct ResolveOutcome<A> {
    resolved: Result<Resolved<A>, ResolveError>,
    written: usize,
}

impl<A> ResolveOutcome<A> {
    pub(super) fn is_refused(&self) -> bool {
        self.resolved.is_err()
    }

    /// Counts the resolution in the session's account. Called once the caller gets the answer: a resolution that is
    /// dropped half-way does not count.
    pub(super) fn record_usage(
        self,
        account: impl FnOnce() -> Arc<SessionUsage>,
    ) -> Result<Resolved<A>, ResolveError> {
        // A call that does not run uses no values.
        let lineage = self
            .resolved
            .as_ref()
            .map_or(&[][..], |resolved| &resolved.lineage);
        // What an edit brought in is in what it made.
        let outer = || lineage.iter().filter(|link| !link.is_inner);
        let referred = sum(outer().map(|link| link.tokens));
        let moved = outer().filter(|link| !link.source.used_default);
        let moved = sum(moved.map(|link| link.source.bytes_out));
        if (self.written, referred, moved) != (0, 0, 0) {
            account().refer(self.written, referred, moved);
        }
        self.resolved
    }
}

impl ResolveJob {
    /// Resolves arguments to a value.
    pub(super) fn resolve(&self, arguments: Value) -> ResolveOutcome<Value> {
        let tally = self.tally();
        let text = |at: &Pointer, _| Some(arguments.pointer(at.as_str())?.to_string());
        ResolveOutcome {
            written: self.written_tokens(text, &tally),
            resolved: self.resolved(arguments, &tally),
        }
    }

    /// Resolves arguments to bytes.
    pub(super) fn resolve_json(&self, arguments: WrittenArguments) -> ResolveOutcome<SplicedJson> {
        let tally = self.tally();
        ResolveOutcome {
            written: self.written_tokens(|_, ordinal| arguments.text_of(ordinal?), &tally),
            resolved: self.resolved_json(&arguments, &tally),
        }
    }

    fn arena(&self) -> FillArena {
        FillArena::new(Arena::with_memory(self.memory.clone()))
    }

    fn tally(&self) -> Tally<'_> {
        let tokens = &self.inner.options.context.tokens;
        Tally::new(tokens, counted_bytes(self.small))
    }

    /// The look-ups that found an excerpt.
    pub(super) fn excerpts(&self) -> impl Iterator<Item = usize> {
        let is_excerpt =
            |looked: &LookupResult| match looked.as_ref().map(UnredactedItem::as_stored) {
                Ok(StoredItem::Result(result)) => result.excerpt_of().is_some(),
                _ => false,
            };
        let numbered = self.looked.iter().enumerate();
        numbered
            .filter(move |(_, looked)| is_excerpt(looked))
            .map(|(number, _)| number)
    }

    /// Bytes held of each wanted result.
    pub(super) fn resident_bytes(&self) -> Vec<usize> {
        let bytes = |looked: &LookupResult| match looked.as_ref().map(UnredactedItem::as_stored) {
            Ok(StoredItem::Result(result)) if result.excerpt_of().is_none() => {
                result.resident_bytes()
            }
            _ => 0,
        };
        self.looked.iter().map(bytes).collect()
    }

    /// The calls whose results take more bytes than before.
    pub(super) fn grown(&self, before: &[usize]) -> Vec<CallId> {
        let now = self.resident_bytes();
        let both = self.plan.wanted.iter().zip(before.iter().zip(now));
        // No store knows an input.
        let is_grown = |(wanted, (before, now)): &(&LookupKey, (&usize, usize))| {
            wanted.input.is_none() && *before != now
        };
        let grown = both.filter(is_grown);
        grown.map(|(wanted, _)| wanted.call_id.clone()).collect()
    }

    /// The tokens of the references as the model wrote them, keys and braces included.
    fn written_tokens(
        &self,
        text: impl Fn(&Pointer, Option<u32>) -> Option<String>,
        tally: &Tally<'_>,
    ) -> usize {
        let count = |text: Option<String>| text.map_or(0, |text| tally.count_text(&text));
        let of_step = |step: &Step| match step {
            Step::Literal(_) | Step::Near(_) => 0,
            Step::Put { at, ordinal, .. } => count(text(at, *ordinal)),
            Step::Map {
                object,
                key,
                ordinal,
                ..
            } => {
                let map = text(&object.key(key), *ordinal);
                tally.count_text(key).saturating_add(count(map))
            }
        };
        sum(self.plan.outer_steps().map(of_step))
    }

    fn resolved(&self, arguments: Value, tally: &Tally<'_>) -> Result<Resolved, ResolveError> {
        let at = |at: &Pointer, _| arguments.pointer(at.as_str()).map(Cow::Borrowed);
        let malformed = malformed(&self.plan, self.inner.options.edits.is_some(), at);
        let arena = self.arena();
        let mut filled = self.filled(arguments, malformed, &arena, tally)?;
        let mut repairs = self.judged(&mut filled.arguments, &filled.lineage)?;
        self.withhold_repairs(&mut repairs, &filled.lineage);
        Ok(Resolved::new(filled.arguments, filled.lineage, repairs))
    }

    fn resolved_json(
        &self,
        written: &WrittenArguments,
        tally: &Tally<'_>,
    ) -> Result<ResolvedJson, ResolveError> {
        let at = |_: &Pointer, ordinal: Option<u32>| {
            Some(Cow::Owned(written.at(ordinal?)?.as_malformed()))
        };
        let malformed = malformed(&self.plan, self.inner.options.edits.is_some(), at);
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
    ) -> Result<FilledArguments<'a, T>, ResolveError> {
        if self.plan.is_empty() {
            return Ok(FilledArguments::without_references(arguments));
        }
        let context = FillContext {
            arena,
            results: &self.looked,
            reveal: &self.inner.options.reveal,
            selectors: &self.inner.selectors,
            declared: (&self.inner.declared, &self.scope),
            limits: self.inner.fill_limits(),
            tally,
            telemetry: self.inner.telemetry(),
            latest: self.inner.latest.as_ref().filter(|_| self.tells_ids),
            memory: self.memory.as_ref(),
            needs_whole: &self.needs_whole,
            defaults: self.plan.spelling.default_spelling(),
        };
        fill(&self.plan, arguments, malformed, &context).map_err(|failures| {
            let mut failures = self.in_order(failures);
            self.advise_misses(&mut failures);
            self.explain_misreadings(&mut failures);
            ResolveError::new(failures)
        })
    }

    /// Validates arguments, and repairs what may be repaired.
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
            self.explain_misfits(&mut failures, lineage);
            ResolveError::new(failures)
        })
    }

    /// The whole arguments, for a schema that needs parts that could be skipped otherwise, or refuses what it sees.
    fn materialised(
        &self,
        filled: &FilledArguments<'_, Node<'_>>,
        written: &WrittenArguments,
        arena: &FillArena,
    ) -> Result<Value, ResolveError> {
        if let Some(cursor) = written.cursor() {
            let (values, bytes) = (cursor.value_count(), cursor.raw().len());
            // References are replaced, and room for their meaning was taken before.
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
        // All pieces are joined and indexed, then read into values.
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
            let limit = self.inner.options.max_resolved_bytes;
            let unheld = |cursor| unheld_number(cursor, &Pointer::root());
            let (at, error) = match (written.cursor().and_then(unheld), value) {
                (Some((at, error)), _) => (at, LimitError::WrittenNumber(error)),
                (None, Some(Err(error))) => (Pointer::root(), LimitError::WrittenNumber(error)),
                (None, _) => (Pointer::root(), LimitError::TooLarge { limit }),
            };
            failures.push(Failure::new(at, error));
        }
        Err(ResolveError::new(failures))
    }

    /// Failures in the order in which the walk over the arguments visited their places.
    fn in_order(&self, mut failures: Vec<Failure>) -> Vec<Failure> {
        let order = self.plan.order();
        failures.sort_by_key(|failure| order.get(&failure.at).copied());
        failures
    }
}

/// Applies a repair to arguments that become bytes: the text that was the JSON of the expected value is written
/// unchanged, digits included.
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
    *place = Node::View(match (text, judged.pointer(repair.at.as_str())) {
        (_, Some(Value::String(digits))) => View::text(digits.as_str()),
        (Some(text), _) => arena.documents.view(text),
        (None, _) => return Ok(()),
    });
    Ok(())
}

/// A saturating sum, because a host's counter may return any number.
fn sum(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(0, usize::saturating_add)
}
