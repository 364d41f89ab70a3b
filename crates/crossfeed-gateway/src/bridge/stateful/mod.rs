//! A session for a client of the era with sessions, at a server without them.
//!
//! - `initialize` is answered from `server/discover`, `ping` and `logging/setLevel` from here.
//! - An answer that wants input becomes requests to the client; their answers go with the request, sent
//!   again ([`input`]).
//! - A call that a server makes a task of is followed to its end ([`task`]).
//! - Subscriptions, and lists that change, are one request that stays open ([`listen`]).

mod hello;
mod input;
mod listen;
mod task;

#[cfg(test)]
mod tests;

use super::{
    desk::{Desk, unknown_method},
    driver::{Action, ConnectionId, Era, FIRST},
    members::{self, EMPTY},
};
use crate::{
    Revision,
    message::{Header, Id, Message, RpcError},
    protocol::{code, meta, method},
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// The state between a client with a session and a server without.
#[derive(Default)]
pub(super) struct Session {
    desk: Desk<Intent>,
    client: hello::Client,
    server: Option<hello::Server>,
    /// Requests of the client that run.
    calls: HashMap<u64, Call>,
    by_client: HashMap<Id, u64>,
    /// Requests to the client: the call that they are for.
    asks: HashMap<u64, u64>,
    listening: listen::Listening,
}

/// The intent of a request to the server.
pub(super) enum Intent {
    Discover { client: Id, wanted: Revision },
    Call(u64),
    Task(u64),
    Listen,
}

/// A request of the client that is passed on.
struct Call {
    client: Id,
    /// As it was sent first.
    request: Message,
    headers: Vec<Header>,
    state: CallState,
    rounds: u32,
    pauses: u32,
    /// The keys of the requests that its task has made before.
    task_asked: HashSet<Bytes>,
}

/// What a call waits for.
enum CallState {
    Server(u64),
    Client(input::Round),
    Pause(Option<Bytes>),
    Task(task::Task),
}

impl Era for Session {
    type Intent = Intent;

    fn desk(&mut self) -> &mut Desk<Intent> {
        &mut self.desk
    }

    fn requested(&mut self, id: Id, message: Message, headers: &[Header]) {
        match message.method().unwrap_or_default() {
            method::INITIALIZE => self.initialize(id, message.params()),
            method::PING => self.desk.answer(&id, &EMPTY),
            method::SET_LEVEL => self.set_level(&id, message.params()),
            method::SUBSCRIBE => self.subscribe(id, message.params()),
            method::UNSUBSCRIBE => self.unsubscribe(&id, message.params()),
            // The tasks of this era were not offered to the client; those of the other differ.
            name if matches!(name, method::DISCOVER | method::LISTEN)
                || name.starts_with("tasks/") =>
            {
                self.desk.refuse(&id, &unknown_method(name));
            }
            _ => self.forward(id, message, headers),
        }
    }

    fn notified(&mut self, message: Message) {
        match message.method().unwrap_or_default() {
            method::INITIALIZED => self.listen(),
            // A server without sessions knows neither.
            method::ROOTS_CHANGED | method::PROGRESS => {}
            _ => self.desk.send(FIRST, message),
        }
    }

    fn replied(&mut self, message: &Message) {
        self.input_came(message);
    }

    fn cancel(&mut self, id: &Id, notification: Option<&Message>) {
        self.listening.forget(id);
        let call = self.by_client.get(id).copied();
        let Some(call) = call.and_then(|call| self.finish(call)) else {
            return;
        };
        match call.state {
            CallState::Server(number) => self.desk.cancel(FIRST, number, notification),
            CallState::Client(round) => self.take_back(round),
            CallState::Pause(_) => {}
            CallState::Task(task) => {
                if let Some(number) = task.asked {
                    self.desk.sent.remove(&number);
                }
                self.cancel_task(&task.id);
            }
        }
    }

    fn answered(&mut self, _: ConnectionId, number: u64, sent: Option<Intent>, message: Message) {
        match (sent, message.result()) {
            // The answer is not needed, or no longer.
            (None, _) => {}
            (Some(Intent::Discover { client, wanted }), _) => {
                self.discovered(&client, wanted, message);
            }
            (Some(Intent::Listen), _) => self.listen_ended(number, message.error()),
            (Some(Intent::Task(call)), _) => self.task_told(call, message),
            (Some(Intent::Call(call)), Some(result)) => self.call_answered(call, message, &result),
            (Some(Intent::Call(call)), None) => {
                let error = message.error().unwrap_or_default();
                let method = self.calls.get(&call).and_then(|call| call.request.method());
                let error = error_of_sessions(method, error);
                self.end(call, |client| message.with_id(client).with_body(error));
            }
        }
    }

    /// The server sends a request, which it may not.
    fn asked(&mut self, link: ConnectionId, id: &Id, message: &Message, _: Option<&Id>) {
        let error = unknown_method(message.method().unwrap_or_default());
        self.desk.send(link, Message::failure(Some(id), &error));
    }

    fn noticed(&mut self, _: ConnectionId, message: Message, related: Option<&Id>) {
        match message.method().unwrap_or_default() {
            method::ACKNOWLEDGED => self.acknowledged(&message),
            // A server may only cancel a subscription.
            method::CANCELLED => {
                let number = members::cancelled_id(&message).and_then(|id| id.as_number());
                if let Some(number) = number
                    && let Some((_, Intent::Listen)) = self.desk.sent.get(&number)
                {
                    self.desk.sent.remove(&number);
                    self.listen_ended(number, None);
                }
            }
            _ => {
                let related = related.and_then(|id| self.client_id(id));
                let message = match message.params() {
                    Some(params) => {
                        message.with_body(members::without(&params, &[], &[meta::SUBSCRIPTION_ID]))
                    }
                    None => message,
                };
                self.desk.tell(message, related);
            }
        }
    }

    fn failed(&mut self, _: ConnectionId, number: u64, sent: Intent, error: UpstreamError) {
        let (call, is_task) = match sent {
            Intent::Discover { client, .. } => return self.desk.failed(client, error),
            Intent::Listen => return self.listen_ended(number, None),
            Intent::Call(call) => (call, false),
            Intent::Task(call) => (call, true),
        };
        if let Some(call) = self.finish(call) {
            // The server has begun the call, whatever became of the last request for it.
            let has_run = is_task || call.rounds > 0;
            let error = if has_run { error.after_taking() } else { error };
            self.desk.failed(call.client, error);
        }
    }

    fn closed(&mut self, _: ConnectionId, error: UpstreamError) {
        self.desk.act(Action::Tell(Event::Closed(error)));
    }

    fn on_timer(&mut self, timer: u64) {
        if timer == listen::TIMER {
            self.listen();
        } else {
            self.pause_over(timer);
            self.ask_about_task(timer);
        }
    }

    /// Servers that end wait for the requests that they still answer.
    fn on_close(&mut self) {
        self.listen_no_more();
    }
}

impl Session {
    /// The client's id of what has this id at the server.
    fn client_id(&self, id: &Id) -> Option<Id> {
        match self.desk.sent.get(&id.as_number()?)? {
            (_, Intent::Call(call) | Intent::Task(call)) => {
                Some(self.calls.get(call)?.client.clone())
            }
            _ => None,
        }
    }

    fn forward(&mut self, id: Id, message: Message, headers: &[Header]) {
        if self.by_client.contains_key(&id) {
            return self.desk.running(&id);
        }
        let params = message.params();
        let Some(mut params) = self.with_meta(params.as_ref(), true) else {
            return self.desk.invalid(&id, "the parameters are not an object");
        };
        if message.method() == Some(method::CALL_TOOL)
            && self.server.as_ref().is_some_and(|server| server.has_tasks)
            && let Some(with_tasks) = self.with_tasks(&params)
        {
            params = with_tasks;
        }
        let call = self.desk.number();
        self.by_client.insert(id.clone(), call);
        let request = message.with_body(params);
        let running = Call {
            client: id,
            request: request.clone(),
            headers: headers.to_vec(),
            state: CallState::Pause(None),
            rounds: 0,
            pauses: 0,
            task_asked: HashSet::new(),
        };
        self.calls.insert(call, running);
        self.send(call, request);
    }

    /// Sends a call, for the first time or again.
    fn send(&mut self, call: u64, request: Message) {
        if let Some(running) = self.calls.get_mut(&call) {
            let headers = running.headers.clone();
            let number = self.desk.pass(FIRST, request, headers, Intent::Call(call));
            running.state = CallState::Server(number);
        }
    }

    fn call_answered(&mut self, call: u64, message: Message, result: &Bytes) {
        match members::get_text(result, &["resultType"]).as_deref() {
            Some("input_required") => self.input_required(call, result),
            Some("task") => self.task_made(call, result),
            Some("complete") => {
                let result = members::without(result, &["resultType"], &[]);
                self.end(call, |client| message.with_id(client).with_body(result));
            }
            _ => self.end(call, |client| message.with_id(client)),
        }
    }

    /// Takes a call out: it is answered.
    fn finish(&mut self, call: u64) -> Option<Call> {
        let call = self.calls.remove(&call)?;
        self.by_client.remove(&call.client);
        Some(call)
    }

    /// Ends a call with an answer.
    fn end(&mut self, call: u64, answer: impl FnOnce(Id) -> Message) {
        if let Some(call) = self.finish(call) {
            self.desk.tell(answer(call.client), None);
            if let CallState::Client(round) = call.state {
                self.take_back(round);
            }
        }
    }

    /// The call cannot go on: the server did something wrong.
    fn fail(&mut self, call: u64, reason: &str) {
        let error = RpcError::new(code::INTERNAL, reason);
        self.end(call, |client| Message::failure(Some(&client), &error));
    }
}

/// An error with the code of the era with sessions: an unknown resource has a code of its own.
fn error_of_sessions(method: Option<&str>, error: Bytes) -> Bytes {
    let is_resource =
        method == Some(method::READ_RESOURCE) && members::get(&error, &["data", "uri"]).is_some();
    let (from, to) = (code::INVALID_PARAMS, code::RESOURCE_NOT_FOUND);
    let recoded = is_resource.then(|| members::recoded(&error, from, to));
    recoded.flatten().unwrap_or(error)
}
