//! Who may use a gateway that listens: tokens that it makes itself, and the entry that clients get.

use super::{
    Run, check_usage, file,
    gateway::{post, server},
    run, start_with,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr},
};

/// A configuration of one server, with more before it.
fn configuration(name: &str, before: &str) -> String {
    let server = format!(
        "[mcpServers.secret-name]\ncommand = 'sh'\nargs = ['{}']\n",
        server()
    );
    file(name, &format!("{before}\n{server}"))
}

/// A gateway that listens, and ends with this.
struct Listening {
    gateway: Child,
    log: BufReader<ChildStderr>,
    /// What the log said until it served, and the line behind that.
    said: String,
    address: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Listening {
    fn start(args: &[&str], state: &Path) -> Self {
        let base = ["gateway", "--listen", "127.0.0.1:0"];
        let state = ("XDG_STATE_HOME", state.to_str().unwrap());
        let mut gateway = start_with(&[&base, args].concat(), &[state]);
        let mut log = BufReader::new(gateway.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("serving on http://") {
            assert!(log.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let (_, address) = said.split_once("serving on http://").unwrap();
        let address = address.split_whitespace().next().unwrap().to_owned();
        log.read_line(&mut said).unwrap();
        Self {
            gateway,
            log,
            said,
            address,
        }
    }

    /// The status of `initialize` with these headers.
    fn initialize(&self, headers: &str) -> u16 {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }});
        post(&self.address, headers, &hello).0
    }

    fn health(&self, headers: &str) -> String {
        let (host, _) = self.address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The file of its token, by the log.
    fn token_file(&self) -> PathBuf {
        let (_, file) = self.said.split_once("token_file=").unwrap();
        PathBuf::from(file.split_whitespace().next().unwrap().trim_matches('"'))
    }

    /// Ends it; gives the whole log.
    fn log(mut self) -> String {
        self.gateway.kill().unwrap();
        let mut said = std::mem::take(&mut self.said);
        self.log.read_to_string(&mut said).unwrap();
        said
    }
}

/// A directory of a test's own, empty.
fn state(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

#[test]
fn a_listener_makes_a_token_and_keeps_it() {
    let state = state("access-default");
    let config = configuration("access-default.toml", "");
    let first = Listening::start(&["--config", &config], &state);
    assert_eq!(first.initialize(""), 401);
    assert_eq!(first.initialize("authorization: Bearer x\r\n"), 401);
    let path = first.token_file();
    assert!(path.starts_with(state.join("crossfeed")), "{path:?}");
    let token = fs::read_to_string(&path).unwrap().trim().to_owned();
    assert_eq!(token.len(), 43);
    let headers = format!("authorization: Bearer {token}\r\n");
    assert_eq!(first.initialize(&headers), 200);
    // A probe without a token hears that it lives, and nothing else.
    assert!(first.health("").ends_with("\r\n\r\n{\"status\":\"ok\"}"));
    assert!(first.health(&headers).contains("secret-name"));
    let log = first.log();
    assert!(!log.contains(&token), "{log}");
    assert!(!log.contains("WARN"), "{log}");

    let again = Listening::start(&["--config", &config], &state);
    assert_eq!(again.initialize(&headers), 200);
}

#[cfg(unix)]
#[test]
fn a_token_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = state("access-modes");
    let config = configuration("access-modes.toml", "");
    let path = Listening::start(&["--config", &config], &state).token_file();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let args = ["gateway", "--config", &config, "--listen", "127.0.0.1:0"];
    let gateway = start_with(&args, &[("XDG_STATE_HOME", state.to_str().unwrap())]);
    let output = gateway.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "cannot be used: others may read it: `chmod 600` it";
    assert!(said.contains(expected), "{said}");

    // A check says what a start would.
    let config = configuration("access-modes-check.toml", "listen = '127.0.0.1:0'");
    let check = |args: &[&str]| {
        let base = ["gateway", "--check", "--config", &config];
        let state = ("XDG_STATE_HOME", state.to_str().unwrap());
        let output = start_with(&[args, &base].concat(), &[state]);
        let output = output.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), said)
    };
    let (status, said) = check(&[]);
    assert_eq!(status, Some(1), "{said}");
    let error = said.lines().find(|line| line.starts_with("error: "));
    assert!(
        error.is_some_and(|error| error.contains(expected)),
        "{said}"
    );
    let (status, said) = check(&["--json"]);
    assert_eq!(status, Some(1), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let error = said["token_error"].as_str().unwrap();
    assert!(error.contains(expected), "{said}");

    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let (status, said) = check(&["--json"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(!said.contains("token_error"), "{said}");
}

/// Who listens at port 0 has another port at each start, and no entry for clients.
#[test]
fn a_client_s_entry_is_offered_where_there_is_one() {
    let state = state("access-port-0");
    let config = configuration("access-port-0.toml", "");
    let gateway = Listening::start(&["--config", &config], &state);
    assert!(
        gateway.said.contains("clients need the token in this file")
            && !gateway.said.contains("--print-client-config"),
        "{}",
        gateway.said
    );
}

#[test]
fn anonymous_clients_are_let_in_where_that_is_said() {
    let state = state("access-anonymous");
    let plain = configuration("access-plain.toml", "");
    let said = configuration("access-said.toml", "anonymous = true");
    for args in [
        &["--config", &said][..],
        &["--config", &plain, "--anonymous"],
    ] {
        let gateway = Listening::start(args, &state);
        assert_eq!(gateway.initialize(""), 200);
        assert!(gateway.health("").contains("secret-name"));
        let log = gateway.log();
        assert!(
            log.contains("WARN")
                && log.contains("anyone who can reach this address can use the servers"),
            "{log}"
        );
    }
    assert!(!state.exists());
    let tokens = configuration(
        "access-tokens.toml",
        "tokens = {ann = 's3cret-s3cret-s3cret'}",
    );
    check_usage(
        &[
            "gateway",
            "--listen",
            "0",
            "--config",
            &tokens,
            "--anonymous",
        ],
        "",
        "--anonymous lets clients in without a token, but the configuration has `tokens`",
    );
    check_usage(
        &["gateway", "--config", &plain, "--anonymous"],
        "",
        "--anonymous is for a gateway that listens",
    );
}

#[test]
fn the_entry_of_a_client_is_printed() {
    let state = state("access-entry");
    let print = |args: &[&str]| {
        let base = ["gateway", "--print-client-config"];
        let state = ("XDG_STATE_HOME", state.to_str().unwrap());
        let output = start_with(&[&base, args].concat(), &[state]);
        let output = output.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let config = configuration("access-entry.toml", "listen = '0.0.0.0:8807'");
    let entry = print(&["--config", &config]);
    let token = fs::read_to_string(state.join("crossfeed/listen/0.0.0.0-8807")).unwrap();
    let expected = json!({"mcpServers": {"crossfeed": {
        "type": "http",
        "url": "http://127.0.0.1:8807/mcp",
        "headers": {"Authorization": format!("Bearer {}", token.trim())},
    }}});
    assert_eq!(entry, expected);
    assert_eq!(print(&["--config", &config]), expected);

    let entry = print(&["--listen", "[::1]:9", "--anonymous", "--", "true"]);
    let expected = json!({"type": "http", "url": "http://[::1]:9/mcp"});
    assert_eq!(entry["mcpServers"]["crossfeed"], expected);

    let tokens =
        "listen = '8807'\ntokens = {ann = 'token-of-ann-1234', bob = 'token-of-bob-1234'}\n";
    let tokens = configuration("access-holders.toml", tokens);
    let entry = print(&["--config", &tokens, "--holder", "bob"]);
    let headers = &entry["mcpServers"]["crossfeed"]["headers"];
    assert_eq!(headers["Authorization"], "Bearer token-of-bob-1234");
    let check = |args: &[&str], says: &str| {
        check_usage(
            &[&["gateway", "--print-client-config"], args].concat(),
            "",
            says,
        );
    };
    check(
        &["--config", &tokens],
        "`--holder NAME` says which one; there are: ann, bob",
    );
    check(
        &["--config", &tokens, "--holder", "eve"],
        "no token has the holder `eve`; there are: ann, bob",
    );
    check(
        &[
            "--listen",
            "9",
            "--anonymous",
            "--holder",
            "eve",
            "--",
            "true",
        ],
        "clients need none here",
    );
    check(&["--", "true"], "`--listen ADDR` says where");
    check(
        &["--listen", "0", "--anonymous", "--", "true"],
        "port 0 is another one",
    );
    let Run { status, .. } = run(&["gateway", "--holder", "ann", "--", "true"], "");
    assert_eq!(status, 2);
}
