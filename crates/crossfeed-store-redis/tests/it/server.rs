//! Servers for tests: on loopback, in a directory that goes with them.

use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value, aio::MultiplexedConnection};
use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// A running `redis-server`. It is killed when this is dropped, also when its test has failed.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    directory: PathBuf,
    arguments: Vec<String>,
}

/// Whether `redis-server` is there. Without it tests are skipped aloud, or fail where it is required.
#[expect(
    clippy::disallowed_methods,
    reason = "tests ask the environment, and start servers"
)]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn is_installed() -> bool {
    let version = Command::new("redis-server")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let is_installed = version.is_ok_and(|status| status.success());
    if !is_installed {
        let required = std::env::var("CROSSFEED_REQUIRE_REDIS").is_ok_and(|value| value == "1");
        assert!(!required, "redis-server is required and not installed");
        eprintln!("skip: redis-server is not installed");
    }
    is_installed
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Server {
    /// A server with further options, once it answers.
    pub(crate) async fn start(options: &[&str]) -> Self {
        Self::start_as(&[], options).await
    }

    /// The same, with arguments that come first: a file of configuration.
    async fn start_as(file: &[&str], options: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("crossfeed-redis-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let port = free_port();
        let mut arguments = Vec::new();
        if let [text] = file {
            let path = directory.join("server.conf");
            std::fs::write(&path, text.replace("PORT", &port.to_string())).unwrap();
            arguments.push(path.to_str().unwrap().to_owned());
        }
        let port_text = port.to_string();
        let common = [
            "--port",
            &port_text,
            "--bind",
            "127.0.0.1",
            "--dir",
            directory.to_str().unwrap(),
        ];
        arguments.extend(common.iter().chain(options).map(|text| (*text).to_owned()));
        let child = spawn(&arguments);
        let server = Self {
            child,
            port,
            directory,
            arguments,
        };
        server.answers().await;
        server
    }

    /// A server that keeps nothing on the disk.
    pub(crate) async fn plain() -> Self {
        Self::start(&["--save", "", "--appendonly", "no"]).await
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn answers(&self) {
        for _ in 0..200 {
            let answer = self.try_ask(&["PING"]).await;
            let is_loading = |error: &RedisError| {
                error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading)
            };
            if !answer.is_err_and(|error| error.is_io_error() || is_loading(&error)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("redis-server does not answer");
    }

    pub(crate) async fn connection(&self) -> redis::RedisResult<MultiplexedConnection> {
        redis::Client::open(self.url())?
            .get_multiplexed_async_connection()
            .await
    }

    pub(crate) async fn try_ask(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let mut connection = self.connection().await?;
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    }

    pub(crate) async fn ask(&self, words: &[&str]) -> Value {
        self.try_ask(words).await.unwrap()
    }

    /// A part of what `INFO` says.
    pub(crate) async fn info(&self, section: &str, field: &str) -> String {
        let text: String = redis::from_redis_value(self.ask(&["INFO", section]).await).unwrap();
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.unwrap_or_default().to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start servers")]
fn spawn(arguments: &[String]) -> Child {
    Command::new("redis-server")
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Server {
    /// Ends the server at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on what it left on the disk.
    pub(crate) async fn restart(&mut self) {
        self.child = spawn(&self.arguments);
        self.answers().await;
    }

    /// Stops the server as it is, until it is continued.
    pub(crate) fn pause(&self) {
        self.signal("STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "tests send signals to their own servers"
    )]
    fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &command])
                .status()
                .unwrap()
                .success()
        );
    }
}

/// Waits for what servers do by themselves.
pub(crate) async fn eventually(what: &str, check: impl AsyncFn() -> bool) {
    for _ in 0..400 {
        if check().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("not within 10 s: {what}");
}

/// A cluster of three primaries.
pub(crate) struct Cluster(Vec<Server>);

impl Cluster {
    pub(crate) async fn start() -> Self {
        let mut servers = Vec::new();
        for _ in 0..3 {
            let bus = free_port().to_string();
            let options = [
                "--save",
                "",
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                &bus,
            ];
            servers.push((Server::start(&options).await, bus));
        }
        let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        for ((server, _), (from, to)) in servers.iter().zip(slots) {
            server.ask(&["CLUSTER", "ADDSLOTSRANGE", from, to]).await;
        }
        for (server, bus) in &servers[1..] {
            let port = server.port.to_string();
            servers[0]
                .0
                .ask(&["CLUSTER", "MEET", "127.0.0.1", &port, bus])
                .await;
        }
        let servers: Vec<Server> = servers.into_iter().map(|(server, _)| server).collect();
        for server in &servers {
            eventually("the cluster is whole", async || {
                let info: String =
                    redis::from_redis_value(server.ask(&["CLUSTER", "INFO"]).await).unwrap();
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            })
            .await;
        }
        Self(servers)
    }

    pub(crate) fn url(&self) -> String {
        let nodes: Vec<String> = self
            .0
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        format!("redis+cluster://{}", nodes.join(","))
    }
}

/// A primary with replicas that a sentinel watches.
pub(crate) struct Watched {
    pub(crate) primary: Server,
    pub(crate) replicas: Vec<Server>,
    sentinel: Server,
}

impl Watched {
    pub(crate) async fn start(replicas: usize) -> Self {
        let primary = Server::start(&["--save", "", "--repl-diskless-sync-delay", "0"]).await;
        let port = primary.port.to_string();
        let mut started = Vec::new();
        for _ in 0..replicas {
            let options = [
                "--save",
                "",
                "--repl-diskless-sync-delay",
                "0",
                "--replicaof",
                "127.0.0.1",
                &port,
            ];
            started.push(Server::start(&options).await);
        }
        for replica in &started {
            eventually("the replica follows", async || {
                replica.info("replication", "master_link_status").await == "up"
            })
            .await;
        }
        for number in 0..replicas {
            eventually("the primary sends to the replica", async || {
                let replica = primary.info("replication", &format!("slave{number}")).await;
                replica.contains("state=online")
            })
            .await;
        }
        let file = format!(
            "sentinel monitor main 127.0.0.1 {port} 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n"
        );
        let sentinel = Server::start_as(&[&file], &["--sentinel"]).await;
        let this = Self {
            primary,
            replicas: started,
            sentinel,
        };
        eventually("the sentinel knows the replicas", async || {
            this.sentinel
                .info("sentinel", "master0")
                .await
                .contains(&format!("slaves={replicas}"))
        })
        .await;
        this
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/main", self.sentinel.port)
    }
}
