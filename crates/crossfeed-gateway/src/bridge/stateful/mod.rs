//! A session that a server without sessions does not know of.
//!
//! What comes in: messages of a client that has a session, and events of a server that has none. What
//! goes out: for the server, requests that say by themselves who asks; for the client, answers and
//! requests as of a server that knows it. Deliberately not here: moving bytes.
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
    answer, cancelled,
    driver::{Action, Actions, ConnectionId, Era, FIRST},
    members, refuse, tell,
};
use crate::{
    Revision,
    message::{Header, Id, Kind, Message, RpcError},
    protocol::{code, meta, method},
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// What is remembered between a client with a session and a server without.
#[derive(Default)]
pub(super) struct Session {
    numbers: u64,
    client: hello::Client,
    server: Option<hello::Server>,
    /// Requests of the client that run.
    calls: HashMap<u64, Call>,
    by_client: HashMap<Id, u64>,
    /// What was sent to the server and is not answered.
    sent: HashMap<u64, Sent>,
    /// Requests to the client: the call that they are for.
    asks: HashMap<u64, u64>,
    listening: listen::Listening,
}

/// What an answer of the server is an answer to.
enum Sent {
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
    at: At,
    rounds: u32,
    pauses: u32,
    /// By what the task it became has asked for something before.
    task_asked: HashSet<Bytes>,
}

/// Whom a call waits for.
enum At {
    Server(u64),
    Client(input::Round),
    Pause(Option<Bytes>),
    Task(task::Task),
}

impl Era for Session {
    fn receive(&mut self, message: Message, headers: &[Header], actions: &mut Actions) {
        match message.kind() {
            Kind::Request => self.requested(message, headers, actions),
            Kind::Notification => self.notified_by_client(message, actions),
            Kind::Response | Kind::Error => self.input_came(&message, actions),
        }
    }

    fn abandon(&mut self, id: &Id, actions: &mut Actions) {
        self.cancel(id, &cancelled(id), actions);
    }

    fn on_event(&mut self, _: ConnectionId, event: Event, actions: &mut Actions) {
        match event {
            Event::Message { message, related } => match message.kind() {
                Kind::Response | Kind::Error => self.answered(message, actions),
                Kind::Notification => {
                    let related = related.and_then(|id| self.client_id(&id));
                    self.notified_by_server(message, related, actions);
                }
                Kind::Request => Self::asked(&message, actions),
            },
            Event::Failed { id, error } => self.failed(&id, error, actions),
            // The driver says that it failed.
            Event::Returned { .. } => {}
            Event::Closed(error) => actions.push(Action::Tell(Event::Closed(error))),
        }
    }

    fn on_timer(&mut self, timer: u64, actions: &mut Actions) {
        if timer == listen::TIMER {
            self.listen(actions);
        } else {
            self.pause_over(timer, actions);
            self.ask_about_task(timer, actions);
        }
    }

    /// Servers wait, when they are to end, for what they still answer.
    fn on_close(&mut self, actions: &mut Actions) {
        self.listen_no_more(actions);
    }
}

impl Session {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The client's id of what has this id at the server.
    fn client_id(&self, id: &Id) -> Option<Id> {
        match self.sent.get(&id.as_number()?)? {
            Sent::Call(call) | Sent::Task(call) => Some(self.calls.get(call)?.client.clone()),
            Sent::Discover { .. } | Sent::Listen => None,
        }
    }

    fn requested(&mut self, message: Message, headers: &[Header], actions: &mut Actions) {
        let Some(id) = message.id().cloned() else {
            return;
        };
        match message.method().unwrap_or_default() {
            method::INITIALIZE => self.initialize(id, message.params(), actions),
            method::PING => actions.push(answer(&id, &Bytes::from_static(b"{}"))),
            method::SET_LEVEL => self.set_level(&id, message.params(), actions),
            method::SUBSCRIBE => self.subscribe(id, message.params(), actions),
            method::UNSUBSCRIBE => self.unsubscribe(&id, message.params(), actions),
            // The tasks of this era were not offered to the client, and those of the other differ.
            name @ (method::DISCOVER | method::LISTEN) => actions.push(no_such_method(&id, name)),
            name if name.starts_with("tasks/") => actions.push(no_such_method(&id, name)),
            _ => self.forward(id, message, headers, actions),
        }
    }

    fn forward(&mut self, id: Id, message: Message, headers: &[Header], actions: &mut Actions) {
        if self.by_client.contains_key(&id) {
            let error = RpcError::new(code::INVALID_REQUEST, "a request of this id is running");
            actions.push(refuse(&id, &error));
            return;
        }
        let params = message.params();
        let Some(mut params) = self.with_meta(params.as_ref(), true) else {
            actions.push(invalid(&id, "the parameters are no object"));
            return;
        };
        if message.method() == Some(method::CALL_TOOL)
            && self.server.as_ref().is_some_and(|server| server.has_tasks)
            && let Some(with_tasks) = self.with_tasks(&params)
        {
            params = with_tasks;
        }
        let call = self.number();
        self.by_client.insert(id.clone(), call);
        let running = Call {
            client: id,
            request: message.with_body(params),
            headers: headers.to_vec(),
            at: At::Pause(None),
            rounds: 0,
            pauses: 0,
            task_asked: HashSet::new(),
        };
        let request = running.request.clone();
        self.calls.insert(call, running);
        self.send(call, request, actions);
    }

    /// Sends a call, for the first time or again.
    fn send(&mut self, call: u64, request: Message, actions: &mut Actions) {
        let number = self.number();
        if let Some(running) = self.calls.get_mut(&call) {
            running.at = At::Server(number);
            let headers = running.headers.clone();
            self.sent.insert(number, Sent::Call(call));
            actions.push(Action::Send(
                FIRST,
                request.with_id(Id::number(number)),
                headers,
            ));
        }
    }

    fn notified_by_client(&mut self, message: Message, actions: &mut Actions) {
        match message.method().unwrap_or_default() {
            method::CANCELLED => {
                let params = message.params().unwrap_or_default();
                if let Some(id) = members::get_id(&params, &["requestId"]) {
                    self.cancel(&id, &message, actions);
                }
            }
            method::INITIALIZED => self.listen(actions),
            // A server without sessions knows neither.
            method::ROOTS_CHANGED | method::PROGRESS => {}
            _ => actions.push(Action::Send(FIRST, message, Vec::new())),
        }
    }

    /// Forgets a call; `notification` is what the client said.
    fn cancel(&mut self, id: &Id, notification: &Message, actions: &mut Actions) {
        self.listening.forget(id);
        let Some(call) = self.by_client.remove(id) else {
            return;
        };
        let Some(call) = self.calls.remove(&call) else {
            return;
        };
        match call.at {
            At::Server(number) => {
                self.sent.remove(&number);
                let id = Id::number(number);
                let params = notification.params();
                let params = members::with(params.as_ref(), &[("requestId", id.raw())], &[]);
                let message = match params {
                    Some(params) => notification.clone().with_body(params),
                    None => cancelled(&id),
                };
                // One of these is how the transport cancels; to the other it does nothing.
                actions.push(Action::Send(FIRST, message, Vec::new()));
                actions.push(Action::Abandon(FIRST, id));
            }
            At::Client(round) => self.take_back(round, actions),
            At::Pause(_) => {}
            At::Task(task) => {
                if let Some(number) = task.asked {
                    self.sent.remove(&number);
                }
                self.cancel_task(task.id(), actions);
            }
        }
    }

    fn answered(&mut self, message: Message, actions: &mut Actions) {
        let number = message.id().and_then(Id::as_number);
        let Some((number, sent)) = number.and_then(|number| self.sent.remove_entry(&number)) else {
            // Late: nobody waits for it.
            return;
        };
        match sent {
            Sent::Discover { client, wanted } => {
                self.discovered(&client, wanted, &message, actions)
            }
            Sent::Listen => self.listen_ended(number, message.error(), actions),
            Sent::Task(call) => self.task_told(call, message, actions),
            Sent::Call(call) => match message.result() {
                Some(result) => self.call_answered(call, message, &result, actions),
                None => self.call_refused(call, message, actions),
            },
        }
    }

    fn call_refused(&mut self, call: u64, message: Message, actions: &mut Actions) {
        let error = message.error().unwrap_or_default();
        if let Some(call) = self.finish(call) {
            let error = error_of_sessions(call.request.method(), &error);
            let message = message.with_id(call.client).with_body(error);
            actions.push(tell(message, None));
        }
    }

    fn call_answered(
        &mut self,
        call: u64,
        message: Message,
        result: &Bytes,
        actions: &mut Actions,
    ) {
        match members::get_text(result, &["resultType"]).as_deref() {
            Some("input_required") => self.input_required(call, result, actions),
            Some("task") => self.task_made(call, result, actions),
            kind => {
                if let Some(call) = self.finish(call) {
                    let message = message.with_id(call.client);
                    let message = match kind {
                        Some("complete") => {
                            message.with_body(members::without(result, &["resultType"], &[]))
                        }
                        _ => message,
                    };
                    actions.push(tell(message, None));
                }
            }
        }
    }

    /// Takes a call out: it is answered.
    fn finish(&mut self, call: u64) -> Option<Call> {
        let call = self.calls.remove(&call)?;
        self.by_client.remove(&call.client);
        Some(call)
    }

    fn fail(&mut self, call: u64, error: &RpcError, actions: &mut Actions) {
        if let Some(call) = self.finish(call) {
            actions.push(refuse(&call.client, error));
            if let At::Client(round) = call.at {
                self.take_back(round, actions);
            }
        }
    }

    fn failed(&mut self, id: &Id, error: UpstreamError, actions: &mut Actions) {
        let number = id.as_number();
        let mut has_run = false;
        let client = match number.and_then(|number| self.sent.remove(&number)) {
            Some(Sent::Discover { client, .. }) => Some(client),
            Some(Sent::Task(call)) => {
                has_run = true;
                self.finish(call).map(|call| call.client)
            }
            Some(Sent::Call(call)) => self.finish(call).map(|call| {
                has_run = call.rounds > 0;
                call.client
            }),
            Some(Sent::Listen) => {
                self.listen_ended(number.unwrap_or_default(), None, actions);
                None
            }
            None => None,
        };
        if let Some(id) = client {
            // The server has begun with the call, whatever became of what was sent for it last.
            let error = if has_run { error.after_taking() } else { error };
            actions.push(Action::Tell(Event::Failed { id, error }));
        }
    }

    fn notified_by_server(&mut self, message: Message, related: Option<Id>, actions: &mut Actions) {
        match message.method().unwrap_or_default() {
            method::ACKNOWLEDGED => self.acknowledged(&message, actions),
            // All that a server may cancel is a subscription.
            method::CANCELLED => {
                let params = message.params().unwrap_or_default();
                let id = members::get_id(&params, &["requestId"]);
                if let Some(number) = id.and_then(|id| id.as_number())
                    && matches!(self.sent.get(&number), Some(Sent::Listen))
                {
                    self.sent.remove(&number);
                    self.listen_ended(number, None, actions);
                }
            }
            _ => {
                let params = message.params();
                let message = match params {
                    Some(params) => {
                        message.with_body(members::without(&params, &[], &[meta::SUBSCRIPTION_ID]))
                    }
                    None => message,
                };
                actions.push(tell(message, related));
            }
        }
    }

    /// The server asks, which it may not.
    fn asked(message: &Message, actions: &mut Actions) {
        if let (Some(id), Some(method)) = (message.id(), message.method()) {
            let reply = match method {
                method::PING => Message::response(id, &Bytes::from_static(b"{}")),
                _ => Message::failure(Some(id), &unknown_method(method)),
            };
            actions.push(Action::Send(FIRST, reply, Vec::new()));
        }
    }
}

fn unknown_method(method: &str) -> RpcError {
    RpcError::new(
        code::METHOD_NOT_FOUND,
        format!("Method not found: {method}"),
    )
}

fn no_such_method(id: &Id, method: &str) -> Action {
    refuse(id, &unknown_method(method))
}

fn invalid(id: &Id, reason: &str) -> Action {
    refuse(id, &RpcError::new(code::INVALID_PARAMS, reason))
}

/// An error as the era with sessions numbers it: that there is no such resource has a code of its own.
fn error_of_sessions(method: Option<&str>, error: &Bytes) -> Bytes {
    let is = |path: &[&str]| members::get(error, path);
    let invalid =
        is(&["code"]).is_some_and(|raw| *raw == *code::INVALID_PARAMS.to_string().as_bytes());
    if method == Some(method::READ_RESOURCE) && invalid && is(&["data", "uri"]).is_some() {
        let code = code::RESOURCE_NOT_FOUND.to_string();
        if let Some(error) = members::with(Some(error), &[("code", code.as_bytes())], &[]) {
            return error;
        }
    }
    error.clone()
}
