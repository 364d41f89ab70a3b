//! Configurations of clients that each have their own form.

use super::{ClientKind, Plan, Wiring, is_whole, plan, undo, without_secrets};
use crate::config::{Format, GatewayConfig, Sources};
use proptest::prelude::*;
use serde_json::{Value, json};

const CONFIG: &str = "/users/ann/.config/crossfeed/x.json";

fn of_user(client: ClientKind) -> Wiring {
    Wiring::new(client, "/usr/bin/crossfeed", CONFIG).with_home("/users/ann")
}

fn of_project(client: ClientKind, within: &str) -> Wiring {
    Wiring::new(client, "crossfeed", format!("/srv/me/p/{within}"))
        .with_workspace("/srv/me/p")
        .with_shared_config(within)
        .with_home("/users/ann")
}

/// The plan, which leads back to the byte, and to a configuration that the gateway takes.
fn there_and_back(text: &str, wiring: &Wiring) -> (Plan, Value) {
    let plan = plan(text, wiring).expect(text);
    assert_eq!(undo(&plan.client, text, wiring).as_deref(), Ok(text));
    let environment = ["A", "B", "T"].map(|name| (name.to_owned(), "x".to_owned()));
    let sources = Sources::default().with_environment(environment.into());
    let read = GatewayConfig::parse(&plan.config, Format::Json, &sources);
    assert!(read.is_ok(), "{read:?}");
    let config = serde_json::from_str(&plan.config).expect("it is JSON");
    (plan, config)
}

/// How one server is read, or why it stays.
fn read(client: ClientKind, server: &Value) -> Result<Value, String> {
    let text = json!({client.key(): {"a": {"command": "x"}, "b": server}}).to_string();
    let plan = plan(&text, &of_user(client)).expect("one of them goes");
    let config: Value = serde_json::from_str(&plan.config).expect("it is JSON");
    match plan.stay.first() {
        Some((_, why)) => Err(why.clone()),
        None => Ok(config["mcpServers"]["b"].clone()),
    }
}

#[track_caller]
fn check(client: ClientKind, server: &Value, expected: &Value) {
    assert_eq!(read(client, server).as_ref(), Ok(expected));
}

#[track_caller]
fn check_stays(client: ClientKind, server: &Value, why: &str) {
    let said = read(client, server).expect_err("it stays");
    assert!(said.contains(why), "{said}");
}

const CODEX: &str = r#"# My settings.
model = "o5"   # the large one

[mcp_servers.files] # files
command = "npx"
args = [
  "-y", # yes
  "files",
]
env_vars = ["A"]
startup_timeout_sec = 20.5
tool_timeout_sec = 300
disabled_tools = ["rm"]

[mcp_servers.files.env]
KEY = 's3cret ${A}'

# The web.
[mcp_servers.web]
url = "https://web.example/mcp?k=s3cret"
bearer_token_env_var = "T"
http_headers = { X = "s3cret" }
env_http_headers = { Y = "B" }

[mcp_servers.off]
command = "x"
enabled = false

[projects."/srv/me/p"]
trust_level = "trusted" # surely
"#;

#[test]
fn codex_is_there_and_back() {
    let wiring = of_user(ClientKind::Codex);
    let (plan, config) = there_and_back(CODEX, &wiring);
    assert_eq!(
        plan.client,
        r#"# My settings.
model = "o5"   # the large one

[mcp_servers.crossfeed]
command = "/usr/bin/crossfeed"
args = ["gateway", "--config", "/users/ann/.config/crossfeed/x.json"]
env_vars = ["A", "B", "T"]
startup_timeout_sec = 21
tool_timeout_sec = 300

# The web.
[mcp_servers.off]
command = "x"
enabled = false

[projects."/srv/me/p"]
trust_level = "trusted" # surely
"#
    );
    assert_eq!(
        config,
        json!({"mcpServers": {
            "files": {
                "command": "npx",
                "args": ["-y", "files"],
                "env": {"A": "${A:-}", "KEY": "s3cret $${A}"},
                "timeout": "300000 ms",
                "deny": ["rm"],
            },
            "web": {
                "url": "https://web.example/mcp?k=s3cret",
                "headers": {"Authorization": "Bearer ${T}", "X": "s3cret", "Y": "${B}"},
            },
        }})
    );
    assert_eq!(
        plan.stay,
        [("off".to_owned(), "it is switched off".to_owned())]
    );
    let shown = without_secrets(CODEX, &wiring, &plan.moved).expect("it is TOML");
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
}

#[test]
fn what_codex_wrote_since_stays() {
    let wiring = of_user(ClientKind::Codex);
    let text = CODEX.replace('\n', "\r\n");
    let now = plan(&text, &wiring).expect("it can be planned").client;
    let now = now.replace("\"trusted\"", "\"untrusted\"")
        + "\r\n[mcp_servers.crossfeed.tools.rm]\r\napproval_mode = \"approve\"\r\n";
    let back = undo(&now, &text, &wiring).expect("it can be undone");
    assert!(
        back.contains("\r\n[mcp_servers.files] # files\r\ncommand"),
        "{back}"
    );
    assert!(
        back.contains("\"untrusted\"") && !back.contains("crossfeed"),
        "{back}"
    );
    assert!(!is_whole(&back, &text, &wiring));
    let again = super::servers(&super::parse(&back, &wiring).expect("it is TOML"), &wiring).len();
    assert_eq!(again, 3);
}

#[test]
fn servers_of_codex_without_a_section_stay() {
    let text = "mcp_servers.a = { command = \"x\" }\n";
    let refused = plan(text, &of_user(ClientKind::Codex)).expect_err("it stays");
    assert!(
        format!("{refused:?}").contains("no section of its own"),
        "{refused:?}"
    );
    let broken = plan("[mcp_servers\n", &of_user(ClientKind::Codex)).expect_err("it is broken");
    assert!(
        broken.to_string().starts_with("line 1: not valid TOML: "),
        "{broken}"
    );
}

#[test]
fn zed_is_there_and_back() {
    let text = r#"// Zed
{
  "theme": "One", // light
  "context_servers": {
    /* mine */
    "files": {
      "source": "custom",
      "enabled": true,
      "command": "npx",
      "args": ["files", "${A}"],
    },
    "github": {"source": "extension", "settings": {"token": "s3cret"}},
    "old": {"command": {"path": "old", "args": ["x"], "env": {"K": "v"}}},
    "far": {"url": "https://far.example/mcp"},
  },
}
"#;
    let (plan, config) = there_and_back(text, &of_user(ClientKind::Zed));
    assert_eq!(
        config,
        json!({"mcpServers": {
            "files": {"command": "npx", "args": ["files", "$${A}"]},
            "old": {"command": "old", "args": ["x"], "env": {"K": "v"}},
            "far": {"url": "https://far.example/mcp"},
        }})
    );
    assert!(
        plan.client.contains("\"theme\": \"One\", // light"),
        "{}",
        plan.client
    );
    assert_eq!(plan.stay[0].0, "github");
    assert_eq!(plan.entry["source"], "custom");
    let project = of_project(ClientKind::Zed, ".zed/settings.crossfeed.json");
    let (plan, _) = there_and_back(text, &project);
    assert!(
        !plan.client.contains("/work") && !plan.client.contains("/users"),
        "{}",
        plan.client
    );
    assert_eq!(plan.entry["args"][2], ".zed/settings.crossfeed.json");
    assert!(project.start_folder_remark().is_some());
}

#[test]
fn gemini_cli_is_there_and_back() {
    let text = r#"{
  "theme": "x",
  "mcp": {"excluded": ["off"], "allowed": ["web", "off"]},
  "mcpServers": {
    "web": {"httpUrl": "https://web.example/mcp", "headers": {"X": "$A and ${B}"}, "timeout": 900000},
    "off": {"command": "x"}
  }
}
"#;
    let (plan, config) = there_and_back(text, &of_user(ClientKind::GeminiCli));
    assert_eq!(
        config["mcpServers"],
        json!({"web": {
            "url": "https://web.example/mcp",
            "headers": {"X": "${A} and ${B}"},
            "timeout": "900000 ms",
        }})
    );
    assert_eq!(plan.entry["env"], json!({"A": "${A}", "B": "${B}"}));
    assert_eq!(plan.entry["timeout"], 900_000);
    assert!(plan.stay[0].1.contains("`mcp.excluded`"), "{:?}", plan.stay);
    let said = |remark: &String| remark.contains("add `crossfeed` there");
    assert!(plan.remarks.iter().any(said), "{:?}", plan.remarks);

    let gemini = ClientKind::GeminiCli;
    check_stays(
        gemini,
        &json!({"url": "https://a.example/sse"}),
        "`httpUrl`",
    );
    check_stays(gemini, &json!({"command": "x", "args": ["$$A"]}), "`$$`");
    check_stays(
        gemini,
        &json!({"command": "x", "includeTools": ["rm(x)"]}),
        "`includeTools`",
    );
    check(
        gemini,
        &json!({"url": "https://a.example/mcp", "type": "http", "trust": true}),
        &json!({"url": "https://a.example/mcp"}),
    );
    check(
        gemini,
        &json!({"command": "x", "args": ["$1", "a$"], "includeTools": ["r"], "excludeTools": ["w"]}),
        &json!({"command": "x", "args": ["$1", "a$"], "allow": ["r"], "deny": ["w"]}),
    );
}

#[test]
fn windsurf_and_claude_desktop_are_there_and_back() {
    let text = r#"{"mcpServers": {"web": {"serverUrl": "https://web.example/mcp", "headers": {"X": "${env:A}"}}}}"#;
    let (plan, config) = there_and_back(text, &of_user(ClientKind::Windsurf));
    assert_eq!(
        config["mcpServers"]["web"],
        json!({"url": "https://web.example/mcp", "headers": {"X": "${env:A}"}})
    );
    assert_eq!(plan.entry["env"], json!({"A": "${env:A}"}));
    let windsurf = ClientKind::Windsurf;
    check_stays(
        windsurf,
        &json!({"serverUrl": "https://a.example/sse"}),
        "`sse`",
    );
    check_stays(
        windsurf,
        &json!({"command": "x", "args": ["${file:/a}"]}),
        "${file:/a}",
    );
    check_stays(
        windsurf,
        &json!({"command": "${userHome}/x"}),
        "${userHome}",
    );
    check(
        windsurf,
        &json!({"command": "x", "disabledTools": ["rm"], "disabled": false}),
        &json!({"command": "x", "deny": ["rm"]}),
    );

    let text =
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\", \"args\": [\"${A}\"]}\n\t}\n}";
    let (plan, config) = there_and_back(text, &of_user(ClientKind::ClaudeDesktop));
    assert_eq!(config["mcpServers"]["a"]["args"], json!(["$${A}"]));
    let expected =
        json!({"command": "/usr/bin/crossfeed", "args": ["gateway", "--config", CONFIG]});
    assert_eq!(plan.entry, expected);
}

/// Others have the file, and neither this home nor this folder.
#[test]
fn files_of_projects_hold_no_paths_of_a_person() {
    use ClientKind::{ClaudeCode, Codex, Cursor, GeminiCli, VsCode};
    for (client, within, named) in [
        (
            ClaudeCode,
            ".mcp.crossfeed.json",
            "${CLAUDE_PROJECT_DIR:-.}/.mcp.crossfeed.json",
        ),
        (
            Cursor,
            ".cursor/mcp.crossfeed.json",
            "${workspaceFolder}/.cursor/mcp.crossfeed.json",
        ),
        (
            VsCode,
            ".vscode/mcp.crossfeed.json",
            "${workspaceFolder}/.vscode/mcp.crossfeed.json",
        ),
        (
            GeminiCli,
            ".gemini/settings.crossfeed.json",
            ".gemini/settings.crossfeed.json",
        ),
    ] {
        let wiring = of_project(client, within);
        let text = json!({client.key(): {"a": {"command": "x"}}}).to_string();
        let (plan, _) = there_and_back(&text, &wiring);
        assert_eq!(plan.entry["args"][2], named);
        assert_eq!(plan.entry["command"], "crossfeed");
        // As it was written before.
        let old = plan.client.replace(named, &wiring.config);
        assert_eq!(undo(&old, &text, &wiring).as_deref(), Ok(&*text));
    }
    let codex = of_project(Codex, ".codex/config.crossfeed.json");
    let (of_codex, _) = there_and_back("[mcp_servers.a]\ncommand = \"x\"", &codex);
    assert!(!of_codex.client.contains("/work"), "{}", of_codex.client);

    let text = r#"{"servers": {"a": {"command": "${workspaceFolder}/x", "cwd": "${userHome}/y"}}}"#;
    let wiring = of_project(VsCode, ".vscode/mcp.crossfeed.json");
    let plan = plan(text, &wiring).expect("it goes");
    let both = format!("{}{}", plan.client, plan.config);
    assert!(
        !both.contains("/work") && !both.contains("/users"),
        "{both}"
    );
    assert_eq!(
        plan.entry["env"],
        json!({
            "CROSSFEED_USER_HOME": "${userHome}",
            "CROSSFEED_WORKSPACE_FOLDER": "${workspaceFolder}",
        })
    );
}

/// Pieces of a file of Codex; `@` is a number of their own.
const PIECES: [&str; 10] = [
    "[mcp_servers.s@]\ncommand = \"x\"\n",
    "[ mcp_servers . \"s @\" ] # a\n# b\ncommand = 'x'\nargs = [\n  \"[y]\", # [z]\n]\n",
    "[mcp_servers.s@]\ncommand = \"x\"\n\n# inside\n[mcp_servers.s@.env]\nK = \"\"\"\n[mcp_servers.no]\n\"\"\"\"\n",
    "[mcp_servers.off@]\ncommand = \"x\"\nenabled = false\n",
    "[other@]\na = '''\n[x]\n'''\nb = { c = \"}\\\"\" }\n",
    "[[list]]\na = @\n",
    "# a comment, [mcp_servers.no]\n",
    "\n",
    "\n\n\t\n",
    "[mcp_servers.u@]\nurl = \"https://a.example/mcp\"\nhttp_headers = { \"A\" = \"@\" } # e\n",
];

proptest! {
    #[test]
    fn any_file_of_codex_is_there_and_back(
        picks in prop::collection::vec(0..PIECES.len(), 0..12),
        has_windows_lines: bool,
        is_cut: bool,
    ) {
        let pieces = picks.iter().enumerate();
        let pieces = pieces.map(|(number, pick)| PIECES[*pick].replace('@', &number.to_string()));
        let mut text = format!("model = \"o\" # top\n{}", pieces.collect::<String>());
        if has_windows_lines {
            text = text.replace('\n', "\r\n");
        }
        if is_cut {
            text = text.trim_end().to_owned();
        }
        let wiring = of_user(ClientKind::Codex);
        let Ok(plan) = plan(&text, &wiring) else {
            return Ok(());
        };
        prop_assert!(super::parse(&plan.client, &wiring).is_ok(), "{}", plan.client);
        prop_assert_eq!(undo(&plan.client, &text, &wiring), Ok(text.clone()));
        // Where something was written since, it stays, and every server is back.
        let now = plan.client.replacen("\"o\"", "\"p\"", 1);
        let back = undo(&now, &text, &wiring).expect("it can be undone");
        let read = |text: &str| {
            let document = super::parse(text, &wiring).expect("it is TOML");
            let mut servers: Vec<_> = super::servers(&document, &wiring)
                .iter()
                .map(|entry| (entry.key.clone(), format!("{:?}", super::cut(&entry.node))))
                .collect();
            servers.sort();
            servers
        };
        prop_assert_eq!(read(&back), read(&text));
        prop_assert!(back.starts_with("model = \"p\" # top"), "{}", back);
    }
}
