//! Sessions: one for each kind of client, opened when it is needed.

use super::{
    Asker, Intent, Sessions,
    apart::{AbandonedCalls, SESSIONS},
};
use crate::{
    Revision,
    bridge::{
        UNNAMED,
        driver::{Action, ConnectionId, Outgoing},
        members::{self, EMPTY},
    },
    message::{Id, Message},
    protocol::{meta, method},
    upstream::UpstreamError,
};
use bytes::Bytes;
use crossfeed_json::quoted;
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// How long a session is kept that was opened for calls at once.
const SPARE_TIMEOUT: Duration = Duration::from_secs(60);

/// What may wait for a session to begin.
const MAX_HELD: usize = 1024;

/// How long a session is kept without use where there are others.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// A session with the server.
pub(super) struct Session {
    pub(super) asker: Asker,
    /// What the server said of itself, once it did.
    hello: Option<Bytes>,
    /// What waits for it to begin; or, once the server does not know it any longer, for another.
    pub(super) held: Vec<ClientRequest>,
    pub(super) used: Instant,
    /// The level of log messages that the server was told.
    level: Option<usize>,
    /// How many listen to a resource.
    pub(super) subscriptions: HashMap<String, usize>,
    /// What the server asked for while no call ran.
    pub(super) asks: Vec<super::input::Ask>,
    /// Whether a call was made that the server may ask within.
    pub(super) has_called: bool,
    /// Such calls that were abandoned and that the server may still run.
    pub(super) unanswered: AbandonedCalls,
    /// Whether there is another that the client's next call runs in, unless that is busy.
    pub(super) is_extra: bool,
}

/// What a request of a client became, which may wait for a session to begin.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ClientRequest {
    Discover(Id),
    Call(u64),
    Listen(u64),
}

impl Session {
    /// One that is about to begin.
    pub(super) fn new(asker: Asker, is_extra: bool, held: Vec<ClientRequest>) -> Self {
        Self {
            asker,
            hello: None,
            held,
            used: Instant::now(),
            level: None,
            subscriptions: HashMap::new(),
            asks: Vec::new(),
            has_called: false,
            unanswered: AbandonedCalls::default(),
            is_extra,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.hello.is_some()
    }

    /// Whether the server has a capability.
    pub(super) fn has(&self, capability: &[&str]) -> bool {
        let path: Vec<_> = ["capabilities"].iter().chain(capability).copied().collect();
        self.hello
            .as_ref()
            .and_then(|hello| members::get(hello, &path))
            .is_some_and(|value| !matches!(value.as_ref(), b"false" | b"null"))
    }
}

impl Asker {
    /// Whether it may be asked for this.
    pub(super) fn offers(&self, capability: &str) -> bool {
        members::get(&self.capabilities, &[capability]).is_some()
    }

    /// Whether a server may ask it for anything.
    pub(super) fn may_be_asked(&self) -> bool {
        let any = ["sampling", "elicitation", "roots"];
        any.into_iter().any(|capability| self.offers(capability))
    }
}

impl Sessions {
    /// Another connection, in place of that of the session `before`.
    pub(super) fn open_link(&mut self, before: Option<ConnectionId>) -> ConnectionId {
        if let Some(before) = before {
            self.forget_session(before);
        }
        self.links += 1;
        self.desk.act(Action::Open(self.links, before));
        // The opener of the bridge waits for the first, however long that takes.
        self.desk.act(Action::Wake(self.start_timeout, self.links));
        self.links
    }

    /// There is no room for the connection of a session: it takes the place of one that is not used, if there is
    /// one.
    pub(super) fn take_place(&mut self, link: ConnectionId) -> bool {
        let session = self.sessions.get(&link);
        let is_extra = session.is_some_and(|session| session.is_extra);
        let idle = self.idlest(true);
        let Some(idle) = idle.or_else(|| self.idlest(false).filter(|_| !is_extra)) else {
            return false;
        };
        let Some(session) = self.sessions.remove(&link) else {
            return false;
        };
        let opened = self.open_link(Some(idle));
        self.introduce(opened, &session.asker);
        self.sessions.insert(opened, session);
        self.move_to(link, opened);
        true
    }

    /// There is no room for another session of a client: what waits for it runs in one that the client has.
    pub(super) fn join_another(&mut self, link: ConnectionId) -> bool {
        let Some(asker) = self.sessions.get(&link).map(|session| &session.asker) else {
            return false;
        };
        let others = self.sessions_of(asker).filter(|(other, _)| *other != link);
        let Some((first, _)) = others.min_by_key(|(_, session)| session.is_extra) else {
            return false;
        };
        let Some(session) = self.sessions.remove(&link) else {
            return false;
        };
        if let Some(joined) = self.sessions.get_mut(&first) {
            joined.is_extra &= session.is_extra;
        }
        self.desk.act(Action::Close(link));
        self.move_to(link, first);
        match self.sessions.get_mut(&first) {
            Some(known) if !known.is_ready() => known.held.extend(session.held),
            _ => {
                for held in session.held {
                    self.go_on(first, held);
                }
            }
        }
        true
    }

    /// What was to run in a session runs in another.
    fn move_to(&mut self, from: ConnectionId, to: ConnectionId) {
        let calls = self.calls.values_mut().map(|call| &mut call.link);
        let listens = self.listens.values_mut().map(|listen| &mut listen.link);
        for at in calls.chain(listens).filter(|at| **at == from) {
            *at = to;
        }
    }

    /// Says to the server who the client is.
    pub(super) fn introduce(&mut self, link: ConnectionId, asker: &Asker) {
        let version = quoted(Revision::V2025_11_25.as_str());
        let info = asker
            .info
            .as_deref()
            .unwrap_or(br#"{"name":"client","version":"0"}"#);
        let params = members::object(&[
            ("protocolVersion", version.as_bytes()),
            ("capabilities", &asker.capabilities),
            ("clientInfo", info),
        ]);
        (self.desk).ask(link, method::INITIALIZE, &params, Intent::Initialize);
    }

    /// Does something in the session of a client, now or when it has begun. `None` where there cannot be one:
    /// the client was told.
    pub(super) fn in_session(
        &mut self,
        client: &Id,
        asker: (Asker, bool),
        held: ClientRequest,
    ) -> Option<ConnectionId> {
        let link = self.session_for(asker);
        let reason = match link.and_then(|link| self.sessions.get_mut(&link)) {
            Some(session) if session.is_ready() => return link,
            Some(session) if session.held.len() < MAX_HELD => {
                session.held.push(held);
                return link;
            }
            Some(_) => format!("more than {MAX_HELD} requests wait for the server to begin"),
            None => format!("more than {SESSIONS} kinds of clients at once"),
        };
        self.desk.impossible(client, &reason);
        None
    }

    pub(super) fn discover(&mut self, id: Id, asker: Asker) {
        let held = ClientRequest::Discover(id.clone());
        if let Some(link) = self.in_session(&id, (asker, false), held.clone()) {
            self.go_on(link, held);
        }
    }

    /// Does what waited, if the session has begun.
    pub(super) fn go_on(&mut self, link: ConnectionId, held: ClientRequest) {
        let session = self.sessions.get(&link);
        let Some(hello) = session.and_then(|session| session.hello.clone()) else {
            return;
        };
        match held {
            ClientRequest::Discover(client) => match discovered(&hello) {
                Some(result) => self.desk.answer(&client, &result),
                None => {
                    let reason = "the server's description is not an object";
                    self.desk.impossible(&client, reason);
                }
            },
            ClientRequest::Call(call) => self.send_call(call),
            ClientRequest::Listen(listen) => self.begin_listening(listen),
        }
    }

    pub(super) fn initialized(&mut self, link: ConnectionId, message: &Message) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        let held = std::mem::take(&mut session.held);
        let Some(hello) = message.result() else {
            self.sessions.remove(&link);
            self.desk.act(Action::Close(link));
            for held in held {
                if let Some(client) = self.client_of(&held) {
                    self.desk.tell(message.clone().with_id(client), None);
                }
            }
            return;
        };
        let version = members::get_text(&hello, &["protocolVersion"]);
        session.hello = Some(hello);
        if let Some(revision) = version.as_deref().and_then(Revision::parse) {
            self.desk.act(Action::Put(link, Outgoing::Speak(revision)));
        }
        let initialized = Message::notification(method::INITIALIZED, None);
        self.desk.send(link, initialized);
        for held in held {
            self.go_on(link, held);
        }
    }

    /// The client behind what waits, which is forgotten.
    fn client_of(&mut self, held: &ClientRequest) -> Option<Id> {
        let client = match held {
            ClientRequest::Discover(client) => client.clone(),
            ClientRequest::Call(call) => self.finish(*call)?.client?,
            ClientRequest::Listen(listen) => self.listens.remove(listen)?.client,
        };
        self.by_client.remove(&client);
        Some(client)
    }

    /// Asks for log messages of a level, unless as many were asked for before.
    pub(super) fn ask_for_logs(&mut self, link: ConnectionId, level: usize) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        if !session.has(&["logging"]) || session.level.is_some_and(|told| told <= level) {
            return;
        }
        session.level = Some(level);
        let name = crate::protocol::log_level_name(level).unwrap_or_default();
        let params = members::object(&[("level", quoted(name).as_bytes())]);
        (self.desk).ask(link, method::SET_LEVEL, &params, Intent::AnswerIgnored);
    }

    pub(super) fn is_idle(&self, link: ConnectionId) -> bool {
        let busy = self.calls.values().any(|call| call.link == link)
            || self.listens.values().any(|listen| listen.link == link);
        let ready = self.sessions.get(&link).is_some_and(Session::is_ready);
        ready && !busy
    }

    fn forget_session(&mut self, link: ConnectionId) {
        self.sessions.remove(&link);
        self.desk.sent.retain(|_, (at, _)| *at != link);
    }

    pub(super) fn expire_sessions(&mut self) {
        let is_expired = |link: &ConnectionId, session: &Session| {
            // The server may still be at what was left there.
            let most = if session.is_extra && !session.unanswered.may_ask() {
                SPARE_TIMEOUT
            } else {
                IDLE_TIMEOUT
            };
            session.used.elapsed() > most && self.is_idle(*link)
        };
        let sessions = self.sessions.iter();
        let expired = sessions.filter(|(link, session)| is_expired(link, session));
        for link in expired.map(|(link, _)| *link).collect::<Vec<_>>() {
            if self.sessions.len() > 1 {
                self.forget_session(link);
                self.desk.act(Action::Close(link));
            }
        }
    }

    /// The server does not know a session any longer. What it did not take for that is sent again in another, which
    /// begins at once; everything else is over with the session. Whether another begins.
    pub(super) fn renew_session(&mut self, link: ConnectionId) -> bool {
        let waits = |session: &Session| session.is_ready() && !session.held.is_empty();
        if !self.sessions.get(&link).is_some_and(waits) {
            return false;
        }
        let Some(mut session) = self.sessions.remove(&link) else {
            return false;
        };
        // They come back in any order.
        session.held.sort_by_key(|held| match held {
            ClientRequest::Call(call) => Some(*call),
            ClientRequest::Discover(_) | ClientRequest::Listen(_) => None,
        });
        let opened = self.open_link(None);
        for held in &session.held {
            if let ClientRequest::Call(call) = held
                && let Some(call) = self.calls.get_mut(call)
            {
                call.link = opened;
            }
        }
        self.end_session(link, &UpstreamError::SessionOver);
        self.introduce(opened, &session.asker);
        let session = Session::new(session.asker, session.is_extra, session.held);
        self.sessions.insert(opened, session);
        true
    }

    /// A session is over, and with it all that ran in it.
    pub(super) fn end_session(&mut self, link: ConnectionId, error: &UpstreamError) {
        let held = self.sessions.remove(&link).map(|session| session.held);
        self.desk.sent.retain(|_, (at, _)| *at != link);
        // What waits for a session to begin was not sent, however its beginning failed.
        let unsent = error.clone().before_sending();
        let sent = unsent.clone().after_sending();
        for held in held.unwrap_or_default() {
            self.fail(&held, &unsent);
        }
        let calls = self.calls.iter().filter(|(_, call)| call.link == link);
        let calls = calls.map(|(call, _)| ClientRequest::Call(*call));
        let listens = self
            .listens
            .iter()
            .filter(|(_, listen)| listen.link == link);
        let listens = listens.map(|(listen, _)| ClientRequest::Listen(*listen));
        for running in calls.chain(listens).collect::<Vec<_>>() {
            self.fail(&running, &sent);
        }
    }

    fn fail(&mut self, failed: &ClientRequest, error: &UpstreamError) {
        if let Some(client) = self.client_of(failed) {
            self.desk.failed(client, error.clone());
        }
    }

    /// A session cannot begin.
    pub(super) fn give_up_session(&mut self, link: ConnectionId, error: &UpstreamError) {
        self.end_session(link, error);
        self.desk.act(Action::Close(link));
    }

    /// A session has had the time that it may take to begin.
    pub(super) fn end_unless_begun(&mut self, link: ConnectionId) {
        let begins = self.sessions.get(&link);
        if begins.is_some_and(|session| !session.is_ready()) {
            let after = self.start_timeout;
            self.give_up_session(link, &UpstreamError::TimedOut { after });
        }
    }

    /// What waits in a session that has not begun is not wanted any longer.
    pub(super) fn forget_held(&mut self, link: ConnectionId, gone: &ClientRequest) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.held.retain(|held| held != gone);
        }
    }
}

/// What a server says of itself, as one without sessions does. Its tasks are not those of that era.
fn discovered(hello: &Bytes) -> Option<Bytes> {
    let capabilities = members::get(hello, &["capabilities"]).unwrap_or(EMPTY.clone());
    let capabilities = members::without(&capabilities, &["tasks"], &[]);
    let info = members::get(hello, &["serverInfo"]).unwrap_or(UNNAMED.clone());
    let versions = format!("[{}]", quoted(Revision::V2026_07_28.as_str()));
    let rest = members::without(hello, &["protocolVersion", "serverInfo"], &[]);
    members::with(
        Some(&rest),
        &[
            ("capabilities", &capabilities),
            ("supportedVersions", versions.as_bytes()),
            ("resultType", br#""complete""#),
            ("ttlMs", b"0"),
            ("cacheScope", br#""private""#),
        ],
        &[(meta::SERVER_INFO, &info)],
    )
}
