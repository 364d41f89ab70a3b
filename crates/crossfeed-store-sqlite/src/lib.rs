//! Keeps artifacts in a directory, through restarts and crashes, and results where it is asked to.
//!
//! Artifacts are rows of an SQLite database; the full data of large ones are files beside it, named
//! by their content. Results are kept in memory, or with [`SqliteOptions::keep_results`] in a second database of the
//! same kind, with the calls in flight and the records of the host, for all processes that use the directory.
//!
//! # Invariants
//!
//! - Acknowledged artifacts are on the disk: rows are committed with `synchronous = FULL`, and a file and its
//!   name are there before the row that names it. Acknowledged results are there as far as their [`SqliteDurability`] says.
//! - What a row records is never changed, only added and removed. So is a file, but that one that was damaged is
//!   replaced by one that is whole when the same data comes again.
//! - Every read is checked: each row has a digest of itself, and of its data. Recording the same again
//!   checks it, too.
//! - Only their owner can read the files: each is made with those rights.
//! - No file is removed that a row names: that is looked up under the lock that keeps writers out.
//! - Limits are kept in the transaction that adds a result, so that processes keep them together.

mod artifacts;
mod blocking;
mod clock;
mod database;
mod fault;
mod files;
mod header;
mod open;
mod options;
mod place;
mod probe;
mod results;
mod rows;
mod store;
mod writer;

#[cfg(test)]
mod tests;

pub use clock::CalendarClock;
pub use options::{SqliteDurability, SqliteOptions};
pub use probe::{KeptResult, SqliteProbe};
pub use store::SqliteStore;
