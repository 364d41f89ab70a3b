//! What servers say to a client without being asked, or ask it.
//!
//! What comes in: messages of one server. What goes out: the same to the stream of the client that they
//! belong to, under ids that the client has not seen. Deliberately not here: answers.

use super::{Asked, Client, PROGRESS_TOKEN, is_too_long};
use crate::{
    apart::read_apart,
    hub::{connection::ServerConnection, connection_set::MAX_KEY_BYTES, read},
    message::{Id, Message, RpcError, Token},
    port::MessageSink,
    protocol::{LIST_CHANGES, code, method},
};
use bytes::Bytes;
use std::sync::Arc;

/// Requests of servers that a client may have unanswered: each server has the same share of them.
const MAX_PENDING: usize = 1024;

/// What each server has, however many there are.
const MIN_PENDING_PER_SERVER: usize = 16;

impl Client {
    /// A server asks the client.
    pub(in crate::hub) async fn asked(
        &self,
        link: &Arc<ServerConnection>,
        message: Message,
        related: Option<&Id>,
    ) {
        let Some(id) = message.id() else { return };
        let connection = link.connection();
        if id.raw().len() > MAX_KEY_BYTES {
            let error = RpcError::new(code::INVALID_REQUEST, "an id of more than 4,096 bytes");
            let refused = Message::failure(Some(id), &error);
            return link.reply(refused, connection).await;
        }
        let id = read::kept_id(id);
        let refuse = |code, text: &str| Message::failure(Some(&id), &RpcError::new(code, text));
        if link.stateless {
            let answer = refuse(code::METHOD_NOT_FOUND, "a client without a session");
            return link.reply(answer, connection).await;
        }
        // Several servers may say the same token: the client knows it by another.
        let is_one_of_several = self.side_of(link).is_some_and(|side| side.only().is_none());
        let params = message.params().filter(|_| is_one_of_several);
        let token = match params.clone() {
            Some(params) => read_apart(&params, |params| read::kept(params, &PROGRESS_TOKEN)).await,
            None => None,
        };
        let token = token.filter(|token| token.len() <= MAX_KEY_BYTES);
        let has_token = token.is_some();
        let outlets = self.outlets(link, related, false);
        let number = {
            let servers = self.gateway.config().servers.len().max(1);
            let share = (MAX_PENDING / servers).max(MIN_PENDING_PER_SERVER);
            let mut state = self.state.lock();
            let of_server = |asked: &&Asked| asked.link.server == link.server;
            if state.asked.values().filter(of_server).count() >= share {
                None
            } else {
                state.asks += 1;
                let number = state.asks;
                let asked = Asked {
                    link: Arc::clone(link),
                    connection,
                    id: id.clone(),
                    token,
                };
                state.asked.insert(number, asked);
                Some(number)
            }
        };
        let Some(number) = number else {
            let refused = refuse(code::INTERNAL, "too many requests to the client");
            return link.reply(refused, connection).await;
        };
        let message = match params.filter(|_| has_token) {
            Some(params) => {
                let own = Id::number(number);
                let with_own =
                    move |params: &Bytes| read::replaced(params, &PROGRESS_TOKEN, own.raw());
                message.with_body(read_apart(&params, with_own).await)
            }
            None => message,
        };
        let message = message.with_id(Id::number(number));
        if send_first(&outlets, &message).await {
            return;
        }
        self.state.lock().asked.remove(&number);
        let refused = refuse(code::INTERNAL, "the client is gone");
        link.reply(refused, connection).await;
    }

    /// A server tells the client.
    pub(in crate::hub) async fn told(
        self: &Arc<Self>,
        link: &Arc<ServerConnection>,
        message: Message,
        related: Option<&Id>,
    ) {
        if is_too_long(&message) {
            if link.is_first_dropped() {
                tracing::warn!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    "dropped a notification that is too long; further ones are dropped silently"
                );
            }
            return;
        }
        if !self.may_hear(link, &message).await {
            return;
        }
        let message = if link.stateless
            && message.method() != Some(method::PROGRESS)
            && let Some(side) = self.side_of(link)
        {
            if message.method() == Some(method::TOOLS_CHANGED) {
                side.tools_changed(link.server);
            }
            let told = side.told_for_subscription(self, link, message, related);
            match told.await {
                Some(message) => message,
                None => return,
            }
        } else {
            message
        };
        let method = message.method().unwrap_or_default();
        let outlets = match method {
            method::CANCELLED => {
                let Some((outlets, message)) = self.withdrawn(link, &message, related) else {
                    return;
                };
                send_first(&outlets, &message).await;
                return;
            }
            method::PROGRESS => {
                let params = message.params().unwrap_or_default();
                let token = read::raw(&params, &["progressToken"]);
                match self.of_token(link, token) {
                    Progress::Of(outlet, own) if self.is_shared => {
                        let params = read::replaced(&params, &["progressToken"], &own);
                        let message = message.with_body(params);
                        send_first(&[outlet], &message).await;
                        return;
                    }
                    Progress::Of(outlet, _) => vec![outlet],
                    // Of what goes on behind its answer: a task.
                    Progress::Unknown if !self.is_shared => self.outlets(link, related, true),
                    Progress::Unknown | Progress::OfAnother => return,
                }
            }
            method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED => {
                if let Some(side) = self.side_of(link) {
                    side.changed(link.server, method);
                }
                vec![Arc::clone(&self.outlet)]
            }
            _ => self.outlets(link, related, true),
        };
        send_first(&outlets, &message).await;
    }

    /// A server does not want an answer any longer: the same with the id that the client knows.
    fn withdrawn(
        &self,
        link: &Arc<ServerConnection>,
        message: &Message,
        related: Option<&Id>,
    ) -> Option<(Vec<Arc<dyn MessageSink>>, Message)> {
        let params = message.params()?;
        let id = read::raw(&params, &["requestId"])?;
        let number = {
            let is_it = |_: &u64, asked: &mut Asked| {
                Arc::ptr_eq(&asked.link, link) && *asked.id.raw() == id
            };
            let mut state = self.state.lock();
            state.asked.extract_if(is_it).next()?.0
        };
        let params = read::replaced(&params, &["requestId"], Id::number(number).raw());
        Some((
            self.outlets(link, related, false),
            message.clone().with_body(params),
        ))
    }

    /// Which request a progress token is of.
    fn of_token(&self, link: &ServerConnection, token: Option<Bytes>) -> Progress {
        let Some(token) = token.map(Token::new) else {
            return Progress::Unknown;
        };
        let state = self.state.lock();
        let mut found = Progress::Unknown;
        let own = std::str::from_utf8(token.raw())
            .ok()
            .and_then(|token| token.parse().ok())
            .filter(|_| self.is_shared);
        let one = own.and_then(|serial| Some((serial, state.running.get(&serial)?)));
        let all = state.running.iter().filter(|_| !self.is_shared);
        let all = all.filter(|(_, running)| running.token.as_ref() == Some(&token));
        for (serial, running) in one.into_iter().chain(all.map(|(serial, of)| (*serial, of))) {
            let Some(own) = &running.token else {
                continue;
            };
            if link.works_on(serial) {
                return Progress::Of(Arc::clone(&running.reply), own.raw().clone());
            }
            found = Progress::OfAnother;
        }
        if state.ended.contains(&state.fingerprints.of(token.text())) {
            found = Progress::OfAnother;
        }
        found
    }

    /// Where what a server says is to go, the best place first: the stream of the request that it
    /// belongs to; where that is not known, of the only one that runs there (or the last, for what
    /// must not get lost); else where everything goes that belongs to no request.
    pub(super) fn outlets(
        &self,
        link: &ServerConnection,
        related: Option<&Id>,
        alone: bool,
    ) -> Vec<Arc<dyn MessageSink>> {
        let serial = match related {
            Some(id) => link.serial_of(id),
            None => link.running(alone),
        };
        let state = self.state.lock();
        let reply = serial
            .and_then(|serial| state.running.get(&serial))
            .map(|running| Arc::clone(&running.reply));
        reply
            .into_iter()
            .chain([Arc::clone(&self.outlet)])
            .collect()
    }

    /// A server ended: what it asked is not to be answered any longer.
    pub(in crate::hub) async fn lost(&self, link: &Arc<ServerConnection>) {
        let numbers: Vec<u64> = {
            let mut state = self.state.lock();
            let asked = state
                .asked
                .extract_if(|_, asked| Arc::ptr_eq(&asked.link, link));
            asked.map(|(number, _)| number).collect()
        };
        for number in numbers {
            let params = format!(r#"{{"requestId":{number},"reason":"the server has ended"}}"#);
            let cancelled = Message::notification(method::CANCELLED, Some(&params.into()));
            let _ = self.outlet.send(cancelled).await;
        }
    }

    /// A server is gone, and could not be reached again: what it had is listed no longer.
    pub(in crate::hub) async fn gone(self: &Arc<Self>, link: &Arc<ServerConnection>) {
        let Some(side) = self.side_of(link) else {
            return;
        };
        // A list of the only server fails: that is no other list.
        let is_beginning = !link.stateless && self.state.lock().session.is_none();
        if is_beginning || side.only().is_some() || !link.make_gone() {
            return;
        }
        for (capability, method, _) in LIST_CHANGES {
            if !side.has_listed(link.server, capability) {
                continue;
            }
            if link.stateless {
                side.tell_listeners(self, method).await;
            } else if side.announced(capability) {
                let _ = self.outlet.send(Message::notification(method, None)).await;
            }
        }
    }

    /// A server is back, or there at last: what it lists may be new.
    pub(in crate::hub) async fn back(self: &Arc<Self>, link: &Arc<ServerConnection>) {
        let Some(side) = self.side_of(link) else {
            return;
        };
        // Before the session is there, its answer will say what the server is.
        let is_beginning = !link.stateless && self.state.lock().session.is_none();
        if is_beginning || !link.make_known() {
            return;
        }
        if link.stateless {
            for (_, method, _) in LIST_CHANGES {
                side.changed(link.server, method);
            }
            // Lists are announced to those only who asked for it.
            return side.listen_again(self, link).await;
        }
        side.tools_changed(link.server);
        for (capability, method, _) in LIST_CHANGES {
            if link.is_capable(capability) {
                side.changed(link.server, method);
                let _ = self.outlet.send(Message::notification(method, None)).await;
            }
        }
    }
}

/// Which request progress belongs to.
enum Progress {
    /// One on which the server works: its stream, and the token as its client knows it.
    Of(Arc<dyn MessageSink>, Bytes),
    /// One with which the server has nothing to do, or no longer.
    OfAnother,
    /// None that is known.
    Unknown,
}

/// Sends where it can be sent to first; says whether it could.
async fn send_first(outlets: &[Arc<dyn MessageSink>], message: &Message) -> bool {
    for outlet in outlets {
        if outlet.send(message.clone()).await.is_ok() {
            return true;
        }
    }
    false
}
