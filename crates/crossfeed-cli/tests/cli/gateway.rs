//! `crossfeed gateway` as a process, between a client and servers that are scripts.

use super::{Run, check_usage, file, run, start};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A server with one tool, which says what variable `KEY` it has.
pub(super) const SERVER: &str = r#"
echo "a line for the log" >&2
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","description":"Says it.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}\n' "$id" ;;
    *'"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"key %s"}]}}\n' "$id" "$KEY" ;;
    *'"id"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

/// A client of a gateway. The process is ended with it.
pub(super) struct Client {
    pub(super) gateway: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Client {
    pub(super) fn of(args: &[&str]) -> Self {
        let mut gateway = start(&[&["gateway"], args].concat());
        Self {
            input: gateway.stdin.take(),
            output: BufReader::new(gateway.stdout.take().unwrap()),
            gateway,
        }
    }

    pub(super) fn tell(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(super) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(super) fn initialize(&mut self) -> Value {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.ask(0, "initialize", &hello);
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Goes away; the exit status and what stood on standard error.
    pub(super) fn leave(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.gateway.wait().unwrap();
        let mut err = String::new();
        let stderr = self.gateway.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        (status.code(), err)
    }
}

pub(super) fn server() -> String {
    file("gateway-server.sh", SERVER)
}

#[test]
fn a_command_is_wrapped() {
    let server = server();
    let mut client = Client::of(&[
        "--log-format",
        "json",
        "--env",
        "KEY=s3cret",
        "--",
        "sh",
        &server,
    ]);
    let begun = client.initialize();
    assert_eq!(begun["result"]["serverInfo"]["name"], "script");
    let listed = client.ask(1, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools[0]["name"], "inspect_tool_output");
    assert!(tools.iter().any(|tool| tool["name"] == "say"), "{listed}");
    let called = client.ask(2, "tools/call", &json!({"name": "say", "arguments": {}}));
    assert_eq!(called["result"]["content"][0]["text"], "key s3cret");

    let (status, err) = client.leave();
    assert_eq!(status, Some(0), "{err}");
    let lines: Vec<Value> = err
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said = |text: &str| lines.iter().any(|line| line["message"] == text);
    assert!(said("serving on standard input and output"), "{err}");
    assert!(said("a line for the log"), "{err}");
    assert!(said("ended"), "{err}");
    assert!(!err.contains("s3cret"), "{err}");
}

#[test]
fn no_selector_builds_more_than_a_message() {
    let config = json!({
        "mcpServers": {"a": {"command": "sh", "args": [server()], "env": {"KEY": "k".repeat(1000)}}},
        "limits": {"messageBytes": 64 << 10},
    });
    let config = file("gateway-built.json", &config.to_string());
    let mut client = Client::of(&["--config", &config]);
    client.initialize();
    client.ask(1, "tools/list", &json!({}));
    client.ask(2, "tools/call", &json!({"name": "say", "arguments": {}}));
    let mut text = |id: u64, values: usize| {
        let select = format!("to_string([{}])", vec!["@"; values].join(","));
        let reference = json!({"text": {"_tool": "call_1", "_select": select}});
        let arguments = json!({"text": null, "_refs": reference});
        let called = json!({"name": "say", "arguments": arguments});
        client.ask(id, "tools/call", &called).to_string()
    };
    let said = text(3, 70);
    assert!(said.contains("more than 65536 bytes of text"), "{said}");
    let said = text(4, 20);
    assert!(said.contains("key k"), "{said}");
}

#[test]
fn a_configuration_is_served() {
    let config = json!({
        "mcpServers": {"one": {"command": "sh", "args": [server()]}, "off": {"command": "none", "disabled": true}},
        "extraTools": false,
    });
    let config = file("gateway-served.json", &config.to_string());
    let mut client = Client::of(&["--config", &config, "--log", "off"]);
    client.initialize();
    let listed = client.ask(1, "tools/list", &json!({}));
    assert_eq!(
        listed["result"]["tools"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    assert_eq!(client.leave(), (Some(0), String::new()));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a signal is what is tested")]
fn it_ends_when_it_is_told_to() {
    let mut client = Client::of(&["--", "sh", &server()]);
    client.initialize();
    let told = Command::new("kill")
        .arg(client.gateway.id().to_string())
        .status();
    assert!(told.unwrap().success());
    assert_eq!(client.gateway.wait().unwrap().code(), Some(0));
}

/// The answer to a message that is posted, and its status.
pub(super) fn post(address: &str, headers: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let (host, path) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         {headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a signal is what is tested")]
fn clients_reach_it_over_http() {
    let config = format!(
        "listen = {{address = '127.0.0.1:1', path = '/tools'}}\n[tokens]\nann = 's3cret-s3cret-s3cret'\n[mcpServers.one]\ncommand = 'sh'\nargs = ['{}']\n",
        server()
    );
    let config = file("gateway-http.toml", &config);
    let mut gateway = start(&["gateway", "--config", &config, "--listen", "127.0.0.1:0"]);
    let mut log = BufReader::new(gateway.stderr.take().unwrap());
    let mut gateway = Client {
        input: gateway.stdin.take(),
        output: BufReader::new(gateway.stdout.take().unwrap()),
        gateway,
    };
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let (_, address) = line.split_once("serving on http://").expect(&line);
    let address = address.split_whitespace().next().unwrap();
    assert!(address.ends_with("/tools"), "{line}");

    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let (status, answer) = post(address, "", &hello);
    assert_eq!(status, 401, "{answer}");
    let token = "authorization: Bearer s3cret-s3cret-s3cret\r\n";
    let (status, answer) = post(address, token, &hello);
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("\"script\""), "{answer}");

    let told = Command::new("kill")
        .arg(gateway.gateway.id().to_string())
        .status();
    assert!(told.unwrap().success());
    assert_eq!(gateway.gateway.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("s3cret"), "{rest}");
}

#[test]
fn a_place_that_is_taken_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let Run { status, out, err } = run(
        &[
            "gateway",
            "--anonymous",
            "--listen",
            &address,
            "--log",
            "off",
            "--",
            "true",
        ],
        "",
    );
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(
        err.contains(&format!("cannot listen at {address}: ")),
        "{err}"
    );
}

#[test]
fn who_cannot_log_in_is_told() {
    check_usage(
        &[
            "gateway",
            "--url",
            "http://127.0.0.1:9/mcp",
            "--login",
            "other",
        ],
        "",
        "there is no server `other`; there are: server",
    );
    let Run { status, err, .. } = run(&["gateway", "--login", "true", "--", "true"], "");
    assert_eq!(status, 1);
    assert!(
        err.contains("`true` has no login: it is a child process"),
        "{err}"
    );
}

#[test]
fn a_check_shows_what_a_client_would_see() {
    let config = format!(
        "profile = 'refs'\nnever = ['owner.mail']\n[mcpServers.good]\ncommand = 'sh'\nargs = ['{}']\nenv = {{KEY = 's3cret'}}\n",
        server()
    );
    let path = file("gateway-good.toml", &config);
    let Run { status, out, err } = run(&["gateway", "--config", &path, "--check"], "");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "good: 1 tool, script 1 (2025-11-25)");
    assert_eq!(lines[1], "  withheld: owner.mail");
    assert!(lines[2].starts_with("  say: "), "{out}");
    assert!(lines[2].contains(" tokens, refs"), "{out}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("1 tool of 1 server: ")),
        "{out}"
    );
    let last = lines.last().unwrap();
    assert!(last.starts_with("limits: memoryBytes "), "{out}");
    assert!(!out.contains("s3cret"), "{out}");
}

/// Clients and tools that start servers may swallow `--`.
#[test]
fn a_command_needs_no_dashes_before_it() {
    let server = server();
    let script = format!("case \"$*\" in '--check -y -- x') exec sh {server};; esac");
    let args = [
        "gateway", "--log", "off", "--check", "sh", "-c", &script, "sh", "--check", "-y", "--", "x",
    ];
    let Run { status, out, .. } = run(&args, "");
    assert_eq!(status, 0, "{out}");
    assert!(out.starts_with("sh: 1 tool, script 1 "), "{out}");
}

#[test]
fn a_check_shows_a_tool_as_a_client_gets_it() {
    let config = format!(
        "[mcpServers.good]\ncommand = 'sh'\nargs = ['{}']\n",
        server()
    );
    let path = file("gateway-tool.toml", &config);
    let check = ["gateway", "--config", &path, "--check"];
    for name in ["say", "good/say"] {
        let Run { status, out, err } = run(&[&check[..], &["--tool", name]].concat(), "");
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
        let lines: Vec<_> = out.lines().collect();
        assert!(lines[0].starts_with("good/say: "), "{out}");
        assert_eq!(lines[1..3], ["description:", "  Says it."], "{out}");
        assert!(lines.contains(&"inputSchema: {"), "{out}");
        assert!(lines.contains(&"    \"_refs\": {"), "{out}");
    }
    let Run { out, .. } = run(&[&["--json"], &check[..]].concat(), "");
    let checked: Value = serde_json::from_str(&out).unwrap();
    let tool = &checked["servers"][0]["tools"][0]["definition"];
    assert_eq!(tool["name"], "say", "{checked}");
    assert!(
        tool["inputSchema"]["properties"]["_refs"].is_object(),
        "{checked}"
    );
    let own = [&check[..], &["--tool", "read_result"]].concat();
    let Run { status, out, .. } = run(&own, "");
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("of the gateway's own"), "{out}");
    check_usage(
        &[&check[..], &["--tool", "sya"]].concat(),
        "",
        "no server lists a tool `sya`",
    );
    let args = [&["--json"], &check[..], &["--tool", "sya"]].concat();
    let Run { status, out, .. } = run(&args, "");
    let told: Value = serde_json::from_str(&out).expect(&out);
    assert_eq!(
        (status, &told["error"]["code"]),
        (2, &json!("command.invalid"))
    );
}

#[test]
fn a_check_says_who_cannot_be_reached() {
    let config = format!(
        "[mcpServers.good]\ncommand = 'sh'\nargs = ['{}']\n[mcpServers.dead]\ncommand = 'false'\n[mcpServers.none]\ncommand = '/there/is/none'\n[limits]\nstart_timeout = 20\n",
        server()
    );
    let path = file("gateway-dead.toml", &config);
    let Run { status, out, .. } = run(
        &[
            "--json", "gateway", "--config", &path, "--check", "--log", "off",
        ],
        "",
    );
    assert_eq!(status, 1, "{out}");
    let checked: Value = serde_json::from_str(&out).unwrap();
    let servers = checked["servers"].as_array().unwrap();
    assert_eq!(servers[0]["tools"][0]["name"], "say", "{checked}");
    // By the configuration, whoever is there.
    assert_eq!(servers[0]["tools"][0]["shown"], "good__say", "{checked}");
    assert!(
        servers[0]["tools"][0]["tokens_after"].as_u64()
            > servers[0]["tools"][0]["tokens_before"].as_u64()
    );
    assert_eq!(
        servers[1]["error"]["code"], "upstream.unavailable",
        "{checked}"
    );
    assert_eq!(
        servers[2]["error"]["code"], "upstream.unavailable",
        "{checked}"
    );
    assert_eq!(checked["total"]["tools"], 1);
    // Shares of what the machine allows, whatever machine this is.
    let limit = |key: &str| checked["limits"][key].as_u64().unwrap();
    assert!(limit("memoryBytes") >= 256 << 20, "{checked}");
    assert_eq!(limit("totalBytes"), limit("memoryBytes") / 4, "{checked}");
    assert_eq!(limit("sessionBytes"), limit("totalBytes") / 4, "{checked}");
}

/// What a server refuses with, and a list that is not one, are what is wrong with it.
#[test]
fn a_check_says_what_a_server_answered() {
    let refuses = r#"while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"API key missing"}}\n' "$id" ;;
    *'"id"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done
"#;
    let malformed = SERVER.replace("\"tools\":[", "\"tools\":{},\"x\":[");
    for (name, script, says) in [
        ("refuses", refuses, "API key missing"),
        ("malformed", &malformed, "has no list `tools`"),
    ] {
        let path = file(&format!("gateway-{name}.sh"), script);
        let args = ["gateway", "--check", "--log", "off", "--", "sh", &path];
        let Run { status, out, err } = run(&args, "");
        assert_eq!(status, 1, "{name}: {out} {err}");
        assert!(out.contains(says), "{name}: {out} {err}");
    }
}

/// A client may be another party.
#[test]
fn how_a_server_is_started_is_in_no_error() {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    });
    for (config, key) in [
        ("command = '/opt/s3cret/x'", "`command`"),
        ("command = 'sh'\ncwd = '/opt/s3cret'", "`cwd`"),
    ] {
        let path = file(
            "gateway-missing.toml",
            &format!("[mcpServers.c]\n{config}\n"),
        );
        let mut client = Client::of(&["--config", &path, "--log", "debug"]);
        let answer = client.ask(1, "initialize", &hello).to_string();
        assert!(answer.contains("`c`") && answer.contains(key), "{answer}");
        let (_, err) = client.leave();
        assert!(err.contains(key), "{err}");
        assert!(
            !answer.contains("s3cret") && !err.contains("s3cret"),
            "{answer} {err}"
        );
    }
}

/// Paths begin at the root of the data: what names the protocol around it takes nothing, or tears it.
#[test]
fn paths_that_name_the_protocol_are_noticed() {
    let config = format!(
        "never = ['content[0].text', 'Result.password', 'structuredContent.a', 'content.x', 'password', 'owner.content']\n[mcpServers.one]\ncommand = 'sh'\nargs = ['{}']\n",
        server()
    );
    let path = file("gateway-protocol-paths.toml", &config);
    let Run { status, out, err } = run(&["gateway", "--config", &path, "--check"], "");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let said: Vec<_> = out
        .lines()
        .filter(|line| line.contains("of the protocol"))
        .collect();
    let notice = |path: &str, word: &str| {
        format!(
            "  notice: the path `{path}` begins with `{word}`, a word of the protocol: paths name fields of the data in results, not of the messages around it"
        )
    };
    assert_eq!(
        said,
        [
            notice("content[0].text", "content"),
            notice("Result.password", "Result"),
            notice("structuredContent.a", "structuredContent"),
            notice("content.x", "content"),
        ]
    );
    let Run { out, .. } = run(&["--json", "gateway", "--config", &path, "--check"], "");
    let checked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        checked["servers"][0]["never_of_protocol"],
        json!([
            "content[0].text",
            "Result.password",
            "structuredContent.a",
            "content.x"
        ])
    );
}

/// Most often it is the only place where it says why.
#[test]
fn a_check_shows_what_a_dead_server_wrote() {
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11; do echo \"line $n\" >&2; done; printf 'no \\033[31mkey' >&2; exit 3";
    let Run { status, out, err } = run(&["gateway", "--check", "--", "sh", "-c", script], "");
    assert_eq!((status, err.as_str()), (1, ""), "{out}");
    let lines: Vec<_> = out.lines().collect();
    assert!(
        lines[0].starts_with("sh: error[upstream.unavailable]: "),
        "{out}"
    );
    assert_eq!(lines[1], "  it printed: line 3", "{out}");
    assert_eq!(lines[10], "  it printed: no \\u{1b}[31mkey", "{out}");
    let args = [
        "--json", "gateway", "--check", "--log", "off", "--", "sh", "-c", script,
    ];
    let Run { out, err, .. } = run(&args, "");
    assert_eq!(err, "");
    let checked: Value = serde_json::from_str(&out).unwrap();
    let lines = &checked["servers"][0]["error"]["last_lines"];
    assert_eq!(lines[0], "line 3", "{checked}");
    assert_eq!(lines.as_array().map(Vec::len), Some(10));
}

/// A misspelled `deny` offers what it should not.
#[test]
fn patterns_that_fit_no_tool_are_said() {
    let config = format!(
        "[mcpServers.one]\ncommand = 'sh'\nargs = ['{}']\ndeny = ['sya', 'delete_*']\nneverChain = ['s*']\n",
        server()
    );
    let path = file("gateway-typo.toml", &config);
    let Run { status, out, err } = run(&["gateway", "--config", &path, "--check"], "");
    assert_eq!((status, err.as_str()), (1, ""), "{out}");
    let said: Vec<_> = out
        .lines()
        .filter(|line| line.starts_with("  notice: ") || line.starts_with("  error: "))
        .collect();
    assert_eq!(
        said,
        [
            "  error: `deny[0]` matches no tool of the server; did you mean `say`? (\"sya\")",
            "  notice: `deny[1]` matches no tool of the server (\"delete_*\")",
        ]
    );
    let Run { out, .. } = run(&["--json", "gateway", "--config", &path, "--check"], "");
    let checked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        checked["servers"][0]["unmatched"][0],
        json!({"key": "deny", "index": 0, "pattern": "sya", "nearest": "say", "error": true})
    );

    // A path for all servers that no tool declares is an error only where it looks misspelled: failed results,
    // resources and prompts may have any field.
    let closed = SERVER.replace(
        "\"inputSchema\"",
        "\"outputSchema\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"mail\":{\"type\":\"string\"}}},\"inputSchema\"",
    );
    let closed = file("gateway-closed.sh", &closed);
    let config = format!(
        "never = ['mail', 'telephone', 'mial']\n[mcpServers.one]\ncommand = 'sh'\nargs = ['{closed}']\n"
    );
    let never = file("gateway-never.toml", &config);
    let Run { status, out, .. } = run(&["gateway", "--config", &never, "--check"], "");
    let declares = "for all servers, names a field that no tool of any server declares";
    let notice = format!("  notice: `never[1]`, {declares} (\"telephone\")\n");
    let error = format!("  error: `never[2]`, {declares}; did you mean `mail`? (\"mial\")\n");
    assert!(
        status == 1 && out.contains(&notice) && out.contains(&error),
        "{out}"
    );
    let mut client = Client::of(&["--config", &never]);
    client.initialize();
    client.ask(1, "tools/list", &json!({}));
    client.ask(2, "tools/list", &json!({}));
    let (_, err) = client.leave();
    let told = err
        .matches(": `never[1]`, for all servers, names a field")
        .count();
    assert_eq!(told, 1, "{err}");

    // Once for all lists.
    let mut client = Client::of(&["--config", &path]);
    client.initialize();
    client.ask(1, "tools/list", &json!({}));
    client.ask(2, "tools/list", &json!({}));
    let (_, err) = client.leave();
    let told = err
        .matches(": `deny[0]` matches no tool of the server")
        .count();
    assert_eq!(told, 1, "{err}");
    assert_eq!(err.matches("neverChain").count(), 0, "{err}");
}

#[test]
fn a_check_ends_though_a_list_does_not() {
    let server = server().replace("gateway-server", "gateway-endless");
    let endless = SERVER.replace("\"tools\":[", "\"nextCursor\":\"x\",\"tools\":[");
    assert_ne!(endless, SERVER);
    assert_eq!(file("gateway-endless.sh", &endless), server);
    let Run { status, out, .. } = run(
        &["gateway", "--check", "--log", "off", "--", "sh", &server],
        "",
    );
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("its list of tools has no end"), "{out}");
}

fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(10));
}

#[expect(clippy::disallowed_methods, reason = "signals are what is tested")]
pub(super) fn kill(signal: &str, pid: &str) -> bool {
    let mut kill = Command::new("kill");
    let kill = kill.args([signal, pid]).stderr(Stdio::null());
    kill.status().unwrap().success()
}

/// A script that writes down its process before `rest`, and what reads that.
fn noted(name: &str, rest: &str) -> (String, impl Fn() -> String) {
    let told = file(name, "");
    let script = format!("echo $$ > '{told}'; {rest}");
    let pid = move || loop {
        match std::fs::read_to_string(&told).unwrap() {
            pid if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => pause(),
        }
    };
    (script, pid)
}

/// Waits until a process is not there any more.
fn check_gone(pid: &str) {
    let gone = (0..1000).any(|_| {
        pause();
        !kill("-0", pid)
    });
    kill("-KILL", pid);
    assert!(gone, "the server is still there");
}

/// The servers are in groups of their own: a terminal's signal does not reach them.
#[test]
fn a_check_that_is_told_to_end_leaves_no_server() {
    let (script, pid) = noted("gateway-sleeper.pid", "exec sleep 600");
    let mut check = start(&["gateway", "--check", "--", "sh", "-c", &script]);
    let server = pid();
    assert!(kill("-INT", &check.id().to_string()));
    assert_eq!(check.wait().unwrap().code(), Some(2));
    check_gone(&server);
}

/// Whether processes that are started here outlive their terminal, as under `nohup`.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn is_deaf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_deaf = ignored.is_some_and(|mask| mask & 1 == 1);
    if is_deaf {
        eprintln!("SKIPPED: SIGHUP is ignored where the tests run");
    }
    is_deaf
}

/// A terminal that closes, with a server that does not heed the end of its input.
#[test]
fn a_terminal_that_closes_leaves_no_server() {
    if is_deaf() {
        return;
    }
    let (script, pid) = noted("gateway-hangup.pid", "exec sleep 600");
    let mut client = Client::of(&["--log-format", "json", "--", "sh", "-c", &script]);
    // The server starts with the first client, and this one does not answer.
    client.tell(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }}));
    let server = pid();
    assert!(kill("-HUP", &client.gateway.id().to_string()));
    // Running requests are waited for; a second signal cuts them off.
    assert!(kill("-TERM", &client.gateway.id().to_string()));
    assert_eq!(client.gateway.wait().unwrap().code(), Some(0));
    check_gone(&server);
}

#[test]
fn a_terminal_that_closes_ends_it_in_an_orderly_way() {
    if is_deaf() {
        return;
    }
    let mut client = Client::of(&["--", "sh", &server()]);
    client.initialize();
    assert!(kill("-HUP", &client.gateway.id().to_string()));
    assert_eq!(client.gateway.wait().unwrap().code(), Some(0));
    let mut err = String::new();
    let stderr = client.gateway.stderr.as_mut().unwrap();
    stderr.read_to_string(&mut err).unwrap();
    assert!(err.ends_with(": ended\n"), "{err}");
}

/// Linux says what a process ignores.
#[cfg(target_os = "linux")]
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a shell is what ignores a signal"
)]
fn who_was_started_to_outlive_its_terminal_does() {
    let script = format!(
        "trap '' HUP; exec '{}' gateway -- sh '{}'",
        env!("CARGO_BIN_EXE_crossfeed"),
        server()
    );
    let mut gateway = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut client = Client {
        input: gateway.stdin.take(),
        output: BufReader::new(gateway.stdout.take().unwrap()),
        gateway,
    };
    client.initialize();
    assert!(kill("-HUP", &client.gateway.id().to_string()));
    client.ask(1, "tools/list", &json!({}));
    assert_eq!(client.leave().0, Some(0));
}

#[test]
fn a_configuration_from_standard_input_needs_an_address() {
    let config = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let Run { status, err, .. } = run(&["gateway", "--config", "-"], config);
    assert_eq!(status, 2);
    assert!(err.contains("`--listen ADDR` serves over HTTP"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_configuration_without_end_is_refused() {
    check_usage(
        &["gateway", "--config", "/dev/zero"],
        "",
        "`/dev/zero` is larger than 16777216 bytes",
    );
}

#[test]
fn what_is_wrong_with_a_configuration_is_said_at_once() {
    let path = file(
        "gateway-wrong.toml",
        "[mcpServers.a]\ncomand = 'x'\nenv = {A = 's3cret'}\nprofile = 'gpt'\n",
    );
    let Run { status, out, err } = run(&["gateway", "--config", &path], "");
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "error[config.invalid]: line 1, `mcpServers.a`: `command` or `url` is missing: how the server is reached\n\
         error[config.invalid]: line 2, `mcpServers.a.comand`: unknown key\n\
         did you mean `command`?\n\
         error[config.invalid]: line 4, `mcpServers.a.profile`: unknown profile\n\
         known profiles: mcp, anthropic, anthropic-strict, openai, openai-strict, gemini, inline, refs, refs-list\n"
    );
    let Run { status, out, err } = run(&["--json", "gateway", "--config", &path, "--check"], "");
    assert_eq!((status, err.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["error"]["code"], "config.invalid");
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(3));
}

#[cfg(unix)]
#[test]
fn files_that_lead_around_a_rule_are_said() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway-around");
    let files = directory.with_extension("in");
    for directory in [&directory, &files] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let [saves, files] = [&directory, &files].map(|path| path.to_str().unwrap());
    let config = |state: &str| {
        format!(
            "saveDirectory = '{saves}'\nreferences.files = '{files}'\n{state}[mcpServers.one]\ncommand = 'sh'\nargs = ['{}']\n\
             [[flows]]\nname = 'r'\nfrom = 'one'\nto = 'one'\naction = 'deny'\n",
            server()
        )
    };
    // A rule that leads nowhere else: what is saved may be read, and no file is written by what nothing reaches.
    let path = file("gateway-around.toml", &config(""));
    let Run { status, out, err } = run(&["gateway", "--config", &path, "--check"], "");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let notice = "notice: data could bypass the flow rule `r` through `save_result`, if a server reads `saveDirectory`: a rule to `crossfeed` decides what is saved\n";
    assert!(
        out.contains(notice) && !out.contains("through the files"),
        "{out}"
    );
    let Run { out, .. } = run(&["--json", "gateway", "--config", &path, "--check"], "");
    let checked: Value = serde_json::from_str(&out).unwrap();
    let expected = json!([{"rule": "r", "by": "crossfeed"}]);
    assert_eq!(checked["ways_around"], expected, "{out}");

    // No file can be read where there is no directory.
    assert_eq!(checked["closed_roots"], json!([]));
    let on = [
        format!("references.files: at most 16777216 bytes each of {files}"),
        format!("saveDirectory: {saves}"),
    ];
    assert_eq!(checked["on"], json!(on));
    let late = format!("{files}-late");
    let later = file(
        "gateway-around-late.toml",
        &config("").replace(files, &late),
    );
    let Run { status, out, err } = run(&["gateway", "--config", &later, "--check"], "");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let notice =
        format!("notice: no file of `references.files` can be read from {late}: No such file");
    assert!(out.contains(&notice), "{out}");

    // What is saved would lie among the files of the store.
    let says = "`saveDirectory`: the store is in it, around it or the same";
    let state = directory.join("state");
    let path_of = |state: &str| file("gateway-around-state.toml", &config(state));
    let with = path_of(&format!(
        "store.url = 'sqlite:{}'\n",
        state.to_str().unwrap()
    ));
    for args in [
        &["gateway", "--check", "--config", &with][..],
        &[
            "gateway",
            "--check",
            "--config",
            &path,
            "--state",
            state.to_str().unwrap(),
        ],
        &["gateway", "--check", "--config", &path, "--state", saves],
    ] {
        let Run { status, err, .. } = run(args, "");
        assert!(status != 0 && err.contains(says), "{args:?} {err}");
    }
}

#[test]
fn a_configuration_that_was_not_approved_is_refused() {
    let path = file("gateway-approved.toml", "[mcpServers.a]\ncomand = 'x'\n");
    let none = format!("sha256:{}", "0".repeat(64));
    let Run { status, out, err } = run(
        &["gateway", "--config", &path, "--config-digest", &none],
        "",
    );
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.starts_with("error[config.changed]: "), "{err}");
    assert!(
        err.contains("look at what changed") && !err.contains("comand"),
        "{err}"
    );
    // The digest that the error names is the one to approve: with it, the file is read.
    let digest = err
        .split("`--config-digest ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    let Run { status, err, .. } = run(
        &["gateway", "--config", &path, "--config-digest", digest],
        "",
    );
    assert_eq!(status, 1);
    assert!(err.starts_with("error[config.invalid]: "), "{err}");
    check_usage(
        &["gateway", "--config", &path, "--config-digest", "sha256:12"],
        "",
        "write `sha256:` and 64 hexadecimal digits",
    );
}

#[test]
fn what_cannot_be_carried_out_is_a_usage_error() {
    check_usage(&["gateway"], "", "no server is given");
    check_usage(
        &["gateway", "gateway.toml"],
        "",
        "write `crossfeed gateway --config gateway.toml`",
    );
    check_usage(
        &["gateway", "https://a.example/mcp"],
        "",
        "write `crossfeed gateway --url https://a.example/mcp`",
    );
    check_usage(
        &["gateway", "no-such-program-of-a-server"],
        "",
        "there is no program `no-such-program-of-a-server` on PATH",
    );
    // What is misspelled before the command is one of ours, and clap knows which.
    check_usage(
        &["gateway", "--chek", "npx"],
        "",
        "a similar argument exists: '--check'",
    );
    check_usage(
        &["gateway", "--env", "", "--", "true"],
        "",
        "`--env` needs the name of a variable",
    );
    check_usage(
        &[
            "gateway", "--login", "a", "--listen", "1", "--url", "http://a",
        ],
        "",
        "cannot be used with",
    );
    check_usage(&["gateway", "--", ""], "", "the command is empty");
    check_usage(
        &["gateway", "--config", "/there/is/none.toml"],
        "",
        "cannot read",
    );
    check_usage(
        &["gateway", "--url", "localhost:80"],
        "",
        "--url: not a valid URL",
    );
    check_usage(
        &["gateway", "--env", "NO_SUCH_VARIABLE_HERE", "--", "true"],
        "",
        "is not set",
    );
    check_usage(
        &["gateway", "--listen", "here", "--", "true"],
        "",
        "write an address and a port",
    );
    check_usage(
        &["gateway", "--config", "a", "--", "true"],
        "",
        "cannot be used with",
    );
    check_usage(
        &["gateway", "--profile", "gpt", "--", "true"],
        "",
        "invalid value 'gpt'",
    );
    let off = file(
        "gateway-off.toml",
        "[mcpServers.a]\ncommand = 'x'\ndisabled = true\n",
    );
    check_usage(
        &["gateway", "--config", &off],
        "",
        "every server is switched off",
    );
}
