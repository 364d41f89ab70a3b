//! Subscriptions of a session, and lists that change: one request that stays open at the server.
//!
//! A change of the subscriptions opens a new request for all of them; once the server has acknowledged it, the old one is
//! closed, so that nothing is missed in between. A request that ends is opened again at growing intervals, and the client
//! hears that everything may have changed meanwhile.

use super::{Intent, Session};
use crate::{
    bridge::{
        about_resource,
        desk::unknown_method,
        driver::{Action, FIRST},
        listened,
        members::{self, EMPTY},
    },
    message::{Id, Message},
    protocol::{LIST_CHANGES, code, meta, method},
};
use bytes::Bytes;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The timer for listening again; calls have others.
pub(super) const TIMER: u64 = 0;

/// Resources that one client may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The pause before listening again: doubled each time, up to the longest.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The subscriptions.
#[derive(Default)]
pub(super) struct Listening {
    uris: BTreeSet<String>,
    /// Requests that wait for an acknowledgement, and their resources.
    waiting: Vec<(Id, String)>,
    /// The acknowledged request.
    current: Option<(u64, Instant)>,
    /// The request without an acknowledgement, and its resources.
    next: Option<(u64, BTreeSet<String>)>,
    /// The subscriptions have changed since `next` was sent.
    changed: bool,
    /// How often it ended soon.
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

    /// Opens the request for all subscriptions, if there are any.
    pub(super) fn listen(&mut self) {
        self.listening.pausing = false;
        if self.listening.impossible {
            return;
        }
        if self.listening.next.is_some() {
            self.listening.changed = true;
            return;
        }
        self.listening.changed = false;
        let changes = |list: &str| self.server_can(&[list, "listChanged"]);
        let Some(filter) = listened(changes, &self.listening.uris) else {
            if let Some((number, _)) = self.listening.current.take() {
                self.desk.cancel(FIRST, number, None);
            }
            return;
        };
        let params = members::object(&[("notifications", &filter)]);
        let number = self.ask(method::LISTEN, Some(&params), Intent::Listen);
        self.listening.next = number.map(|number| (number, self.listening.uris.clone()));
    }

    /// Closes what is open, for good.
    pub(super) fn listen_no_more(&mut self) {
        self.listening.impossible = true;
        let current = self.listening.current.take().map(|(number, _)| number);
        let next = self.listening.next.take().map(|(number, _)| number);
        for number in current.into_iter().chain(next) {
            self.desk.cancel(FIRST, number, None);
        }
    }

    pub(super) fn acknowledged(&mut self, message: &Message) {
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
            Some((before, _)) => self.desk.cancel(FIRST, before, None),
            None if self.listening.ended > 0 => self.tell_of_everything(),
            None => {}
        }
        let honoured = members::get_texts(&params, &["notifications", "resourceSubscriptions"]);
        let honoured: BTreeSet<_> = honoured.into_iter().collect();
        self.settle_waiting(|uri| asked.contains(uri), &honoured);
        if self.listening.changed {
            self.listen();
        }
    }

    /// Notifies the client of everything that may have changed without a request open.
    fn tell_of_everything(&mut self) {
        for (list, notification, _) in LIST_CHANGES {
            if self.server_can(&[list, "listChanged"]) {
                self.desk
                    .tell(Message::notification(notification, None), None);
            }
        }
        for uri in &self.listening.uris {
            let params = Some(about_resource(uri));
            let updated = Message::notification(method::RESOURCE_UPDATED, params.as_ref());
            self.desk.tell(updated, None);
        }
    }

    pub(super) fn listen_ended(&mut self, number: u64, error: Option<Bytes>) {
        let code = error.and_then(|error| members::get_number(&error, &["code"]));
        let is_unknown = code == Some(code::METHOD_NOT_FOUND);
        let current = &mut self.listening.current;
        let lived = match current.take_if(|(current, _)| *current == number) {
            Some((_, since)) => since.elapsed() > MAX_PAUSE,
            None => {
                let next = self.listening.next.take_if(|(next, _)| *next == number);
                let Some((_, asked)) = next else {
                    return;
                };
                self.settle_waiting(|uri| is_unknown || asked.contains(uri), &BTreeSet::new());
                if self.listening.changed && !is_unknown {
                    return self.listen();
                }
                // The request before stays open.
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
            self.desk.act(Action::Wake(pause.min(MAX_PAUSE), TIMER));
        }
    }

    /// Answers the requests for `settled` resources, and refuses those that the server does not honour.
    fn settle_waiting(&mut self, settled: impl Fn(&str) -> bool, honoured: &BTreeSet<String>) {
        let waiting = &mut self.listening.waiting;
        for (client, uri) in waiting.extract_if(.., |(_, uri)| settled(uri)) {
            if honoured.contains(&uri) {
                self.desk.answer(&client, &EMPTY);
                continue;
            }
            self.listening.uris.remove(&uri);
            let reason = "the server does not admit the subscription";
            self.desk.invalid(&client, reason);
        }
    }

    pub(super) fn subscribe(&mut self, id: Id, params: Option<Bytes>) {
        if !self.server_can(&["resources", "subscribe"]) || self.listening.impossible {
            return self.desk.refuse(&id, &unknown_method(method::SUBSCRIBE));
        }
        let Some(uri) = members::get_text(&params.unwrap_or_default(), &["uri"]) else {
            return self.desk.invalid(&id, "`uri` is not a string");
        };
        if self.listening.uris.contains(&uri) {
            let waiting = &mut self.listening.waiting;
            if waiting.iter().any(|(_, waiting)| *waiting == uri) {
                return waiting.push((id, uri));
            }
            return self.desk.answer(&id, &EMPTY);
        }
        if self.listening.uris.len() >= MAX_SUBSCRIPTIONS {
            let reason = format!("more than {MAX_SUBSCRIPTIONS} subscriptions");
            return self.desk.invalid(&id, &reason);
        }
        self.listening.uris.insert(uri.clone());
        self.listening.waiting.push((id, uri));
        self.listen();
    }

    pub(super) fn unsubscribe(&mut self, id: &Id, params: Option<Bytes>) {
        let uri = members::get_text(&params.unwrap_or_default(), &["uri"]);
        let Some(uri) = uri else {
            return self.desk.invalid(id, "`uri` is not a string");
        };
        if self.listening.uris.remove(&uri) {
            // No acknowledgement will name it.
            let taken_back = |(_, waiting): &mut (Id, String)| *waiting == uri;
            for (client, _) in self.listening.waiting.extract_if(.., taken_back) {
                self.desk.answer(&client, &EMPTY);
            }
            self.listen();
        }
        self.desk.answer(id, &EMPTY);
    }
}
