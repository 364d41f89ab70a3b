//! A second validator, Ajv, judges what the rewriter writes: whether it is a schema of its dialect, and what it accepts.
//!
//! It needs Node.js: without it the tests say so and are skipped, unless `CROSSFEED_REQUIRE_NODE` is set, as CI does.

use super::{
    corpus::{pairs, report, tools},
    suite,
};
use crate::support::{ask, say};
use crossfeed_tools::{Style, rewrite};
use serde::Deserialize;
use serde_json::{Value, json};

/// What Ajv says of a schema and of the instances that came with it.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Valid(Vec<bool>),
    Error(String),
}

/// A schema, and instances for it.
struct Question<'q> {
    schema: &'q Value,
    instances: Vec<Value>,
}

/// The answers of Ajv, one a question; `None` without Node.js.
fn ajv(questions: &[Question<'_>]) -> Option<Vec<Answer>> {
    let question =
        |asked: &Question<'_>| json!({"schema": asked.schema, "instances": asked.instances});
    let Some(answers) = ask("node", "ajv/run.js", questions.iter().map(question)) else {
        say("SKIPPED: node is not there, so nothing was judged by Ajv");
        return None;
    };
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

/// Ajv takes the shown forms of every real tool for schemas, and accepts by them what the laws say.
#[test]
fn ajv_takes_the_shown_forms_of_real_tools() {
    let mut questions = Vec::new();
    let mut asked = Vec::new();
    for (at, tool) in tools().iter().enumerate() {
        let own = questions.len();
        questions.push(Question {
            schema: &tool.schema,
            instances: tool.instances.valid.clone(),
        });
        for style in Style::ALL {
            let Ok(pair) = &pairs(style)[at] else {
                continue;
            };
            // A part of what the laws judge: it is the schema that is in question.
            let mut instances = tool.instances.valid.clone();
            for instance in instances.clone().iter().take(2) {
                instances.extend(pair.with_references(instance).into_iter().step_by(7));
            }
            asked.push((tool, style, own, questions.len()));
            questions.push(Question {
                schema: &pair.rewritten.schema,
                instances,
            });
        }
    }
    let Some(answers) = ajv(&questions) else {
        return;
    };
    let mut problems = Vec::new();
    let mut unknown = 0;
    for (tool, style, own, shown) in &asked {
        let Question { schema, instances } = &questions[*shown];
        let mut problem = |what: &dyn std::fmt::Display| {
            problems.push(format!(
                "{}/{}: {style}: {what}: {schema}",
                tool.server, tool.name
            ));
        };
        match (&answers[*own], &answers[*shown]) {
            // A regular expression that JavaScript does not know: the tool came with it.
            (Answer::Error(_), _) => unknown += 1,
            (_, Answer::Error(error)) => problem(error),
            // Where the two validators differ on the own schema, they may differ on the shown one.
            (Answer::Valid(own), Answer::Valid(shown)) if own.iter().all(|valid| *valid) => {
                if let Some(refused) = shown.iter().position(|valid| !valid) {
                    problem(&instances[refused]);
                }
            }
            _ => unknown += 1,
        }
    }
    report("the tools", &problems);
    assert!(unknown <= 15, "{unknown} forms are not judged");
    assert!(asked.len() >= 3 * 1400, "{} forms are judged", asked.len());
}

/// Where Ajv takes a schema of the suite, it takes the shown forms of it too.
#[test]
fn ajv_takes_the_shown_forms_of_the_suite() {
    let cases = suite::cases();
    let mut schemas: Vec<(usize, Value)> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        schemas.push((index, case.schema.clone()));
        for style in Style::ALL {
            if let Ok(rewritten) = rewrite(&case.schema, style, style.spelling()) {
                schemas.push((index, rewritten.schema));
            }
        }
    }
    let questions: Vec<_> = schemas
        .iter()
        .map(|(_, schema)| Question {
            schema,
            instances: Vec::new(),
        })
        .collect();
    let Some(answers) = ajv(&questions) else {
        return;
    };
    let mut problems = Vec::new();
    let mut own = None;
    for (at, ((index, schema), answer)) in schemas.iter().zip(&answers).enumerate() {
        let is_own = at == 0 || schemas[at - 1].0 != *index;
        if is_own {
            own = Some(answer);
        }
        if let (Some(Answer::Valid(_)), Answer::Error(error)) = (own, answer) {
            problems.push(format!("{}: {error}: {schema}", cases[*index].name));
        }
    }
    report("the suite", &problems);
}
