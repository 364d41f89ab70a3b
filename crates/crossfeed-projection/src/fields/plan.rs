//! Looks up the names of a request: a [`Plan`] of paths, for any value.

use super::{
    FieldsValue, Operation, ProjectionError, ProjectionRequest, ResourceType, Views,
    hidden::Hidden,
    known::unknown,
    presets::{FULL, parse_each, within},
};
use crate::{Diagnostics, Path, RevealRules};
use std::{collections::HashSet, sync::Arc};

/// A request whose names are valid, for values of one kind.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_projection::{ProjectionRequest, ResourceType, Views};
///
/// let issue = ResourceType::new("issue").with_preset("minimal", ["id", "title"])?;
/// let request = ProjectionRequest::new().with_preset("minimal");
/// let plan = request.plan(&Views::new(), Some(&issue), None, &Default::default())?;
/// let page = Document::new(r#"{"items":[{"id":1,"title":"a","body":"…"}],"next":"2"}"#);
/// let mut out = Vec::new();
/// plan.project(page.root()?, &mut out)?;
/// assert_eq!(out, br#"{"items":[{"id":1,"title":"a"}],"next":"2"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// Paths from the root.
    pub(super) include: Vec<Path>,
    pub(super) exclude: Vec<Path>,
    /// Paths from each resource.
    pub(super) fields: Vec<Path>,
    /// A single word: an error unless it is a field.
    pub(super) word: Option<String>,
    /// Whether some part of the request wants everything.
    pub(super) everything: bool,
    pub(super) operation: Option<Operation>,
    pub(super) kind: ResourceType,
    pub(super) presets: Vec<String>,
    pub(super) rules: Arc<RevealRules>,
    pub(super) hidden: Hidden,
    pub(super) diagnostics: Diagnostics,
}

impl ProjectionRequest {
    /// Looks up the names of a request, and reads its paths.
    ///
    /// `views` are lists of paths from the root for `view`; a preset that the resource type does
    /// not have is looked for among them, too. Without an operation, whether an object is a
    /// collection depends on the fields that the request wants.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Path`], [`ProjectionError::Unknown`], [`ProjectionError::TooMany`].
    pub fn plan(
        &self,
        views: &Views,
        resource: Option<&ResourceType>,
        operation: Option<Operation>,
        rules: &Arc<RevealRules>,
    ) -> Result<Plan, ProjectionError> {
        let kind = resource.cloned().unwrap_or_else(|| ResourceType::new(""));
        let mut plan = Plan {
            include: Vec::new(),
            exclude: Vec::new(),
            fields: Vec::new(),
            word: None,
            everything: false,
            operation,
            presets: preset_names(&kind, views),
            hidden: Hidden::new(rules, &kind.envelopes),
            kind,
            rules: Arc::clone(rules),
            diagnostics: Diagnostics::default(),
        };
        plan.read(self, views)?;
        plan.diagnostics = unknown(&plan.kind, &plan.fields, &plan.hidden);
        Ok(plan)
    }
}

impl Plan {
    fn read(&mut self, request: &ProjectionRequest, views: &Views) -> Result<(), ProjectionError> {
        self.include = parse_each("include", request.include.iter().flatten())?;
        self.exclude = parse_each("exclude", request.exclude.iter().flatten())?;
        let keys = request.select.as_deref().unwrap_or_default();
        let mut written = self.include.len() + self.exclude.len() + keys.len();
        within(written)?;
        self.include.extend(keys.iter().map(Path::key));
        let mut presets: Vec<&str> = request.preset.as_deref().into_iter().collect();
        match &request.fields {
            None => {}
            Some(FieldsValue::List(texts)) => self.fields = parse_each("fields", texts)?,
            Some(FieldsValue::Name(text)) if text.trim().is_empty() => {}
            Some(FieldsValue::Name(text)) if self.preset(text.trim(), views).is_some() => {
                presets.push(text.trim());
            }
            Some(FieldsValue::Name(text)) => {
                self.fields = parse_each("fields", [text])?;
                if let [only] = self.fields.as_slice() {
                    self.word = only.as_name().map(str::to_owned);
                }
            }
        }
        written += self.fields.len();
        within(written)?;
        for name in presets {
            match self.preset(name, views) {
                Some(Some(paths)) => self.fields.extend(paths),
                Some(None) => self.everything = true,
                None => return Err(self.no_such("preset", name, self.presets.clone())),
            }
        }
        if let Some(name) = &request.view {
            match views.get(name) {
                Some(Some(paths)) => self.include.extend(paths.iter().cloned()),
                Some(None) => self.everything = true,
                None if name == FULL => self.everything = true,
                None => {
                    let named = views.names().filter(|name| *name != FULL);
                    let valid = named.chain([FULL]).map(str::to_owned).collect();
                    return Err(self.no_such("view", name, valid));
                }
            }
        }
        let default = self.operation.and_then(|of| self.kind.defaults.get(&of));
        if let (Some(name), true) = (default, request.is_unsaid()) {
            // A type without that preset is shown whole.
            let paths = self.preset(name, views).flatten();
            self.fields.extend(paths.unwrap_or_default());
        }
        Ok(())
    }

    /// The paths of a preset; `Some(None)` is everything.
    fn preset(&self, name: &str, views: &Views) -> Option<Option<Vec<Path>>> {
        if name == FULL {
            return Some(None);
        }
        let found = self.kind.presets.get(name).or_else(|| views.get(name))?;
        Some(found.map(<[Path]>::to_vec))
    }

    fn no_such(&self, what: &'static str, name: &str, valid: Vec<String>) -> ProjectionError {
        ProjectionError::unknown(what, name, valid, |name| self.rules.is_never_name(name))
    }
}

/// The presets that may be asked for: of the type, then of the views, then everything.
fn preset_names(kind: &ResourceType, views: &Views) -> Vec<String> {
    let mut seen = HashSet::from([FULL]);
    let names = kind.presets.names().chain(views.names());
    let names: Vec<_> = names.filter(|name| seen.insert(name)).collect();
    names.into_iter().chain([FULL]).map(str::to_owned).collect()
}
