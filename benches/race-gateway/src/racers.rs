//! Who races, and how each is started.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::http::{Connection, Place};
use crate::messages::{INITIALIZE, INITIALIZED};
use crate::stdio::{self, Lines};

/// How long a racer may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The word by which this program copies lines.
pub(crate) const COPY: &str = "--copy";

pub(crate) struct Programs {
    pub(crate) fixture: PathBuf,
    pub(crate) gateway: PathBuf,
    /// Where `run` installed the others.
    pub(crate) peers: PathBuf,
    /// The address of a Redis server, if there is one.
    pub(crate) redis: Option<String>,
}

pub(crate) struct Racer {
    pub(crate) name: &'static str,
    /// Where it listens, each of its processes at one; nothing for standard input and output.
    ports: Vec<u16>,
    /// Its path, of HTTP.
    path: &'static str,
    /// What it puts in front of the names of tools.
    prefix: &'static str,
    /// The words of each of its processes.
    words: Vec<Vec<String>>,
}

pub(crate) enum Way {
    Lines(Lines),
    Http(Place),
}

pub(crate) struct Running {
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    pub(crate) prefix: &'static str,
    children: Vec<Child>,
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.children {
            // The children of a proxy end with their standard input.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Running {
    /// The resident memory of the process itself, the first of several, in KiB: now, or the most that it was.
    pub(crate) fn memory(&self, most: bool) -> Option<u64> {
        let id = self.children.first()?.id();
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status
            .lines()
            .find(|line| line.starts_with(if most { "VmHWM:" } else { "VmRSS:" }))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Everybody that could be installed; who is missing is told when it is started.
pub(crate) fn all(programs: &Programs) -> Outcome<Vec<Racer>> {
    let fixture = text(&programs.fixture);
    let gateway = text(&programs.gateway);
    let bin = |path: &str| text(&programs.peers.join(path));
    let node = text(&programs.peers.join("node"));
    let python = bin("python/bin/python");
    fs::create_dir_all(&programs.peers)?;
    let server = serde_json::json!({ "command": fixture, "args": ["--stdio"] });
    let mut for_programs = server.clone();
    for_programs["view"] = "program".into();
    let plain = config(
        programs,
        "programs.json",
        &serde_json::json!({ "mcpServers": { "fixture": for_programs } }),
    )?;
    let script = programs.peers.join("fastmcp_proxy.py");
    fs::write(&script, FASTMCP)?;
    let mut racers = Vec::new();
    let words = |all: &[&str]| {
        all.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let stdio_server = format!("{fixture} --stdio");
    racers.push(racer("direct, stdio", false, &|_| {
        words(&[&fixture, "--stdio"])
    })?);
    let copier = text(&std::env::current_exe()?);
    racers.push(racer("lines copied, stdio to stdio", false, &|_| {
        words(&[&copier, COPY, &fixture, "--stdio"])
    })?);
    racers.push(racer("crossfeed, stdio to stdio", false, &|_| {
        words(&[
            &gateway, "gateway", "--log", "warn", "--", &fixture, "--stdio",
        ])
    })?);
    racers.push(racer(
        "crossfeed for programs, stdio to stdio",
        false,
        &|_| words(&[&gateway, "gateway", "--log", "warn", "--config", &plain]),
    )?);
    racers.push(racer("fastmcp, stdio to stdio", false, &|_| {
        words(&[&python, &text(&script), "stdio", &fixture])
    })?);
    racers.push(racer("direct, HTTP", true, &|port| {
        words(&[&fixture, "--listen", &format!("127.0.0.1:{port}")])
    })?);
    let served = |name, rest: &[&str]| {
        racer(name, true, &|port| {
            let listen = format!("127.0.0.1:{port}");
            let first = [
                &gateway,
                "gateway",
                "--log",
                "warn",
                "--anonymous",
                "--listen",
                &listen,
            ];
            words(&[&first, rest].concat())
        })
    };
    racers.push(served(
        "crossfeed, HTTP to stdio",
        &["--", &fixture, "--stdio"],
    )?);
    racers.push(served(
        "crossfeed for programs, HTTP to stdio",
        &["--config", &plain],
    )?);
    let mut stored = vec![(
        "crossfeed, results on disk, HTTP to stdio",
        format!("sqlite:{}", bin("state")),
    )];
    if let Some(redis) = &programs.redis {
        stored.push((
            "crossfeed, results in Redis, HTTP to stdio",
            format!("redis://{redis}"),
        ));
    }
    for (name, url) in stored {
        let kept =
            serde_json::json!({ "mcpServers": { "fixture": server }, "store": { "url": url } });
        let kept = config(
            programs,
            &format!("{}.json", name.replace([' ', ','], "-")),
            &kept,
        )?;
        racers.push(served(name, &["--config", &kept])?);
    }
    if let Some(redis) = &programs.redis {
        racers.push(replicas(programs, &server, redis)?);
    }
    racers.push(mcp_proxy(programs, &fixture)?);
    racers.push(racer("supergateway, HTTP to stdio", true, &|port| {
        let main = bin("npm/node_modules/supergateway/dist/index.js");
        let rest = [
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--port",
            port,
            "--logLevel",
            "none",
        ];
        [
            words(&[&node, &main, "--stdio", &stdio_server]),
            words(&rest),
        ]
        .concat()
    })?);
    racers.push(racer("mcp-proxy (npm), HTTP to stdio", true, &|port| {
        let main = bin("npm/node_modules/.bin/mcp-proxy");
        let rest = [
            "--host",
            "127.0.0.1",
            "--server",
            "stream",
            "--",
            &fixture,
            "--stdio",
        ];
        [words(&[&node, &main, "--port", port]), words(&rest)].concat()
    })?);
    racers.push(racer("mcp-proxy (PyPI), HTTP to stdio", true, &|port| {
        words(&[
            &python,
            &bin("python/bin/mcp-proxy"),
            "--log-level",
            "WARNING",
            "--port",
            port,
            "--",
            &fixture,
            "--stdio",
        ])
    })?);
    racers.push(racer("fastmcp, HTTP to stdio", true, &|port| {
        words(&[&python, &text(&script), port, &fixture])
    })?);
    Ok(racers)
}

/// Writes a configuration of the gateway; returns where.
fn config(programs: &Programs, name: &str, config: &serde_json::Value) -> Outcome<String> {
    let path = programs.peers.join(name);
    fs::write(&path, config.to_string())?;
    Ok(text(&path))
}

type Words<'w> = &'w dyn Fn(&str) -> Vec<String>;

/// A racer by its name, whether it listens, and its words for a port.
fn racer(name: &'static str, listens: bool, words: Words<'_>) -> Outcome<Racer> {
    let port = if listens { Some(free_port()?) } else { None };
    Ok(Racer {
        name,
        ports: port.into_iter().collect(),
        path: "/mcp",
        prefix: "",
        words: vec![words(&port.unwrap_or_default().to_string())],
    })
}

/// Three replicas of the gateway over one Redis, of which the first has the session: calls one after the other go to
/// another, and those at once go round.
fn replicas(programs: &Programs, server: &serde_json::Value, redis: &str) -> Outcome<Racer> {
    let (mut ports, mut words) = (Vec::new(), Vec::new());
    for number in 0..3 {
        let port = free_port()?;
        let address = format!("127.0.0.1:{port}");
        let config = config(
            programs,
            &format!("replica-{number}.json"),
            &serde_json::json!({
                "mcpServers": { "fixture": server },
                "listen": { "address": address, "advertise": format!("http://{address}") },
                "store": { "url": format!("redis://{redis}"), "prefix": "replicas" },
                "anonymous": true,
            }),
        )?;
        let gateway = text(&programs.gateway);
        words.push(
            [&gateway, "gateway", "--log", "warn", "--config", &config]
                .map(str::to_owned)
                .to_vec(),
        );
        ports.push(port);
    }
    Ok(Racer {
        name: "crossfeed, three replicas, HTTP to stdio",
        ports,
        path: "/mcp",
        prefix: "",
        words,
    })
}

/// A proxy that is told all by a file, listens at the root, and always says whose a tool is.
fn mcp_proxy(programs: &Programs, fixture: &str) -> Outcome<Racer> {
    let port = free_port()?;
    let config = programs.peers.join("mcp-proxy.toml");
    let fixture = serde_json::Value::from(fixture);
    let text_of = format!(
        "[proxy]\nname = \"race\"\nseparator = \"/\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
         [[backends]]\nname = \"fixture\"\ntransport = \"stdio\"\ncommand = {fixture}\nargs = [\"--stdio\"]\n\
         [observability]\nlog_level = \"warn\"\n"
    );
    fs::write(&config, text_of)?;
    let program = programs.peers.join("cargo/bin/mcp-proxy");
    Ok(Racer {
        name: "mcp-proxy (cargo), HTTP to stdio",
        ports: vec![port],
        path: "/",
        prefix: "fixture/",
        words: vec![vec![text(&program), "--config".to_owned(), text(&config)]],
    })
}

/// A proxy as the documentation of fastmcp shows it.
const FASTMCP: &str = r#"import logging, sys
from fastmcp.server import create_proxy
from fastmcp.client.transports import StdioTransport

logging.disable(logging.WARNING)
proxy = create_proxy(StdioTransport(command=sys.argv[2], args=["--stdio"]))
if sys.argv[1] == "stdio":
    proxy.run(show_banner=False)
else:
    proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="error")
"#;

impl Racer {
    pub(crate) fn start(&self) -> Outcome<Running> {
        let mut commands = Vec::new();
        for words in &self.words {
            let (program, rest) = words.split_first().ok_or("no command")?;
            #[expect(clippy::disallowed_methods, reason = "racers are processes")]
            let mut command = Command::new(program);
            command.args(rest);
            commands.push(command);
        }
        if self.ports.is_empty() {
            let (child, mut lines) = stdio::start(commands.remove(0))?;
            lines.send(INITIALIZE)?;
            lines.receive()?;
            lines.send(INITIALIZED)?;
            return Ok(Running {
                name: self.name,
                way: Way::Lines(lines),
                prefix: self.prefix,
                children: vec![child],
            });
        }
        let address = |port: &u16| SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        let place = Place {
            addresses: self.ports.iter().map(address).collect(),
            path: self.path,
            session: None,
        };
        let mut running = Running {
            name: self.name,
            way: Way::Http(place.clone()),
            prefix: self.prefix,
            children: Vec::new(),
        };
        for (mut command, address) in commands.into_iter().zip(&place.addresses) {
            // A proxy that ends with its standard input keeps one.
            let child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            running.children.push(child);
            let began = Instant::now();
            while TcpStream::connect(address).is_err() {
                let ended = running.children.iter_mut().map(Child::try_wait);
                let has_ended = ended.flatten().any(|status| status.is_some());
                if began.elapsed() > PATIENCE || has_ended {
                    return Err("does not listen".into());
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
        let mut connection = Connection::open(place, 0)?;
        connection.post(INITIALIZE)?;
        connection.post(INITIALIZED)?;
        running.way = Way::Http(connection.into_place());
        writeln!(io::stderr(), "up: {}", self.name)?;
        Ok(running)
    }
}
