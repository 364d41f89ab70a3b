//! Resolves the value of each reference once, then puts it where it belongs.

use super::{
    origin::Origin,
    plan::{Plan, PlannedEdit, PlannedReference},
    substitute::Substituter,
    tally::Tally,
};
use crate::{
    arguments::{Documents, Tree, count_of, unheld},
    canonical::{StoredItem, Views, is_beginning, shown_digits},
    error::{
        LimitError, LookupError, MalformedReference, Misplaced, ReferenceEditError, SelectError,
        ShownEdit, quotable,
    },
    failure::{Error, Failure},
    input,
    latest::LatestCalls,
    lineage::{LineageEntry, ReferenceSource, still_there},
    paths::Outline,
    reveal::{RevealPolicy, UnredactedItem},
    select::{DeclaredOutputs, MAX_CHOICE, SelectOptions, Selector, Selectors, is_of_whole},
    telemetry::Telemetry,
};
use crossfeed_edit::EditLimits;
use crossfeed_jmespath::{Arena, Budget, Kind, Memory, Unrepresentable, ValueSize, View};
use crossfeed_json::{Cursor, Document};
use crossfeed_tools::Spelling;
use crossfeed_wire::{
    Pointer, Scope,
    reference::{Malformed, Reference},
};
use serde_json::Value;
use std::{
    borrow::Cow,
    cell::Cell,
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

/// The outcome of looking up a result or artifact.
pub(crate) type LookupResult = Result<UnredactedItem, LookupError>;

/// Arguments with every reference replaced.
pub(crate) struct FilledArguments<'a, T> {
    pub(crate) arguments: T,
    pub(crate) lineage: Vec<LineageEntry>,
    /// The value that each reference brought in, in the plan's order.
    brought: Vec<Option<View<'a>>>,
}

impl<T> FilledArguments<'_, T> {
    /// Arguments that hold no references.
    pub(crate) fn without_references(arguments: T) -> Self {
        Self {
            arguments,
            lineage: Vec::new(),
            brought: Vec::new(),
        }
    }

    /// A failure for each reference whose value holds a number that a `Value` cannot hold.
    pub(crate) fn unheld(&self, plan: &Plan) -> Vec<Failure> {
        let both = plan.references.iter().zip(&self.brought);
        let failures = both.filter_map(|(planned, view)| {
            let error = unheld(view.as_ref()?)?;
            Some(failure(planned, LimitError::Number(error)))
        });
        failures.collect()
    }
}

/// Owns the data that the filled-in values borrow.
#[derive(Default)]
pub(crate) struct FillArena {
    pub(crate) arena: Arena,
    pub(crate) documents: Documents,
    /// The redacted forms of results that the host's rules withhold parts of.
    pub(super) redacted: elsa::FrozenVec<Box<StoredItem>>,
}

impl FillArena {
    pub(crate) fn new(arena: Arena) -> Self {
        Self {
            arena,
            ..Self::default()
        }
    }
}

/// The limits of filling.
#[derive(Clone, Copy)]
pub(crate) struct FillLimits<'o> {
    pub(crate) select: &'o SelectOptions,
    /// Bytes that references may bring into the arguments of one call, each value counted as
    /// [`ValueSize::counted`] says.
    pub(crate) max_bytes: usize,
    /// The time for all selections of the call.
    pub(crate) time: Duration,
    /// When all selections of the call must be done.
    pub(crate) deadline: Instant,
    /// The limits of edits; none are made without them.
    pub(crate) edits: Option<&'o EditLimits>,
}

impl FillLimits<'_> {
    /// Refuses more work once the time is over.
    pub(super) fn in_time(&self) -> Result<(), LimitError> {
        if Instant::now() > self.deadline {
            return Err(LimitError::OutOfTime { limit: self.time });
        }
        Ok(())
    }

    /// A budget for one selection from a document. It grows with the document and with the JSON that earlier
    /// selections opened.
    pub(crate) fn budget(&self, document: &Document, arena: &Arena) -> Budget {
        let values = document.root().map_or(1, Cursor::value_count);
        Budget::new(&self.select.limits, values + arena.opened_values()).until(self.deadline)
    }
}

/// The value of one or more references.
pub(super) struct ResolvedValue<'a, T> {
    pub(super) value: T,
    pub(super) source: ReferenceSource,
    /// The digits of a number that is the whole value.
    pub(super) digits: Option<Box<str>>,
    pub(super) origin: Origin<'a>,
    /// The tokens of the value if the model had written it.
    pub(super) tokens: usize,
    /// The bytes that each use takes of those that may be brought in.
    pub(super) counted: usize,
    /// How many references still need the value.
    pub(super) uses: usize,
}

/// Replaces every reference of the plan, or returns all failures.
pub(crate) fn fill<'a, T: Tree<'a>>(
    plan: &'a Plan,
    mut arguments: T,
    mut failures: Vec<Failure>,
    context: &FillContext<'a, '_>,
) -> Result<FilledArguments<'a, T>, Vec<Failure>> {
    let mut resolver = ValueResolver {
        context,
        values: Vec::new(),
        opened: HashMap::new(),
        known: HashMap::new(),
        unheld_bytes: HashMap::new(),
        digests: HashMap::new(),
        left: context.limits.max_bytes,
        explanations: Cell::new(MAX_EXPLAINED),
    };
    // All are resolved before any is put in place, while places are still as they were written.
    let references = plan.references.iter().enumerate();
    let numbers = references.map(
        |(number, planned)| match resolver.value(planned, &arguments) {
            Ok(value)
                if is_guess(planned)
                    || is_bare(planned) && !resolver.values[value].origin.is_scalar() =>
            {
                let select = resolver.values[value].source.select.clone();
                failures.push(guessed(plan, number, select));
                None
            }
            Ok(value) => {
                let malformed = refused_edit(planned, context.limits.edits.is_some());
                let malformed = malformed.map(|it| plan.malformed_at(it, &planned.at).into());
                let judged = malformed
                    .map_or(Ok(()), Err)
                    .and_then(|()| resolver.brings_nothing_withheld(planned))
                    .and_then(|()| resolver.is_meant(planned));
                match judged {
                    Ok(()) => Some(value),
                    Err(error) => {
                        failures.push(failure(planned, error));
                        None
                    }
                }
            }
            Err(error) => {
                if !is_data(planned, &error) {
                    failures.push(failure(planned, error));
                }
                None
            }
        },
    );
    let numbers: Vec<Option<usize>> = numbers.collect();
    let view = |number: &Option<usize>| match &resolver.values[(*number)?].origin {
        Origin::Result(view) => Some(view.clone()),
        Origin::Default(_) => None,
    };
    let brought = numbers.iter().map(view).collect();
    let mut substituter = Substituter {
        plan,
        numbers,
        values: resolver.values,
        lineage: Vec::new(),
        failures,
        context,
        left: resolver.left,
        texts: 0,
        linked: vec![None; plan.references.len()],
    };
    // Even after a failure, so that unreachable places are reported as well.
    for step in &plan.steps {
        substituter.apply(step, &mut arguments);
    }
    if !substituter.failures.is_empty() {
        return Err(substituter.failures);
    }
    Ok(FilledArguments {
        arguments,
        lineage: still_there(substituter.lineage),
        brought,
    })
}

/// A failure for each malformed reference. `written` gives the value at a place; for arguments that came as
/// bytes, by its number.
pub(crate) fn malformed<'v>(
    plan: &Plan,
    has_edits: bool,
    written: impl Fn(&Pointer, Option<u32>) -> Option<Cow<'v, Value>>,
) -> Vec<Failure> {
    let failures = plan.malformed.iter().map(|malformed| {
        let written = written(&malformed.at, malformed.ordinal);
        let fault = match malformed.malformed.clone() {
            Malformed::EditAlone(key) if !has_edits => Malformed::SwitchedOff(key),
            fault => fault,
        };
        let error = match malformed.meant.as_slice() {
            [] => {
                let place = Misplaced {
                    at: &malformed.at,
                    written: written.as_deref(),
                    spelling: &plan.spelling,
                };
                MalformedReference::new(fault, place)
            }
            meant => {
                MalformedReference::unclear(fault, &malformed.at, (meant, None), &plan.spelling)
            }
        };
        Failure::new(malformed.at.clone(), error)
    });
    failures.collect()
}

/// Whether what selects nothing is no reference: it may as well be the name of a file.
fn is_data(planned: &PlannedReference, error: &Error) -> bool {
    let repair = planned.reference.repair.as_ref();
    repair.is_some_and(|repair| repair.or_data)
        && match error {
            Error::Select(error) => error.is_miss() || error.is_foreign() || is_guess(planned),
            Error::Lookup(LookupError::Store(_)) => false,
            // What a path amid text would have selected cannot be told.
            Error::Lookup(_) => planned.raw.is_none() || is_guess(planned),
            _ => false,
        }
}

/// Whether what it is read as is only to be offered.
fn is_guess(planned: &PlannedReference) -> bool {
    let repair = planned.reference.repair.as_ref();
    repair.is_some_and(|repair| repair.is_guess)
}

/// Whether it is a path amid text without delimiters, which is hardly meant for a whole list or object.
fn is_bare(planned: &PlannedReference) -> bool {
    let repair = planned.reference.repair.as_ref();
    let is_unsigned =
        |raw: &str| raw.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_');
    planned.raw.as_deref().is_some_and(is_unsigned) && repair.is_some_and(|repair| repair.or_data)
}

/// Why the edit of a reference is refused before it is read.
fn refused_edit(planned: &PlannedReference, are_on: bool) -> Option<Malformed> {
    let reference = &planned.reference;
    let key = reference.edit.as_ref().map(|edit| edit.key.clone());
    if !are_on {
        let digest = || reference.digest.as_ref().map(|_| "$digest".to_owned());
        return key.or_else(digest).map(Malformed::SwitchedOff);
    }
    let is_lost = |edit: &PlannedEdit| edit.at.is_none() && !edit.is_plain;
    let is_lost = planned.edit.as_ref().is_some_and(is_lost);
    key.filter(|_| is_lost).map(Malformed::EditInText)
}

/// The failure of what is not written as a reference, and selects something as what it is read as.
fn guessed(plan: &Plan, number: usize, select: Option<String>) -> Failure {
    let planned = &plan.references[number];
    let written = planned
        .reference
        .repair
        .as_ref()
        .map(|repair| repair.written.clone());
    let malformed = Malformed::NotAReference {
        written: written.unwrap_or_default(),
    };
    let select = select.unwrap_or_else(|| "@".to_owned());
    let meant = plan.meant(number, Some(select));
    let edit = planned.reference.edit.as_deref().map(ShownEdit::new);
    let meant = (&*meant, edit);
    let error = MalformedReference::unclear(malformed, &planned.at, meant, &plan.spelling);
    Failure::new(planned.at.clone(), error)
}

/// The context in which values are resolved.
pub(crate) struct FillContext<'a, 'o> {
    pub(crate) arena: &'a FillArena,
    /// The result of each look-up of the plan.
    pub(crate) results: &'a [LookupResult],
    /// The rules for results that selectors see.
    pub(crate) reveal: &'o RevealPolicy,
    pub(crate) selectors: &'o Selectors,
    /// What tools say that they return, and in which scope they are asked.
    pub(crate) declared: (&'o DeclaredOutputs, &'o Scope),
    pub(crate) limits: FillLimits<'o>,
    pub(crate) tally: &'o Tally<'o>,
    pub(crate) telemetry: Option<&'o dyn Telemetry>,
    /// The latest calls, for changes of older ones.
    pub(crate) latest: Option<&'o LatestCalls>,
    /// Charged for what edits build.
    pub(crate) memory: Option<&'o Arc<dyn Memory>>,
    /// Set if a value was selected from an excerpt that the whole may not give.
    pub(crate) needs_whole: &'o Cell<bool>,
    /// The spelling of a reference's default, where the schema has a place for it.
    pub(crate) defaults: Option<Spelling>,
}

pub(super) fn failure(planned: &PlannedReference, error: impl Into<Error>) -> Failure {
    let reference = &planned.reference;
    let is_call = reference.input.is_none();
    Failure {
        call_id: is_call.then(|| reference.call_id.clone()),
        input: reference.input.clone(),
        artifact_id: reference.artifact_id.clone(),
        expression: reference.select.clone(),
        ..Failure::new(planned.at.clone(), error)
    }
}

/// The most misses of one call that are explained by the nearest selectors: each costs a walk over the
/// result, and models do not read more.
const MAX_EXPLAINED: usize = 32;

/// A result as selectors may see it, its views and its shape; or why it cannot be opened.
type OpenedResult<'a> = Result<(&'a StoredItem, Views<'a>, Rc<Outline>), Error>;

/// Resolves values: once for a result and a selector, however often both are referred to.
struct ValueResolver<'a, 'm, 'o, T> {
    context: &'m FillContext<'a, 'o>,
    /// The opened results, for selectors and to be passed on unseen: each once, however many selectors there
    /// are.
    opened: HashMap<(usize, bool), OpenedResult<'a>>,
    known: HashMap<(usize, Option<&'a str>), Result<usize, Error>>,
    /// The bytes of values that a `Value` cannot hold: each use is charged, as when they are passed on as
    /// bytes.
    unheld_bytes: HashMap<(usize, Option<&'a str>), usize>,
    values: Vec<ResolvedValue<'a, T>>,
    /// The digests of results that were asked for.
    digests: HashMap<usize, String>,
    /// Bytes that may still be brought into the arguments.
    left: usize,
    /// Misses that may still be explained.
    explanations: Cell<usize>,
}

impl<'a, T: Tree<'a>> ValueResolver<'a, '_, '_, T> {
    /// The number of a reference's value.
    fn value(&mut self, planned: &'a PlannedReference, arguments: &T) -> Result<usize, Error> {
        let reference = &planned.reference;
        let key = (planned.wanted, reference.select.as_deref());
        let mut known = self.selected(planned, reference.select.as_deref());
        // What was not written as a reference may have several readings.
        for other in reference.repair.iter().flat_map(|repair| &repair.others) {
            if !matches!(known, Err(Error::Select(_))) {
                break;
            }
            known = self.selected(planned, other.as_deref()).or(known);
        }
        let number = match (known, &reference.default) {
            (Ok(number), _) => number,
            (Err(Error::Select(error)), Some(default)) if error.is_miss() => {
                let documents = &self.context.arena.documents;
                let value = arguments.default_of(default, planned.ordinal, documents);
                let mut stand_in = stand_in(reference, default, value, self.context.tally);
                let stored = self.result(planned)?.as_stored();
                stand_in.source.trace = stored.trace().cloned();
                stand_in.source.sources = stored.sources().cloned();
                self.add(stand_in)
            }
            (Err(error), _) => {
                self.charge(self.unheld_bytes.get(&key).copied().unwrap_or_default())?;
                return Err(error);
            }
        };
        let value = &mut self.values[number];
        value.uses += 1;
        let counted = value.counted;
        self.charge(counted)?;
        Ok(number)
    }

    /// The number of the value that a selector finds.
    fn selected(
        &mut self,
        planned: &'a PlannedReference,
        select: Option<&'a str>,
    ) -> Result<usize, Error> {
        let key = (planned.wanted, select);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let resolved = self.resolve(planned, select);
        if let Ok(StoredItem::Result(result)) = self.result(planned).map(UnredactedItem::as_stored)
        {
            let report = resolved.as_ref().ok();
            let report = report.and_then(|value| value.source.report.as_ref());
            if !is_of_whole(result, report) {
                self.context.needs_whole.set(true);
            }
        }
        let known = resolved.map(|value| self.add(value));
        self.known.insert(key, known.clone());
        known
    }

    /// Keeps a value, and returns its number.
    fn add(&mut self, value: ResolvedValue<'a, T>) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    /// Refuses a reference in an edit that would bring in what is withheld.
    fn brings_nothing_withheld(&self, planned: &PlannedReference) -> Result<(), Error> {
        if !planned.is_inner || planned.reference.select.is_some() {
            return Ok(());
        }
        match self.result(planned)?.cut(self.context.reveal)? {
            Some(_) => Err(ReferenceEditError::BringsWithheld.into()),
            None => Ok(()),
        }
    }

    /// Refuses a result that is not the one whose digest the reference names.
    fn is_meant(&mut self, planned: &PlannedReference) -> Result<(), Error> {
        let whole = self.result(planned)?;
        let Some(based_on) = planned.reference.digest.as_deref() else {
            return Ok(());
        };
        let digest = match self.digests.get(&planned.wanted) {
            Some(digest) => digest,
            None => {
                let shown = whole.redacted(self.context.reveal)?;
                if shown.is_excerpt() {
                    self.context.needs_whole.set(true);
                    return Ok(());
                }
                self.context.limits.in_time()?;
                self.digests.entry(planned.wanted).or_insert(shown.digest())
            }
        };
        if is_beginning(based_on, digest) {
            return Ok(());
        }
        Err(ReferenceEditError::OtherResult {
            digest: shown_digits(digest).to_owned(),
            based_on: quotable(based_on).into_owned(),
        }
        .into())
    }

    fn charge(&mut self, counted: usize) -> Result<(), LimitError> {
        let left = self.left.checked_sub(counted);
        self.left = left.ok_or(LimitError::TooLarge {
            limit: self.context.limits.max_bytes,
        })?;
        Ok(())
    }

    /// Opens a result: its redacted form for a selector, else the whole, which is passed on unseen.
    fn open(
        &self,
        whole: &'a UnredactedItem,
        reference: &Reference,
        is_selected: bool,
    ) -> OpenedResult<'a> {
        let context = self.context;
        let arena = &context.arena.arena;
        let is_seen = || is_selected || whole.as_stored().failure().is_some();
        let stored = if context.reveal.hides() && is_seen() {
            let redacted = whole.redacted(context.reveal)?;
            context.arena.redacted.push_get(Box::new(redacted))
        } else {
            whole.as_stored()
        };
        if let Some(message) = stored.failure() {
            return Err(Error::Lookup(LookupError::Failed {
                call_id: reference.call_id.clone(),
                message: message.to_owned(),
                tool: stored.tool().map(str::to_owned),
                repeatable: stored.repeatable(),
            }));
        }
        let budget = context.limits.budget(stored.document(), arena);
        Ok((stored, stored.views(arena, &budget)?, Rc::default()))
    }

    fn result(&self, planned: &PlannedReference) -> Result<&'a UnredactedItem, LookupError> {
        match self.context.results.get(planned.wanted) {
            Some(result) => result.as_ref().map_err(Clone::clone),
            None => Err(LookupError::unknown(planned.reference.call_id.clone())),
        }
    }

    fn resolve(
        &mut self,
        planned: &'a PlannedReference,
        select: Option<&'a str>,
    ) -> Result<ResolvedValue<'a, T>, Error> {
        let context = self.context;
        let arena = &context.arena.arena;
        let reference = &planned.reference;
        let whole = self.result(planned)?;
        context.limits.in_time()?;
        let key = (planned.wanted, select.is_some());
        if !self.opened.contains_key(&key) {
            let opened = self.open(whole, reference, select.is_some());
            self.opened.insert(key, opened);
        }
        let (stored, views, outline) = self.opened[&key].clone()?;
        let budget = context.limits.budget(stored.document(), arena);
        let mut source = ReferenceSource {
            tool: stored.tool().map(str::to_owned),
            bytes_in: stored.recorded_bytes(),
            encoded: reference.input.is_some() && is_encoded(whole.as_stored()),
            trace: whole.as_stored().trace().cloned(),
            sources: whole.as_stored().sources().cloned(),
            select: select.map(str::to_owned),
            ..source_of(reference)
        };
        // One selector's output has a limit of its own, besides that of the whole call.
        let (view, limit) = match select {
            None => (views.bare, usize::MAX),
            Some(expression) => {
                let (declared, scope) = context.declared;
                let selector = Selector {
                    declared: declared.get(scope, stored.tool()),
                    options: context.limits.select,
                    compiled: context.selectors,
                    views: &views,
                    outline: &outline,
                    arena,
                    budget: &budget,
                    explanations: &self.explanations,
                    offers: MAX_CHOICE,
                    telemetry: context.telemetry,
                };
                let selection = selector.select(expression);
                let selection = selection.map_err(|error| error.offer_default(context.defaults))?;
                source.report = Some(selection.report);
                (selection.view, budget.output_bytes())
            }
        };
        // The value may take only the room that earlier values left.
        let most = limit.min(self.left);
        let built = T::from_view(&view, most);
        if let Err(Unrepresentable::Number(_)) = built {
            let counted = view.size(most).map_or(0, |size| size.counted());
            let key = (planned.wanted, select);
            self.unheld_bytes.insert(key, counted);
        }
        let (value, size) = built.map_err(|error| match (error, select) {
            (Unrepresentable::Number(error), _) => Error::Limit(LimitError::Number(error)),
            (_, Some(expression)) if limit <= self.left => Error::Select(SelectError::TooCostly {
                expression: expression.to_owned(),
                why: format!("its output is larger than {limit} bytes"),
            }),
            _ => Error::Limit(LimitError::TooLarge {
                limit: context.limits.max_bytes,
            }),
        })?;
        source.bytes_out = size.json;
        Ok(ResolvedValue {
            tokens: context.tally.count_view(&view, size.json),
            counted: size.counted(),
            digits: (view.kind() == Kind::Number).then(|| digits_of(&view)),
            origin: Origin::Result(view),
            value,
            source,
            uses: 0,
        })
    }
}

/// Whether an input is base64 because it is not text.
fn is_encoded(stored: &StoredItem) -> bool {
    matches!(stored, StoredItem::Result(result) if input::is_encoded(result))
}

/// The source of a value, as far as the reference names it.
fn source_of(reference: &Reference) -> ReferenceSource {
    ReferenceSource {
        call_id: reference.call_id.clone(),
        input: reference.input.clone(),
        encoded: false,
        artifact_id: reference.artifact_id.clone(),
        tool: None,
        select: reference.select.clone(),
        report: None,
        edit: None,
        used_default: false,
        bytes_in: 0,
        bytes_out: 0,
        trace: None,
        sources: None,
    }
}

/// The digits of a number.
pub(super) fn digits_of(view: &View<'_>) -> Box<str> {
    let mut digits = Vec::new();
    // The number was already built, so it is within every limit.
    let _ = view.write(&mut digits, usize::MAX);
    String::from_utf8_lossy(&digits).into()
}

/// The default of a reference, in place of a missing value.
fn stand_in<'a, T>(
    reference: &Reference,
    default: &'a Value,
    value: T,
    tally: &Tally<'_>,
) -> ResolvedValue<'a, T> {
    let text = default.to_string();
    let size = ValueSize::new(text.len(), count_of(default));
    ResolvedValue {
        origin: Origin::Default(default),
        tokens: tally.count_text(&text),
        counted: size.counted(),
        source: ReferenceSource {
            used_default: true,
            bytes_out: size.json,
            ..source_of(reference)
        },
        value,
        digits: None,
        uses: 0,
    }
}
