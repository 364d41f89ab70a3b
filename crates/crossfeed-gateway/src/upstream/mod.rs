//! Connections to servers: child processes and streamable HTTP.
//!
//! What a server sends arrives as events, in order; where it cannot answer, a typed error says why. The
//! [hub](crate::hub) decides which server a message is for, and when a server that ended is started again.

pub mod auth;
mod backoff;
mod connector;
pub mod http;
mod printable;
#[cfg(unix)]
mod stdio;
mod unusable;

pub use backoff::Backoff;
pub use connector::connector;
pub(crate) use connector::exposed_secret;

use crate::{
    Revision,
    budget::Account,
    message::{Header, Id, Message},
    metrics::Outcome,
};
use async_trait::async_trait;
use crossfeed_wire::ErrorCode;
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Why a server does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[must_use]
pub enum UpstreamError {
    /// The connection is over: the process ended, the session was closed.
    #[error("the server has ended: {0}")]
    Ended(String),
    /// It does not know the session any longer: it was restarted, or its session has expired.
    #[error("the server has ended: its session is over")]
    SessionOver,
    /// The gateway ends the connection: its client is gone, or it shuts down.
    #[error("the gateway closes the connection")]
    Closed,
    /// It cannot be started or reached.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// It took longer than it may.
    #[error("the server did not answer within {}", spelled(*after))]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// It sent something that is not a message.
    #[error("the server sent an invalid JSON-RPC message: {0}")]
    Invalid(String),
    /// It sent, or should be sent, a message beyond the limit.
    #[error("a message of more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It sent a message, and the gateway holds as much as it may.
    #[error("the server answered, and the gateway has no memory for the answer now")]
    NoRoom,
    /// It was not started or asked: the gateway has no room for it now.
    #[error("the gateway has no room for it: too many {what}")]
    Crowded {
        /// What there are too many of.
        what: &'static str,
    },
    /// It demands authorization: HTTP 401 or 403, and no token helped.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// It refuses, whatever the authorization: another HTTP status of failure, without an error of JSON-RPC.
    #[error("the server refuses: {0}")]
    Rejected(String),
    /// A request was sent, at least in part, and has no answer. Every other error says that it was not
    /// sent, or that the server refused it before doing anything.
    #[error("the request may have run: {}", lost(cause))]
    OutcomeUnknown {
        /// Why there is no answer.
        cause: Box<UpstreamError>,
    },
}

/// A time as a configuration spells it: `60 s`, `500 ms`.
fn spelled(time: Duration) -> String {
    match time.subsec_millis() {
        0 if time.as_secs() > 0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

/// Why an answer was lost. The server was reached: of a connection that broke, only the reason is named.
fn lost(cause: &UpstreamError) -> String {
    match cause {
        UpstreamError::Unreachable(reason) | UpstreamError::Rejected(reason) => reason.clone(),
        cause => cause.to_string(),
    }
}

impl UpstreamError {
    /// What this means for a request of which a byte was sent: it may have run, unless the server
    /// refused it.
    pub fn after_sending(self) -> Self {
        match self {
            Self::Refused(_) | Self::Rejected(_) => self,
            cause => cause.after_taking(),
        }
    }

    /// What this means for a request that the server has taken before, when what was asked about it next
    /// fails: it may have run, also where the server refuses that.
    pub fn after_taking(self) -> Self {
        Self::OutcomeUnknown {
            cause: Box::new(self.before_sending()),
        }
    }

    /// What this means for a request that was not sent, or for a connection.
    pub fn before_sending(self) -> Self {
        match self {
            Self::OutcomeUnknown { cause } => *cause,
            error => error,
        }
    }

    /// The stable word.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Ended(_)
            | Self::SessionOver
            | Self::Closed
            | Self::Unreachable(_)
            | Self::TimedOut { .. }
            | Self::Refused(_)
            | Self::Rejected(_) => ErrorCode::UpstreamUnavailable,
            Self::OutcomeUnknown { .. } => ErrorCode::UpstreamOutcomeUnknown,
            Self::Invalid(_) => ErrorCode::UpstreamInvalid,
            Self::TooLarge { .. } | Self::NoRoom | Self::Crowded { .. } => ErrorCode::LimitExceeded,
        }
    }

    /// How a request that failed so is counted.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::TimedOut { .. } => Outcome::TimedOut,
            Self::OutcomeUnknown { .. } => Outcome::Unknown,
            _ => Outcome::Unavailable,
        }
    }
}

/// Refuses a message that is larger than a server may be sent.
fn check_size(message: &Message, limit: usize) -> Result<(), UpstreamError> {
    let fits = message.len() <= limit;
    fits.then_some(()).ok_or(UpstreamError::TooLarge { limit })
}

/// What happens on a connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The server sent a message.
    Message {
        /// The message.
        message: Message,
        /// The request of ours on whose stream it came, where the transport knows.
        related: Option<Id>,
    },
    /// A request of ours will not be answered. The error says whether it may have run.
    Failed {
        /// The request.
        id: Id,
        /// Why.
        error: UpstreamError,
    },
    /// A request of ours that the server did not carry out, since it does not know the session: it may be sent
    /// again on another connection. The end of this one follows.
    Returned {
        /// The request.
        message: Message,
        /// The headers that it was sent with.
        headers: Vec<Header>,
    },
    /// The connection is over. Every request that was handed over and neither answered nor failed
    /// before this event may have run. Nothing comes behind it.
    Closed(UpstreamError),
}

/// Bytes from which on a message waits until those before it were taken. A queue of events is bounded by
/// their number: large ones would let one server fill the memory that all share.
const LARGE_EVENT_BYTES: usize = 256 << 10;

/// A place in a queue for an event; a large message gets one once the queue is empty.
///
/// # Errors
///
/// No one takes events any more.
pub(crate) async fn place<'q>(
    events: &'q mpsc::Sender<Event>,
    event: &Event,
) -> Result<mpsc::Permit<'q, Event>, mpsc::error::SendError<()>> {
    if matches!(event, Event::Message { message, .. } if message.len() > LARGE_EVENT_BYTES) {
        drop(events.reserve_many(events.max_capacity()).await?);
    }
    events.reserve().await
}

/// An open connection to one server.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Hands a message over; what is handed over first is sent first. The answer to a request comes as an
    /// event, and so does its failure if it was handed over.
    ///
    /// # Errors
    ///
    /// [`UpstreamError`] when the message cannot be handed over: none of it was or will be sent, and no
    /// event follows for it. The same holds where the future is dropped before it is ready.
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError>;

    /// Sets the negotiated revision: from here on HTTP sends it in a header.
    fn speak(&self, revision: Revision);

    /// Gives up waiting for a request. Over HTTP without sessions this cancels the request; elsewhere a notification
    /// cancels it, which is an ordinary message.
    async fn abandon(&self, id: &Id);

    /// Ends the connection in an orderly way: what was handed over is sent, a session is deleted, a
    /// process is asked to end and, if it does not, made to.
    async fn close(&self);
}

/// How one server is reached.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Opens a connection, whose events go to `events`.
    ///
    /// # Errors
    ///
    /// [`UpstreamError`] when the server cannot be started or reached.
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError>;

    /// The same, but what its connections read is charged to an account; `None` where they read nothing
    /// themselves.
    fn charged_to(&self, _account: &Arc<Account>) -> Option<Arc<dyn Connector>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, LARGE_EVENT_BYTES, UpstreamError, place};
    use crate::message::Message;
    use futures_util::FutureExt as _;
    use std::time::Duration;
    use tokio::sync::mpsc;

    #[test]
    fn the_time_that_was_waited_is_said() {
        for (millis, said) in [
            (60_000, "60 s"),
            (500, "500 ms"),
            (1500, "1500 ms"),
            (1, "1 ms"),
        ] {
            let after = Duration::from_millis(millis);
            let error = UpstreamError::TimedOut { after }.to_string();
            let expected = format!("the server did not answer within {said}");
            assert_eq!(error, expected);
        }
    }

    fn event(bytes: usize) -> Event {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat(bytes));
        Event::Message {
            message: Message::parse(text).unwrap(),
            related: None,
        }
    }

    #[test]
    fn a_large_message_waits_for_those_before_it() {
        let (sender, mut events) = mpsc::channel(4);
        // Sends an event, unless it has to wait.
        let send = |bytes: usize| {
            let event = event(bytes);
            let place = place(&sender, &event).now_or_never();
            place.map(|place| place.unwrap().send(event)).is_some()
        };
        assert!(send(LARGE_EVENT_BYTES));
        assert!(!send(LARGE_EVENT_BYTES), "one is there");
        assert!(send(1) && send(1) && send(1));
        assert!(!send(1), "four are there");
        for _ in 0..3 {
            assert!(events.try_recv().is_ok());
            assert!(!send(LARGE_EVENT_BYTES));
        }
        assert!(events.try_recv().is_ok());
        assert!(send(LARGE_EVENT_BYTES));
        drop(events);
        assert!(
            place(&sender, &event(LARGE_EVENT_BYTES))
                .now_or_never()
                .unwrap()
                .is_err()
        );
    }
}
