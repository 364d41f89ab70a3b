//! The client on standard input and output: one message a line.

mod outgoing;
mod standard;

#[cfg(test)]
mod tests;

pub use standard::{StandardInput, StandardOutput, standard};

use super::{CLOSE_TIMEOUT, running::Running, too_large};
use crate::{
    budget::Purpose,
    config::Limits,
    line::{Line, LineReader, MessageSummary},
    message::{Kind, Message, RpcError},
    metrics::{Counter, families},
    port::{Hub, HubClient, MessageSink},
    principal::Principal,
    protocol::code,
};
use bytes::Bytes;
use outgoing::Outgoing;
use std::{future::Future, io, pin::pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

/// Serves one client until its input ends, it does not read any more, or `stop` is there. Then requests
/// that run may finish, as long as the limits allow, and the client is closed.
///
/// # Errors
///
/// What reading failed with.
pub async fn serve<R, W>(
    hub: Arc<dyn Hub>,
    input: R,
    output: W,
    limits: &Limits,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let outgoing = Outgoing::new(output);
    let connection = Connection {
        client: Arc::clone(&hub).connect(Principal::Local, outgoing.clone()),
        outgoing: outgoing.clone(),
        running: Running::default(),
        limit: limits.message_bytes,
        no_messages: hub.metrics().counter(families::CLIENT_NO_MESSAGES, &[]),
    };
    let account = hub.budget().account(&Principal::Local);
    let lines = LineReader::new(input, limits.message_bytes).charging(&account, Purpose::Request);
    let read = {
        let read = pin!(connection.read(lines));
        tokio::select! {
            biased;
            () = stop => Ok(()),
            () = outgoing.gone() => Ok(()),
            read = read => read,
        }
    };
    let finished = async {
        tokio::select! {
            () = outgoing.gone() => {}
            () = connection.running.none() => {}
        }
    };
    if timeout(limits.shutdown, finished).await.is_err() {
        tracing::warn!("requests of the client were still running at the shutdown deadline");
    }
    connection.client.leave();
    if timeout(CLOSE_TIMEOUT, connection.client.close())
        .await
        .is_err()
    {
        tracing::warn!("connections to servers did not close in time");
    }
    // A client that does not read does not delay the end.
    let _ = timeout(limits.shutdown, outgoing.close()).await;
    read
}

struct Connection<W> {
    client: Arc<dyn HubClient>,
    outgoing: Arc<Outgoing<W>>,
    running: Running,
    limit: usize,
    no_messages: Counter,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Connection<W> {
    async fn read<R: AsyncRead + Unpin>(&self, mut lines: LineReader<R>) -> io::Result<()> {
        while let Some(line) = lines.next().await? {
            match line {
                Line::Whole(bytes) | Line::Unfinished(bytes) => self.line(bytes).await,
                Line::TooLong(skimmed) => {
                    self.no_messages.add(1);
                    self.ignore(skimmed, too_large(self.limit)).await;
                }
                Line::NoRoom(skimmed) => {
                    let why = "the memory limit is reached";
                    let error = RpcError::limit_exceeded(code::INTERNAL, why, None);
                    self.ignore(skimmed, error).await;
                }
            }
        }
        Ok(())
    }

    async fn line(&self, bytes: Bytes) {
        match Message::read(bytes).await {
            Ok(message) => self.message(message).await,
            Err(error) => {
                self.no_messages.add(1);
                tracing::warn!(%error, "the client sent an invalid JSON-RPC message");
                self.refuse(Message::failure(error.id(), &error.to_rpc()))
                    .await;
            }
        }
    }

    async fn message(&self, message: Message) {
        let outgoing: Arc<dyn MessageSink> = self.outgoing.clone();
        let reply = match message.kind() {
            Kind::Request => self.running.begin(&message, outgoing),
            _ => outgoing,
        };
        Arc::clone(&self.client).receive(message, reply).await;
    }

    /// Does without a message, and tells the side that waits for it.
    async fn ignore(&self, MessageSummary { bytes, id, kind }: MessageSummary, error: RpcError) {
        tracing::warn!(
            bytes,
            ?kind,
            error = error.message,
            "ignored a message of the client"
        );
        let failure = Message::failure(id.as_ref(), &error);
        if id.is_some() && kind.is_some_and(Kind::is_answer) {
            self.message(failure).await;
        } else {
            self.refuse(failure).await;
        }
    }

    async fn refuse(&self, message: Message) {
        // A client that is gone is noticed elsewhere.
        let _ = self.outgoing.send(message).await;
    }
}
