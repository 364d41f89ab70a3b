//! Arguments or data beyond a limit.

use super::select::NO_MEMORY;
use crossfeed_jmespath::Cost;
use crossfeed_json::{JsonError, MAX_DEPTH, NumberOutOfRange};
use std::time::Duration;

/// Arguments or data beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// Arguments that nest too deep: 100,000 brackets.
    #[error("the arguments nest deeper than {MAX_DEPTH}")]
    ArgumentsTooDeep,
    /// Arguments that take too much memory to read: a list of a million numbers.
    #[error("the arguments take {needed} bytes of memory to read, the limit is {limit}")]
    ArgumentsTooLarge {
        /// How many bytes they take at most.
        needed: usize,
        /// How many they may take.
        limit: usize,
    },
    /// Arguments that take too long to hold against the tool's schema: thousands of names, each in many branches.
    #[error("the arguments take too many steps to find what the tool's schema declares")]
    SchemaTooCostly,
    /// A result that nests too deep, or is too large to be indexed.
    #[error("the result cannot be read: {0}")]
    Unreadable(JsonError),
    /// A result that costs more to open than a selection may.
    #[error("the result cannot be read: {0}")]
    Costly(Cost),
    /// Not enough memory for arguments or a result: many calls at once that each build 60 MB.
    #[error("the host has no memory left for what the call builds")]
    NoMemory,
    /// More references in one call than allowed.
    #[error("the arguments hold {found} references, the limit is {limit}")]
    TooManyReferences {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// More files and resources in one call than allowed.
    #[error("the arguments name {found} files and resources, the limit is {limit}")]
    TooManyInputs {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// More resolved bytes in one call than allowed.
    #[error("the resolved arguments are larger than {limit} bytes")]
    TooLarge {
        /// How many bytes there may be.
        limit: usize,
    },
    /// References that take longer to resolve than one call may: thousands of costly selectors.
    #[error("the references take more than {} ms together", limit.as_millis())]
    OutOfTime {
        /// How long all of them may take.
        limit: Duration,
    },
    /// A number that 64-bit floats cannot hold: `1e400`.
    #[error("the referenced value holds a number that cannot be passed on: {0}")]
    Number(NumberOutOfRange),
    /// A number in the arguments that 64-bit floats cannot hold, where the tool's schema must judge it.
    #[error("the arguments hold a number that cannot be judged: {0}")]
    WrittenNumber(NumberOutOfRange),
}

impl LimitError {
    /// One next step.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::ArgumentsTooDeep => "try: arguments with fewer levels of lists and objects",
            Self::SchemaTooCostly => "write less in one call",
            Self::ArgumentsTooLarge { .. } => {
                "write fewer values: pass large data by reference to the call that returned it"
            }
            Self::Unreadable(_) => "try: a call that returns less, or flatter, data",
            // Reading a result takes no steps, so the time ran out.
            Self::Costly(_) => "try the same again, or fewer references in one call",
            Self::NoMemory => NO_MEMORY,
            Self::TooManyReferences { .. } | Self::OutOfTime { .. } => {
                "try: one reference with a selector that gives a list, instead of one for each item"
            }
            Self::TooManyInputs { .. } => "name fewer in one call",
            Self::TooLarge { .. } => "try: a selector that picks what the tool needs",
            Self::Number(_) => "try: a selector that leaves the number out",
            Self::WrittenNumber(_) => "write a number that a 64-bit float can hold",
        }
    }
}

impl From<Cost> for LimitError {
    fn from(cost: Cost) -> Self {
        match cost {
            Cost::Memory => Self::NoMemory,
            other => Self::Costly(other),
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

/// Why an existing result is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevealError {
    /// JSON beyond a limit, of a tool some of whose fields are never revealed: 128 lists within each
    /// other.
    #[error("the result is withheld: cannot decide which parts may be revealed: {0}")]
    Unjudged(JsonError),
}

/// Why a result is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A budget too small even for the call id and the note that the rest is hidden: 1.
    #[error(
        "a budget of {budget} cannot hold what must be said of a result: that takes {needed} tokens"
    )]
    BudgetTooSmall {
        /// The tokens that were allowed.
        budget: usize,
        /// The smallest budget that suffices.
        needed: usize,
        /// The largest budget, by the size of the model's context.
        limit: usize,
    },
}

impl RenderError {
    /// One next step.
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
