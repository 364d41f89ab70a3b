//! Subscriptions of the stateless era: one request that stays open, acknowledged once, and the notifications that servers
//! send for it, under the client's own id. Servers that come back are asked again.

use super::{
    Client,
    calls::Request,
    connection::{Failure, PendingReply, ServerConnection},
    connection_set::ConnectionSet,
    initialize::{START_GRACE, some_settled},
    supervisor,
};
use crate::{
    apart::read_apart,
    config::UnlistedPolicy,
    members::{self, EMPTY, object},
    message::{Id, Message, Param},
    port::MessageSink,
    protocol::{LIST_CHANGES, meta, method},
    tools::resources::is_own,
    upstream::UpstreamError,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

/// The path of a subscription's id in its notifications.
const SUBSCRIPTION: [&str; 2] = ["_meta", meta::SUBSCRIPTION_ID];

/// Messages that wait for the acknowledgement, and their bytes; more are dropped.
const MAX_HELD: usize = 256;
const MAX_HELD_BYTES: usize = 1 << 20;

/// A subscription of a client.
pub(super) struct Subscription {
    /// The id that the client gave it.
    id: Id,
    params: Bytes,
    reply: Arc<dyn MessageSink>,
    /// Servers that have not acknowledged it yet.
    pending: BTreeSet<usize>,
    /// Servers that have acknowledged it.
    parts: BTreeSet<usize>,
    accepted: Map<String, Value>,
    is_acknowledged: bool,
    held: Vec<Message>,
    /// The first error of a server.
    failure: Option<Message>,
}

impl Subscription {
    /// The acknowledgement and the messages that waited for it, once: when no server is pending.
    fn acknowledge(&mut self) -> Vec<Message> {
        if self.pending.is_empty() {
            self.acknowledge_now()
        } else {
            Vec::new()
        }
    }

    /// The same without the servers that are still pending.
    fn acknowledge_now(&mut self) -> Vec<Message> {
        let accepted = Value::Object(std::mem::take(&mut self.accepted)).to_string();
        let params = object(&[("_meta", self.meta()), ("notifications", accepted.into())]);
        self.acknowledge_with(Message::notification(method::ACKNOWLEDGED, Some(&params)))
    }

    fn acknowledge_with(&mut self, acknowledgement: Message) -> Vec<Message> {
        if std::mem::replace(&mut self.is_acknowledged, true) {
            return Vec::new();
        }
        let mut messages = vec![acknowledgement];
        messages.append(&mut self.held);
        messages
    }

    /// Keeps a message until the acknowledgement.
    fn hold(&mut self, message: Message) {
        let bytes: usize = self.held.iter().map(Message::len).sum();
        if self.held.len() < MAX_HELD && bytes + message.len() <= MAX_HELD_BYTES {
            self.held.push(message);
        }
    }

    /// Whether the client wants this notification of a change.
    fn wants(&self, method: &str) -> bool {
        let change = LIST_CHANGES.iter().find(|(_, own, _)| *own == method);
        change.is_some_and(|(_, _, flag)| members::is_true(&self.params, &["notifications", flag]))
    }

    /// The notification of a change.
    fn change(&self, method: &str) -> Message {
        let params = object(&[("_meta", self.meta())]);
        Message::notification(method, Some(&params))
    }

    /// The `_meta` with its id as the client wrote it.
    fn meta(&self) -> Bytes {
        object(&[(SUBSCRIPTION[1], self.id.raw())])
    }
}

impl Request {
    /// Subscribes at every server.
    pub(super) async fn listen(self, message: Message) {
        let Some((id, reply)) = self.client.id_and_reply(self.serial) else {
            return;
        };
        let params = message.params().unwrap_or_else(|| EMPTY.clone());
        let links: Vec<Arc<ServerConnection>> = match self.side.only() {
            Some(link) => vec![Arc::clone(link)],
            None => {
                some_settled(&self.side).await;
                if members::get(&params, &["notifications", "resourceSubscriptions"]).is_some() {
                    self.learn_all_resources(message.param(Param::Meta).as_ref())
                        .await;
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
            parts: BTreeSet::new(),
            accepted: Map::new(),
            is_acknowledged: false,
            held: Vec::new(),
            failure: None,
        };
        {
            let mut subscriptions = self.side.subscriptions.lock();
            // A request that is given up meanwhile is removed afterwards.
            if self.client.id_and_reply(self.serial).is_none() {
                return;
            }
            subscriptions.insert(self.serial, listening);
        }
        if links.is_empty() {
            self.side.heard(&self.client, self.serial, None).await;
        }
        for link in links {
            self.side
                .subscribe(&self.client, &link, self.serial, message.clone())
                .await;
        }
        if self.side.only().is_none() {
            tokio::time::sleep(START_GRACE).await;
            let acknowledge_now = Subscription::acknowledge_now;
            self.side
                .deliver(&self.client, self.serial, acknowledge_now)
                .await;
        }
    }
}

impl ConnectionSet {
    /// Subscribes at a server, without the resources and tasks of others.
    async fn subscribe(
        &self,
        client: &Client,
        link: &Arc<ServerConnection>,
        serial: u64,
        message: Message,
    ) {
        let is_only = self.only().is_some();
        let asks_all = client.gateway.config().unlisted == UnlistedPolicy::AskAll;
        let is_of = |owner: Option<usize>| owner.map_or(asks_all, |owner| owner == link.server);
        let params = message.params().unwrap_or_default();
        let ids = read_apart(&params, |params| {
            texts(params, "taskIds").unwrap_or_default()
        });
        let ids = ids.await;
        client.tasks.learn_of(link.server, &ids, is_only).await;
        let uris = |uri: &str| !is_own(uri) && (is_only || is_of(self.owner_of_resource(uri)));
        let tasks = |task: &str| client.tasks.is_at(link.server, task, is_only || asks_all);
        let own = filtered(&params, "resourceSubscriptions", uris);
        let own = filtered(&own, "taskIds", tasks);
        let message = if own == params {
            message
        } else {
            message.with_body(own)
        };
        link.request(PendingReply::Listen { serial }, message, Vec::new())
            .await;
    }

    /// The client's request behind the subscription that a notification names by the gateway's own id.
    async fn named(&self, link: &ServerConnection, params: &Bytes) -> Option<u64> {
        let id = read_apart(params, |params| members::get(params, &SUBSCRIPTION)).await?;
        link.serial_of(&Id::parse(id)?)
    }

    /// Passes a notification of a server to the subscription that it is for, under the client's id. Returns it if it is
    /// for none.
    pub(super) async fn told_for_subscription(
        self: &Arc<Self>,
        client: &Arc<Client>,
        link: &Arc<ServerConnection>,
        message: Message,
        related: Option<&Id>,
    ) -> Option<Message> {
        let params = message.params().unwrap_or_default();
        let named = self.named(link, &params).await;
        let Some(serial) = named.or_else(|| link.serial_of(related?)) else {
            return Some(message);
        };
        let id = (self.subscriptions.lock().get(&serial)).map(|listening| listening.id.clone());
        let Some(id) = id else {
            // One that names a subscription that has ended names it by the gateway's own id.
            return named.is_none().then_some(message);
        };
        let with_id = move |params: &Bytes| members::replaced(params, &SUBSCRIPTION, id.raw());
        let mapped = read_apart(&params, with_id).await;
        let mapped = message.clone().with_body(mapped);
        let is_acknowledgement = message.method() == Some(method::ACKNOWLEDGED);
        let is_only = self.only().is_some();
        let accepted = if is_acknowledgement && !is_only {
            read_apart(&params, accepted).await
        } else {
            None
        };
        let messages = |listening: &mut Subscription| {
            if is_acknowledgement {
                // A server acknowledges once.
                if !listening.pending.remove(&link.server) {
                    return Vec::new();
                }
                listening.parts.insert(link.server);
                if let Some(accepted) = accepted.filter(|_| !listening.is_acknowledged) {
                    accept(&mut listening.accepted, accepted);
                }
                if is_only {
                    // As it came.
                    listening.acknowledge_with(mapped)
                } else {
                    listening.acknowledge()
                }
            } else if listening.is_acknowledged {
                vec![mapped]
            } else {
                listening.hold(mapped);
                Vec::new()
            }
        };
        self.deliver(client, serial, messages).await;
        None
    }

    /// Sends messages of a subscription to its client, and cancels it if the client does not read.
    async fn deliver(
        &self,
        client: &Arc<Client>,
        serial: u64,
        messages: impl FnOnce(&mut Subscription) -> Vec<Message>,
    ) {
        let sent = {
            let mut subscriptions = self.subscriptions.lock();
            let listening = subscriptions.get_mut(&serial);
            listening.map(|listening| (Arc::clone(&listening.reply), messages(listening)))
        };
        let Some((reply, messages)) = sent else {
            return;
        };
        for message in messages {
            if reply.send(message).await.is_err() {
                return client.cancel_soon(serial);
            }
        }
    }

    /// A server has ended, or refused, its part of a subscription.
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
                        Some(own) => members::replaced(result, &SUBSCRIPTION, own.id.raw()),
                        None => result.clone(),
                    });
                    let mapped = mapped.await;
                    client.answer(serial, message.with_body(mapped)).await;
                }
                Err(failure) => client.fail(serial, failure).await,
            }
            return;
        }
        let mut is_cut_off = false;
        if let Some(listening) = self.subscriptions.lock().get_mut(&serial) {
            listening.pending.remove(&link.server);
            is_cut_off = listening.parts.remove(&link.server);
        }
        if let Err(Failure::Unavailable(_, error)) = &answer
            && is_cut_off
            && error.clone().before_sending() == UpstreamError::SessionOver
            && link.is_open()
        {
            // Behind a bridge, a session was renewed: the server is there, but has forgotten its subscriptions.
            supervisor::announce_again(Arc::clone(link));
        }
        let failure = match answer {
            Err(Failure::Error(message)) => Some(*message),
            _ => None,
        };
        self.heard(client, serial, failure).await;
    }

    /// After the answer of a server: acknowledges the subscription when all have answered, or refuses it if all refused.
    async fn heard(&self, client: &Arc<Client>, serial: u64, failure: Option<Message>) {
        let refusal = {
            let mut subscriptions = self.subscriptions.lock();
            let Some(listening) = subscriptions.get_mut(&serial) else {
                return;
            };
            listening.failure = listening.failure.take().or(failure);
            let is_refused = listening.pending.is_empty()
                && listening.parts.is_empty()
                && !listening.is_acknowledged;
            let refusal = listening.failure.take_if(|_| is_refused);
            if refusal.is_some() {
                subscriptions.remove(&serial);
            }
            refusal
        };
        match refusal {
            Some(refusal) => client.answer(serial, refusal).await,
            None => {
                self.deliver(client, serial, Subscription::acknowledge)
                    .await
            }
        }
    }

    /// Notifies the subscriptions to this change of a list.
    pub(super) async fn tell_listeners(&self, client: &Arc<Client>, method: &str) {
        for serial in self.subscribed() {
            let changes = |listening: &mut Subscription| {
                let is_told = listening.is_acknowledged && listening.wants(method);
                is_told
                    .then(|| listening.change(method))
                    .into_iter()
                    .collect()
            };
            self.deliver(client, serial, changes).await;
        }
    }

    fn subscribed(&self) -> Vec<u64> {
        self.subscriptions.lock().keys().copied().collect()
    }

    /// A server is there that was not: notifies the subscriptions to its lists of what may have changed, and subscribes
    /// at it.
    pub(super) async fn listen_again(&self, client: &Arc<Client>, link: &Arc<ServerConnection>) {
        let lists = LIST_CHANGES.iter();
        let lists = lists.filter(|(capability, ..)| link.is_capable(capability));
        let methods: Vec<&str> = lists.map(|(_, method, _)| *method).collect();
        for serial in self.subscribed() {
            let mut asked = None;
            let changes = |listening: &mut Subscription| {
                if listening.parts.contains(&link.server) || !listening.pending.insert(link.server)
                {
                    return Vec::new();
                }
                let params = Some(&listening.params);
                asked = Some(Message::request(&Id::number(0), method::LISTEN, params));
                let told = methods
                    .iter()
                    .filter(|method| listening.is_acknowledged && listening.wants(method));
                told.map(|method| listening.change(method)).collect()
            };
            self.deliver(client, serial, changes).await;
            if let Some(message) = asked {
                self.subscribe(client, link, serial, message).await;
            }
        }
    }
}

/// Parameters of a subscription with only the wanted texts of a list.
fn filtered(params: &Bytes, key: &str, is_wanted: impl Fn(&str) -> bool) -> Bytes {
    let path = ["notifications", key];
    let Some(list) = members::get(params, &path) else {
        return params.clone();
    };
    let Ok(mut texts) = serde_json::from_slice::<Vec<String>>(&list) else {
        return members::replaced(params, &path, b"[]");
    };
    let before = texts.len();
    texts.retain(|text| is_wanted(text));
    if texts.len() == before {
        params.clone()
    } else {
        members::replaced(params, &path, Value::from(texts).to_string().as_bytes())
    }
}

/// The texts of a list of a subscription.
fn texts(params: &Bytes, key: &str) -> Option<Vec<String>> {
    serde_json::from_slice(&members::get(params, &["notifications", key])?).ok()
}

/// The notifications that a server's acknowledgement promises.
fn accepted(params: &Bytes) -> Option<Map<String, Value>> {
    serde_json::from_slice(&members::get(params, &["notifications"])?).ok()
}

/// Adds the notifications that another server promises.
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
            pending: BTreeSet::new(),
            parts: BTreeSet::new(),
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
