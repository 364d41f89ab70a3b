//! Configurations of clients there and back.

use super::{ClientKind, ImportError, Plan, Wiring, plan, undo, without_secrets};
use crate::config::{Format, GatewayConfig, Sources, TransportConfig};
use proptest::prelude::*;
use serde_json::{Value, json};

const CONFIG: &str = "/users/ann/.config/crossfeed/x.json";

fn wiring(client: ClientKind) -> Wiring {
    let mut wiring = Wiring::new(client, "/usr/bin/crossfeed", CONFIG)
        .with_workspace("/project")
        .with_home("/users/ann");
    wiring.name = super::NAME;
    wiring
}

fn claude(text: &str) -> Plan {
    plan(text, &wiring(ClientKind::ClaudeCode)).expect(text)
}

fn config(plan: &Plan) -> Value {
    serde_json::from_str(&plan.config).expect("it is JSON")
}

const CLAUDE: &str = r#"{
  "numStartups": 17,
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "files", "${HOME}/x"],
      "env": {"KEY": "s3cret", "OTHER": "${OTHER:-o}"}
    },
    "web": {"type": "http", "url": "https://web.example/mcp?k=s3cret", "headers": {"X-Key": "${WEB}"}, "timeout": 2500}
  },
  "history": [1.50, "é\u00e9"]
}
"#;

#[test]
fn one_server_stands_for_all() {
    let plan = claude(CLAUDE);
    assert_eq!(
        plan.client,
        r#"{
  "numStartups": 17,
  "mcpServers": {
    "crossfeed": {
      "type": "stdio",
      "command": "/usr/bin/crossfeed",
      "args": [
        "gateway",
        "--config",
        "/users/ann/.config/crossfeed/x.json"
      ],
      "env": {
        "HOME": "${HOME}",
        "OTHER": "${OTHER:-}",
        "WEB": "${WEB}"
      }
    }
  },
  "history": [1.50, "é\u00e9"]
}
"#
    );
    assert_eq!(plan.moved, ["files", "web"]);
    assert_eq!(plan.stay, []);
    assert_eq!(
        config(&plan),
        json!({"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "files", "${HOME}/x"], "env": {"KEY": "s3cret", "OTHER": "${OTHER:-o}"}},
            "web": {"url": "https://web.example/mcp?k=s3cret", "headers": {"X-Key": "${WEB}"}, "timeout": "2500 ms"}
        }})
    );
}

#[test]
fn what_was_imported_can_be_read() {
    let plan = claude(CLAUDE);
    let variables = [("HOME", "/h"), ("WEB", "w")];
    let sources = Sources::default()
        .with_environment(variables.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    let read = GatewayConfig::parse(&plan.config, Format::Json, &sources).expect("it is valid");
    let TransportConfig::Stdio { args, env, .. } = &read.servers[0].transport else {
        panic!("a process");
    };
    assert_eq!(args[2], "/h/x");
    assert_eq!(env["OTHER"], "o");
}

#[test]
fn importing_twice_changes_nothing() {
    let once = claude(CLAUDE).client;
    let again = plan(&once, &wiring(ClientKind::ClaudeCode));
    assert_eq!(again, Err(ImportError::Done));
    let added = once.replace(
        "\"mcpServers\": {",
        "\"mcpServers\": {\"new\": {\"command\": \"x\"},",
    );
    let names = vec!["new".to_owned()];
    let again = plan(&added, &wiring(ClientKind::ClaudeCode));
    assert_eq!(again, Err(ImportError::Added { names }));
}

#[test]
fn a_server_of_the_same_name_is_left_alone() {
    let text = r#"{"mcpServers": {"crossfeed": {"command": "mine"}, "a": {"command": "x"}}}"#;
    let refused = plan(text, &wiring(ClientKind::ClaudeCode));
    let name = "crossfeed".to_owned();
    assert_eq!(refused, Err(ImportError::Taken { name }));
    let refused = undo(text, CLAUDE, &wiring(ClientKind::ClaudeCode));
    assert_eq!(refused, Err(ImportError::NotThere));
}

/// A server that stays where it is, and what is said of it.
fn check(client: ClientKind, server: &Value, says: &str) {
    let text = json!({client.key(): {"a": {"command": "x"}, "b": server}}).to_string();
    let plan = plan(&text, &wiring(client)).expect("one of them goes");
    assert_eq!(plan.moved, ["a"]);
    let [(name, why)] = &plan.stay[..] else {
        panic!("one stays: {plan:?}");
    };
    assert_eq!(name, "b");
    assert!(why.contains(says), "{server}: {why}");
    assert!(!why.contains("s3cret"), "{why}");
    let after: Value = serde_json::from_str(&plan.client).expect("it is JSON");
    assert_eq!(&after[client.key()]["b"], server);
    assert_eq!(undo(&plan.client, &text, &wiring(client)), Ok(text));
}

#[test]
fn what_is_not_understood_stays() {
    use ClientKind::{ClaudeCode, Cursor, VsCode};
    let url = "https://s3cret.example";
    check(
        ClaudeCode,
        &json!({"type": "sse", "url": url}),
        "`type` is not supported by the gateway: most servers that have `sse` also have `http`",
    );
    check(
        ClaudeCode,
        &json!({"type": "http", "url": url, "headersHelper": "x"}),
        "does not support its `headersHelper`",
    );
    check(
        ClaudeCode,
        &json!({"command": "x", "args": ["$${A}"]}),
        "which the gateway reads differently",
    );
    check(
        ClaudeCode,
        &json!({"url": "ftp://s3cret"}),
        "not a valid URL",
    );
    check(
        ClaudeCode,
        &json!({"args": []}),
        "`command` or `url` is missing",
    );
    check(ClaudeCode, &json!([]), "expected a table");
    check(
        VsCode,
        &json!({"command": "x", "envFile": "s3cret"}),
        "does not support its `envFile`",
    );
    check(
        VsCode,
        &json!({"command": "x", "env": {"K": "${input:key}"}}),
        "the client asks for",
    );
    check(
        Cursor,
        &json!({"command": "x", "disabled": true}),
        "switched off",
    );
    check(
        Cursor,
        &json!({"command": "x", "args": ["${config:a.b}"]}),
        "known only to the editor",
    );
    for variable in ["${workspaceFolderBasename}", "${cwd}", "${execPath}"] {
        let server = json!({"command": "x", "args": [variable]});
        check(VsCode, &server, "known only to the editor");
        check(Cursor, &server, "known only to the editor");
    }
    for client in [ClaudeCode, Cursor, VsCode] {
        let server = json!({"command": "x", "cwd": "tools"});
        check(client, &server, "its `cwd` is relative");
    }
}

/// Each of them, once, and what to do about it; what may be no variable but a secret is not shown.
#[test]
fn all_that_is_in_the_way_is_said_at_once() {
    let server = json!({
        "command": "x",
        "args": ["${input:a} ${input:b} ${input:a}", "${config:c.d}", "${e:s3cret=1}", "${env:KNOWN}"],
        "env": {"F": "${workspaceFolderBasename}", "G": "${workspaceFolder}"},
        "cwd": "here",
        "envFile": ".env",
    });
    let text = json!({"servers": {"b": server}}).to_string();
    let wiring = Wiring::new(ClientKind::VsCode, "/crossfeed", CONFIG);
    let Err(ImportError::NoServers { stay }) = plan(&text, &wiring) else {
        panic!("it stays");
    };
    let (_, why) = &stay[0];
    for says in [
        "the client asks for `${input:a}`, and the gateway cannot: write `${env:NAME}`",
        "the client asks for `${input:b}`",
        "`${config:c.d}` is known only to the editor",
        "`${…}` is known only to the editor",
        "`${workspaceFolderBasename}` is known only to the editor: write its value",
        "`${workspaceFolder}` is not known here, since this file belongs to no project: write the path",
        "its `cwd` is relative",
        "the gateway does not support its `envFile`",
    ] {
        assert_eq!(why.matches(says).count(), 1, "{says}: {why}");
    }
    assert!(!why.contains("s3cret") && !why.contains("KNOWN"), "{why}");
}

/// Clients take the nearest of those that share a name.
#[test]
fn a_project_has_a_name_of_its_own() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let wiring =
        Wiring::new(ClientKind::ClaudeCode, "/crossfeed", CONFIG).with_workspace("/project");
    let done = plan(text, &wiring).expect("there is one");
    let client: Value = serde_json::from_str(&done.client).expect("it is JSON");
    assert!(client["mcpServers"]["crossfeed"].is_null());
    assert_eq!(client["mcpServers"]["crossfeed-project"], done.entry);
    assert_eq!(undo(&done.client, text, &wiring).as_deref(), Ok(text));
    // As it was called before.
    let other = done.client.replace("crossfeed-project", "crossfeed");
    assert_eq!(plan(&other, &wiring), Err(ImportError::Done));
    assert_eq!(undo(&other, text, &wiring).as_deref(), Ok(text));
}

#[test]
fn a_gateway_that_was_told_more_is_still_ours() {
    let wiring = wiring(ClientKind::ClaudeCode);
    let told = claude(CLAUDE)
        .client
        .replace("\"gateway\",", "\"gateway\", \"--log\", \"debug\",");
    assert_eq!(plan(&told, &wiring), Err(ImportError::Done));
    assert_eq!(undo(&told, CLAUDE, &wiring).as_deref(), Ok(CLAUDE));
    let other = told.replace(CONFIG, "/other.json");
    let name = "crossfeed".to_owned();
    assert_eq!(plan(&other, &wiring), Err(ImportError::Taken { name }));
}

/// Which servers were moved does not depend on what would be moved today.
#[test]
fn what_would_stay_today_is_put_back() {
    let wiring = wiring(ClientKind::ClaudeCode);
    let before = r#"{"x": 1, "mcpServers": {"a": {"command": "x"}, "b": {"type": "sse", "url": "https://b"}}}"#;
    let one = r#"{"x": 1, "mcpServers": {"a": {"command": "x"}}}"#;
    let now = claude(one).client.replace("\"x\": 1", "\"x\": 2");
    let back = undo(&now, before, &wiring).expect("it can be undone");
    assert_eq!(back, before.replace("\"x\": 1", "\"x\": 2"));
}

#[test]
fn what_never_was_done_is_undone() {
    let wiring = wiring(ClientKind::ClaudeCode);
    let now = CLAUDE.replace("17", "18");
    assert_eq!(undo(&now, CLAUDE, &wiring), Ok(now.clone()));
    let gone = now.replace("\"web\"", "\"other\"");
    assert_eq!(undo(&gone, CLAUDE, &wiring), Err(ImportError::NotThere));
}

#[test]
fn comments_between_servers_are_put_back() {
    let wiring = wiring(ClientKind::VsCode);
    let text = "{\n  \"x\": 1,\n  \"servers\": {\n    \"a\": {\"command\": \"x\"}, // tail a\n    /* about b */\n    \"b\": {\"command\": \"y\"}\n  }\n}\n";
    let done = plan(text, &wiring).expect("there are two");
    assert!(!done.client.contains("tail a"));
    assert!(
        done.remarks
            .iter()
            .any(|remark| remark.contains("comments")),
        "{:?}",
        done.remarks
    );
    let now = done.client.replace("\"x\": 1", "\"x\": 2");
    let back = undo(&now, text, &wiring).expect("it can be undone");
    assert_eq!(back, text.replace("\"x\": 1", "\"x\": 2"));
    assert!(
        !super::is_whole(&back, text, &wiring),
        "comments elsewhere may be lost"
    );
    assert!(super::is_whole(text, text, &wiring));
    let remarks = claude(CLAUDE).remarks;
    assert!(!remarks.iter().any(|remark| remark.contains("comments")));
}

#[test]
fn the_names_of_tools_of_several_servers_are_told() {
    let text = json!({"mcpServers": {"a b": {"command": "x"}, "c": {"command": "y"}}}).to_string();
    let remarks = claude(&text).remarks;
    assert!(
        remarks[0].contains("(`a_b__…`, `c__…`)")
            && remarks[0].ends_with("from `mcp__a b__…` to `mcp__crossfeed__a_b__…`"),
        "{remarks:?}"
    );
}

/// The tools of one server keep their names, but clients put the name of the server before them.
#[test]
fn the_names_of_tools_of_one_server_are_told() {
    let text = |client: ClientKind| json!({client.key(): {"one": {"command": "x"}}}).to_string();
    let remarks = |wiring: &Wiring| {
        let plan = plan(&text(wiring.client), wiring).expect("there is one");
        plan.remarks
    };
    let claude =
        Wiring::new(ClientKind::ClaudeCode, "/crossfeed", CONFIG).with_workspace("/project");
    let said = remarks(&claude);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("`one`")
            && said[0].ends_with("from `mcp__one__…` to `mcp__crossfeed-project__…`"),
        "{said:?}"
    );
    for client in [ClientKind::Cursor, ClientKind::VsCode] {
        let said = remarks(&wiring(client));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("`crossfeed` instead of `one`") && !said[0].contains("mcp__"),
            "{said:?}"
        );
    }
}

/// The gateway would not connect to it.
#[test]
fn a_server_whose_secrets_would_go_over_plain_http_stays() {
    use ClientKind::{ClaudeCode, VsCode};
    let far = "http://192.0.2.1/mcp";
    let why = "its `headers.Authorization` would go over plain HTTP to another computer: use https";
    check(
        VsCode,
        &json!({"type": "http", "url": far, "headers": {"Authorization": "Bearer ${env:TOK}"}}),
        why,
    );
    check(
        ClaudeCode,
        &json!({"type": "http", "url": far, "headers": {"Authorization": "Bearer s3cret"}}),
        why,
    );
    check(
        ClaudeCode,
        &json!({"type": "http", "url": format!("{far}?k=${{KEY}}")}),
        "its `url` would go over plain HTTP to another computer",
    );
    let moves = |server: Value| {
        let text = json!({"mcpServers": {"a": server}}).to_string();
        claude(&text).moved == ["a"]
    };
    let headers = json!({"Authorization": "Bearer ${TOK}"});
    // Where a variable names the host, nobody knows whose it is.
    for url in [
        "https://far.example/mcp",
        "http://127.0.0.1:9/mcp",
        "http://${HOST}/mcp",
        "http://${HOST:-far.example}:80/mcp",
        "${URL}",
        "${BASE:-http://127.0.0.1:9}/mcp",
    ] {
        assert!(moves(json!({"url": url, "headers": headers})), "{url}");
    }
    assert!(moves(json!({"url": far, "headers": {"X-Team": "y"}})));
}

#[test]
fn variables_are_those_of_each_client() {
    let of = |client: ClientKind, arg: &str| {
        let text = json!({client.key(): {"a": {"command": "x", "args": [arg]}}}).to_string();
        let plan = plan(&text, &wiring(client)).expect(arg);
        let arg = config(&plan)["mcpServers"]["a"]["args"][0].clone();
        let client_side: Value = serde_json::from_str(&plan.client).expect("it is JSON");
        (arg, client_side[client.key()]["crossfeed"]["env"].clone())
    };
    use ClientKind::{ClaudeCode, Cursor, VsCode};
    assert_eq!(
        of(ClaudeCode, "${A:-b}"),
        (json!("${A:-b}"), json!({"A": "${A:-}"}))
    );
    assert_eq!(
        of(ClaudeCode, "echo ${1}"),
        (json!("echo $${1}"), Value::Null)
    );
    assert_eq!(of(ClaudeCode, "${"), (json!("$${"), Value::Null));
    assert_eq!(
        of(Cursor, "${env:A}"),
        (json!("${env:A}"), json!({"A": "${env:A}"}))
    );
    assert_eq!(of(Cursor, "${1}"), (json!("$${1}"), Value::Null));
    assert_eq!(
        of(VsCode, "${workspaceFolder}/x"),
        (json!("/project/x"), Value::Null)
    );
    assert_eq!(
        of(VsCode, "${userHome}${/}x"),
        (json!("/users/ann/x"), Value::Null)
    );
}

#[test]
fn comments_and_blanks_stay() {
    let text = "// mine\n{\n\t\"inputs\": [], // none\n\t\"servers\": {\n\t\t/* first */\n\t\t\"a\": {\"command\": \"x\"}, // one\n\t\t\"b\": {\"command\": \"y\",}, // two\n\t},\n}\n";
    let wiring = wiring(ClientKind::VsCode);
    let plan = plan(text, &wiring).expect("there are two");
    assert!(plan.client.starts_with("// mine\n{\n\t\"inputs\": [], // none\n\t\"servers\": {\n\t\t/* first */\n\t\t\"crossfeed\": {\n\t\t\t\"type\": \"stdio\",\n"));
    assert!(plan.client.ends_with("\n\t\t}, // two\n\t},\n}\n"));
    assert_eq!(undo(&plan.client, text, &wiring).as_deref(), Ok(text));
}

/// Claude Code writes its file all the time: what it wrote since stays.
#[test]
fn what_changed_since_stays() {
    let wiring = wiring(ClientKind::ClaudeCode);
    let after = claude(CLAUDE).client.replace("17", "18");
    let back = undo(&after, CLAUDE, &wiring).expect("it can be undone");
    assert_eq!(back, CLAUDE.replace("17", "18"));

    let added = after.replace(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"new\": {\"command\": \"n\"},",
    );
    let back = undo(&added, CLAUDE, &wiring).expect("it can be undone");
    let back: Value = serde_json::from_str(&back).expect("it is JSON");
    let names: Vec<_> = back["mcpServers"]
        .as_object()
        .expect("a table")
        .keys()
        .collect();
    assert_eq!(names, ["new", "files", "web"]);

    let names = vec!["web".to_owned()];
    let again = after.replace("\"mcpServers\": {", "\"mcpServers\": {\"web\": {},");
    let refused = undo(&again, CLAUDE, &wiring);
    assert_eq!(refused, Err(ImportError::Conflict { names }));
}

#[test]
fn secrets_are_not_shown() {
    let text = r#"{"primaryApiKey": "s3cret", "mcpServers": {
        "a": {"command": "npx", "args": ["--key=s3cret"], "env": {"KEY": "s3cret", "N": 3}, "note": "s3cret"},
        "b": {"url": "https://ann:s3cret@web.example/s3cret\u003fk=s3cret", "headers": {"X-Key": "s3cret"}},
        "c": {"url": "s3cret", "env": ["s3cret"], "headers": "s3cret"},
        "d": {"url": "https://web.example"},
        "e": "s3cret", // s3cret
        "f": {"command": "y"}
    }, "projects": {"/p": {"env": "s3cret"}}}"#;
    let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
    let shown = without_secrets(text, &wiring(ClientKind::ClaudeCode), &names);
    assert_eq!(
        shown.expect("it is JSON"),
        json!({
            "a": {"command": "npx", "args": "…", "env": {"KEY": "…", "N": "…"}, "note": "…"},
            "b": {"url": "https://web.example/…", "headers": {"X-Key": "…"}},
            "c": {"url": "…", "env": "…", "headers": "…"},
            "d": {"url": "https://web.example"},
            "e": {},
        })
    );
}

#[test]
fn what_is_no_json_is_said() {
    let refused = plan("{\n\"a\": s3cret}", &wiring(ClientKind::Cursor)).expect_err("no JSON");
    assert_eq!(
        refused.to_string(),
        "line 2: not valid JSON: unexpected character"
    );
    for nothing in ["{}", "[]", r#"{"mcpServers": []}"#, r#"{"mcpServers": {}}"#] {
        let refused = plan(nothing, &wiring(ClientKind::Cursor));
        assert_eq!(refused, Err(ImportError::NoServers { stay: vec![] }));
    }
}

fn blank() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just(" "),
            Just("\n"),
            Just("\n    "),
            Just("\r\n\t"),
            Just("/* c */"),
            Just("// c\n")
        ],
        0..3,
    )
    .prop_map(|parts| parts.concat())
}

fn server() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(r#"{"command": "x", "args": ["${A}", "b"]}"#.to_owned()),
        3 => Just("{\n  \"url\": \"https://a.example\"\n}".to_owned()),
        1 => Just(r#"{"type": "sse", "url": "https://a.example"}"#.to_owned()),
        1 => Just("null".to_owned()),
    ]
}

prop_compose! {
    /// A client's configuration, oddly written.
    fn document()(
        servers in proptest::collection::vec((blank(), server(), blank()), 1..6),
        (before, around, behind) in (blank(), blank(), blank()),
        last in any::<bool>(),
    ) -> String {
        let entries: Vec<_> = servers
            .iter()
            .enumerate()
            .map(|(n, (before, server, behind))| format!("{before}\"s{n}\":{before}{server}{behind}"))
            .collect();
        let comma = if last { "," } else { "" };
        format!("{before}{{\"z\":[1.0 ]{around},\"mcpServers\":{around}{{{}{comma}{behind}}}{behind}}}{before}", entries.join(","))
    }
}

proptest! {
    /// Imported and undone, a file is what it was to the byte; in between, all else is.
    #[test]
    fn there_and_back(text in document()) {
        let wiring = wiring(ClientKind::ClaudeCode);
        match plan(&text, &wiring) {
            Ok(plan) => {
                let parsed = crate::config::node::parse(&plan.client, Format::Json);
                prop_assert!(parsed.is_ok(), "{}", plan.client);
                prop_assert_eq!(undo(&plan.client, &text, &wiring), Ok(text.clone()));
                // What the client changed elsewhere stays, and the servers are back.
                let changed = plan.client.replace("[1.0 ]", "[2.0 ]");
                let back = undo(&changed, &text, &wiring).expect("it can be undone");
                prop_assert!(back.contains("[2.0 ]"));
                let names = |text: &str| {
                    let node = crate::config::node::parse(text, Format::Json).expect("it is JSON");
                    let servers = node.get("mcpServers").and_then(|node| node.entries().map(<[_]>::to_vec));
                    let mut names: Vec<_> = servers.unwrap_or_default().into_iter().map(|entry| entry.key).collect();
                    names.sort();
                    names
                };
                prop_assert_eq!(names(&back), names(&text));
            }
            Err(ImportError::NoServers { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    /// No text makes it fail in another way than by an error.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = plan(&text, &wiring(ClientKind::VsCode));
        let _ = without_secrets(&text, &wiring(ClientKind::VsCode), &["a".to_owned()]);
    }
}

#[test]
fn the_entry_of_a_project_binds_the_configuration() {
    let wiring = Wiring::new(
        ClientKind::ClaudeCode,
        "/usr/bin/crossfeed",
        "/p/.mcp.crossfeed.json",
    );
    let before = r#"{"mcpServers": {"files": {"command": "npx"}}}"#;
    let users = plan(before, &wiring).unwrap();
    let args = |plan: &Plan| plan.entry["args"].clone();
    let of_user = json!(["gateway", "--config", "/p/.mcp.crossfeed.json"]);
    assert_eq!(args(&users), of_user);
    let wiring = wiring.with_workspace("/p");
    let projects = plan(before, &wiring).unwrap();
    let digest = super::digest(projects.config.as_bytes());
    assert_eq!(
        args(&projects),
        json!([
            "gateway",
            "--config",
            "/p/.mcp.crossfeed.json",
            "--config-digest",
            digest
        ])
    );
    assert_eq!(
        super::digest(b""),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    // Twice is once, and it can be undone.
    assert_eq!(plan(&projects.client, &wiring), Err(ImportError::Done));
    assert_eq!(undo(&projects.client, before, &wiring).unwrap(), before);
}
