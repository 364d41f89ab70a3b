//! A plan applied to one value: where its resources are decides where the fields are.

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

/// How many resources are asked for names that may have been meant.
const ASKED: usize = 10;
/// How many paths are offered in place of one.
const NEAREST: usize = 3;
/// How many of its keys each tells.
const ASKED_KEYS: usize = 100;

/// What a plan is for one value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The projection, from the root of the value.
    pub projection: Projection,
    /// Where the resources are, where the value is a collection in an envelope: `items[]`.
    pub envelope: Option<Path>,
}

/// What was projected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// How the plan was understood on the value.
    pub resolved: Resolved,
    /// What the caller should know.
    pub diagnostics: Diagnostics,
}

impl Plan {
    /// The projection for a value: whether it is a list, a collection or one resource decides where
    /// the fields are.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::NeitherPresetNorField`] for one word that is neither.
    pub fn resolve(&self, value: Cursor<'_>) -> Result<Resolved, ProjectionError> {
        let envelope = self.envelope(value);
        let envelope = envelope.as_ref();
        self.judge_word(value, envelope)?;
        let asks = !(self.include.is_empty() && self.fields.is_empty());
        let mut projection = Projection::new().with_rules(Arc::clone(&self.rules));
        if asks && !self.everything {
            projection = projection.with_include(self.tree(envelope));
        }
        if !self.exclude.is_empty() {
            projection = projection.with_exclude(PathTree::of(self.exclude.iter().cloned()));
        }
        Ok(Resolved {
            projection,
            envelope: envelope.map(|envelope| Path {
                steps: envelope.steps(),
            }),
        })
    }

    /// Appends the projected value.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve`].
    pub fn project(
        &self,
        value: Cursor<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Applied, ProjectionError> {
        let resolved = self.resolve(value)?;
        let found = resolved.projection.write(value, out);
        Ok(Applied {
            diagnostics: self.told(found, value, resolved.envelope.as_ref()),
            resolved,
        })
    }

    /// Whether every value passes as it is.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let asks = !(self.include.is_empty() && self.fields.is_empty());
        (self.everything || !asks) && self.exclude.is_empty() && self.rules.never_is_empty()
    }

    /// What is known of the request before there is a value.
    #[must_use]
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn envelope(&self, value: Cursor<'_>) -> Option<Envelope> {
        if self.fields.is_empty() {
            return None;
        }
        let first = |path: &'_ Path| -> Option<String> {
            let mut names = path.steps().iter();
            match names.find(|step| !matches!(step, Step::EachItem | Step::Index(_)))? {
                Step::Key(name) => Some(name.clone()),
                _ => None,
            }
        };
        // What is never shown has no say: where it is, is not told.
        let names = self.fields.iter().filter_map(first);
        let names: Vec<String> = names.filter(|name| !self.hidden.hides_name(name)).collect();
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        envelope_of(
            value,
            &self.kind.envelopes,
            self.operation,
            &names,
            &self.hidden,
        )
    }

    fn tree(&self, envelope: Option<&Envelope>) -> PathTree {
        let Some(envelope) = envelope.filter(|_| !self.fields.is_empty()) else {
            return PathTree::of(self.include.iter().chain(&self.fields).cloned());
        };
        let to = envelope.steps();
        let fields = self.fields.iter().map(|path| {
            // Who writes `[].id` means each resource, too.
            let own = match path.steps() {
                [Step::EachItem, own @ ..] if !own.is_empty() => own,
                own => own,
            };
            Path {
                steps: to.iter().chain(own).cloned().collect(),
            }
        });
        let tree = PathTree::of(self.include.iter().cloned().chain(fields));
        let around = envelope.around().into_iter();
        around.fold(tree, |tree, steps| tree.with_rest_at(&steps))
    }

    /// A word alone is a preset that is misspelt, unless it is a field.
    fn judge_word(
        &self,
        value: Cursor<'_>,
        envelope: Option<&Envelope>,
    ) -> Result<(), ProjectionError> {
        let Some(word) = &self.word else {
            return Ok(());
        };
        let is_known = self
            .kind
            .fields
            .iter()
            .any(|path| matches!(path.steps().first(), Some(Step::Key(name)) if name == word));
        // Where no presets are, no word is one that is misspelt, but for those that are usual.
        let usual = ["minimal", "standard"].contains(&word.as_str());
        let has_presets = self.presets.iter().any(|name| name != super::presets::FULL);
        // Whether what is never shown is there is not told.
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
        // Where there is nothing, no field is missing.
        if there || looked == 0 {
            return Ok(());
        }
        let told = self.kind.without(&self.rules);
        let known = told.fields.iter().filter_map(Path::as_name);
        let names = self.presets.iter().map(String::as_str).chain(known);
        let shown = seen.iter().filter(|name| !self.hidden.hides_name(name));
        let names = names.chain(shown.map(String::as_str));
        Err(ProjectionError::NeitherPresetNorField {
            name: word.clone(),
            valid: self.presets.clone(),
            nearest: nearest(word, names).into_iter().next(),
        })
    }

    /// What is to be told of a projection: what is both not known and not there is told once.
    fn told(&self, found: Diagnostics, value: Cursor<'_>, envelope: Option<&Path>) -> Diagnostics {
        let is_missed = |noted: &Diagnostic| noted.kind == DiagnosticKind::UnknownField;
        if self.diagnostics.is_empty() && !found.iter().any(is_missed) {
            return found;
        }
        let around = Envelope::all_of(&self.kind.envelopes, value);
        let at = |path: &str| match envelope {
            Some(envelope) => format!("{envelope}.{path}"),
            None => path.to_owned(),
        };
        let known: HashMap<String, &[String]> = self
            .diagnostics
            .iter()
            .map(|noted| (at(&noted.path), noted.nearest.as_slice()))
            .collect();
        let mut told = Diagnostics::default();
        let mut missed: HashSet<String> = HashSet::new();
        for mut noted in found.iter().cloned() {
            if let (DiagnosticKind::UnknownField, Some(nearest)) =
                (noted.kind, known.get(&noted.path))
            {
                if noted.nearest.is_empty() {
                    noted.nearest = nearest.to_vec();
                }
                missed.insert(noted.path.clone());
            }
            if noted.nearest.is_empty() && is_missed(&noted) {
                noted.nearest = self.within(&noted.path, value, &around);
            }
            told.push(noted);
        }
        for noted in self.diagnostics.iter() {
            if !missed.contains(&at(&noted.path)) {
                told.push(noted.clone());
            }
        }
        // At most one for each path of the request.
        for _ in 0..found.more().saturating_add(self.diagnostics.more()) {
            told.count_one();
        }
        told
    }

    /// A path that leads nowhere from the root, from where it leads somewhere: `data.id` for `id`.
    fn within(&self, path: &str, value: Cursor<'_>, around: &[Envelope]) -> Vec<String> {
        let steps = Path::parse(path).map(|path| path.steps().to_vec());
        let steps = steps.unwrap_or_default();
        let Some(Step::Key(name)) = steps.first() else {
            return Vec::new();
        };
        let has = |resource: Cursor<'_>| resource.get(name).is_some();
        let around = around.iter();
        let around = around.filter(|own| own.resources(value).take(ASKED).any(has));
        let paths = around.map(|own| Path {
            steps: own.steps().into_iter().chain(steps.clone()).collect(),
        });
        let shown = paths.filter(|path| !self.hidden.hides(path.steps()));
        shown.take(NEAREST).map(|path| path.to_string()).collect()
    }
}

/// Calls `see` for each object that is a resource of a value.
fn each(value: Cursor<'_>, envelope: Option<&Envelope>, see: &mut dyn FnMut(Cursor<'_>)) {
    match envelope {
        None => each_object(value, see),
        Some(envelope) => {
            for resource in envelope.resources(value) {
                each_object(resource, see);
            }
        }
    }
}

/// A list that a name crosses means its items, and so do lists in it.
fn each_object(value: Cursor<'_>, see: &mut dyn FnMut(Cursor<'_>)) {
    match value.kind() {
        Kind::Object => see(value),
        Kind::Array => {
            for item in value.items() {
                each_object(item, see);
            }
        }
        _ => {}
    }
}
