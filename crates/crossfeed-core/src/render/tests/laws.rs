//! What holds of every rendering.

use super::{judge::marks, session_with};
use crate::{RenderOptions, Session, ShownHints, ToolResult};
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{CallId, internal::is_internal};
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,80}".prop_map(Value::from),
        "\\PC{0,80}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from("… 3 more items")),
        ("[a-z\"\\\\\n é…]{1,9}", 1..900_usize).prop_map(|(text, n)| Value::from(text.repeat(n))),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        6 => "[a-z_]{1,8}",
        1 => Just("…".to_owned()),
        1 => Just("__proto__".to_owned()),
        1 => Just("a.b c".to_owned()),
        1 => Just("_toolCallId".to_owned()),
        1 => "\\PC{0,6}",
        1 => "[a-z]{1,4}".prop_map(|key| key.repeat(100)),
    ];
    leaf().prop_recursive(6, 150, 14, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..14).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner.clone()), 0..14)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            (inner.clone(), 0..60_usize).prop_map(|(item, n)| Value::from(vec![item; n])),
            (inner.clone(), 1..20_usize).prop_map(|(value, depth)| (0..depth).fold(
                value,
                |value, n| if n % 2 == 0 {
                    json!([value, 1])
                } else {
                    json!({"in": value, "n": n})
                }
            )),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

fn counters() -> [TokenCounter; 3] {
    [
        TokenCounter::default(),
        TokenCounter::new("bytes", str::len),
        TokenCounter::new("words", |text| text.split_whitespace().count()),
    ]
}

fn render(
    session: &Session,
    id: &CallId,
    options: &RenderOptions,
) -> Result<crate::Rendered, Box<crate::Failure>> {
    let rendered = session.render(id, options);
    rendered.now_or_never().unwrap().map_err(Box::new)
}

/// The value without its own internal fields.
fn own(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let own = members.iter().filter(|(key, _)| !is_internal(key));
            Value::Object(own.map(|(k, v)| (k.clone(), v.clone())).collect())
        }
        other => other.clone(),
    }
}

fn opened(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_array() || value.is_object()).then(|| own(&value))
}

/// The fields that stand for a value beside ours.
fn fields(value: &Value, shown: &Map<String, Value>) -> Value {
    match value {
        Value::Object(_) => own(value),
        Value::String(text) => match opened(text) {
            Some(opened) if shown.contains_key("value") => json!({"value": opened}),
            Some(_) => json!({"text": shown["text"]}),
            None => json!({"text": text}),
        },
        other => json!({"value": other}),
    }
}

/// Judges a rendering within a budget.
fn check(value: &Value, counter: &TokenCounter, budget: usize) -> Result<(), TestCaseError> {
    let (session, id) = session_with(ToolResult::json(value.to_string()), counter.clone());
    let options = RenderOptions::default().with_budget(budget);
    let rendered = match render(&session, &id, &options) {
        Ok(rendered) => rendered,
        Err(failure) => {
            prop_assert_eq!(failure.body().code, "limit.exceeded");
            let crate::Error::Render(crate::RenderError::BudgetTooSmall { needed, .. }) =
                failure.error
            else {
                return Err(TestCaseError::fail(failure.to_string()));
            };
            prop_assert!(needed > budget);
            prop_assert!(
                render(&session, &id, &RenderOptions::default().with_budget(needed)).is_ok()
            );
            return Ok(());
        }
    };
    let json = &rendered.json;
    prop_assert!(rendered.tokens <= budget);
    prop_assert_eq!(rendered.tokens, counter.count(json));
    prop_assert_eq!(&render(&session, &id, &options).unwrap(), &rendered);
    let shown: Value = serde_json::from_str(json).unwrap();
    let shown = shown.as_object().unwrap();
    prop_assert_eq!(&shown["_toolCallId"], "c");
    let (ours, theirs): (Map<_, _>, Map<_, _>) = shown
        .clone()
        .into_iter()
        .partition(|(key, _)| is_internal(key));
    let cut = marks(&theirs.clone().into(), &fields(value, &theirs));
    let cut = cut.map_err(|why| TestCaseError::fail(format!("{why}\n{json}")))?;
    prop_assert_eq!(rendered.whole, cut == 0, "{}", json);
    prop_assert_eq!(
        rendered.whole,
        !ours.contains_key("_crossfeedPreview"),
        "{}",
        json
    );
    let is_text_whole = theirs.contains_key("text") && rendered.whole;
    if let (Value::String(text), true) = (value, is_text_whole) {
        let text = opened(text).map_or(Value::from(text.as_str()), |value| value);
        let shown = theirs["text"].as_str().unwrap();
        let shown = opened(shown).unwrap_or_else(|| Value::from(shown));
        prop_assert_eq!(shown, text);
    }
    let note = ours.get("_crossfeedPreview");
    let select = note.and_then(|note| note.get("reach")?.get("$select")?.as_str());
    if let Some(select) = select {
        let found = session.select(&id, select).now_or_never().unwrap();
        prop_assert!(found.unwrap().report.repairs.is_empty());
    }
    // Once whole, always whole.
    if rendered.whole {
        let more = RenderOptions::default().with_budget(budget + 1 + budget / 7);
        prop_assert!(render(&session, &id, &more).unwrap().whole);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn renderings_are_true_and_within_their_budget(value in json(), budget in 0..3000_usize) {
        for (counter, scale) in counters().iter().zip([1, 4, 1]) {
            check(&value, counter, budget * scale)?;
            check(&value, counter, budget * scale / 10)?;
        }
    }

    #[test]
    fn whoever_counts_there_is_an_answer(value in json(), budget in 0..300_usize) {
        let counters = [
            TokenCounter::new("nothing", |_| 0),
            TokenCounter::new("one", |_| 1),
            TokenCounter::new("no end", |_| usize::MAX),
            TokenCounter::new("whim", |text| text.len() * 7919 % 401),
        ];
        let mut whole = json!({"content": [{"type": "text", "text": "a"}], "isError": false});
        whole["structuredContent"] = value.clone();
        let options = [
            RenderOptions::default().with_budget(budget),
            RenderOptions::default().with_preview_tokens(0).with_hints(ShownHints::Always),
        ];
        for (counter, value) in counters.iter().flat_map(|counter| [(counter, &value), (counter, &whole)]) {
            let (session, id) = session_with(ToolResult::undeclared(value.to_string()), counter.clone());
            for options in &options {
                if let Ok(rendered) = render(&session, &id, options) {
                    prop_assert!(rendered.tokens <= options.whole_tokens.max(options.preview_tokens));
                    prop_assert_eq!(rendered.tokens, counter.count(&rendered.json));
                }
            }
            for select in [None, Some("@"), Some("nothing")] {
                let retrieved = session.retrieve(&id, select).now_or_never().unwrap();
                prop_assert!(retrieved.is_ok() || select == Some("nothing"));
            }
            // What is summed up does not overflow.
            session.note_shown("a");
            prop_assert!(session.usage().shown >= counter.count("a") as u64);
            let _ = session.usage().avoided();
        }
    }

    #[test]
    fn more_room_never_shows_less(value in json(), budget in 0..400_usize, fitting in any::<bool>()) {
        let (session, id) = session_with(ToolResult::json(value.to_string()), TokenCounter::default());
        let options = |budget: usize| {
            let options = RenderOptions::default().with_budget(budget).with_hints(ShownHints::Always);
            if fitting { options.with_fitting(vec!["@".to_owned()]) } else { options }
        };
        match render(&session, &id, &options(budget)) {
            Ok(rendered) if rendered.whole => {
                for more in [1, 2, 5, 20, 100] {
                    let more = render(&session, &id, &options(budget + more)).unwrap();
                    prop_assert!(more.whole, "{} {}", rendered.json, more.json);
                }
            }
            Ok(_) => {}
            Err(failure) => {
                let crate::Error::Render(crate::RenderError::BudgetTooSmall { needed, .. }) = failure.error else {
                    return Err(TestCaseError::fail(failure.to_string()));
                };
                prop_assert!(render(&session, &id, &options(needed)).is_ok());
                prop_assert!(render(&session, &id, &options(needed - 1)).is_err());
            }
        }
    }

    #[test]
    fn results_of_mcp_stay_results_of_mcp(
        parts in prop::collection::vec(json(), 0..6),
        structured in prop::option::of(json()),
        budget in 60..1500_usize,
    ) {
        let content: Vec<Value> = parts
            .iter()
            .enumerate()
            .map(|(n, part)| match (n % 4, part) {
                (0, part) => json!({"type": "text", "text": part.to_string()}),
                (1, Value::String(text)) => json!({"type": "text", "text": text, "annotations": {"priority": 1}}),
                (2, part) => json!({"type": "resource", "resource": {"uri": "a:b", "text": part.to_string()}}),
                _ => json!({"type": "image", "data": "aGVsbG8=".repeat(n * 300), "mimeType": "image/png"}),
            })
            .collect();
        let mut result = json!({"content": content, "isError": false});
        if let Some(structured) = &structured {
            result["structuredContent"] = structured.clone();
        }
        let (session, id) = session_with(ToolResult::mcp(result.to_string()), TokenCounter::default());
        let options = RenderOptions::default().with_budget(budget);
        let Ok(rendered) = render(&session, &id, &options) else {
            prop_assert!(budget < 200, "{}", result);
            return Ok(());
        };
        prop_assert!(rendered.tokens <= budget);
        let shown: Value = serde_json::from_str(&rendered.json).unwrap();
        prop_assert!(!rendered.json.contains("aGVsbG8=aGVsbG8="));
        let shown_parts = shown["content"].as_array().unwrap();
        let metadata: Value = serde_json::from_str(shown_parts[0]["text"].as_str().unwrap()).unwrap();
        prop_assert_eq!(&metadata["_toolCallId"], "c");
        prop_assert_eq!(&shown["_toolCallId"], "c");
        prop_assert_eq!(&shown["isError"], false);
        prop_assert_eq!(metadata.get("_crossfeedPreview"), shown.get("_crossfeedPreview"));
        for part in shown_parts {
            let is_part = match part["type"].as_str().unwrap() {
                "text" => part["text"].is_string(),
                "resource" => part["resource"]["uri"].is_string(),
                _ => false,
            };
            prop_assert!(is_part, "{}", part);
        }
        // What is our own metadata is not shown again.
        let is_metadata = |part: &Value| {
            let holds = part["text"].as_str().and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok());
            holds.is_some_and(|holds| !holds.is_empty() && holds.keys().all(|key| is_internal(key)))
        };
        let skipped = usize::from(content.first().is_some_and(is_metadata));
        for (shown, part) in shown_parts.iter().skip(1).zip(content.iter().skip(skipped)) {
            if let (Some(shown), Some(text)) = (shown["text"].as_str(), part["text"].as_str()) {
                let is_view = marks(&shown.into(), &text.into()).is_ok()
                    || shown.ends_with("more parts") || shown.ends_with("more part")
                    || opened(text).is_some_and(|data| serde_json::from_str::<Value>(shown)
                        .map_or_else(|_| marks(&shown.into(), &data), |shown| marks(&shown, &data)).is_ok());
                prop_assert!(is_view, "{} of {}", shown, text);
            }
        }
        if let Some(structured) = structured {
            let mut shown = shown["structuredContent"].clone();
            if let Some(members) = shown.as_object_mut() {
                prop_assert_eq!(members.shift_remove("_toolCallId"), Some(json!("c")));
            }
            prop_assert!(marks(&shown, &own(&structured)).is_ok(), "{}", shown);
        }
    }
}
