//! Where the answer to one request goes, and what happens to the request when its client leaves first.

use super::{
    Http,
    session::{BusySession, Session},
    stream::Stream,
};
use crate::{
    message::{Id, Kind, Message},
    port::{Disconnected, HubClient, MessageSink},
};
use async_trait::async_trait;
use scopeguard::{ScopeGuard, guard};
use std::sync::{Arc, Weak};
use tokio::{runtime::Handle, task::JoinHandle};

/// A request that is given up when this is dropped.
pub(super) type GiveUpGuard = ScopeGuard<PendingRequest, fn(PendingRequest)>;

/// Whose request, which one, where its answer was to go, and the task that hands it over.
type PendingRequest = (
    Arc<dyn HubClient>,
    Id,
    Weak<dyn MessageSink>,
    JoinHandle<()>,
);

/// Gives a request up when its client leaves before the answer.
pub(super) fn leaving(unanswered: PendingRequest) -> GiveUpGuard {
    guard(unanswered, give_up)
}

fn give_up((client, id, reply, started): PendingRequest) {
    // Answered, or given up by the hub already.
    if reply.strong_count() == 0 {
        return;
    }
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            // A request that the hub does not know yet cannot be given up.
            let _ = started.await;
            if let Some(reply) = reply.upgrade() {
                client.give_up(&id, &reply).await;
            }
        });
    }
}

/// A session whose `initialize` has no answer yet.
#[derive(Clone)]
pub(super) struct NewSession {
    pub(super) http: Arc<Http>,
    pub(super) id: String,
}

impl NewSession {
    /// Takes the session off the list: no request finds it any more.
    fn take(&self) -> Option<Arc<Session>> {
        self.http.sessions.take(&self.id)
    }

    /// Ends the session, unless the client learns its id: then the guard is disarmed.
    pub(super) fn or_end(self) -> ScopeGuard<Self, fn(Self)> {
        guard(self, |beginning| {
            if let Some(session) = beginning.take() {
                session.close_soon();
            }
        })
    }
}

/// Where the answers to one request go. When it is dropped, the stream is over.
pub(super) struct Reply {
    pub(super) stream: Arc<Stream>,
    pub(super) busy: Option<BusySession>,
    pub(super) beginning: Option<NewSession>,
}

#[async_trait]
impl MessageSink for Reply {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        // No request finds the session any more, but its streams end after the answer.
        let failed = match (&self.beginning, message.kind()) {
            (Some(beginning), Kind::Error) => beginning.take(),
            _ => None,
        };
        let sent = self.stream.send(message).await;
        if let Some(session) = failed {
            session.close_soon();
        }
        sent
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.stream.finish();
        if let Some(busy) = &self.busy {
            busy.trim();
        }
    }
}
