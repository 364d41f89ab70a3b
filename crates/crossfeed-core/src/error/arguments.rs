//! Why arguments do not fit the tool's schema.

use crate::shape::Shape;
use crossfeed_wire::{CallId, ErrorCode};

/// One place of the arguments that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
#[non_exhaustive]
pub struct ArgumentError {
    /// What the schema asks for.
    pub expected: String,
    /// The shape of what came.
    pub found: Shape,
    /// The call that the value came from, if a reference brought it in.
    pub brought_by: Option<CallId>,
    /// Selectors on that call's result whose values would fit where the reference stands.
    pub fitting: Vec<String>,
    /// Whether it was looked for such.
    pub(crate) looked: bool,
}

impl ArgumentError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::ArgumentsInvalid
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match (&self.brought_by, self.fitting.as_slice()) {
            (None, _) => "write a value that fits".to_owned(),
            (Some(_), []) if self.looked => {
                "nothing that was tried of that result fits: refer to another call, or write the value"
                    .to_owned()
            }
            (Some(_), []) => "try: a `$select` that picks what fits".to_owned(),
            (Some(_), selectors) => format!("try: {}", selectors.join(", ")),
        }
    }
}

/// Judging the arguments would take more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments take more than {limit} steps to validate")]
#[non_exhaustive]
pub struct ValidationCost {
    /// How many steps there may be.
    pub limit: u64,
}

impl ValidationCost {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::LimitExceeded
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        "try: a selector that gives flatter or less data"
    }
}
