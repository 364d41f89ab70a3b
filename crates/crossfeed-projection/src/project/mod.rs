//! The engine: cuts a value to the fields that a [`Projection`] names, and notes paths that met nothing.
//!
//! # Guarantees
//!
//! - Structure, the order of keys, and the bytes of numbers and strings are the source's.
//! - No request makes the engine write a field that a never-rule names.
//! - The engine writes nothing that was not in the value.

mod coverage;
mod diagnostic;
mod engine;
mod known;
mod nearest;
mod notes;
mod place;
mod state;
mod steps;

#[cfg(test)]
mod tests;

pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS};
pub use nearest::nearest;
pub use place::{MAX_ITEM_PLACES, Place};

use crate::{Redacted, RevealRules, tree::PathTree};
use crossfeed_json::Cursor;
use engine::Engine;
use state::Spec;
use std::sync::Arc;

/// Which fields of a value are kept: included, then excluded, then withheld.
///
/// kept = (included and always-kept fields) without excluded fields that are not always kept, and without
/// fields that never-rules hide.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_projection::{Path, PathTree, Projection};
///
/// let projection = Projection::new()
///     .with_include(PathTree::new(Path::parse_list("items.id,items.author")?))
///     .with_exclude(PathTree::new(Path::parse_list("items.author.mail")?));
/// let page = Document::new(r#"{"items":[{"id":1.50,"x":0,"author":{"name":"a","mail":"b"}}]}"#);
/// let mut out = Vec::new();
/// let diagnostics = projection.write(page.root()?, &mut out);
/// assert_eq!(out, br#"{"items":[{"id":1.50,"author":{"name":"a"}}]}"#);
/// assert!(diagnostics.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Projection {
    pub(crate) include: Option<Arc<PathTree>>,
    pub(crate) exclude: Option<Arc<PathTree>>,
    pub(crate) rules: Arc<RevealRules>,
}

impl Projection {
    /// The projection that keeps everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps only the fields that these paths name; a tree without paths filters nothing.
    pub fn with_include(mut self, tree: impl Into<Arc<PathTree>>) -> Self {
        self.include = Some(tree.into()).filter(|tree| !tree.is_empty());
        self
    }

    /// Leaves out the fields that these paths name.
    pub fn with_exclude(mut self, tree: impl Into<Arc<PathTree>>) -> Self {
        self.exclude = Some(tree.into()).filter(|tree| !tree.is_empty());
        self
    }

    /// Sets which fields are always kept and which are never shown.
    pub fn with_rules(mut self, rules: impl Into<Arc<RevealRules>>) -> Self {
        self.rules = rules.into();
        self
    }

    /// The included paths; `None` for everything.
    pub fn include(&self) -> Option<&PathTree> {
        self.include.as_deref()
    }

    /// The excluded paths; `None` for nothing.
    pub fn exclude(&self) -> Option<&PathTree> {
        self.exclude.as_deref()
    }

    /// The rules that no request overrules.
    pub fn rules(&self) -> &Arc<RevealRules> {
        &self.rules
    }

    /// Whether every value passes as it is.
    pub fn is_everything(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && self.rules.never_is_empty()
    }

    /// What happens to the whole value, and from there to every place within it.
    pub fn root(&self) -> Place<'_> {
        Place::root(self)
    }

    /// Appends the projected value. Paths that met nothing become diagnostics, not errors.
    pub fn write(&self, value: Cursor<'_>, out: &mut Vec<u8>) -> Diagnostics {
        let spec = Spec::from(self);
        let mut engine = Engine::new(spec);
        engine.run(value, out);
        notes::notes(&engine, spec, value)
    }
}

impl RevealRules {
    /// Appends the value without hidden fields. A document without hidden fields is copied byte for
    /// byte.
    pub fn redact(&self, value: Cursor<'_>, out: &mut Vec<u8>) -> Redacted {
        let mut engine = Engine::new(Spec::for_rules(self));
        let before = out.len();
        engine.run(value, out);
        if !engine.redacted.any() && !value.document_has_duplicates() {
            // The walk may have rewritten strings that it read.
            out.truncate(before);
            value.write(out);
        }
        engine.redacted
    }
}
