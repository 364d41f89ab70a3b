//! Changes between results.

use crossfeed_projection::{Path, Step};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drift {
    /// Where, as a path; empty for the whole value.
    pub path: String,
    /// What.
    pub kind: DriftKind,
    /// In which result it was seen first, counted from 1.
    pub observation: u64,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriftKind {
    /// A key that every object here had is missing from one.
    Missing,
    /// A key that no object here had.
    New,
    /// A type that no value here had, so that the schema before refuses it: an object where null was
    /// alone, a fraction where integers were.
    Type {
        /// The types so far.
        from: Vec<&'static str>,
        /// The one that came.
        to: &'static str,
    },
}

/// The changes so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Drifts {
    pub(super) kept: Vec<Drift>,
    pub(super) dropped: u64,
}

impl Drifts {
    /// Forgets what was noted of single keys of an object, and within them.
    pub(super) fn forget_within(&mut self, way: &[Step]) {
        self.kept.retain(|drift| {
            let steps = Path::parse(&drift.path).map(|path| path.steps().to_vec());
            let steps = steps.unwrap_or_default();
            let within = steps.strip_prefix(way).and_then(<[Step]>::first);
            !matches!(within, Some(Step::Key(_)))
        });
    }

    pub(super) fn note(&mut self, way: &[Step], kind: DriftKind, observation: u64, limit: usize) {
        let path = match way {
            [] => Ok(String::new()),
            way => Path::from_steps(way.iter().cloned()).map(|path| path.to_string()),
        };
        match path {
            Ok(path) if self.kept.len() < limit => self.kept.push(Drift {
                path,
                kind,
                observation,
            }),
            _ => self.dropped = self.dropped.saturating_add(1),
        }
    }
}
