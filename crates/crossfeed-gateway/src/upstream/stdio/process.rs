//! A child process, and how it ends.
//!
//! Its own children end with it: `npx`, `uvx` and shells start the server as a child of theirs, which would live on
//! without them.

use super::outbox::Outbox;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{io, process::ExitStatus, sync::Arc, time::Duration};
use tokio::{process::Child, sync::watch, time::timeout};

/// How long output may still come behind the end of a process, and how long the end may take that
/// nothing can refuse.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The processes of a group of their own. They are killed when this is dropped.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that the child leads.
    pub(super) fn new(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Sets the leader's soft limit of descriptors.
    #[cfg(target_os = "linux")]
    pub(super) fn limit_descriptors(&self, soft_limit: usize) {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

        let Some(leader) = self.0 else { return };
        let limit = Rlimit {
            current: u64::try_from(soft_limit).ok(),
            ..getrlimit(Resource::Nofile)
        };
        // It may have ended, or have become another user's.
        if let Err(error) = prlimit(Some(leader), Resource::Nofile, limit) {
            tracing::debug!(%error, "a server keeps the gateway's limit of descriptors");
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails where no process is left.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills the processes that are left. To be called as soon as the leader was waited for: its number is not
    /// given to others while the group has members, and an empty group is not signalled later.
    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Signals between the tasks of one connection.
#[derive(Default)]
pub(super) struct Signals {
    /// The process is to end.
    pub(super) asked: watch::Sender<bool>,
    /// Its standard output has ended.
    pub(super) drained: watch::Sender<bool>,
    /// Its standard error has ended.
    pub(super) logged: watch::Sender<bool>,
    /// It has ended, and how.
    pub(super) ended: watch::Sender<Option<String>>,
}

impl Signals {
    /// Waits until the process has ended.
    pub(super) async fn ended(&self) -> String {
        let mut ended = self.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await;
        reason
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or_default()
    }
}

async fn until(signal: &watch::Sender<bool>) {
    // It fails when the sender is gone, and a borrowed one is not.
    drop(signal.subscribe().wait_for(|is_set| *is_set).await);
}

/// Waits for the end of a process, and brings it about when that is asked for: its standard input is
/// closed, it is asked by a signal, it is killed, with `grace` between one and the next.
pub(super) async fn supervise(
    mut child: Child,
    mut group: Group,
    outbox: Arc<Outbox>,
    signals: Arc<Signals>,
    grace: Duration,
) {
    let status = tokio::select! {
        status = child.wait() => Some(status),
        () = until(&signals.asked) => end(&mut child, &group, &outbox, grace).await,
    };
    outbox.close();
    if status.is_some() {
        // What it wrote last is still in the pipe, and so is what its children write.
        let drained = async {
            until(&signals.drained).await;
            until(&signals.logged).await;
        };
        drop(timeout(DRAIN_TIMEOUT, drained).await);
    }
    group.kill();
    let reason = describe(status);
    signals.ended.send_replace(Some(reason));
}

async fn end(
    child: &mut Child,
    group: &Group,
    outbox: &Outbox,
    grace: Duration,
) -> Option<io::Result<ExitStatus>> {
    outbox.finish();
    if let Ok(status) = timeout(grace, child.wait()).await {
        return Some(status);
    }
    group.signal(Signal::TERM);
    if let Ok(status) = timeout(grace, child.wait()).await {
        return Some(status);
    }
    group.signal(Signal::KILL);
    timeout(DRAIN_TIMEOUT, child.wait()).await.ok()
}

fn describe(status: Option<io::Result<ExitStatus>>) -> String {
    match status {
        Some(Ok(status)) => status.to_string(),
        Some(Err(error)) => format!("its status cannot be read: {error}"),
        None => "it was killed".to_owned(),
    }
}
