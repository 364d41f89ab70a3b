//! Learns when calls in flight may have ended: one connection subscribes to the sessions in which anyone waits.
//!
//! A message that is missed costs a poll interval, never more.

use crate::{connection::subscriber, options::RedisOptions};
use futures_util::{
    StreamExt as _,
    future::{Either, select},
};
use parking_lot::Mutex;
use redis::aio::{PubSubSink, PubSubStream};
use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

pub(crate) struct Watch {
    shared: Arc<Shared>,
    /// Runs from the first wait on.
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    options: RedisOptions,
    channels: Mutex<HashMap<String, Channel>>,
    /// A channel was added.
    added: Notify,
}

struct Channel {
    /// How many messages came.
    messages: watch::Sender<u64>,
    /// How many had come when the session was last asked about.
    asked: u64,
    used: Instant,
}

impl Watch {
    pub(crate) fn new(options: &RedisOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                options: options.clone(),
                channels: Mutex::default(),
                added: Notify::new(),
            }),
            task: Mutex::default(),
        }
    }

    /// The session of a channel is asked about; later messages tell something new.
    pub(crate) fn asked(&self, channel: &str) {
        self.begin();
        self.shared.with(channel, |channel| {
            channel.asked = *channel.messages.borrow();
        });
    }

    /// Returns when a message has come since the session was asked about, at the latest after the poll interval.
    pub(crate) async fn changed(&self, channel: &str) {
        self.begin();
        let receiver = self.shared.with(channel, |channel| {
            let messages = *channel.messages.borrow();
            let asked = std::mem::replace(&mut channel.asked, messages);
            (asked == messages).then(|| channel.messages.subscribe())
        });
        if let Some(mut receiver) = receiver {
            // Either way, it is time to ask.
            let _ = timeout(self.shared.options.poll_interval, receiver.changed()).await;
        }
    }

    fn begin(&self) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = tokio::runtime::Handle::try_current()
                .ok()
                .map(|runtime| runtime.spawn(Arc::clone(&self.shared).run()));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl Shared {
    fn with<T>(&self, name: &str, work: impl FnOnce(&mut Channel) -> T) -> T {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get_mut(name) {
            channel.used = Instant::now();
            return work(channel);
        }
        let channel = channels.entry(name.to_owned()).or_insert(Channel {
            messages: watch::Sender::new(0),
            asked: 0,
            used: Instant::now(),
        });
        self.added.notify_one();
        work(channel)
    }

    /// How long a channel that nobody waits on any more stays subscribed.
    fn linger(&self) -> Duration {
        self.options.poll_interval * 8
    }

    /// The channels to be subscribed.
    fn wanted(&self) -> HashSet<String> {
        let linger = self.linger();
        let mut channels = self.channels.lock();
        channels.retain(|_, channel| channel.used.elapsed() < linger);
        channels.keys().cloned().collect()
    }

    fn message(&self, name: &str) {
        if let Some(channel) = self.channels.lock().get(name) {
            channel.messages.send_modify(|messages| *messages += 1);
        }
    }

    async fn run(self: Arc<Self>) {
        loop {
            if self.wanted().is_empty() {
                self.added.notified().await;
                continue;
            }
            let connected = timeout(self.options.timeout, subscriber(&self.options)).await;
            if let Ok(Ok(connection)) = connected {
                let (sink, stream) = connection.split();
                self.listen(sink, stream).await;
            }
            // Meanwhile, those who wait poll.
            sleep(self.options.poll_interval).await;
        }
    }

    /// Listens until the connection fails or nobody waits.
    async fn listen(&self, mut sink: PubSubSink, mut stream: PubSubStream) {
        let mut subscribed = HashSet::new();
        loop {
            let wanted = self.wanted();
            if wanted.is_empty() {
                return;
            }
            let more: Vec<&String> = wanted.difference(&subscribed).collect();
            let fewer: Vec<&String> = subscribed.difference(&wanted).collect();
            let changes = async {
                if !more.is_empty() {
                    sink.subscribe(&more).await?;
                }
                if !fewer.is_empty() {
                    sink.unsubscribe(&fewer).await?;
                }
                redis::RedisResult::Ok(())
            };
            if !matches!(timeout(self.options.timeout, changes).await, Ok(Ok(()))) {
                return;
            }
            for name in more {
                // What came before the subscription was missed.
                self.message(name);
            }
            subscribed = wanted;
            let (added, pause) = (pin!(self.added.notified()), pin!(sleep(self.linger())));
            match select(stream.next(), select(added, pause)).await {
                Either::Left((Some(message), _)) => self.message(message.get_channel_name()),
                Either::Left((None, _)) => return,
                Either::Right(_) => {}
            }
        }
    }
}
