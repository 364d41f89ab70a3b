//! A queue for one request of clients that share connections: a client that does not read loses its request, and
//! delays no other.

use super::poll_then_spawn::poll_then_spawn;
use crate::{
    message::Message,
    port::{Disconnected, MessageSink},
    sync::Mutex,
};
use async_trait::async_trait;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Messages that wait for a client that does not read, and their bytes. The last may exceed the bytes.
const MAX_QUEUED: usize = 256;
const MAX_QUEUED_BYTES: usize = 4 << 20;

/// The stream of one request.
pub(super) struct Outbox {
    this: Weak<Self>,
    to: Arc<dyn MessageSink>,
    queue: Mutex<Queue>,
    /// The number of outboxes.
    open: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Message>,
    bytes: usize,
    draining: bool,
    is_gone: bool,
}

impl Outbox {
    pub(super) fn new(to: Arc<dyn MessageSink>, open: &Arc<AtomicUsize>) -> Arc<Self> {
        open.fetch_add(1, Ordering::Relaxed);
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            to,
            queue: Mutex::default(),
            open: Arc::clone(open),
        })
    }

    fn next(&self) -> Option<Message> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        queue.bytes -= next.as_ref().map_or(0, Message::len);
        queue.draining = next.is_some();
        next
    }
}

impl Queue {
    fn disconnect(&mut self) -> Disconnected {
        self.is_gone = true;
        self.waiting.clear();
        self.bytes = 0;
        Disconnected
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl MessageSink for Outbox {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        {
            let mut queue = self.queue.lock();
            if queue.is_gone {
                return Err(Disconnected);
            }
            if queue.waiting.len() >= MAX_QUEUED || queue.bytes >= MAX_QUEUED_BYTES {
                return Err(queue.disconnect());
            }
            queue.bytes += message.len();
            queue.waiting.push_back(message);
            if std::mem::replace(&mut queue.draining, true) {
                return Ok(());
            }
        }
        let outbox = self.this.upgrade().ok_or(Disconnected)?;
        poll_then_spawn(Box::pin(async move {
            while let Some(message) = outbox.next() {
                if outbox.to.send(message).await.is_err() {
                    outbox.queue.lock().disconnect();
                }
            }
        }))
        .await;
        Ok(())
    }
}

#[cfg(test)]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    struct Slow(mpsc::Sender<Message>);

    #[async_trait]
    impl MessageSink for Slow {
        async fn send(&self, message: Message) -> Result<(), Disconnected> {
            self.0.send(message).await.map_err(|_| Disconnected)
        }
    }

    fn numbered(n: usize) -> Message {
        Message::notification(&n.to_string(), None)
    }

    #[tokio::test]
    async fn who_reads_gets_everything_in_order() {
        let (sender, mut receiver) = mpsc::channel(1);
        let open = Arc::default();
        let lane = Outbox::new(Arc::new(Slow(sender)), &open);
        for n in 0..100 {
            lane.send(numbered(n)).await.unwrap();
        }
        drop(lane);
        for n in 0..100 {
            let next = receiver.recv().await.unwrap();
            assert_eq!(next.method(), Some(n.to_string().as_str()));
        }
        assert!(receiver.recv().await.is_none(), "the lane is gone");
        assert_eq!(open.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_does_not_read_holds_nobody_up() {
        let (sender, _receiver) = mpsc::channel(1);
        let lane = Outbox::new(Arc::new(Slow(sender)), &Arc::default());
        let mut sent = 0;
        while lane.send(numbered(sent)).await.is_ok() {
            sent += 1;
        }
        // One is read, one is being sent.
        assert_eq!(sent, MAX_QUEUED + 2);
    }

    #[tokio::test]
    async fn what_waits_is_bounded_by_its_bytes() {
        let (sender, _receiver) = mpsc::channel(1);
        let lane = Outbox::new(Arc::new(Slow(sender)), &Arc::default());
        let large = || Message::notification("large", Some(&vec![b' '; 3 << 20].into()));
        for _ in 0..4 {
            lane.send(large()).await.unwrap();
        }
        assert!(lane.send(numbered(0)).await.is_err());
        // Of what is read, nothing counts any more.
        let (sender, mut reads) = mpsc::channel(1);
        let lane = Outbox::new(Arc::new(Slow(sender)), &Arc::default());
        for _ in 0..20 {
            lane.send(large()).await.unwrap();
            reads.recv().await.unwrap();
        }
    }
}
