//! Tables in few words, for a model.

use crate::{names::written, table::Table};
use std::fmt::Write as _;

/// The most bytes of an outline: 200 tokens or less.
const MAX_BYTES: usize = 640;
/// The most bytes of the names of one table's columns.
const MAX_TABLE_BYTES: usize = 400;

/// A line for each table, with its columns, their types and the number of its rows; at most 640 bytes.
///
/// ```
/// use crossfeed_sql::{Database, SqlLimits, outline};
///
/// let mut database = Database::open(SqlLimits::default())?;
/// database.import("call_1", r#"[{"id": 1, "user": {"name": "a"}}]"#)?;
/// assert_eq!(outline(database.tables()), "call_1(id INTEGER, user JSON): 1 row");
/// # Ok::<(), crossfeed_sql::SqlError>(())
/// ```
pub fn outline<'t>(tables: impl IntoIterator<Item = &'t Table>) -> String {
    let mut tables = tables.into_iter();
    let mut text = String::new();
    while let Some(table) = tables.next() {
        let line = line(table);
        if text.len() + line.len() > MAX_BYTES {
            let left = 1 + tables.count();
            let _ = write!(
                text,
                "{}… and {left} more",
                if text.is_empty() { "" } else { "\n" }
            );
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

fn line(table: &Table) -> String {
    let mut line = format!("{}(", written(&table.name));
    let mut columns = table.columns.iter();
    for (index, column) in columns.by_ref().enumerate() {
        let declared = column.kind.declared();
        let blank = if declared.is_empty() { "" } else { " " };
        let one = format!("{}{blank}{declared}", written(&column.name));
        if line.len() + one.len() > MAX_TABLE_BYTES {
            let left = table.columns.len() - index;
            let _ = write!(line, ", … {left} more");
            break;
        }
        if index > 0 {
            line.push_str(", ");
        }
        line.push_str(&one);
    }
    let rows = table.rows;
    let _ = write!(line, "): {rows} {}", if rows == 1 { "row" } else { "rows" });
    line
}
