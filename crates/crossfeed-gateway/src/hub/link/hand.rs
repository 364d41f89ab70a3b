//! Handing messages over to a server, in order, by whoever comes with one.
//!
//! What comes in: messages, and what is to become of their answers. What goes out: the same under ids of
//! the connection, here and now as far as the server takes them, by a task of its own where it does not.
//! Deliberately not here: answers.

use super::{Answer, LISTEN, Link, Parcel, Waiting};
use crate::{
    hub::{advance::advance, read},
    message::{Id, Message},
    metrics::Outcome,
    upstream::{Header, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::{sync::oneshot, time::Instant};

/// Messages that wait to be handed over: as many as a client may have requests, and as many again for
/// what it says beside them.
const QUEUE: usize = 2048;

impl Link {
    /// Sends a request under an id of this connection. What cannot be sent is answered at once.
    pub(in crate::hub) async fn request(
        self: &Arc<Self>,
        waiting: Waiting,
        message: Message,
        headers: Vec<Header>,
    ) {
        let method = message.method().unwrap_or_default();
        if let Some(error) = self.refusal() {
            self.figures.unsent(method);
            self.fail_one(waiting, &error).await;
            return;
        }
        let refused = {
            let mut state = self.state();
            if state.queue.len() >= QUEUE || state.queued_bytes > self.most_bytes {
                self.figures.unsent(method);
                Some(waiting)
            } else {
                let minted = state.minted;
                state.minted += 1;
                let measured = self.figures.begin(method);
                state.waiting.insert(minted, (waiting, measured));
                if let Some(timeout) = self.timeout.filter(|_| method != LISTEN) {
                    state
                        .deadlines
                        .push_back((Instant::now() + timeout, minted));
                    self.clock.notify_one();
                }
                state.put(Parcel {
                    message: message.with_id(Id::number(minted)),
                    headers,
                    minted: Some(minted),
                });
                None
            }
        };
        match refused {
            Some(waiting) => {
                let error = UpstreamError::Unreachable {
                    reason: "it does not read what it is sent".to_owned(),
                };
                self.fail_one(waiting, &error).await;
            }
            None => self.drain().await,
        }
    }

    /// Sends a request of the client as it is; the answer is the client's.
    pub(in crate::hub) async fn forward(self: &Arc<Self>, serial: u64, message: Message) {
        self.request(Waiting::Forward { serial }, message, Vec::new())
            .await;
    }

    /// Sends what needs no answer. Waits while too much waits already.
    pub(in crate::hub) async fn send(self: &Arc<Self>, message: Message) {
        loop {
            let room = self.room.notified();
            if self.refusal().is_some() {
                return;
            }
            {
                let mut state = self.state();
                if state.queue.len() < 2 * QUEUE && state.queued_bytes <= self.most_bytes {
                    state.put(Parcel {
                        message,
                        headers: Vec::new(),
                        minted: None,
                    });
                    break;
                }
            }
            room.await;
        }
        self.drain().await;
    }

    /// Asks the server on behalf of the gateway, and of a request of the client where there is one.
    pub(in crate::hub) async fn ask(
        self: &Arc<Self>,
        serial: Option<u64>,
        method: &str,
        params: Option<&Bytes>,
    ) -> oneshot::Receiver<Answer> {
        self.pass(serial, Message::request(&Id::number(0), method, params))
            .await
    }

    /// The same with a message of the client.
    pub(in crate::hub) async fn pass(
        self: &Arc<Self>,
        serial: Option<u64>,
        message: Message,
    ) -> oneshot::Receiver<Answer> {
        let (answer, receiver) = oneshot::channel();
        self.request(Waiting::Inner { serial, answer }, message, Vec::new())
            .await;
        receiver
    }

    /// Hands over what waits, here as far as that takes no waiting.
    pub(super) async fn drain(self: &Arc<Self>) {
        {
            let mut state = self.state();
            if state.draining || state.upstream.is_none() {
                return;
            }
            state.draining = true;
        }
        let link = Arc::clone(self);
        advance(Box::pin(async move {
            while let Some((upstream, parcel)) = link.next() {
                let bytes = parcel.message.len();
                let sent = upstream.send(parcel.message, &parcel.headers).await;
                match (sent, parcel.minted) {
                    (Ok(()), _) => link.figures.sent.add(bytes),
                    (Err(error), Some(minted)) => {
                        let waiting = link.take(&Id::number(minted), Outcome::of(&error));
                        if let Some(waiting) = waiting {
                            link.fail_one(waiting, &error).await;
                        }
                    }
                    (Err(_), None) => {}
                }
            }
        }))
        .await;
    }

    /// What is to be handed over next; if nothing is, nobody hands over any longer.
    fn next(&self) -> Option<(Arc<dyn Upstream>, Parcel)> {
        let mut state = self.state();
        let Some(upstream) = state.upstream.clone() else {
            state.draining = false;
            return None;
        };
        let Some(parcel) = state.queue.pop_front() else {
            state.draining = false;
            return None;
        };
        state.queued_bytes -= parcel.message.len();
        self.room.notify_waiters();
        Some((upstream, parcel))
    }

    /// Forgets what runs here for a request of the client; gives the ids.
    pub(in crate::hub) fn withdraw(&self, serial: u64) -> Vec<u64> {
        let mut state = self.state();
        let mut ids: Vec<u64> = state
            .waiting
            .iter()
            .filter(|(_, (waiting, _))| waiting.serial() == Some(serial))
            .map(|(minted, _)| *minted)
            .collect();
        ids.sort_unstable();
        for minted in &ids {
            state.waiting.remove(minted);
        }
        // What was not handed over need not be.
        let mut freed = 0;
        let mut unsent = Vec::new();
        state.queue.retain(|parcel| match parcel.minted {
            Some(minted) if ids.contains(&minted) => {
                freed += parcel.message.len();
                unsent.push(minted);
                false
            }
            _ => true,
        });
        state.queued_bytes -= freed;
        ids.retain(|minted| !unsent.contains(minted));
        ids
    }

    /// Says to the server that nobody waits for a request any longer; `params` are those of the
    /// notification, whose `requestId` is set.
    pub(in crate::hub) async fn cancel(self: &Arc<Self>, minted: u64, params: Bytes) {
        let id = Id::number(minted);
        if !self.abandons {
            let params = read::replaced(&params, &["requestId"], id.raw());
            self.send(Message::notification(
                "notifications/cancelled",
                Some(&params),
            ))
            .await;
        }
        if let Some(upstream) = self.upstream() {
            upstream.abandon(&id).await;
        }
    }

    /// Says to the server that the client is initialized, once on each connection and before anything
    /// that waits, if the client said so.
    pub(in crate::hub) async fn greet(self: &Arc<Self>) {
        if let Some(message) = self.hello.initialized() {
            let mut state = self.state();
            if state.upstream.is_some() && !state.greeted {
                state.greeted = true;
                state.queued_bytes += message.len();
                state.queue.push_front(Parcel {
                    message,
                    headers: Vec::new(),
                    minted: None,
                });
            }
        }
        self.drain().await;
    }
}
