//! Valid stays valid: what is JMESPath and selects something means exactly what JMESPath says.
//!
//! The exceptions are those of `specs/select.md`: a selector that is only a quoted text, and an empty answer that could not have been
//! otherwise.

use crate::{
    differential::{document, expression},
    support::{block_on, same_json},
};
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, Node, View, doubts, evaluate};
use crossfeed_json::Document;
use crossfeed_wire::{CallId, Scope};
use proptest::{prelude::*, test_runner::Config};
use serde_json::Value;

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

proptest! {
    #![proptest_config(Config::with_cases(if cfg!(debug_assertions) { 1500 } else { 20_000 }))]

    #[test]
    fn what_selects_something_means_what_jmespath_says(value in document(), expression in expression()) {
        let Some((expected, is_doubted)) = meant(&expression, &value) else {
            return Ok(());
        };
        let is_none = serde_json::from_str(&expected).is_ok_and(|value| may_be_none(&value));
        if is_doubted && is_none {
            return Ok(());
        }
        let engine = Engine::in_memory(EngineOptions::default());
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let call = CallId::parse("c").unwrap();
        let selected = block_on(async {
            session.record(&call, ToolResult::json(value.to_string())).await.unwrap();
            session.select(&call, &expression).await
        });
        let selected = match selected {
            Ok(selected) => selected,
            Err(failure) => return Err(TestCaseError::fail(format!("{expression} on {value}: {failure}"))),
        };
        if expected == "[]" && !selected.report.repairs.is_empty() {
            return Ok(());
        }
        let json = String::from_utf8(selected.json).unwrap();
        prop_assert!(same_json(&json, &expected), "{expression} on {value}: {json}, not {expected}");
        prop_assert!(selected.report.repairs.is_empty(), "{expression} on {value}");
    }
}
