//! Subscriptions of clients, fed by the notifications of the server in its session.

use super::{Asker, Intent, Sessions, session::ClientRequest};
use crate::{
    bridge::{
        about_resource,
        driver::ConnectionId,
        listened,
        members::{self, EMPTY},
    },
    message::{Id, Message},
    protocol::{LIST_CHANGES, meta, method},
};
use bytes::Bytes;
use std::collections::BTreeSet;

/// Subscriptions of one bridge, and resources of one of them.
const MAX_LISTENS: usize = 64;
const MAX_RESOURCES: usize = 256;

/// A subscription.
pub(super) struct Listen {
    pub(super) client: Id,
    pub(super) link: ConnectionId,
    /// The notifications that are wanted, of those that say that a list has changed.
    wanted: Vec<&'static str>,
    uris: BTreeSet<String>,
    honoured: BTreeSet<String>,
    /// How many resources the server has not answered about.
    waiting: usize,
    acknowledged: bool,
}

impl Sessions {
    pub(super) fn listen(&mut self, id: Id, asker: Asker, params: &Bytes) {
        let filter = members::get(params, &["notifications"]).unwrap_or_default();
        let uris = members::get_texts(&filter, &["resourceSubscriptions"]);
        let uris: BTreeSet<_> = uris.into_iter().collect();
        let reason = if !filter.starts_with(b"{") {
            Some("`notifications` is not an object".to_owned())
        } else if uris.len() > MAX_RESOURCES {
            Some(format!(
                "more than {MAX_RESOURCES} resources in a subscription"
            ))
        } else if self.listens.len() >= MAX_LISTENS {
            Some(format!("more than {MAX_LISTENS} subscriptions"))
        } else {
            None
        };
        if let Some(reason) = reason {
            return self.desk.invalid(&id, &reason);
        }
        let wanted = LIST_CHANGES
            .iter()
            .filter(|(_, _, flag)| members::is_true(&filter, &[flag]));
        let wanted = wanted.map(|(list, _, _)| *list).collect();
        let number = self.desk.number();
        let Some(link) = self.in_session(&id, (asker, false), ClientRequest::Listen(number)) else {
            return;
        };
        self.by_client
            .insert(id.clone(), ClientRequest::Listen(number));
        let listen = Listen {
            client: id,
            link,
            wanted,
            uris,
            honoured: BTreeSet::new(),
            waiting: 0,
            acknowledged: false,
        };
        self.listens.insert(number, listen);
        self.go_on(link, ClientRequest::Listen(number));
    }

    pub(super) fn begin_listening(&mut self, number: u64) {
        let Some(listen) = self.listens.get_mut(&number) else {
            return;
        };
        let Some(session) = self.sessions.get(&listen.link) else {
            return;
        };
        listen
            .wanted
            .retain(|list| session.has(&[list, "listChanged"]));
        let can_subscribe = session.has(&["resources", "subscribe"]);
        let uris = listen.uris.iter().filter(|_| can_subscribe).cloned();
        let uris: Vec<_> = uris.collect();
        listen.waiting = uris.len();
        let link = listen.link;
        for uri in uris {
            let params = about_resource(&uri);
            let sent = Intent::Subscribe {
                listen: number,
                uri,
            };
            self.desk.ask(link, method::SUBSCRIBE, &params, sent);
        }
        self.acknowledge(number);
    }

    /// The server answered about a resource.
    pub(super) fn subscribed(
        &mut self,
        link: ConnectionId,
        number: u64,
        uri: String,
        admitted: bool,
    ) {
        if admitted && let Some(session) = self.sessions.get_mut(&link) {
            *session.subscriptions.entry(uri.clone()).or_default() += 1;
        }
        let Some(listen) = self.listens.get_mut(&number) else {
            if admitted {
                self.unsubscribe(link, &uri);
            }
            return;
        };
        listen.waiting = listen.waiting.saturating_sub(1);
        if admitted {
            listen.honoured.insert(uri);
        }
        self.acknowledge(number);
    }

    fn acknowledge(&mut self, number: u64) {
        let Some(listen) = self.listens.get_mut(&number) else {
            return;
        };
        if listen.waiting > 0 || listen.acknowledged {
            return;
        }
        listen.acknowledged = true;
        let filter = listened(|list| listen.wanted.contains(&list), &listen.honoured);
        let about = members::object(&[(meta::SUBSCRIPTION_ID, listen.client.raw())]);
        let filter = filter.as_ref().unwrap_or(&EMPTY);
        let params = members::object(&[("_meta", &about), ("notifications", filter)]);
        let message = Message::notification(method::ACKNOWLEDGED, Some(&params));
        self.desk.tell(message, Some(listen.client.clone()));
    }

    /// Tells those who listen that a list has changed.
    pub(super) fn list_changed(&mut self, link: ConnectionId, list: &str, message: &Message) {
        self.tell_listeners(link, message, |listen| listen.wanted.contains(&list));
    }

    /// Tells those who listen that a resource was updated. Which of a server's resources are parts of
    /// others, only the server knows: it tells of what was subscribed to.
    pub(super) fn updated(&mut self, link: ConnectionId, message: &Message) {
        let params = message.params().unwrap_or_default();
        let uri = members::get_text(&params, &["uri"]).unwrap_or_default();
        let mut here = self.listens.values().filter(|listen| listen.link == link);
        let known = here.any(|listen| listen.honoured.contains(&uri));
        self.tell_listeners(link, message, |listen| {
            if known {
                listen.honoured.contains(&uri)
            } else {
                !listen.honoured.is_empty()
            }
        });
    }

    fn tell_listeners(
        &mut self,
        link: ConnectionId,
        message: &Message,
        wants: impl Fn(&Listen) -> bool,
    ) {
        let listens = self.listens.values();
        for listen in listens.filter(|listen| listen.link == link && listen.acknowledged) {
            if wants(listen) {
                let about = [(meta::SUBSCRIPTION_ID, listen.client.raw().as_ref())];
                let params = members::with(message.params().as_ref(), &[], &about);
                if let Some(params) = params {
                    let message = message.clone().with_body(params);
                    self.desk.tell(message, Some(listen.client.clone()));
                }
            }
        }
    }

    /// A client does not listen any longer.
    pub(super) fn stop_listening(&mut self, number: u64) {
        let Some(listen) = self.listens.remove(&number) else {
            return;
        };
        self.by_client.remove(&listen.client);
        self.forget_held(listen.link, &ClientRequest::Listen(number));
        for uri in listen.honoured {
            self.unsubscribe(listen.link, &uri);
        }
    }

    /// One listens less to a resource.
    fn unsubscribe(&mut self, link: ConnectionId, uri: &str) {
        let Some(session) = self.sessions.get_mut(&link) else {
            return;
        };
        let Some(count) = session.subscriptions.get_mut(uri) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            session.subscriptions.remove(uri);
            let params = about_resource(uri);
            (self.desk).ask(link, method::UNSUBSCRIBE, &params, Intent::AnswerIgnored);
        }
    }
}
