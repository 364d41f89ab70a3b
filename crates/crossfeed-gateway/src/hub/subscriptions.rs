//! Subscriptions of the stateless era: one request that stays, and what servers tell on its behalf.
//!
//! What comes in: `subscriptions/listen` of a client, and what servers say under the ids that it has
//! with them. What goes out: one acknowledgement, and everything that follows, under the client's own
//! id. Servers that come back are asked again. Deliberately not here: sessions, whose clients are told
//! without asking.

use super::{
    Client,
    calls::Request,
    connection::{Failure, PendingReply, ServerConnection},
    connection_set::ConnectionSet,
    initialize::START_GRACE,
    read, supervisor,
};
use crate::{
    apart::read_apart,
    config::Unlisted,
    members::object,
    message::{Id, Message},
    port::MessageSink,
    protocol::{LIST_CHANGES, meta, method},
    upstream::UpstreamError,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc};

/// The key under which it is said which subscription something is for.
const SUBSCRIPTION: [&str; 2] = ["_meta", meta::SUBSCRIPTION_ID];

/// Messages that wait for the acknowledgement that stands before them, and bytes of them; more are left
/// out.
const MAX_HELD: usize = 256;
const MAX_HELD_BYTES: usize = 1 << 20;

/// A subscription of a client.
pub(super) struct Subscription {
    /// The client's id of it.
    id: Id,
    params: Bytes,
    reply: Arc<dyn MessageSink>,
    /// Servers that were asked, and did not say yet whether they will tell anything.
    pending: Vec<usize>,
    /// Servers that tell, and under which id of ours.
    parts: Vec<(usize, u64)>,
    accepted: Map<String, Value>,
    is_acknowledged: bool,
    held: Vec<Message>,
    /// What the first server said that will not.
    failure: Option<Message>,
}

impl Subscription {
    /// What is to be sent once all were heard: the acknowledgement, and what had to wait for it.
    fn acknowledge(&mut self) -> Option<Vec<Message>> {
        self.pending.is_empty().then(|| self.acknowledge_now())?
    }

    /// The same, whoever is still to be heard.
    fn acknowledge_now(&mut self) -> Option<Vec<Message>> {
        if self.is_acknowledged {
            return None;
        }
        self.is_acknowledged = true;
        let accepted = Value::Object(std::mem::take(&mut self.accepted)).to_string();
        let params = object(&[("_meta", self.meta()), ("notifications", accepted.into())]);
        let mut messages = vec![Message::notification(method::ACKNOWLEDGED, Some(&params))];
        messages.append(&mut self.held);
        Some(messages)
    }

    /// Keeps a message for who will have been told first that it listens.
    fn hold(&mut self, message: Message) {
        let bytes: usize = self.held.iter().map(Message::len).sum();
        if self.held.len() < MAX_HELD && bytes + message.len() <= MAX_HELD_BYTES {
            self.held.push(message);
        }
    }

    /// Whether the client wants to be told of a change, by the method that tells it.
    fn wants(&self, method: &str) -> bool {
        let change = LIST_CHANGES.iter().find(|(_, own, _)| *own == method);
        change.is_some_and(|(_, _, flag)| {
            read::raw(&self.params, &["notifications", flag]).as_deref() == Some(b"true")
        })
    }

    /// The notification of a change.
    fn change(&self, method: &str) -> Message {
        let params = object(&[("_meta", self.meta())]);
        Message::notification(method, Some(&params))
    }

    /// What says which subscription it is, as its client wrote it.
    fn meta(&self) -> Bytes {
        object(&[(SUBSCRIPTION[1], self.id.raw())])
    }
}

impl Request {
    /// Asks every server to tell what the client wants to hear of.
    pub(super) async fn listen(self, message: Message) {
        let Some((id, reply)) = self.client.id_and_reply(self.serial) else {
            return;
        };
        let params = message
            .params()
            .unwrap_or_else(|| Bytes::from_static(b"{}"));
        let links: Vec<Arc<ServerConnection>> = match self.side.only() {
            Some(link) => vec![Arc::clone(link)],
            None => {
                super::initialize::some_settled(&self.side).await;
                if read::raw(&params, &["notifications", "resourceSubscriptions"]).is_some() {
                    self.learn_all_resources(&message).await;
                }
                let links = self.side.links.iter();
                links.filter(|link| link.is_open()).cloned().collect()
            }
        };
        let listening = Subscription {
            id,
            params,
            reply,
            pending: links.iter().map(|link| link.server).collect(),
            parts: Vec::new(),
            accepted: Map::new(),
            is_acknowledged: false,
            held: Vec::new(),
            failure: None,
        };
        {
            let mut subscriptions = self.side.subscriptions.lock();
            // Who gives it up meanwhile takes it off the list afterwards.
            if self.client.id_and_reply(self.serial).is_none() {
                return;
            }
            subscriptions.insert(self.serial, listening);
        }
        if links.is_empty() {
            self.side.heard(&self.client, self.serial, None).await;
        }
        for link in links {
            let waiting = PendingReply::Listen {
                serial: self.serial,
            };
            let message = self.side.listen_at(&self.client, &link, message.clone());
            link.request(waiting, message, Vec::new()).await;
        }
        if self.side.only().is_none() {
            tokio::time::sleep(START_GRACE).await;
            self.side.heard_in_time(&self.client, self.serial).await;
        }
    }
}

impl ConnectionSet {
    /// A subscription as a server is to know of it: without the resources and tasks of others.
    fn listen_at(&self, client: &Client, link: &ServerConnection, message: Message) -> Message {
        let is_only = self.only().is_some();
        let asks_all = client.gateway.config().unlisted == Unlisted::AskAll;
        let is_of = |owner: Option<usize>| owner.map_or(asks_all, |owner| owner == link.server);
        let params = message.params().unwrap_or_default();
        let uris = |uri: &str| is_only || is_of(self.owner_of_resource(uri));
        let tasks = |task: &str| client.tasks.is_at(link.server, task, is_only || asks_all);
        let own = kept(&params, "resourceSubscriptions", uris);
        let own = kept(&own, "taskIds", tasks);
        if own == params {
            message
        } else {
            message.with_body(own)
        }
    }

    /// The gateway's own id of a subscription at a server is known once the server says it.
    async fn part(&self, link: &ServerConnection, params: &Bytes) -> Option<(u64, u64)> {
        let id = read_apart(params, |params| read::raw(params, &SUBSCRIPTION)).await?;
        part_of(link, &Id::parse(id)?)
    }

    /// What a server says for a subscription: whose it is, under its own id. Gives the message back if
    /// it is for none.
    pub(super) async fn told_for_subscription(
        self: &Arc<Self>,
        client: &Arc<Client>,
        link: &Arc<ServerConnection>,
        message: Message,
        related: Option<&Id>,
    ) -> Option<Message> {
        let params = message.params().unwrap_or_default();
        let named = self.part(link, &params).await;
        let part = named.or_else(|| part_of(link, related?));
        let Some((serial, upstream_id)) = part else {
            return Some(message);
        };
        let id = (self.subscriptions.lock().get(&serial)).map(|listening| listening.id.clone());
        let Some(id) = id else {
            // What names a subscription that ended meanwhile names it by the gateway's own id.
            return named.is_none().then_some(message);
        };
        let with_id = move |params: &Bytes| read::replaced(params, &SUBSCRIPTION, id.raw());
        let mapped = read_apart(&params, with_id).await;
        let mapped = message.clone().with_body(mapped);
        let method = message.method().unwrap_or_default();
        let is_only = self.only().is_some();
        let accepted = if method == method::ACKNOWLEDGED && !is_only {
            read_apart(&params, accepted).await
        } else {
            None
        };
        let (reply, messages) = {
            let mut subscriptions = self.subscriptions.lock();
            let listening = subscriptions.get_mut(&serial)?;
            let reply = Arc::clone(&listening.reply);
            if method == method::ACKNOWLEDGED {
                // Once is enough.
                let mut asked = listening.pending.iter();
                let at = asked.position(|server| *server == link.server)?;
                listening.pending.swap_remove(at);
                listening.parts.push((link.server, upstream_id));
                if let Some(accepted) = accepted.filter(|_| !listening.is_acknowledged) {
                    accept(&mut listening.accepted, accepted);
                }
                if is_only && !listening.is_acknowledged {
                    // As it came.
                    listening.is_acknowledged = true;
                    let mut messages = vec![mapped];
                    messages.append(&mut listening.held);
                    (reply, messages)
                } else {
                    (reply, listening.acknowledge().unwrap_or_default())
                }
            } else if listening.is_acknowledged {
                (reply, vec![mapped])
            } else {
                listening.hold(mapped);
                return None;
            }
        };
        self.deliver(client, serial, &reply, messages).await;
        None
    }

    async fn deliver(
        self: &Arc<Self>,
        client: &Arc<Client>,
        serial: u64,
        reply: &Arc<dyn MessageSink>,
        messages: Vec<Message>,
    ) {
        for message in messages {
            if reply.send(message).await.is_err() {
                client.cancel_soon(serial);
                return;
            }
        }
    }

    /// A server will tell nothing, or nothing more.
    pub(super) async fn listened(
        self: &Arc<Self>,
        client: &Arc<Client>,
        link: &Arc<ServerConnection>,
        serial: u64,
        answer: Result<Message, Failure>,
    ) {
        if self.only().is_some() {
            // As it came, under the client's own id.
            let listening = self.subscriptions.lock().remove(&serial);
            match answer {
                Ok(message) => {
                    let result = message.body().unwrap_or_default();
                    let mapped = read_apart(&result, move |result| match listening {
                        Some(own) => read::replaced(result, &SUBSCRIPTION, own.id.raw()),
                        None => result.clone(),
                    });
                    let mapped = mapped.await;
                    client.answer(serial, message.with_body(mapped)).await;
                }
                Err(failure) => client.fail(serial, &link.name, failure).await,
            }
            return;
        }
        let mut is_cut_off = false;
        if let Some(listening) = self.subscriptions.lock().get_mut(&serial) {
            let parts = listening.parts.len();
            listening.pending.retain(|server| *server != link.server);
            listening.parts.retain(|(server, _)| *server != link.server);
            is_cut_off = listening.parts.len() < parts;
        }
        if let Err(Failure::Unavailable(error)) = &answer
            && is_cut_off
            && error.clone().before_sending() == UpstreamError::SessionOver
            && link.is_open()
        {
            // Behind a bridge a session was renewed: the server is there, and has forgotten who listens.
            supervisor::announce_again(Arc::clone(link));
        }
        let failure = match answer {
            Err(Failure::Error(message)) => Some(*message),
            Ok(_) | Err(Failure::Unavailable(_)) => None,
        };
        self.heard(client, serial, failure).await;
    }

    /// One more server was heard: when all were, the subscription stands, or none of them has any.
    async fn heard(self: &Arc<Self>, client: &Arc<Client>, serial: u64, failure: Option<Message>) {
        let sent = {
            let mut subscriptions = self.subscriptions.lock();
            let Some(listening) = subscriptions.get_mut(&serial) else {
                return;
            };
            if listening.failure.is_none() {
                listening.failure = failure;
            }
            let refused = listening.pending.is_empty()
                && listening.parts.is_empty()
                && !listening.is_acknowledged;
            match (refused, listening.failure.take()) {
                (true, Some(failure)) => {
                    subscriptions.remove(&serial);
                    Err(failure)
                }
                (_, failure) => {
                    listening.failure = failure;
                    let messages = listening.acknowledge().unwrap_or_default();
                    Ok((Arc::clone(&listening.reply), messages))
                }
            }
        };
        match sent {
            Err(failure) => client.answer(serial, failure).await,
            Ok((reply, messages)) => self.deliver(client, serial, &reply, messages).await,
        }
    }

    /// Servers that have said nothing by now are not waited for: what they will tell, they tell later.
    async fn heard_in_time(self: &Arc<Self>, client: &Arc<Client>, serial: u64) {
        let messages = {
            let mut subscriptions = self.subscriptions.lock();
            let listening = subscriptions.get_mut(&serial);
            listening.and_then(|listening| {
                Some((Arc::clone(&listening.reply), listening.acknowledge_now()?))
            })
        };
        if let Some((reply, messages)) = messages {
            self.deliver(client, serial, &reply, messages).await;
        }
    }

    /// Tells all who listen to it that a list has changed.
    pub(super) async fn tell_listeners(self: &Arc<Self>, client: &Arc<Client>, method: &str) {
        let told: Vec<_> = {
            let subscriptions = self.subscriptions.lock();
            let listening = subscriptions
                .iter()
                .filter(|(_, listening)| listening.is_acknowledged && listening.wants(method));
            let told = listening.map(|(serial, listening)| {
                let message = listening.change(method);
                (*serial, Arc::clone(&listening.reply), message)
            });
            told.collect()
        };
        for (serial, reply, message) in told {
            self.deliver(client, serial, &reply, vec![message]).await;
        }
    }

    /// A server is there that was not: who listens is told what may have changed, and the server is
    /// asked to tell more.
    pub(super) async fn listen_again(
        self: &Arc<Self>,
        client: &Arc<Client>,
        link: &Arc<ServerConnection>,
    ) {
        let about = link.state.lock().about.clone().unwrap_or_default();
        let mut told = Vec::new();
        let mut asked = Vec::new();
        for (serial, listening) in self.subscriptions.lock().iter_mut() {
            if listening
                .parts
                .iter()
                .any(|(server, _)| *server == link.server)
                || listening.pending.contains(&link.server)
            {
                continue;
            }
            listening.pending.push(link.server);
            asked.push((
                *serial,
                Message::request(&Id::number(0), method::LISTEN, Some(&listening.params)),
            ));
            if !listening.is_acknowledged {
                continue;
            }
            for (capability, method, _) in LIST_CHANGES {
                let has = read::raw(&about, &["capabilities", capability]).is_some();
                if has && listening.wants(method) {
                    let message = listening.change(method);
                    told.push((*serial, Arc::clone(&listening.reply), message));
                }
            }
        }
        for (serial, reply, message) in told {
            self.deliver(client, serial, &reply, vec![message]).await;
        }
        for (serial, message) in asked {
            let message = self.listen_at(client, link, message);
            link.request(PendingReply::Listen { serial }, message, Vec::new())
                .await;
        }
    }
}

/// The client's request, and the gateway's own id, of a subscription at a server.
fn part_of(link: &ServerConnection, id: &Id) -> Option<(u64, u64)> {
    Some((link.serial_of(id)?, id.as_number()?))
}

/// Parameters without those texts of a list of what is to be told that are not wanted.
fn kept(params: &Bytes, key: &str, is_wanted: impl Fn(&str) -> bool) -> Bytes {
    let path = ["notifications", key];
    let Some(list) = read::raw(params, &path) else {
        return params.clone();
    };
    let Ok(mut texts) = serde_json::from_slice::<Vec<String>>(&list) else {
        return read::replaced(params, &path, b"[]");
    };
    let before = texts.len();
    texts.retain(|text| is_wanted(text));
    if texts.len() == before {
        params.clone()
    } else {
        read::replaced(params, &path, Value::from(texts).to_string().as_bytes())
    }
}

/// What a server says in an acknowledgement that it will tell.
fn accepted(params: &Bytes) -> Option<Map<String, Value>> {
    serde_json::from_slice(&read::raw(params, &["notifications"])?).ok()
}

/// What either server will tell.
fn accept(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Array(into)), Value::Array(from)) => {
                let mut there: HashSet<_> = into.iter().map(Value::to_string).collect();
                into.extend(
                    from.into_iter()
                        .filter(|item| there.insert(item.to_string())),
                );
            }
            (Some(there @ Value::Bool(false)), value) => *there = value,
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Disconnected;

    struct Nowhere;

    #[async_trait::async_trait]
    impl MessageSink for Nowhere {
        async fn send(&self, _: Message) -> Result<(), Disconnected> {
            Err(Disconnected)
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut listening = Subscription {
            id: Id::number(1),
            params: Bytes::new(),
            reply: Arc::new(Nowhere),
            pending: Vec::new(),
            parts: Vec::new(),
            accepted: Map::new(),
            is_acknowledged: false,
            held: Vec::new(),
            failure: None,
        };
        let of = |bytes| Message::notification("x", Some(&vec![b' '; bytes].into()));
        for _ in 0..9 {
            listening.hold(of(200 << 10));
        }
        assert_eq!(listening.held.len(), 5);
        for _ in 0..1000 {
            listening.hold(of(1));
        }
        assert_eq!(listening.held.len(), MAX_HELD);
    }
}
