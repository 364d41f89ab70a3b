//! Applies a plan to one value: fields are looked for in the value's resources.

use super::{
    Plan, ProjectionError,
    collection::{Envelope, envelope_of},
};
use crate::{Diagnostic, DiagnosticKind, Diagnostics, Path, PathTree, Projection, Step, nearest};
use crossfeed_json::{Cursor, Kind};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// How many resources are read for suggested names.
const ASKED: usize = 10;
/// How many paths are offered in place of one.
const NEAREST: usize = 3;
/// How many keys of each resource are read.
const ASKED_KEYS: usize = 100;

/// The outcome of [`Plan::project`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// The projection that the plan means for the value, from its root.
    pub projection: Projection,
    /// Diagnostics for the caller.
    pub diagnostics: Diagnostics,
}

impl Plan {
    /// The projection for a value, and the envelope that the value is, if it is one.
    pub(super) fn resolve(
        &self,
        value: Cursor<'_>,
    ) -> Result<(Projection, Option<Envelope>), ProjectionError> {
        let envelope = self.envelope(value);
        self.judge_word(value, envelope.as_ref())?;
        let asks = !(self.include.is_empty() && self.fields.is_empty());
        let mut projection = Projection::new().with_rules(Arc::clone(&self.rules));
        if asks && !self.everything {
            projection = projection.with_include(self.tree(envelope.as_ref()));
        }
        let exclude = PathTree::new(self.exclude.iter().cloned());
        Ok((projection.with_exclude(exclude), envelope))
    }

    /// Appends the projected value. Fields are looked for in each resource of a list or collection, else in
    /// the value itself.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::NeitherPresetNorField`] for one word that is neither.
    pub fn project(
        &self,
        value: Cursor<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Applied, ProjectionError> {
        let (projection, envelope) = self.resolve(value)?;
        let missed = projection.write(value, out);
        let diagnostics = self.merged(missed, value, envelope.as_ref());
        Ok(Applied {
            projection,
            diagnostics,
        })
    }

    fn envelope(&self, value: Cursor<'_>) -> Option<Envelope> {
        if self.fields.is_empty() {
            return None;
        }
        // Hidden names do not count, so the outcome does not show where they are.
        let names = self.fields.iter().filter_map(first_name);
        let names = names.filter(|name| !self.hidden.hides_name(name)).collect();
        let envelopes = &self.kind.envelopes;
        envelope_of(value, envelopes, self.operation, &names, &self.hidden)
    }

    fn tree(&self, envelope: Option<&Envelope>) -> PathTree {
        let Some(envelope) = envelope.filter(|_| !self.fields.is_empty()) else {
            return PathTree::new(self.include.iter().chain(&self.fields).cloned());
        };
        let to = envelope.steps();
        let fields = self.fields.iter().map(|path| {
            // `[].id` means each resource, too.
            let own = match path.steps() {
                [Step::EachItem, own @ ..] if !own.is_empty() => own,
                own => own,
            };
            Path {
                steps: to.iter().chain(own).cloned().collect(),
            }
        });
        let tree = PathTree::new(self.include.iter().cloned().chain(fields));
        let around = envelope.around().into_iter();
        around.fold(tree, |tree, steps| tree.with_rest_at(&steps))
    }

    /// Refuses a single word that is neither a preset nor a field.
    fn judge_word(
        &self,
        value: Cursor<'_>,
        envelope: Option<&Envelope>,
    ) -> Result<(), ProjectionError> {
        let Some(word) = &self.word else {
            return Ok(());
        };
        let mut known = self.kind.fields.iter();
        let is_known =
            known.any(|path| matches!(path.steps(), [Step::Key(name), ..] if name == word));
        // Without presets, only the usual names count as misspelt presets.
        let usual = ["minimal", "standard"].contains(&word.as_str());
        let has_presets = self.presets.iter().any(|name| name != super::presets::FULL);
        // An error would show whether a hidden field is there.
        if is_known || self.hidden.hides_name(word) || !(has_presets || usual) {
            return Ok(());
        }
        let (mut looked, mut there) = (0_usize, false);
        let mut seen: Vec<String> = Vec::new();
        each(value, envelope, &mut |resource| {
            there = there || resource.get(word).is_some();
            if looked < ASKED && !there {
                let keys = resource.members().take(ASKED_KEYS);
                seen.extend(keys.map(|(key, _)| key.text().into_owned()));
            }
            looked += 1;
        });
        // Without resources, no field is missing.
        if there || looked == 0 {
            return Ok(());
        }
        let shown = self.kind.without(&self.rules);
        let known = shown.fields.iter().filter_map(Path::as_name);
        let names = self.presets.iter().map(String::as_str).chain(known);
        let there = seen.iter().filter(|name| !self.hidden.hides_name(name));
        let names = names.chain(there.map(String::as_str));
        Err(ProjectionError::NeitherPresetNorField {
            name: word.clone(),
            valid: self.presets.clone(),
            nearest: nearest(word, names).into_iter().next(),
        })
    }

    /// Merges the diagnostics of a projection and of the plan: one for a field that is neither known nor
    /// present.
    fn merged(
        &self,
        found: Diagnostics,
        value: Cursor<'_>,
        envelope: Option<&Envelope>,
    ) -> Diagnostics {
        let is_missed = |noted: &Diagnostic| noted.kind == DiagnosticKind::UnknownField;
        if self.diagnostics.is_empty() && !found.iter().any(is_missed) {
            return found;
        }
        let around = Envelope::all_of(&self.kind.envelopes, value);
        let prefix = envelope.map_or_else(String::new, |envelope| {
            let steps = envelope.steps();
            format!("{}.", Path { steps })
        });
        let at = |noted: &Diagnostic| format!("{prefix}{}", noted.path);
        let of_plan = self.diagnostics.iter();
        let known: HashMap<String, &[String]> = of_plan
            .clone()
            .map(|noted| (at(noted), &noted.nearest[..]))
            .collect();
        let mut merged = Diagnostics::default();
        let mut missed = HashSet::new();
        for mut noted in found.iter().cloned() {
            if is_missed(&noted) {
                let unknown = known.get(&noted.path);
                missed.extend(unknown.map(|_| noted.path.clone()));
                if noted.nearest.is_empty() {
                    noted.nearest = unknown.map_or_else(Vec::new, |nearest| nearest.to_vec());
                }
                if noted.nearest.is_empty() {
                    noted.nearest = self.within(&noted.path, value, &around);
                }
            }
            merged.push(noted);
        }
        for noted in of_plan.filter(|noted| !missed.contains(&at(noted))) {
            merged.push(noted.clone());
        }
        merged.count(found.more().saturating_add(self.diagnostics.more()));
        merged
    }

    /// Suggests an envelope in which a path that missed would match: `data.id` for `id`.
    fn within(&self, path: &str, value: Cursor<'_>, around: &[Envelope]) -> Vec<String> {
        let path = Path::parse(path).ok();
        let steps = path.as_ref().map_or(&[][..], Path::steps);
        let [Step::Key(name), ..] = steps else {
            return Vec::new();
        };
        let has = |resource: Cursor<'_>| resource.get(name).is_some();
        let around = around.iter();
        let around = around.filter(|own| own.resources(value).take(ASKED).any(has));
        let paths = around.map(|own| Path {
            steps: [&own.steps(), steps].concat(),
        });
        let shown = paths.filter(|path| !self.hidden.hides(path.steps()));
        shown.take(NEAREST).map(|path| path.to_string()).collect()
    }
}

/// The first name of a path; `None` if it begins with `*`.
fn first_name(path: &Path) -> Option<&str> {
    let mut steps = path.steps().iter();
    steps.find(|step| !step.is_bracket())?.name()
}

/// Calls `see` for each object that is a resource of a value.
fn each(value: Cursor<'_>, envelope: Option<&Envelope>, see: &mut dyn FnMut(Cursor<'_>)) {
    match envelope {
        None => each_object(value, see),
        Some(envelope) => {
            let resources = envelope.resources(value);
            resources.for_each(|resource| each_object(resource, see));
        }
    }
}

/// The objects of a value; lists are crossed to their items.
fn each_object(value: Cursor<'_>, see: &mut dyn FnMut(Cursor<'_>)) {
    match value.kind() {
        Kind::Object => see(value),
        Kind::Array => value.items().for_each(|item| each_object(item, see)),
        _ => {}
    }
}
