//! What the machine gives the gateway, and how it is shared: descriptors and connections, with a process of
//! its own for each limit.

use super::{file, gateway::SERVER};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

const ADA: &str = "ada-token-0123456789";

/// A gateway over HTTP whose process has limits, ended with this.
struct Limited {
    gateway: Child,
    address: String,
    /// Lines of the log up to the one that says the limits.
    log: String,
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Limited {
    /// A gateway before `servers`, with a token of `ada`; `limits` is what a shell says before it starts it.
    #[expect(clippy::disallowed_methods, reason = "a shell sets the limits")]
    fn start(name: &str, limits: &str, more: &Value) -> Self {
        // Tests that run beside this one write theirs anew while servers of this one start.
        let server = file(&format!("places-{name}.sh"), SERVER);
        let mut config = json!({
            "mcpServers": {"one": {"command": "sh", "args": [server], "env": {"KEY": "none"}}},
            "tokens": {"ada": ADA},
        });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        let config = file(&format!("places-{name}.json"), &config.to_string());
        let mut gateway = Command::new("sh")
            .arg("-c")
            .arg(format!("{limits} && exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_crossfeed"))
            .args(["gateway", "--config", &config, "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(gateway.stderr.take().unwrap());
        let mut log = String::new();
        let mut address = String::new();
        while !log.contains(": limits ") {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {log}");
            log += &line;
            if let Some((_, rest)) = line.split_once("serving on http://") {
                address = rest.split(['/', ' ']).next().unwrap().to_owned();
            }
        }
        // Somebody reads what it logs from here on.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self {
            gateway,
            address,
            log,
        }
    }

    /// The answer to a request of `ada`: status, headers, and text.
    fn ask(&self, headers: &str, body: &Value) -> (u16, String) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             authorization: Bearer {ADA}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    /// Begins a session, and says the header that names it.
    fn begin(&self) -> Result<String, String> {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }});
        let (_, answer) = self.ask("", &hello);
        let id = answer
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        match id {
            Some(id) if answer.contains("\"result\"") => Ok(format!("mcp-session-id: {id}\r\n")),
            _ => Err(answer),
        }
    }

    fn call(&self, session: &str) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "say", "arguments": {}}});
        self.ask(session, &call).1
    }

    fn descriptors(&self) -> usize {
        let of = format!("/proc/{}/fd", self.gateway.id());
        std::fs::read_dir(of).unwrap().count()
    }
}

/// Connections of somebody who says nothing.
fn silent(gateway: &Limited, count: usize) -> Vec<TcpStream> {
    let connect = || match TcpStream::connect(&gateway.address) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
        connected => Some(connected.unwrap()),
    };
    (0..count).filter_map(|_| connect()).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn strangers_leave_descriptors_to_those_who_were_let_in() {
    let gateway = Limited::start("strangers", "ulimit -n 160", &json!({}));
    let session = gateway.begin().unwrap();
    let sockets = silent(&gateway, 300);
    assert!(gateway.call(&session).contains("key none"));
    assert!(gateway.begin().is_ok());
    assert!(gateway.descriptors() < 120, "{}", gateway.descriptors());
    drop(sockets);
}

#[test]
#[cfg(target_os = "linux")]
fn sessions_fit_into_the_descriptors_that_there_are() {
    let gateway = Limited::start("sessions", "ulimit -n 160", &json!({}));
    for number in 0..60 {
        let begun = gateway.begin();
        assert!(begun.is_ok(), "session {number}: {begun:?}");
    }
    let session = gateway.begin().unwrap();
    assert!(gateway.call(&session).contains("key none"));
    assert!(gateway.descriptors() < 150, "{}", gateway.descriptors());
}

#[test]
#[cfg(target_os = "linux")]
fn the_soft_limit_is_raised_for_the_gateway_and_not_for_its_servers() {
    let limits = "ulimit -Sn 200 && ulimit -Hn 4000";
    let script = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"soft %s hard %s."}]}}\n' "$id" "$(ulimit -Sn)" "$(ulimit -Hn)" ;;
  esac
done
"#;
    let script = file("places-limits.sh", script);
    let servers = json!({"mcpServers": {"one": {"command": "sh", "args": [script]}}});
    let gateway = Limited::start("raised", limits, &servers);
    let session = gateway.begin().unwrap();
    let said = gateway.call(&session);
    assert!(said.contains("soft 200 hard 4000."), "{said}");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", gateway.gateway.id())).unwrap();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files: Vec<_> = files.unwrap().split_whitespace().collect();
    assert_eq!(files[3..5], ["4000", "4000"], "{limits}");
    assert!(gateway.log.contains("descriptors=3936"), "{}", gateway.log);
}
