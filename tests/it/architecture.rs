//! The repository is laid out as its documents say.
//!
//! Each test reads files of the repository as text, without cargo or git, and lists everything that must be corrected. The modules
//! below do the reading; they are tested on small strings.

mod manifest;
mod markdown;
mod modules;
mod source;
mod table;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crossfeed_tests::workspace_root;

const PAGE: &str = "ARCHITECTURE.md";
const MODULES: &str = "specs/modules.md";
/// A crate with more lines of product code than this has a table of its modules.
const MAX_LINES_WITHOUT_TABLE: usize = 5000;
const PAGES_WITH_LINKS: [&str; 5] = [
    "README.md",
    PAGE,
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

/// Fails with all problems at once, one a line.
fn report(law: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{law}\n- {}\n", problems.join("\n- "));
}

#[test]
fn the_table_lists_every_crate_and_every_arrow() {
    let root = workspace_root();
    let packages = manifest::read_workspace(&root).unwrap();
    let problems = match table::read(&tree::read(&root, PAGE).unwrap()) {
        Ok(rows) => table::compare(&rows, &packages),
        Err(problems) => problems,
    };
    report(
        &format!("the table of {PAGE} and the Cargo.toml files must say the same:"),
        &problems,
    );
}

#[test]
fn the_module_tables_list_every_import() {
    let root = workspace_root();
    let tables = match modules::read(&tree::read(&root, MODULES).unwrap()) {
        Ok(tables) => tables,
        Err(problems) => return report(&format!("{MODULES} must be readable:"), &problems),
    };
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for package in manifest::read_workspace(&root).unwrap() {
        if !package.is_crate() {
            continue;
        }
        let code = source::read(&root, &package.folder).unwrap();
        match tables.iter().find(|table| table.name == package.name) {
            Some(table) => problems.extend(modules::compare(table, &code)),
            None if code.lines > MAX_LINES_WITHOUT_TABLE => problems.push(format!(
                "{} has {} lines and no table of its modules: add one",
                package.name, code.lines
            )),
            None => {}
        }
        names.insert(package.name);
    }
    for table in tables.iter().filter(|table| !names.contains(&table.name)) {
        problems.push(format!(
            "there is no crate `{}`: delete its table",
            table.name
        ));
    }
    report(&format!("modules import what {MODULES} allows:"), &problems);
}

#[test]
fn every_path_in_the_architecture_pages_exists() {
    let root = workspace_root();
    let files = tree::files(&root).unwrap();
    let names: BTreeSet<&str> = files
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    let top: BTreeSet<&str> = files
        .iter()
        .filter_map(|path| path.iter().next()?.to_str())
        .collect();
    let mut problems = Vec::new();
    for page in [PAGE, MODULES] {
        for span in markdown::code_spans(&tree::read(&root, page).unwrap()) {
            let Some(path) = markdown::repository_path(&span.text, &top) else {
                continue;
            };
            let known = if path.contains('/') {
                root.join(path).exists()
            } else {
                names.contains(path)
            };
            if !known {
                problems.push(format!(
                    "{page}:{}: `{path}` does not exist: correct it, or create the file",
                    span.line
                ));
            }
        }
    }
    report("a path in backticks must lead to something:", &problems);
}

#[test]
fn every_crate_takes_lints_and_metadata_from_the_workspace() {
    let packages = manifest::read_workspace(&workspace_root()).unwrap();
    assert!(!packages.is_empty(), "no package below crates/");
    let problems: Vec<String> = packages
        .iter()
        .flat_map(manifest::Package::problems)
        .collect();
    report("manifests follow the workspace:", &problems);
}

#[test]
fn every_relative_link_leads_somewhere() {
    let root = workspace_root();
    let mut pages: Vec<PathBuf> = PAGES_WITH_LINKS.iter().map(PathBuf::from).collect();
    pages.extend(pages_below(&root, "docs"));
    pages.extend(pages_below(&root, "specs"));
    let mut problems = Vec::new();
    for page in pages {
        match tree::read(&root, &page) {
            Ok(text) => problems.extend(broken_links(&root, &page, &text)),
            Err(problem) => problems.push(problem),
        }
    }
    report(
        "relative links must lead to a file, and their anchors to a heading:",
        &problems,
    );
}

#[test]
fn every_rule_of_a_specification_has_a_number() {
    let root = workspace_root();
    let mut problems = Vec::new();
    for page in pages_below(&root, "specs") {
        // The index, and the decisions, hold no rules.
        if page.parent() != Some(Path::new("specs")) || page.ends_with("README.md") {
            continue;
        }
        let rules = markdown::misnumbered_rules(&tree::read(&root, &page).unwrap());
        problems.extend(
            rules
                .iter()
                .map(|rule| format!("{}:{}: {}", page.display(), rule.line, rule.text)),
        );
    }
    report("rules are numbered within their section:", &problems);
}

/// The pages below a folder.
fn pages_below(root: &Path, folder: &'static str) -> impl Iterator<Item = PathBuf> + use<> {
    let files = tree::files(root).unwrap();
    files.into_iter().filter(move |path| {
        path.starts_with(folder) && path.extension().is_some_and(|extension| extension == "md")
    })
}

#[test]
fn no_file_names_a_home_directory() {
    let root = workspace_root();
    let mut problems = Vec::new();
    for path in tree::files(&root).unwrap() {
        let Ok(text) = tree::read(&root, &path) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            if let Some(found) = tree::home_directory(line) {
                problems.push(format!(
                    "{}:{}: `{found}`: write a relative path",
                    path.display(),
                    index + 1
                ));
            }
        }
    }
    report(
        "a committed file must not hold a path of somebody's machine:",
        &problems,
    );
}

/// What is wrong with the relative links of one page.
fn broken_links(root: &Path, page: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for link in markdown::links(text) {
        let (path, anchor) = match link.text.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (link.text.as_str(), None),
        };
        let target = if path.is_empty() {
            Some(page.to_path_buf())
        } else {
            tree::resolve(page, path)
        };
        let place = format!("{}:{}: link `{}`", page.display(), link.line, link.text);
        let Some(target) = target else {
            problems.push(format!("{place} leads out of the repository"));
            continue;
        };
        if !root.join(&target).exists() {
            problems.push(format!("{place}: there is no {}", target.display()));
            continue;
        }
        let Some(anchor) = anchor.filter(|_| {
            target
                .extension()
                .is_some_and(|extension| extension == "md")
        }) else {
            continue;
        };
        let heading =
            tree::read(root, &target).is_ok_and(|text| markdown::anchors(&text).contains(anchor));
        if !heading {
            problems.push(format!(
                "{place}: {} has no heading `#{anchor}`",
                target.display()
            ));
        }
    }
    problems
}

#[test]
fn broken_links_are_found() {
    let root = workspace_root();
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(
            broken_links(&root, Path::new("tests/page.md"), text),
            expected,
            "{text}"
        );
    };
    check(
        "[a](Cargo.toml) [b](../Cargo.toml) [c](https://example.com/x) [d](suites/jmespath)",
        &[],
    );
    check(
        "text\n[a](nowhere.md)",
        &["tests/page.md:2: link `nowhere.md`: there is no tests/nowhere.md"],
    );
    check(
        "[a](../../x)",
        &["tests/page.md:1: link `../../x` leads out of the repository"],
    );
    check("[a](suites/jmespath/SOURCE.md#layout-of-a-file)", &[]);
    check(
        "[a](suites/jmespath/SOURCE.md#lay)",
        &[
            "tests/page.md:1: link `suites/jmespath/SOURCE.md#lay`: tests/suites/jmespath/SOURCE.md has no heading `#lay`",
        ],
    );
}
