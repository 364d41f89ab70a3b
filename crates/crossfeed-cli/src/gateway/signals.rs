//! Futures that complete at the first signal to end the process, and at the second, which ends it at once.

use crate::report::{CommandError, Result};
use std::io;
use tokio::sync::watch;

/// The number of signals so far.
#[derive(Clone)]
pub(super) struct Signals(watch::Receiver<u8>);

impl Signals {
    /// Starts to watch, within a runtime.
    pub(super) fn watch() -> io::Result<Self> {
        let (told, often) = watch::channel(0_u8);
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            // A terminal that closes, unless the process ignores it (`nohup`).
            let mut hung_up = if ignores_hangup() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            };
            tokio::spawn(async move {
                loop {
                    let received = tokio::select! {
                        received = interrupt.recv() => received,
                        received = terminate.recv() => received,
                        received = hangup(&mut hung_up) => received,
                    };
                    if received.is_none() {
                        break;
                    }
                    told.send_modify(|often| *often = often.saturating_add(1));
                }
            });
        }
        #[cfg(not(unix))]
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                told.send_modify(|often| *often = often.saturating_add(1));
            }
        });
        Ok(Self(often))
    }

    /// Completes at the first signal.
    pub(super) async fn first(self) {
        self.times(1).await;
    }

    /// Completes at the second signal.
    pub(super) async fn second(self) {
        self.times(2).await;
    }

    async fn times(mut self, often: u8) {
        if self.0.wait_for(|told| *told >= often).await.is_err() {
            // Nothing watches any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Completes when the terminal closes; never if that is ignored.
#[cfg(unix)]
async fn hangup(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the process was started with SIGHUP ignored, as `nohup` does; false if the system does not report it.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status))
}

/// Whether a process's status, in the format of Linux, shows SIGHUP, the first signal, as ignored.
#[cfg(unix)]
fn is_ignored(status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// The outcome of the work. A signal drops the work and the servers that it has started.
pub(super) async fn until_signal(work: impl Future<Output = Result>) -> Result {
    let signals = Signals::watch()
        .map_err(|error| CommandError::usage(format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        done = work => done,
        () = signals.first() => Err(CommandError::usage("ended by a signal")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_ignored;

    #[test]
    fn what_is_ignored_is_read() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(is_ignored(&status("0000000000000001")));
        assert!(is_ignored(&status("0000000000001001")));
        assert!(!is_ignored(&status("0000000000001000")));
        assert!(!is_ignored(&status("none")));
        assert!(!is_ignored(""));
    }
}
