//! The rows that a statement gives, as JSON.

use crate::{column::ColumnKind, limits::SqlLimits, source::distinct_all, table::Table};
use crossfeed_json::{Document, escape_into};
use rusqlite::{Rows, Statement, types::ValueRef};
use std::collections::HashMap;

/// The answer to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// A list with an object for each row: `[{"id": 1}]`. A column that comes straight from an imported one has its
    /// type: true and false, and JSON as such. Of several columns of one name the later ones have a number.
    pub json: Vec<u8>,
    /// The rows in it.
    pub rows: usize,
    /// Whether there were more.
    pub is_cut: bool,
}

/// How the values of a column are written.
struct OutputColumn {
    /// The key with quotes and a colon.
    key: Vec<u8>,
    kind: Option<ColumnKind>,
}

fn columns(statement: &Statement<'_>, words: &[String], tables: &[&Table]) -> Vec<OutputColumn> {
    let kinds: HashMap<(String, String), ColumnKind> = tables
        .iter()
        .flat_map(|table| {
            let own = table.name.to_ascii_lowercase();
            table
                .columns
                .iter()
                .map(move |column| ((own.clone(), column.name.to_ascii_lowercase()), column.kind))
        })
        .filter(|(_, kind)| matches!(kind, ColumnKind::Boolean | ColumnKind::Json))
        .collect();
    // Of rows of several `SELECT`s SQLite tells the columns of the first.
    let is_compound = words.iter().any(|word| {
        let compounds = ["UNION", "INTERSECT", "EXCEPT"];
        compounds.iter().any(|own| word.eq_ignore_ascii_case(own))
    });
    let names: Vec<&str> = statement.column_names().collect();
    let names = distinct_all(names.into_iter());
    let columns = statement.columns_with_metadata();
    columns
        .zip(names)
        .map(|(column, name)| {
            let origin = column.table_name().zip(column.origin_name());
            let origin = origin.filter(|_| !is_compound);
            let kind = origin.and_then(|(table, column)| {
                let place = (table.to_ascii_lowercase(), column.to_ascii_lowercase());
                kinds.get(&place).copied()
            });
            let mut key = vec![b'"'];
            escape_into(&mut key, &name);
            key.extend_from_slice(b"\":");
            OutputColumn { key, kind }
        })
        .collect()
}

/// Runs a statement.
pub(crate) fn run(
    statement: &mut Statement<'_>,
    words: &[String],
    tables: &[&Table],
    limits: &SqlLimits,
) -> rusqlite::Result<Answer> {
    let columns = columns(statement, words, tables);
    let rows = statement.query(())?;
    write(rows, &columns, limits)
}

fn write(
    mut rows: Rows<'_>,
    columns: &[OutputColumn],
    limits: &SqlLimits,
) -> rusqlite::Result<Answer> {
    let mut json = vec![b'['];
    let (mut count, mut is_cut) = (0, false);
    while let Some(row) = rows.next()? {
        if count == limits.rows {
            is_cut = true;
            break;
        }
        let before = json.len();
        json.extend_from_slice(if count > 0 { b",{" } else { b"{" });
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            json.extend_from_slice(&column.key);
            put(&mut json, row.get_ref(index)?, column.kind);
            if json.len() >= limits.answer_bytes {
                break;
            }
        }
        json.push(b'}');
        // The bracket that ends the list is counted.
        if json.len() >= limits.answer_bytes {
            json.truncate(before);
            is_cut = true;
            break;
        }
        count += 1;
    }
    json.push(b']');
    Ok(Answer {
        json,
        rows: count,
        is_cut,
    })
}

fn put(json: &mut Vec<u8>, value: ValueRef<'_>, kind: Option<ColumnKind>) {
    match (value, kind) {
        (ValueRef::Null, _) => json.extend_from_slice(b"null"),
        (ValueRef::Integer(0), Some(ColumnKind::Boolean)) => json.extend_from_slice(b"false"),
        (ValueRef::Integer(1), Some(ColumnKind::Boolean)) => json.extend_from_slice(b"true"),
        (ValueRef::Integer(integer), _) => json.extend_from_slice(integer.to_string().as_bytes()),
        // JSON has no words for what is not finite.
        (ValueRef::Real(real), _) if !real.is_finite() => json.extend_from_slice(b"null"),
        (ValueRef::Real(real), _) => json.extend_from_slice(format!("{real:?}").as_bytes()),
        // What a column of JSON holds is JSON; this is the second net.
        (ValueRef::Text(text), Some(ColumnKind::Json)) if is_json(text) => {
            json.extend_from_slice(text)
        }
        (ValueRef::Text(text), _) => put_text(json, &String::from_utf8_lossy(text)),
        (ValueRef::Blob(bytes), _) => put_text(json, &String::from_utf8_lossy(bytes)),
    }
}

fn put_text(json: &mut Vec<u8>, text: &str) {
    json.push(b'"');
    escape_into(json, text);
    json.push(b'"');
}

fn is_json(text: &[u8]) -> bool {
    (text.starts_with(b"{") || text.starts_with(b"["))
        && Document::new(text.to_vec()).root().is_ok()
}
