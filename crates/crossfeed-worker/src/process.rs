//! One worker, from the host's side.

use crate::{
    error::{QueryFault, WorkerError},
    frame,
    message::{self, Fault, Opening, Reply, Request},
    options::WorkerOptions,
    sandbox::Sandbox,
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use std::{io, process::Stdio, time::Duration};
use tokio::{
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The most bytes of what a worker says beside rows.
const MAX_REPLY_BYTES: usize = 64 << 10;

/// A worker that answers; dropping it kills it.
pub(crate) struct Process {
    /// What reaps it when it is dropped.
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    pub(crate) sandbox: Sandbox,
    /// The most bytes of an answer.
    most: usize,
    /// Whether an answer is due: nothing else can be asked, and nobody knows whose it would be.
    is_busy: bool,
}

impl Process {
    /// Whether it can be asked.
    pub(crate) fn is_ready(&mut self) -> bool {
        !self.is_busy && matches!(self.child.try_wait(), Ok(None))
    }

    /// Starts one: it has no environment, and no descriptors but its pipes.
    pub(crate) async fn start(options: &WorkerOptions) -> Result<Self, WorkerError> {
        let mut command = Command::new(&options.command.program);
        command
            .args(&options.command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        #[cfg(unix)]
        // In a group of its own, so that an interrupt at a terminal is for the host only.
        command.env_clear().current_dir("/").process_group(0);
        let mut child = command.spawn().map_err(WorkerError::Start)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) =
            pipes.ok_or_else(|| WorkerError::Start(io::ErrorKind::BrokenPipe.into()))?;
        let mut process = Self {
            child,
            stdin,
            stdout,
            sandbox: Sandbox::default(),
            most: options.limits.answer_bytes.saturating_add(MAX_REPLY_BYTES),
            is_busy: false,
        };
        let opening = Request::Open(Opening::new(&options.limits, options.memory_bytes));
        let opened = process.ask(&opening, b"", options.deadline()).await;
        match opened.map_err(|error| WorkerError::Start(io::Error::other(error.to_string())))? {
            (Reply::Opened { sandbox }, _) => process.sandbox = sandbox,
            _ => return Err(WorkerError::Start(io::ErrorKind::InvalidData.into())),
        }
        Ok(process)
    }

    /// Asks it, and waits for the answer and the bytes behind it. After an error that is not a [`WorkerError::Query`] it
    /// is of no use.
    pub(crate) async fn ask(
        &mut self,
        request: &Request,
        behind: &[u8],
        limit: Duration,
    ) -> Result<(Reply, Bytes), WorkerError> {
        let exchange = async {
            frame::send(&mut self.stdin, &[&message::head(request), behind]).await?;
            frame::receive(&mut self.stdout, self.most).await
        };
        self.is_busy = true;
        let answered = timeout(limit, exchange)
            .await
            .map_err(|_| WorkerError::Time { limit })?;
        let frame = answered.map_err(|error| {
            tracing::debug!(target: "crossfeed::worker", %error, "a worker ended");
            WorkerError::Ended
        })?;
        let (reply, end) = message::read(&frame).ok_or(WorkerError::Ended)?;
        self.is_busy = false;
        match reply {
            Reply::Failed(fault) if fault.is_memory => Err(WorkerError::Memory),
            Reply::Failed(fault) => Err(WorkerError::Query(fault.into())),
            reply => Ok((reply, frame.slice(end..))),
        }
    }
}

impl From<Fault> for QueryFault {
    fn from(fault: Fault) -> Self {
        let known = ErrorCode::ALL
            .iter()
            .find(|code| code.as_str() == fault.code);
        Self {
            code: known.copied().unwrap_or(ErrorCode::QueryInvalid),
            message: fault.message,
            advice: fault.advice,
        }
    }
}
