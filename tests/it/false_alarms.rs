//! Real texts without references: none is refused, and none changed, whatever the calls of the session are called.

use crate::support::{block_on, call, say, scope};
use crossfeed_core::{Engine, EngineOptions, PreparedTool, Session, ToolResult};
use crossfeed_tests::{suite, workspace_root};
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::reference::is_sentinel;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// Groups and texts of `corpora/texts`.
fn texts() -> Vec<(String, String)> {
    let packed = fs::read(workspace_root().join("tests/corpora/texts/texts.zlib")).unwrap();
    let lines = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Schemas with `$ref` and what they judge: the JSON Schema suite and the tools of real servers.
fn documents() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut folders = vec![
        suite("json-schema"),
        workspace_root().join("tests/corpora/tools"),
    ];
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let document: Value =
                    serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
                match document {
                    Value::Array(groups) => {
                        found.extend(groups.into_iter().map(|group| (name.clone(), group)))
                    }
                    Value::Object(mut list) => {
                        if let Some(Value::Array(tools)) = list.remove("tools") {
                            found.extend(tools.into_iter().map(|tool| (name.clone(), tool)));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    found
}

/// Whether it holds a word of the grammar as a key, which is no false alarm.
fn has_sentinel(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| is_sentinel(key) || has_sentinel(value)),
        Value::Array(items) => items.iter().any(has_sentinel),
        _ => false,
    }
}

/// Ids as clients give them, and as hosts may.
fn ids() -> Vec<String> {
    let counted = (1..=30).map(|number| format!("call_{number}"));
    let given = [
        "toolu_01A9fKq2ZtVxW8mRbN3cYpLd",
        "toolu_01QmH4sBv7dXkT2nPzR8wLcE",
        "toolu_bdrk_01Lk3Jh6Gf9Ds2Aq5Wz8Xe1R",
        "call_h7Qz0bXkV3mTnR9sLcWfJd2A",
        "call_JkP2vN8xQ4rT6yU1wZ3sB5dF",
        "chatcmpl-tool-5f0c2b7d9e1a4c3b8d6f",
        "1",
        "2",
        "search",
        "data",
        "items",
        "result",
    ];
    counted.chain(given.map(str::to_owned)).collect()
}

async fn with_results(session: &Session) {
    let result = json!({
        "items": [{"name": "a", "url": "https://a.example", "id": 7}],
        "data": {"name": "b"}, "name": "c", "length": 3, "url": "https://b.example", "result": [1, 2],
    });
    for id in ids() {
        let result = ToolResult::value(&result).with_tool("search_items");
        session.record(&call(&id), result).await.unwrap();
    }
}

fn tool(engine: &Engine, style: Style, schema: &Value) -> PreparedTool {
    let tools = json!([{"name": "next", "inputSchema": {"type": "object", "properties": {"value": schema}}}]);
    let listed = rewrite_tools(
        &ToolList::parse(&tools).unwrap(),
        &ListOptions::style(style),
    );
    engine.prepare(listed.find("next").unwrap().clone())
}

/// The false alarms: by group, with the first of each.
fn alarms(values: &[(String, Value)], schema: &Value) -> BTreeMap<String, (usize, String)> {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(scope("session"));
    let mut alarms: BTreeMap<String, (usize, String)> = BTreeMap::new();
    block_on(async {
        with_results(&session).await;
        let tools = Style::ALL.map(|style| tool(&engine, style, schema));
        for (index, (group, value)) in values.iter().enumerate() {
            let arguments = json!({"value": value});
            let tool = &tools[index % tools.len()];
            let alarm = match session.resolve_call(tool, arguments.clone()).await {
                Ok(resolved) if resolved.arguments == arguments => {
                    let written = arguments.to_string();
                    match session.resolve_call_json(tool, written.clone()).await {
                        Ok(resolved) if resolved.arguments.to_vec() == written.as_bytes() => {
                            continue;
                        }
                        Ok(_) => "changed in bytes".to_owned(),
                        Err(error) => error.to_string(),
                    }
                }
                Ok(resolved) => format!("changed to {}", resolved.arguments),
                Err(error) => error.to_string(),
            };
            let (count, _) = alarms
                .entry(group.clone())
                .or_insert_with(|| (0, format!("{value}\n  {alarm}")));
            *count += 1;
        }
    });
    alarms
}

fn assert_none(alarms: &BTreeMap<String, (usize, String)>) {
    for (group, (count, first)) in alarms {
        say(&format!("{group}: {count}, the first: {first}"));
    }
    assert!(alarms.is_empty());
}

#[test]
fn texts_pass_as_they_are() {
    let texts: Vec<_> = texts()
        .into_iter()
        .map(|(group, text)| (group, text.into()))
        .collect();
    assert!(texts.len() > 10_000, "{}", texts.len());
    assert_none(&alarms(&texts, &json!({"type": "string"})));
    // Where the tool does not say what it takes.
    let some: Vec<_> = texts.into_iter().step_by(4).collect();
    assert_none(&alarms(&some, &json!({})));
}

#[test]
fn texts_within_values_pass_as_they_are() {
    let texts = texts().into_iter().step_by(7);
    let within =
        texts.map(|(group, text)| (group, json!({"title": "t", "body": text, "labels": [text]})));
    assert_none(&alarms(
        &within.collect::<Vec<_>>(),
        &json!({"type": "object"}),
    ));
}

#[test]
fn documents_pass_as_they_are() {
    let documents: Vec<_> = documents()
        .into_iter()
        .filter(|(_, document)| !has_sentinel(document))
        .collect();
    assert!(documents.len() > 1_500, "{}", documents.len());
    assert_none(&alarms(&documents, &json!({"type": "object"})));
    let as_text = documents
        .into_iter()
        .map(|(group, document)| (group, document.to_string().into()));
    assert_none(&alarms(
        &as_text.collect::<Vec<_>>(),
        &json!({"type": "string"}),
    ));
}
