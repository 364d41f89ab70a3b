//! What a server asks its client for, which here is the answer to a call.
//!
//! The answer says what is asked for, and by what the call is known. The call stays open at the server. The
//! request comes again with what was asked for: that goes to the server, and the call goes on. A call
//! whose request does not come again is given up.

use super::{
    Running, Sessions,
    call::{deliver, target},
};
use crate::{
    bridge::{
        answer,
        driver::{Action, Actions, ConnectionId},
        members, refuse,
    },
    message::{Id, Message, RpcError},
    protocol::{self, code, method},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use crossfeed_json::quoted;
use std::time::Duration;
use tokio::time::Instant;

/// How long a request may take to come again: somebody may have to read and to decide.
pub(super) const REQUEST_STATE_TTL: Duration = Duration::from_secs(600);

/// Calls that wait for their requests to come again.
const MAX_PARKED: usize = 256;

/// What a server may ask for in one call, or while none runs, without an answer.
const MAX_REQUESTS: usize = 32;

/// A request of the server.
pub(super) struct Ask {
    /// Its id, which is the server's.
    id: Id,
    method: String,
    params: Option<Bytes>,
    /// By what the client is to answer it.
    key: String,
}

impl Ask {
    pub(super) fn refuse(&self, link: ConnectionId, reason: &str, actions: &mut Actions) {
        let error = RpcError::new(code::INTERNAL, reason);
        let reply = Message::failure(Some(&self.id), &error);
        actions.push(Action::Send(link, reply, Vec::new()));
    }
}

impl Sessions {
    /// The server asks.
    pub(super) fn asked(
        &mut self,
        link: ConnectionId,
        message: &Message,
        related: Option<&Id>,
        actions: &mut Actions,
    ) {
        let (Some(id), Some(name)) = (message.id(), message.method()) else {
            return;
        };
        let mut reply = |reply| actions.push(Action::Send(link, reply, Vec::new()));
        if name == method::PING {
            reply(Message::response(id, &Bytes::from_static(b"{}")));
            return;
        }
        let Some(session) = self.sessions.get(&link) else {
            return;
        };
        let offered =
            protocol::required_capability(name).is_some_and(|asked| session.offers(asked));
        if !offered {
            let reason = format!("Method not found: {name}");
            let error = RpcError::new(code::METHOD_NOT_FOUND, reason);
            reply(Message::failure(Some(id), &error));
            return;
        }
        let ask = Ask {
            id: id.clone(),
            method: name.to_owned(),
            params: message.params(),
            key: String::new(),
        };
        // What a server asks as soon as it begins says nothing of its calls.
        self.has_asked |= session.has_called;
        let call = match self.call_that_asks(link, related) {
            Ok(call) => call,
            Err(reason) => return ask.refuse(link, reason, actions),
        };
        let asks = match call {
            Some(call) => self.calls.get_mut(&call).map(|call| &mut call.asks),
            None => self
                .sessions
                .get_mut(&link)
                .map(|session| &mut session.asks),
        };
        match asks {
            Some(asks) if asks.len() < MAX_REQUESTS => asks.push(ask),
            _ => {
                let reason = format!("more than {MAX_REQUESTS} requests at once");
                return ask.refuse(link, &reason, actions);
            }
        }
        if let Some(call) = call {
            self.ask_client(call, actions);
        }
    }

    /// The call within which the server asks; none if it is to wait for the next.
    ///
    /// Where the transport does not say, it is the latest that the client waits for, since the one before
    /// would have asked before. Where several clients share the session, nothing is guessed: one would be
    /// shown what another's call asks.
    fn call_that_asks(
        &self,
        link: ConnectionId,
        related: Option<&Id>,
    ) -> Result<Option<u64>, &'static str> {
        let may_ask = |call: &super::Call| call.link == link && call.may_ask();
        if let Some(id) = related {
            let call = self.call_of(link, id);
            return call
                .filter(|call| self.calls.get(call).is_some_and(may_ask))
                .map(Some)
                .ok_or("the request within which this is asked is over, or is none that may ask");
        }
        let mut asking = self.calls.iter().rev().filter(|(_, call)| may_ask(call));
        if self.is_shared {
            let (first, second) = (asking.next(), asking.next());
            let session = self.sessions.get(&link);
            let is_sure = session.is_some_and(|session| match first {
                Some(_) => second.is_none() && !session.unanswered.may_ask(),
                None => !session.has_called,
            });
            return if is_sure {
                Ok(first.map(|(number, _)| *number))
            } else {
                Err("it is not known which of several clients this asks")
            };
        }
        let mut parked = None;
        let waiting = asking.find(|(number, call)| {
            if call.client.is_none() {
                parked = parked.or(Some(**number));
            }
            call.client.is_some()
        });
        Ok(waiting.map(|(number, _)| *number).or(parked))
    }

    /// A call begins that can ask for what the server asked for before.
    pub(super) fn ask_what_was_held(
        &mut self,
        link: ConnectionId,
        call: u64,
        actions: &mut Actions,
    ) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        session.has_called = true;
        let held = std::mem::take(&mut session.asks);
        if !held.is_empty() {
            if let Some(call) = self.calls.get_mut(&call) {
                call.asks.extend(held);
            }
            self.ask_client(call, actions);
        }
    }

    /// Answers a call with what the server asks for, if the client waits.
    fn ask_client(&mut self, number: u64, actions: &mut Actions) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        let Some(client) = call.client.take() else {
            return;
        };
        self.by_client.remove(&client);
        let Some(state) = state() else {
            call.client = Some(client.clone());
            let error = RpcError::new(code::INTERNAL, "there is no randomness");
            actions.push(refuse(&client, &error));
            return self.cancel(number, None, actions);
        };
        let mut asks = vec![b'{'];
        for ask in &mut call.asks {
            if ask.key.is_empty() {
                call.asked += 1;
                ask.key = format!("input_{}", call.asked);
            }
            let name = quoted(&ask.method);
            let mut members = vec![("method", name.as_bytes())];
            if let Some(params) = &ask.params {
                members.push(("params", params));
            }
            if asks.len() > 1 {
                asks.push(b',');
            }
            asks.extend_from_slice(format!("\"{}\":", ask.key).as_bytes());
            asks.extend_from_slice(&members::object(&members));
        }
        asks.push(b'}');
        let result = members::object::<&[u8]>(&[
            ("resultType", br#""input_required""#),
            ("inputRequests", &asks),
            ("requestState", quoted(&state).as_bytes()),
        ]);
        actions.push(answer(&client, &result));
        call.parked = Some((state.clone(), Instant::now()));
        self.by_state.insert(state, number);
        if self.by_state.len() > MAX_PARKED {
            let oldest = self.calls.iter().filter_map(|(number, call)| {
                let (_, since) = call.parked.as_ref()?;
                Some((*since, *number))
            });
            if let Some((_, oldest)) = oldest.min() {
                self.cancel(oldest, None, actions);
            }
        }
        self.sweep_later(actions);
    }

    /// A request comes again.
    pub(super) fn came_again(
        &mut self,
        id: Id,
        message: &Message,
        state: &str,
        actions: &mut Actions,
    ) {
        let params = message.params().unwrap_or_default();
        let call = self.by_state.get(state).copied();
        let same = |number: &u64| {
            self.calls.get(number).is_some_and(|call| {
                Some(call.method.as_str()) == message.method() && call.target == target(&params)
            })
        };
        let Some(number) = call.filter(same) else {
            let reason = "`requestState` is unknown, or its time has passed: call again without it";
            actions.push(refuse(&id, &RpcError::new(code::INVALID_PARAMS, reason)));
            return;
        };
        self.by_state.remove(state);
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        call.parked = None;
        call.came(id.clone(), &params);
        call.tell_kept_progress(actions);
        let link = call.link;
        let level = call.level;
        let responses = members::get(&params, &["inputResponses"]);
        let mut told = Vec::new();
        call.asks.retain(|ask| {
            let response = responses
                .as_ref()
                .and_then(|responses| members::get(responses, &[&ask.key]))
                .filter(|response| response.starts_with(b"{"));
            let is_told = response.is_some();
            told.extend(response.map(|response| Message::response(&ask.id, &response)));
            !is_told
        });
        let outcome = call.outcome.take();
        let asks = !call.asks.is_empty();
        self.by_client.insert(id, Running::Call(number));
        if let Some(outcome) = outcome {
            if let Some(call) = self.finish(number) {
                deliver(call, outcome, actions);
            }
            return;
        }
        if let Some(level) = level {
            self.ask_for_logs(link, level, actions);
        }
        for reply in told {
            actions.push(Action::Send(link, reply, Vec::new()));
        }
        if asks {
            self.ask_client(number, actions);
        }
    }

    /// The server does not wait for an answer any longer.
    pub(super) fn ask_taken_back(&mut self, link: ConnectionId, id: &Id) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.asks.retain(|ask| ask.id != *id);
        }
        for call in self.calls.values_mut().filter(|call| call.link == link) {
            call.asks.retain(|ask| ask.id != *id);
        }
    }

    /// Gives up calls whose requests did not come again.
    pub(super) fn expire_calls(&mut self, actions: &mut Actions) {
        let expired = |call: &super::Call| {
            let parked = call.parked.as_ref();
            parked.is_some_and(|(_, since)| since.elapsed() > REQUEST_STATE_TTL)
        };
        let calls = self.calls.iter().filter(|(_, call)| expired(call));
        for call in calls.map(|(call, _)| *call).collect::<Vec<_>>() {
            self.cancel(call, None, actions);
        }
    }
}

/// By what a call is known: nobody can guess it.
fn state() -> Option<String> {
    let mut random = [0; 24];
    getrandom::fill(&mut random).ok()?;
    Some(URL_SAFE_NO_PAD.encode(random))
}
