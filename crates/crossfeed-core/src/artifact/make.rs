//! From a recorded result to full data and a summary.

use super::{Component, NewArtifact};
use crate::{
    canonical::{Stored, Views},
    engine::Inner,
    error::{ArtifactError, ComponentMismatch, LimitError, SelectError},
    failure::Failure,
    resolve::FillLimits,
    reveal::Unredacted,
    select::SelectReport,
    shape::Shape,
    suggest::{OFFERED, ParameterSchema, Trial},
};
use crossfeed_jmespath::{Arena, Memory, Unrepresentable, View};
use crossfeed_json::{Document, JsonErrorKind, MAX_DEPTH};
use crossfeed_store::StoredArtifact;
use crossfeed_wire::Pointer;
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// The most places that are reported.
const REPORTED: usize = 20;
/// For how many of them it is looked for what would fit.
const EXPLAINED: usize = 3;

/// Makes artifacts within limits: of each selector, and of the time for all of them.
pub(crate) struct ArtifactBuilder<'m> {
    inner: &'m Inner,
    limits: FillLimits<'m>,
    /// What selectors build is charged to it.
    memory: Option<Arc<dyn Memory>>,
}

/// Each selector as it was written, and how it was understood: the base first.
type Reports = Vec<(String, SelectReport)>;

/// What is picked by name, in order.
type Members<'a> = Vec<(Cow<'a, str>, View<'a>)>;

impl<'m> ArtifactBuilder<'m> {
    pub(crate) fn new(inner: &'m Inner, memory: Option<Arc<dyn Memory>>) -> Self {
        Self {
            limits: inner.fill_limits(),
            inner,
            memory,
        }
    }

    /// Makes the artifact that is wanted from a result that did not fail: selectors work on what may
    /// be shown of it. Full data that nothing picks from is all of its value, which is for tools, if
    /// what a model may see of it then, by the same rules, is what it may see of the result.
    pub(crate) fn make(
        &self,
        whole: &Unredacted,
        stored: &Stored,
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
                // Without its envelope less may be known of what it holds.
                if self
                    .inner
                    .options
                    .reveal
                    .shows_as(stored.tool(), &all, &base)
                {
                    all
                } else {
                    base
                }
            }
            None => base,
        };
        let (artifact_id, call_id) = (wanted.artifact_id.clone(), wanted.call_id.clone());
        let mut made =
            StoredArtifact::new(artifact_id, call_id, data).with_repeatable(stored.repeatable());
        if let Some(summary) = summary {
            made = made.with_summary(summary);
        }
        if let Some(tool) = stored.tool() {
            made = made.with_tool(tool);
        }
        if let Some(trace) = whole.as_stored().trace() {
            made = made.with_trace(trace.clone());
        }
        if let Some(base) = &wanted.base {
            made = made.with_base(base.as_str());
        }
        for (name, selector) in last_of_each_name(&wanted.details) {
            made = made.with_detail(name, selector);
        }
        Ok((made, reports))
    }

    /// The JSON of what the base selector picks.
    fn base(
        &self,
        stored: &Stored,
        wanted: &NewArtifact,
        reports: &mut Reports,
    ) -> Result<Document, Box<Failure>> {
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(stored.document(), &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        let mut json = Vec::new();
        let Some(text) = &wanted.base else {
            let limit = budget.output_bytes();
            views
                .canonical
                .write(&mut json, limit)
                .map_err(|_| ArtifactError::TooLarge { limit })?;
            return Ok(Document::new(json));
        };
        let trouble = |error: SelectError| {
            let failure: Box<Failure> = error.into();
            Box::new(failure.with_expression(Some(text)))
        };
        let selection = self.inner.select_in(&views, &arena, &budget, text);
        let selection = selection.map_err(trouble)?;
        let limit = budget.output_bytes();
        selection.view.write(&mut json, limit).map_err(|why| {
            trouble(SelectError::TooCostly {
                expression: text.clone(),
                why: why.to_string(),
            })
        })?;
        let document = Document::new(json);
        if selection.view.as_cursor().is_none() && is_too_deep(&document) {
            return Err(trouble(SelectError::TooCostly {
                expression: text.clone(),
                why: format!("the value nests deeper than {MAX_DEPTH}"),
            }));
        }
        reports.push((text.clone(), selection.report));
        Ok(document)
    }

    /// The full data, if it is not what the base picked, and the summary. Details are read from what
    /// was picked as a reference to it would be.
    fn parts(
        &self,
        base: &Document,
        wanted: &NewArtifact,
        reports: &mut Reports,
    ) -> Result<(Option<Document>, Option<Document>), Box<Failure>> {
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(base, &arena);
        let views = Views::of_json(base, &arena, &budget).map_err(LimitError::from)?;
        let wished = last_of_each_name(&wanted.details);
        let mut details: Members<'_> = Vec::with_capacity(wished.len());
        for (name, text) in wished {
            // Each selector has a budget of its own; the time is one for all.
            let budget = self.limits.budget(base, &arena);
            let selection = self.inner.select_in(&views, &arena, &budget, text);
            let selection = selection.map_err(|error| {
                let (call_id, id) = (&wanted.call_id, &wanted.artifact_id);
                Box::new(Failure::of(call_id, Some(id), error).with_expression(Some(text)))
            })?;
            reports.push((text.to_owned(), selection.report));
            details.push((Cow::Borrowed(name), selection.view));
        }
        let limit = budget.output_bytes();
        let write = |members: Members<'_>| {
            let mut json = Vec::new();
            View::object(members)
                .write(&mut json, limit)
                .map_err(|_| ArtifactError::TooLarge { limit })?;
            let document = Document::new(json);
            if is_too_deep(&document) {
                return Err(ArtifactError::TooDeep);
            }
            Ok(document)
        };
        let Some(component) = &wanted.component else {
            return Ok((None, Some(write(details)?)));
        };
        let full = full_data(component, details, &views.canonical)?;
        self.judge(component, &full, base, &Shape::of(&views.canonical), limit)?;
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
        let missing = component
            .required()
            .filter(|name| value.get(*name).is_none());
        let mut misfits: Vec<ComponentMismatch> = missing
            .take(REPORTED)
            .map(|name| ComponentMismatch {
                at: Pointer::root().key(name),
                expected: component.expected(name),
                found: None,
                fitting: Vec::new(),
            })
            .collect();
        let named = !misfits.is_empty();
        for finding in schema.findings(&value, &mut steps)? {
            let place = value.pointer(finding.at.as_str());
            // What is missing at the root has been named.
            if misfits.len() >= REPORTED || named && finding.at.as_str().is_empty() {
                continue;
            }
            misfits.push(ComponentMismatch {
                at: finding.at,
                expected: finding.expected,
                found: place.map(Shape::of_value),
                fitting: Vec::new(),
            });
        }
        for misfit in misfits.iter_mut().take(EXPLAINED) {
            if let Some(name) = misfit.property() {
                misfit.fitting = self.fitting(component, base, &name);
            }
        }
        let base = shape.clone();
        Err(ArtifactError::Unfit { misfits, base }.into())
    }

    /// Selectors on what the base picked whose values fit a property of the component.
    fn fitting(&self, component: &Component, base: &Document, name: &str) -> Vec<String> {
        let schema = component.schema().as_value();
        let place = component.place(name);
        let arena = Arena::with_memory(self.memory.clone());
        let budget = self.limits.budget(base, &arena);
        let (Ok(property), Ok(views)) = (
            ParameterSchema::at(schema, &place),
            Views::of_json(base, &arena, &budget),
        ) else {
            return Vec::new();
        };
        let trial = Trial {
            view: &views.canonical,
            arena: &arena,
            budget: &budget,
            options: self.limits.select,
            repairs: false,
        };
        let fitting = trial.fitting_parameter(&property, OFFERED);
        fitting.into_iter().map(|found| found.selector).collect()
    }
}

/// Of details of one name the last, where the first stood.
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

/// The component's properties: each what its detail picked, else the base's own member.
fn full_data<'a>(
    component: &Component,
    details: Members<'a>,
    base: &View<'a>,
) -> Result<Members<'a>, ArtifactError> {
    let properties = || component.fields().map(str::to_owned).collect();
    let mut details: HashMap<Cow<'a, str>, View<'a>> = details.into_iter().collect();
    let full: Members<'a> = component
        .fields()
        .filter_map(|name| {
            let value = details.remove(name).or_else(|| base.get(name))?;
            Some((Cow::Owned(name.to_owned()), value))
        })
        .collect();
    if let Some(name) = details.into_keys().min() {
        return Err(ArtifactError::NoProperty {
            name: name.into_owned(),
            properties: properties(),
        });
    }
    if full.is_empty() {
        return Err(ArtifactError::Nothing {
            base: Shape::of(base),
            properties: properties(),
        });
    }
    Ok(full)
}

/// Whether what an expression built nests deeper than anything that can be recorded.
fn is_too_deep(document: &Document) -> bool {
    let read = document.root();
    read.is_err_and(|error| error.kind == JsonErrorKind::TooDeep)
}
