//! Servers that are child processes and speak over their standard input and output.
//!
//! What comes in: a command, and messages for it. What goes out: its messages, in order. Its standard error
//! goes to the log. Deliberately not here: reading the environment, which the caller hands in, and
//! starting a process again.
//!
//! # What holds
//!
//! - A process that reads slowly holds up who writes to it, never who reads from it.
//! - Memory is bounded whatever it prints: a line beyond the limit is read to its end and not kept.
//! - When a connection is closed or dropped, its process has ended, and with it the processes that it started
//!   and that stayed in its group.

mod inbox;
mod log;
mod outbox;
mod process;

#[cfg(test)]
mod tests;

use super::{Connector, Event, Upstream, UpstreamError};
use crate::{
    Revision,
    budget::Account,
    message::{Header, Id, Message},
    metrics::{Counter, Metrics, families},
    wide::Wide,
};
use async_trait::async_trait;
use inbox::Inbox;
use outbox::Outbox;
use process::{Group, Signals};
use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    process::{Child, Command},
    sync::mpsc,
};

/// The variables of the gateway's own environment that every child gets: what programs need to find
/// others, their user's files, a language and a place for temporary files. Everything else, secrets of other
/// servers above all, has to be given to a server by its configuration.
pub const PASSED_ON: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Starts a child process for each connection.
#[derive(Clone)]
pub struct StdioConnector {
    server: Arc<str>,
    command: String,
    args: Vec<String>,
    environment: BTreeMap<String, String>,
    directory: Option<PathBuf>,
    limit: usize,
    grace: Duration,
    descriptors: Option<usize>,
    no_messages: Counter,
    account: Arc<Account>,
}

impl fmt::Debug for StdioConnector {
    /// Without arguments and variables: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConnector")
            .field("server", &self.server)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl StdioConnector {
    /// A server of this name, in the log, that `command` with `args` is. It has no environment.
    #[must_use]
    pub fn new(
        server: impl Into<Arc<str>>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            server: server.into(),
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            environment: BTreeMap::new(),
            directory: None,
            limit: crate::config::Limits::default().message_bytes,
            grace: Duration::from_secs(2),
            descriptors: None,
            no_messages: Counter::default(),
            account: Account::unlimited(),
        }
    }

    /// Gives it those of the variables that every child gets ([`PASSED_ON`]).
    #[must_use]
    pub fn with_inherited(mut self, environment: &BTreeMap<String, String>) -> Self {
        for name in PASSED_ON {
            if let Some(value) = environment.get(*name) {
                self.environment
                    .entry((*name).to_owned())
                    .or_insert_with(|| value.clone());
            }
        }
        self
    }

    /// Gives it variables, over those that it has.
    #[must_use]
    pub fn with_environment(mut self, environment: &BTreeMap<String, String>) -> Self {
        self.environment.extend(environment.clone());
        self
    }

    /// Starts it in this directory. The gateway's own is the default.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Takes and sends messages of at most `bytes`.
    #[must_use]
    pub fn with_message_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Waits so long, when it is to end, for each of: the end of its input, the signal that asks. Two
    /// seconds are the default: the official clients wait as long.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how many descriptors the process may have open unless it asks for more, where the system can do so
    /// (Linux). Else it has what the gateway has.
    #[must_use]
    pub fn with_descriptors(mut self, soft_limit: Option<usize>) -> Self {
        self.descriptors = soft_limit;
        self
    }

    /// Counts lines that are no message.
    #[must_use]
    pub fn with_metrics(mut self, metrics: &Metrics) -> Self {
        self.no_messages = metrics.counter(families::NO_MESSAGES, &[&self.server]);
        self
    }

    fn spawn(&self) -> Result<Child, UpstreamError> {
        let mut command = Command::new(&self.command);
        command
            .args(&self.args)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.spawn().map_err(|error| {
            let reason = self.why(&error);
            UpstreamError::Unreachable(reason)
        })
    }

    /// By the keys of the configuration: a client that reads it may be another party.
    fn why(&self, error: &io::Error) -> String {
        // The system says the same of a missing program and of a missing directory.
        let directory = self.directory.as_deref();
        if directory.is_some_and(|path| !Path::is_dir(path)) {
            return "there is no directory where its `cwd` says".to_owned();
        }
        match error.kind() {
            io::ErrorKind::NotFound => "there is no program where its `command` says".to_owned(),
            _ => format!("its `command` cannot be started: {error}"),
        }
    }
}

#[async_trait]
impl Connector for StdioConnector {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let mut child = self.spawn()?;
        let group = Group::of(&child);
        #[cfg(target_os = "linux")]
        if let Some(soft_limit) = self.descriptors {
            group.limit_descriptors(soft_limit);
        }
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(broken("no pipes"));
        };
        // A pipe of this kind can be tried without waiting, and without a task that waits.
        let stdin = stdin
            .into_owned_fd()
            .and_then(pipe::Sender::from_owned_fd)
            .map_err(broken)?;
        let outbox = Arc::new(Outbox::new(stdin));
        let signals = Arc::new(Signals::new());
        tokio::spawn({
            let (server, signals) = (Arc::clone(&self.server), Arc::clone(&signals));
            async move {
                tokio::select! {
                    () = log::run(server, stderr) => {
                        signals.logged.send_replace(true);
                    }
                    _ = signals.ended() => {}
                }
            }
        });
        tokio::spawn({
            let (outbox, signals) = (Arc::clone(&outbox), Arc::clone(&signals));
            async move {
                tokio::select! {
                    Err(_) = outbox.run() => {
                        // It does not read any more: nothing can be asked of it.
                        signals.asked.send_replace(true);
                    }
                    _ = signals.ended() => {}
                }
                outbox.close();
            }
        });
        let inbox = Inbox {
            server: Arc::clone(&self.server),
            limit: self.limit,
            events,
            outbox: Arc::clone(&outbox),
            signals: Arc::clone(&signals),
            no_messages: self.no_messages.clone(),
            account: Arc::clone(&self.account),
        };
        let wide = Wide::pipe(&stdout);
        tokio::spawn(async move {
            inbox.run(stdout).await;
            drop(wide);
        });
        tokio::spawn(process::supervise(
            child,
            group,
            Arc::clone(&outbox),
            Arc::clone(&signals),
            self.grace,
        ));
        Ok(Arc::new(StdioUpstream {
            limit: self.limit,
            outbox,
            signals,
        }))
    }

    fn charged_to(&self, account: &Arc<Account>) -> Option<Arc<dyn Connector>> {
        let mut charged = self.clone();
        charged.account = Arc::clone(account);
        Some(Arc::new(charged))
    }
}

fn broken(error: impl fmt::Display) -> UpstreamError {
    UpstreamError::Unreachable(format!(
        "its standard input and output cannot be used: {error}"
    ))
}

struct StdioUpstream {
    limit: usize,
    outbox: Arc<Outbox>,
    signals: Arc<Signals>,
}

#[async_trait]
impl Upstream for StdioUpstream {
    async fn send(&self, message: Message, _: &[Header]) -> Result<(), UpstreamError> {
        if message.len() > self.limit {
            let limit = self.limit;
            return Err(UpstreamError::TooLarge { limit });
        }
        self.outbox.send(&message).await
    }

    fn speak(&self, _: Revision) {}

    async fn abandon(&self, _: &Id) {}

    async fn close(&self) {
        self.signals.asked.send_replace(true);
        self.signals.ended().await;
    }
}

impl Drop for StdioUpstream {
    fn drop(&mut self) {
        self.signals.asked.send_replace(true);
    }
}
