//! The examples in the specifications, executed.
//!
//! A block that begins with ```` ```json references ````, `canonical`, `select`, `views` and so on holds one group of cases, in the format of that file in
//! `suites/crossfeed`. The table of repairs in `specs/select.md` is executed, too.

use crate::{
    client_specs::Clients,
    own_suite::{Canonical, Errors, Group, Outcome, References, Select, Story},
    projection_specs::{Inspections, Learned, Projected, Projections, Summaries},
    schema_specs::{Profiles, Schemas},
    view_specs::{Artifacts, Views},
};
use crossfeed_jmespath::repair::candidates;
use crossfeed_tests::workspace_root;
use std::fs;

fn pages() -> Vec<(String, String)> {
    let folder = workspace_root().join("specs");
    let mut pages: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// The blocks of a page that are executed: their kind and text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```json ")
        .skip(1)
        .filter_map(|rest| rest.split_once("```")?.0.split_once('\n'))
        .collect()
}

fn judge<G: Group>(text: &str, outcome: &mut dyn FnMut(&str, Outcome)) {
    let group: G = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    group.judge(outcome);
}

#[test]
fn examples_hold() {
    let mut wrong = Vec::new();
    let mut pages_with_examples = 0;
    for (name, page) in pages() {
        let mut cases = 0;
        for (kind, text) in blocks(&page) {
            let mut note = |case: &str, outcome: Outcome| {
                cases += 1;
                if let Err(problem) = outcome {
                    wrong.push(format!("{name}, {case}: {problem}"));
                }
            };
            match kind {
                "references" => judge::<References>(text, &mut note),
                "canonical" => judge::<Canonical>(text, &mut note),
                "clients" => judge::<Clients>(text, &mut note),
                "select" => judge::<Select>(text, &mut note),
                "errors" => judge::<Errors>(text, &mut note),
                "profiles" => judge::<Profiles>(text, &mut note),
                "schemas" => judge::<Schemas>(text, &mut note),
                "views" => judge::<Views>(text, &mut note),
                "projection" => judge::<Projections>(text, &mut note),
                "projected" => judge::<Projected>(text, &mut note),
                "summaries" => judge::<Summaries>(text, &mut note),
                "inspections" => judge::<Inspections>(text, &mut note),
                "learned" => judge::<Learned>(text, &mut note),
                "artifacts" => judge::<Artifacts>(text, &mut note),
                "sessions" => judge::<Story>(text, &mut note),
                other => panic!("{name}: a block of kind `{other}`"),
            }
        }
        pages_with_examples += usize::from(cases > 0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        pages_with_examples >= 10,
        "{pages_with_examples} pages have examples"
    );
}

/// The cells of a table row, with their code marks and escapes taken off.
fn cells(row: &str) -> Vec<String> {
    row.trim_matches('|')
        .replace("\\|", "\u{1}")
        .split('|')
        .map(|cell| {
            let cell = cell.trim().replace('\u{1}', "|");
            let inside = cell
                .strip_prefix("``")
                .and_then(|rest| rest.strip_suffix("``"))
                .or_else(|| cell.strip_prefix('`')?.strip_suffix('`'));
            inside.unwrap_or(&cell).trim().to_owned()
        })
        .collect()
}

#[test]
fn the_table_of_repairs_holds() {
    let page = fs::read_to_string(workspace_root().join("specs/select.md")).unwrap();
    let table = page
        .split_once("| repair | as written | read as |")
        .unwrap()
        .1;
    let rows: Vec<_> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert!(rows.len() > 20);
    let keys = ["content-type", "x-id", "status", "@type", "kind", "name"];
    for row in rows {
        let [rule, written, read] = row.as_slice() else {
            panic!("{row:?}");
        };
        let found = candidates(written, &|key| keys.contains(&key));
        let reading = found.iter().find(|candidate| candidate.expression == *read);
        let reading = reading.unwrap_or_else(|| panic!("{written} is read as {found:?}"));
        assert!(
            reading
                .repairs
                .iter()
                .any(|repair| repair.rule.as_str() == rule),
            "{written}: {:?}",
            reading.repairs
        );
    }
}
