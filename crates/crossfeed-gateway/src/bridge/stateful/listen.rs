//! Subscriptions of a session, and lists that change: one request that stays open at the server.
//!
//! When what is listened to changes, a request for all of it is opened, and once the server has
//! acknowledged it, the one before is closed: nothing is missed in between. One that ends is opened again,
//! ever more slowly, and the client is told that everything may have changed meanwhile.

use super::{Sent, Session, invalid, no_such_method};
use crate::{
    bridge::{
        answer, cancelled,
        driver::{Action, Actions, FIRST},
        members, tell,
    },
    message::{Id, Message},
    protocol::{LIST_CHANGES, code, meta, method},
};
use bytes::Bytes;
use crossfeed_json::quoted;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The number by which the session is woken to listen again; calls have others.
pub(super) const TIMER: u64 = 0;

/// Resources that one client may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// Before listening again: doubled each time, up to the longest.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// What is listened to.
#[derive(Default)]
pub(super) struct Listening {
    uris: BTreeSet<String>,
    /// Who waits for an acknowledgement, of which resource.
    waiting: Vec<(Id, String)>,
    /// The request that is acknowledged.
    current: Option<(u64, Instant)>,
    /// The request that is not, and what it asks for.
    next: Option<(u64, BTreeSet<String>)>,
    /// What is listened to changed since `next` was sent.
    changed: bool,
    /// How often it ended without having lived.
    ended: u32,
    /// Between two attempts.
    pausing: bool,
    /// The server does not know the method.
    impossible: bool,
}

impl Listening {
    /// A client does not wait any longer.
    pub(super) fn forget(&mut self, client: &Id) {
        self.waiting.retain(|(waiting, _)| waiting != client);
    }
}

impl Session {
    fn server_can(&self, path: &[&str]) -> bool {
        self.server
            .as_ref()
            .is_some_and(|server| members::is_true(&server.capabilities, path))
    }

    /// Opens the request for all that is listened to, if anything is.
    pub(super) fn listen(&mut self, actions: &mut Actions) {
        self.listening.pausing = false;
        if self.listening.impossible {
            return;
        }
        if self.listening.next.is_some() {
            self.listening.changed = true;
            return;
        }
        self.listening.changed = false;
        let uris: Vec<_> = self.listening.uris.iter().map(|uri| quoted(uri)).collect();
        let uris = format!("[{}]", uris.join(","));
        let mut filter: Vec<(&str, &[u8])> = LIST_CHANGES
            .iter()
            .filter(|(list, _, _)| self.server_can(&[list, "listChanged"]))
            .map(|(_, _, flag)| (*flag, b"true".as_slice()))
            .collect();
        if !self.listening.uris.is_empty() {
            filter.push(("resourceSubscriptions", uris.as_bytes()));
        }
        if filter.is_empty() {
            if let Some((number, _)) = self.listening.current.take() {
                self.stop_listening(number, actions);
            }
            return;
        }
        let notifications = members::object(&filter);
        let params = members::object(&[("notifications", &notifications)]);
        let Some(params) = self.with_meta(Some(&params), false) else {
            return;
        };
        let number = self.number();
        self.sent.insert(number, Sent::Listen);
        self.listening.next = Some((number, self.listening.uris.clone()));
        let request = Message::request(&Id::number(number), method::LISTEN, Some(&params));
        actions.push(Action::Send(FIRST, request, Vec::new()));
    }

    /// Closes what is open, for good.
    pub(super) fn listen_no_more(&mut self, actions: &mut Actions) {
        self.listening.impossible = true;
        let current = self.listening.current.take().map(|(number, _)| number);
        let next = self.listening.next.take().map(|(number, _)| number);
        for number in current.into_iter().chain(next) {
            self.stop_listening(number, actions);
        }
    }

    fn stop_listening(&mut self, number: u64, actions: &mut Actions) {
        self.sent.remove(&number);
        let id = Id::number(number);
        actions.push(Action::Send(FIRST, cancelled(&id), Vec::new()));
        actions.push(Action::Abandon(FIRST, id));
    }

    pub(super) fn acknowledged(&mut self, message: &Message, actions: &mut Actions) {
        let params = message.params().unwrap_or_default();
        let id = members::get_id(&params, &["_meta", meta::SUBSCRIPTION_ID]);
        let acknowledged = id.and_then(|id| id.as_number());
        let next = self
            .listening
            .next
            .take_if(|(next, _)| Some(*next) == acknowledged);
        let Some((number, asked)) = next else {
            return;
        };
        let before = self.listening.current.replace((number, Instant::now()));
        match before {
            Some((before, _)) => self.stop_listening(before, actions),
            None if self.listening.ended > 0 => self.tell_of_everything(actions),
            None => {}
        }
        let honoured = members::get_texts(&params, &["notifications", "resourceSubscriptions"]);
        let honoured: BTreeSet<_> = honoured.into_iter().collect();
        for (client, uri) in std::mem::take(&mut self.listening.waiting) {
            if !asked.contains(&uri) {
                self.listening.waiting.push((client, uri));
            } else if honoured.contains(&uri) {
                actions.push(answer(&client, &Bytes::from_static(b"{}")));
            } else {
                self.listening.uris.remove(&uri);
                actions.push(invalid(
                    &client,
                    "the server does not admit the subscription",
                ));
            }
        }
        if self.listening.changed {
            self.listen(actions);
        }
    }

    /// What may have changed while nobody listened.
    fn tell_of_everything(&self, actions: &mut Actions) {
        for (list, notification, _) in LIST_CHANGES {
            if self.server_can(&[list, "listChanged"]) {
                actions.push(tell(Message::notification(notification, None), None));
            }
        }
        for uri in &self.listening.uris {
            let params = members::object(&[("uri", quoted(uri).as_bytes())]);
            actions.push(tell(
                Message::notification(method::RESOURCE_UPDATED, Some(&params)),
                None,
            ));
        }
    }

    pub(super) fn listen_ended(
        &mut self,
        number: u64,
        error: Option<Bytes>,
        actions: &mut Actions,
    ) {
        let code = error.and_then(|error| members::get(&error, &["code"]));
        let is_unknown =
            code.is_some_and(|code| *code == *code::METHOD_NOT_FOUND.to_string().as_bytes());
        let lived = match self
            .listening
            .current
            .take_if(|(current, _)| *current == number)
        {
            Some((_, since)) => since.elapsed() > MAX_PAUSE,
            None => {
                let next = self.listening.next.take_if(|(next, _)| *next == number);
                let Some((_, asked)) = next else {
                    return;
                };
                self.refuse_waiting(|uri| is_unknown || asked.contains(uri), actions);
                if self.listening.changed && !is_unknown {
                    return self.listen(actions);
                }
                // The one before lives on.
                if self.listening.current.is_some() {
                    return;
                }
                false
            }
        };
        if is_unknown {
            self.listening.impossible = true;
            return;
        }
        self.listening.ended = if lived {
            1
        } else {
            self.listening.ended.saturating_add(1)
        };
        if !self.listening.pausing && self.listening.next.is_none() {
            self.listening.pausing = true;
            let pause = MIN_PAUSE.saturating_mul(2_u32.saturating_pow(self.listening.ended - 1));
            actions.push(Action::Wake(pause.min(MAX_PAUSE), TIMER));
        }
    }

    /// Those who wait for these resources wait in vain.
    fn refuse_waiting(&mut self, refused: impl Fn(&str) -> bool, actions: &mut Actions) {
        let waiting = &mut self.listening.waiting;
        for (client, uri) in waiting.extract_if(.., |(_, uri)| refused(uri)) {
            self.listening.uris.remove(&uri);
            actions.push(invalid(
                &client,
                "the server does not admit the subscription",
            ));
        }
    }

    pub(super) fn subscribe(&mut self, id: Id, params: Option<Bytes>, actions: &mut Actions) {
        if !self.server_can(&["resources", "subscribe"]) || self.listening.impossible {
            actions.push(no_such_method(&id, method::SUBSCRIBE));
            return;
        }
        let Some(uri) = members::get_text(&params.unwrap_or_default(), &["uri"]) else {
            actions.push(invalid(&id, "`uri` is not a string"));
            return;
        };
        if self.listening.uris.contains(&uri) {
            let waits = self
                .listening
                .waiting
                .iter()
                .any(|(_, waiting)| *waiting == uri);
            if waits {
                self.listening.waiting.push((id, uri))
            } else {
                actions.push(answer(&id, &Bytes::from_static(b"{}")))
            }
            return;
        }
        if self.listening.uris.len() >= MAX_SUBSCRIPTIONS {
            let reason = format!("more than {MAX_SUBSCRIPTIONS} subscriptions");
            actions.push(invalid(&id, &reason));
            return;
        }
        self.listening.uris.insert(uri.clone());
        self.listening.waiting.push((id, uri));
        self.listen(actions);
    }

    pub(super) fn unsubscribe(&mut self, id: &Id, params: Option<Bytes>, actions: &mut Actions) {
        let uri = members::get_text(&params.unwrap_or_default(), &["uri"]);
        let Some(uri) = uri else {
            actions.push(invalid(id, "`uri` is not a string"));
            return;
        };
        if self.listening.uris.remove(&uri) {
            // What is taken back is not listened to: no acknowledgement will name it.
            let taken_back = |(_, waiting): &mut (Id, String)| *waiting == uri;
            for (client, _) in self.listening.waiting.extract_if(.., taken_back) {
                actions.push(answer(&client, &Bytes::from_static(b"{}")));
            }
            self.listen(actions);
        }
        actions.push(answer(id, &Bytes::from_static(b"{}")));
    }
}
