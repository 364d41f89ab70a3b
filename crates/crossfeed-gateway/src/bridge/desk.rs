//! The requests that an era has sent to the server, and the actions that it wants done.

use super::{
    cancelled,
    driver::{Action, Actions, ConnectionId, Outgoing},
    members,
};
use crate::{
    message::{Header, Id, Message, RpcError},
    protocol::code,
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use std::{collections::HashMap, mem};

/// The desk of an era. `S` is the era's purpose of a request to the server.
pub(super) struct Desk<S> {
    numbers: u64,
    /// The requests without an answer, by number.
    pub(super) sent: HashMap<u64, (ConnectionId, S)>,
    actions: Actions,
}

impl<S> Default for Desk<S> {
    fn default() -> Self {
        Self {
            numbers: 0,
            sent: HashMap::new(),
            actions: Actions::default(),
        }
    }
}

impl<S> Desk<S> {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Takes the actions, in their order.
    pub(super) fn take_actions(&mut self) -> Actions {
        mem::take(&mut self.actions)
    }

    /// Takes the request that was sent on this connection under this number.
    pub(super) fn take_sent(&mut self, link: ConnectionId, number: u64) -> Option<S> {
        self.sent.get(&number).filter(|(at, _)| *at == link)?;
        self.sent.remove(&number).map(|(_, sent)| sent)
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Sends a message to the client.
    pub(super) fn tell(&mut self, message: Message, related: Option<Id>) {
        self.act(Action::Tell(Event::Message { message, related }));
    }

    /// Answers a request of the client.
    pub(super) fn answer(&mut self, id: &Id, result: &Bytes) {
        self.tell(Message::response(id, result), None);
    }

    /// Answers a request of the client with an error.
    pub(super) fn refuse(&mut self, id: &Id, error: &RpcError) {
        self.tell(Message::failure(Some(id), error), None);
    }

    /// Refuses a request of the client for its parameters.
    pub(super) fn invalid(&mut self, id: &Id, reason: &str) {
        self.refuse(id, &RpcError::new(code::INVALID_PARAMS, reason));
    }

    /// Refuses a request of the client that cannot be done.
    pub(super) fn impossible(&mut self, id: &Id, reason: &str) {
        self.refuse(id, &RpcError::new(code::INTERNAL, reason));
    }

    /// Refuses a request of the client whose id is in use.
    pub(super) fn running(&mut self, id: &Id) {
        let reason = "a request of this id is running";
        self.refuse(id, &RpcError::new(code::INVALID_REQUEST, reason));
    }

    /// Fails a request of the client.
    pub(super) fn failed(&mut self, id: Id, error: UpstreamError) {
        self.act(Action::Tell(Event::Failed { id, error }));
    }

    /// Sends a message to the server.
    pub(super) fn send(&mut self, link: ConnectionId, message: Message) {
        self.act(Action::Put(link, Outgoing::Message(message, Vec::new())));
    }

    /// Sends a request to the server, under a number of its own.
    pub(super) fn pass(
        &mut self,
        link: ConnectionId,
        request: Message,
        headers: Vec<Header>,
        sent: S,
    ) -> u64 {
        let number = self.number();
        self.sent.insert(number, (link, sent));
        let request = request.with_id(Id::number(number));
        self.act(Action::Put(link, Outgoing::Message(request, headers)));
        number
    }

    /// Sends a request of the bridge's own to the server.
    pub(super) fn ask(&mut self, link: ConnectionId, method: &str, params: &Bytes, sent: S) -> u64 {
        let request = Message::request(&Id::number(0), method, Some(params));
        self.pass(link, request, Vec::new(), sent)
    }

    /// Cancels a request at the server; `notification` is the client's.
    pub(super) fn cancel(
        &mut self,
        link: ConnectionId,
        number: u64,
        notification: Option<&Message>,
    ) {
        self.sent.remove(&number);
        let id = Id::number(number);
        let message = notification.and_then(|message| {
            let params = members::with(message.params().as_ref(), &[("requestId", id.raw())], &[])?;
            Some(message.clone().with_body(params))
        });
        // Each transport cancels by one of these, and ignores the other.
        self.send(link, message.unwrap_or_else(|| cancelled(&id)));
        self.act(Action::Put(link, Outgoing::Abandon(id)));
    }
}

pub(super) fn unknown_method(method: &str) -> RpcError {
    let reason = format!("Method not found: {method}");
    RpcError::new(code::METHOD_NOT_FOUND, reason)
}
