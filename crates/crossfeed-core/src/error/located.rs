//! A stage's error with its place in the arguments.

use crossfeed_wire::{ArtifactId, CallId, Pointer};

/// What is wrong, where in the arguments, and with which reference.
#[derive(Clone, Debug)]
pub(crate) struct Located<E> {
    pub(crate) at: Pointer,
    pub(crate) call_id: Option<CallId>,
    pub(crate) artifact_id: Option<ArtifactId>,
    pub(crate) expression: Option<String>,
    pub(crate) error: E,
}

impl<E> Located<E> {
    pub(crate) fn new(at: Pointer, error: impl Into<E>) -> Self {
        Self {
            at,
            call_id: None,
            artifact_id: None,
            expression: None,
            error: error.into(),
        }
    }
}
