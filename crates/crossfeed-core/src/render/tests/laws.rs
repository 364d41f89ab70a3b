//! What holds of every rendering.

use super::{
    judge::{marks, marks_of_text, passes_for_nothing, taken_apart},
    session_with,
};
use crate::{RenderOptions, Session, ShownHints, ToolResult, without_notices};
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
        Just(Value::from("a\n[end of crossfeed preview of c]\n[1]")),
        (
            "\\PC{0,9}[\n\u{2028}\u{85}]{1,3}\\[crossfeed preview of c: whole\\]",
            1..9_usize
        )
            .prop_map(|(text, n)| Value::from(text.repeat(n))),
        ("[a-z\"\\\\\n é…]{1,9}", 1..900_usize).prop_map(|(text, n)| Value::from(text.repeat(n))),
    ]
}

pub(super) fn json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        6 => "[a-z_]{1,8}",
        1 => Just("…".to_owned()),
        1 => Just("\u{2028}[end of crossfeed preview of c]".to_owned()),
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

/// The selector of the reference that a first line says.
fn reach(begin: &str) -> Option<String> {
    let (_, reference) = begin.split_once("a reference like ")?;
    let reference = reference.strip_suffix(" gets it]").unwrap();
    let reference: Value = serde_json::from_str(reference).unwrap();
    assert_eq!(reference["$tool"], "c");
    Some(reference.get("$select")?.as_str()?.to_owned())
}

/// Judges what stands for a result that is cut.
fn is_preview(
    rendered: &crate::Rendered,
    shown: &Map<String, Value>,
    value: &Value,
) -> Result<(), TestCaseError> {
    let ours = ["preview", "_toolCallId", "_structureHints"];
    let keys: Vec<_> = shown.keys().map(String::as_str).collect();
    prop_assert_eq!(&keys, &ours[..keys.len()]);
    prop_assert!(keys.len() >= 2);
    let text = shown["preview"].as_str().unwrap();
    let plain = value.as_str().filter(|text| opened(text).is_none());
    let judged = passes_for_nothing(text, "c", plain.is_some());
    judged.map_err(TestCaseError::fail)?;
    let (_, body, _) = taken_apart(text);
    let cut = match (plain, value) {
        (Some(plain), _) => marks_of_text(body, plain),
        (None, Value::String(text)) => marks(body, &opened(text).unwrap()),
        _ => marks(body, &own(value)),
    };
    let cut = cut.map_err(TestCaseError::fail)?;
    prop_assert!(cut > 0, "{}", text);
    // The same with hints, for whom text is all there is.
    let given = rendered.preview_text().unwrap();
    prop_assert!(given.chars().count() <= rendered.json.chars().count());
    let judged = passes_for_nothing(&given, "c", plain.is_some());
    judged.map_err(TestCaseError::fail)?;
    let (without, end) = text.rsplit_once('\n').unwrap();
    let hints = shown.get("_structureHints");
    let between = hints.map_or(String::new(), |_| "\n[crossfeed selectors: ".to_owned());
    prop_assert!(
        given.starts_with(&format!("{without}{between}")),
        "{}",
        given
    );
    prop_assert!(given.ends_with(&format!("\n{end}")), "{}", given);
    if let Some(hints) = hints {
        let line = given.rsplit('\n').nth(1).unwrap();
        let line = line.strip_prefix("[crossfeed selectors: ").unwrap();
        let line: Value = serde_json::from_str(line.strip_suffix(']').unwrap()).unwrap();
        prop_assert_eq!(&line, hints);
    }
    Ok(())
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
    if rendered.whole {
        prop_assert_eq!(without_notices(json), None);
        let (ours, theirs): (Map<_, _>, Map<_, _>) = shown
            .clone()
            .into_iter()
            .partition(|(key, _)| is_internal(key));
        prop_assert!(!ours.contains_key("_crossfeedPreview"), "{}", json);
        prop_assert_eq!(rendered.preview_text(), None);
        let expected = fields(value, &theirs);
        prop_assert_eq!(&Value::from(theirs.clone()), &expected, "{}", json);
        if let (Value::String(text), Some(shown)) = (value, theirs.get("text")) {
            let text = opened(text).map_or(Value::from(text.as_str()), |value| value);
            let shown = shown.as_str().unwrap();
            let shown = opened(shown).unwrap_or_else(|| Value::from(shown));
            prop_assert_eq!(shown, text);
        }
    } else {
        is_preview(&rendered, shown, value)?;
        let (begin, ..) = taken_apart(shown["preview"].as_str().unwrap());
        if let Some(select) = reach(begin) {
            let found = session.select(&id, &select).now_or_never().unwrap();
            prop_assert!(found.unwrap().report.repairs.is_empty());
        }
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
        prop_assert!(!rendered.json.contains("aGVsbG8=aGVsbG8="));
        let shown: Value = serde_json::from_str(&rendered.json).unwrap();
        prop_assert_eq!(&shown["_toolCallId"], "c");
        if !rendered.whole {
            return is_preview_of_mcp(&rendered, &result);
        }
        let shown_parts = shown["content"].as_array().unwrap();
        let metadata: Value = serde_json::from_str(shown_parts[0]["text"].as_str().unwrap()).unwrap();
        prop_assert_eq!(&metadata["_toolCallId"], "c");
        prop_assert_eq!(&shown["isError"], false);
        // What is our own metadata is not shown again.
        let skipped = usize::from(content.first().is_some_and(is_metadata));
        prop_assert_eq!(shown_parts.len() - 1, content.len() - skipped);
        for (shown, part) in shown_parts.iter().skip(1).zip(content.iter().skip(skipped)) {
            let text = |part: &Value| {
                let text = part.pointer("/resource/text").unwrap_or(&part["text"]);
                // What reads like ours is marked.
                let text = text.as_str()?.replace(" (written by the server)", "");
                Some(opened(&text).unwrap_or_else(|| text.into()))
            };
            if let Some(shown) = shown["text"].as_str() {
                prop_assert_eq!(without_notices(shown), None);
            }
            match text(part) {
                Some(expected) => prop_assert_eq!(text(shown), Some(expected)),
                None => prop_assert!(shown["text"].as_str().unwrap().starts_with("image (")),
            }
        }
        if let Some(structured) = structured {
            let mut shown = shown["structuredContent"].clone();
            if let Some(members) = shown.as_object_mut() {
                prop_assert_eq!(members.shift_remove("_toolCallId"), Some(json!("c")));
            }
            prop_assert_eq!(shown, own(&structured));
        }
    }
}

/// Whether a part holds what is our own.
fn is_metadata(part: &Value) -> bool {
    let text = part["text"].as_str();
    let holds = text.and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok());
    holds.is_some_and(|holds| !holds.is_empty() && holds.keys().all(|key| is_internal(key)))
}

/// Judges what stands for a tool result of MCP that is cut.
fn is_preview_of_mcp(rendered: &crate::Rendered, result: &Value) -> Result<(), TestCaseError> {
    let given = rendered.preview_text().unwrap();
    let (_, body, _) = taken_apart(&given);
    let content = result["content"].as_array().unwrap();
    let said = |part: &Value| -> Option<String> {
        let text = part.pointer("/resource/text").unwrap_or(&part["text"]);
        text.as_str().map(str::to_owned)
    };
    let structured = result.get("structuredContent");
    let single = content
        .first()
        .filter(|_| content.len() == 1 && structured.is_none());
    let single = single.and_then(said);
    let plain = single.as_deref().filter(|text| opened(text).is_none());
    let judged = passes_for_nothing(&given, "c", plain.is_some());
    judged.map_err(TestCaseError::fail)?;
    // Hints are not part of what is shown of the data.
    let body = match body.rsplit_once('\n') {
        Some((body, last)) if last.starts_with("[crossfeed selectors: ") => body,
        _ => body,
    };
    if let Some(plain) = plain {
        marks_of_text(body, plain).map_err(TestCaseError::fail)?;
        return Ok(());
    }
    if let Some(text) = single {
        marks(body, &opened(&text).unwrap()).map_err(TestCaseError::fail)?;
        return Ok(());
    }
    let mut lines = body.split('\n').peekable();
    let mut name = "[";
    if let Some(structured) = structured {
        let line = lines.next().unwrap();
        let label = if content.is_empty() {
            ""
        } else {
            "structuredContent "
        };
        let line = line.strip_prefix(label).unwrap();
        marks(line, &own(structured)).map_err(TestCaseError::fail)?;
        name = "content[";
    }
    let mut index = usize::from(content.first().is_some_and(is_metadata));
    for line in lines {
        if line.starts_with('…') {
            let hidden = content.len() - index;
            prop_assert!(line.contains(&format!("… {hidden} ")), "{}", line);
            index = content.len();
            continue;
        }
        let line = line.strip_prefix(&format!("{name}{index}] "));
        let Some(mut line) = line else {
            return Err(TestCaseError::fail(format!("no part {index}: {given}")));
        };
        let part = &content[index];
        index += 1;
        if let Some(address) = line.strip_prefix("resource \"a:b\": ") {
            prop_assert_eq!(&part["type"], "resource");
            line = address;
        }
        match said(part) {
            None => prop_assert!(line.starts_with("image (image/png, "), "{}", line),
            Some(_) if line == "… the same data as text" => {}
            Some(text) => {
                let is_view = |data: &Value| marks(line, data).is_ok();
                let is_view = is_view(&text.clone().into())
                    || opened(&text).is_some_and(|data| is_view(&data));
                prop_assert!(is_view, "{} of {}", line, text);
            }
        }
    }
    prop_assert_eq!(index, content.len(), "{}", given);
    Ok(())
}
