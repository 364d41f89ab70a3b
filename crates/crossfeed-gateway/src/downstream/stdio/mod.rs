//! The client on standard input and output: one message a line.
//!
//! What comes in: lines. What goes out: messages for the hub, in order, and the hub's messages as lines;
//! errors for lines that are no message. Deliberately not here: which signal ends a process.

mod outgoing;
mod standard;

#[cfg(test)]
mod tests;

pub use standard::{StandardInput, StandardOutput, standard};

use super::{CLOSE_TIMEOUT, running::Running, too_large};
use crate::{
    budget::Purpose,
    config::Limits,
    line::{Line, LineReader, Skimmed},
    message::{Kind, Message, MessageError, RpcError},
    metrics::{Counter, families},
    protocol::code,
};
use crate::{
    port::{Hub, HubClient, MessageSink},
    principal::Principal,
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use outgoing::Outgoing;
use serde_json::json;
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
    let no_messages = hub.metrics().counter(families::CLIENT_NO_MESSAGES, &[]);
    let connection = Connection {
        client: Arc::clone(&hub).connect(Principal::Local, outgoing.clone()),
        outgoing: outgoing.clone(),
        running: Arc::default(),
        limit: limits.message_bytes,
        no_messages,
    };
    let account = hub.budget().account(&Principal::Local);
    let read = {
        let read = pin!(connection.read(
            LineReader::new(input, limits.message_bytes).charging(&account, Purpose::Request)
        ));
        tokio::select! {
            biased;
            () = stop => Ok(()),
            () = outgoing.gone() => Ok(()),
            read = read => read,
        }
    };
    let Connection {
        client, running, ..
    } = connection;
    let finished = async {
        tokio::select! {
            () = outgoing.gone() => {}
            () = running.none() => {}
        }
    };
    if timeout(limits.shutdown, finished).await.is_err() {
        tracing::warn!("requests of the client were still running at the shutdown deadline");
    }
    if timeout(CLOSE_TIMEOUT, client.close()).await.is_err() {
        tracing::warn!("connections to servers did not close in time");
    }
    // A client that does not read holds nobody up.
    let _ = timeout(limits.shutdown, outgoing.close()).await;
    read
}

struct Connection<W> {
    client: Arc<dyn HubClient>,
    outgoing: Arc<Outgoing<W>>,
    running: Arc<Running>,
    limit: usize,
    no_messages: Counter,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Connection<W> {
    async fn read<R: AsyncRead + Unpin>(&self, mut lines: LineReader<R>) -> io::Result<()> {
        while let Some(line) = lines.next().await? {
            match line {
                Line::Whole(bytes) | Line::Unfinished(bytes) => self.line(bytes).await,
                Line::TooLong(skimmed) => self.too_long(skimmed).await,
                Line::NoRoom(skimmed) => self.no_room(skimmed).await,
            }
        }
        Ok(())
    }

    async fn line(&self, bytes: Bytes) {
        match Message::read(bytes).await {
            Ok(message) => self.message(message).await,
            Err(error) => self.no_message(&error).await,
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

    async fn no_message(&self, error: &MessageError) {
        self.no_messages.add(1);
        tracing::warn!(%error, "the client sent an invalid JSON-RPC message");
        self.refuse(Message::failure(error.id(), &error.to_rpc()))
            .await;
    }

    async fn too_long(&self, skimmed: Skimmed) {
        self.no_messages.add(1);
        let (limit, bytes, kind) = (self.limit, skimmed.bytes, skimmed.kind);
        tracing::warn!(
            bytes,
            limit,
            ?kind,
            "the client sent a message beyond the limit"
        );
        self.passed_over(skimmed, too_large(limit)).await;
    }

    async fn no_room(&self, skimmed: Skimmed) {
        let (bytes, kind) = (skimmed.bytes, skimmed.kind);
        tracing::warn!(
            bytes,
            ?kind,
            "dropped a message of the client: the memory limit is reached"
        );
        let data = json!({"code": ErrorCode::LimitExceeded.as_str()});
        let error = RpcError::new(code::INTERNAL, "the memory limit is reached");
        self.passed_over(skimmed, error.with_data(data)).await;
    }

    async fn passed_over(&self, skimmed: Skimmed, error: RpcError) {
        let Skimmed { id, kind, .. } = skimmed;
        match (kind, &id) {
            // The server waits for it: it is told that nothing comes.
            (Some(Kind::Response | Kind::Error), Some(id)) => {
                self.message(Message::failure(Some(id), &error)).await;
            }
            _ => self.refuse(Message::failure(id.as_ref(), &error)).await,
        }
    }

    async fn refuse(&self, message: Message) {
        // That the client is gone is seen where it is waited for.
        let _ = self.outgoing.send(message).await;
    }
}
