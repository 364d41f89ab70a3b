//! One server.

use crate::{
    Problem,
    folder::Folder,
    port::free_port,
    talk::{self, Answer},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};
use tokio::time::sleep;

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
        let version = Command::new(program())
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
            "{} is not installed",
            program()
        );
        let _ = writeln!(std::io::stderr(), "skip: {} is not installed", program());
    }
    installed
}

/// The program of the servers: `redis-server`, or another that takes the same options, such as `valkey-server`.
#[expect(
    clippy::disallowed_methods,
    reason = "which server the tests run on, their environment says"
)]
fn program() -> String {
    std::env::var("CROSSFEED_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned())
}

/// The library that gives a process another clock, where it is installed. Where it is not, says that tests are skipped.
///
/// # Panics
///
/// Where it is not, and `CROSSFEED_REQUIRE_FAKETIME` is 1.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "how strict a run of the tests is, its environment says"
)]
pub fn faketime() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let mut places = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
        places.find(|place| place.exists())
    });
    if found.is_none() {
        let required = std::env::var("CROSSFEED_REQUIRE_FAKETIME");
        assert_ne!(required.as_deref(), Ok("1"), "faketime is not installed");
        let _ = writeln!(std::io::stderr(), "skip: faketime is not installed");
    }
    found.as_deref()
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    arguments: Vec<String>,
    /// How far its clock is ahead, in seconds.
    ahead: i64,
}

/// A server of its own folder and port, which is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    launch: Launch,
    process: Process,
    folder: Folder,
}

/// A process that ends with this.
#[derive(Debug)]
struct Process(Child);

impl Server {
    /// Starts a server with these options beside those of a test, as on its command line: `["--appendonly", "yes"]`.
    /// Without options it keeps nothing on the disk.
    ///
    /// # Errors
    ///
    /// When it does not answer in time.
    pub async fn start(options: &[&str]) -> Result<Self, Problem> {
        Self::start_as(None, &[&["--save", ""], options].concat(), 0).await
    }

    /// Starts a server with a file of configuration, which it may rewrite, and a clock that is so many seconds ahead.
    pub(crate) async fn start_as(
        file: Option<&str>,
        options: &[&str],
        ahead: i64,
    ) -> Result<Self, Problem> {
        let mut problem = Problem::new();
        for _ in 0..TRIES {
            match Self::try_start(file, options, ahead).await {
                Ok(server) => return Ok(server),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    async fn try_start(file: Option<&str>, options: &[&str], ahead: i64) -> Result<Self, Problem> {
        let (port, folder) = (free_port()?, Folder::new()?);
        let mut arguments = Vec::new();
        if let Some(text) = file {
            let path = folder.0.join("redis.conf");
            fs::write(&path, text).map_err(|error| error.to_string())?;
            arguments.push(path.display().to_string());
        }
        let (port_text, place) = (port.to_string(), folder.0.display().to_string());
        let own = ["--port", &port_text, "--bind", "127.0.0.1", "--dir", &place];
        arguments.extend(own.iter().chain(options).map(|&text| text.to_owned()));
        let launch = Launch { arguments, ahead };
        let mut server = Self {
            port,
            process: Process::start(&folder.0, &launch)?,
            launch,
            folder,
        };
        server.is_up().await?;
        Ok(server)
    }

    async fn is_up(&mut self) -> Result<(), Problem> {
        let end = Instant::now() + START;
        loop {
            let problem = match self.answers().await {
                Ok(()) => return Ok(()),
                Err(problem) => problem,
            };
            if self.process.has_ended() || Instant::now() > end {
                let log = fs::read_to_string(self.folder.0.join("log")).unwrap_or_default();
                return Err(format!("{problem}\n{log}"));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether it is this server that listens at its port, and has read what it has kept.
    async fn answers(&self) -> Result<(), Problem> {
        self.ask(&["PING"]).await?;
        let there = self.info("server", "process_id").await?;
        if there == self.process.0.id().to_string() {
            Ok(())
        } else {
            Err(format!("another server listens at port {}", self.port))
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
        &self.folder.0
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

    /// A field of what `INFO` says of this section; empty where it is not there.
    ///
    /// # Errors
    ///
    /// That the server does not answer.
    pub async fn info(&self, section: &str, field: &str) -> Result<String, Problem> {
        let answer = self.ask(&["INFO", section]).await?;
        Ok(answer.field(field).to_owned())
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.0.id())
            .ok()
            .and_then(Pid::from_raw)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
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

    /// Fills its disk, or makes room again: no file of it can grow meanwhile.
    ///
    /// # Errors
    ///
    /// When the process has ended, or the system cannot do this.
    pub fn fill_disk(&self, is_full: bool) -> Result<(), Problem> {
        let pid = self.pid().ok_or("the server has ended")?;
        fill_disk(pid, is_full)
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_ended(&mut self) -> Result<(), Problem> {
        let end = Instant::now() + START;
        while !self.process.has_ended() {
            if Instant::now() > end {
                return Err("the server does not end".to_owned());
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.process.end();
    }

    /// Starts it again at its port, with what it has kept.
    ///
    /// # Errors
    ///
    /// When it does not answer in time.
    pub async fn restart(&mut self) -> Result<(), Problem> {
        self.process = Process::start(&self.folder.0, &self.launch)?;
        self.is_up().await
    }
}

/// A command that runs a program whose files may be kept from growing by [`fill_disk`]: it is not killed for it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests start processes")]
pub fn patient(program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", program]);
    command
}

/// Fills the disk for a process, or makes room again: no file can grow by what it writes meanwhile, which fails as on a
/// full disk, but with another number. The process must ignore the signal that comes with it, as a [`patient`] one does.
///
/// # Errors
///
/// When the process has ended, or the system cannot do this.
#[cfg(target_os = "linux")]
pub fn fill_disk(pid: Pid, is_full: bool) -> Result<(), Problem> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: is_full.then_some(0),
        maximum: None,
    };
    let limited = prlimit(Some(pid), Resource::Fsize, limit);
    limited.map(drop).map_err(|error| error.to_string())
}

/// As on Linux, but it always fails.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn fill_disk(_: Pid, _: bool) -> Result<(), Problem> {
    Err("only Linux limits the files of another process".to_owned())
}

impl Process {
    fn start(folder: &Path, launch: &Launch) -> Result<Self, Problem> {
        let failed = |error: std::io::Error| format!("{}: {error}", program());
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("log"))
            .map_err(failed)?;
        let mut command = patient(&program());
        if launch.ahead != 0 {
            let library = faketime().ok_or("faketime is not installed")?;
            // An allocator that asks for the time before the library is there ends in a loop: the system's does not.
            command
                .env("LD_PRELOAD", format!("{} libc.so.6", library.display()))
                .env("FAKETIME", format!("{:+}s", launch.ahead))
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command
            .args(&launch.arguments)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null());
        command.spawn().map(Self).map_err(failed)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    fn end(&mut self) {
        // A process that has ended is not an error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
