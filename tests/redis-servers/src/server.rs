//! One server.

use crate::{
    Problem,
    talk::{self, Answer},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::OnceLock,
    time::{Duration, Instant},
};
use tokio::{
    process::{Child, Command},
    time::sleep,
};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(20);
/// How many ports are tried: another program may take one before the server does.
const TRIES: usize = 5;

/// Whether `redis-server` is installed. Where it is not, says that tests are skipped.
///
/// # Panics
///
/// Where it is not, and `CROSSFEED_REQUIRE_REDIS` is 1.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "how strict a run of the tests is, its environment says"
)]
pub fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = *INSTALLED.get_or_init(|| {
        let version = std::process::Command::new("redis-server")
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    });
    if !installed {
        let required = std::env::var("CROSSFEED_REQUIRE_REDIS");
        assert_ne!(
            required.as_deref(),
            Ok("1"),
            "redis-server is not installed"
        );
        let _ = writeln!(std::io::stderr(), "skip: redis-server is not installed");
    }
    installed
}

/// A server of its own folder and port, which is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    folder: PathBuf,
    options: Vec<String>,
    child: Child,
}

impl Server {
    /// Starts a server with these options beside those of a test, as on its command line: `["--appendonly", "yes"]`.
    ///
    /// # Errors
    ///
    /// When it does not answer in time.
    pub async fn start(options: &[&str]) -> Result<Self, Problem> {
        let mut problem = Problem::new();
        for _ in 0..TRIES {
            match Self::start_at(free_port()?, new_folder()?, options, &[]).await {
                Ok(server) => return Ok(server),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// Starts a server at a port, with its data in a folder; `first` are arguments before all options.
    pub(crate) async fn start_at(
        port: u16,
        folder: PathBuf,
        options: &[&str],
        first: &[&str],
    ) -> Result<Self, Problem> {
        let mut all: Vec<String> = first.iter().map(|it| (*it).to_owned()).collect();
        let place = folder.display().to_string();
        let port_text = port.to_string();
        for option in [
            ["--port", &port_text],
            ["--bind", "127.0.0.1"],
            ["--dir", &place],
        ] {
            all.extend(option.map(str::to_owned));
        }
        all.extend(options.iter().map(|it| (*it).to_owned()));
        let child = spawn(&folder, &all)?;
        let server = Self {
            port,
            folder,
            options: all,
            child,
        };
        server.is_up().await?;
        Ok(server)
    }

    async fn is_up(&self) -> Result<(), Problem> {
        let end = Instant::now() + START;
        loop {
            match talk::ask(self.port, &["PING"]).await {
                Ok(_) => return Ok(()),
                Err(problem) if Instant::now() > end => {
                    let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                    return Err(format!("{problem}\n{log}"));
                }
                Err(_) => {}
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Where it listens on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its data is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `redis://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends a command and gives the answer.
    ///
    /// # Errors
    ///
    /// What the server says, or that it does not answer.
    pub async fn ask(&self, command: &[&str]) -> Result<Answer, Problem> {
        talk::ask(self.port, command).await
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // A process that is gone is not an error.
            let _ = kill_process(pid, signal);
        }
    }

    /// Stops it in mid-air: connections stay, and nothing is answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it, as `kill -9` does.
    pub async fn kill(&mut self) {
        let _ = self.child.kill().await;
    }

    /// Starts it again at its port, with what it has kept.
    ///
    /// # Errors
    ///
    /// When it does not answer in time.
    pub async fn restart(&mut self) -> Result<(), Problem> {
        self.child = spawn(&self.folder, &self.options)?;
        self.is_up().await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process is killed with its handle; a stopped one must not keep its folder.
        let _ = self.child.start_kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(folder: &Path, options: &[String]) -> Result<Child, Problem> {
    let failed = |error: std::io::Error| format!("redis-server: {error}");
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .map_err(failed)?;
    Command::new("redis-server")
        .args(options)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, Problem> {
    // Below the bus port of a cluster's node, which is 10,000 higher.
    for _ in 0..1000 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0");
        let address = listener.and_then(|listener| listener.local_addr());
        let port = address.map_err(|error| error.to_string())?.port();
        if port < 55_000 {
            return Ok(port);
        }
    }
    Err("there is no free port".to_owned())
}

/// A new folder that only this test uses.
pub(crate) fn new_folder() -> Result<PathBuf, Problem> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("crossfeed-redis-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    // What an earlier test of this process's number has left.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}
