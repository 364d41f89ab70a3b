//! What the gateway itself asks a client.

use super::Client;
use crate::{
    message::{Id, Message},
    protocol::method,
};
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a client may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a client did not answer with a result.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(in crate::hub) enum AskError {
    /// It answered with an error.
    #[error("it answered with an error")]
    Refused,
    /// It did not answer in time.
    #[error("it did not answer within {} s", ANSWER_TIMEOUT.as_secs())]
    TimedOut,
    /// It cannot be reached.
    #[error("it is gone")]
    Gone,
}

/// A question that is forgotten when nobody waits for its answer any longer.
struct Question<'c> {
    client: &'c Client,
    number: u64,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let mut state = self.client.state.lock();
        state.asked_by_gateway.remove(&self.number);
    }
}

impl Client {
    /// The result of a request to the client, which is sent on the stream of one of its own.
    ///
    /// # Errors
    ///
    /// There is no result, or not in time.
    pub(in crate::hub) async fn ask(
        &self,
        serial: u64,
        method: &'static str,
    ) -> Result<Bytes, AskError> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut state = self.state.lock();
            state.asks += 1;
            let number = state.asks;
            state.asked_by_gateway.insert(number, sender);
            number
        };
        let _question = Question {
            client: self,
            number,
        };
        let answered = async {
            let message = Message::request(&Id::number(number), method, None);
            if !self.send_within(serial, message).await {
                return None;
            }
            answer.await.ok()
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Some(answer)) => answer.result().ok_or(AskError::Refused),
            Ok(None) => Err(AskError::Gone),
            Err(_) => {
                let params = format!(r#"{{"requestId":{number},"reason":"no answer in time"}}"#);
                let cancelled = Message::notification(method::CANCELLED, Some(&params.into()));
                self.send_soon(self.outlet.clone(), cancelled).await;
                Err(AskError::TimedOut)
            }
        }
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
