//! What a client says without asking: notifications, and answers to what servers asked.
//!
//! What comes in: messages of the client. What goes out: the same to the servers that they are for.
//! Deliberately not here: requests.

use super::{Client, MAX_KEPT_BYTES, has_room, is_too_long};
use crate::{
    hub::read,
    lookalike::is_lookalike,
    message::{Id, Message},
    port::MessageSink,
    protocol::method,
};
use std::sync::Arc;

impl Client {
    /// What a client says without asking.
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
            if let Some(pre_init_queue) = state.pre_init_queue.as_mut().filter(|_| !is_next) {
                // Requests alone never fill it.
                let most = 2 * self.gateway.config().limits.requests_per_client;
                if has_room(pre_init_queue, &message, most) {
                    pre_init_queue.push_back((message, reply));
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
            if let Some(id) = read::raw(&params, &["requestId"]) {
                self.cancelled(&id, params).await;
            }
            return;
        }
        let Some(side) = side else { return };
        match method {
            // It is kept; what a client says beside its name is not needed.
            method::INITIALIZED if message.len() > MAX_KEPT_BYTES => {
                side.initialized(&Message::notification(method, None)).await;
            }
            method::INITIALIZED => side.initialized(&message).await,
            method::PROGRESS => {
                let params = message.params().unwrap_or_default();
                if side.only().is_some() {
                    return side.tell_all(&message).await;
                }
                let token = read::raw(&params, &["progressToken"]);
                let asked = token.and_then(|token| {
                    let number = std::str::from_utf8(&token).ok()?.parse().ok()?;
                    let state = self.state.lock();
                    let asked = state.asked.get(&number)?;
                    let link = Arc::clone(&asked.link);
                    Some((link, asked.connection, asked.token.clone()?))
                });
                // Of what no server asks any longer, nobody can say whose it was.
                if let Some((link, connection, token)) = asked {
                    let params = read::replaced(&params, &["progressToken"], &token);
                    link.reply(message.with_body(params), connection).await;
                }
            }
            _ if method.starts_with("notifications/") => side.tell_all(&message).await,
            // Nothing of it was judged, and there are servers that run it all the same.
            _ => tracing::warn!(
                target: "crossfeed::gateway",
                "ignored a request without an id"
            ),
        }
    }

    /// The answer to what a server asked.
    pub(super) async fn reply_of_client(&self, message: Message) {
        let asked = message
            .id()
            .and_then(Id::as_number)
            .and_then(|id| self.state.lock().asked.remove(&id));
        match asked {
            Some(asked) => {
                let answer = message.with_id(asked.id);
                asked.link.reply(answer, asked.connection).await;
            }
            None => tracing::debug!(
                target: "crossfeed::gateway",
                "ignored a client's answer to an unknown request"
            ),
        }
    }
}
