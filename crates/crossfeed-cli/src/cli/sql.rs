//! The arguments of `sql`.

use super::Kind;
use clap::Args;
use std::path::PathBuf;

/// Answer SQL over results
///
/// Each result is a read-only table: a list with a row for each item, an object with one row, and each list in an object
/// a table of its own, named by the result and its path (`call_1_items`). Nested values are columns of JSON. Texts are
/// read as JSON, as a line of JSON for each row, as CSV, or line by line.
///
/// Prints a list with an object for each row, and a table on a terminal. Statements are those of SQLite that read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed sql 'SELECT state, count(*) AS n FROM issues GROUP BY state' issues.json
  crossfeed sql 'SELECT name, total FROM users JOIN orders ON user = id' users.json orders.csv
  crossfeed sql --results calls.jsonl 'SELECT * FROM call_1_items LIMIT 3'
  crossfeed sql --describe issues.json
  crossfeed sql - issues.json")]
pub(crate) struct Sql {
    /// The statement; with `-`, or without one, statements are asked for on a terminal, and one is read from standard
    /// input otherwise
    #[arg(value_name = "SQL", default_value = "-", hide_default_value = true)]
    pub(crate) statement: String,
    /// Results, each a table with the name of its file
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The kind of the files; detected if absent
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// The results of calls, a record per line as for `crossfeed resolve`, each a table with its `call_id`
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The session of the results
    #[arg(long, value_name = "ID", default_value = "default")]
    pub(crate) session: String,
    /// Print the tables with their columns, and answer nothing
    #[arg(long)]
    pub(crate) describe: bool,
    /// Print a table, as on a terminal
    #[arg(long, conflicts_with_all = ["compact", "pretty"])]
    pub(crate) table: bool,
    /// Seconds that a statement may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) time: u64,
}
