//! Filling: each reference's value is made once, then put where it belongs.

use super::{
    LimitError, depth_of,
    plan::{Plan, Planned, Step},
};
use crate::{
    canonical::{Stored, Views},
    error::{Error, Failure, LookupError},
    select::{SelectError, SelectOptions, SelectReport, Selector, Selectors},
};
use crossfeed_jmespath::{Arena, Budget, Unrepresentable, View};
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{Malformed, Reference},
};
use serde_json::Value;
use std::{collections::HashMap, time::Instant};

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
    /// Bytes of JSON that were put into the arguments.
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
    /// Bytes of JSON that references may bring into the arguments of one call.
    pub(crate) max_bytes: usize,
    /// When all selections of the call must be done.
    pub(crate) deadline: Instant,
}

impl FillLimits<'_> {
    /// A budget for one selection from `stored`.
    pub(crate) fn budget(&self, stored: &Stored) -> Budget {
        let root = stored.document().root();
        let values = root.map_or(1, crossfeed_json::Cursor::value_count);
        let limits = &self.select.limits;
        let left = self.deadline.saturating_duration_since(Instant::now());
        Budget::new(&limits.clone().with_time(limits.time.min(left)), values)
    }
}

/// A value that was made for one or more references.
struct Made {
    value: Value,
    source: Source,
    /// The digits of a number that is the whole value.
    digits: Option<Box<str>>,
    depth: usize,
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
        .map(|(at, malformed)| Failure::new(at.clone(), Error::Reference(malformed.clone())))
        .collect();
    let arena = Arena::new();
    let mut maker = Maker {
        arena: &arena,
        compiled,
        limits,
        looked,
        views: HashMap::new(),
        known: HashMap::new(),
        made: Vec::new(),
        left: limits.max_bytes,
    };
    let mut values = Vec::with_capacity(plan.references.len());
    for planned in &plan.references {
        match maker.value(planned) {
            Ok(made) => values.push(made),
            Err(error) => failures.push(failure(planned, error)),
        }
    }
    if !failures.is_empty() {
        super::dismantle(arguments);
        return Err(failures);
    }
    let mut filler = Filler {
        plan,
        values,
        made: maker.made,
        lineage: Vec::new(),
    };
    for step in &plan.steps {
        if let Err(failure) = filler.apply(step, &mut arguments) {
            failures.push(*failure);
        }
    }
    if !failures.is_empty() {
        return Err(failures);
    }
    Ok(Filled {
        arguments,
        lineage: filler.lineage,
    })
}

fn failure(planned: &Planned, error: Error) -> Failure {
    let mut failure = Failure::new(planned.at.clone(), error);
    failure.call_id = Some(planned.reference.call_id.clone());
    failure.artifact_id.clone_from(&planned.reference.artifact_id);
    failure.expression.clone_from(&planned.reference.select);
    failure
}

/// Makes values: once for a result and a selector, however often both are referred to.
struct Maker<'a, 'o> {
    arena: &'a Arena,
    compiled: &'o Selectors,
    limits: FillLimits<'o>,
    looked: &'a [Looked],
    views: HashMap<usize, Views<'a>>,
    known: HashMap<(usize, Option<&'a str>), Result<usize, Error>>,
    made: Vec<Made>,
    /// Bytes that may still be brought into the arguments.
    left: usize,
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
                self.made.push(stand_in(reference, default));
                self.made.len() - 1
            }
            (known, _) => known?,
        };
        if let Some(made) = self.made.get_mut(number) {
            made.uses += 1;
            let left = self.left.checked_sub(made.source.bytes_out);
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
                return Err(LookupError::Unknown { call_id }.into());
            }
        };
        if let Some(message) = stored.failure() {
            return Err(LookupError::Failed {
                call_id: reference.call_id.clone(),
                message,
                tool: stored.tool().map(str::to_owned),
            }
            .into());
        }
        let budget = self.limits.budget(stored);
        let too_large = LimitError::TooLarge {
            limit: self.limits.max_bytes,
        };
        let views = match self.views.get(&planned.wanted) {
            Some(views) => views.clone(),
            None => {
                let views = stored
                    .views(self.arena, &budget)
                    .map_err(LimitError::from)?;
                self.views.insert(planned.wanted, views.clone());
                views
            }
        };
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
        let (view, most) = match &reference.select {
            None => (views.bare, self.limits.max_bytes),
            Some(expression) => {
                let selector = Selector {
                    options: self.limits.select,
                    compiled: self.compiled,
                    views: &views,
                    arena: self.arena,
                    budget: &budget,
                };
                let selection = selector.select(expression)?;
                source.report = Some(selection.report);
                let most = budget.output_bytes().min(self.limits.max_bytes);
                (selection.view, most)
            }
        };
        let mut room = most;
        let value = view.to_value(&mut room).map_err(|error| match (error, &reference.select) {
            (Unrepresentable::Number(error), _) => Error::Limit(LimitError::Number(error)),
            (_, Some(expression)) => Error::Select(SelectError::TooCostly {
                expression: expression.clone(),
                why: format!("its output is larger than {most} bytes"),
            }),
            (_, None) => Error::Limit(too_large),
        })?;
        source.bytes_out = most - room;
        Ok(Made {
            depth: depth_of(&value),
            digits: value.is_number().then(|| written(&view)),
            value,
            source,
            uses: 0,
        })
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
fn stand_in(reference: &Reference, default: &Value) -> Made {
    Made {
        depth: depth_of(default),
        source: Source {
            call_id: reference.call_id.clone(),
            artifact_id: reference.artifact_id.clone(),
            tool: None,
            select: reference.select.clone(),
            report: None,
            used_default: true,
            bytes_in: 0,
            bytes_out: 0,
        },
        value: default.clone(),
        digits: None,
        uses: 0,
    }
}

/// Puts values where they belong.
struct Filler<'p> {
    plan: &'p Plan,
    /// For each reference the number of its value.
    values: Vec<usize>,
    made: Vec<Made>,
    lineage: Vec<Link>,
}

impl Filler<'_> {
    fn apply(&mut self, step: &Step, arguments: &mut Value) -> Result<(), Box<Failure>> {
        match step {
            Step::Literal(at) => {
                if let Some(place) = arguments.pointer_mut(at.as_str()) {
                    *place = literal_content(place);
                }
            }
            Step::Put { at, reference } => {
                let value = self.take(*reference, at)?;
                if let Some(place) = arguments.pointer_mut(at.as_str()) {
                    *place = value;
                }
            }
            Step::Map {
                object,
                key,
                entries,
            } => {
                for (target, reference) in entries {
                    let to = target.to_pointer();
                    let value = self.take(*reference, &object.join(&to))?;
                    let holder = arguments.pointer_mut(object.as_str());
                    if !holder.is_some_and(|holder| put(holder, &to, value)) {
                        let entry = self.plan.references.get(*reference);
                        let at = entry.map(|planned| planned.at.clone()).unwrap_or_default();
                        let to = to.as_str().to_owned();
                        let malformed = Malformed::UnreachableTarget { to };
                        return Err(Box::new(Failure::new(at, Error::Reference(malformed))));
                    }
                }
                let holder = arguments.pointer_mut(object.as_str());
                if let Some(holder) = holder.and_then(Value::as_object_mut) {
                    holder.shift_remove(*key);
                }
            }
        }
        Ok(())
    }

    /// The value of a reference and a link to where it came from; the last to take a value gets it
    /// without a copy.
    fn take(&mut self, reference: usize, at: &Pointer) -> Result<Value, Box<Failure>> {
        let planned = self.plan.references.get(reference);
        let made = self
            .values
            .get(reference)
            .and_then(|&number| self.made.get_mut(number));
        let (Some(planned), Some(made)) = (planned, made) else {
            return Ok(Value::Null);
        };
        if at.tokens().count() + made.depth > MAX_DEPTH {
            let error = Error::Limit(LimitError::ArgumentsTooDeep);
            return Err(Box::new(failure(planned, error)));
        }
        self.lineage.push(Link {
            at: at.clone(),
            source: made.source.clone(),
            ignored: planned.reference.ignored.clone(),
            digits: made.digits.clone(),
        });
        made.uses -= 1;
        Ok(match made.uses {
            0 => made.value.take(),
            _ => made.value.clone(),
        })
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
/// item at its end. False where a scalar or a gap is in the way.
fn put(holder: &mut Value, at: &Pointer, value: Value) -> bool {
    let mut place = holder;
    for token in at.tokens() {
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = match place {
            Value::Object(members) => members.entry(token).or_insert(Value::Null),
            Value::Array(items) => {
                let index = match token.as_str() {
                    "-" => items.len(),
                    digits if digits == "0" || !digits.starts_with(['0', '+']) => {
                        match digits.parse() {
                            Ok(index) => index,
                            Err(_) => return false,
                        }
                    }
                    _ => return false,
                };
                if index == items.len() {
                    items.push(Value::Null);
                }
                match items.get_mut(index) {
                    Some(item) => item,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    *place = value;
    true
}
