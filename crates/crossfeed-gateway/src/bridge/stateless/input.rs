//! What a server asks its client for, which here is the answer to a call.
//!
//! The answer says what is asked for, and by what the call is known. The call stays open at the server. The
//! request comes again with what was asked for: that goes to the server, and the call goes on. A call
//! whose request does not come again is given up.

use super::{Sessions, call::target, session::ClientRequest};
use crate::{
    bridge::{desk::unknown_method, driver::ConnectionId, members},
    message::{Id, Message, RpcError},
    protocol::{self, code},
    replica,
    upstream::UpstreamError,
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

impl Sessions {
    pub(super) fn refuse_ask(&mut self, link: ConnectionId, ask: Ask, reason: &str) {
        let error = RpcError::new(code::INTERNAL, reason);
        self.desk
            .send(link, Message::failure(Some(&ask.id), &error));
    }

    /// The server asks.
    pub(super) fn input_asked(
        &mut self,
        link: ConnectionId,
        id: &Id,
        message: &Message,
        related: Option<&Id>,
    ) {
        let name = message.method().unwrap_or_default();
        let Some(session) = self.sessions.get(&link) else {
            return;
        };
        let capability = protocol::required_capability(name);
        if !capability.is_some_and(|capability| session.asker.offers(capability)) {
            let reply = Message::failure(Some(id), &unknown_method(name));
            return self.desk.send(link, reply);
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
            Err(reason) => return self.refuse_ask(link, ask, reason),
        };
        let asks = match call {
            Some(call) => self.calls.get_mut(&call).map(|call| &mut call.asks),
            None => (self.sessions.get_mut(&link)).map(|session| &mut session.asks),
        };
        match asks {
            Some(asks) if asks.len() < MAX_REQUESTS => asks.push(ask),
            _ => {
                let reason = format!("more than {MAX_REQUESTS} requests at once");
                return self.refuse_ask(link, ask, &reason);
            }
        }
        if let Some(call) = call {
            self.ask_client(call);
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
    pub(super) fn ask_what_was_held(&mut self, link: ConnectionId, call: u64) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        session.has_called = true;
        let held = std::mem::take(&mut session.asks);
        if !held.is_empty() {
            if let Some(call) = self.calls.get_mut(&call) {
                call.asks.extend(held);
            }
            self.ask_client(call);
        }
    }

    /// Answers a call with what the server asks for, if the client waits.
    fn ask_client(&mut self, number: u64) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        let Some(client) = call.client.take() else {
            return;
        };
        self.by_client.remove(&client);
        let Some(state) = state(self.replica.as_deref()) else {
            call.client = Some(client.clone());
            self.desk.impossible(&client, "there is no randomness");
            return self.cancel_call(number, None);
        };
        let mut asks = Vec::new();
        for ask in &mut call.asks {
            if ask.key.is_empty() {
                call.asked += 1;
                ask.key = format!("input_{}", call.asked);
            }
            let name = quoted(&ask.method);
            let mut members = vec![("method", name.as_bytes())];
            members.extend(ask.params.as_ref().map(|params| ("params", &params[..])));
            asks.push((ask.key.as_str(), members::object(&members)));
        }
        let asks = members::object(&asks);
        let result = members::object::<&[u8]>(&[
            ("resultType", br#""input_required""#),
            ("inputRequests", &asks),
            ("requestState", quoted(&state).as_bytes()),
        ]);
        self.desk.answer(&client, &result);
        call.parked = Some((state.clone(), Instant::now()));
        self.by_state.insert(state, number);
        if self.by_state.len() > MAX_PARKED {
            let oldest = self.calls.iter().filter_map(|(number, call)| {
                let (_, since) = call.parked.as_ref()?;
                Some((*since, *number))
            });
            if let Some((_, oldest)) = oldest.min() {
                self.cancel_call(oldest, None);
            }
        }
        self.sweep_later();
    }

    /// A request comes again.
    pub(super) fn came_again(&mut self, id: Id, message: &Message, state: &str) {
        let params = message.params().unwrap_or_default();
        let call = self.by_state.get(state).copied();
        let same = |number: &u64| {
            self.calls.get(number).is_some_and(|call| {
                Some(call.method.as_str()) == message.method() && call.target == target(&params)
            })
        };
        let Some(number) = call.filter(same) else {
            if replica::replica_of(state).is_some_and(|name| Some(name) != self.replica.as_deref())
            {
                // It waits there, or that one is gone: the call has begun, and is not to be made again.
                let why = "the replica of the gateway at which it waited is gone".to_owned();
                let error = UpstreamError::Unreachable(why).after_taking();
                return self.desk.failed(id, error);
            }
            let reason = "`requestState` is unknown, or its time has passed: call again without it";
            return self.desk.invalid(&id, reason);
        };
        self.by_state.remove(state);
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        call.parked = None;
        call.came(id.clone(), &params);
        for params in std::mem::take(&mut call.progress) {
            call.tell_progress(params, &mut self.desk);
        }
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
        self.by_client.insert(id, ClientRequest::Call(number));
        if let Some(outcome) = outcome {
            if let Some(call) = self.finish(number) {
                self.deliver(call, outcome);
            }
            return;
        }
        if let Some(level) = level {
            self.ask_for_logs(link, level);
        }
        for reply in told {
            self.desk.send(link, reply);
        }
        if asks {
            self.ask_client(number);
        }
    }

    /// The server does not wait for an answer any longer.
    pub(super) fn ask_taken_back(&mut self, link: ConnectionId, id: Option<Id>) {
        let calls = self.calls.values_mut().filter(|call| call.link == link);
        let session = self.sessions.get_mut(&link);
        let asks = calls.map(|call| &mut call.asks);
        for asks in asks.chain(session.map(|session| &mut session.asks)) {
            asks.retain(|ask| Some(&ask.id) != id.as_ref());
        }
    }

    /// Gives up calls whose requests did not come again.
    pub(super) fn expire_calls(&mut self) {
        let expired = |call: &super::Call| {
            let parked = call.parked.as_ref();
            parked.is_some_and(|(_, since)| since.elapsed() > REQUEST_STATE_TTL)
        };
        let calls = self.calls.iter().filter(|(_, call)| expired(call));
        for call in calls.map(|(call, _)| *call).collect::<Vec<_>>() {
            self.cancel_call(call, None);
        }
    }
}

/// The key of a call, which cannot be guessed.
fn state(replica: Option<&str>) -> Option<String> {
    let mut random = [0; 24];
    getrandom::fill(&mut random).ok()?;
    let random = URL_SAFE_NO_PAD.encode(random);
    Some(replica.map_or_else(
        || random.clone(),
        |replica| replica::state(replica, &random),
    ))
}
