//! No placeholder is passed on to a tool, or filled into a text in part: it becomes the value, or the call is refused.

use crate::{Engine, EngineOptions, Session, ToolResult};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};

/// How models write that a text takes the part `PATH` of the result of call `ID`.
const PLACEHOLDERS: &[&str] = &[
    // In delimiters.
    "{{ID.PATH}}",
    "{{ ID.PATH }}",
    "{{{ID.PATH}}}",
    "{{{{ID.PATH}}}}",
    "${ID.PATH}",
    "${{ID.PATH}}",
    "$(ID.PATH)",
    "<ID.PATH>",
    "<<ID.PATH>>",
    "{ID.PATH}",
    "[ID.PATH]",
    "[[ID.PATH]]",
    "%ID.PATH%",
    "%{ID.PATH}",
    "%(ID.PATH)s",
    "@{ID.PATH}",
    "#{ID.PATH}",
    "&{ID.PATH}",
    "!{ID.PATH}",
    "{%ID.PATH%}",
    "{% ID.PATH %}",
    "<%= ID.PATH %>",
    "«ID.PATH»",
    "【ID.PATH】",
    "⟦ID.PATH⟧",
    "~ID.PATH~",
    "|ID.PATH|",
    "\\(ID.PATH)",
    // With a sign, or with none.
    "$ID.PATH",
    "@ID.PATH",
    "#ID.PATH",
    "ID.PATH",
    // The path outside.
    "{{ID}}.PATH",
    "{{ID}}{{PATH}}",
    "{{ID}} {{PATH}}",
    "{{ID}}/PATH",
    "{{ID}}:PATH",
    "{{ID}}->PATH",
    "${ID}.PATH",
    "${ID}/PATH",
    "$(ID).PATH",
    "<ID>.PATH",
    "<ID>PATH",
    "(ID).PATH",
    "{ID}.PATH",
    "{ID}{PATH}",
    "[ID].PATH",
    "[ID](PATH)",
    "'ID'.PATH",
    "\"ID\".PATH",
    "`ID`.PATH",
    "{{'ID'.PATH}}",
    "{{\"ID\".PATH}}",
    // Other joints.
    "{{ID | PATH}}",
    "{{ID:PATH}}",
    "{{ID/PATH}}",
    "{{ID PATH}}",
    "{{ID->PATH}}",
    "{{ID, PATH}}",
    "{{ID#PATH}}",
    "{{PATH of ID}}",
    "<ID PATH>",
    "<ID:PATH>",
    "<ID | PATH>",
    "[ID:PATH]",
    "[ID PATH]",
    "{ID:PATH}",
    "{ID PATH}",
    "ID/PATH",
    "ID#PATH",
    "ID::PATH",
    "ID:PATH",
    "ID->PATH",
    "ID!PATH",
    "ID|PATH",
    "ID -> PATH",
    "ID => PATH",
    "ID → PATH",
    // Functions and filters.
    "{{ID.PATH | upper}}",
    "{{ID.PATH|trim|upper}}",
    "{{ID.PATH | replace('a', 'b')}}",
    "{{ID.PATH}} | upper",
    "{{ID.PATH}}|upper",
    "{{ID.PATH}}.upper()",
    "{{ID.PATH}}[0:3]",
    "{{upper(ID.PATH)}}",
    "{{ID.PATH.toUpperCase()}}",
    "${ID.PATH.toUpperCase()}",
    "${ID.PATH}.toUpperCase()",
    "${ID.PATH^^}",
    "${upper(ID.PATH)}",
    "$(upper ID.PATH)",
    "ID.PATH.toUpperCase()",
    "ID.PATH | upper",
    "ID.PATH|upper",
    "upper(ID.PATH)",
    "f(ID, 'PATH')",
    "get(ID, PATH)",
    "$ref(ID.PATH)",
    "ref('ID').PATH",
    "ref(ID).PATH",
    "result(ID).PATH",
    "getResult('ID').PATH",
    "results['ID'].PATH",
    "results[\"ID\"].PATH",
    "$results[ID].PATH",
    "steps.ID.output.PATH",
    "{{steps['ID'].PATH}}",
    "tools.ID.PATH",
    // Delimiters that are not closed, or not opened.
    "{{ID.PATH}",
    "{ID.PATH}}",
    "{{ID.PATH",
    "ID.PATH}}",
    "${ID.PATH",
    "$(ID.PATH",
    "<ID.PATH",
    "[[ID.PATH]",
    "{{{ID.PATH}}",
    "{{ID.PATH}}}",
    // Commands.
    "jq .PATH ID",
    "jq '.PATH' ID",
    "jq -r '.PATH' <<< ID",
    "jq -r '.PATH' <<< $ID",
    "jq -r .PATH ID.json",
    "cat ID | jq -r '.PATH'",
    "cat ID.json | jq -r '.PATH'",
    "echo $ID | jq -r .PATH",
    "echo \"$ID\" | jq -r '.PATH'",
    "$(jq -r .PATH ID)",
    "$(cat ID | jq -r .PATH)",
    "$(echo $ID | jq -r '.PATH')",
    "$(echo '${ID}' | jq -r '.PATH')",
    "`jq -r .PATH ID`",
    "$(get ID PATH)",
    "{{jq ID '.PATH'}}",
    "{{ID | jq '.PATH'}}",
    "{{ID | jsonpath('$.PATH')}}",
    "{{jsonpath(ID, '$.PATH')}}",
    "tool=ID select=PATH",
    "tool: ID, select: PATH",
    // Markup.
    "<ref id=\"ID\" path=\"PATH\"/>",
    "<ref id=\"ID\" select=\"PATH\">",
    "<ref id='ID'>PATH</ref>",
    "<ref>ID.PATH</ref>",
    "<ID>PATH</ID>",
    "<tool:ID.PATH>",
    "<tool_result id=\"ID\" path=\"PATH\">",
    "{ref:ID.PATH}",
    "{ref:ID:PATH}",
    "[ref: ID PATH]",
    "[insert ID.PATH here]",
    "[PATH of ID]",
    "{PATH of ID}",
    "<PATH of ID>",
    "{\"$tool\": \"ID\", \"$select\": \"PATH\"}",
    "{'tool': 'ID', 'select': 'PATH'}",
    "{$tool: ID, $select: PATH}",
    "($tool: ID, $select: PATH)",
    "$tool(ID, PATH)",
    "$tool.ID.PATH",
    "@tool(ID).PATH",
    "tool(ID).select(PATH)",
    "tool[ID].PATH",
    "%7B%7BID.PATH%7D%7D",
    "&lt;ID.PATH&gt;",
    "&lbrace;ID.PATH&rbrace;",
];

/// The same, where one word for a path could be prose.
const SPOKEN: &[&str] = &[
    "{{ID}} PATH",
    "{{ID}} | PATH",
    "${ID} | PATH",
    "ID > PATH",
    "ID | PATH",
    "ID: PATH",
    "ID PATH",
    "ID's PATH",
    "PATH of ID",
    "PATH from ID",
    "PATH in ID",
    "PATH (ID)",
    "ID (PATH)",
    "PATH @ ID",
    "get ID PATH",
    "get PATH from ID",
    "crossfeed select ID PATH",
    "tool ID select PATH",
    "call ID path PATH",
    "--from ID --select PATH",
];

/// What stands around a placeholder.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("See ", "."),
    ("See ", " there"),
    ("url=", "&x=1"),
    ("- ", "\nand more"),
    ("https://a.example/", "/issues"),
    ("curl -s ", " | head"),
    ("The title (", ") is new"),
    ("\"", "\""),
    ("{{name}}: ", ", ${HOME}"),
    ("First {{ID.items[1].url}}, then ", "!"),
    ("", " after ID.items[1].url"),
];

async fn session() -> Session {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    for id in ["call_1", "toolu_01A9fKq2Lm7PzXwV"] {
        let result =
            json!({"items": [{"url": "https://e.example/7"}, {"url": "other"}], "total": 7});
        let result = ToolResult::json(result.to_string());
        let id = CallId::parse(id).unwrap();
        session.record(&id, result).await.unwrap();
    }
    session
}

/// Whether a text is what it is to be but for the signs that stand before a placeholder or around it.
fn is_filled(resolved: &Value, parts: &[&str], value: &Value) -> bool {
    let put = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    // `Fixes #call_1.number`, `See {"$tool": "call_1"}.`
    let is_alone = parts
        .iter()
        .all(|part| matches!(*part, "" | "See " | "." | "\""));
    let signed = ["", "#", "@"].map(|sign| parts.join(&format!("{sign}{put}")));
    *resolved == *value && is_alone || signed.iter().any(|text| resolved == text)
}

#[tokio::test]
async fn no_placeholder_is_passed_on_or_filled_in_part() {
    let session = session().await;
    let mut wrong = Vec::new();
    for (path, value) in [
        ("items[0].url", json!("https://e.example/7")),
        ("total", json!(7)),
    ] {
        let is_plain = path.contains('.');
        let spoken = SPOKEN.iter().filter(|_| is_plain);
        for placeholder in PLACEHOLDERS.iter().chain(spoken) {
            for (before, behind) in AROUND {
                // What an address holds could be its own.
                let is_clear = placeholder.starts_with("{{ID.") || placeholder.starts_with("${ID.");
                if before.starts_with("http") && !is_clear {
                    continue;
                }
                // The other bracket closes it.
                if *placeholder == "$(ID.PATH" && behind.contains(')') {
                    continue;
                }
                let text = format!("{before}{placeholder}{behind}");
                let text = text.replace("ID", "call_1").replace("PATH", path);
                let resolved = session.resolve(json!({"x": text}), None).await;
                let Ok(resolved) = resolved else { continue };
                let others = |text: &str| {
                    let text = text.replace("{{ID.items[1].url}}", "other");
                    text.replace("ID.items[1].url", "other")
                };
                let parts = [&*others(before), &*others(behind)];
                if !is_filled(&resolved.arguments["x"], &parts, &value) {
                    wrong.push(format!("{text:?} gives {}", resolved.arguments["x"]));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
