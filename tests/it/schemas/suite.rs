//! The official JSON Schema test suite: the base validation gives its verdicts, and rewriting keeps its laws over every schema of it.
//!
//! The shown schema is one of tool arguments, so at the root only objects are judged; every schema is *lifted* into a property too, where
//! the other kinds of values are judged.

use super::laws::{Pair, compile};
use crate::support::session;
use crossfeed_core::{InputSchema, Session};
use crossfeed_tests::{ExpectedFailures, suite};
use crossfeed_tools::Style;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    thread,
};

/// A folder of the suite, and the dialect that its schemas are in where they declare none.
const DRAFTS: [(&str, &str); 2] = [
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
];

/// Keywords by which a schema names itself or points at another.
const ADDRESSES: [&str; 7] = [
    "$ref",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "id",
];

#[derive(Deserialize)]
struct Group {
    schema: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
pub(crate) struct Test {
    description: String,
    pub(crate) data: Value,
    pub(crate) valid: bool,
}

/// A schema of the suite, its dialect declared.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) tests: Vec<Test>,
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files
}

/// The whole suite, in the order of its files.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (draft, dialect) in DRAFTS {
        for folder in [draft.to_owned(), format!("{draft}/optional")] {
            for file in files(&suite("json-schema").join(&folder)) {
                let groups: Vec<Group> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                let stem = file.file_stem().unwrap().to_string_lossy();
                for (index, group) in groups.into_iter().enumerate() {
                    cases.push(Case {
                        name: format!("{folder}/{stem}#{index}"),
                        schema: declared(group.schema, dialect),
                        tests: group.tests,
                    });
                }
            }
        }
    }
    cases
}

/// The schema with its dialect declared, as the first key.
fn declared(schema: Value, dialect: &str) -> Value {
    match schema {
        Value::Object(members) if !members.contains_key("$schema") => {
            let first = ("$schema".to_owned(), json!(dialect));
            Value::Object(std::iter::once(first).chain(members).collect())
        }
        schema => schema,
    }
}

/// The schema as that of one parameter, `value`; `None` where that would change what it means.
fn lifted(schema: &Value) -> Option<Value> {
    let mut root = Map::new();
    let inner = match schema {
        Value::Object(members) => {
            let mut members = members.clone();
            let dialect = members.shift_remove("$schema")?;
            let draft7 = dialect == DRAFTS[1].1;
            root.insert("$schema".to_owned(), dialect);
            if holds_address(schema) && !members.contains_key("$id") {
                let id = json!("https://crossfeed.invalid/lifted");
                if draft7 && members.contains_key("$ref") {
                    // Beside `$ref` an `$id` would count for nothing there.
                    let reference = json!({"$ref": members.shift_remove("$ref")?});
                    members.insert("allOf".to_owned(), json!([reference]));
                    let known = ["definitions", "allOf"];
                    members
                        .keys()
                        .all(|key| known.contains(&key.as_str()))
                        .then_some(())?;
                }
                members.insert("$id".to_owned(), id);
            }
            Value::Object(members)
        }
        schema => schema.clone(),
    };
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), json!({"value": inner}));
    root.insert("required".to_owned(), json!(["value"]));
    Some(Value::Object(root))
}

fn holds_address(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| ADDRESSES.contains(&key.as_str()) || holds_address(value)),
        Value::Array(items) => items.iter().any(holds_address),
        _ => false,
    }
}

/// The base validation gives the suite's verdicts: on the plain schema, through the engine, for arguments that hold no reference.
fn verdicts(
    case: &Case,
    session: &Session,
    runtime: &tokio::runtime::Runtime,
) -> Result<(), String> {
    let schema = InputSchema::compile(case.schema.clone()).map_err(|error| error.to_string())?;
    for test in &case.tests {
        let resolved = runtime.block_on(session.resolve(test.data.clone(), Some(&schema)));
        if resolved.is_ok() != test.valid {
            return Err(format!(
                "wrong on `{}`: {:?}",
                test.description,
                resolved.err()
            ));
        }
    }
    Ok(())
}

/// The laws over the instances that a schema accepts.
fn laws<'t>(
    schema: &Value,
    style: Style,
    instances: impl Iterator<Item = &'t Value>,
) -> Result<usize, String> {
    let Some(pair) = Pair::new(schema, style)? else {
        return Ok(0);
    };
    let mut judged = 0;
    for instance in instances {
        if instance.is_object() && pair.own.is_valid(instance) {
            judged += 1;
            pair.admits(instance)
                .map_err(|law| format!("{law}\n  original: {schema}"))?;
        }
    }
    Ok(judged)
}

/// One case at the root and lifted, in one style: names, outcomes, and how many valid instances were judged.
fn both(case: &Case, style: Style) -> Vec<(String, Result<usize, String>)> {
    let data = || case.tests.iter().map(|test| &test.data);
    let mut outcomes = vec![(
        format!("{}/{style}", case.name),
        laws(&case.schema, style, data()),
    )];
    let lifted = lifted(&case.schema).filter(|lifted| {
        // Where the base validation finds another meaning in it, it is another schema.
        let (Ok(own), Ok(lifted)) = (compile(&case.schema), compile(lifted)) else {
            return false;
        };
        data().all(|data| own.is_valid(data) == lifted.is_valid(&json!({"value": data})))
    });
    if let Some(lifted) = lifted {
        let instances: Vec<Value> = data().map(|data| json!({"value": data})).collect();
        outcomes.push((
            format!("{}/{style}/lifted", case.name),
            laws(&lifted, style, instances.iter()),
        ));
    }
    outcomes
}

#[test]
fn rewriting_keeps_its_laws_over_the_official_suite() {
    let cases = cases();
    let expected = ExpectedFailures::read(&suite("json-schema")).unwrap();
    let mut run = expected.run();
    let outcomes = thread::scope(|scope| {
        let styles = Style::ALL.map(|style| {
            let cases = &cases;
            scope.spawn(move || {
                cases
                    .iter()
                    .flat_map(|case| both(case, style))
                    .collect::<Vec<_>>()
            })
        });
        styles.map(|style| style.join().unwrap()).concat()
    });
    let session = session();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    for case in &cases {
        run.record(&case.name, verdicts(case, &session, &runtime));
    }
    let lifted = outcomes
        .iter()
        .filter(|(name, _)| name.ends_with("/lifted"))
        .count();
    let mut judged = 0;
    for (name, outcome) in outcomes {
        run.record(&name, outcome.map(|instances| judged += instances));
    }
    let passed = run.finish().unwrap_or_else(|problems| panic!("{problems}"));
    assert!(lifted >= 3 * cases.len() * 9 / 10, "{lifted} are lifted");
    assert!(judged > 4000, "{judged} instances are judged");
    let _ = writeln!(
        io::stdout(),
        "{passed} of {} schemas, at the root and lifted in three styles, with {judged} valid instances",
        cases.len()
    );
}
