//! A host's description of the kinds of resources that its tools return.

use super::{
    Operation, ProjectionError, Views,
    collection::Envelope,
    hidden::Hidden,
    presets::{FULL, parse_each},
};
use crate::{Path, RevealRules};
use std::{collections::BTreeMap, sync::Arc};

/// Where a collection's items are looked for unless a host says otherwise, the most common first.
pub const ENVELOPES: [&str; 9] = [
    "items",
    "results",
    "data",
    "edges[].node",
    "nodes",
    "records",
    "hits",
    "hits.hits",
    "data.items",
];

/// A kind of resource: its presets, its fields, and where a collection of it keeps its items.
///
/// ```
/// use crossfeed_projection::ResourceType;
///
/// let issue = ResourceType::new("issue")
///     .with_preset("minimal", ["id", "title"])?
///     .with_fields(["id", "title", "body", "assignee.login"])?;
/// assert_eq!(issue.preset_names(), ["minimal", "full"]);
/// # Ok::<(), crossfeed_projection::ProjectionError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct ResourceType {
    pub(super) name: String,
    pub(super) presets: Views,
    pub(super) fields: Vec<Path>,
    pub(super) envelopes: Vec<Envelope>,
    /// The presets of empty requests; one that this type does not have is everything.
    pub(super) defaults: BTreeMap<Operation, String>,
}

impl ResourceType {
    /// A kind with only the preset `full`, in the usual envelopes.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            presets: Views::new(),
            fields: Vec::new(),
            envelopes: Envelope::usual(),
            defaults: BTreeMap::new(),
        }
    }

    /// A preset; each text may be a comma list.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Path`], [`ProjectionError::FullIsEverything`].
    pub fn with_preset(
        mut self,
        name: impl Into<String>,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ProjectionError> {
        let name = name.into();
        if name == FULL {
            return Err(ProjectionError::FullIsEverything);
        }
        self.presets = self.presets.with(name, paths)?;
        Ok(self)
    }

    /// A preset that is everything, as `full` is.
    pub fn with_everything(mut self, name: impl Into<String>) -> Self {
        self.presets = self.presets.with_everything(name);
        self
    }

    /// The known fields: others get a diagnostic that suggests the nearest of these.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Path`].
    pub fn with_fields(
        mut self,
        fields: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ProjectionError> {
        self.fields = parse_each("fields", fields)?;
        Ok(self)
    }

    /// Where the items of a collection are, in place of the usual [`ENVELOPES`]: names, and once
    /// `[]` where each item wraps the resource (`edges[].node`).
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Path`], [`ProjectionError::Form`] for other paths.
    pub fn with_envelopes(
        mut self,
        envelopes: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ProjectionError> {
        let paths = parse_each("envelopes", envelopes)?;
        self.envelopes = paths
            .iter()
            .map(Envelope::parse)
            .collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The preset of empty requests for a kind of operation. Without one, results are whole.
    pub fn with_default(mut self, operation: Operation, preset: impl Into<String>) -> Self {
        self.defaults.insert(operation, preset.into());
        self
    }

    /// The same without hidden names, for messages and introspection. It does not hide them in results.
    pub fn without(&self, rules: &RevealRules) -> Self {
        let mut told = self.clone();
        let hidden = Hidden::new(&Arc::new(rules.clone()), &self.envelopes);
        let shown = |path: &Path| !hidden.hides(path.steps());
        told.fields.retain(shown);
        told.presets.retain(shown);
        told
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The presets of requests, in the order given; `full` is always among them.
    pub fn preset_names(&self) -> Vec<&str> {
        let own = self.presets.names().filter(|name| *name != FULL);
        own.chain([FULL]).collect()
    }
}

/// Kinds of resources by their names, in the order in which they were given.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ResourceTypes {
    pub(super) types: Vec<ResourceType>,
}

impl ResourceTypes {
    /// No kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more kind; of two with one name the last counts.
    pub fn with(mut self, kind: ResourceType) -> Self {
        match self.types.iter_mut().find(|own| own.name == kind.name) {
            Some(own) => *own = kind,
            None => self.types.push(kind),
        }
        self
    }

    /// The same without hidden names, for messages and introspection.
    pub fn without(&self, rules: &RevealRules) -> Self {
        Self {
            types: self.types.iter().map(|kind| kind.without(rules)).collect(),
        }
    }

    /// The kind of a name.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        self.types.iter().find(|kind| kind.name == name)
    }

    /// The kinds.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ResourceType> {
        self.types.iter()
    }
}
