//! Arguments or data beyond a limit.

use super::select::NO_MEMORY;
use crossfeed_jmespath::Cost;
use crossfeed_json::{JsonError, MAX_DEPTH, NumberOutOfRange};
use crossfeed_wire::ErrorCode;
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
    /// A result that nests too deep, or is too large to be indexed.
    #[error("the result cannot be read: {0}")]
    Unreadable(JsonError),
    /// A result that takes more to be opened than a selection may cost.
    #[error("the result cannot be read: {0}")]
    Costly(Cost),
    /// Arguments or a result that find no memory now: many calls at once that each build 60 MB.
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
    /// A number of the arguments themselves that 64-bit floats cannot hold, where the tool's schema
    /// is to judge it.
    #[error("the arguments hold a number that cannot be judged: {0}")]
    WrittenNumber(NumberOutOfRange),
}

impl LimitError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::LimitExceeded
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::ArgumentsTooDeep => "try: arguments with fewer levels of lists and objects",
            Self::ArgumentsTooLarge { .. } => {
                "write fewer values: pass large data by reference to the call that returned it"
            }
            Self::Unreadable(_) => "try: a call that returns less, or flatter, data",
            // What is in the result costs no steps to read, so it is time that was short.
            Self::Costly(_) => "try the same again, or fewer references in one call",
            Self::NoMemory => NO_MEMORY,
            Self::TooManyReferences { .. } | Self::OutOfTime { .. } => {
                "try: one reference with a selector that gives a list, instead of one for each item"
            }
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
