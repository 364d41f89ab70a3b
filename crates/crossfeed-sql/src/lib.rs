//! SQL over tool results: each result is a read-only table of an SQLite database in memory.
//!
//! A [`Database`] imports results as JSON and answers queries with JSON: a list with an object for each row. What a
//! query may do is on a list: it reads the imported tables with the functions of `specs/explore.md`, and nothing else.
//! Time, rows, bytes and nesting are bounded.
//!
//! A single function of SQLite can take long, or much memory, before any of the limits of this crate can end it. Who runs
//! statements that others write runs them in a process of their own.
//!
//! ```
//! use crossfeed_sql::{Database, SqlLimits};
//!
//! let mut database = Database::open(SqlLimits::default())?;
//! database.import("call_1", r#"{"total": 2, "items": [{"id": 1, "open": true}, {"id": 2, "open": false}]}"#)?;
//! let answer = database.query("SELECT id, open FROM call_1_items WHERE open")?;
//! assert_eq!(answer.json, br#"[{"id":1,"open":true}]"#);
//! # Ok::<(), crossfeed_sql::SqlError>(())
//! ```

mod answer;
mod column;
mod csv_text;
mod database;
mod error;
mod guard;
mod import;
mod limits;
mod names;
mod outline;
mod source;
mod table;

#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use column::{Column, ColumnKind};
pub use database::Database;
pub use error::SqlError;
pub use limits::SqlLimits;
pub use names::{is_ended, names_in, result_of};
pub use outline::outline;
pub use table::Table;
