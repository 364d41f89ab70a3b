//! Notifications of a client, and its answers to requests of servers.

use super::{Client, MAX_KEPT_BYTES, has_room, is_too_long};
use crate::{
    lookalike::is_lookalike,
    members,
    message::{Id, Message},
    port::{HubClient as _, MessageSink},
    protocol::method,
};
use std::sync::Arc;

impl Client {
    /// Takes a notification; `is_next` if it has waited for the session to begin.
    pub(super) async fn notification(
        self: &Arc<Self>,
        message: Message,
        reply: Arc<dyn MessageSink>,
        is_next: bool,
    ) {
        let method = message.method().unwrap_or_default();
        if is_lookalike(method) {
            tracing::debug!(target: "crossfeed::gateway", "dropped a notification with an unknown method");
            return;
        }
        let side = {
            let mut state = self.state.lock();
            if let Some(queue) = state.pre_init_queue.as_mut().filter(|_| !is_next) {
                // Requests alone never fill it.
                let most = 2 * self.gateway.config().limits.requests_per_client;
                if has_room(queue, &message, most) {
                    queue.push_back((message, reply));
                } else {
                    tracing::warn!(
                        target: "crossfeed::gateway",
                        "no memory for messages before the session began"
                    );
                }
                return;
            }
            state.session.clone().or_else(|| state.stateless.clone())
        };
        if is_too_long(&message) {
            tracing::debug!(target: "crossfeed::gateway", "dropped a notification that is too long");
            return;
        }
        if method == method::CANCELLED {
            let params = message.params().unwrap_or_default();
            if let Some(id) = members::get(&params, &["requestId"]) {
                self.cancelled(&id, params).await;
            }
            return;
        }
        let Some(side) = side else { return };
        match method {
            // It is kept, and needs no parameters.
            method::INITIALIZED => {
                let is_long = message.len() > MAX_KEPT_BYTES;
                let kept = is_long.then(|| Message::notification(method, None));
                side.initialized(kept.as_ref().unwrap_or(&message)).await;
                // A notification has no answer that could say so.
                self.renew().await;
            }
            method::PROGRESS => {
                let params = message.params().unwrap_or_default();
                if side.only().is_some() {
                    return side.tell_all(&message).await;
                }
                let number = members::get_number::<u64>(&params, &["progressToken"]);
                let asked = number.and_then(|number| {
                    let state = self.state.lock();
                    let asked = state.asked.get(&number)?;
                    let link = Arc::clone(&asked.link);
                    Some((link, asked.connection, asked.token.clone()?))
                });
                // Progress of a request that has ended has no server.
                if let Some((link, connection, token)) = asked {
                    let params = members::replaced(&params, &["progressToken"], &token);
                    link.reply(message.with_body(params), connection).await;
                }
            }
            _ if method.starts_with("notifications/") => side.tell_all(&message).await,
            // It passed no checks, and some servers would run it all the same.
            _ => tracing::warn!(
                target: "crossfeed::gateway",
                "ignored a request without an id"
            ),
        }
    }

    /// The answer to what a server asked, or the gateway.
    pub(super) async fn reply_of_client(&self, message: Message) {
        let number = message.id().and_then(Id::as_number);
        let (asked, waiting) = number.map_or((None, None), |number| {
            let mut state = self.state.lock();
            let asked = state.asked.remove(&number);
            (asked, state.asked_by_gateway.remove(&number))
        });
        match (asked, waiting) {
            (Some(asked), _) => {
                let answer = message.with_id(asked.id);
                asked.link.reply(answer, asked.connection).await;
            }
            (None, Some(waiting)) => drop(waiting.send(message)),
            (None, None) => tracing::debug!(
                target: "crossfeed::gateway",
                "ignored a client's answer to an unknown request"
            ),
        }
    }
}
