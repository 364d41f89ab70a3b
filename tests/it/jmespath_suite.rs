//! The official compliance suite of JMESPath, over documents and over both ways out of them.

use crate::support::{same, same_json};
use crossfeed_jmespath::{
    Arena, Budget, EvalError, Expression, Limits, ParseError, Tables, View, evaluate,
};
use crossfeed_json::Document;
use crossfeed_tests::{ExpectedFailures, suite};
use serde::Deserialize;
use serde_json::Value;
use std::{
    fs,
    io::{self, Write as _},
};

#[derive(Deserialize)]
struct Group {
    given: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    expression: String,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<String>,
    bench: Option<String>,
}

/// A result of `null` is one; `Option` alone would take it for absent.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[test]
fn the_official_suite_passes() {
    let folder = suite("jmespath");
    let expected = ExpectedFailures::read(&folder).unwrap();
    let mut run = expected.run();
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let (mut judged, mut benches) = (0, 0);
    for file in files {
        let groups: Vec<Group> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let file = file.file_name().unwrap().to_string_lossy();
        for (number, group) in groups.iter().enumerate() {
            let document = Document::new(group.given.to_string());
            for (index, case) in group.cases.iter().enumerate() {
                if case.bench.is_some() {
                    // There is no outcome to judge, but one there must be.
                    let _ = outcome(&case.expression, &document);
                    benches += 1;
                } else {
                    judged += 1;
                    run.record(&format!("{file}#{number}/{index}"), check(case, &document));
                }
            }
        }
    }
    let passed = run.finish().unwrap_or_else(|problems| panic!("{problems}"));
    let _ = writeln!(
        io::stdout(),
        "jmespath suite: {passed} of {judged}, and {benches} benchmarks that only had to end"
    );
    assert_eq!((judged, benches), (867, 16), "the suite has lost cases");
}

fn check(case: &Case, document: &Document) -> Result<(), String> {
    let found = outcome(&case.expression, document);
    match (&case.result, &case.error, found) {
        (Some(expected), None, Ok(found)) if same_json(&found, &expected.to_string()) => Ok(()),
        (None, Some(expected), Err(error)) if *expected == error => Ok(()),
        (result, error, found) => Err(format!(
            "`{}`: {found:?}, not {result:?} {error:?}",
            case.expression
        )),
    }
}

/// The value as JSON, or the suite's word for the error; the same without side tables, with all of
/// them, and once they are there.
fn outcome(expression: &str, document: &Document) -> Result<String, String> {
    let without = outcome_with(expression, document, Tables::Never);
    for tables in [Tables::WherePaying, Tables::Always, Tables::WherePaying] {
        let found = outcome_with(expression, document, tables);
        assert_eq!(found, without, "`{expression}` with {tables:?}");
    }
    without
}

fn outcome_with(expression: &str, document: &Document, tables: Tables) -> Result<String, String> {
    let expression = Expression::parse(expression).map_err(|error| {
        let word = match error {
            ParseError::Syntax { .. } => "syntax",
            ParseError::UnknownFunction { .. } => "unknown-function",
            ParseError::Arity { .. } => "invalid-arity",
            ParseError::ZeroStep => "invalid-value",
            _ => "refused",
        };
        word.to_owned()
    })?;
    let root = document.root().unwrap();
    let limits = Limits::default().with_tables(tables);
    let budget = Budget::new(&limits, root.value_count());
    let arena = Arena::new();
    match evaluate(&expression, &View::from(root), &arena, &budget) {
        Ok(found) => Ok(written(&found.unwrap_or(View::null()))),
        Err(EvalError::Type(_)) => Err("invalid-type".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The view as JSON, by both of its ways out.
fn written(view: &View<'_>) -> String {
    let mut json = Vec::new();
    view.write(&mut json, usize::MAX).unwrap();
    let written = Document::new(json);
    let value = Document::new(view.to_value(&mut usize::MAX.clone()).unwrap().to_string());
    assert!(same(written.root().unwrap(), value.root().unwrap()));
    String::from_utf8(written.raw().to_vec()).unwrap()
}
