//! Servers that are child processes, and speak over their standard input and output. Their standard error goes to the
//! log.
//!
//! # Invariants
//!
//! - A process that reads slowly delays those who write to it, and never those who read from it.
//! - Memory is bounded whatever a process prints: a line beyond the limit is read to its end and discarded.
//! - When a connection is closed or dropped, its process has ended, and so have the processes that it started and that
//!   stayed in its group.

mod inbox;
mod log;
mod outbox;
mod process;

#[cfg(test)]
mod tests;

use super::{Connector, Event, Upstream, UpstreamError, check_size};
use crate::{
    Revision,
    budget::Account,
    message::{Header, Id, Message},
    metrics::Counter,
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

/// The variables of the gateway's own environment that every child inherits: programs need them to find other
/// programs, their user's files, a language and a place for temporary files. A server gets everything else, above all
/// secrets, from its configuration only.
const PASSED_ON: &[&str] = &[
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
pub(super) struct StdioConnector {
    /// The server's name in the log.
    server: Arc<str>,
    command: String,
    args: Vec<String>,
    /// See [`environment`].
    pub(super) environment: BTreeMap<String, String>,
    /// Where it starts; the gateway's own directory is the default.
    pub(super) directory: Option<PathBuf>,
    /// How many bytes a message may have.
    pub(super) limit: usize,
    /// How long it may take to end after its input was closed, and then after the signal that asks it to. The official
    /// clients wait as long.
    grace: Duration,
    /// How many descriptors it may have open unless it raises the limit, where the system supports that (Linux). By
    /// default as many as the gateway.
    pub(super) descriptors: Option<usize>,
    /// Counts lines that are not messages.
    pub(super) no_messages: Counter,
    account: Arc<Account>,
}

impl StdioConnector {
    /// A server that is this command. It has no environment.
    pub(super) fn new(
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
        command
            .spawn()
            .map_err(|error| UpstreamError::Unreachable(self.why(&error)))
    }

    /// Names keys of the configuration, not their values: the client that reads it may be another party.
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

/// The environment of a child: its own variables, and those of the gateway that every child inherits ([`PASSED_ON`]).
pub(super) fn environment(
    own: &BTreeMap<String, String>,
    gateway: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let inherited = PASSED_ON
        .iter()
        .filter_map(|name| gateway.get_key_value(*name));
    let all = inherited.chain(own);
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[async_trait]
impl Connector for StdioConnector {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let mut child = self.spawn()?;
        let group = Group::new(&child);
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
        let signals = Arc::new(Signals::default());
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
        Some(Arc::new(Self {
            account: Arc::clone(account),
            ..self.clone()
        }))
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
        check_size(&message, self.limit)?;
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
