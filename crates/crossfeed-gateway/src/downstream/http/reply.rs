//! Where the answer to one request goes, and what becomes of it when its client goes first.
//!
//! What comes in: the hub's messages for a request; that a client has gone. What goes out: the messages, on the
//! request's stream; and the end of what nobody can use any more. Deliberately not here: how a request is
//! read, and its answer written.

use super::{Http, session::Busy, stream::Stream};
use crate::{
    message::{Id, Kind, Message},
    port::{Disconnected, HubClient, MessageSink},
};
use async_trait::async_trait;
use std::sync::{Arc, Weak};
use tokio::{runtime::Handle, task::JoinHandle};

/// A request that is left behind when its client goes.
pub(super) struct Leaving(pub(super) Option<Left>);

/// Whose request, which one, where its answer was to go, and whether it was handed over by now.
pub(super) type Left = (
    Arc<dyn HubClient>,
    Id,
    Weak<dyn MessageSink>,
    JoinHandle<()>,
);

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some((client, id, reply, started)) = self.0.take() else {
            return;
        };
        // Answered, or given up by the hub already.
        if reply.strong_count() == 0 {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // What the hub does not know yet cannot be given up.
                let _ = started.await;
                if let Some(reply) = reply.upgrade() {
                    client.give_up(&id, &reply).await;
                }
            });
        }
    }
}

/// A session whose `initialize` has no answer yet.
#[derive(Clone)]
pub(super) struct Beginning {
    pub(super) http: Arc<Http>,
    pub(super) id: String,
}

/// A session whose client does not know its id yet: it ends with a client that goes before.
pub(super) struct Untold(pub(super) Option<Beginning>);

impl Drop for Untold {
    fn drop(&mut self) {
        if let Some(Beginning { http, id }) = self.0.take()
            && let Some(session) = http.sessions.take(&id)
        {
            session.close_soon();
        }
    }
}

/// What the answers to one request go to. Nobody holding it any more, its stream is over.
pub(super) struct Reply {
    pub(super) stream: Arc<Stream>,
    pub(super) busy: Option<Busy>,
    pub(super) beginning: Option<Beginning>,
}

#[async_trait]
impl MessageSink for Reply {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        // Nobody finds it any more; but its streams end behind the answer.
        let failed = match (&self.beginning, message.kind()) {
            (Some(Beginning { http, id }), Kind::Error) => http.sessions.take(id),
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
