//! How workers are started, and what they may take.

use crossfeed_sql::SqlLimits;
use derive_setters::Setters;
use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use crate::error::WorkerError;

/// The program of a worker: one that calls [`serve`](crate::serve).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// A program and its arguments.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }
    }

    /// The program that runs now, with arguments that make it a worker. On Linux it is the same one after its file was
    /// replaced.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`] where the system does not tell which program it is.
    pub fn own(
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self, WorkerError> {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            env::current_exe().map_err(WorkerError::Start)?
        };
        Ok(Self::new(program, arguments))
    }
}

/// How workers are started, and what they may take.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct WorkerOptions {
    /// The program.
    #[setters(skip)]
    pub command: WorkerCommand,
    /// What imports and statements may take.
    pub limits: SqlLimits,
    /// The most bytes of address space of a worker: 1 GiB, room for the largest import and for sorting it.
    pub memory_bytes: u64,
    /// How much longer than a statement has a worker may take to answer, before it is killed: 20 s, to import, and for what
    /// no clock of SQLite ends.
    pub grace: Duration,
    /// How many run at once: 2, so that the host has the other processors. Others wait.
    pub running: usize,
    /// How many wait for their owner with what they imported: 4.
    pub kept: usize,
    /// How long they do: 60 s.
    pub idle: Duration,
    /// How many are started before anybody asks: 1.
    pub warm: usize,
}

impl WorkerOptions {
    /// With the defaults.
    pub fn new(command: WorkerCommand) -> Self {
        Self {
            command,
            limits: SqlLimits::default(),
            memory_bytes: 1 << 30,
            grace: Duration::from_secs(20),
            running: 2,
            kept: 4,
            idle: Duration::from_secs(60),
            warm: 1,
        }
    }

    /// The time after which a worker that does not answer is killed.
    pub fn deadline(&self) -> Duration {
        self.limits.time + self.grace
    }
}
