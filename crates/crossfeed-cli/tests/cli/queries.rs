//! SQL over results: by hand, and through a gateway between a client and servers that are scripts.

use super::{Run, file, gateway::Client, pages::blocks, run};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A server with a tool that returns `RESULT`, and one that takes a text.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"list","inputSchema":{"type":"object"}},{"name":"say","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}\n' "$id" ;;
    *'"tools/call"'*'"say"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"said"}]}}\n' "$id" ;;
    *'"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$RESULT" ;;
    *'"id"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queries.md");
    fs::read_to_string(page).unwrap()
}

/// The only block of a kind.
fn block<'p>(page: &'p str, kind: &str) -> &'p str {
    let blocks = blocks(page, kind);
    assert_eq!(blocks.len(), 1, "one block of {kind} is on the page");
    blocks[0].trim_end()
}

/// A client that has listed the results of both servers: `call_1` and `call_2`.
struct Explorer {
    client: Client,
    asked: u64,
}

impl Explorer {
    fn new(name: &str, [options, of_issues, rules]: [&str; 3]) -> Self {
        let page = page();
        let script = file(&format!("{name}.sh"), SERVER);
        let server = |name: &str, text: &str| {
            let result = json!({"content": [{"type": "text", "text": text}]});
            format!(
                "[mcpServers.{name}]\ncommand = 'sh'\nargs = ['{script}']\nenv.RESULT = '''{result}'''\n"
            )
        };
        let issues = server("issues", block(&page, "json issues.json")) + of_issues;
        let people = server("people", block(&page, "csv people.csv"));
        let config = file(
            &format!("{name}.toml"),
            &format!("{options}\n{issues}{people}{rules}"),
        );
        let mut own = Self {
            client: Client::of(&["--config", &config]),
            asked: 0,
        };
        let client = json!({"name": "t", "version": "1"});
        let begin =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        own.ask("initialize", begin);
        own.client
            .tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for tool in ["issues__list", "people__list"] {
            assert_eq!(own.call(tool, json!({}))["isError"], Value::Null);
        }
        own
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.client.ask(self.asked, method, &params)["result"].take()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of an answer.
    fn answer(&mut self, arguments: Value) -> String {
        let result = self.call("query_results", arguments);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn rows(&mut self, sql: &str) -> Value {
        let answer = self.answer(json!({"sql": sql}));
        serde_json::from_str(&answer).unwrap_or_else(|_| answer.into())
    }
}

#[test]
fn the_exploration_of_the_guide_goes_as_it_says() {
    let page = page();
    let json = |kind: &str| serde_json::from_str::<Value>(block(&page, kind)).unwrap();
    let mut explorer = Explorer::new("queries-guide", ["queries = true", "", ""]);
    let tools = explorer.ask("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "query_results"));
    assert_eq!(
        explorer.answer(json("json describe")),
        block(&page, "text tables")
    );
    let result = explorer.call("query_results", json("json query"));
    let rows: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(rows, json("json rows"));
    assert_eq!(result["content"][1]["text"], r#"{"_toolCallId":"call_3"}"#);
    let said = json!({"_refs": {"text": {"_tool": "call_3", "_select": "[0].team"}}});
    assert_eq!(
        explorer.call("people__say", said)["content"][0]["text"],
        "said"
    );
    assert_eq!(
        explorer.answer(json("json wrong")),
        block(&page, "text wrong")
    );
    // An answer is a table, too, and a failed one is not.
    assert_eq!(
        explorer.rows("SELECT open FROM call_3"),
        json!([{"open": 2}])
    );
    assert!(
        explorer
            .answer(json!({"sql": "SELECT * FROM call_5"}))
            .starts_with("result.failed: ")
    );
    assert!(
        explorer
            .answer(json!({"sql": "SELECT * FROM call_99"}))
            .starts_with("query.invalid: no such table: call_99\n")
    );
    assert!(
        explorer
            .answer(json!({"sql": "DROP TABLE call_1"}))
            .starts_with("query.refused: ")
    );
    assert!(
        explorer
            .answer(json!({}))
            .starts_with("arguments.invalid: ")
    );
    let config = file("queries-page.toml", block(&page, "toml gateway.toml"));
    let Run { out, .. } = run(&["gateway", "--config", &config, "--check"], "");
    assert!(out.contains("on: queries: 2 at once"), "{out}");
}

/// An answer holds the data of all results that it was made from, without what is withheld of them.
#[test]
fn rules_see_through_answers() {
    let rule = "[[flows]]\nname = 'issues stay'\nfrom = 'issues'\nto = 'people'\naction = 'deny'\n";
    let on = "queries = true";
    let mut explorer = Explorer::new("queries-rules", [on, "never = ['login', 'draft']\n", rule]);
    let count = "SELECT count(*) AS n FROM call_1_items JOIN call_2";
    assert_eq!(explorer.rows(count), json!([{"n": 6}]));
    assert_eq!(
        explorer.rows("SELECT team FROM call_2 LIMIT 1"),
        json!([{"team": "core"}])
    );
    assert_eq!(explorer.rows("SELECT n FROM call_3"), json!([{"n": 6}]));
    let pass =
        |call: &str, select: &str| json!({"_refs": {"text": {"_tool": call, "_select": select}}});
    for (call, select, is_refused) in [
        ("call_3", "[0].n", true),
        ("call_4", "[0].team", false),
        ("call_5", "[0].n", true),
    ] {
        let result = explorer.call("people__say", pass(call, select));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            text.starts_with("flow.refused: "),
            is_refused,
            "{call}: {text}"
        );
    }
    for column in ["draft", "user ->> '$.login'"] {
        let rows = explorer.rows(&format!("SELECT {column} AS x FROM call_1_items LIMIT 1"));
        assert!(
            rows == json!([{"x": null}])
                || rows
                    .as_str()
                    .unwrap()
                    .starts_with("query.invalid: no such column"),
            "{rows}"
        );
    }

    let rule = rule.replace("'people'", "'crossfeed/query_results'");
    let mut explorer = Explorer::new("queries-refused", [on, "", &rule]);
    assert!(
        explorer
            .answer(json!({"sql": count}))
            .starts_with("flow.refused: ")
    );
    assert!(
        explorer
            .answer(json!({"describe": ["call_1"]}))
            .starts_with("flow.refused: ")
    );
    assert_eq!(
        explorer.rows("SELECT count(*) AS n FROM call_2"),
        json!([{"n": 2}])
    );
}

#[test]
fn answers_that_are_too_long_say_so() {
    let mut explorer = Explorer::new(
        "queries-cut",
        ["queries = { rows = 2, time = '1 s' }", "", ""],
    );
    let result = explorer.call(
        "query_results",
        json!({"sql": "SELECT number FROM call_1_items"}),
    );
    let all = result["content"].to_string();
    assert!(all.contains("only the first 2 rows are here"), "{all}");
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c";
    let answer = explorer.answer(json!({"sql": endless}));
    assert!(
        answer.starts_with("limit.exceeded: the statement took longer than 1000 ms"),
        "{answer}"
    );
}

#[test]
fn files_are_queried_by_hand() {
    let page = page();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queries");
    fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let issues = write("issues.json", block(&page, "json issues.json"));
    let people = write("people.csv", block(&page, "csv people.csv"));
    let check = |args: &[&str], input: &str, expected: &str| {
        let Run { status, out, err } = run(args, input);
        assert_eq!(
            (status, out.as_str(), err.as_str()),
            (0, expected, ""),
            "{args:?}"
        );
    };
    check(
        &["sql", "--describe", &issues, &people],
        "",
        "issues(total_count INTEGER): 1 row\n\
         issues_items(number INTEGER, title TEXT, state TEXT, user JSON, draft BOOLEAN): 3 rows\n\
         people(login TEXT, team TEXT): 2 rows\n",
    );
    let grouped = "SELECT state, count(*) AS n FROM issues_items GROUP BY state";
    check(
        &["sql", grouped, &issues],
        "",
        "[{\"state\":\"closed\",\"n\":1},{\"state\":\"open\",\"n\":2}]\n",
    );
    check(
        &["sql", "-", &issues],
        grouped,
        "[{\"state\":\"closed\",\"n\":1},{\"state\":\"open\",\"n\":2}]\n",
    );
    check(
        &["sql", "SELECT count(*) AS n FROM input", "-"],
        "[1, 2]",
        "[{\"n\":2}]\n",
    );
    let joined = "SELECT number, team, user FROM issues_items JOIN people ON login = user ->> '$.login' WHERE number < 3";
    check(
        &["sql", "--table", joined, &issues, &people],
        "",
        "number  team  user\n------  ----  ---------------\n     1  core  {\"login\":\"ann\"}\n     2  docs  {\"login\":\"bob\"}\n(2 rows)\n",
    );
    let calls = write(
        "calls.jsonl",
        "{\"call_id\":\"call_1\",\"result\":[{\"a\":1}]}\n{\"call_id\":\"c 2\",\"result\":\"x,y\\n1,2\\n\",\"kind\":\"text\"}\n",
    );
    check(
        &[
            "sql",
            "SELECT a + x AS sum FROM call_1, \"c 2\"",
            "--results",
            &calls,
        ],
        "",
        "[{\"sum\":2}]\n",
    );
    for (args, status, expected) in [
        (
            &["sql", "SELECT titel FROM issues_items", &issues][..],
            1,
            "error[query.invalid]: no such column: titel\ntry: title\n",
        ),
        (
            &["sql", "SELECT 1", &people, &people],
            2,
            "error: two results would be the table `people`: give one another name\n",
        ),
        (
            &["sql", "SELECT 1"],
            2,
            "error: there is nothing to query: name files, or give `--results FILE`\n",
        ),
        (
            &["sql", "SELECT 1", "-", "--results", "-"],
            2,
            "error: only one input may be standard input\n",
        ),
        (
            &[
                "sql",
                "--time",
                "1",
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
                &issues,
            ],
            1,
            "error[limit.exceeded]: the statement took longer than 1000 ms\n",
        ),
    ] {
        let Run {
            status: own, err, ..
        } = run(args, "");
        assert_eq!(own, status, "{args:?} {err}");
        assert!(err.starts_with(expected), "{args:?} {err}");
    }
}
