//! Filling: each reference's value is made once, then put where it belongs.

use super::{
    LimitError, MalformedReference, count_of, depth_of,
    lineage::{Link, Source, still_there},
    plan::{Plan, Planned},
    put::Filler,
    shown::{Shown, shown},
    tally::Tally,
};
use crate::{
    canonical::{Stored, Views},
    error::{Error, Failure, LookupError},
    paths::Keys,
    reveal::{RevealPolicy, Whole},
    select::{SelectError, SelectOptions, Selector, Selectors},
};
use crossfeed_jmespath::{Arena, Budget, Unrepresentable, ValueSize, View};
use crossfeed_wire::reference::Reference;
use serde_json::Value;
use std::{
    cell::Cell,
    collections::HashMap,
    rc::Rc,
    time::{Duration, Instant},
};

/// What the store said of a wanted result.
pub(crate) type Looked = Result<Whole, LookupError>;

/// The outcome of filling.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) arguments: Value,
    pub(crate) lineage: Vec<Link>,
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
    /// A budget for one selection from `stored`. What earlier selections opened counts as well.
    pub(crate) fn budget(&self, stored: &Stored, arena: &Arena) -> Budget {
        let root = stored.document().root();
        let values = root.map_or(1, crossfeed_json::Cursor::value_count);
        Budget::new(&self.select.limits, values + arena.opened_values()).until(self.deadline)
    }
}

/// A value that was made for one or more references.
pub(super) struct Made {
    pub(super) value: Value,
    pub(super) source: Source,
    /// The digits of a number that is the whole value.
    pub(super) digits: Option<Box<str>>,
    pub(super) depth: usize,
    /// What it would have taken if the model had written it.
    pub(super) tokens: usize,
    /// What each use takes of the bytes that may be brought in.
    counted: usize,
    /// References that have not taken it yet.
    pub(super) uses: usize,
}

/// Replaces every reference of the plan, or says everything that is wrong.
pub(crate) fn fill(
    plan: &Plan,
    mut arguments: Value,
    looked: &[Looked],
    compiled: &Selectors,
    limits: FillLimits<'_>,
    reveal: &RevealPolicy,
    tally: &Tally<'_>,
) -> Result<Filled, Vec<Failure>> {
    let mut failures: Vec<Failure> = plan
        .malformed
        .iter()
        .map(|broken| {
            let written = arguments.pointer(broken.at.as_str());
            let error = MalformedReference::new(broken.malformed.clone(), written);
            Failure::new(broken.at.clone(), error.into())
        })
        .collect();
    let shown = match reveal.hides() {
        true => shown(plan, looked, reveal),
        false => Vec::new(),
    };
    let arena = Arena::new();
    let mut maker = Maker {
        arena: &arena,
        compiled,
        limits,
        tally,
        looked,
        hides: reveal.hides(),
        shown: &shown,
        opened: HashMap::new(),
        known: HashMap::new(),
        made: Vec::new(),
        left: limits.max_bytes,
        explanations: Cell::new(EXPLAINED),
    };
    let mut values = Vec::with_capacity(plan.references.len());
    for planned in &plan.references {
        values.push(match maker.value(planned) {
            Ok(made) => Some(made),
            Err(error) => {
                failures.push(failure(planned, error));
                None
            }
        });
    }
    let mut filler = Filler {
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
    })
}

pub(super) fn failure(planned: &Planned, error: Error) -> Failure {
    let reference = &planned.reference;
    let mut failure = Failure::of_call(&reference.call_id, error)
        .with_artifact(reference.artifact_id.as_ref())
        .with_expression(reference.select.as_deref());
    failure.at = planned.at.clone();
    failure
}

/// How many misses of one call are explained by the nearest selectors: nobody reads more, and each
/// costs a walk over the result.
const EXPLAINED: usize = 32;

/// A result that can be selected from.
#[derive(Clone)]
struct Opened<'a> {
    views: Views<'a>,
    keys: Rc<Keys>,
}

/// Why a result cannot be selected from.
#[derive(Clone)]
enum NotOpened {
    /// The message of the call, which failed.
    Failed(Rc<str>),
    Limit(LimitError),
}

/// Makes values: once for a result and a selector, however often both are referred to.
struct Maker<'a, 'o> {
    arena: &'a Arena,
    compiled: &'o Selectors,
    limits: FillLimits<'o>,
    tally: &'o Tally<'o>,
    looked: &'a [Looked],
    /// Whether anything is never revealed.
    hides: bool,
    shown: &'a [Shown],
    /// What opening each wanted result gave, for selectors and for passing it on unseen, so that it
    /// happens once, however many selectors there are.
    opened: HashMap<(usize, bool), Result<Opened<'a>, NotOpened>>,
    known: HashMap<(usize, Option<&'a str>), Result<usize, Error>>,
    made: Vec<Made>,
    /// Bytes that may still be brought into the arguments.
    left: usize,
    /// Misses that may still be explained.
    explanations: Cell<usize>,
}

impl<'a> Maker<'a, '_> {
    /// The number of the value that a reference means.
    fn value(&mut self, planned: &'a Planned) -> Result<usize, Error> {
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
                self.made.push(stand_in(reference, default, self.tally));
                self.made.len() - 1
            }
            (known, _) => known?,
        };
        if let Some(made) = self.made.get_mut(number) {
            made.uses += 1;
            let left = self.left.checked_sub(made.counted);
            self.left = left.ok_or(LimitError::TooLarge {
                limit: self.limits.max_bytes,
            })?;
        }
        Ok(number)
    }

    fn make(&mut self, planned: &'a Planned) -> Result<Made, Error> {
        let reference = &planned.reference;
        let whole = match self.looked.get(planned.wanted) {
            Some(Ok(whole)) => whole,
            Some(Err(error)) => return Err(error.clone().into()),
            None => {
                let call_id = reference.call_id.clone();
                return Err(LookupError::unknown(call_id).into());
            }
        };
        if Instant::now() > self.limits.deadline {
            let limit = self.limits.time;
            return Err(LimitError::OutOfTime { limit }.into());
        }
        // A selector sees what the model may; without one all is passed on, unseen.
        let selects = reference.select.is_some();
        let asked = || selects || whole.unseen().failure().is_some();
        let stored = match self.shown.get(planned.wanted) {
            Some(Some(Err(error))) if asked() => return Err((*error).into()),
            Some(Some(Ok(shown))) if asked() => shown,
            _ if selects && self.hides => {
                return Err(LookupError::unknown(reference.call_id.clone()).into());
            }
            _ => whole.unseen(),
        };
        let budget = self.limits.budget(stored, self.arena);
        let opened = self.opened.entry((planned.wanted, selects));
        let opened = opened.or_insert_with(|| open(stored, self.arena, &budget));
        let Opened { views, keys } = opened.clone().map_err(|why| match why {
            NotOpened::Limit(error) => Error::Limit(error),
            NotOpened::Failed(message) => Error::Lookup(LookupError::Failed {
                call_id: reference.call_id.clone(),
                message: message.as_ref().to_owned(),
                tool: stored.tool().map(str::to_owned),
            }),
        })?;
        let mut source = Source {
            call_id: reference.call_id.clone(),
            artifact_id: reference.artifact_id.clone(),
            tool: stored.tool().map(str::to_owned),
            select: reference.select.clone(),
            report: None,
            used_default: false,
            bytes_in: stored.document().raw().len(),
            bytes_out: 0,
        };
        // A selector's own output is bounded apart from that of the whole call.
        let (view, own) = match &reference.select {
            None => (views.bare, usize::MAX),
            Some(expression) => {
                let selector = Selector {
                    options: self.limits.select,
                    compiled: self.compiled,
                    views: &views,
                    keys: &keys,
                    arena: self.arena,
                    budget: &budget,
                    explanations: &self.explanations,
                };
                let selection = selector.select(expression)?;
                source.report = Some(selection.report);
                (selection.view, budget.output_bytes())
            }
        };
        // No more is made than there is room for: what was made before is held as well.
        let most = own.min(self.left);
        let (value, size) =
            view.to_sized_value(most)
                .map_err(|error| match (error, &reference.select) {
                    (Unrepresentable::Number(error), _) => Error::Limit(LimitError::Number(error)),
                    (_, Some(expression)) if own <= self.left => {
                        Error::Select(SelectError::TooCostly {
                            expression: expression.clone(),
                            why: format!("its output is larger than {own} bytes"),
                        })
                    }
                    _ => Error::Limit(LimitError::TooLarge {
                        limit: self.limits.max_bytes,
                    }),
                })?;
        source.bytes_out = size.json;
        Ok(Made {
            depth: depth_of(&value),
            tokens: self.tally.of_value(&view, &value, size.json),
            counted: size.counted(),
            digits: value.is_number().then(|| written(&view)),
            value,
            source,
            uses: 0,
        })
    }
}

/// Opens a result, or says why that cannot be.
fn open<'a>(
    stored: &'a Stored,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Opened<'a>, NotOpened> {
    if let Some(message) = stored.failure() {
        return Err(NotOpened::Failed(message.into()));
    }
    let views = stored
        .views(arena, budget)
        .map_err(|error| NotOpened::Limit(error.into()))?;
    Ok(Opened {
        views,
        keys: Rc::default(),
    })
}

/// The text of a scalar.
fn written(view: &View<'_>) -> Box<str> {
    let mut text = Vec::new();
    // A number that became a value is within every limit.
    let _ = view.write(&mut text, usize::MAX);
    String::from_utf8_lossy(&text).into()
}

/// The default of a reference, in place of a value that is not there.
fn stand_in(reference: &Reference, default: &Value, tally: &Tally<'_>) -> Made {
    let text = default.to_string();
    let size = ValueSize::new(text.len(), count_of(default));
    Made {
        depth: depth_of(default),
        tokens: tally.of_text(&text),
        counted: size.counted(),
        source: Source {
            call_id: reference.call_id.clone(),
            artifact_id: reference.artifact_id.clone(),
            tool: None,
            select: reference.select.clone(),
            report: None,
            used_default: true,
            bytes_in: 0,
            bytes_out: size.json,
        },
        value: default.clone(),
        digits: None,
        uses: 0,
    }
}
