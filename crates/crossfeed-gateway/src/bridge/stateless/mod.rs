//! Sessions at a server of the era with sessions, for clients without them.
//!
//! - Requests of clients with the same `_meta` share a session ([`session`]), so that what a server remembers between two
//!   calls is there for the second.
//! - What a server asks its client for while a call runs becomes the call's answer; the call stays open
//!   behind, and goes on when the request comes again with the input ([`input`]).
//! - A call that a server did not take, since it does not know the session any longer, is sent again in another
//!   session, once.
//! - `subscriptions/listen` is fed by the server's notifications ([`listen`]).

mod apart;
mod call;
mod input;
mod listen;
mod notice;
mod session;

#[cfg(test)]
mod tests;

use super::{
    desk::{Desk, unknown_method},
    driver::{Action, ConnectionId, Era, FIRST},
    members,
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
use session::{ClientRequest, Session};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

/// How often calls and sessions are checked for their expiry.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// The timer of that check; sessions after the first have their own.
const TIMER: u64 = FIRST;

/// The state between clients without sessions and a server that has them.
#[derive(Default)]
pub(super) struct Sessions {
    /// Whether several clients share it.
    is_shared: bool,
    /// Whether calls within which the server may ask run in sessions of their own, since nothing else tells which client
    /// is asked.
    keeps_apart: bool,
    /// Whether the server ever asked for something after a call had begun.
    has_asked: bool,
    /// How long a session may take to begin.
    start_timeout: Duration,
    desk: Desk<Intent>,
    sessions: BTreeMap<ConnectionId, Session>,
    /// Whether the first connection was given to a session.
    first_taken: bool,
    links: ConnectionId,
    calls: BTreeMap<u64, Call>,
    listens: BTreeMap<u64, Listen>,
    /// What the requests of clients became.
    by_client: HashMap<Id, ClientRequest>,
    /// The calls that wait for their requests to come again.
    by_state: HashMap<String, u64>,
    sweeping: bool,
    replica: Option<Arc<str>>,
    /// Tools that the server takes calls of as tasks only.
    tasks_only: HashSet<String>,
}

/// The intent of a request to the server.
#[derive(Default)]
pub(super) enum Intent {
    Initialize,
    Call(u64),
    Subscribe {
        listen: u64,
        uri: String,
    },
    #[default]
    AnswerIgnored,
}

/// The client in the `_meta` of a request.
#[derive(PartialEq, Eq)]
struct Asker {
    capabilities: Bytes,
    info: Option<Bytes>,
}

impl Era for Sessions {
    type Intent = Intent;

    fn desk(&mut self) -> &mut Desk<Intent> {
        &mut self.desk
    }

    fn requested(&mut self, id: Id, message: Message, headers: &[Header]) {
        let params = message.params().unwrap_or_default();
        let name = message.method().unwrap_or_default();
        if is_of_sessions(name) {
            return self.desk.refuse(&id, &unknown_method(name));
        }
        if self.by_client.contains_key(&id) {
            return self.desk.running(&id);
        }
        let asker = match asker(&params) {
            Ok(asker) => asker,
            Err(error) => return self.desk.refuse(&id, &error),
        };
        if let Some(state) = members::get_text(&params, &["requestState"]) {
            return self.came_again(id, &message, &state);
        }
        match name {
            method::DISCOVER => self.discover(id, asker),
            method::LISTEN => self.listen(id, asker, &params),
            _ => self.call(id, asker, message, headers),
        }
    }

    fn notified(&mut self, message: Message) {
        let name = message.method().unwrap_or_default();
        if let method::INITIALIZED | method::ROOTS_CHANGED | method::PROGRESS = name {
            return;
        }
        // Its session is unknown: the latest used one gets it.
        let latest = self.sessions.iter().max_by_key(|(_, session)| session.used);
        if let Some((link, _)) = latest.filter(|(_, session)| session.is_ready()) {
            self.desk.send(*link, message);
        }
    }

    fn cancel(&mut self, id: &Id, notification: Option<&Message>) {
        match self.by_client.get(id) {
            Some(ClientRequest::Call(call)) => self.cancel_call(*call, notification),
            Some(ClientRequest::Listen(listen)) => self.stop_listening(*listen),
            Some(ClientRequest::Discover(_)) | None => {}
        }
    }

    fn answered(
        &mut self,
        link: ConnectionId,
        number: u64,
        sent: Option<Intent>,
        message: Message,
    ) {
        match sent {
            Some(Intent::Initialize) => self.initialized(link, &message),
            Some(Intent::Call(call)) => self.call_answered(call, message),
            Some(Intent::Subscribe { listen, uri }) => {
                self.subscribed(link, listen, uri, message.kind() == Kind::Response);
            }
            Some(Intent::AnswerIgnored) => {}
            None => self.answered_late(link, number),
        }
    }

    fn asked(&mut self, link: ConnectionId, id: &Id, message: &Message, related: Option<&Id>) {
        self.input_asked(link, id, message, related);
    }

    fn noticed(&mut self, link: ConnectionId, message: Message, related: Option<&Id>) {
        self.notice(link, message, related);
    }

    fn failed(&mut self, link: ConnectionId, _: u64, sent: Intent, error: UpstreamError) {
        match sent {
            Intent::Initialize => {
                let is_crowded = matches!(error, UpstreamError::Crowded { .. });
                if !(is_crowded && (self.take_place(link) || self.join_another(link))) {
                    self.give_up_session(link, &error);
                }
            }
            Intent::Call(call) => self.call_failed(call, error),
            Intent::Subscribe { listen, uri } => self.subscribed(link, listen, uri, false),
            Intent::AnswerIgnored => {}
        }
    }

    fn closed(&mut self, link: ConnectionId, error: UpstreamError) {
        if error == UpstreamError::SessionOver && self.renew_session(link) {
            return;
        }
        if self.sessions.contains_key(&link) {
            self.end_session(link, &error);
        } else if link != FIRST || self.first_taken {
            // It was closed from here.
            return;
        }
        self.first_taken |= link == FIRST;
        if self.sessions.is_empty() {
            self.desk.act(Action::Tell(Event::Closed(error)));
        }
    }

    fn on_timer(&mut self, timer: u64) {
        if timer != TIMER {
            return self.end_unless_begun(timer);
        }
        self.sweeping = false;
        self.expire_calls();
        self.expire_sessions();
        if !self.by_state.is_empty() || self.sessions.len() > 1 {
            self.sweep_later();
        }
    }
}

impl Sessions {
    pub(super) fn new(
        is_shared: bool,
        keeps_apart: bool,
        start_timeout: Duration,
        replica: Option<Arc<str>>,
    ) -> Self {
        Self {
            is_shared,
            keeps_apart,
            start_timeout,
            replica,
            ..Self::default()
        }
    }

    fn sweep_later(&mut self) {
        if !self.sweeping {
            self.sweeping = true;
            self.desk.act(Action::Wake(SWEEP_INTERVAL, TIMER));
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

/// The client of a request, or why it is unknown.
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
