//! Makes the full data and the summary of an artifact from a recorded result.

use super::{Component, NewArtifact};
use crate::{
    canonical::{StoredItem, Views},
    engine::Inner,
    error::{ArtifactError, ComponentMismatch, LimitError, SelectError},
    failure::Failure,
    resolve::FillLimits,
    reveal::UnredactedItem,
    select::{OFFERED, SelectReport},
    shape::Shape,
    suggest::{ParameterSchema, Trial},
};
use bytes::Bytes;
use crossfeed_jmespath::{Arena, Memory, Unrepresentable, View};
use crossfeed_json::{Document, JsonErrorKind, MAX_DEPTH};
use crossfeed_store::StoredArtifact;
use crossfeed_wire::Pointer;
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// The most mismatches that are reported.
const MAX_REPORTED: usize = 20;
/// The most mismatches for which fitting selectors are searched.
const MAX_EXPLAINED: usize = 3;

/// Makes artifacts within limits: of each selector, and of the time for all of them.
pub(crate) struct ArtifactBuilder<'m> {
    inner: &'m Inner,
    limits: FillLimits<'m>,
    /// Charged for values that selectors build.
    memory: Option<Arc<dyn Memory>>,
}

/// Each selector as it was written, and how it was understood: the base first.
type Reports = Vec<(String, SelectReport)>;

/// The picked values by name, in order.
type Members<'a> = Vec<(Cow<'a, str>, View<'a>)>;

impl<'m> ArtifactBuilder<'m> {
    pub(crate) fn new(inner: &'m Inner, memory: Option<Arc<dyn Memory>>) -> Self {
        Self {
            limits: inner.fill_limits(),
            inner,
            memory,
        }
    }

    /// Makes an artifact from the result of a successful call, whose redacted form the selectors run on. Without
    /// selectors the full data, which is for tools, is the unredacted value, if the same rules redact it to what
    /// a model may see of the result.
    pub(crate) fn make(
        &self,
        whole: &UnredactedItem,
        stored: &StoredItem,
        wanted: &NewArtifact,
    ) -> Result<(StoredArtifact, Reports), Box<Failure>> {
        let mut reports = Vec::new();
        let base = self.base(stored, wanted, &mut reports)?;
        let (data, summary) = if wanted.details.is_empty() && wanted.component.is_none() {
            (None, None)
        } else {
            self.parts(&base, wanted, &mut reports)?
        };
        let data = match data {
            Some(data) => data,
            None if wanted.base.is_none() && whole.hides_from(stored) => {
                let all = self.base(whole.as_stored(), wanted, &mut reports)?;
                let reveal = &self.inner.options.reveal;
                // Without its envelope, its content may be harder to judge.
                if reveal.shows_as(stored.tool(), &all, &base) {
                    all
                } else {
                    base
                }
            }
            None => base,
        };
        let (artifact_id, call_id) = (wanted.artifact_id.clone(), wanted.call_id.clone());
        let mut artifact =
            StoredArtifact::new(artifact_id, call_id, data).with_repeatable(stored.repeatable());
        if let Some(summary) = summary {
            artifact = artifact.with_summary(summary);
        }
        if let Some(tool) = stored.tool() {
            artifact = artifact.with_tool(tool);
        }
        if let Some(trace) = whole.as_stored().trace() {
            artifact = artifact.with_trace(trace.clone());
        }
        if let Some(base) = &wanted.base {
            artifact = artifact.with_base(base.as_str());
        }
        for (name, selector) in last_of_each_name(&wanted.details) {
            artifact = artifact.with_detail(name, selector);
        }
        Ok((artifact, reports))
    }

    /// The value that the base selector picks, as JSON.
    fn base(
        &self,
        stored: &StoredItem,
        wanted: &NewArtifact,
        reports: &mut Reports,
    ) -> Result<Document, Box<Failure>> {
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(stored.document(), &arena);
        let views = stored.views(&arena, &budget)?;
        let limit = budget.output_bytes();
        let mut json = Vec::new();
        let Some(text) = &wanted.base else {
            let written = views.canonical.write(&mut json, limit);
            written.map_err(|_| ArtifactError::TooLarge { limit })?;
            return Ok(Document::new(json));
        };
        let mut select = || -> Result<_, SelectError> {
            let too_costly = |why| SelectError::TooCostly {
                expression: text.clone(),
                why,
            };
            let selection = self.inner.select_in(&views, &arena, &budget, text)?;
            let written = selection.view.write(&mut json, limit);
            written.map_err(|why| too_costly(why.to_string()))?;
            let json = Bytes::from(std::mem::take(&mut json));
            if selection.view.as_cursor().is_none() && is_too_deep(&json) {
                let why = format!("the value nests deeper than {MAX_DEPTH}");
                return Err(too_costly(why));
            }
            Ok((Document::new(json), selection.report))
        };
        let (document, report) = select().map_err(|error| {
            let failure: Box<Failure> = error.into();
            Box::new(failure.with_expression(Some(text)))
        })?;
        reports.push((text.clone(), report));
        Ok(document)
    }

    /// The full data, if it differs from the base, and the summary. Details select from the base as a reference to
    /// it would.
    fn parts(
        &self,
        base: &Document,
        wanted: &NewArtifact,
        reports: &mut Reports,
    ) -> Result<(Option<Document>, Option<Document>), Box<Failure>> {
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(base, &arena);
        let views = Views::from_json(base, &arena, &budget)?;
        let selectors = last_of_each_name(&wanted.details);
        let mut details: Members<'_> = Vec::with_capacity(selectors.len());
        for (name, text) in selectors {
            // Each selector has its own budget; they share the time.
            let budget = self.limits.budget(base, &arena);
            let selection = self.inner.select_in(&views, &arena, &budget, text);
            let selection = selection.map_err(|error| {
                let (call_id, id) = (&wanted.call_id, &wanted.artifact_id);
                Box::new(Failure::with_ids(call_id, Some(id), error).with_expression(Some(text)))
            })?;
            reports.push((text.to_owned(), selection.report));
            details.push((Cow::Borrowed(name), selection.view));
        }
        let limit = budget.output_bytes();
        let write = |members: Members<'_>| {
            let mut json = Vec::new();
            let written = View::object(members).write(&mut json, limit);
            written.map_err(|_| ArtifactError::TooLarge { limit })?;
            let json = Bytes::from(json);
            if is_too_deep(&json) {
                return Err(ArtifactError::TooDeep);
            }
            Ok(Document::new(json))
        };
        let Some(component) = &wanted.component else {
            return Ok((None, Some(write(details)?)));
        };
        let full = full_data(component, details, &views.canonical)?;
        self.judge(component, &full, base, &Shape::new(&views.canonical), limit)?;
        let in_preview = |name: &str| component.preview_fields().any(|field| field == name);
        let summary = full.iter().filter(|(name, _)| in_preview(name)).cloned();
        let summary = write(summary.collect())?;
        Ok((Some(write(full)?), Some(summary)))
    }

    /// Judges full data by the component's schema.
    fn judge(
        &self,
        component: &Component,
        full: &Members<'_>,
        base: &Document,
        shape: &Shape,
        limit: usize,
    ) -> Result<(), Box<Failure>> {
        let value = match View::object(full.clone()).to_sized_value(limit) {
            Ok((value, _)) => value,
            Err(Unrepresentable::Number(number)) => return Err(LimitError::Number(number).into()),
            Err(_) => return Err(ArtifactError::TooLarge { limit }.into()),
        };
        let schema = component.schema();
        let mut steps = schema.steps(&value);
        if schema.accepts(&value, &mut steps)? {
            return Ok(());
        }
        let misfit = |at, expected, found| ComponentMismatch {
            at,
            expected,
            found,
            fitting: Vec::new(),
        };
        let missing = component
            .required()
            .filter(|name| value.get(*name).is_none());
        let missing =
            missing.map(|name| misfit(Pointer::root().key(name), component.expected(name), None));
        let mut misfits: Vec<ComponentMismatch> = missing.take(MAX_REPORTED).collect();
        // Missing properties are reported once, not also at the root.
        let has_missing = !misfits.is_empty();
        let findings = schema.findings(&value, &mut steps)?;
        let findings = findings.filter(|it| !(has_missing && it.at.as_str().is_empty()));
        for finding in findings.take(MAX_REPORTED - misfits.len()) {
            let found = value.pointer(finding.at.as_str()).map(Shape::from_value);
            misfits.push(misfit(finding.at, finding.expected, found));
        }
        for misfit in misfits.iter_mut().take(MAX_EXPLAINED) {
            if let Some(name) = misfit.property() {
                misfit.fitting = self.fitting(component, base, &name);
            }
        }
        let base = shape.clone();
        Err(ArtifactError::Unfit { misfits, base }.into())
    }

    /// Selectors on the base whose values fit a property of the component.
    fn fitting(&self, component: &Component, base: &Document, name: &str) -> Vec<String> {
        let schema = component.schema().as_value();
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(base, &arena);
        let (Ok(property), Ok(views)) = (
            ParameterSchema::at(schema, &component.place(name)),
            Views::from_json(base, &arena, &budget),
        ) else {
            return Vec::new();
        };
        let trial = Trial::new(views.canonical, &arena, &budget, self.limits.select);
        let fitting = trial.fitting_parameter(&property, OFFERED);
        fitting.into_iter().map(|found| found.selector).collect()
    }
}

/// The last detail of each name, at the place of the first.
fn last_of_each_name(details: &[(String, String)]) -> Vec<(&str, &str)> {
    let mut places = HashMap::new();
    let mut last: Vec<(&str, &str)> = Vec::with_capacity(details.len());
    for (name, selector) in details {
        let place = *places.entry(name).or_insert(last.len());
        match last.get_mut(place) {
            Some((_, known)) => *known = selector,
            None => last.push((name, selector)),
        }
    }
    last
}

/// The component's properties: each from its detail, else from the base.
fn full_data<'a>(
    component: &Component,
    details: Members<'a>,
    base: &View<'a>,
) -> Result<Members<'a>, ArtifactError> {
    let properties = || component.fields().map(str::to_owned).collect();
    let mut details: HashMap<Cow<'a, str>, View<'a>> = details.into_iter().collect();
    let full = component.fields().filter_map(|name| {
        let value = details.remove(name).or_else(|| base.get(name))?;
        Some((Cow::Owned(name.to_owned()), value))
    });
    let full: Members<'a> = full.collect();
    if let Some(name) = details.into_keys().min() {
        return Err(ArtifactError::NoProperty {
            name: name.into_owned(),
            properties: properties(),
        });
    }
    if full.is_empty() {
        return Err(ArtifactError::Nothing {
            base: Shape::new(base),
            properties: properties(),
        });
    }
    Ok(full)
}

/// Whether what an expression built nests deeper than anything that can be recorded. The index that says so is
/// not kept: it would count as part of what is stored.
fn is_too_deep(json: &Bytes) -> bool {
    let document = Document::new(json.clone());
    let read = document.root();
    read.is_err_and(|error| error.kind == JsonErrorKind::TooDeep)
}
