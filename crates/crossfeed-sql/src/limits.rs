//! What a query may take.

use derive_setters::Setters;
use std::time::Duration;

/// What imports and queries may take.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct SqlLimits {
    /// The time of one query: 10 s, far more than a statement takes that was meant to end.
    pub time: Duration,
    /// The bytes of a statement: 64 KiB.
    pub sql_bytes: usize,
    /// The rows of an answer: 100,000. What comes behind them is left out.
    pub rows: usize,
    /// The bytes of an answer: 1 MiB. What comes behind them is left out, in whole rows.
    pub answer_bytes: usize,
    /// The bytes of one value: 16 MiB.
    pub value_bytes: usize,
    /// The bytes of JSON that one result may have: 64 MiB.
    pub import_bytes: usize,
}

impl Default for SqlLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            sql_bytes: 64 << 10,
            rows: 100_000,
            answer_bytes: 1 << 20,
            value_bytes: 16 << 20,
            import_bytes: 64 << 20,
        }
    }
}
