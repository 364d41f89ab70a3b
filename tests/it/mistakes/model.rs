//! A model that errs, reads what it is answered, and does as it is advised, once.

use crate::{
    mistakes::documents::Given,
    support::{block_on, call, same_json, scope},
};
use crossfeed_core::{Engine, EngineOptions, PreparedTool, ResolveError, Session};
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::Pointer;
use serde_json::{Value, json};

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The meant value, at once.
    Right,
    /// Refused; the first selector or reference that was offered gives the meant value.
    First,
    /// Refused; another one that was offered does.
    Later,
    /// Refused, and nothing that was offered does.
    Lost,
    /// Another value, an empty list, or the text as it was written.
    Wrong,
}

/// What the model did and read, for who tunes the rules.
pub(crate) struct Attempt {
    pub(crate) ending: Ending,
    pub(crate) notes: String,
}

/// A session with results, and a tool to be called.
pub(crate) struct World {
    engine: Engine,
    session: Session,
}

impl World {
    /// The document's call among others, whose ids are of the same kind.
    pub(crate) fn new(given: &Given) -> Self {
        let engine = Engine::in_memory(EngineOptions::default());
        let session = engine.session(scope("session"));
        block_on(async {
            for (id, tool, result) in others(given.call_id) {
                let result = crossfeed_core::ToolResult::value(&result).with_tool(tool);
                session.record(&call(&id), result).await.unwrap();
            }
            session
                .record(&call(given.call_id), given.result())
                .await
                .unwrap();
        });
        Self { engine, session }
    }

    pub(crate) fn tool(&self, style: Style, parameter: &str, schema: &Value) -> PreparedTool {
        let schema = json!({
            "type": "object",
            "properties": {parameter: schema, "note": {"type": "string"}},
            "required": [parameter],
        });
        let tools = json!([{"name": "next", "inputSchema": schema}]);
        let listed = rewrite_tools(
            &ToolList::parse(&tools).unwrap(),
            &ListOptions::style(style),
        );
        self.engine.prepare(listed.find("next").unwrap().clone())
    }

    /// What the tool gets for the parameter.
    fn resolved(
        &self,
        tool: &PreparedTool,
        arguments: &Value,
        parameter: &str,
    ) -> Result<Value, ResolveError> {
        let resolving = self.session.resolve_call(tool, arguments.clone());
        block_on(resolving).map(|mut resolved| resolved.arguments[parameter].take())
    }

    /// Writes the arguments, and where they are refused follows the advice.
    pub(crate) fn play(
        &self,
        tool: &PreparedTool,
        arguments: &Value,
        parameter: &str,
        meant: &Value,
    ) -> Attempt {
        let is_meant = |found: &Value| same_json(&found.to_string(), &meant.to_string());
        let error = match self.resolved(tool, arguments, parameter) {
            Ok(found) if is_meant(&found) => {
                return Attempt {
                    ending: Ending::Right,
                    notes: String::new(),
                };
            }
            Ok(found) => {
                return Attempt {
                    ending: Ending::Wrong,
                    notes: format!("passed on: {}", shortened(&found.to_string())),
                };
            }
            Err(error) => error,
        };
        let mut notes = format!("said: {}", shortened(&error.to_string()));
        let tries = next_tries(&error, tool, arguments, parameter);
        for (index, next) in tries.into_iter().take(3).enumerate() {
            match self.resolved(tool, &next, parameter) {
                Ok(found) if is_meant(&found) => {
                    let ending = if index == 0 {
                        Ending::First
                    } else {
                        Ending::Later
                    };
                    return Attempt { ending, notes };
                }
                Ok(_) => notes.push_str(&format!("\n  tried, gives another value: {next}")),
                Err(error) => {
                    let said = shortened(&error.to_string());
                    notes.push_str(&format!("\n  tried, refused: {next}: {said}"));
                }
            }
        }
        Attempt {
            ending: Ending::Lost,
            notes,
        }
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(600).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Other calls of the session, before the document's.
fn others(id: &str) -> Vec<(String, &'static str, Value)> {
    let ids = match id {
        id if id.starts_with("toolu_") => [
            "toolu_01B7xWq5RkNvT3mZcYpLdH2f",
            "toolu_01C2sDf8GhJkL5pQwErTyU4i",
        ],
        id if id.len() > 12 => [
            "call_W2eR4tY6uI8oP0aS1dF3gH5j",
            "call_M9nB7vC5xZ3lK1jH8gF6dS4a",
        ],
        _ => ["call_1", "call_10"],
    };
    let results = [
        (
            "get_time",
            json!({"timezone": "Europe/Berlin", "datetime": "2026-11-20T10:15:00+01:00", "is_dst": false}),
        ),
        (
            "create_entity",
            json!({"created": true, "entity": {"uid": "e-17", "label": "draft"}}),
        ),
    ];
    ids.into_iter()
        .zip(results)
        .map(|(id, (tool, result))| (id.to_owned(), tool, result))
        .collect()
}

/// The arguments that a model would write next, the first offered first.
fn next_tries(
    error: &ResolveError,
    tool: &PreparedTool,
    arguments: &Value,
    parameter: &str,
) -> Vec<Value> {
    let mut tries = Vec::new();
    for failure in error.failures() {
        let body = failure.body();
        let Some((_, offered)) = body.advice.as_deref().and_then(|advice| {
            advice
                .split_once("\ntry: ")
                .or_else(|| advice.split_once("try: "))
        }) else {
            continue;
        };
        let at = failure.at.as_str();
        let is_malformed = failure.error.code().as_str() == "reference.malformed";
        for offered in offers(offered) {
            let next = match offered {
                // The whole text as it is meant; elsewhere it is a selector that is a quoted name.
                Offer::Text(text) if is_malformed && text.starts_with('"') => {
                    let text = serde_json::from_str(&text).ok();
                    text.and_then(|text| put(arguments, at, text, parameter))
                }
                Offer::Json(reference) => put(arguments, at, reference, parameter),
                Offer::Text(text) if text == "no selector" => without_selector(arguments),
                Offer::Text(text) if text.contains(IN_PLACE_OF) => replaced(arguments, at, &text),
                // Words, rather than something to write.
                Offer::Text(text) if ["a ", "an ", "or ", "to "].iter().any(|word| text.starts_with(word)) => None,
                Offer::Text(text) => match failure.error.code().as_str() {
                    "result.unknown" | "result.failed" | "result.expired" | "result.pending" => named(arguments, &["$tool", "_tool", "tool"], &text),
                    "reference.malformed" if text == parameter => renamed(arguments, parameter),
                    _ => named(arguments, &["$select", "_select", "select"], &text).or_else(|| {
                        let reference = json!({tool_key(tool, "tool"): body.call_id, tool_key(tool, "select"): text});
                        put(arguments, at, reference, parameter)
                    }),
                },
            };
            tries.extend(next);
        }
    }
    tries
}

fn tool_key(tool: &PreparedTool, word: &str) -> String {
    let style = tool.listed().style().unwrap_or(Style::Inline);
    style.spelling().key(word)
}

enum Offer {
    Json(Value),
    Text(String),
}

/// What stands after `try: `, separated by commas: references as JSON, entries of a references map, selectors and ids as they
/// are. What follows a semicolon is said for another purpose.
fn offers(text: &str) -> Vec<Offer> {
    let mut offers = Vec::new();
    let mut rest = text.lines().next().unwrap_or_default().trim();
    while !rest.is_empty() && !rest.starts_with(';') {
        let map = ["\"_refs\": ", "\"$refs\": "]
            .into_iter()
            .find(|key| rest.starts_with(key));
        let json = &rest[map.map_or(0, str::len)..];
        if json.starts_with(['{', '[']) && (map.is_some() || json.starts_with('{')) {
            let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                rest = json[values.byte_offset()..].trim_start_matches([',', ' ']);
                rest = rest.strip_prefix("or ").unwrap_or(rest);
                offers.push(Offer::Json(match map {
                    Some(key) => json!({key.trim_matches(['"', ':', ' ']): value}),
                    None => value,
                }));
                continue;
            }
        }
        let end = end_of_item(rest);
        offers.push(Offer::Text(rest[..end].trim().trim_matches('`').to_owned()));
        rest = rest[end..].trim_start_matches([',', ' ']);
    }
    offers
}

/// The first comma or semicolon outside brackets and quotes.
fn end_of_item(text: &str) -> usize {
    let (mut depth, mut quote, mut is_escaped) = (0_i32, None, false);
    for (index, char) in text.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match (quote, char) {
            (Some(_), '\\') => is_escaped = true,
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(char),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',' | ';') if depth == 0 => return index,
            _ => {}
        }
    }
    text.len()
}

/// The arguments with this at a place: what stood there was the mistake.
fn put(arguments: &Value, at: &str, reference: Value, parameter: &str) -> Option<Value> {
    let mut arguments = arguments.clone();
    // A whole map, or the whole of the arguments.
    if let Some(members) = reference.as_object() {
        if let Some(key) = ["_refs", "$refs"]
            .into_iter()
            .find(|key| members.contains_key(*key))
        {
            arguments
                .as_object_mut()?
                .insert(key.to_owned(), members[key].clone());
            // A place within the parameter is filled, the rest of it stays.
            let is_within = members[key]
                .to_string()
                .contains(&format!("\"/{parameter}/"));
            if arguments
                .get(parameter)
                .is_some_and(|value| !value.is_null())
                && !is_within
            {
                arguments[parameter] = Value::Null;
            }
            return Some(arguments);
        }
        if members.contains_key(parameter) {
            return Some(reference);
        }
    }
    match arguments.pointer_mut(at) {
        Some(place) => *place = reference,
        None => {
            let pointer = Pointer::parse(at)?;
            let name = pointer.to_string();
            let name = name.rsplit('/').next()?.to_owned();
            arguments.as_object_mut()?.insert(name, reference);
        }
    }
    Some(arguments)
}

/// Between what is written in a text and what stood there.
const IN_PLACE_OF: &str = "` in place of `";

/// The arguments with a part of the text at a place replaced.
fn replaced(arguments: &Value, at: &str, offered: &str) -> Option<Value> {
    let (new, old) = offered.split_once(IN_PLACE_OF)?;
    let mut arguments = arguments.clone();
    let text = arguments.pointer_mut(at)?;
    *text = text.as_str()?.replace(old, new).into();
    Some(arguments)
}

/// The arguments with another text at one of these keys of the first reference.
fn named(arguments: &Value, keys: &[&str], text: &str) -> Option<Value> {
    fn change(value: &mut Value, keys: &[&str], text: &str) -> bool {
        match value {
            Value::Object(members) => {
                let is_reference = ["$tool", "_tool", "tool"]
                    .iter()
                    .any(|key| members.get(*key).is_some_and(Value::is_string));
                if is_reference {
                    let key = keys.iter().find(|key| members.contains_key(**key)).copied();
                    let spelled = if members.contains_key("_tool") {
                        keys[1]
                    } else if members.contains_key("$tool") {
                        keys[0]
                    } else {
                        keys[2]
                    };
                    members.insert(key.unwrap_or(spelled).to_owned(), text.into());
                    return true;
                }
                members
                    .values_mut()
                    .any(|member| change(member, keys, text))
            }
            Value::Array(items) => items.iter_mut().any(|item| change(item, keys, text)),
            Value::String(written) => match serde_json::from_str::<Value>(written) {
                Ok(mut inner) if inner.is_object() => {
                    let changed = change(&mut inner, keys, text);
                    if changed {
                        *value = inner;
                    }
                    changed
                }
                _ => false,
            },
            _ => false,
        }
    }
    let mut arguments = arguments.clone();
    change(&mut arguments, keys, text).then_some(arguments)
}

/// The arguments with references to whole results.
fn without_selector(arguments: &Value) -> Option<Value> {
    fn change(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|key, _| !matches!(key.as_str(), "$select" | "_select" | "select"));
                members.values_mut().for_each(change);
            }
            Value::Array(items) => items.iter_mut().for_each(change),
            _ => {}
        }
    }
    let mut arguments = arguments.clone();
    change(&mut arguments);
    Some(arguments)
}

/// The arguments with the one entry of the map, or list, for this parameter.
fn renamed(arguments: &Value, parameter: &str) -> Option<Value> {
    let mut arguments = arguments.clone();
    match arguments.get_mut("_refs")? {
        Value::Object(entries) => {
            let (_, entry) = std::mem::take(entries).into_iter().next()?;
            entries.insert(parameter.to_owned(), entry);
        }
        Value::Array(entries) => entries.first_mut()?["to"] = parameter.into(),
        _ => return None,
    }
    Some(arguments)
}
