//! Requests that run, so that the end can wait for them.

use crate::{
    message::Message,
    port::{Disconnected, MessageSink},
    protocol::method,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

/// The requests that run: each has a receiver, of which nothing but its end is known.
#[derive(Debug, Default)]
pub(super) struct Running(watch::Sender<()>);

/// A request that runs until this is dropped.
pub(super) struct Hold(#[expect(dead_code, reason = "only its end is known")] watch::Receiver<()>);

impl Running {
    /// A request that runs until its answer went to the returned sink, or until that is dropped. The end of a subscription
    /// is not awaited.
    pub(super) fn begin(
        &self,
        request: &Message,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn MessageSink> {
        if request.method() == Some(method::LISTEN) {
            return outlet;
        }
        let runs = Mutex::new(Some(self.0.subscribe()));
        Arc::new(Reply { outlet, runs })
    }

    /// A request that runs until the returned value is dropped.
    pub(super) fn hold(&self) -> Hold {
        Hold(self.0.subscribe())
    }

    /// Waits until none runs.
    pub(super) async fn none(&self) {
        self.0.closed().await;
    }
}

struct Reply {
    outlet: Arc<dyn MessageSink>,
    runs: Mutex<Option<watch::Receiver<()>>>,
}

#[async_trait]
impl MessageSink for Reply {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        let is_answer = message.kind().is_answer();
        let sent = self.outlet.send(message).await;
        if is_answer {
            self.runs.lock().take();
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Id;
    use futures_util::FutureExt as _;

    struct Nowhere;

    #[async_trait]
    impl MessageSink for Nowhere {
        async fn send(&self, _: Message) -> Result<(), Disconnected> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_end_comes_once_all_requests_ended_and_not_before() {
        let running = Running::default();
        let request = Message::request(&Id::number(1), "ping", None);
        let [answered, dropped] = [(); 2].map(|()| running.begin(&request, Arc::new(Nowhere)));
        assert!(running.none().now_or_never().is_none());
        drop(dropped);
        assert!(running.none().now_or_never().is_none());
        let answer = Message::response(&Id::number(1), &"1".into());
        answered.send(answer).await.unwrap();
        running.none().now_or_never().unwrap();
        drop(answered);
        running.none().now_or_never().unwrap();
    }
}
