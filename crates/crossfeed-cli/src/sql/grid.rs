//! Rows as a table for a reader.

use crossfeed::{
    error::printable,
    json::{Cursor, Document, Kind},
};
use std::io::{self, Write};

/// The most characters of a cell.
const MAX_CELL: usize = 60;

/// Writes a list of objects with the same keys as aligned columns, in lines of about so many characters.
pub(crate) fn write(json: &[u8], columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::new(json.to_vec());
    let rows: Vec<Vec<(String, bool)>> = document
        .root()
        .ok()
        .into_iter()
        .flat_map(Cursor::items)
        .map(cells)
        .collect();
    let first = document.root().ok().and_then(|root| root.at(0));
    let heads = first.map(|row| {
        row.members()
            .map(|(key, _)| cut(&key.text()))
            .collect::<Vec<_>>()
    });
    let Some(heads) = heads else {
        return writeln!(out, "(no rows)");
    };
    let most = (columns / heads.len().max(1)).clamp(8, MAX_CELL);
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| Some(row.get(column)?.0.chars().count()));
        cells
            .chain([heads[column].chars().count()])
            .max()
            .unwrap_or_default()
            .min(most)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let heads: Vec<(String, bool)> = heads.into_iter().map(|head| (head, false)).collect();
    line(&heads, &widths, out)?;
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    writeln!(out, "{}", rules.join("  "))?;
    rows.iter().try_for_each(|row| line(row, &widths, out))?;
    writeln!(out, "({})", crate::report::count(rows.len(), "row"))
}

/// The texts of a row, and whether each is a number.
fn cells(row: Cursor<'_>) -> Vec<(String, bool)> {
    let cell = |value: Cursor<'_>| match value.kind() {
        Kind::Null => (String::new(), false),
        Kind::String => (cut(&value.as_str().unwrap_or_default()), false),
        kind => (
            cut(&String::from_utf8_lossy(value.raw())),
            kind == Kind::Number,
        ),
    };
    row.members().map(|(_, value)| cell(value)).collect()
}

fn cut(text: &str) -> String {
    let start: String = text.chars().take(MAX_CELL + 1).collect();
    printable(&start).to_string()
}

fn line(cells: &[(String, bool)], widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let cells = cells.iter().zip(widths).map(|((text, is_number), width)| {
        let count = text.chars().count();
        if count > *width {
            let start: String = text.chars().take(width - 1).collect();
            format!("{start}…")
        } else if *is_number {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    });
    let cells: Vec<String> = cells.collect();
    writeln!(out, "{}", cells.join("  ").trim_end())
}
