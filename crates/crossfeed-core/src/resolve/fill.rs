//! Filling: each reference's value is made once, then put where it belongs.

use super::{
    LimitError, MalformedReference, count_of, depth_of,
    plan::{Plan, Planned, Step},
};
use crate::{
    canonical::{Stored, Views},
    error::{Error, Failure, LookupError},
    paths::Keys,
    select::{SelectError, SelectOptions, SelectReport, Selector, Selectors},
};
use crossfeed_jmespath::{Arena, Budget, Unrepresentable, ValueSize, View};
use crossfeed_json::MAX_DEPTH;
use crossfeed_tokens::{TokenCounter, count_chars, tokens_of_chars};
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{Malformed, Reference},
};
use serde_json::Value;
use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    rc::Rc,
    time::{Duration, Instant},
};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Source {
    /// The call whose result it is.
    pub call_id: CallId,
    /// The artifact, if it was one.
    pub artifact_id: Option<ArtifactId>,
    /// The tool that was called, where it is known.
    pub tool: Option<String>,
    /// The selector as it was written.
    pub select: Option<String>,
    /// How the selector was understood; `None` without one, and where the default stood in.
    pub report: Option<SelectReport>,
    /// Whether the reference's `$default` was used.
    pub used_default: bool,
    /// Bytes of the result that was referred to.
    pub bytes_in: usize,
    /// Bytes of JSON that were put into the arguments: as they came for what was copied from the
    /// result, without blanks for what a selector built and for a default.
    pub bytes_out: usize,
}

/// One argument and the result it came from: the lineage of a resolved call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// Where the value was put, in the resolved arguments.
    pub at: Pointer,
    /// Where it came from.
    pub source: Source,
    /// Keys that stood beside the reference and were ignored.
    pub ignored: Vec<String>,
    /// The digits of a number that is the whole value.
    pub(crate) digits: Option<Box<str>>,
    /// What the value would have taken if the model had written it.
    pub(crate) tokens: usize,
}

/// What the store said of a wanted result.
pub(crate) type Looked = Result<Stored, LookupError>;

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
    /// What counts the tokens of the values.
    pub(crate) tokens: &'o TokenCounter,
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
struct Made {
    value: Value,
    source: Source,
    /// The digits of a number that is the whole value.
    digits: Option<Box<str>>,
    depth: usize,
    /// What it would have taken if the model had written it.
    tokens: usize,
    /// What each use takes of the bytes that may be brought in.
    counted: usize,
    /// References that have not taken it yet.
    uses: usize,
}

/// Replaces every reference of the plan, or says everything that is wrong.
pub(crate) fn fill(
    plan: &Plan,
    mut arguments: Value,
    looked: &[Looked],
    compiled: &Selectors,
    limits: FillLimits<'_>,
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
    let arena = Arena::new();
    let mut maker = Maker {
        arena: &arena,
        compiled,
        limits,
        looked,
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

/// The links whose values no later one has overwritten.
fn still_there(lineage: Vec<Link>) -> Vec<Link> {
    let mut later = HashSet::new();
    let mut kept: Vec<Link> = Vec::with_capacity(lineage.len());
    for link in lineage.into_iter().rev() {
        if !link.at.and_around().any(|place| later.contains(place)) {
            later.insert(link.at.as_str().to_owned());
            kept.push(link);
        }
    }
    kept.reverse();
    kept
}

fn failure(planned: &Planned, error: Error) -> Failure {
    let mut failure = Failure::new(planned.at.clone(), error);
    failure.call_id = Some(planned.reference.call_id.clone());
    failure
        .artifact_id
        .clone_from(&planned.reference.artifact_id);
    failure.expression.clone_from(&planned.reference.select);
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
    looked: &'a [Looked],
    /// What opening each wanted result gave, so that it happens once, however many selectors there
    /// are.
    opened: HashMap<usize, Result<Opened<'a>, NotOpened>>,
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
                self.made
                    .push(stand_in(reference, default, self.limits.tokens));
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
        let stored = match self.looked.get(planned.wanted) {
            Some(Ok(stored)) => stored,
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
        let budget = self.limits.budget(stored, self.arena);
        let opened = self.opened.entry(planned.wanted);
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
            tokens: tokens(&view, size.json, self.limits.tokens),
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

/// The most bytes of a value whose tokens are counted; of a longer one they are estimated.
const COUNTED_BYTES: usize = 64 << 10;

/// The tokens of a value that is so many bytes of JSON.
fn tokens(view: &View<'_>, bytes: usize, counter: &TokenCounter) -> usize {
    if bytes <= COUNTED_BYTES && counter.is_exact_for(bytes) {
        let mut json = Vec::with_capacity(bytes);
        if view.write(&mut json, usize::MAX).is_ok() {
            return counter.count(&String::from_utf8_lossy(&json));
        }
    }
    tokens_of_chars(match view.as_cursor() {
        Some(cursor) => count_chars(cursor.raw()),
        None => view.written_chars(),
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
fn stand_in(reference: &Reference, default: &Value, tokens: &TokenCounter) -> Made {
    let text = default.to_string();
    let size = ValueSize::new(text.len(), count_of(default));
    Made {
        depth: depth_of(default),
        tokens: tokens.count(&text),
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

/// Puts values where they belong.
struct Filler<'p> {
    plan: &'p Plan,
    /// For each reference the number of its value; `None` where there is none.
    values: Vec<Option<usize>>,
    made: Vec<Made>,
    lineage: Vec<Link>,
    failures: Vec<Failure>,
}

impl Filler<'_> {
    fn apply(&mut self, step: &Step, arguments: &mut Value) {
        match step {
            Step::Literal(at) => {
                if let Some(place) = arguments.pointer_mut(at.as_str()) {
                    *place = literal_content(place);
                }
            }
            Step::Put { at, reference } => {
                let value = self.take(*reference, at);
                if let (Some(value), Some(place)) = (value, arguments.pointer_mut(at.as_str())) {
                    *place = value;
                    self.link(*reference, at.clone());
                }
            }
            Step::Map {
                object,
                key,
                entries,
            } => {
                for (target, reference) in entries {
                    let to = target.to_pointer();
                    let Some(value) = self.take(*reference, &object.join(&to)) else {
                        continue;
                    };
                    let holder = arguments.pointer_mut(object.as_str());
                    match holder.and_then(|holder| put(holder, &to, value)) {
                        Some(within) => self.link(*reference, object.join(&within)),
                        None => self.refuse(*reference, &to),
                    }
                }
                let holder = arguments.pointer_mut(object.as_str());
                if let Some(holder) = holder.and_then(Value::as_object_mut) {
                    holder.shift_remove(*key);
                }
            }
        }
    }

    /// The value of a reference, null for one that failed; `None` where it would nest too deep. The
    /// last to take a value gets it without a copy.
    fn take(&mut self, reference: usize, at: &Pointer) -> Option<Value> {
        let planned = self.plan.references.get(reference)?;
        let number = *self.values.get(reference)?;
        let made = number.and_then(|number| self.made.get_mut(number));
        let depth = made.as_ref().map_or(0, |made| made.depth);
        if at.tokens().count() + depth > MAX_DEPTH {
            // One failure a reference.
            if made.is_some() {
                let error = Error::Limit(LimitError::ArgumentsTooDeep);
                self.failures.push(failure(planned, error));
            }
            return None;
        }
        let Some(made) = made else {
            return Some(Value::Null);
        };
        made.uses -= 1;
        Some(match made.uses {
            0 => made.value.take(),
            _ => made.value.clone(),
        })
    }

    fn made(&self, reference: usize) -> Option<(&Planned, &Made)> {
        let number = (*self.values.get(reference)?)?;
        Some((self.plan.references.get(reference)?, self.made.get(number)?))
    }

    /// Notes where the value at a place came from.
    fn link(&mut self, reference: usize, at: Pointer) {
        let link = self.made(reference).map(|(planned, made)| Link {
            at,
            source: made.source.clone(),
            ignored: planned.reference.ignored.clone(),
            digits: made.digits.clone(),
            tokens: made.tokens,
        });
        self.lineage.extend(link);
    }

    /// Notes that a value has no place. Of a reference without a value something else was noted.
    fn refuse(&mut self, reference: usize, to: &Pointer) {
        let failure = self.made(reference).map(|(planned, _)| {
            let to = to.as_str().to_owned();
            let error = MalformedReference::new(Malformed::UnreachableTarget { to }, None);
            Failure::new(planned.at.clone(), error.into())
        });
        self.failures.extend(failure);
    }
}

/// The content of a literal, which is alone in its object but for keys that are null.
fn literal_content(place: &mut Value) -> Value {
    let Some(object) = place.as_object_mut() else {
        return Value::Null;
    };
    let alone = object.len() == 1;
    ["$literal", "_literal"]
        .iter()
        .find_map(|&key| {
            let content = object.get_mut(key)?;
            (alone || !content.is_null()).then(|| content.take())
        })
        .unwrap_or_default()
}

/// Puts `value` at `at` within `holder`: missing objects on the way are made, a list grows by one
/// item at its end. Gives the place, which `-` does not name; `None` where a scalar or a gap is in
/// the way.
fn put(holder: &mut Value, at: &Pointer, value: Value) -> Option<Pointer> {
    let mut place = holder;
    let mut put = Pointer::root();
    for token in at.tokens() {
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = match place {
            Value::Object(members) => {
                put = put.key(&token);
                members.entry(token).or_insert(Value::Null)
            }
            Value::Array(items) => {
                let index = match token.as_str() {
                    "-" => items.len(),
                    digits if digits == "0" || !digits.starts_with(['0', '+']) => {
                        digits.parse().ok()?
                    }
                    _ => return None,
                };
                put = put.index(index);
                if index == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    *place = value;
    Some(put)
}
