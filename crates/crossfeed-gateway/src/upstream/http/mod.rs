//! Servers that speak streamable HTTP.
//!
//! # Invariants
//!
//! - Messages are posted in the order in which they were handed over: the next message goes once the server has
//!   accepted a notification or an answer, or once a request is written. A server that hangs delays the others by two
//!   seconds at most.
//! - Every request has one answer or one failure, whatever the server sends, how often and on which stream.
//! - A stream that breaks is resumed after its last event, where the server supports that.
//! - Memory is bounded: bodies and events beyond the limit fail their request and are discarded.

pub(super) mod body;
mod connection;
mod exchange;
mod routing;
mod server_stream;
mod session;
pub mod sse;
pub(super) mod wire;

#[cfg(test)]
mod tests;

use super::{Connector, Event, Upstream, UpstreamError, auth::OAuth, check_size};
use crate::{
    Revision,
    budget::Account,
    message::{Header, Id, Message},
    protocol::method,
};
use async_trait::async_trait;
use connection::HttpConnection;
use parking_lot::Mutex;
use reqwest::Url;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{sleep, timeout},
};
use wire::Wire;
pub(crate) use wire::impatient_client;

/// Messages that may wait to be posted before a sender has to.
const MAX_WAITING: usize = 64;
/// How long a message may hold up those behind it.
const ORDER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the messages that wait at the end may take, and then the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Reaches a server over streamable HTTP.
#[derive(Clone)]
pub(super) struct HttpConnector {
    /// The server's name in the log.
    server: Arc<str>,
    wire: Arc<Wire>,
    /// How many bytes a message may have.
    pub(super) limit: usize,
    /// What is read is charged to this.
    account: Arc<Account>,
}

impl HttpConnector {
    /// A server at an address. Every request carries these headers.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Unreachable`] when the address is not one of HTTP, or a header is invalid.
    pub(super) fn new(
        server: &str,
        url: &str,
        headers: &BTreeMap<String, String>,
        oauth: Option<Arc<OAuth>>,
    ) -> Result<Self, UpstreamError> {
        let wire = Wire::new(address(url)?, wire::headers(headers)?, oauth)?;
        Ok(Self {
            server: server.into(),
            wire: Arc::new(wire),
            limit: crate::config::Limits::default().message_bytes,
            account: Account::unlimited(),
        })
    }
}

/// The address of a server; no error contains it.
pub(super) fn address(url: &str) -> Result<Url, UpstreamError> {
    let invalid = |why: &str| UpstreamError::Unreachable(format!("its `url` is {why}"));
    let url = Url::parse(url).map_err(|error| invalid(&format!("not valid: {error}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(invalid("neither http nor https")),
    }
}

#[async_trait]
impl Connector for HttpConnector {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let link = Arc::new(HttpConnection::new(self.clone(), events));
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let (done, ended) = watch::channel(());
        let closing = Arc::new(Notify::new());
        let dispatch = dispatch(Arc::clone(&link), waiting, Arc::clone(&closing), done);
        tokio::spawn(dispatch);
        Ok(Arc::new(HttpUpstream {
            link,
            queue: Mutex::new(Some(queue)),
            closing,
            ended,
        }))
    }

    fn charged_to(&self, account: &Arc<Account>) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(Self {
            account: Arc::clone(account),
            ..self.clone()
        }))
    }
}

/// A message that waits to be posted, with headers of its own.
type QueuedPost = (Message, Vec<Header>);

struct HttpUpstream {
    link: Arc<HttpConnection>,
    /// None once it was closed.
    queue: Mutex<Option<mpsc::Sender<QueuedPost>>>,
    /// Messages that wait are posted soon, or not any more.
    closing: Arc<Notify>,
    /// Fails when the connection has ended.
    ended: watch::Receiver<()>,
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.closing.notify_one();
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        check_size(&message, self.link.limit)?;
        let queue = self.queue.lock().clone();
        let ended = || {
            self.link
                .over
                .borrow()
                .clone()
                .unwrap_or_else(connection::closed)
        };
        let queue = queue.ok_or_else(ended)?;
        // A place first: a caller that gives up before there is one has handed over nothing.
        let place = queue.reserve().await.map_err(|_| ended())?;
        self.link.wait(&message);
        place.send((message, headers.to_vec()));
        Ok(())
    }

    fn speak(&self, revision: Revision) {
        self.link.speak(revision);
    }

    async fn abandon(&self, id: &Id) {
        self.link.abandon(id);
    }

    async fn close(&self) {
        self.queue.lock().take();
        self.closing.notify_one();
        // It fails once the connection has dropped the sender: that is the end.
        drop(self.ended.clone().changed().await);
    }
}

/// Posts messages one after the other until the connection is closed or over, and ends it.
async fn dispatch(
    link: Arc<HttpConnection>,
    mut waiting: mpsc::Receiver<QueuedPost>,
    closing: Arc<Notify>,
    done: watch::Sender<()>,
) {
    let mut over = link.over.subscribe();
    let posting = async {
        while let Some((message, headers)) = waiting.recv().await {
            post(&link, message, headers).await;
        }
    };
    // One time limit for all messages that wait when the connection is closed.
    let late = async {
        closing.notified().await;
        sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        // The sender is the link's, and the link is here.
        _ = over.wait_for(Option::is_some) => {}
        () = posting => {}
        () = late => {}
    }
    waiting.close();
    let error = link.over.borrow().clone();
    if error == Some(UpstreamError::SessionOver) {
        while let Ok((message, headers)) = waiting.try_recv() {
            link.give_back(message, headers).await;
        }
        link.wait_for_refusals().await;
    }
    link.abort();
    if error.is_none() {
        drop(timeout(CLOSE_TIMEOUT, link.delete()).await);
    }
    // Those who wait for the end do not wait for events to be taken.
    drop(done);
    link.close(error.unwrap_or_else(connection::closed)).await;
}

async fn post(link: &Arc<HttpConnection>, message: Message, headers: Vec<Header>) {
    let sent = Arc::new(Notify::new());
    if let Some(id) = message.request_id().cloned() {
        if link.start(&id, message, headers, &sent) {
            drop(timeout(ORDER_TIMEOUT, sent.notified()).await);
        }
        return;
    }
    // Without sessions, closing its stream cancels a request.
    if message.method() == Some(method::CANCELLED) && !link.has_session_era() {
        return;
    }
    let begins = message.method() == Some(method::INITIALIZED);
    if let Some(told) = link.tell(message, headers, sent, usize::MAX) {
        drop(timeout(ORDER_TIMEOUT, told).await);
    }
    if begins && link.has_session_era() {
        let task = tokio::spawn(server_stream::run(Arc::clone(link)));
        link.set_server_stream(task.abort_handle());
    }
}
