//! What happened in a run, as far as it can be judged.
//!
//! Clients and faults add to it while they run; what servers wrote into their logs is added at the end. Times are
//! microseconds of the system's clock, so that those of several processes compare.

use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        })
}

/// How a call ended for its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server's own result or error, with the keys that stand in it.
    Answered { keys: Vec<String> },
    /// The gateway's own answer: a stable error code.
    Failed { code: String },
    /// HTTP refused the request with this status before it reached the gateway's tools. `retry` where it says when to try
    /// again.
    Refused { status: u16, retry: bool },
    /// The client cancelled it and heard no answer.
    Cancelled,
    /// The client went away before the whole request was written.
    Unsent,
    /// It came over a kept connection that the gateway had closed, and nothing was answered.
    GaveWay,
    /// The client went away, or did not read.
    Left,
    /// The connection ended without an answer, although the client waited for one.
    Lost { why: String },
    /// No answer came while the client waited.
    Silent { seconds: u64 },
}

/// How a request ended, for a client that goes on through faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It has its answer.
    Served,
    /// The gateway says that it may have run, or that its server is away.
    Unsure,
    /// It was refused for now.
    Again,
    /// The connection ended without an answer.
    Cut,
    /// What no client may be told because of a fault of a replica.
    Wrong { what: String },
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client asked for a call.
    Asked {
        key: String,
        client: String,
        server: String,
        /// What the server was asked to do wrong, if anything.
        fault: Option<String>,
        /// Keys of other calls that the answer may hold, since the arguments refer to them.
        refers_to: Vec<String>,
    },
    /// The call ended for its client.
    Ended {
        key: String,
        client: String,
        outcome: Outcome,
    },
    /// A message that answers nothing that the client waits for.
    Stray { client: String, message: String },
    /// A server ran the call.
    Ran {
        key: String,
        server: String,
        process: u32,
    },
    /// A client received bytes in which this key stands.
    Heard {
        client: String,
        key: String,
        excerpt: String,
    },
    /// A client was given this call id for the result of its call `key`, in this session of its own.
    Named {
        client: String,
        session: u64,
        key: String,
        call_id: String,
    },
    /// A client without a right to it referred to a call id; `code` is what it was told.
    Foreign {
        client: String,
        call_id: String,
        code: String,
    },
    /// A client sent its `number`th notification in this session.
    Told {
        client: String,
        session: u64,
        number: u64,
    },
    /// A server read that notification.
    Noted {
        client: String,
        session: u64,
        number: u64,
        server: String,
        process: u32,
        /// The connection, where the process can tell several apart.
        connection: String,
    },
    /// A client received progress of a call.
    Progress {
        client: String,
        key: String,
        number: u64,
    },
    /// A client received the event with this number on the stream of a call, whose connection it may have cut before.
    Delivered {
        client: String,
        key: String,
        number: u64,
    },
    /// A client asked about the task of the call `key`: the code of the error that it was told, else the keys in the answer.
    AskedAboutTask {
        client: String,
        key: String,
        method: String,
        answer: Result<Vec<String>, String>,
    },
    /// The balancer passed a call on to this replica.
    Passed { key: String, replica: String },
    /// A request of a client that goes on through faults ended, so many microseconds after it was sent.
    Tried {
        client: String,
        request: String,
        took: u64,
        attempt: Attempt,
    },
    /// A connection ended before its answer was whole, and neither the client nor the answer's end was the cause.
    Cut {
        client: String,
        /// The call, if it was one.
        key: Option<String>,
        request: String,
        /// The replica that took the request.
        replica: Option<String>,
        /// Whether the answer had begun.
        begun: bool,
        /// The replica on which the client's session began, and when, if it has one.
        session: Option<(String, u64)>,
        /// So many microseconds after the request was sent.
        took: u64,
    },
    /// An event came on a client's stream of what belongs to no request, with the id `STREAM-NUMBER`.
    Pushed {
        client: String,
        session: u64,
        stream: String,
        number: u64,
    },
    /// A fault was brought about.
    Injected { fault: String, target: String },
    /// A figure of the gateway before any client came, and after the last was gone.
    Measured {
        gateway: String,
        what: String,
        before: i64,
        after: i64,
    },
    /// A figure that may not be above a limit.
    Bounded {
        what: String,
        value: i64,
        limit: i64,
    },
    /// A gateway ended: `expected` where it was asked to.
    GatewayEnded {
        gateway: String,
        status: String,
        expected: bool,
    },
    /// A gateway's log says that it panicked.
    Panicked { gateway: String, line: String },
}

impl Event {
    /// True where the event says something about this call.
    pub(crate) fn is_about(&self, wanted: &str) -> bool {
        match self {
            Event::Asked { key, .. }
            | Event::Ended { key, .. }
            | Event::Ran { key, .. }
            | Event::Heard { key, .. }
            | Event::Delivered { key, .. }
            | Event::Named { key, .. }
            | Event::Passed { key, .. }
            | Event::AskedAboutTask { key, .. }
            | Event::Progress { key, .. } => key == wanted,
            Event::Cut { key, .. } => key.as_deref() == Some(wanted),
            _ => false,
        }
    }
}

/// An event and when it happened.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) at: u64,
    pub(crate) event: Event,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at / 1_000_000 % 100_000;
        write!(f, "{seconds}.{:06} {:?}", self.at % 1_000_000, self.event)
    }
}

/// Events as they are added, by any thread.
#[derive(Debug, Default)]
pub(crate) struct History {
    moments: Mutex<Vec<Moment>>,
}

impl History {
    pub(crate) fn add(&self, event: Event) {
        self.add_at(now(), event);
    }

    pub(crate) fn add_at(&self, at: u64, event: Event) {
        self.lock().push(Moment { at, event });
    }

    /// All events in the order of their times.
    pub(crate) fn into_moments(self) -> Vec<Moment> {
        let mut moments = self.moments.into_inner();
        moments.sort_by_key(|moment| moment.at);
        moments
    }

    /// What was added so far; what is added later is in a history of its own.
    pub(crate) fn take(&self) -> History {
        History {
            moments: Mutex::new(std::mem::take(&mut self.lock())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Moment>> {
        self.moments.lock()
    }
}
