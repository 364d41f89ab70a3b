//! Suggests selectors in place of values that do not fit, or are missing.

use super::job::ResolveJob;
use crate::{
    failure::{Error, Failure},
    lineage::{LineageEntry, ReferenceSource},
    resolve::{Filling, Step},
    reveal::UnredactedItem,
    select::OFFERED,
    suggest::{FitTest, ParameterIntent, ParameterSchema, Trial, reshaped},
    validate::{self, InputSchema, RepairScope, Steps},
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The most values of one call for which fitting selectors are searched.
const MAX_SUGGESTIONS: usize = 5;
/// How many selectors of another shape are offered before the best of all.
const MAX_RESHAPED: usize = 2;
/// The most bytes that references may have brought in beside such a value.
const MAX_BYTES_BESIDE: usize = 1 << 20;

impl ResolveJob {
    /// Of the selectors nearest to one that missed, keeps those whose values fit the parameter; without any, the best
    /// fitting ones replace them. If nothing fits, or the parameter is unknown, the first of them stay.
    pub(super) fn advise_misses(&self, failures: &mut [Failure]) {
        self.choose_fitting(failures);
        for failure in failures {
            if let Error::Select(error) = &mut failure.error
                && let Some(nearest) = error.nearest_mut()
            {
                nearest.truncate(OFFERED);
            }
        }
    }

    fn choose_fitting(&self, failures: &mut [Failure]) {
        let Some(schema) = &self.schema else { return };
        let targets = self.targets();
        let mut parameters: HashMap<&Pointer, Option<ParameterSchema>> = HashMap::new();
        let missed = failures.iter_mut().filter_map(|failure| {
            let Error::Select(error) = &mut failure.error else {
                return None;
            };
            Some((&failure.at, error.nearest_mut()?))
        });
        for (at, nearest) in missed.take(MAX_SUGGESTIONS) {
            let planned = self.plan.references.iter().find(|found| found.at == *at);
            let stored = planned.and_then(|planned| self.looked.get(planned.wanted));
            let (Some(Ok(stored)), Some(target)) = (stored, targets.get(at)) else {
                continue;
            };
            let parameter = || ParameterSchema::for_argument(schema.as_value(), target).ok()?;
            let parameter = parameters.entry(target).or_insert_with(parameter);
            let Some(parameter) = parameter else { continue };
            let mut steps = parameter.steps();
            let mut is_fit = |value: Value| parameter.accepts(&value, &mut steps);
            let mut values = Vec::new();
            // One selector for each value.
            let mut fits = |value: Value, digits: Option<&str>| {
                let is_new = !values.contains(&value);
                is_new && self.fits(value.clone(), digits, &mut is_fit) && {
                    values.push(value);
                    true
                }
            };
            let better = self.on(stored, |trial| {
                let mut fitting = Vec::new();
                for near in nearest.iter() {
                    let own = trial.filter(std::slice::from_ref(near), &mut fits);
                    let is_fit = !own.is_empty();
                    fitting.extend(own);
                    if !is_fit {
                        // A list of one value was not meant by what missed.
                        let mut others = reshaped(near);
                        others.retain(|other| *other != format!("[{near}]"));
                        fitting.extend(
                            trial
                                .filter(&others, &mut fits)
                                .into_iter()
                                .take(MAX_RESHAPED),
                        );
                    }
                }
                let mut seen = HashSet::new();
                fitting.retain(|near| seen.insert(near.clone()));
                fitting.truncate(OFFERED);
                if fitting.is_empty() {
                    offer(trial, &[], &parameter.intent, &mut fits)
                } else {
                    fitting
                }
            });
            if let Some(better) = better.filter(|better| !better.is_empty()) {
                *nearest = better;
            }
        }
    }

    /// The place of the value of each reference, by the place of the reference.
    pub(super) fn targets(&self) -> HashMap<&Pointer, Pointer> {
        let at = |reference: &usize| self.plan.references.get(*reference).map(|found| &found.at);
        let mut targets = HashMap::new();
        for step in &self.plan.steps {
            match step {
                Step::Put {
                    at: place,
                    filling: Filling::Reference(reference),
                    ..
                } => targets.extend(at(reference).map(|at| (at, place.clone()))),
                Step::Map {
                    object, entries, ..
                } => targets.extend(entries.iter().filter_map(|(target, filling)| {
                    let Filling::Reference(reference) = filling else {
                        return None;
                    };
                    Some((at(reference)?, object.join(&target.to_pointer())))
                })),
                // A part of a text may be anything.
                Step::Literal(_) | Step::Near(_) | Step::Put { .. } => {}
            }
        }
        targets
    }

    /// Adds fitting selectors to the first mismatch of each referenced value.
    pub(super) fn advise_misfits(
        &self,
        failures: &mut Vec<Failure>,
        arguments: &mut Value,
        schema: &InputSchema,
        lineage: &[LineageEntry],
    ) {
        let links: HashMap<&str, &LineageEntry> =
            lineage.iter().map(|l| (l.at.as_str(), l)).collect();
        let brought: usize = lineage.iter().map(|link| link.source.bytes_out).sum();
        merge_alike(failures, |at| {
            let brought = |at: &&str| links.contains_key(at);
            at.and_around().find(brought).map(str::to_owned)
        });
        let mut suggested = HashSet::new();
        // For all tries together.
        let mut steps = schema.steps(arguments);
        for failure in failures.iter_mut() {
            let mut places = failure.at.and_around();
            let link = places.find_map(|at| links.get(at).copied());
            // A selector alone does not say what an edit makes of it.
            let link = link.filter(|link| link.text.is_none() && link.source.edit.is_none());
            let (Error::Arguments(error), Some(link)) = (&mut failure.error, link) else {
                continue;
            };
            // Each try validates all arguments, so the others must be small.
            let is_small = brought - link.source.bytes_out <= MAX_BYTES_BESIDE;
            error.is_advised = suggested.contains(&link.at);
            let is_left = suggested.len() < MAX_SUGGESTIONS;
            if !(is_small && is_left && suggested.insert(&link.at)) {
                continue;
            }
            if let Some(fitting) = self.fitting(link, arguments, schema, &mut steps) {
                (error.fitting, error.looked) = (fitting, true);
            }
        }
    }

    /// Selectors on a link's result whose values fit in place of the link's own value.
    fn fitting(
        &self,
        link: &LineageEntry,
        arguments: &mut Value,
        schema: &InputSchema,
        steps: &mut Steps,
    ) -> Option<Vec<String>> {
        let source = &link.source;
        let stored = self.stored(source)?;
        let misfit = arguments.pointer_mut(link.at.as_str())?.take();
        let mut is_fit = |value: Value| {
            if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
                *place = value;
            }
            let findings = schema.findings(arguments, steps);
            findings.is_ok_and(|mut findings| !findings.any(|one| one.at.is_within(&link.at)))
        };
        let mut fits = |value: Value, digits: Option<&str>| self.fits(value, digits, &mut is_fit);
        let intent = ParameterIntent::for_argument(schema.as_value(), &link.at);
        let report = source.report.as_ref();
        // What was said of a value with nulls comes first.
        let mut nearest = Vec::new();
        if let Some(report) = report {
            let notice = report.notice.iter();
            nearest.extend(notice.flat_map(|notice| notice.nearest.iter().cloned()));
            nearest.extend(reshaped(&report.evaluated));
        }
        let fitting = self.on(stored, |trial| {
            // An object of what must be there comes first.
            let written = report.map_or("@", |report| &report.evaluated);
            nearest.splice(0..0, trial.built(written, &intent));
            // What was repaired may mean something else.
            if report.is_some_and(|report| !report.repairs.is_empty()) {
                let guessed = source.select.as_deref().map(|text| trial.guesses(text));
                nearest.extend(guessed.unwrap_or_default());
            }
            offer(trial, &nearest, &intent, &mut fits)
        });
        if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
            *place = misfit;
        }
        fitting
    }

    /// Whether a value fits, repaired or not.
    fn fits(
        &self,
        value: Value,
        digits: Option<&str>,
        is_fit: &mut dyn FnMut(Value) -> bool,
    ) -> bool {
        let repair = || validate::lossless(&value, digits);
        let repaired = self.repairs().then(repair).flatten();
        is_fit(value) || repaired.is_some_and(is_fit)
    }

    fn repairs(&self) -> bool {
        self.inner.options.repairs != RepairScope::Off
    }

    /// Runs a trial on the redacted form of a result; `None` if that cannot be read.
    fn on<T>(&self, stored: &UnredactedItem, run: impl FnOnce(&Trial<'_, '_>) -> T) -> Option<T> {
        let stored = &stored.redacted(&self.inner.options.reveal).ok()?;
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.inner.fill_limits().budget(stored.document(), &arena);
        let views = stored.views(&arena, &budget).ok()?;
        let trial = Trial::on(&views, &arena, &budget, &self.inner.options.select);
        Some(run(&trial.with_shown(&views).with_repairs(self.repairs())))
    }

    /// What a value was taken from.
    pub(super) fn stored(&self, source: &ReferenceSource) -> Option<&UnredactedItem> {
        let place = self.plan.wanted.iter().position(|wanted| {
            let input = wanted.input.as_ref().map(|(input, _)| input);
            wanted.call_id == source.call_id
                && wanted.artifact_id == source.artifact_id
                && input == source.input.as_ref()
        })?;
        self.looked.get(place)?.as_ref().ok()
    }
}

/// Leaves one of the misfits that are the same in several items of what one reference brought in, with their number.
/// `brought_at` gives the place of that.
fn merge_alike(failures: &mut Vec<Failure>, brought_at: impl Fn(&Pointer) -> Option<String>) {
    let mut first: HashMap<[String; 3], usize> = HashMap::new();
    let mut merged: Vec<Failure> = Vec::with_capacity(failures.len());
    for failure in std::mem::take(failures) {
        if let Error::Arguments(error) = &failure.error
            && let Some(brought_at) = brought_at(&failure.at)
        {
            let tokens = failure
                .at
                .tokens()
                .map(|token| match token.parse::<usize>() {
                    Ok(_) => "*".to_owned(),
                    Err(_) => token,
                });
            let place = tokens.collect::<Vec<_>>().join("/");
            let known = *first
                .entry([brought_at, place, error.to_string()])
                .or_insert(merged.len());
            if let Some(Failure {
                error: Error::Arguments(known),
                ..
            }) = merged.get_mut(known)
            {
                known.alike += 1;
                continue;
            }
        }
        merged.push(failure);
    }
    *failures = merged;
}

/// The selectors that fit: first those near what was written, then the best of all.
fn offer(
    trial: &Trial<'_, '_>,
    nearest: &[String],
    intent: &ParameterIntent,
    fits: &mut FitTest<'_>,
) -> Vec<String> {
    let mut offered = trial.filter(nearest, fits);
    offered.truncate(MAX_RESHAPED);
    for found in trial.fitting(intent, OFFERED, fits) {
        if offered.len() < OFFERED && !offered.contains(&found.selector) {
            offered.push(found.selector);
        }
    }
    offered
}
