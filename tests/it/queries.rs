//! SQL over real results: what another SQLite answers over tables that another program made of them.
//!
//! It needs Python: without it the test says so and is skipped, unless `CROSSFEED_REQUIRE_NODE` is set, as CI does.

use crate::support::{ask, say};
use crossfeed_sql::{Column, ColumnKind, Database, SqlLimits, Table};
use crossfeed_tests::workspace_root;
use serde_json::{Value, json};
use std::fs;

/// The results of the corpus that are JSON or values between separators: name and JSON.
fn results() -> Vec<(String, String)> {
    let files = fs::read_dir(workspace_root().join("tests/corpora/results")).unwrap();
    let mut results: Vec<_> = files
        .filter_map(|file| {
            let path = file.unwrap().path();
            let text = || fs::read_to_string(&path).unwrap();
            let json = match path.extension()?.to_str()? {
                "json" => text(),
                "csv" => Value::from(text()).to_string(),
                _ => return None,
            };
            Some((path.file_stem()?.to_str()?.replace('-', "_"), json))
        })
        .collect();
    results.sort();
    results
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What is asked of a table: of each column what its type allows.
fn statements(table: &Table) -> Vec<String> {
    let from = quoted(&table.name);
    let mut statements = vec![
        format!("SELECT count(*) FROM {from}"),
        format!("SELECT * FROM {from} LIMIT 3"),
        format!("SELECT rowid FROM {from} ORDER BY rowid DESC LIMIT 2"),
    ];
    for Column { name, kind, .. } in table.columns.iter().take(8) {
        let c = quoted(name);
        statements.extend([
            format!("SELECT {c} FROM {from}"),
            format!("SELECT typeof({c}), count(*) FROM {from} GROUP BY 1 ORDER BY 1"),
            format!("SELECT {c}, count(*) AS n FROM {from} GROUP BY {c} ORDER BY n DESC, {c} LIMIT 5"),
            format!("SELECT min({c}), max({c}), count({c}), count(DISTINCT {c}) FROM {from}"),
            format!("WITH t AS (SELECT {c} AS x, row_number() OVER (ORDER BY {c}, rowid) AS r FROM {from}) SELECT x FROM t WHERE r <= 3"),
            format!("SELECT coalesce({c}, 'none') FROM {from} WHERE {c} IS NOT NULL LIMIT 4"),
        ]);
        match kind {
            ColumnKind::Integer | ColumnKind::Real | ColumnKind::Numeric => statements.extend([
                format!("SELECT sum({c}), avg({c}), total({c}) FROM {from}"),
                format!("SELECT {c} * 2, round({c} / 3.0, 2) FROM {from} WHERE {c} > (SELECT avg({c}) FROM {from})"),
                format!("SELECT count(*) FROM {from} WHERE {c} = '1'"),
            ]),
            ColumnKind::Text => statements.extend([
                format!("SELECT upper({c}), length({c}), substr({c}, 2, 3) FROM {from} ORDER BY length({c}) DESC, {c} LIMIT 3"),
                format!("SELECT {c} FROM {from} WHERE {c} LIKE '%a%' OR {c} GLOB '*[0-9]*'"),
                format!("SELECT group_concat({c}, ', ') FROM (SELECT {c} FROM {from} LIMIT 3)"),
            ]),
            ColumnKind::Boolean => statements.push(format!("SELECT count(*) FROM {from} WHERE {c} AND NOT {c} = 0")),
            ColumnKind::Json => statements.extend([
                format!("SELECT json_type({c}), json_array_length({c}) FROM {from}"),
                format!("SELECT count(*) FROM {from}, json_each({from}.{c})"),
                format!("SELECT j.key, j.type FROM {from}, json_each({from}.{c}) AS j ORDER BY {from}.rowid, j.id LIMIT 5"),
            ]),
            _ => {}
        }
    }
    statements
}

/// The rows as another SQLite gives them: without the types that columns were declared with.
fn rows(answer: &[u8]) -> Value {
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_slice(answer).unwrap();
    let plain = |value: Value| match value {
        Value::Bool(flag) => json!(i32::from(flag)),
        Value::Array(_) | Value::Object(_) => Value::from(value.to_string()),
        other => other,
    };
    rows.into_iter()
        .map(|row| {
            row.into_iter()
                .map(|(_, value)| plain(value))
                .collect::<Value>()
        })
        .collect()
}

/// Numbers are the same if their values are, up to what adding them in another order changes.
fn is_same(own: &Value, theirs: &Value) -> bool {
    match (own, theirs) {
        (Value::Array(own), Value::Array(theirs)) => {
            own.len() == theirs.len()
                && own
                    .iter()
                    .zip(theirs)
                    .all(|(own, theirs)| is_same(own, theirs))
        }
        (Value::Number(own), Value::Number(theirs)) => {
            let [own, theirs] = [own, theirs].map(|number| number.as_f64().unwrap());
            (own - theirs).abs() <= own.abs() * 1e-12
        }
        // Objects and lists, whose numbers the other program spells in its own way.
        (Value::String(own), Value::String(theirs)) if own != theirs => {
            let [own, theirs] = [own, theirs].map(|text| serde_json::from_str::<Value>(text).ok());
            own.is_some() && own == theirs
        }
        _ => own == theirs,
    }
}

#[test]
fn answers_over_real_results_are_those_of_another_sqlite() {
    let mut questions = Vec::new();
    let mut asked = 0;
    let results = results();
    for (name, json) in &results {
        let mut database = Database::open(SqlLimits::default()).unwrap();
        let tables = database.import(name, json.clone()).unwrap().to_vec();
        let statements: Vec<String> = tables.iter().flat_map(statements).collect();
        let own: Vec<Value> = statements
            .iter()
            .map(|sql| match database.query(sql) {
                Ok(answer) => rows(&answer.json),
                Err(error) => Value::from(error.to_string()),
            })
            .collect();
        asked += statements.len();
        let question = json!({"results": {name: json}, "statements": statements});
        questions.push((question, statements, own));
    }
    // Of several results at once.
    let theirs = ask::<Vec<Value>>(
        "python3",
        "sqlite/tables.py",
        questions.iter().map(|(question, ..)| question.clone()),
    );
    let Some(theirs) = theirs else {
        return say("python3 is not there: SQL over results is not compared");
    };
    let mut unlike = Vec::new();
    for ((_, statements, own), theirs) in questions.iter().zip(&theirs) {
        assert_eq!(own.len(), theirs.len());
        for ((sql, own), theirs) in statements.iter().zip(own).zip(theirs) {
            if !is_same(own, theirs) {
                unlike.push(format!("{sql}\n  {own}\n  {theirs}"));
            }
        }
    }
    assert!(
        unlike.is_empty(),
        "{} of {asked}:\n{}",
        unlike.len(),
        unlike.join("\n")
    );
    assert!(
        asked >= 200 && theirs.len() == results.len(),
        "{asked} statements"
    );
    say(&format!(
        "{asked} statements over {} results",
        results.len()
    ));
}
