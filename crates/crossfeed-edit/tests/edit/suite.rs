//! The test suite of JSON Patch: `tests/suites/json-patch`.

use crate::patched;
use serde_json::Value;

/// The cases that the suite itself has switched off.
const DISABLED: [&str; 4] = [
    "tests.json: Toplevel scalar values OK?",
    "tests.json: Whole document",
    "tests.json: duplicate ops",
    "spec_tests.json: A.13 Invalid JSON Patch Document",
];

#[test]
fn all_enabled_cases_pass() {
    let files = [
        (
            "tests.json",
            include_str!("../suites/json-patch/tests.json"),
            75,
        ),
        (
            "spec_tests.json",
            include_str!("../suites/json-patch/spec_tests.json"),
            16,
        ),
    ];
    let mut disabled = Vec::new();
    let mut failures = Vec::new();
    for (file, json, expected_count) in files {
        let mut count = 0;
        for (index, case) in serde_json::from_str::<Vec<Value>>(json)
            .unwrap()
            .iter()
            .enumerate()
        {
            let name = case["comment"].as_str().unwrap_or_default();
            if case["disabled"] == true {
                disabled.push(format!("{file}: {name}"));
                continue;
            }
            let Some(patch) = case.get("patch") else {
                continue;
            };
            count += 1;
            let outcome = patched(&case["doc"].to_string(), patch);
            let failed = match (&outcome, case.get("expected"), case.get("error")) {
                (Ok(json), Some(expected), None) => {
                    serde_json::from_str::<Value>(json).unwrap() != *expected
                }
                // Without either, the case says that the patch can be applied.
                (Ok(_), None, None) | (Err(_), _, Some(_)) => false,
                _ => true,
            };
            if failed {
                failures.push(format!("{file} {index} {name}: {outcome:?}"));
            }
        }
        assert_eq!(count, expected_count, "{file}");
    }
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(disabled, DISABLED);
}
