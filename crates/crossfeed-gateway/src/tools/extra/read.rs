//! `read_result`: a stored result brought into the context, or a part of it.
//!
//! What comes in: a call id, and what of its result is wanted. What goes out: that, within a budget of
//! tokens: page by page where it is more. Deliberately not here: selecting and projecting themselves.
//!
//! # What holds
//!
//! - A page is valid JSON and within its budget; it says how much there is, and where the next begins.
//! - A text is paged by its characters, a list by its items, an object by its members. Of these one that
//!   takes more than a page is named in its place, with the selector that reads it.

use super::Asked;
use crate::tools::{client::Shared, refusal};
use bytes::Bytes;
use crossfeed_core::{ProjectOptions, RenderOptions};
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_projection::ProjectionRequest;
use crossfeed_tokens::count_chars;
use crossfeed_wire::{CallId, ErrorBody, ErrorCode};

/// The least that is given at once: the frame of a page has room in it.
const LEAST: usize = 50;
/// Tokens of a model's context, and how much of it in percent one answer may take, where the
/// configuration says nothing.
const WINDOW: usize = 200_000;
const SHARE: usize = 30;
/// Characters of a token, by the usual estimate.
const TOKEN: usize = 4;
/// What is left for the frame of a page.
const FRAME: usize = 40;

/// Answers with what is asked for.
pub(super) async fn answer(shared: &Shared, asked: &Asked) -> Result<Bytes, Bytes> {
    let privacy = shared.privacy();
    let refused = |body: Box<ErrorBody>| refusal::of_bodies(vec![*body], privacy);
    let call_id = asked.text("call_id").map_err(&refused)?.unwrap_or_default();
    let select = asked.text("select").map_err(&refused)?;
    let fields = asked.texts("fields").map_err(&refused)?;
    let offset = asked.count("offset").map_err(&refused)?.unwrap_or_default();
    let budget = asked.count("max_tokens").map_err(&refused)?;
    let budget = budget.unwrap_or(RenderOptions::default().whole_tokens);
    let window = shared.tools.config.context_window.unwrap_or(WINDOW);
    let budget = budget.clamp(LEAST, (window / 100 * SHARE).max(LEAST));
    let unknown = || {
        let call_id = quoted(&call_id.chars().take(64).collect::<String>());
        let message = format!("no result of call {call_id} is known in this session");
        let mut body = ErrorBody::new(ErrorCode::ResultUnknown, message);
        body.advice = Some("use the `_toolCallId` of a result, exactly as it was shown".to_owned());
        refused(Box::new(body))
    };
    // One that was never minted is not even looked up.
    let id = CallId::parse(call_id).ok();
    let Some(id) = id.filter(|id| shared.ids.may_be(id.as_str())) else {
        return Err(unknown());
    };
    let session = shared.session();
    let json = match fields {
        Some(fields) => {
            let request = ProjectionRequest::new().with_include(fields);
            let mut options = ProjectOptions::default().with_request(request);
            if let Some(select) = select {
                options = options.with_select(select);
            }
            let projected = session.project(&id, &options).await;
            projected.map(|projected| projected.json)
        }
        // `@` is all of it.
        None => {
            let selected = session.select(&id, select.unwrap_or("@")).await;
            selected.map(|selected| selected.json)
        }
    };
    let json = json.map_err(|failure| refusal::of_failure(&failure, privacy))?;
    let text = crate::tools::result::apart(json.len(), {
        let select = select.map(str::to_owned);
        move || Some(page(json, select.as_deref(), offset, budget))
    });
    let text = text.await.unwrap_or_default();
    session.note_shown(&text);
    Ok(refusal::result(&text, None, false, privacy))
}

/// A page of a value.
fn page(json: Vec<u8>, select: Option<&str>, offset: usize, budget: usize) -> String {
    let document = Document::new(json);
    let Ok(root) = document.root() else {
        return String::from_utf8_lossy(document.raw()).into_owned();
    };
    let all = || format!("{{\"value\":{}}}", String::from_utf8_lossy(root.raw()));
    // Tokens are estimated by characters, which add up.
    let room = budget.saturating_sub(FRAME).saturating_mul(TOKEN);
    if offset == 0 && count_chars(root.raw()) <= room {
        return all();
    }
    match root.kind() {
        Kind::String => text_page(&root.as_str().unwrap_or_default(), offset, room),
        Kind::Array | Kind::Object => parts_page(root, select, offset, room),
        _ => all(),
    }
}

/// A page of a text, by its characters.
fn text_page(text: &str, offset: usize, room: usize) -> String {
    let total = text.chars().count();
    let rest: String = text.chars().skip(offset).take(room).collect();
    let mut taken = rest.chars().count();
    let mut shown = quoted(&rest);
    // Escapes take more than what they stand for.
    while taken > 1 {
        let written = shown.chars().count();
        if written <= room {
            break;
        }
        taken = (taken * room / written).clamp(1, taken - 1);
        shown = quoted(&rest.chars().take(taken).collect::<String>());
    }
    let end = offset.saturating_add(taken);
    framed("text", &shown, (offset, end, total), "characters")
}

/// A page of a list or an object.
fn parts_page(root: Cursor<'_>, select: Option<&str>, offset: usize, room: usize) -> String {
    let is_list = root.kind() == Kind::Array;
    let (open, close, unit) = match is_list {
        true => ('[', ']', "items"),
        false => ('{', '}', "members"),
    };
    let total = root.len().unwrap_or_default();
    let mut shown = String::from(open);
    let mut used = 2;
    let mut end = offset.min(total);
    for (index, part) in root.items().enumerate().skip(offset) {
        let key = match is_list {
            true => String::new(),
            false => format!("{}:", quoted(&part.key().text())),
        };
        let space = room.saturating_sub(2 + key.chars().count());
        let mut json = match count_chars(part.raw()) <= space {
            true => format!("{key}{}", String::from_utf8_lossy(part.raw())),
            false => format!("{key}{}", quoted(&named(part, select, index, is_list))),
        };
        if json.chars().count() + 2 > room {
            // A key that is longer than a page, or a selector.
            json = match is_list {
                true => "\"…\"".to_owned(),
                false => format!("\"…{index}\":\"…\""),
            };
        }
        let longer = used + 1 + json.chars().count();
        if shown.len() > 1 {
            if longer > room {
                break;
            }
            shown.push(',');
        }
        shown.push_str(&json);
        used = longer;
        end = index + 1;
    }
    shown.push(close);
    framed("value", &shown, (offset.min(total), end, total), unit)
}

/// What is said in place of a part that takes more than a page.
fn named(part: Cursor<'_>, select: Option<&str>, index: usize, is_item: bool) -> String {
    let what = match part.kind() {
        Kind::Array => format!("array, {} items", part.len().unwrap_or_default()),
        Kind::Object => format!("object, {} keys", part.len().unwrap_or_default()),
        _ => format!("{}, {} bytes", part.kind().as_str(), part.raw().len()),
    };
    let step = match is_item {
        true => format!("[{index}]"),
        false => name_of(&part.key().text()),
    };
    let path = match select {
        Some(select) => format!("{select} | {step}"),
        None => step,
    };
    format!("… {what}: select {path}")
}

/// A key as a selector names it.
fn name_of(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    match key.chars().all(is_plain) && key.starts_with(begins) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

fn framed(
    name: &str,
    shown: &str,
    (from, end, total): (usize, usize, usize),
    unit: &str,
) -> String {
    let next = match end < total {
        true => format!(",\"next_offset\":{end}"),
        false => String::new(),
    };
    format!("{{\"{name}\":{shown},\"offset\":{from}{next},\"total\":{total},\"unit\":\"{unit}\"}}")
}

#[cfg(test)]
mod tests {
    use super::page;
    use crossfeed_tokens::TokenCounter;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn check(value: Value, offset: usize, budget: usize, expected: Value) {
        let page = page(value.to_string().into_bytes(), Some("a"), offset, budget);
        assert_eq!(serde_json::from_str::<Value>(&page).unwrap(), expected);
    }

    #[test]
    fn what_is_short_comes_at_once() {
        check(json!({"a": 1}), 0, 100, json!({"value": {"a": 1}}));
        check(json!("text"), 0, 100, json!({"value": "text"}));
        check(json!(null), 3, 100, json!({"value": null}));
        check(
            json!([1, 2]),
            1,
            100,
            json!({"value": [2], "offset": 1, "total": 2, "unit": "items"}),
        );
        check(
            json!([1, 2]),
            9,
            100,
            json!({"value": [], "offset": 2, "total": 2, "unit": "items"}),
        );
        check(
            json!("text"),
            2,
            100,
            json!({"text": "xt", "offset": 2, "total": 4, "unit": "characters"}),
        );
    }

    #[test]
    fn what_is_too_long_for_a_page_is_named() {
        let long = vec!["x"; 1000];
        check(
            json!([1, long, 2]),
            0,
            80,
            json!({"value": [1, "… array, 1000 items: select a | [1]", 2], "offset": 0, "total": 3, "unit": "items"}),
        );
        check(
            json!({"b c": long}),
            0,
            80,
            json!({"value": {"b c": "… array, 1000 items: select a | \"b c\""}, "offset": 0, "total": 1, "unit": "members"}),
        );
    }

    proptest! {
        #[test]
        fn pages_hold_all_of_it(
            items in prop::collection::vec("[a-z\"é\\\\]{0,90}", 0..40),
            budget in 90usize..200,
            as_text: bool,
        ) {
            let whole = match as_text {
                true => Value::from(items.concat()),
                false => Value::from(items),
            };
            let json = whole.to_string().into_bytes();
            let mut offset = 0;
            let (mut texts, mut list) = (String::new(), Vec::new());
            for _ in 0..10_000 {
                let text = page(json.clone(), None, offset, budget);
                prop_assert!(TokenCounter::estimate().count(&text) <= budget, "{}", text);
                let page: Value = serde_json::from_str(&text).unwrap();
                match (page.get("text").or_else(|| page.get("value")), as_text) {
                    (Some(Value::String(part)), true) => texts.push_str(part),
                    (Some(Value::Array(part)), false) => list.extend(part.clone()),
                    other => prop_assert!(false, "{:?}", other),
                }
                match page.get("next_offset").and_then(Value::as_u64) {
                    Some(next) => {
                        let next = usize::try_from(next).unwrap();
                        prop_assert!(next > offset);
                        offset = next;
                    }
                    None => break,
                }
            }
            let read = if as_text { Value::from(texts) } else { Value::from(list) };
            prop_assert_eq!(read, whole);
        }
    }
}
