//! Removes what the configuration withholds from a server's messages as they arrive.
//!
//! # What holds
//!
//! - Nothing behind this point has seen what is withheld: it is not recorded, shown or logged, and no
//!   reference can pass it on to a tool that would give it back.
//! - A message that cannot be judged does not pass, and what waits for an answer gets one.
//! - Messages keep their order, and a server without rules is connected to directly.

mod message;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use message::is_refusal;
pub(crate) use rules::WITHHELD_MARK;

use crate::{
    Revision,
    apart::{LARGE, apart},
    budget::{Account, Charge, Purpose},
    message::{Header, Id, Kind, Message},
    upstream::{self, Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use crossfeed_json::indexing_bytes;
use crossfeed_projection::RevealRules;
use message::{Reply, Verdict};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

/// How long a server that does not read may keep its own messages waiting for an answer to it.
const LINGER: Duration = Duration::from_secs(1);

/// The same server without what its rules withhold; itself where they withhold nothing.
pub(crate) fn without_withheld(
    server: Arc<dyn Connector>,
    rules: &Arc<RevealRules>,
) -> Arc<dyn Connector> {
    if rules.never_is_empty() {
        return server;
    }
    Arc::new(Withholding {
        server,
        rules: Arc::clone(rules),
        account: None,
    })
}

/// A server whose messages are judged by rules.
struct Withholding {
    server: Arc<dyn Connector>,
    rules: Arc<RevealRules>,
    /// Whom its messages are charged to.
    account: Option<Arc<Account>>,
}

#[async_trait]
impl Connector for Withholding {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        // What waits for the client waits in `events`, not here.
        let (sender, received) = mpsc::channel(1);
        let asked = Arc::new(ExpectedReplies::default());
        let (connected, connection) = watch::channel(None);
        let judge = Judge {
            rules: Arc::clone(&self.rules),
            account: self.account.clone(),
            asked: Arc::clone(&asked),
            connection,
        };
        tokio::spawn(judge.pass(received, events));
        let server = self.server.connect(sender).await?;
        connected.send_replace(Some(Arc::downgrade(&server)));
        Ok(Arc::new(Connection { server, asked }))
    }

    fn charged_to(&self, account: &Arc<Account>) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(Self {
            server: self.server.charged_to(account)?,
            rules: Arc::clone(&self.rules),
            account: Some(Arc::clone(account)),
        }))
    }
}

/// What the answers to requests are, by the ids of the requests that run. An answer to any other id is
/// judged as a tool result, which is the strictest.
#[derive(Default)]
struct ExpectedReplies(Mutex<HashMap<Id, Reply>>);

impl ExpectedReplies {
    /// Notes a request before it is sent.
    fn note(&self, message: &Message) {
        let (Some(id), Some(method)) = (message.id(), message.method()) else {
            return;
        };
        let reply = Reply::to(method);
        if message.kind() == Kind::Request && reply != Reply::ToolResult {
            // In memory of its own: it must not keep the whole message.
            let raw = bytes::Bytes::copy_from_slice(id.raw());
            self.0.lock().extend(Id::parse(raw).map(|id| (id, reply)));
        }
    }

    fn take(&self, id: &Id) -> Reply {
        self.0.lock().remove(id).unwrap_or(Reply::ToolResult)
    }
}

/// What judges the messages of one connection.
struct Judge {
    rules: Arc<RevealRules>,
    account: Option<Arc<Account>>,
    asked: Arc<ExpectedReplies>,
    /// The connection, once it is there.
    connection: watch::Receiver<Option<Weak<dyn Upstream>>>,
}

impl Judge {
    /// Passes events on until one side is gone.
    async fn pass(mut self, mut received: mpsc::Receiver<Event>, events: mpsc::Sender<Event>) {
        loop {
            let event = tokio::select! {
                () = events.closed() => return,
                event = received.recv() => event,
            };
            let event = match event {
                None => return,
                Some(Event::Message { message, related }) => match self.judged(message).await {
                    Verdict::Passes(message) => Event::Message { message, related },
                    Verdict::Answered(answer) => {
                        drop(timeout(LINGER, self.answer(answer)).await);
                        continue;
                    }
                    Verdict::Dropped => continue,
                },
                Some(Event::Failed { id, error }) => {
                    self.asked.take(&id);
                    Event::Failed { id, error }
                }
                Some(Event::Returned { message, headers }) => {
                    if let Some(id) = message.id() {
                        self.asked.take(id);
                    }
                    Event::Returned { message, headers }
                }
                Some(closed @ Event::Closed(_)) => closed,
            };
            match upstream::place(&events, &event).await {
                Ok(place) => place.send(event),
                Err(_) => return,
            }
        }
    }

    async fn judged(&self, message: Message) -> Verdict {
        let (kind, id) = (message.kind(), message.id().cloned());
        let reply = match kind {
            Kind::Response | Kind::Error => id.as_ref().map(|id| self.asked.take(id)),
            Kind::Request | Kind::Notification => None,
        };
        let reply = reply.unwrap_or(Reply::ToolResult);
        if message.len() <= LARGE {
            return message::judged(message, reply, &self.rules, None);
        }
        let room = match &self.account {
            Some(account) => match to_judge(account, &message, reply).await {
                Ok(room) => Some(room),
                Err(why) => return message::unjudged(kind, reply, id.as_ref(), why),
            },
            None => None,
        };
        let rules = Arc::clone(&self.rules);
        let work = move || message::judged(message, reply, &rules, room);
        let judged = tokio::task::spawn_blocking(work).await;
        judged.unwrap_or_else(|_| message::unjudged(kind, reply, id.as_ref(), message::UNJUDGED))
    }

    /// Answers a request of the server.
    async fn answer(&mut self, answer: Message) {
        let server = match self.connection.wait_for(Option::is_some).await {
            Ok(connected) => connected.as_ref().and_then(Weak::upgrade),
            Err(_) => None,
        };
        if let Some(server) = server {
            drop(server.send(answer, &[]).await);
        }
    }
}

/// Room to judge a large message: for its index, and, where something may be taken out of it, for what is left of
/// it and is written on the way. Waits for it, but not for long; without it, gives the answer in place of the message.
async fn to_judge(
    account: &Arc<Account>,
    message: &Message,
    reply: Reply,
) -> Result<Charge, &'static str> {
    let length = message.len();
    let body = message.body().unwrap_or_default();
    let index = apart(length, move || indexing_bytes(&body)).await;
    let needed = match (message.kind(), reply) {
        (Kind::Response, Reply::Listing) => index,
        _ => index + 2 * length,
    };
    let mut room = account.nothing();
    if room.more_in_time(needed, Purpose::Answer).await {
        return Ok(room);
    }
    Err(if needed > account.share() {
        message::TOO_LARGE
    } else {
        message::NO_ROOM
    })
}

/// The connection to a server whose messages are judged.
struct Connection {
    server: Arc<dyn Upstream>,
    asked: Arc<ExpectedReplies>,
}

#[async_trait]
impl Upstream for Connection {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        self.asked.note(&message);
        let id = message.id().cloned();
        let sent = self.server.send(message, headers).await;
        if sent.is_err()
            && let Some(id) = &id
        {
            self.asked.take(id);
        }
        sent
    }

    fn speak(&self, revision: Revision) {
        self.server.speak(revision);
    }

    async fn abandon(&self, id: &Id) {
        self.asked.take(id);
        self.server.abandon(id).await;
    }

    async fn close(&self) {
        self.server.close().await;
    }
}
