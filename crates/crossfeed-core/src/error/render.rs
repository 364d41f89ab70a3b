//! Why a result is not shown.

use crossfeed_wire::{ErrorCode, Fault};

/// Why a result is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A budget that does not hold even the call id and the note that the rest is hidden: 1.
    #[error(
        "a budget of {budget} cannot hold what must be said of a result: that takes {needed} tokens"
    )]
    BudgetTooSmall {
        /// The tokens that were allowed.
        budget: usize,
        /// The least that does.
        needed: usize,
        /// The most that a budget may be, by the size of the model's context.
        limit: usize,
    },
}

impl RenderError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::LimitExceeded
    }

    /// Who can act: only the host sets budgets.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Host
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::BudgetTooSmall { needed, limit, .. } if needed > limit => format!(
                "try: a context of which one result may take at least {needed} tokens, and a budget \
                 of as many"
            ),
            Self::BudgetTooSmall { needed, .. } => {
                format!("try: a budget of at least {needed} tokens")
            }
        }
    }
}
