//! Answers that want input: the client gets the requests in them, and the server its request again, with the answers.

use super::{Call, CallState, Session};
use crate::{
    bridge::{cancelled, driver::Action, members},
    message::{Id, Kind, Message},
    protocol,
};
use bytes::Bytes;
use crossfeed_json::{Document, Kind as Json};
use std::time::Duration;

/// How often one request may want input, as in the SDKs.
const MAX_ROUNDS: u32 = 10;

/// Requests to the client in one answer.
const MAX_REQUESTS: usize = 32;

/// The pause before a request is sent again to a server that wants no input: doubled each time, up to the longest.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(800);

/// The requests to the client for one call.
#[derive(Default)]
pub(super) struct Round {
    pub(super) state: Option<Bytes>,
    /// The task that wants the input, if one does.
    pub(super) task: Option<Bytes>,
    pub(super) asks: Vec<PendingInput>,
}

pub(super) struct PendingInput {
    /// The key as the server wrote it, without its quotes.
    key: Bytes,
    number: u64,
    answer: Option<Bytes>,
}

/// A request of a server to the client: the key, the method, the parameters.
pub(super) type InputRequest = (Bytes, String, Option<Bytes>);

impl Call {
    /// Counts an answer that wants input; fails at too many.
    pub(super) fn begin_round(&mut self) -> Result<(), String> {
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(format!(
                "the server asked for input more than {MAX_ROUNDS} times"
            ));
        }
        Ok(())
    }
}

impl Session {
    pub(super) fn input_required(&mut self, call: u64, result: &Bytes) {
        let state = members::get(result, &["requestState"]);
        let asks = members::get(result, &["inputRequests"]);
        let asked = asks.map_or(Ok(Vec::new()), |asks| self.read_asks(asks));
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        let asked = match asked.and_then(|asked| running.begin_round().map(|()| asked)) {
            Ok(asked) => asked,
            Err(reason) => return self.fail(call, &reason),
        };
        if asked.is_empty() {
            if state.is_none() {
                return self.fail(call, "the server asks for input without naming any");
            }
            running.state = CallState::Pause(state);
            let pause = MIN_PAUSE * 2_u32.saturating_pow(running.pauses);
            running.pauses += 1;
            self.desk.act(Action::Wake(pause.min(MAX_PAUSE), call));
            return;
        }
        running.pauses = 0;
        let round = Round {
            state,
            ..Round::default()
        };
        self.ask_client(call, asked, round);
    }

    /// Sends the requests of a call, or of its task, to the client.
    pub(super) fn ask_client(&mut self, call: u64, asked: Vec<InputRequest>, mut round: Round) {
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        for (key, method, params) in asked {
            let number = self.desk.number();
            self.asks.insert(number, call);
            round.asks.push(PendingInput {
                key,
                number,
                answer: None,
            });
            let request = Message::request(&Id::number(number), &method, params.as_ref());
            self.desk.tell(request, Some(running.client.clone()));
        }
        running.state = CallState::Client(round);
    }

    pub(super) fn read_asks(&self, asks: Bytes) -> Result<Vec<InputRequest>, String> {
        let document = Document::new(asks);
        let root = document.root().map_err(|error| error.to_string())?;
        if root.kind() != Json::Object {
            return Err("`inputRequests` is not an object".to_owned());
        }
        if root.len().unwrap_or_default() > MAX_REQUESTS {
            return Err(format!(
                "the server asks for more than {MAX_REQUESTS} things at once"
            ));
        }
        let read = |(key, ask): (crossfeed_json::Key<'_>, crossfeed_json::Cursor<'_>)| {
            let method = ask.get("method").and_then(|method| method.as_str());
            let method = method.unwrap_or_default().into_owned();
            match protocol::required_capability(&method) {
                None => Err(format!("the server asks for `{method}`, which it may not")),
                Some(capability) if !self.client.can(capability) => Err(format!(
                    "the server asks for `{method}`, which this client does not offer"
                )),
                Some(_) => {
                    let params = ask.get("params").map(|params| params.shared());
                    Ok((Bytes::copy_from_slice(key.raw()), method, params))
                }
            }
        };
        root.members().map(read).collect()
    }

    /// The client answered a request.
    pub(super) fn input_came(&mut self, message: &Message) {
        let number = message.id().and_then(Id::as_number);
        let Some((number, call)) = number.and_then(|number| self.asks.remove_entry(&number)) else {
            return;
        };
        let Some(CallState::Client(round)) = self.calls.get_mut(&call).map(|call| &mut call.state)
        else {
            return;
        };
        if message.kind() == Kind::Error {
            return self.end(call, |client| message.clone().with_id(client));
        }
        if let Some(ask) = round.asks.iter_mut().find(|ask| ask.number == number) {
            ask.answer = message.result();
        }
        if round.asks.iter().all(|ask| ask.answer.is_some()) {
            let responses = responses(&round.asks);
            let state = round.state.take();
            match round.task.take() {
                Some(task) => self.update_task(call, task, &responses),
                None => self.send_again(call, Some(&responses), state.as_ref()),
            }
        }
    }

    pub(super) fn pause_over(&mut self, call: u64) {
        if let Some(CallState::Pause(state)) = self.calls.get_mut(&call).map(|call| &mut call.state)
        {
            let state = state.take();
            self.send_again(call, None, state.as_ref());
        }
    }

    fn send_again(&mut self, call: u64, responses: Option<&Bytes>, state: Option<&Bytes>) {
        let Some(running) = self.calls.get(&call) else {
            return;
        };
        let said = [("inputResponses", responses), ("requestState", state)];
        let said = said
            .iter()
            .filter_map(|(key, json)| Some((*key, &(*json)?[..])));
        let said: Vec<_> = said.collect();
        match members::with(running.request.params().as_ref(), &said, &[]) {
            Some(params) => {
                let request = running.request.clone().with_body(params);
                self.send(call, request);
            }
            // They were an object before.
            None => self.fail(call, "no parameters"),
        }
    }

    /// Cancels requests to the client that are no longer needed.
    pub(super) fn take_back(&mut self, round: Round) {
        if let Some(task) = &round.task {
            self.cancel_task(task);
        }
        for ask in round.asks {
            if self.asks.remove(&ask.number).is_some() {
                self.desk.tell(cancelled(&Id::number(ask.number)), None);
            }
        }
    }
}

/// The answers under the keys of the requests, as the server wrote these.
fn responses(asks: &[PendingInput]) -> Bytes {
    let answer = |ask: &PendingInput| {
        let answer = ask.answer.as_deref().unwrap_or(b"null");
        [b"\"", &ask.key[..], b"\":", answer].concat()
    };
    let answers: Vec<_> = asks.iter().map(answer).collect();
    [b"{", &answers.join(&b',')[..], b"}"].concat().into()
}
