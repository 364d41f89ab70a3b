//! The table of crates on the architecture page.
//!
//! Comes in: the page, and the packages as their manifests describe them. Goes out: every way in which the two disagree. Not here: the
//! page's prose.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Package, is_ours};

const HEADER: [&str; 3] = ["Crate", "One line", "May depend on (ours)"];
/// Packages that may say `any`: nothing may depend on them, so their arrows hold no law.
const FREE: [&str; 2] = ["crossfeed-tests", "crossfeed-benches"];

/// One row, in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) arrows: Arrows,
}

/// What a row says that its crate depends on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrows {
    /// Not judged.
    Any,
    /// These crates, by their full names.
    Only(BTreeSet<String>),
}

/// The rows of the page's table, or what is wrong with it.
pub(super) fn read(page: &str) -> Result<Vec<Row>, Vec<String>> {
    let mut lines = page
        .lines()
        .enumerate()
        .skip_while(|(_, line)| cells(line) != Some(HEADER.to_vec()));
    if lines.next().is_none() {
        return Err(vec![format!(
            "no table with the header `| {} |`",
            HEADER.join(" | ")
        )]);
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    // The line under the header holds dashes only.
    for (index, line) in lines.skip(1) {
        let Some(cells) = cells(line) else { break };
        match row(index + 1, &cells) {
            Ok(row) => rows.push(row),
            Err(problem) => problems.push(format!("line {}: {problem}", index + 1)),
        }
    }
    if problems.is_empty() {
        Ok(rows)
    } else {
        Err(problems)
    }
}

/// The cells of a table row, or nothing for any other line.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

fn row(line: usize, cells: &[&str]) -> Result<Row, String> {
    let [name, sentence, arrows] = cells else {
        return Err(format!(
            "{} cells in place of {} (a bar inside a cell counts)",
            cells.len(),
            HEADER.len()
        ));
    };
    let name = code(name)
        .filter(|name| is_ours(name))
        .ok_or_else(|| format!("`{name}` is not a crate name of ours in backticks"))?;
    if sentence.is_empty() {
        return Err(format!("{name} has no description"));
    }
    Ok(Row {
        line,
        name: name.to_owned(),
        arrows: read_arrows(arrows)?,
    })
}

fn read_arrows(cell: &str) -> Result<Arrows, String> {
    match cell.trim_matches('`') {
        "any" => return Ok(Arrows::Any),
        "nothing" => return Ok(Arrows::Only(BTreeSet::new())),
        _ => {}
    }
    let mut names = BTreeSet::new();
    for part in cell.split(',').map(str::trim) {
        let name = code(part).ok_or_else(|| {
            format!(
                "`{part}`: write `nothing`, `any`, or crate names in backticks with commas between"
            )
        })?;
        let full = if is_ours(name) {
            name.to_owned()
        } else {
            format!("crossfeed-{name}")
        };
        if !names.insert(full) {
            return Err(format!("`{name}` stands twice"));
        }
    }
    Ok(Arrows::Only(names))
}

/// The content of a cell that is one code span.
pub(super) fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?
        .strip_suffix('`')
        .filter(|content| !content.is_empty() && !content.contains(['`', ' ']))
}

/// Every disagreement between the table and the manifests, as advice.
pub(super) fn compare(rows: &[Row], packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        if places.insert(&row.name, place).is_some() {
            problems.push(format!(
                "line {}: `{}` has two rows: keep one",
                row.line, row.name
            ));
        }
    }
    for package in packages
        .iter()
        .filter(|package| package.is_crate() && !places.contains_key(package.name.as_str()))
    {
        problems.push(format!(
            "`{}` ({}) has no row: add one",
            package.name,
            package.folder.display()
        ));
    }
    for (place, row) in rows.iter().enumerate() {
        let (line, name) = (row.line, row.name.as_str());
        let Some(package) = packages.iter().find(|package| package.name == name) else {
            problems.push(format!(
                "line {line}: there is no crate `{name}`: take the row out"
            ));
            continue;
        };
        let Arrows::Only(said) = &row.arrows else {
            if !FREE.contains(&name) {
                problems.push(format!(
                    "line {line}: `{name}` may not say `any`: list what it depends on"
                ));
            }
            continue;
        };
        for target in package.ours.difference(said) {
            problems.push(format!("line {line}: `{name}` depends on `{target}`, which its row does not allow: a new arrow is a design change (add it here with a decision record, or drop the dependency)"));
        }
        for target in said.difference(&package.ours) {
            problems.push(format!(
                "line {line}: `{name}` does not depend on `{target}`: take the arrow out"
            ));
        }
        for target in said.intersection(&package.ours).filter(|target| {
            places
                .get(target.as_str())
                .is_some_and(|other| *other > place)
        }) {
            problems.push(format!("line {line}: `{name}` depends on `{target}`, which stands below it: a crate may depend only on crates above it"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::architecture::manifest;

    fn page(rows: &str) -> String {
        format!(
            "# Title\n\n| Crate | One line | May depend on (ours) |\n|---|---|---|\n{rows}\n\nAfter `it`.\n"
        )
    }

    fn package(name: &str, ours: &[&str]) -> Package {
        let folder = if FREE.contains(&name) {
            name.trim_start_matches("crossfeed-").to_owned()
        } else {
            format!("crates/{name}")
        };
        let dependencies: String = ours
            .iter()
            .map(|target| format!("{target} = \"1\"\n"))
            .collect();
        let text = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}");
        manifest::read_package(Path::new(&folder), &text, &toml::Table::new()).unwrap()
    }

    /// The problems of a page beside `crossfeed-json` and `crossfeed-core`, which depends on it.
    #[track_caller]
    fn check(rows: &str, expected: &[&str]) {
        let packages = [
            package("crossfeed-json", &[]),
            package("crossfeed-core", &["crossfeed-json"]),
            package("crossfeed-tests", &["crossfeed-core"]),
        ];
        let problems = match read(&page(rows)) {
            Ok(rows) => compare(&rows, &packages),
            Err(problems) => problems,
        };
        assert_eq!(problems, expected, "{rows}");
    }

    const JSON: &str = "| `crossfeed-json` | Documents | nothing |\n";

    #[test]
    fn a_true_table_has_no_problems() {
        check(
            &format!(
                "{JSON}| `crossfeed-core` | Engine | `json` |\n| `crossfeed-tests` | Tests | any |"
            ),
            &[],
        );
        check(
            &format!("{JSON}| `crossfeed-core` | Engine | `crossfeed-json` |"),
            &[],
        );
    }

    #[test]
    fn crates_and_rows_must_match() {
        check(
            JSON,
            &["`crossfeed-core` (crates/crossfeed-core) has no row: add one"],
        );
        let core = "| `crossfeed-core` | Engine | `json` |\n";
        check(
            &format!("{JSON}{core}| `crossfeed-gone` | Gone | nothing |"),
            &["line 7: there is no crate `crossfeed-gone`: take the row out"],
        );
        check(
            &format!("{JSON}{JSON}{core}"),
            &["line 6: `crossfeed-json` has two rows: keep one"],
        );
    }

    #[test]
    fn arrows_must_match_both_ways() {
        check(
            &format!("{JSON}| `crossfeed-core` | Engine | nothing |"),
            &[
                "line 6: `crossfeed-core` depends on `crossfeed-json`, which its row does not allow: a new arrow is a design change (add it here with a decision record, or drop the dependency)",
            ],
        );
        check(
            &format!("{JSON}| `crossfeed-core` | Engine | `json`, `wire` |"),
            &["line 6: `crossfeed-core` does not depend on `crossfeed-wire`: take the arrow out"],
        );
        check(
            &format!("{JSON}| `crossfeed-core` | Engine | any |"),
            &["line 6: `crossfeed-core` may not say `any`: list what it depends on"],
        );
    }

    #[test]
    fn arrows_point_up() {
        check(
            &format!("| `crossfeed-core` | Engine | `json` |\n{JSON}"),
            &[
                "line 5: `crossfeed-core` depends on `crossfeed-json`, which stands below it: a crate may depend only on crates above it",
            ],
        );
    }

    #[test]
    fn malformed_tables_are_told_why() {
        let refused = |page: &str, expected: &str| {
            assert_eq!(read(page), Err(vec![expected.to_owned()]), "{page}")
        };
        refused(
            "# Title\n",
            "no table with the header `| Crate | One line | May depend on (ours) |`",
        );
        refused(
            &page("| crossfeed-json | Documents | nothing |"),
            "line 5: `crossfeed-json` is not a crate name of ours in backticks",
        );
        refused(
            &page("| `crossfeed-json` | | nothing |"),
            "line 5: crossfeed-json has no description",
        );
        refused(
            &page("| `crossfeed-json` | Documents |"),
            "line 5: 2 cells in place of 3 (a bar inside a cell counts)",
        );
        refused(
            &page("| `crossfeed-json` | Documents | `wire`, stores |"),
            "line 5: `stores`: write `nothing`, `any`, or crate names in backticks with commas between",
        );
        refused(
            &page("| `crossfeed-json` | Documents | `wire`, `wire` |"),
            "line 5: `wire` stands twice",
        );
    }
}
