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

/// Texts as people write them to tools, `ID` in place of an id of the session where they mention one.
const WRITTEN: [&str; 109] = [
    // Dates and times.
    "2026-01-31",
    "2026-01-31T10:15:00Z",
    "2026-01-31T10:15:00.123+01:00",
    "from 2026-01-01 to 2026-01-31",
    "due:<2026-02-01",
    "created:>=2026-01-01 is:open",
    "Meeting on 2026-03-04 at 14:30 (Europe/Berlin)",
    "20260131T101500Z/P1D",
    "2026-W05-6",
    "10:15",
    // Addresses.
    "https://a.example/items/1?data=x&result=2#search",
    "https://a.example/search/data.items[0].json",
    "http://localhost:8080/1/2",
    "data.example.com",
    "search.a.example:443/items",
    "git@a.example:data/items.git",
    "s3://data/items/result.csv",
    "file:///data/items/1.json",
    "mailto:search@data.example?subject=result",
    "ada.lovelace+items@data.example.com",
    "Ada <ada@items.example>, Bob <bob@data.example>",
    "data:text/plain;base64,SGVsbG8=",
    "urn:isbn:0451450523",
    "192.168.0.1:2, 10.0.0.0/8",
    // Names of files and versions.
    "data-1.2.3.tar.gz",
    "items_v2.1.0-rc.1.zip",
    "search/index.test.ts",
    "./result/items[0]/page.tsx",
    "data.items.json",
    "serde = \"1.0.228\"",
    "python>=3.11,<4; extra == 'data'",
    "@scope/items@2.0.1",
    "v1.2.3...v2.0.0",
    "C:\\data\\items\\1.txt",
    "~/data/result.log",
    "Report (final) v2.docx",
    // Other templates, escaped ones and raw ones.
    "Hello {{ user.name }}, your order {{ order.id }} is ready.",
    "\\{{ items }} is written with a backslash",
    "{{ '{{' }} items {{ '}}' }}",
    "{% raw %}{{ name }}{% endraw %}",
    "$${HOME} and $$PATH",
    "cost: $1, $2 or ${AMOUNT}",
    "echo \"${items[0]}\" \"$1\" \"${data:-none}\"",
    "for f in \"${items[@]}\"; do echo \"$f\"; done",
    "`${data.items[0].name}`",
    "const { data, result } = await search(items);",
    "result = data[\"items\"][0][\"name\"]",
    "SELECT data.name FROM data JOIN items ON items.id = data.id",
    "jq '.items[] | .name' data.json",
    "$.items[*].name",
    "#/components/schemas/Item",
    "{{ range .Values.data.items }}{{ .name }}{{ end }}",
    "image: \"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\"",
    "{{- with .Values.search }}{{ toYaml . | nindent 8 }}{{- end }}",
    "{{#each people}}<li>{{this.name}} {{@index}}</li>{{/each}}",
    "{{#if user.isAdmin}}{{> admin}}{{else}}{{user.name}}{{/if}}",
    "run: echo \"${{ steps.build.outputs.version }}\" >> \"$GITHUB_OUTPUT\"",
    "if: ${{ github.event_name == 'push' && needs.test.result == 'success' }}",
    "runs-on: ${{ matrix.os }}-latest",
    "value: $(tasks.build.results.digest)",
    "\\newcommand{\\items}[1]{\\textbf{#1}} $x_{1} + y_{2} = \\frac{1}{2}$",
    "\\begin{itemize}\\item $\\sum_{i=1}^{n} a_i$ \\end{itemize} \\ref{data} \\cite{search}",
    "cp \"$SRC.bak\" \"${DEST}.new\" && echo $HOME.local $1.txt $?",
    "awk '{ print $1, $2 }' data.txt | sort -k1,1",
    "output \"url\" { value = \"https://${aws_lb.main.dns_name}/items\" }",
    "<p th:text=\"${user.name}\">name</p> <c:out value=\"${items[0].name}\"/>",
    "$items = $data->items[0]->name; echo \"{$user->name}\";",
    "puts \"#{user.name} has #{items.length} items\"",
    "printf(\"%s\\n\", items[0].name); /* data->name */",
    "println!(\"{name}: {}\", items[0].url);",
    "f\"{user.name}: {items[0]['url']}\"",
    "Write-Host \"$($items[0].Name)\" $env:PATH",
    "func (s *Server) items() []string { return s.data.items }",
    // Code in which something is called as the calls are.
    "def test_ID(self): pass",
    "function ID() { return 1; }",
    "jobs:\n  ID:\n    runs-on: ubuntu-latest",
    "const ID = await fetch(url); const body = await ID.json();",
    "let ID = client.call(); assert!(ID.is_ok());",
    "ID = requests.get(url)\nprint(ID.status_code)",
    // Names of variables, modules and files that are ids, with what is no field of the result.
    "return ID.json();",
    "if ID.returncode != 0: raise RuntimeError(ID.stderr)",
    "#include <ID.h>",
    "SELECT ID.number FROM ID JOIN items ON items.id = ID.item",
    "import ID.issues as ci",
    "see ID.entries in the log",
    "const total = ID.entries.map((entry) => entry.size);",
    "${{ steps.ID.outputs.artifact }} is of another run",
    "{\"ID\": \"x\"}",
    "[\"ID\", \"open\"]",
    "ID > done > closed",
    "`ID --verbose`",
    // The same with what are fields of the result.
    "import ID.items",
    "from ID.data import name",
    "const ID = await search(); use(ID.items[0].name, ID.length);",
    "def f(ID): return ID.name",
    "ID.length += 1;",
    "ID.data.name = \"x\"",
    "mailto:ID.name@x.example",
    // About results and references, without one.
    "The result of ID was empty, so search again.",
    "ID failed with a timeout; ID is fine.",
    "See ID and ID.",
    "ID.json and ID.log are attached",
    "ID: done",
    "Do not use ID again, its data is old.",
    "(ID)",
    "Write a reference as {{step_id.path}}, where step_id is the id of a step.",
    "Pass {\"$tool\": \"<call id>\"} to refer to a result, with \"$select\" for a part of it.",
    "A template such as ${previous.output} is replaced before the step runs.",
    "`{\"$ref\": \"#/definitions/x\"}` points into the same document.",
];

#[test]
fn what_people_write_passes_as_it_is() {
    let mentioned = [
        "call_1",
        "call_12",
        "toolu_01A9fKq2ZtVxW8mRbN3cYpLd",
        "call_h7Qz0bXkV3mTnR9sLcWfJd2A",
    ];
    let texts = |text: &&str| {
        let of = |id: &&str| ("written".to_owned(), Value::from(text.replace("ID", id)));
        let most = if text.contains("ID") {
            mentioned.len()
        } else {
            1
        };
        mentioned.iter().take(most).map(of).collect::<Vec<_>>()
    };
    let texts: Vec<_> = WRITTEN.iter().flat_map(texts).collect();
    let styles = |values: Vec<(String, Value)>| {
        // Each text in each style.
        values
            .into_iter()
            .flat_map(|value| vec![value; Style::ALL.len()])
            .collect::<Vec<_>>()
    };
    assert_none(&alarms(&styles(texts.clone()), &json!({"type": "string"})));
    assert_none(&alarms(&styles(texts.clone()), &json!({})));
    let two = texts.windows(2).map(|pair| {
        let text = format!(
            "{}\n\n{}",
            pair[0].1.as_str().unwrap(),
            pair[1].1.as_str().unwrap()
        );
        ("written".to_owned(), text.into())
    });
    assert_none(&alarms(
        &two.collect::<Vec<_>>(),
        &json!({"type": "string"}),
    ));
    let lists = texts
        .iter()
        .map(|(group, text)| (group.clone(), json!([text, {"body": text}])));
    assert_none(&alarms(
        &lists.collect::<Vec<_>>(),
        &json!({"type": "array"}),
    ));
}

/// Texts that are read as references where they stand.
const MEANT: [&str; 12] = [
    "{{call_1.items[0].url}}",
    "{{call_1}}",
    "${call_1.items[0].url}",
    "$call_1.items[0].url",
    "<call_1.items[0].url>",
    "<call_1>",
    "call_1.items[0].url",
    "See {{call_1.items[0].url}} and ${call_1.name}.",
    "{\"_tool\": \"call_1\", \"_select\": \"url\"}",
    "{'$tool': 'call_1', '$select': 'url'}",
    "```json\n{\"$tool\": \"call_1\"}\n```",
    "call_99",
];

#[test]
fn what_is_read_as_a_reference_passes_as_a_literal() {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(scope("session"));
    let schemas = [
        json!({"type": "string"}),
        json!({"type": ["string", "null"]}),
        json!({"type": ["string", "integer"]}),
        json!({}),
    ];
    block_on(async {
        with_results(&session).await;
        for schema in schemas {
            for style in Style::ALL {
                let tool = tool(&engine, style, &schema);
                for text in MEANT {
                    let literals = ["$literal", "_literal"].map(|key| json!({key: text}));
                    let mut written: Vec<_> = literals
                        .iter()
                        .map(|literal| json!({"value": literal}))
                        .collect();
                    match style {
                        Style::Refs => {
                            let mapped = |literal| {
                                [
                                    json!({"_refs": {"value": literal}}),
                                    json!({"value": text, "_refs": {"value": literal}}),
                                ]
                            };
                            written.extend(literals.iter().flat_map(mapped));
                        }
                        Style::RefsList => {
                            let entry = json!([{"to": "value", "literal": text}]);
                            written.push(json!({"_refs": entry}));
                            written.push(json!({"value": text, "_refs": entry}));
                        }
                        _ => {}
                    }
                    for arguments in written {
                        let about = format!("{arguments} for {schema} in {style:?}");
                        let resolved = session.resolve_call(&tool, arguments).await;
                        let resolved = resolved.unwrap_or_else(|error| panic!("{about}: {error}"));
                        assert_eq!(resolved.arguments, json!({"value": text}), "{about}");
                        assert!(
                            resolved.notices().is_empty(),
                            "{about}: {:?}",
                            resolved.notices()
                        );
                    }
                }
            }
        }
    });
}
