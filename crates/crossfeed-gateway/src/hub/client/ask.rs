//! What the gateway itself asks a client.

use super::Client;
use crate::{
    message::{Id, Message},
    protocol::method,
    tools::inputs::RootsError,
};
use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, sync::oneshot};

/// How long a client may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A question to a client, which is withdrawn when nobody waits for its answer any longer.
struct Question {
    client: Arc<Client>,
    /// The request of the client within which it is asked.
    serial: u64,
    number: u64,
}

impl Question {
    /// What tells the client that nobody waits for an answer any longer; none if it was answered.
    fn withdrawn(&self) -> Option<Message> {
        let number = self.number;
        let mut state = self.client.state.lock();
        state.asked_by_gateway.remove(&number)?;
        let params = format!(r#"{{"requestId":{number},"reason":"the call has ended"}}"#);
        Some(Message::notification(
            method::CANCELLED,
            Some(&params.into()),
        ))
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let (Some(message), Ok(runtime)) = (self.withdrawn(), Handle::try_current()) {
            let (client, serial) = (Arc::clone(&self.client), self.serial);
            runtime.spawn(async move { client.send_within(serial, message).await });
        }
    }
}

impl Client {
    /// The client's result of `roots/list`, which is asked for on the stream of one of its own requests.
    ///
    /// # Errors
    ///
    /// [`RootsError::Refused`], [`RootsError::TimedOut`] or [`RootsError::Gone`].
    pub(in crate::hub) async fn ask_for_roots(
        self: &Arc<Self>,
        serial: u64,
    ) -> Result<Bytes, RootsError> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut state = self.state.lock();
            state.asks += 1;
            let number = state.asks;
            state.asked_by_gateway.insert(number, sender);
            number
        };
        let question = Question {
            client: Arc::clone(self),
            serial,
            number,
        };
        let answered = async {
            let message = Message::request(&Id::number(number), method::LIST_ROOTS, None);
            if !self.send_within(serial, message).await {
                return None;
            }
            answer.await.ok()
        };
        let answer = match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(answer) => answer.ok_or(RootsError::Gone)?,
            Err(_) => {
                // On the stream of the call, which is there until the call is answered.
                if let Some(message) = question.withdrawn() {
                    self.send_within(serial, message).await;
                }
                return Err(RootsError::TimedOut);
            }
        };
        answer.result().ok_or(RootsError::Refused)
    }

    /// Sends a message on the stream of one of the client's requests; else where messages go that belong to none.
    /// Whether the client takes it.
    pub(super) async fn send_within(&self, serial: u64, message: Message) -> bool {
        if let Some((_, reply)) = self.id_and_reply(serial)
            && reply.send(message.clone()).await.is_ok()
        {
            return true;
        }
        self.outlet.send(message).await.is_ok()
    }
}
