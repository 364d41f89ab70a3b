//! The tables of modules in `specs/modules.md`: which module of a crate may import which.
//!
//! Like the table of crates: a module imports only modules above it, so that no two depend on each other. An import that points down
//! is listed under the table as "- `a` -> `b`: reason".

use std::collections::{BTreeMap, BTreeSet};

use super::source::Crate;
use super::table::{cells, code};

const HEADER: [&str; 3] = ["Module", "What it does", "May import"];

/// The table of one crate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The line of its header.
    line: usize,
    pub(super) name: String,
    rows: Vec<Row>,
    /// Imports that point down.
    exceptions: Vec<(usize, (String, String))>,
}

#[derive(Debug, PartialEq, Eq)]
struct Row {
    line: usize,
    name: String,
    imports: BTreeSet<String>,
}

/// The tables of the page; each belongs to the crate that the heading before it names.
pub(super) fn read(page: &str) -> Result<Vec<Table>, Vec<String>> {
    let mut tables: Vec<Table> = Vec::new();
    let mut problems = Vec::new();
    let mut heading = "";
    let mut lines = page.lines().zip(1..).peekable();
    while let Some((text, line)) = lines.next() {
        if text.starts_with('#') {
            heading = text;
        } else if cells(text).is_some_and(|cells| cells == HEADER) {
            let Some(name) = heading.split('`').nth(1) else {
                problems.push(format!(
                    "line {line}: the heading before the table names no crate in backticks"
                ));
                continue;
            };
            let mut rows = Vec::new();
            lines.next();
            while let Some(((text, line), cells)) = lines
                .peek()
                .and_then(|&(text, line)| Some(((text, line), cells(text)?)))
            {
                lines.next();
                match row(line, &cells) {
                    Ok(row) => rows.push(row),
                    Err(problem) => problems.push(format!("line {line}: `{text}`: {problem}")),
                }
            }
            tables.push(Table {
                line,
                name: name.to_owned(),
                rows,
                exceptions: Vec::new(),
            });
        } else if let Some(table) = tables.last_mut()
            && heading.contains(&format!("`{}`", table.name))
            && let Some(arrow) = exception(text)
        {
            table.exceptions.push((line, arrow));
        }
    }
    if problems.is_empty() {
        Ok(tables)
    } else {
        Err(problems)
    }
}

fn row(line: usize, cells: &[&str]) -> Result<Row, String> {
    let [name, sentence, imports] = cells else {
        return Err(format!(
            "{} cells in place of {}",
            cells.len(),
            HEADER.len()
        ));
    };
    let name = code(name).ok_or("write the module in backticks")?;
    if sentence.is_empty() {
        return Err("say what it does".to_owned());
    }
    let mut row = Row {
        line,
        name: name.to_owned(),
        imports: BTreeSet::new(),
    };
    if *imports != "nothing" {
        for part in imports.split(", ") {
            let import =
                code(part).ok_or("write `nothing`, or modules in backticks with commas between")?;
            if !row.imports.insert(import.to_owned()) {
                return Err(format!("`{import}` stands twice"));
            }
        }
    }
    Ok(row)
}

/// "- `a` -> `b`: reason".
fn exception(text: &str) -> Option<(String, String)> {
    let (from, rest) = text.strip_prefix("- ")?.split_once(" -> ")?;
    let (to, reason) = rest.split_once(": ")?;
    (!reason.trim().is_empty()).then_some(())?;
    Some((code(from)?.to_owned(), code(to)?.to_owned()))
}

/// Every disagreement between a table and its crate, as advice.
pub(super) fn compare(table: &Table, code: &Crate) -> Vec<String> {
    let name = &table.name;
    let mut problems: Vec<String> = code.problems.clone();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, row) in table.rows.iter().enumerate() {
        if places.insert(&row.name, place).is_some() {
            problems.push(format!(
                "line {}: `{}` has two rows: keep one",
                row.line, row.name
            ));
        }
        if !code.modules.contains(&row.name) {
            problems.push(format!(
                "line {}: {name} has no module `{}`: take the row out",
                row.line, row.name
            ));
        }
        for import in &row.imports {
            if !code
                .arrows
                .contains_key(&(row.name.clone(), import.clone()))
            {
                problems.push(format!(
                    "line {}: `{}` does not import `{import}`: take it out of the row",
                    row.line, row.name
                ));
            }
        }
    }
    for module in &code.modules {
        if !places.contains_key(module.as_str()) {
            problems.push(format!(
                "line {}: module `{module}` of {name} has no row: add one",
                table.line
            ));
        }
    }
    let mut down = BTreeSet::new();
    for ((from, to), written) in &code.arrows {
        let (Some(place), Some(other)) = (places.get(from.as_str()), places.get(to.as_str()))
        else {
            continue;
        };
        let row = &table.rows[*place];
        if !row.imports.contains(to) {
            problems.push(format!(
                "line {}: `{from}` imports `{to}`, which its row does not allow ({written})",
                row.line
            ));
        }
        if other > place {
            down.insert((from, to));
            if !table
                .exceptions
                .iter()
                .any(|(_, (a, b))| (a, b) == (from, to))
            {
                problems.push(format!(
                    "line {}: `{from}` imports `{to}`, which stands below it ({written}): move what both need to a module above them",
                    row.line
                ));
            }
        }
    }
    for (line, (from, to)) in &table.exceptions {
        if !down.contains(&(from, to)) {
            problems.push(format!(
                "line {line}: no import of `{to}` by `{from}` points down: take the line out"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &str) -> String {
        format!(
            "# Title\n\n## Modules of `crossfeed-x`\n\n| Module | What it does | May import |\n|---|---|---|\n{rows}\n## More\n\n- `q` -> `r`: elsewhere\n"
        )
    }

    /// The problems of a table beside a crate in which `b` and `c` import `a`.
    #[track_caller]
    fn check(rows: &str, expected: &[&str]) {
        check_with(&[("b", "a"), ("c", "a")], rows, expected);
    }

    #[track_caller]
    fn check_with(arrows: &[(&str, &str)], rows: &str, expected: &[&str]) {
        let arrows = arrows.iter().map(|(from, to)| {
            let arrow = ((*from).to_owned(), (*to).to_owned());
            (arrow, format!("src/{from}.rs: `crate::{to}`"))
        });
        let code = Crate {
            modules: ["a", "b", "c"].map(str::to_owned).into(),
            arrows: arrows.collect(),
            ..Crate::default()
        };
        let problems = match read(&page(rows)) {
            Ok(tables) => compare(&tables[0], &code),
            Err(problems) => problems,
        };
        assert_eq!(problems, expected, "{rows}");
    }

    const TRUE: &str = "| `a` | Ground | nothing |\n| `b` | Uses | `a` |\n| `c` | Uses | `a` |\n";

    #[test]
    fn a_true_table_has_no_problems() {
        check(TRUE, &[]);
    }

    #[test]
    fn modules_and_rows_must_match() {
        check(
            "| `a` | Ground | nothing |\n| `b` | Uses | `a` |\n",
            &["line 5: module `c` of crossfeed-x has no row: add one"],
        );
        check(
            &format!("{TRUE}| `d` | Gone | nothing |\n"),
            &["line 10: crossfeed-x has no module `d`: take the row out"],
        );
        check(
            &format!("{TRUE}| `c` | Again | `a` |\n"),
            &["line 10: `c` has two rows: keep one"],
        );
    }

    #[test]
    fn arrows_must_match_both_ways() {
        check(
            "| `a` | Ground | nothing |\n| `b` | Uses | nothing |\n| `c` | Uses | `a` |\n",
            &["line 8: `b` imports `a`, which its row does not allow (src/b.rs: `crate::a`)"],
        );
        check(
            "| `a` | Ground | nothing |\n| `b` | Uses | `a` |\n| `c` | Uses | `a`, `b` |\n",
            &["line 9: `c` does not import `b`: take it out of the row"],
        );
    }

    #[test]
    fn an_import_that_points_down_needs_a_reason() {
        let arrows = [("a", "b"), ("b", "a"), ("c", "a")];
        let rows = "| `a` | Ground | `b` |\n| `b` | Uses | `a` |\n| `c` | Uses | `a` |\n";
        check_with(
            &arrows,
            rows,
            &[
                "line 7: `a` imports `b`, which stands below it (src/a.rs: `crate::b`): move what both need to a module above them",
            ],
        );
        check_with(
            &arrows,
            &format!("{rows}\n- `a` -> `b`: one structure and its builder\n"),
            &[],
        );
        check(
            &format!("{TRUE}\n- `a` -> `b`: no more\n"),
            &["line 11: no import of `b` by `a` points down: take the line out"],
        );
    }

    #[test]
    fn rows_must_be_readable() {
        check(
            "| a | Ground | nothing |\n",
            &["line 7: `| a | Ground | nothing |`: write the module in backticks"],
        );
        check(
            "| `a` | | nothing |\n",
            &["line 7: `| `a` | | nothing |`: say what it does"],
        );
        check(
            "| `a` | Ground | `b` and `c` |\n",
            &[
                "line 7: `| `a` | Ground | `b` and `c` |`: write `nothing`, or modules in backticks with commas between",
            ],
        );
        let problems = read("| Module | What it does | May import |\n|---|---|---|\n");
        let expected = "line 1: the heading before the table names no crate in backticks";
        assert_eq!(problems, Err(vec![expected.to_owned()]));
    }
}
