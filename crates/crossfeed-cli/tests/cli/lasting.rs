//! A gateway whose sessions, results and records outlive the process.

use super::{
    Run, check_usage, file,
    gateway::{Client, kill, post},
    run, start,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// A server whose tool gives back the line of its call.
pub(super) const ECHO: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}\n' "$id" ;;
    *'"tools/call"'*)
      text=${line#*\"text\":\"}
      text=${text%%\"*}
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"heard %s"}]}}\n' "$id" "$text" ;;
    *'"id"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

pub(super) const TOKENS: &str = "[tokens]\nann = 's3cret-s3cret-of-ann'\nbob = 's3cret-s3cret-of-bob'\n[mcpServers.one]\ncommand = 'sh'\n";

/// A directory of a test's own that is not there.
pub(super) fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

pub(super) fn echo() -> String {
    file("lasting-server.sh", ECHO)
}

/// A gateway that listens, and is killed with this.
pub(super) struct Listening {
    gateway: Child,
    log: BufReader<ChildStderr>,
    pub(super) address: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Listening {
    fn start(name: &str, state: &Path) -> Self {
        let config = format!("{TOKENS}args = ['{}']\n", echo());
        let config = file(&format!("{name}.toml"), &config);
        Self::of(&["--config", &config, "--state", state.to_str().unwrap()])
    }

    pub(super) fn of(args: &[&str]) -> Self {
        Self::at("127.0.0.1:0", args)
    }

    pub(super) fn at(address: &str, args: &[&str]) -> Self {
        let mut gateway = start(&[&["gateway", "--listen", address], args].concat());
        let mut log = BufReader::new(gateway.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("serving on http://") {
            assert!(log.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let (_, address) = said.split_once("serving on http://").unwrap();
        let address = address.split_whitespace().next().unwrap().to_owned();
        Self {
            gateway,
            log,
            address,
        }
    }

    /// Begins a session; its id.
    pub(super) fn begin(&self, holder: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }});
        let (status, answer) = post(&self.address, &headers(holder, None), &hello);
        assert_eq!(status, 200, "{answer}");
        let (_, id) = answer.split_once("mcp-session-id: ").unwrap();
        let id = id.split_once('\r').unwrap().0.to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let (status, answer) = post(&self.address, &headers(holder, Some(&id)), &initialized);
        assert_eq!(status, 202, "{answer}");
        id
    }

    pub(super) fn call(&self, holder: &str, session: &str, text: &Value) -> (u16, String) {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "say", "arguments": {"text": text},
        }});
        post(&self.address, &headers(holder, Some(session)), &call)
    }

    /// Kills it; what it logged since it served.
    pub(super) fn kill(mut self) -> String {
        self.gateway.kill().unwrap();
        let mut said = String::new();
        self.log.read_to_string(&mut said).unwrap();
        said
    }

    /// Ends a session.
    fn end(&self, holder: &str, session: &str) {
        let (host, path) = self.address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let headers = headers(holder, Some(session));
        let request = format!(
            "DELETE /{path} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
}

pub(super) fn headers(holder: &str, session: Option<&str>) -> String {
    let session = session.map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
    format!("authorization: Bearer s3cret-s3cret-of-{holder}\r\n{session}")
}

/// The number of the call that an answer shows.
pub(super) fn number(answer: &str) -> u64 {
    let (_, number) = answer.rsplit_once("call_").unwrap();
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap();
    number[..end].parse().unwrap()
}

#[test]
fn a_session_over_http_goes_on_after_a_kill() {
    let state = directory("lasting-http");
    let before = Listening::start("lasting-http", &state);
    let session = before.begin("ann");
    let (status, answer) = before.call("ann", &session, &json!("one"));
    assert!(status == 200 && answer.contains("heard one"), "{answer}");
    assert_eq!(number(&answer), 1, "{answer}");
    before.kill();

    let after = Listening::start("lasting-http", &state);
    // It is another's, and reads as one that never was.
    let (status, other) = after.call("bob", &session, &json!("x"));
    assert!(
        status == 404 && other.contains("there is no such session"),
        "{other}"
    );
    let (status, unknown) = after.call("bob", "never-was", &json!("x"));
    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!((status, body(&unknown)), (404, body(&other)));
    let (status, answer) = after.call("ann", &session, &json!({"$tool": "call_1"}));
    assert!(
        status == 200 && answer.contains("heard heard one"),
        "{answer}"
    );
    let second = number(&answer);
    assert!(second > 1, "{answer}");

    // An orderly end keeps as much.
    drop(after);
    let third = Listening::start("lasting-http", &state);
    let reference = json!({"$tool": format!("call_{second}")});
    let (_, answer) = third.call("ann", &session, &reference);
    assert!(answer.contains("heard heard heard one"), "{answer}");
    assert!(number(&answer) > second, "{answer}");
}

#[test]
fn a_session_that_was_ended_does_not_come_back() {
    let state = directory("lasting-delete");
    let before = Listening::start("lasting-delete", &state);
    let session = before.begin("ann");
    before.call("ann", &session, &json!("one"));
    drop(before);
    let after = Listening::start("lasting-delete", &state);
    after.end("ann", &session);
    assert_eq!(after.call("ann", &session, &json!("x")).0, 404);
    drop(after);
    let third = Listening::start("lasting-delete", &state);
    assert_eq!(third.call("ann", &session, &json!("x")).0, 404);
}

#[test]
fn a_session_that_went_to_another_gateway_goes_on_there() {
    let state = directory("lasting-moved");
    let [a, b] = ["lasting-moved-a", "lasting-moved-b"].map(|name| Listening::start(name, &state));
    let session = a.begin("ann");
    a.call("ann", &session, &json!("one"));
    let (_, answer) = b.call("ann", &session, &json!({"$tool": "call_1"}));
    assert!(answer.contains("heard heard one"), "{answer}");
    // The gateway that it has left takes nothing along, also where it ends in an orderly way.
    let mut a = a;
    assert!(kill("-TERM", &a.gateway.id().to_string()));
    assert!(a.gateway.wait().unwrap().success());
    let (_, answer) = b.call("ann", &session, &json!({"$tool": "call_1"}));
    assert!(answer.contains("heard heard one"), "{answer}");
    // It may end where it was before.
    let a = Listening::start("lasting-moved-a", &state);
    let (_, answer) = a.call("ann", &session, &json!({"$tool": "call_1"}));
    assert!(answer.contains("heard heard one"), "{answer}");
    b.end("ann", &session);
    let c = Listening::start("lasting-moved-c", &state);
    assert_eq!(c.call("ann", &session, &json!("x")).0, 404);
}

/// A server that answers no call.
const SILENT: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"silent","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn a_process_that_ends_has_its_session_until_it_has_ended() {
    let state = directory("lasting-ending");
    let named = ["--state", state.to_str().unwrap(), "--session", "work"];
    let mut before = local(&named, &["sh", &file("lasting-silent.sh", SILENT)]);
    before.ask(1, "tools/list", &json!({}));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "say", "arguments": {}}});
    before.tell(&call);
    before.ask(3, "tools/list", &json!({}));
    assert!(kill("-TERM", &before.gateway.id().to_string()));
    // The call may still end: ten seconds are waited for that, four more than a claim lasts. What begins late on a busy machine
    // must be over by then.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(6_500) {
        let refused = run(&[&["gateway"], &named[..], &["sh", &echo()]].concat(), "");
        assert_eq!(refused.status, 2, "{refused:?}");
        let says = "another process serves the session `work`";
        assert!(refused.err.contains(says), "{refused:?}");
    }
}

/// A client on standard input, its session begun.
pub(super) fn local(args: &[&str], server: &[&str]) -> Client {
    let mut client = Client::of(&[args, server].concat());
    client.initialize();
    client
}

pub(super) fn say(client: &mut Client, text: &Value) -> String {
    let params = json!({"name": "say", "arguments": {"text": text}});
    client.ask(7, "tools/call", &params).to_string()
}

#[test]
fn the_local_client_goes_on_under_the_name_of_its_session() {
    let state = directory("lasting-local");
    let state = state.to_str().unwrap();
    let named = ["--state", state, "--session", "work"];
    let mut before = local(&named, &["sh", &echo()]);
    assert!(say(&mut before, &json!("one")).contains("heard one"));
    // One process at a time.
    let refused = run(&[&["gateway"], &named[..], &["sh", &echo()]].concat(), "");
    assert_eq!(refused.status, 2, "{refused:?}");
    let says = "another process serves the session `work`: end that one first";
    assert!(refused.err.contains(says), "{refused:?}");
    assert_eq!(before.leave().0, Some(0));

    // It gave the session back, so that the next need not wait.
    let began = Instant::now();
    let mut after = local(&named, &["sh", &echo()]);
    assert!(began.elapsed() < Duration::from_secs(3));
    let answer = say(&mut after, &json!({"$tool": "call_1"}));
    assert!(answer.contains("heard heard one"), "{answer}");
    let second = number(&answer);
    assert!(second > 1, "{answer}");
    // Killed: it is in the way for some seconds.
    drop(after);
    let mut third = local(&named, &["sh", &echo()]);
    let reference = json!({"$tool": format!("call_{second}")});
    let answer = say(&mut third, &reference);
    assert!(answer.contains("heard heard heard one"), "{answer}");

    // Others have sessions of their own.
    for args in [&named[..2], &["--state", state, "--session", "other"]] {
        let mut other = local(args, &["sh", &echo()]);
        let answer = say(&mut other, &json!({"$tool": format!("call_{second}")}));
        assert!(answer.contains("result.unknown"), "{answer}");
    }
}

#[test]
fn nothing_is_written_without_a_directory() {
    let home = directory("lasting-home");
    fs::create_dir(&home).unwrap();
    let variables = ["HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
    let path = home.to_str().unwrap();
    let variables = variables.map(|variable| (variable, path));
    let echo = echo();
    let mut gateway = super::start_with(&["gateway", "sh", &echo], &variables);
    drop(gateway.stdin.take());
    assert!(gateway.wait().unwrap().success());
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
}

/// A state that was made, with bytes of its databases' headers changed.
fn changed(name: &str, at: usize, bytes: [u8; 4]) -> String {
    let state = directory(name);
    let path = state.to_str().unwrap();
    local(&["--state", path], &["sh", &echo()]).leave();
    let databases = fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let databases = databases.filter(|path| path.extension().is_some_and(|end| end == "db"));
    for database in databases {
        let mut content = fs::read(&database).unwrap();
        content[at..at + 4].copy_from_slice(&bytes);
        fs::write(&database, content).unwrap();
    }
    path.to_owned()
}

/// What serving and checking say of a state that cannot be used.
fn check_refused(state: &str, why: &str) {
    let echo = echo();
    let says = format!("the state in {state}: {why}");
    check_usage(&["gateway", "--state", state, "sh", &echo], "", &says);
    let checked = run(&["gateway", "--check", "--state", state, "sh", &echo], "");
    assert_eq!(checked.status, 1, "{checked:?}");
    let says = format!("error: store: {says}");
    assert!(checked.out.contains(&says), "{checked:?}");
}

#[test]
fn a_state_that_cannot_be_used_is_refused() {
    // `user_version`, and `application_id`.
    check_refused(
        &changed("lasting-later", 60, 99_u32.to_be_bytes()),
        "the store has format 99, and this version knows formats up to 1; use the version of crossfeed that wrote the store",
    );
    check_refused(
        &changed("lasting-foreign", 68, 7_u32.to_be_bytes()),
        "the store's directory holds files that crossfeed did not write; give the store a directory of its own",
    );
    let file = file("lasting-file", "mine");
    check_refused(&file, "");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    // Nobody can make anything there.
    #[cfg(target_os = "linux")]
    check_refused("/proc/crossfeed/state", "");
}

#[test]
fn a_check_says_what_is_there_and_makes_nothing() {
    let state = directory("lasting-checked");
    let state = state.to_str().unwrap();
    let check = ["gateway", "--check", "--state", state, "sh", &echo()];
    let Run { status, out, .. } = run(&check, "");
    assert_eq!(status, 0, "{out}");
    let says =
        format!("store: {state}: nothing is there yet, the gateway makes it when it starts\n");
    assert!(out.contains(&says), "{out}");
    assert!(!Path::new(state).exists());
    let mut client = local(&["--state", state, "--session", "s"], &["sh", &echo()]);
    say(&mut client, &json!("one"));
    let Run { out, .. } = run(&check, "");
    let says = format!("store: {state}: 1 result of ");
    assert!(out.contains(&says), "{out}");
    let json = run(&[&["--json"], &check[..]].concat(), "").out;
    let report: Value = serde_json::from_str(&json).unwrap();
    let line = report["store"][0].as_str().unwrap();
    assert!(line.starts_with(&says["store: ".len()..]), "{line}");
    // As if only artifacts had been kept there.
    drop(client);
    for name in ["results.db", "results.db-wal", "results.db-shm"] {
        let _ = fs::remove_file(Path::new(state).join(name));
    }
    let Run { status, out, .. } = run(&check, "");
    assert_eq!(status, 0, "{out}");
    let says = format!("store: {state}: 0 results of 0 bytes");
    assert!(out.contains(&says), "{out}");
    assert!(!Path::new(state).join("results.db").exists());
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
fn a_check_fails_where_nothing_can_be_written() {
    let state = directory("lasting-full");
    let state = state.to_str().unwrap();
    local(&["--state", state], &["sh", &echo()]).leave();
    // A file that may have no more than 80 blocks, as on a disk that is full.
    let script = r#"trap '' XFSZ; ulimit -f 80; exec "$@""#;
    let check = ["gateway", "--check", "--state", state, "sh", &echo()];
    let checked = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_crossfeed")])
        .args(check)
        .output()
        .unwrap();
    let out = String::from_utf8(checked.stdout).unwrap();
    let says = format!(
        "error: store: the state in {state}: the store cannot answer: the store's directory: "
    );
    assert!(out.contains(&says), "{out}");
    assert_eq!(checked.status.code(), Some(1), "{out}");
    assert_eq!(run(&check, "").status, 0);
}

#[cfg(not(feature = "redis"))]
#[test]
fn a_build_without_redis_says_which_has_it() {
    let config = format!(
        "[store]\nurl = 'redis://ann:s3cret@127.0.0.1:1'\n[mcpServers.one]\ncommand = 'sh'\nargs = ['{}']\n",
        echo()
    );
    let config = file("lasting-no-redis.toml", &config);
    let says = "this build has no store on Redis: the released binaries and images have it";
    check_usage(&["gateway", "--config", &config], "", says);
    let checked = run(&["gateway", "--check", "--config", &config], "");
    assert!(
        checked.status == 1 && checked.out.contains(says),
        "{checked:?}"
    );
    assert!(!checked.out.contains("s3cret"), "{checked:?}");
}

#[test]
fn options_that_mean_nothing_together_are_refused() {
    let echo = echo();
    let gateway = |args: &[&'static str], says: &str| {
        check_usage(&[&["gateway"], args, &["sh", &echo]].concat(), "", says);
    };
    gateway(
        &["--session", "s"],
        "--session needs a store that outlives the process: add `--state DIR`",
    );
    gateway(
        &["--session", "", "--state", "x"],
        "write a name of 1 to 100 characters",
    );
    let config = format!(
        "listen = '127.0.0.1:0'\n[store]\nurl = 'sqlite:x'\n[mcpServers.one]\ncommand = 'sh'\nargs = ['{echo}']\n"
    );
    let config = file("lasting-config.toml", &config);
    check_usage(
        &["gateway", "--config", &config, "--state", "x"],
        "",
        "the configuration has a store: leave `--state` out, or the `store` there",
    );
    check_usage(
        &["gateway", "--config", &config, "--session", "x"],
        "",
        "clients over HTTP have sessions of their own",
    );
}

/// A server that wants a token, and issues them itself; how many it has issued.
fn token_server() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let issued: Arc<AtomicU32> = Arc::default();
    let (of_thread, at) = (Arc::clone(&issued), base.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (issued, base) = (Arc::clone(&of_thread), at.clone());
            std::thread::spawn(move || answer(stream.unwrap(), &base, &issued));
        }
    });
    (base, issued)
}

fn answer(mut stream: TcpStream, base: &str, issued: &AtomicU32) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let head = head.to_lowercase();
    let length = head.split_once("content-length: ");
    let length = length.map_or(0, |(_, rest)| rest.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let path = head.split_whitespace().nth(1).unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = issued.load(Ordering::SeqCst);
    let result = |result: Value| {
        (
            "200 OK",
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
        )
    };
    let (status, said) = match (path, asked["method"].as_str()) {
        ("/.well-known/oauth-authorization-server", _) => (
            "200 OK",
            json!({"issuer": base, "token_endpoint": format!("{base}/token")}),
        ),
        ("/token", _) => {
            let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
            let token = format!("access-{number}");
            (
                "200 OK",
                json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600}),
            )
        }
        ("/mcp", _) if number == 0 || !head.contains(&format!("bearer access-{number}\r\n")) => {
            ("401 Unauthorized", json!({}))
        }
        ("/mcp", Some("initialize")) => result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "zoo", "version": "1"},
        })),
        ("/mcp", Some("tools/list")) => result(json!({
            "tools": [{"name": "look", "inputSchema": {"type": "object"}}],
        })),
        ("/mcp", _) => ("202 Accepted", json!({})),
        _ => ("404 Not Found", json!({})),
    };
    let said = said.to_string();
    let length = said.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}"
    );
}

#[test]
fn gateways_over_one_store_have_one_login() {
    let (base, issued) = token_server();
    let config = |name: &str| {
        let files = directory(&format!("one-login-{name}"));
        let text = format!(
            "[mcpServers.zoo]\nurl = '{base}/mcp'\n[mcpServers.zoo.oauth]\ngrant = 'client_credentials'\n\
             clientId = 'id'\nclientSecret = 's3cret'\ndirectory = '{}'\n",
            files.display()
        );
        file(&format!("one-login-{name}.toml"), &text)
    };
    let (here, there) = (config("here"), config("there"));
    let state = directory("one-login-state");
    drop(Listening::start("one-login", &state));
    let state = state.to_str().unwrap();
    let login = |state| {
        run(
            &[
                "gateway", "--config", &here, "--state", state, "--login", "zoo",
            ],
            "",
        )
    };
    let Run { status, out, err } = login(state);
    assert_eq!((status, out.as_str()), (0, "logged in to `zoo`\n"), "{err}");
    // It has no file, and finds the login in the store.
    let check = ["gateway", "--config", &there, "--state", state, "--check"];
    let Run { status, out, err } = run(&check, "");
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.starts_with("zoo: 1 tool"), "{out}");
    assert_eq!(issued.load(Ordering::SeqCst), 1);
    // Where the store cannot be used, the login is in the file at least.
    let broken = file("one-login-broken", "");
    let Run { status, err, .. } = login(&broken);
    assert_eq!(status, 1, "{err}");
    assert!(
        err.contains("in the token file of this machine, but not in the store"),
        "{err}"
    );
    assert!(err.contains("again when the store answers"), "{err}");
    let check = ["gateway", "--config", &here, "--check"];
    let Run { status, out, err } = run(&check, "");
    assert_eq!(status, 0, "{out}{err}");
    // Without the store no token is used, which others may have renewed.
    let check = ["gateway", "--config", &here, "--state", &broken, "--check"];
    let Run { status, out, .. } = run(&check, "");
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("401"), "{out}");
    // Nor is the secret sent where no login before, and no configuration, says that it belongs.
    let new = config("new");
    let login = [
        "gateway", "--config", &new, "--state", &broken, "--login", "zoo",
    ];
    let Run { status, err, .. } = run(&login, "");
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("make it the `issuer`"), "{err}");
    assert_eq!(issued.load(Ordering::SeqCst), 2);
}
