//! Valid stays valid: what is JMESPath and selects something means exactly what JMESPath says.
//!
//! The exceptions are those of `specs/select.md`: a selector that is only a quoted text, and an empty answer that could not have been
//! otherwise. Such an answer is refused with the reason, or repaired with a report, and never another one without a word.

use crate::{
    differential::{document, expression},
    support::{block_on, same_json, say},
};
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, Node, View, doubts, evaluate};
use crossfeed_json::Document;
use crossfeed_wire::{CallId, Scope};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use std::cell::Cell;

/// What JMESPath says, and whether any part of the expression read or compared in vain; `None` if it selects nothing.
fn meant(expression: &str, value: &Value) -> Option<(String, bool)> {
    let expression = Expression::parse(expression).ok()?;
    if matches!(expression.root(), Node::Text(_)) {
        return None;
    }
    let document = Document::new(value.to_string());
    let root = View::from(document.root().ok()?);
    let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 1000));
    let found = evaluate(&expression, &root, &arena, &budget).ok()??;
    let mut json = Vec::new();
    found.write(&mut json, usize::MAX).ok()?;
    let is_doubted = !doubts(&expression, &root, &arena, &budget).is_empty();
    Some((String::from_utf8(json).ok()?, is_doubted))
}

/// Whether a value is what functions make of nothing, or holds such a value.
fn may_be_none(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text
            .replace("null", "")
            .chars()
            .all(|c| "[]{},".contains(c)),
        Value::Array(items) => items.is_empty() || items.iter().any(may_be_none),
        Value::Object(members) => members.is_empty() || members.values().any(may_be_none),
    }
}

/// How often each outcome was seen.
#[derive(Debug, Default)]
struct Seen {
    /// The value of JMESPath.
    same: Cell<usize>,
    /// The same, although a part of the expression was in vain.
    doubted: Cell<usize>,
    /// Refused, with the reason.
    refused: Cell<usize>,
    /// Another reading, reported.
    repaired: Cell<usize>,
}

fn count(cell: &Cell<usize>) {
    cell.set(cell.get() + 1);
}

#[test]
fn what_selects_something_means_what_jmespath_says() {
    let cases = if cfg!(debug_assertions) { 1500 } else { 20_000 };
    let seen = Seen::default();
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(cases)
    });
    let law = |(value, expression): (Value, String)| check(&value, &expression, &seen);
    let cases = prop_oneof![15 => (document(), expression()), 1 => misquoted()];
    runner.run(&cases, law).unwrap();
    say(&format!("{seen:?}"));
    // None of them is a law about nothing.
    for cell in [&seen.same, &seen.doubted, &seen.refused, &seen.repaired] {
        assert!(cell.get() > 0, "{seen:?}");
    }
}

/// A text in the quotes of a name: valid, and what it selects is nothing where no item has such a name.
fn misquoted() -> impl Strategy<Value = (Value, String)> {
    let text = || "[ab]{1,2}";
    (prop::collection::vec(text(), 1..4), text()).prop_map(|(texts, wanted)| {
        let items: Vec<_> = texts.iter().map(|text| json!({"name": text})).collect();
        let expression = format!("items[?name == \"{wanted}\"].name");
        (json!({"items": items}), expression)
    })
}

fn check(value: &Value, expression: &str, seen: &Seen) -> Result<(), TestCaseError> {
    let Some((expected, is_doubted)) = meant(expression, value) else {
        return Ok(());
    };
    let is_none = serde_json::from_str(&expected).is_ok_and(|value| may_be_none(&value));
    let may_be_no_answer = is_doubted && is_none;
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let call = CallId::parse("c").unwrap();
    let selected = block_on(async {
        let result = ToolResult::json(value.to_string());
        session.record(&call, result).await.unwrap();
        session.select(&call, expression).await
    });
    let selected = match selected {
        Ok(selected) => selected,
        Err(failure) => {
            let code = failure.error.code();
            let said = failure.error.to_string();
            prop_assert!(
                may_be_no_answer && code.as_str() == "select.matched_nothing",
                "{expression} on {value} (doubted: {is_doubted}, {}): {said}",
                code.as_str()
            );
            let advice = failure.body().advice.unwrap_or_default();
            prop_assert!(
                advice.starts_with("why: "),
                "{expression} on {value}: {advice}"
            );
            count(&seen.refused);
            return Ok(());
        }
    };
    let json = String::from_utf8(selected.json).unwrap();
    if !selected.report.repairs.is_empty() {
        // Only what is no answer has another reading, and the report says which.
        prop_assert!(
            expected == "[]" || may_be_no_answer,
            "{expression} on {value}"
        );
        let evaluated = &selected.report.evaluated;
        prop_assert!(evaluated != expression, "{expression} on {value}");
        let other = meant(evaluated, value).map(|(other, _)| other);
        prop_assert!(
            other.is_some_and(|other| same_json(&json, &other)),
            "{expression} on {value}: {json}, not what {evaluated} gives"
        );
        count(&seen.repaired);
        return Ok(());
    }
    prop_assert!(
        same_json(&json, &expected),
        "{expression} on {value}: {json}, not {expected}"
    );
    count(if may_be_no_answer {
        &seen.doubted
    } else {
        &seen.same
    });
    Ok(())
}
