//! Writes to a client: each sender writes at once, or one sender writes for all that wait.

use crate::{
    line::LineWriter,
    message::Message,
    port::{Disconnected, MessageSink},
    sync::{Mutex, spawn_if_possible},
};
use async_trait::async_trait;
use scopeguard::ScopeGuard;
use std::{
    io,
    sync::{Arc, Weak},
};
use tokio::{
    io::AsyncWrite,
    sync::{Mutex as Turn, watch},
};

/// An outlet that writes lines.
///
/// A sender that finds no other writing writes at once, without a task between. Those that come meanwhile wait for their
/// turn, and the first of them writes the messages of all. How many wait is bounded by how many send at once.
pub(super) struct Outgoing<W> {
    this: Weak<Self>,
    queue: Mutex<Queue>,
    writing: Turn<WriteState<W>>,
    gone: watch::Sender<bool>,
}

#[derive(Default)]
struct Queue {
    messages: Vec<Message>,
    /// How many were ever put here.
    put: u64,
}

struct WriteState<W> {
    lines: LineWriter<W>,
    /// How many were ever taken from the queue.
    taken: u64,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Outgoing<W> {
    pub(super) fn new(sink: W) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            queue: Mutex::default(),
            writing: Turn::new(WriteState {
                lines: LineWriter::new(sink),
                taken: 0,
            }),
            gone: watch::Sender::new(false),
        })
    }

    /// Waits until the client does not read any more.
    pub(super) async fn gone(&self) {
        // The sender is here: it does not end before.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Writes what was sent up to `ticket`.
    async fn write(&self, ticket: u64) -> Result<(), Disconnected> {
        let mut writing = self.writing.lock().await;
        // An earlier sender wrote it, unless it stopped before the end.
        if writing.taken >= ticket && writing.lines.is_empty() {
            let is_read = !self.is_gone();
            return is_read.then_some(()).ok_or(Disconnected);
        }
        let messages = std::mem::take(&mut self.queue.lock().messages);
        writing.taken += messages.len() as u64;
        for message in &messages {
            writing.lines.put(message);
        }
        drop(messages);
        let written = writing.lines.flush().await;
        self.judge(written)
    }

    fn judge(&self, written: io::Result<()>) -> Result<(), Disconnected> {
        written.map_err(|error| {
            if !self.gone.send_replace(true) {
                tracing::debug!(%error, "the client stopped reading");
            }
            Disconnected
        })
    }

    /// Writes what was sent, and says that nothing follows.
    pub(super) async fn close(&self) {
        if self.write(u64::MAX).await.is_ok() {
            let closed = self.writing.lock().await.lines.close().await;
            let _ = self.judge(closed);
        }
    }
}

#[async_trait]
impl<W: AsyncWrite + Unpin + Send + 'static> MessageSink for Outgoing<W> {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        if self.is_gone() {
            return Err(Disconnected);
        }
        let ticket = {
            let mut queue = self.queue.lock();
            queue.messages.push(message);
            queue.put += 1;
            queue.put
        };
        // A message is written even when its sender does not wait for that.
        let unwritten = scopeguard::guard(&self.this, |this| {
            if let Some(outgoing) = this.upgrade() {
                spawn_if_possible(async move {
                    let _ = outgoing.write(ticket).await;
                });
            }
        });
        let written = self.write(ticket).await;
        ScopeGuard::into_inner(unwritten);
        written
    }
}

#[cfg(test)]
mod models;
