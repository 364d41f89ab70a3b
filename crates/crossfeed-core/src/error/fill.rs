//! Why a reference is not replaced.

use super::{LimitError, LookupError, MalformedReference, RevealError, SelectError};

/// Why a reference is not replaced.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum FillError {
    Reference(#[from] MalformedReference),
    Lookup(#[from] LookupError),
    Select(#[from] SelectError),
    Limit(#[from] LimitError),
    Reveal(#[from] RevealError),
}
