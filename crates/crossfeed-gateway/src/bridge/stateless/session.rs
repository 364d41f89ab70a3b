//! Sessions: one for each kind of client, opened when it is needed.

use super::{
    Asker, Running, Sent, Sessions,
    apart::{SESSIONS, Unanswered},
};
use crate::{
    Revision,
    bridge::{
        answer,
        driver::{Action, Actions, ConnectionId},
        members, refuse, tell,
    },
    message::{Id, Message, RpcError},
    protocol::{code, meta, method},
    upstream::{Event, UpstreamError},
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
    held: Vec<Held>,
    pub(super) used: Instant,
    /// The level of log messages that the server was told.
    level: Option<usize>,
    /// How many listen to a resource.
    pub(super) subscriptions: HashMap<String, usize>,
    /// What the server asked for while no call ran.
    pub(super) asks: Vec<super::input::Ask>,
    /// Whether a call was made that the server may ask within.
    pub(super) has_called: bool,
    /// Such calls that nobody waits for any longer, and that the server may still run.
    pub(super) unanswered: Unanswered,
    /// Whether there is another that the client's next call runs in, unless that is busy.
    pub(super) is_extra: bool,
}

/// What waits for a session to begin.
#[derive(Clone)]
pub(super) enum Held {
    Discover(Id),
    Call(u64),
    Listen(u64),
}

impl Session {
    /// One that is about to begin.
    pub(super) fn new(asker: Asker, is_extra: bool, held: Vec<Held>) -> Self {
        Self {
            asker,
            hello: None,
            held,
            used: Instant::now(),
            level: None,
            subscriptions: HashMap::new(),
            asks: Vec::new(),
            has_called: false,
            unanswered: Unanswered::default(),
            is_extra,
        }
    }

    pub(super) fn hold(&mut self, held: Held) {
        self.held.push(held);
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

    /// Whether the client may be asked for this.
    pub(super) fn offers(&self, capability: &str) -> bool {
        members::get(&self.asker.capabilities, &[capability]).is_some()
    }
}

impl Asker {
    /// Whether a server may ask it for anything.
    pub(super) fn may_be_asked(&self) -> bool {
        let offers = |capability| members::get(&self.capabilities, &[capability]).is_some();
        ["sampling", "elicitation", "roots"].into_iter().any(offers)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.capabilities == other.capabilities && self.info == other.info
    }
}

impl Sessions {
    /// Another connection, in place of that of the session `before`.
    pub(super) fn open_link(
        &mut self,
        before: Option<ConnectionId>,
        actions: &mut Actions,
    ) -> ConnectionId {
        if let Some(before) = before {
            self.forget_session(before);
        }
        self.links += 1;
        actions.push(Action::Open(self.links, before));
        // Whoever opened the bridge waits for the first, as long as that may take.
        actions.push(Action::Wake(self.start_timeout, self.links));
        self.links
    }

    /// There is no room for the connection of a session: it takes the place of one that is not used, if there is
    /// one.
    pub(super) fn take_place(&mut self, link: ConnectionId, actions: &mut Actions) -> bool {
        let is_extra = self
            .sessions
            .get(&link)
            .is_some_and(|session| session.is_extra);
        let idle = self.idlest(true);
        let Some(idle) = idle.or_else(|| self.idlest(false).filter(|_| !is_extra)) else {
            return false;
        };
        let Some(session) = self.sessions.remove(&link) else {
            return false;
        };
        let opened = self.open_link(Some(idle), actions);
        self.introduce(opened, &session.asker, actions);
        self.sessions.insert(opened, session);
        self.move_to(link, opened);
        true
    }

    /// There is no room for another session of a client: what waits for it runs in one that the client has.
    pub(super) fn join_another(&mut self, link: ConnectionId, actions: &mut Actions) -> bool {
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
        actions.push(Action::Close(link));
        self.move_to(link, first);
        match self.sessions.get_mut(&first) {
            Some(known) if !known.is_ready() => known.held.extend(session.held),
            _ => {
                for held in session.held {
                    self.go_on(first, held, actions);
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
    pub(super) fn introduce(&mut self, link: ConnectionId, asker: &Asker, actions: &mut Actions) {
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
        self.ask_server(link, method::INITIALIZE, &params, Sent::Initialize, actions);
    }

    /// Sends a request of the bridge's own.
    pub(super) fn ask_server(
        &mut self,
        link: ConnectionId,
        method: &str,
        params: &Bytes,
        sent: Sent,
        actions: &mut Actions,
    ) {
        let number = self.number();
        self.sent.insert(number, (link, sent));
        let request = Message::request(&Id::number(number), method, Some(params));
        actions.push(Action::Send(link, request, Vec::new()));
    }

    /// Does something in the session of a client, now or when it has begun. `None` where there cannot be one:
    /// the client was told.
    pub(super) fn in_session(
        &mut self,
        client: &Id,
        asker: (Asker, bool),
        held: Held,
        actions: &mut Actions,
    ) -> Option<ConnectionId> {
        let link = self.session_for(asker, actions);
        let Some((link, session)) =
            link.and_then(|link| Some((link, self.sessions.get_mut(&link)?)))
        else {
            let reason = format!("more than {SESSIONS} kinds of clients at once");
            actions.push(refuse(client, &RpcError::new(code::INTERNAL, reason)));
            return None;
        };
        if session.is_ready() {
            return Some(link);
        }
        if session.held.len() >= MAX_HELD {
            let reason = format!("more than {MAX_HELD} requests wait for the server to begin");
            actions.push(refuse(client, &RpcError::new(code::INTERNAL, reason)));
            return None;
        }
        session.held.push(held);
        Some(link)
    }

    pub(super) fn discover(&mut self, id: Id, asker: Asker, actions: &mut Actions) {
        let held = Held::Discover(id.clone());
        let Some(link) = self.in_session(&id, (asker, false), held.clone(), actions) else {
            return;
        };
        self.go_on(link, held, actions);
    }

    /// Does what waited, if the session has begun.
    pub(super) fn go_on(&mut self, link: ConnectionId, held: Held, actions: &mut Actions) {
        let Some(hello) = self
            .sessions
            .get(&link)
            .and_then(|session| session.hello.clone())
        else {
            return;
        };
        match held {
            Held::Discover(client) => match discovered(&hello) {
                Some(result) => actions.push(answer(&client, &result)),
                None => {
                    let reason = "the server describes itself by no object";
                    actions.push(refuse(&client, &RpcError::new(code::INTERNAL, reason)));
                }
            },
            Held::Call(call) => self.send_call(call, actions),
            Held::Listen(listen) => self.begin_listening(listen, actions),
        }
    }

    pub(super) fn initialized(
        &mut self,
        link: ConnectionId,
        message: &Message,
        actions: &mut Actions,
    ) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        let held = std::mem::take(&mut session.held);
        let Some(hello) = message.result() else {
            self.sessions.remove(&link);
            actions.push(Action::Close(link));
            for held in held {
                if let Some(client) = self.client_of(&held) {
                    actions.push(tell(message.clone().with_id(client), None));
                }
            }
            return;
        };
        let version = members::get_text(&hello, &["protocolVersion"]);
        session.hello = Some(hello);
        if let Some(revision) = version.as_deref().and_then(Revision::parse) {
            actions.push(Action::Speak(link, revision));
        }
        let initialized = Message::notification(method::INITIALIZED, None);
        actions.push(Action::Send(link, initialized, Vec::new()));
        for held in held {
            self.go_on(link, held, actions);
        }
    }

    /// The client behind what waits, which is forgotten.
    fn client_of(&mut self, held: &Held) -> Option<Id> {
        let client = match held {
            Held::Discover(client) => client.clone(),
            Held::Call(call) => {
                let call = self.calls.remove(call)?;
                if let Some((state, _)) = &call.parked {
                    self.by_state.remove(state);
                }
                call.client?
            }
            Held::Listen(listen) => self.listens.remove(listen)?.client,
        };
        self.by_client.remove(&client);
        Some(client)
    }

    /// Asks for log messages of a level, where nobody asked for as many before.
    pub(super) fn ask_for_logs(&mut self, link: ConnectionId, level: usize, actions: &mut Actions) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        if !session.has(&["logging"]) || session.level.is_some_and(|told| told <= level) {
            return;
        }
        session.level = Some(level);
        let name = crate::protocol::log_level_name(level).unwrap_or_default();
        let params = members::object(&[("level", quoted(name).as_bytes())]);
        self.ask_server(link, method::SET_LEVEL, &params, Sent::Unasked, actions);
    }

    pub(super) fn is_idle(&self, link: ConnectionId) -> bool {
        let busy = self.calls.values().any(|call| call.link == link)
            || self.listens.values().any(|listen| listen.link == link);
        let ready = self.sessions.get(&link).is_some_and(Session::is_ready);
        ready && !busy
    }

    fn forget_session(&mut self, link: ConnectionId) {
        self.sessions.remove(&link);
        self.sent.retain(|_, (at, _)| *at != link);
    }

    pub(super) fn expire_sessions(&mut self, actions: &mut Actions) {
        let expired: Vec<_> = self
            .sessions
            .iter()
            .filter(|(link, session)| {
                // The server may still be at what was left there.
                let is_spare = session.is_extra && !session.unanswered.may_ask();
                let most = if is_spare {
                    SPARE_TIMEOUT
                } else {
                    IDLE_TIMEOUT
                };
                session.used.elapsed() > most && self.is_idle(**link)
            })
            .map(|(link, _)| *link)
            .collect();
        for link in expired {
            if self.sessions.len() > 1 {
                self.forget_session(link);
                actions.push(Action::Close(link));
            }
        }
    }

    /// The server does not know a session any longer. What it did not take for that is sent again in another, which
    /// begins at once; everything else is over with the session. Whether another begins.
    pub(super) fn renew_session(&mut self, link: ConnectionId, actions: &mut Actions) -> bool {
        let waits = |session: &Session| session.is_ready() && !session.held.is_empty();
        if !self.sessions.get(&link).is_some_and(waits) {
            return false;
        }
        let Some(mut session) = self.sessions.remove(&link) else {
            return false;
        };
        // They come back in any order.
        session.held.sort_by_key(|held| match held {
            Held::Call(call) => Some(*call),
            Held::Discover(_) | Held::Listen(_) => None,
        });
        let opened = self.open_link(None, actions);
        for held in &session.held {
            if let Held::Call(call) = held
                && let Some(call) = self.calls.get_mut(call)
            {
                call.link = opened;
            }
        }
        self.end_session(link, &UpstreamError::SessionOver, actions);
        self.introduce(opened, &session.asker, actions);
        let session = Session::new(session.asker, session.is_extra, session.held);
        self.sessions.insert(opened, session);
        true
    }

    /// A session is over, and with it all that ran in it.
    pub(super) fn end_session(
        &mut self,
        link: ConnectionId,
        error: &UpstreamError,
        actions: &mut Actions,
    ) {
        let held = self.sessions.remove(&link).map(|session| session.held);
        self.sent.retain(|_, (at, _)| *at != link);
        // What waits for a session to begin was not sent, however its beginning failed.
        let unsent = error.clone().before_sending();
        let sent = unsent.clone().after_sending();
        let mut failed = Vec::new();
        for held in held.unwrap_or_default() {
            failed.extend(self.client_of(&held).map(|id| (id, unsent.clone())));
        }
        let calls = self.calls.iter().filter(|(_, call)| call.link == link);
        for call in calls.map(|(call, _)| *call).collect::<Vec<_>>() {
            let client = self.finish(call).and_then(|call| call.client);
            failed.extend(client.map(|id| (id, sent.clone())));
        }
        let listens = self
            .listens
            .iter()
            .filter(|(_, listen)| listen.link == link);
        for listen in listens.map(|(listen, _)| *listen).collect::<Vec<_>>() {
            let client = self.client_of(&Held::Listen(listen));
            failed.extend(client.map(|id| (id, sent.clone())));
        }
        for (id, error) in failed {
            actions.push(Action::Tell(Event::Failed { id, error }));
        }
    }

    /// A session cannot begin.
    pub(super) fn give_up_session(
        &mut self,
        link: ConnectionId,
        error: &UpstreamError,
        actions: &mut Actions,
    ) {
        self.end_session(link, error, actions);
        actions.push(Action::Close(link));
    }

    /// A session has had the time that it may take to begin.
    pub(super) fn end_unless_begun(&mut self, link: ConnectionId, actions: &mut Actions) {
        let begins = self.sessions.get(&link);
        if begins.is_some_and(|session| !session.is_ready()) {
            let after = self.start_timeout;
            self.give_up_session(link, &UpstreamError::TimedOut { after }, actions);
        }
    }

    /// What waits in a session that has not begun is not wanted any longer.
    pub(super) fn forget_held(&mut self, link: ConnectionId, gone: Running) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.held.retain(|held| match (held, gone) {
                (Held::Call(held), Running::Call(gone))
                | (Held::Listen(held), Running::Listen(gone)) => *held != gone,
                _ => true,
            });
        }
    }
}

/// What a server says of itself, as one without sessions does. Its tasks are not those of that era.
fn discovered(hello: &Bytes) -> Option<Bytes> {
    let capabilities = members::get(hello, &["capabilities"])
        .map_or(Bytes::from_static(b"{}"), |capabilities| {
            members::without(&capabilities, &["tasks"], &[])
        });
    let info = members::get(hello, &["serverInfo"])
        .unwrap_or_else(|| Bytes::from_static(br#"{"name":"server","version":"0"}"#));
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
