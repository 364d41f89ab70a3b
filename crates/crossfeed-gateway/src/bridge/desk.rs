//! What an era keeps of its requests to the server, and what it wants done.

use super::{
    cancelled,
    driver::{Action, Actions, ConnectionId},
    members,
};
use crate::{
    message::{Header, Id, Message, RpcError},
    protocol::code,
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use std::{collections::HashMap, mem};

/// An object without members.
pub(super) static EMPTY: Bytes = Bytes::from_static(b"{}");

/// The desk of an era. `S` says what an answer of the server is an answer to.
#[derive(Default)]
pub(super) struct Desk<S> {
    numbers: u64,
    /// What was sent to the server and is not answered, by its number.
    pub(super) sent: HashMap<u64, (ConnectionId, S)>,
    actions: Actions,
}

impl<S> Desk<S> {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Takes what is to be done, in its order.
    pub(super) fn take_actions(&mut self) -> Actions {
        mem::take(&mut self.actions)
    }

    /// Takes off what was sent on this connection under this number.
    pub(super) fn take_sent(&mut self, link: ConnectionId, number: u64) -> Option<S> {
        self.sent.get(&number).filter(|(at, _)| *at == link)?;
        self.sent.remove(&number).map(|(_, sent)| sent)
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// A message for the client.
    pub(super) fn tell(&mut self, message: Message, related: Option<Id>) {
        self.act(Action::Tell(Event::Message { message, related }));
    }

    /// An answer to a request of the client.
    pub(super) fn answer(&mut self, id: &Id, result: &Bytes) {
        self.tell(Message::response(id, result), None);
    }

    /// An error as the answer to a request of the client.
    pub(super) fn refuse(&mut self, id: &Id, error: &RpcError) {
        self.tell(Message::failure(Some(id), error), None);
    }

    /// A request of the client that has wrong parameters.
    pub(super) fn invalid(&mut self, id: &Id, reason: &str) {
        self.refuse(id, &RpcError::new(code::INVALID_PARAMS, reason));
    }

    /// A request of the client that cannot be done.
    pub(super) fn impossible(&mut self, id: &Id, reason: &str) {
        self.refuse(id, &RpcError::new(code::INTERNAL, reason));
    }

    /// A request of the client under an id that another one has.
    pub(super) fn running(&mut self, id: &Id) {
        let reason = "a request of this id is running";
        self.refuse(id, &RpcError::new(code::INVALID_REQUEST, reason));
    }

    /// A request of the client failed.
    pub(super) fn failed(&mut self, id: Id, error: UpstreamError) {
        self.act(Action::Tell(Event::Failed { id, error }));
    }

    /// A message for the server.
    pub(super) fn send(&mut self, link: ConnectionId, message: Message) {
        self.act(Action::Send(link, message, Vec::new()));
    }

    /// A request for the server, under a number of its own.
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
        self.act(Action::Send(link, request, headers));
        number
    }

    /// A request of the bridge's own.
    pub(super) fn ask(&mut self, link: ConnectionId, method: &str, params: &Bytes, sent: S) -> u64 {
        let request = Message::request(&Id::number(0), method, Some(params));
        self.pass(link, request, Vec::new(), sent)
    }

    /// Nobody waits for this answer of the server; `notification` is what the client said.
    pub(super) fn cancel(
        &mut self,
        link: ConnectionId,
        number: u64,
        notification: Option<&Message>,
    ) {
        self.sent.remove(&number);
        let id = Id::number(number);
        let as_said = |said: &Message| {
            let params = members::with(said.params().as_ref(), &[("requestId", id.raw())], &[])?;
            Some(said.clone().with_body(params))
        };
        let message = notification.and_then(as_said);
        // One of these is how the transport cancels; to the other it does nothing.
        self.send(link, message.unwrap_or_else(|| cancelled(&id)));
        self.act(Action::Abandon(link, id));
    }
}

pub(super) fn unknown_method(method: &str) -> RpcError {
    let reason = format!("Method not found: {method}");
    RpcError::new(code::METHOD_NOT_FOUND, reason)
}
