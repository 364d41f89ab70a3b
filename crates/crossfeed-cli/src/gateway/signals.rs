//! When to end.
//!
//! What comes in: signals of the process. What goes out: futures that are there when the first one came,
//! and when a second one did, for which nothing is waited. Deliberately not here: what ending means.

use crate::report::Stop;
use std::io;
use tokio::sync::watch;

/// How often the process was told to end.
#[derive(Clone)]
pub(super) struct Signals(watch::Receiver<u8>);

impl Signals {
    /// Watches from here on; within a runtime.
    pub(super) fn watch() -> io::Result<Self> {
        let (told, often) = watch::channel(0_u8);
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::spawn(async move {
                loop {
                    let received = tokio::select! {
                        received = interrupt.recv() => received,
                        received = terminate.recv() => received,
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

    /// The process was told to end.
    pub(super) async fn first(self) {
        self.times(1).await;
    }

    /// It was told so again.
    pub(super) async fn second(self) {
        self.times(2).await;
    }

    async fn times(mut self, often: u8) {
        if self.0.wait_for(|told| *told >= often).await.is_err() {
            // Nothing watches any more: it is never told.
            std::future::pending::<()>().await;
        }
    }
}

/// What comes of it, unless the process is told to end: then it is dropped, and with it the servers that it
/// has started.
pub(super) async fn unless_told(work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    let signals = Signals::watch()
        .map_err(|error| Stop::Usage(format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        done = work => done,
        () = signals.first() => Err(Stop::Usage("told to end".to_owned())),
    }
}
