//! Sessions that a client without them does not know of.
//!
//! What comes in: requests that say by themselves who asks, and events of a server that wants to be told
//! once. What goes out: for the server, a session for each kind of client; for the client, answers as of
//! a server without sessions. Deliberately not here: moving bytes.
//!
//! - Requests of clients that say the same of themselves share a session ([`session`]), so that what a
//!   server remembers between two calls is there for the second.
//! - What a server asks its client for while a call runs becomes the call's answer; the call stays open
//!   behind, and goes on when the request comes again with what was asked for ([`input`]).
//! - A call that a server did not take, since it does not know the session any longer, is sent again in another
//!   session, once.
//! - `subscriptions/listen` is fed by what the server tells ([`listen`]).

mod apart;
mod call;
mod input;
mod listen;
mod notice;
mod session;

#[cfg(test)]
mod tests;

use super::{
    cancelled,
    driver::{Action, Actions, ConnectionId, Era, FIRST},
    members, refuse,
};
use crate::{
    Revision,
    message::{Header, Id, Kind, Message, RpcError},
    protocol::{code, meta, method},
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use call::Call;
use listen::Listen;
use session::Session;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

/// What is looked after from time to time, how often.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// The number by which that is woken: sessions after the first have theirs.
const TIMER: u64 = FIRST;

/// What is remembered between clients without sessions and a server that has them.
#[derive(Default)]
pub(super) struct Sessions {
    /// Whether several clients are behind the requests.
    is_shared: bool,
    /// Whether calls within which the server may ask run in sessions of their own, since nothing else would say
    /// which of several clients is asked.
    keeps_apart: bool,
    /// Whether the server ever asked for something after a call had begun.
    has_asked: bool,
    /// How long a session may take to begin.
    start_timeout: Duration,
    numbers: u64,
    sessions: BTreeMap<ConnectionId, Session>,
    /// Whether the first connection was given to a session.
    first_taken: bool,
    links: ConnectionId,
    calls: BTreeMap<u64, Call>,
    listens: BTreeMap<u64, Listen>,
    by_client: HashMap<Id, Running>,
    /// What was sent to the server and is not answered.
    sent: HashMap<u64, (ConnectionId, Sent)>,
    /// The calls that wait for their requests to come again.
    by_state: HashMap<String, u64>,
    sweeping: bool,
    /// Tools of which the server has said that it takes calls of them as tasks only.
    tasks_only: HashSet<String>,
}

/// What a request of a client became.
#[derive(Clone, Copy)]
enum Running {
    Call(u64),
    Listen(u64),
}

/// What an answer of the server is an answer to.
enum Sent {
    Initialize,
    Call(u64),
    Subscribe { listen: u64, uri: String },
    Unasked,
}

/// What a request says of who asks.
struct Asker {
    capabilities: Bytes,
    info: Option<Bytes>,
}

impl Era for Sessions {
    fn receive(&mut self, message: Message, headers: &[Header], actions: &mut Actions) {
        match message.kind() {
            Kind::Request => self.requested(message, headers, actions),
            Kind::Notification => self.notified_by_client(message, actions),
            // Nothing was asked for by request.
            Kind::Response | Kind::Error => {}
        }
    }

    fn abandon(&mut self, id: &Id, actions: &mut Actions) {
        match self.by_client.get(id) {
            Some(Running::Call(call)) => self.cancel(*call, None, actions),
            Some(Running::Listen(listen)) => self.stop_listening(*listen, actions),
            None => {}
        }
    }

    fn on_event(&mut self, link: ConnectionId, event: Event, actions: &mut Actions) {
        match event {
            Event::Message { message, related } => match message.kind() {
                Kind::Response | Kind::Error => self.answered(link, message, actions),
                Kind::Request => self.asked(link, &message, related.as_ref(), actions),
                Kind::Notification => self.noticed(link, message, related.as_ref(), actions),
            },
            Event::Failed { id, error } => self.failed(link, &id, &error, actions),
            // The driver says that it failed.
            Event::Returned { .. } => {}
            Event::Closed(error) => self.closed(link, &error, actions),
        }
    }

    fn on_timer(&mut self, timer: u64, actions: &mut Actions) {
        if timer != TIMER {
            return self.end_unless_begun(timer, actions);
        }
        self.sweeping = false;
        self.expire_calls(actions);
        self.expire_sessions(actions);
        if !self.by_state.is_empty() || self.sessions.len() > 1 {
            self.sweep_later(actions);
        }
    }
}

impl Sessions {
    pub(super) fn new(is_shared: bool, keeps_apart: bool, start_timeout: Duration) -> Self {
        Self {
            is_shared,
            keeps_apart,
            start_timeout,
            ..Self::default()
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn sweep_later(&mut self, actions: &mut Actions) {
        if !self.sweeping {
            self.sweeping = true;
            actions.push(Action::Wake(SWEEP_INTERVAL, TIMER));
        }
    }

    fn requested(&mut self, message: Message, headers: &[Header], actions: &mut Actions) {
        let Some(id) = message.id().cloned() else {
            return;
        };
        let params = message.params().unwrap_or_default();
        let name = message.method().unwrap_or_default();
        if is_of_sessions(name) {
            let error = format!("Method not found: {name}");
            actions.push(refuse(&id, &RpcError::new(code::METHOD_NOT_FOUND, error)));
            return;
        }
        if self.by_client.contains_key(&id) {
            let error = RpcError::new(code::INVALID_REQUEST, "a request of this id is running");
            actions.push(refuse(&id, &error));
            return;
        }
        let asker = match asker(&params) {
            Ok(asker) => asker,
            Err(error) => {
                actions.push(refuse(&id, &error));
                return;
            }
        };
        if let Some(state) = members::get_text(&params, &["requestState"]) {
            self.came_again(id, &message, &state, actions);
            return;
        }
        match name {
            method::DISCOVER => self.discover(id, asker, actions),
            method::LISTEN => self.listen(id, asker, &params, actions),
            _ => self.call(id, asker, message, headers, actions),
        }
    }

    fn notified_by_client(&mut self, message: Message, actions: &mut Actions) {
        match message.method().unwrap_or_default() {
            method::CANCELLED => {
                let params = message.params().unwrap_or_default();
                let id = members::get_id(&params, &["requestId"]);
                match id.and_then(|id| self.by_client.get(&id)) {
                    Some(Running::Call(call)) => self.cancel(*call, Some(&message), actions),
                    Some(Running::Listen(listen)) => self.stop_listening(*listen, actions),
                    None => {}
                }
            }
            method::INITIALIZED | method::ROOTS_CHANGED | method::PROGRESS => {}
            _ => {
                // It does not say whose it is.
                let latest = self.sessions.iter().max_by_key(|(_, session)| session.used);
                if let Some((link, session)) = latest
                    && session.is_ready()
                {
                    actions.push(Action::Send(*link, message, Vec::new()));
                }
            }
        }
    }

    fn answered(&mut self, link: ConnectionId, message: Message, actions: &mut Actions) {
        match self.take_sent(link, message.id()) {
            Some(Sent::Initialize) => self.initialized(link, &message, actions),
            Some(Sent::Call(call)) => self.call_answered(call, message, actions),
            Some(Sent::Subscribe { listen, uri }) => {
                self.subscribed(link, listen, uri, message.kind() == Kind::Response, actions);
            }
            Some(Sent::Unasked) => {}
            None => {
                if let Some(call) = message.id().and_then(Id::as_number) {
                    self.answered_late(link, call);
                }
            }
        }
    }

    fn failed(
        &mut self,
        link: ConnectionId,
        id: &Id,
        error: &UpstreamError,
        actions: &mut Actions,
    ) {
        match self.take_sent(link, Some(id)) {
            Some(Sent::Initialize) => {
                let is_crowded = matches!(error, UpstreamError::Crowded { .. });
                let has_place = is_crowded
                    && (self.take_place(link, actions) || self.join_another(link, actions));
                if !has_place {
                    self.give_up_session(link, error, actions);
                }
            }
            Some(Sent::Call(call)) => self.call_failed(call, error, actions),
            Some(Sent::Subscribe { listen, uri }) => {
                self.subscribed(link, listen, uri, false, actions)
            }
            Some(Sent::Unasked) | None => {}
        }
    }

    fn take_sent(&mut self, link: ConnectionId, id: Option<&Id>) -> Option<Sent> {
        let number = id?.as_number()?;
        if self.sent.get(&number)?.0 != link {
            return None;
        }
        self.sent.remove(&number).map(|(_, sent)| sent)
    }

    fn closed(&mut self, link: ConnectionId, error: &UpstreamError, actions: &mut Actions) {
        if *error == UpstreamError::SessionOver && self.renew_session(link, actions) {
            return;
        }
        if self.sessions.contains_key(&link) {
            self.end_session(link, error, actions);
        } else if link != FIRST || self.first_taken {
            // It was closed from here.
            return;
        }
        self.first_taken |= link == FIRST;
        if self.sessions.is_empty() {
            actions.push(Action::Tell(Event::Closed(error.clone())));
        }
    }
}

/// Whether only sessions have the method.
fn is_of_sessions(name: &str) -> bool {
    matches!(
        name,
        method::INITIALIZE
            | method::PING
            | method::SET_LEVEL
            | method::SUBSCRIBE
            | method::UNSUBSCRIBE
    ) || name.starts_with("tasks/")
}

/// Who asks, or why that is not known.
fn asker(params: &Bytes) -> Result<Asker, RpcError> {
    let said = |key| members::get(params, &["_meta", key]);
    let missing = |key| {
        let reason = format!("`_meta` has no valid `{key}`");
        RpcError::new(code::INVALID_PARAMS, reason)
    };
    let version = members::get_text(params, &["_meta", meta::PROTOCOL_VERSION])
        .ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
    if version != Revision::V2026_07_28.as_str() {
        return Err(RpcError::unsupported_revision(
            "Unsupported protocol version",
            [Revision::V2026_07_28.as_str()],
            &version,
        ));
    }
    let capabilities = said(meta::CLIENT_CAPABILITIES)
        .filter(|capabilities| capabilities.starts_with(b"{"))
        .ok_or_else(|| missing(meta::CLIENT_CAPABILITIES))?;
    Ok(Asker {
        capabilities,
        info: said(meta::CLIENT_INFO).filter(|info| info.starts_with(b"{")),
    })
}
