//! Filling: each reference's value is made once, then put where it belongs.

use super::{
    nesting::Nesting,
    plan::{Plan, Planned},
    substitute::Substituter,
    tally::Tally,
    visible::Shown,
};
use crate::{
    arguments::{Documents, Tree, count_of, unheld},
    canonical::Views,
    error::{LimitError, LookupError, MalformedReference, SelectError},
    failure::{Error, Failure},
    lineage::{LineageEntry, ReferenceSource, still_there},
    paths::Outline,
    reveal::Unredacted,
    select::{SelectOptions, Selector, Selectors},
    telemetry::Telemetry,
};
use crossfeed_jmespath::{Arena, Budget, Kind, Unrepresentable, ValueSize, View};
use crossfeed_json::{Cursor, Document};
use crossfeed_wire::{Pointer, reference::Reference};
use serde_json::Value;
use std::{
    borrow::Cow,
    cell::Cell,
    collections::HashMap,
    rc::Rc,
    time::{Duration, Instant},
};

/// What the store said of a wanted result.
pub(crate) type LookupResult = Result<Unredacted, LookupError>;

/// The outcome of filling.
pub(crate) struct Filled<'a, T> {
    pub(crate) arguments: T,
    pub(crate) lineage: Vec<LineageEntry>,
    /// What each reference brought in, in the plan's order.
    brought: Vec<Option<View<'a>>>,
}

impl<T> Filled<'_, T> {
    /// Arguments that hold no references.
    pub(crate) fn without_references(arguments: T) -> Self {
        Self {
            arguments,
            lineage: Vec::new(),
            brought: Vec::new(),
        }
    }

    /// A failure for each reference whose value holds a number that no `Value` does.
    pub(crate) fn unheld(&self, plan: &Plan) -> Vec<Failure> {
        let both = plan.references.iter().zip(&self.brought);
        let unheld = both.filter_map(|(planned, view)| Some((planned, unheld(view.as_ref()?)?)));
        unheld
            .map(|(planned, error)| failure(planned, LimitError::Number(error)))
            .collect()
    }
}

/// What outlives the filling: what values borrow from.
#[derive(Default)]
pub(crate) struct FillArena {
    pub(crate) arena: Arena,
    pub(crate) documents: Documents,
}

/// What filling may cost.
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
}

impl FillLimits<'_> {
    /// A budget for one selection from a document. What earlier selections opened counts as well.
    pub(crate) fn budget(&self, document: &Document, arena: &Arena) -> Budget {
        let values = document.root().map_or(1, Cursor::value_count);
        Budget::new(&self.select.limits, values + arena.opened_values()).until(self.deadline)
    }
}

/// A value that was made for one or more references.
pub(super) struct ResolvedValue<'a, T> {
    pub(super) value: T,
    pub(super) source: ReferenceSource,
    /// The digits of a number that is the whole value.
    pub(super) digits: Option<Box<str>>,
    /// What it was made from.
    pub(super) nesting: Nesting<'a>,
    /// What it would have taken if the model had written it.
    pub(super) tokens: usize,
    /// What each use takes of the bytes that may be brought in.
    counted: usize,
    /// References that have not taken it yet.
    pub(super) uses: usize,
}

/// Replaces every reference of the plan, or says everything that is wrong.
pub(crate) fn fill<'a, T: Tree<'a>>(
    plan: &'a Plan,
    mut arguments: T,
    failures: Vec<Failure>,
    means: &FillContext<'a, '_>,
) -> Result<Filled<'a, T>, Vec<Failure>> {
    let mut failures = failures;
    let limits = means.limits;
    let mut maker = ValueResolver {
        means,
        made: Vec::new(),
        opened: HashMap::new(),
        known: HashMap::new(),
        beyond: HashMap::new(),
        left: limits.max_bytes,
        explanations: Cell::new(EXPLAINED),
    };
    let mut values = Vec::with_capacity(plan.references.len());
    for planned in &plan.references {
        // Looked for before something is put: then the places are as they were written.
        values.push(match maker.value(planned, &arguments) {
            Ok(made) => Some(made),
            Err(error) => {
                failures.push(failure(planned, error));
                None
            }
        });
    }
    let view = |number: &Option<usize>| match &maker.made.get((*number)?)?.nesting {
        Nesting::Of(view) => Some(view.clone()),
        Nesting::Default(_) => None,
    };
    let brought = values.iter().map(view).collect();
    let mut filler = Substituter {
        plan,
        values,
        made: maker.made,
        lineage: Vec::new(),
        failures,
    };
    // Also where something failed before: places that cannot be reached are reported with it.
    for step in &plan.steps {
        filler.apply(step, &mut arguments);
    }
    if !filler.failures.is_empty() {
        return Err(filler.failures);
    }
    Ok(Filled {
        arguments,
        lineage: still_there(filler.lineage),
        brought,
    })
}

/// A failure for each thing that looks like a reference and is none.
/// `written` gives the value at a place, which is named by its number where the arguments came as bytes.
pub(crate) fn malformed<'v>(
    plan: &Plan,
    written: impl Fn(&Pointer, Option<u32>) -> Option<Cow<'v, Value>>,
) -> Vec<Failure> {
    let malformed = plan.malformed.iter().map(|broken| {
        let written = written(&broken.at, broken.ordinal);
        let error = MalformedReference::new(broken.malformed.clone(), written.as_deref());
        Failure::new(broken.at.clone(), error)
    });
    malformed.collect()
}

/// What values are made with.
pub(crate) struct FillContext<'a, 'o> {
    pub(crate) ground: &'a FillArena,
    pub(crate) looked: &'a [LookupResult],
    pub(crate) shown: &'a [Shown],
    /// Whether anything is never revealed.
    pub(crate) hides: bool,
    pub(crate) compiled: &'o Selectors,
    pub(crate) limits: FillLimits<'o>,
    pub(crate) tally: &'o Tally<'o>,
    pub(crate) telemetry: Option<&'o dyn Telemetry>,
}

pub(super) fn failure(planned: &Planned, error: impl Into<Error>) -> Failure {
    let reference = &planned.reference;
    Failure {
        call_id: Some(reference.call_id.clone()),
        artifact_id: reference.artifact_id.clone(),
        expression: reference.select.clone(),
        ..Failure::new(planned.at.clone(), error)
    }
}

/// How many misses of one call are explained by the nearest selectors: nobody reads more, and each
/// costs a walk over the result.
const EXPLAINED: usize = 32;

/// What opening a wanted result gave: its views and its shape, or the limit that stopped it.
type Opened<'a> = Result<(Views<'a>, Rc<Outline>), LimitError>;

/// Makes values: once for a result and a selector, however often both are referred to.
struct ValueResolver<'a, 'm, 'o, T> {
    means: &'m FillContext<'a, 'o>,
    /// What opening each wanted result gave, for selectors and for passing it on unseen, so that it
    /// happens once, however many selectors there are.
    opened: HashMap<(usize, bool), Opened<'a>>,
    known: HashMap<(usize, Option<&'a str>), Result<usize, Error>>,
    /// What values that cannot be made would count for: they are charged where they are named, as
    /// they are where bytes can pass them on.
    beyond: HashMap<(usize, Option<&'a str>), usize>,
    made: Vec<ResolvedValue<'a, T>>,
    /// Bytes that may still be brought into the arguments.
    left: usize,
    /// Misses that may still be explained.
    explanations: Cell<usize>,
}

impl<'a, T: Tree<'a>> ValueResolver<'a, '_, '_, T> {
    /// The number of the value that a reference means.
    fn value(&mut self, planned: &'a Planned, arguments: &T) -> Result<usize, Error> {
        let reference = &planned.reference;
        let key = (planned.wanted, reference.select.as_deref());
        let known = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let known = self.make(planned).map(|made| {
                    self.made.push(made);
                    self.made.len() - 1
                });
                self.known.insert(key, known.clone());
                known
            }
        };
        let number = match (known, &reference.default) {
            (Err(Error::Select(error)), Some(default)) if error.is_miss() => {
                let written = arguments.written_default(planned.ordinal);
                let documents = &self.means.ground.documents;
                let value = T::of_written(default, written, documents);
                let mut made = stand_in(reference, default, value, self.means.tally);
                let whole = self.means.looked.get(planned.wanted);
                let whole = whole.and_then(|looked| looked.as_ref().ok());
                made.source.trace = whole.and_then(|whole| whole.as_stored().trace().cloned());
                self.made.push(made);
                self.made.len() - 1
            }
            (Err(error), _) => {
                self.charge(self.beyond.get(&key).copied().unwrap_or_default())?;
                return Err(error);
            }
            (Ok(number), _) => number,
        };
        if let Some(made) = self.made.get_mut(number) {
            made.uses += 1;
            let counted = made.counted;
            self.charge(counted)?;
        }
        Ok(number)
    }

    fn charge(&mut self, counted: usize) -> Result<(), LimitError> {
        let left = self.left.checked_sub(counted);
        self.left = left.ok_or(LimitError::TooLarge {
            limit: self.means.limits.max_bytes,
        })?;
        Ok(())
    }

    fn make(&mut self, planned: &'a Planned) -> Result<ResolvedValue<'a, T>, Error> {
        let means = self.means;
        let arena = &means.ground.arena;
        let reference = &planned.reference;
        let whole = match means.looked.get(planned.wanted) {
            Some(Ok(whole)) => whole,
            Some(Err(error)) => return Err(error.clone().into()),
            None => {
                let call_id = reference.call_id.clone();
                return Err(LookupError::unknown(call_id).into());
            }
        };
        if Instant::now() > means.limits.deadline {
            let limit = means.limits.time;
            return Err(LimitError::OutOfTime { limit }.into());
        }
        // A selector sees what the model may; without one all is passed on, unseen.
        let selects = reference.select.is_some();
        let asked = || selects || whole.as_stored().failure().is_some();
        let stored = match means.shown.get(planned.wanted) {
            Some(Some(Err(error))) if asked() => return Err((*error).into()),
            Some(Some(Ok(shown))) if asked() => shown,
            _ if selects && means.hides => {
                return Err(LookupError::unknown(reference.call_id.clone()).into());
            }
            _ => whole.as_stored(),
        };
        if let Some(message) = stored.failure() {
            return Err(Error::Lookup(LookupError::Failed {
                call_id: reference.call_id.clone(),
                message: message.to_owned(),
                tool: stored.tool().map(str::to_owned),
                repeatable: stored.repeatable(),
            }));
        }
        let budget = means.limits.budget(stored.document(), arena);
        let opened = self.opened.entry((planned.wanted, selects));
        let open = || Ok((stored.views(arena, &budget)?, Rc::default()));
        let (views, outline) = opened.or_insert_with(open).clone()?;
        let mut source = ReferenceSource {
            tool: stored.tool().map(str::to_owned),
            bytes_in: stored.document().raw().len(),
            trace: whole.as_stored().trace().cloned(),
            ..source_of(reference)
        };
        // A selector's own output is bounded apart from that of the whole call.
        let (view, own) = match &reference.select {
            None => (views.bare, usize::MAX),
            Some(expression) => {
                let selector = Selector {
                    options: means.limits.select,
                    compiled: means.compiled,
                    views: &views,
                    outline: &outline,
                    arena,
                    budget: &budget,
                    explanations: &self.explanations,
                    telemetry: means.telemetry,
                };
                let selection = selector.select(expression)?;
                source.report = Some(selection.report);
                (selection.view, budget.output_bytes())
            }
        };
        // No more is made than there is room for: what was made before is held as well.
        let most = own.min(self.left);
        let made = T::of_view(&view, most);
        if let Err(Unrepresentable::Number(_)) = made {
            let counted = view.size(most).map_or(0, |size| size.counted());
            let key = (planned.wanted, reference.select.as_deref());
            self.beyond.insert(key, counted);
        }
        let (value, size) = made.map_err(|error| match (error, &reference.select) {
            (Unrepresentable::Number(error), _) => Error::Limit(LimitError::Number(error)),
            (_, Some(expression)) if own <= self.left => Error::Select(SelectError::TooCostly {
                expression: expression.clone(),
                why: format!("its output is larger than {own} bytes"),
            }),
            _ => Error::Limit(LimitError::TooLarge {
                limit: means.limits.max_bytes,
            }),
        })?;
        source.bytes_out = size.json;
        Ok(ResolvedValue {
            tokens: means.tally.of_view(&view, size.json),
            counted: size.counted(),
            digits: (view.kind() == Kind::Number).then(|| written(&view)),
            nesting: Nesting::Of(view),
            value,
            source,
            uses: 0,
        })
    }
}

/// What a reference itself says of where its value comes from.
fn source_of(reference: &Reference) -> ReferenceSource {
    ReferenceSource {
        call_id: reference.call_id.clone(),
        artifact_id: reference.artifact_id.clone(),
        tool: None,
        select: reference.select.clone(),
        report: None,
        used_default: false,
        bytes_in: 0,
        bytes_out: 0,
        trace: None,
    }
}

/// The text of a scalar.
fn written(view: &View<'_>) -> Box<str> {
    let mut text = Vec::new();
    // A number that became a value is within every limit.
    let _ = view.write(&mut text, usize::MAX);
    String::from_utf8_lossy(&text).into()
}

/// The default of a reference, in place of a value that is not there.
fn stand_in<'a, T>(
    reference: &Reference,
    default: &'a Value,
    value: T,
    tally: &Tally<'_>,
) -> ResolvedValue<'a, T> {
    let text = default.to_string();
    let size = ValueSize::new(text.len(), count_of(default));
    ResolvedValue {
        nesting: Nesting::Default(default),
        tokens: tally.of_text(&text),
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
