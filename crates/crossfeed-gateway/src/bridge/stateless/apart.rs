//! Which session a request runs in.
//!
//! Where nothing says within which call a server asks, calls that run at once run in sessions of their own. So do
//! calls behind an abandoned one, at a server that asks: what that one still asks is not taken for theirs.

use super::{Asker, Call, Session, Sessions, input::REQUEST_STATE_TTL};
use crate::bridge::driver::{ConnectionId, FIRST};
use tokio::time::Instant;

/// Sessions of one bridge: of different clients, and as many again beside those for calls that run alone.
pub(super) const SESSIONS: usize = 8;

/// How many calls without an answer a session knows one by one. Of more it is not known when they are over.
const MAX_UNANSWERED: usize = 64;

/// Calls of a session that were cancelled, or failed without an answer, and that the server may still run.
#[derive(Default)]
pub(super) struct AbandonedCalls {
    /// The ids under which the server knows them.
    calls: Vec<u64>,
    /// Whether there are others, whose answers would say nothing.
    has_others: bool,
    /// When the latest was given up.
    latest: Option<Instant>,
}

impl AbandonedCalls {
    /// Whether the server may still ask for something within such a call.
    pub(super) fn may_ask(&self) -> bool {
        self.latest
            .is_some_and(|latest| latest.elapsed() <= REQUEST_STATE_TTL)
    }

    /// A call is given up; without an id, no answer will say that it is over.
    fn add(&mut self, call: Option<u64>) {
        if !self.may_ask() {
            *self = Self::default();
        }
        match call {
            Some(call) if self.calls.len() < MAX_UNANSWERED => self.calls.push(call),
            _ => self.has_others = true,
        }
        self.latest = Some(Instant::now());
    }

    /// The server has answered a call that was given up: it is over.
    fn answered(&mut self, call: u64) {
        let before = self.calls.len();
        self.calls.retain(|known| *known != call);
        if self.calls.len() < before && self.calls.is_empty() && !self.has_others {
            self.latest = None;
        }
    }
}

impl Sessions {
    /// The session for a client that says this of itself, and for a call within which the server may ask.
    pub(super) fn session_for(&mut self, (asker, may_ask): (Asker, bool)) -> Option<ConnectionId> {
        let is_alone = may_ask && self.keeps_apart && asker.may_be_asked();
        let first = self.first_of(&asker);
        let known = self.known_session(&asker, first, is_alone);
        if let Some(link) = known {
            self.put_first(link, first);
            if let Some(session) = self.sessions.get_mut(&link) {
                session.used = Instant::now();
                return Some(link);
            }
        }
        let is_beside = first.is_some();
        let before = if self.is_full(is_beside) {
            Some(self.idlest(is_beside)?)
        } else {
            None
        };
        let link = if self.first_taken {
            self.open_link(before)
        } else {
            self.first_taken = true;
            FIRST
        };
        self.introduce(link, &asker);
        self.sessions
            .insert(link, Session::new(asker, is_beside, Vec::new()));
        self.put_first(link, first);
        if self.sessions.len() > 1 {
            self.sweep_later();
        }
        Some(link)
    }

    /// The sessions of a client.
    pub(super) fn sessions_of(
        &self,
        asker: &Asker,
    ) -> impl Iterator<Item = (ConnectionId, &Session)> {
        let sessions = self.sessions.iter().map(|(link, session)| (*link, session));
        sessions.filter(|(_, session)| session.asker == *asker)
    }

    /// The session that a client's calls run in one after the other.
    fn first_of(&self, asker: &Asker) -> Option<ConnectionId> {
        let mut own = self.sessions_of(asker);
        let first = own.find(|(_, session)| !session.is_extra);
        first.map(|(link, _)| link)
    }

    /// A client's calls run in this session from here on, if it has no other for them or the server may still
    /// ask there within a call that is over.
    fn put_first(&mut self, link: ConnectionId, first: Option<ConnectionId>) {
        if first.is_none() && self.is_full(false) {
            // It stays beside the first ones, of which there are as many as there may be.
            return;
        }
        let first = first.and_then(|first| self.sessions.get_mut(&first).map(|at| (first, at)));
        if let Some((first, session)) = first {
            if first == link || !(self.has_asked && session.unanswered.may_ask()) {
                return;
            }
            session.is_extra = true;
        }
        if let Some(session) = self.sessions.get_mut(&link) {
            session.is_extra = false;
        }
    }

    /// The session for something that a client asks; with `is_alone` one where nothing runs that the server may
    /// ask within, or any where no more can be opened. None if one is to be opened.
    fn known_session(
        &self,
        asker: &Asker,
        first: Option<ConnectionId>,
        is_alone: bool,
    ) -> Option<ConnectionId> {
        if !is_alone && first.is_some() {
            return first;
        }
        let running = |link: ConnectionId| {
            let calls = self.calls.values();
            calls
                .filter(|call| call.link == link && call.is_asking())
                .count()
        };
        let is_free = |link: ConnectionId, session: &Session| {
            !is_alone || !(self.has_asked && session.unanswered.may_ask()) && running(link) == 0
        };
        let free = self.sessions_of(asker);
        let free = free.filter(|(link, session)| is_free(*link, session));
        if let Some((link, _)) = free.min_by_key(|(_, session)| session.is_extra) {
            return Some(link);
        }
        let is_beside = first.is_some();
        if !self.is_full(is_beside) || self.idlest(is_beside).is_some() {
            return None;
        }
        let own = self.sessions_of(asker).map(|(link, _)| link);
        own.min_by_key(|link| running(*link))
    }

    /// Whether there are as many sessions beside clients' first ones as there may be, or as many of these.
    fn is_full(&self, is_extra: bool) -> bool {
        let alike = self.sessions.values();
        let alike = alike.filter(|session| session.is_extra == is_extra);
        alike.count() >= SESSIONS
    }

    /// The session, of those beside clients' first ones or of these, that could be closed and was not used for
    /// longest.
    pub(super) fn idlest(&self, is_extra: bool) -> Option<ConnectionId> {
        let idle = self.sessions.iter();
        let idle = idle.filter(|(_, session)| session.is_extra == is_extra);
        let idle = idle.filter(|(link, _)| self.is_idle(**link));
        let idlest = idle.min_by_key(|(_, session)| session.used);
        idlest.map(|(link, _)| *link)
    }

    /// Abandons a call that the server may still run.
    pub(super) fn give_up(&mut self, call: &Call) {
        if call.may_ask()
            && let Some(session) = self.sessions.get_mut(&call.link)
        {
            session.unanswered.add(call.final_request());
        }
    }

    /// The server answered an abandoned call.
    pub(super) fn answered_late(&mut self, link: ConnectionId, call: u64) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.unanswered.answered(call);
        }
    }
}
