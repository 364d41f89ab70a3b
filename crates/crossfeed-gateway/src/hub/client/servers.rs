//! Notifications and requests of servers to a client: each goes to the stream of the client's request that it belongs to,
//! under an id that the client has not seen.

use super::{Client, PROGRESS_TOKEN, ServerRequest, is_too_long, kept_id};
use crate::{
    apart::read_apart,
    hub::{
        connection::ServerConnection,
        connection_set::{ConnectionSet, MAX_KEY_BYTES},
    },
    members,
    message::{Id, Message, RpcError, Token},
    port::MessageSink,
    protocol::{LIST_CHANGES, code, method},
};
use bytes::Bytes;
use std::sync::Arc;

/// Unanswered requests of servers to a client: each server has the same share of them.
const MAX_PENDING: usize = 1024;

/// The least share of a server.
const MIN_PENDING_PER_SERVER: usize = 16;

impl Client {
    /// A server sends a request to the client.
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
        let id = kept_id(id);
        let refuse = |code, text: &str| Message::failure(Some(&id), &RpcError::new(code, text));
        if link.stateless {
            let answer = refuse(code::METHOD_NOT_FOUND, "a client without a session");
            return link.reply(answer, connection).await;
        }
        // Several servers may use the same progress token: the client gets the number of the request instead.
        let is_one_of_several = self.side_of(link).is_some_and(|side| side.only().is_none());
        let params = message.params().filter(|_| is_one_of_several);
        let token = match &params {
            Some(params) => {
                read_apart(params, |params| members::get_copy(params, &PROGRESS_TOKEN)).await
            }
            None => None,
        };
        let token = token.filter(|token| token.len() <= MAX_KEY_BYTES);
        let params = params.filter(|_| token.is_some());
        let number = {
            let servers = self.gateway.config().servers.len().max(1);
            let share = (MAX_PENDING / servers).max(MIN_PENDING_PER_SERVER);
            let mut state = self.state.lock();
            let of_server = |asked: &&ServerRequest| asked.link.server == link.server;
            if state.asked.values().filter(of_server).count() >= share {
                None
            } else {
                state.asks += 1;
                let number = state.asks;
                let asked = ServerRequest {
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
        let number_id = Id::number(number);
        let mut message = message.with_id(number_id.clone());
        if let Some(params) = params {
            let with_number =
                move |params: &Bytes| members::replaced(params, &PROGRESS_TOKEN, number_id.raw());
            message = message.with_body(read_apart(&params, with_number).await);
        }
        if self.send_for(link, related, false, message).await {
            return;
        }
        self.state.lock().asked.remove(&number);
        let refused = refuse(code::INTERNAL, "the client is gone");
        link.reply(refused, connection).await;
    }

    /// A server sends a notification to the client.
    pub(in crate::hub) async fn told(
        self: &Arc<Self>,
        link: &Arc<ServerConnection>,
        mut message: Message,
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
        if link.stateless
            && message.method() != Some(method::PROGRESS)
            && let Some(side) = self.side_of(link)
        {
            if message.method() == Some(method::TOOLS_CHANGED) {
                side.tools_changed(link.server);
            }
            match side
                .told_for_subscription(self, link, message, related)
                .await
            {
                Some(other) => message = other,
                None => return,
            }
        }
        match message.method().unwrap_or_default() {
            method::CANCELLED => {
                if let Some(message) = self.withdrawn(link, &message) {
                    self.send_for(link, related, false, message).await;
                }
            }
            method::PROGRESS => self.progress(link, message, related).await,
            method @ (method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED) => {
                if let Some(side) = self.side_of(link) {
                    side.changed(link.server, method);
                }
                let _ = self.outlet.send(message).await;
            }
            _ => drop(self.send_for(link, related, true, message).await),
        }
    }

    async fn progress(&self, link: &ServerConnection, message: Message, related: Option<&Id>) {
        let params = message.params().unwrap_or_default();
        match self.request_of(link, members::get(&params, &["progressToken"])) {
            Progress::Of(outlet, token) => {
                let message = if self.is_shared {
                    message.with_body(members::replaced(&params, &["progressToken"], &token))
                } else {
                    message
                };
                let _ = outlet.send(message).await;
            }
            // It may be of a task, which goes on after the answer.
            Progress::Unknown if !self.is_shared => {
                self.send_for(link, related, true, message).await;
            }
            Progress::Unknown | Progress::OfAnother => {}
        }
    }

    /// A server cancels its request: the notification with the id that the client knows.
    fn withdrawn(&self, link: &Arc<ServerConnection>, message: &Message) -> Option<Message> {
        let params = message.params()?;
        let id = members::get(&params, &["requestId"])?;
        let is_it = |_: &u64, asked: &mut ServerRequest| {
            Arc::ptr_eq(&asked.link, link) && *asked.id.raw() == id
        };
        let (number, _) = self.state.lock().asked.extract_if(is_it).next()?;
        let params = members::replaced(&params, &["requestId"], Id::number(number).raw());
        Some(message.clone().with_body(params))
    }

    /// The request of a progress token.
    fn request_of(&self, link: &ServerConnection, token: Option<Bytes>) -> Progress {
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
        if state.ended.contains(&state.fingerprints.get(token.text())) {
            found = Progress::OfAnother;
        }
        found
    }

    /// Sends a message of a server to the stream of the client's request that it belongs to; if that is unknown, to the
    /// only one that runs there (or without `alone`, for what must not get lost, the last); else to where messages go that
    /// belong to no request. Whether the client takes it.
    async fn send_for(
        &self,
        link: &ServerConnection,
        related: Option<&Id>,
        alone: bool,
        message: Message,
    ) -> bool {
        let serial = match related {
            Some(id) => link.serial_of(id),
            None => link.running(alone),
        };
        match serial {
            Some(serial) => self.send_within(serial, message).await,
            None => self.outlet.send(message).await.is_ok(),
        }
    }

    /// Tells the client that a list has changed.
    pub(in crate::hub) async fn tell_changed(
        self: &Arc<Self>,
        side: &ConnectionSet,
        method: &'static str,
    ) {
        if side.revision.is_stateless() {
            return side.tell_listeners(self, method).await;
        }
        // A client that is gone need not know.
        let _ = self.outlet.send(Message::notification(method, None)).await;
    }

    /// A server has ended: cancels its requests to the client.
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

    /// A server is gone, and could not be reached again: its lists are empty.
    pub(in crate::hub) async fn gone(self: &Arc<Self>, link: &Arc<ServerConnection>) {
        let Some(side) = self.side_of(link) else {
            return;
        };
        // Listing the only server fails, which does not change its list.
        let is_beginning = !link.stateless && self.state.lock().session.is_none();
        if is_beginning || side.only().is_some() || !link.make_gone() {
            return;
        }
        for (capability, method, _) in LIST_CHANGES {
            if !side.has_listed(link.server, capability) {
                continue;
            }
            if link.stateless || side.announced(capability) {
                self.tell_changed(&side, method).await;
            }
        }
    }

    /// A server is back, or there for the first time: its lists may be new.
    pub(in crate::hub) async fn back(self: &Arc<Self>, link: &Arc<ServerConnection>) {
        let Some(side) = self.side_of(link) else {
            return;
        };
        // Before the session has begun, the answer to `initialize` will describe the server.
        let is_beginning = !link.stateless && self.state.lock().session.is_none();
        if is_beginning || !link.make_known() {
            return;
        }
        if link.stateless {
            for (_, method, _) in LIST_CHANGES {
                side.changed(link.server, method);
            }
            // Only subscriptions hear of changed lists.
            return side.listen_again(self, link).await;
        }
        side.tools_changed(link.server);
        for (capability, method, _) in LIST_CHANGES {
            if link.is_capable(capability) {
                side.changed(link.server, method);
                self.tell_changed(&side, method).await;
            }
        }
    }
}

/// The request that progress belongs to.
enum Progress {
    /// One on which the server works: its stream, and the token as its client knows it.
    Of(Arc<dyn MessageSink>, Bytes),
    /// One on which the server does not work, or no longer.
    OfAnother,
    Unknown,
}
