//! The public suite in `tests/suites/json-parsing`, whose file names say what to expect: `y_` is
//! JSON, `n_` and `i_` (invalid encoding) are not.

use crate::Document;
use std::{collections::BTreeMap, fs, path::Path};

/// Reads lines of the form `"name" = "reason"`; the format is a small part of TOML.
fn expected_failures(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, reason) = line.split_once(" = ").expect(line);
            (
                name.trim_matches('"').to_owned(),
                reason.trim_matches('"').to_owned(),
            )
        })
        .collect()
}

#[test]
fn passes_the_parsing_suite() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suites/json-parsing");
    // The published crate does not carry the suite.
    if !suite.exists() {
        return;
    }
    let mut expected =
        expected_failures(&fs::read_to_string(suite.join("expected-failures.toml")).unwrap());
    let mut surprises = Vec::new();
    let mut files = 0;
    for entry in fs::read_dir(suite.join("test_parsing")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let accepted = Document::new(fs::read(&path).unwrap()).root().is_ok();
        let passed = accepted == name.starts_with("y_");
        match expected.remove(&name) {
            Some(reason) if passed || reason.is_empty() => {
                surprises.push(format!("{name} passes, or has no reason"))
            }
            None if !passed => surprises.push(format!("{name}: accepted is {accepted}")),
            _ => files += 1,
        }
    }
    surprises.extend(
        expected
            .into_keys()
            .map(|name| format!("{name} is not a file")),
    );
    assert!(surprises.is_empty(), "{surprises:#?}");
    assert!(files > 300, "{files}");
}
