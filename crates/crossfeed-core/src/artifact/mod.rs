//! Artifacts: named parts of a result that outlive it. Their selectors run like any other: repaired, guarded,
//! bounded, with misses explained.

mod component;
mod make;

#[cfg(test)]
mod tests;

pub use component::{Component, ComponentError};
pub(crate) use make::ArtifactBuilder;

use crate::select::SelectReport;
use crossfeed_store::{Recorded, StoredArtifact};
use crossfeed_wire::{ArtifactId, CallId};
use derive_setters::Setters;
use std::{fmt, sync::Arc};

/// An artifact to be made from a recorded result.
///
/// ```
/// use crossfeed_core::NewArtifact;
/// use crossfeed_wire::{ArtifactId, CallId};
///
/// let wanted = NewArtifact::new(ArtifactId::parse("top")?, CallId::parse("call_1")?)
///     .with_base("items[0]")
///     .with_detail("title", "title")
///     .with_detail("authors", "length(authors)");
/// # Ok::<(), crossfeed_wire::IdError>(())
/// ```
#[derive(Clone, Setters)]
#[setters(prefix = "with_", strip_option, into)]
#[non_exhaustive]
#[must_use]
pub struct NewArtifact {
    /// The artifact's own id.
    #[setters(skip)]
    pub artifact_id: ArtifactId,
    /// The call whose result it is made from.
    #[setters(skip)]
    pub call_id: CallId,
    /// The selector that picks the full data; without one it is the whole canonical value.
    pub base: Option<String>,
    /// The details: each a name and a selector on the base's value. Of details with one name the last counts.
    #[setters(skip)]
    pub details: Vec<(String, String)>,
    /// The component it is made for: its properties are the full data, its preview fields the summary.
    pub component: Option<Component>,
}

impl NewArtifact {
    /// An artifact of the whole result, without a summary.
    pub fn new(artifact_id: ArtifactId, call_id: CallId) -> Self {
        Self {
            artifact_id,
            call_id,
            base: None,
            details: Vec::new(),
            component: None,
        }
    }

    /// Adds a detail; replaces one of the same name in place.
    pub fn with_detail(mut self, name: impl Into<String>, selector: impl Into<String>) -> Self {
        let (name, selector) = (name.into(), selector.into());
        match self.details.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = selector,
            None => self.details.push((name, selector)),
        }
        self
    }
}

/// Prints shapes only: a selector may contain values to compare with.
impl fmt::Debug for NewArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewArtifact")
            .field("artifact_id", &self.artifact_id)
            .field("call_id", &self.call_id)
            .field("has_base", &self.base.is_some())
            .field("details", &self.details.len())
            .field("component", &self.component)
            .finish()
    }
}

/// A stored artifact.
#[derive(Clone)]
#[non_exhaustive]
pub struct CreatedArtifact {
    /// The stored artifact.
    pub artifact: Arc<StoredArtifact>,
    /// Whether it is new, or was stored before.
    pub recorded: Recorded,
    /// The tokens of the full data.
    pub tokens: usize,
    /// Each selector as it was written, and how it was understood: the base, if there is one, then
    /// the details in order.
    pub reports: Vec<(String, SelectReport)>,
}

/// Prints shapes only, like [`NewArtifact`].
impl fmt::Debug for CreatedArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedArtifact")
            .field("artifact", &self.artifact)
            .field("recorded", &self.recorded)
            .field("tokens", &self.tokens)
            .field("reports", &self.reports.len())
            .finish()
    }
}
