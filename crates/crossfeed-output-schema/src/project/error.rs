//! The error of projecting a schema.

use crossfeed_schema::SchemaError;

/// No schema can be announced with a projected value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoProjectedSchema {
    /// The schema itself is invalid, or cannot be judged offline: `{"type": "objekt"}`.
    #[error("the output schema cannot be used to validate: {0}")]
    Invalid(#[from] SchemaError),
    /// The outcome would hold too many values: a schema whose places are cut in a thousand ways.
    #[error("the projected schema would hold more than {limit} values")]
    TooLarge {
        /// How many values it may hold.
        limit: usize,
    },
    /// There are too many ways in which a projection cuts: a path for each of a thousand items.
    #[error("the projection cuts in more than {limit} ways")]
    TooManyWays {
        /// How many are looked at.
        limit: usize,
    },
    /// The outcome would be invalid, by the same judgement as the schema itself: it nests too deep.
    #[error("the projected schema would not be valid: {0}")]
    Unusable(#[source] SchemaError),
}
