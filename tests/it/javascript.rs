//! Our evaluation against jmespath.js, on the same generated expressions and documents as against the `jmespath` crate.
//!
//! It needs Node.js: without it the test says so and is skipped, unless `CROSSFEED_REQUIRE_NODE` is set, as CI does.
//!
//! Documented differences:
//!
//! - Theirs gives an error in fewer cases: functions take some values there that the language does not allow. What is an error
//!   here may be a value there, so only values are compared.
//! - `contains` compares lists and objects by identity there, by value here.
//! - `max_by` of an empty list is `undefined` there, which is no `null`; `to_number` of an empty string is 0 there.
//!
//! Expressions with these three functions are left out.

use crate::{
    differential::{document, expression, ours},
    support::{ask, same_json, say},
};
use crossfeed_json::Document;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};

const CASES: usize = 3000;

/// The answers of jmespath.js, one a case; `None` without Node.js.
fn theirs(cases: &[(String, Value)]) -> Option<Vec<Value>> {
    let question =
        |(expression, data): &(String, Value)| json!({"expression": expression, "data": data});
    ask("node", "jmespath-js/run.js", cases.iter().map(question))
}

#[test]
fn values_agree() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases: Vec<(String, Value)> = (0..CASES)
        .map(|_| {
            let text = expression().new_tree(&mut runner).unwrap().current();
            (text, document().new_tree(&mut runner).unwrap().current())
        })
        .collect();
    let Some(answers) = theirs(&cases) else {
        say("SKIPPED: node is not there, so nothing was compared with jmespath.js");
        return;
    };
    assert_eq!(answers.len(), cases.len());
    let mut compared = 0;
    // All differences at once tell more than the first.
    let mut differences = Vec::new();
    for ((text, data), answer) in cases.iter().zip(&answers) {
        let differs = |function: &&str| text.contains(*function);
        if ["contains(", "max_by(", "to_number("].iter().any(differs) {
            continue;
        }
        let document = Document::new(data.to_string());
        if let (Ok(ours), Some(value)) = (ours(text, &document), answer.get("value")) {
            compared += 1;
            if !same_json(&ours, &value.to_string()) {
                differences.push(format!("{text} on {data}: {ours}, not {value}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    say(&format!(
        "jmespath.js: {compared} values of {CASES} cases agree"
    ));
    assert!(compared > CASES / 2, "only {compared} values were compared");
}
