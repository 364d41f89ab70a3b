//! Requests that run, so that the end can wait for them.

use crate::{
    message::{Kind, Message},
    sync::AtomicUsize,
};
use crate::{
    port::{Disconnected, MessageSink},
    protocol::method,
};
use async_trait::async_trait;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::Notify;

/// How many requests run.
#[derive(Debug, Default)]
pub(super) struct Running {
    count: AtomicUsize,
    ended: Notify,
}

impl Running {
    /// A request that runs until its answer went to what is returned, or until nobody has it any more. A
    /// subscription has no end to be waited for.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: &Message,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn MessageSink> {
        if request.method() == Some(method::LISTEN) {
            return outlet;
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        Arc::new(Reply {
            outlet,
            running: Arc::clone(self),
            answered: AtomicBool::new(false),
        })
    }

    /// Waits until none runs.
    pub(super) async fn none(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Registered before the count is read: an end in between is not missed.
            ended.as_mut().enable();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }
}

struct Reply {
    outlet: Arc<dyn MessageSink>,
    running: Arc<Running>,
    answered: AtomicBool,
}

impl Reply {
    fn ends(&self) {
        if !self.answered.swap(true, Ordering::AcqRel) {
            self.running.count.fetch_sub(1, Ordering::AcqRel);
            self.running.ended.notify_waiters();
        }
    }
}

#[async_trait]
impl MessageSink for Reply {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        let answers = matches!(message.kind(), Kind::Response | Kind::Error);
        let sent = self.outlet.send(message).await;
        if answers {
            self.ends();
        }
        sent
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.ends();
    }
}

#[cfg(test)]
mod models;
