//! Servers that speak streamable HTTP.
//!
//! What comes in: an address, and messages. What goes out: the messages of the server, on whichever stream they
//! came. Deliberately not here: which revision is spoken, and where tokens come from ([`super::auth`]).
//!
//! # What holds
//!
//! - Messages are posted in the order in which they were handed over: a message that has no answer is
//!   taken by the server before the next one goes, and a request is written. (Or two seconds have passed: a
//!   server that hangs on one message does not hold up the others.)
//! - Every request has one answer or one failure, whatever the server says how often and where.
//! - A stream that breaks is resumed behind its last event, when the server wants it to be.
//! - Memory is bounded: bodies and events beyond the limit fail their request and are not kept.

mod body;
mod connection;
mod exchange;
mod routing;
mod server_stream;
mod session;
pub mod sse;
pub(super) mod wire;

#[cfg(test)]
mod tests;

use super::{Connector, Event, Upstream, UpstreamError, auth::Credentials};
use crate::{
    Revision,
    budget::Account,
    message::{Header, Id, Kind, Message},
    protocol::method,
};
use async_trait::async_trait;
use connection::HttpConnection;
use parking_lot::Mutex;
use reqwest::Url;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{sleep, timeout},
};
use wire::Wire;

/// Messages that may wait to be posted before a sender has to.
const MAX_WAITING: usize = 64;
/// How long a message may hold up those behind it.
const ORDER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long what waits at the end may take, and then the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Reaches a server over streamable HTTP.
#[derive(Clone)]
pub struct HttpConnector {
    server: Arc<str>,
    wire: Arc<Wire>,
    limit: usize,
    account: Arc<Account>,
}

impl fmt::Debug for HttpConnector {
    /// Without its address and headers: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConnector")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl HttpConnector {
    /// A server of this name, in the log, at an address, with headers that every request has.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Unreachable`] when the address is none of HTTP, or a header is none that can be
    /// set.
    pub fn new(
        server: impl Into<Arc<str>>,
        url: &str,
        headers: &BTreeMap<String, String>,
    ) -> Result<Self, UpstreamError> {
        let wire = Wire::new(address(url)?, wire::headers(headers)?)?;
        Ok(Self {
            server: server.into(),
            wire: Arc::new(wire),
            limit: crate::config::Limits::default().message_bytes,
            account: Account::unlimited(),
        })
    }

    /// Asks these for the `Authorization` header.
    pub(super) fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.wire = Arc::new(Wire::clone(&self.wire).with_credentials(credentials));
        self
    }

    /// Takes and sends messages of at most `bytes`.
    #[must_use]
    pub fn with_message_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }
}

/// The address of a server; no error holds it.
pub(super) fn address(url: &str) -> Result<Url, UpstreamError> {
    let no_address = |why| UpstreamError::Unreachable(format!("its `url` {why}"));
    let url = Url::parse(url).map_err(|error| no_address(format!("is none: {error}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(no_address("is neither http nor https".to_owned())),
    }
}

#[async_trait]
impl Connector for HttpConnector {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let link = Arc::new(HttpConnection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.wire),
            self.limit,
            Arc::clone(&self.account),
            events,
        ));
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let (done, ended) = watch::channel(());
        let closing = Arc::new(Notify::new());
        tokio::spawn(dispatch(
            Arc::clone(&link),
            waiting,
            Arc::clone(&closing),
            done,
        ));
        Ok(Arc::new(HttpUpstream {
            link,
            queue: Mutex::new(Some(queue)),
            closing,
            ended,
        }))
    }

    fn charged_to(&self, account: &Arc<Account>) -> Option<Arc<dyn Connector>> {
        let mut charged = self.clone();
        charged.account = Arc::clone(account);
        Some(Arc::new(charged))
    }
}

/// A message that waits to be posted, with headers of its own.
type Waiting = (Message, Vec<Header>);

struct HttpUpstream {
    link: Arc<HttpConnection>,
    /// None once it was closed.
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    /// What waits is posted soon, or not any more.
    closing: Arc<Notify>,
    /// Fails when the connection has ended.
    ended: watch::Receiver<()>,
}

impl HttpUpstream {
    fn queue(&self) -> Option<mpsc::Sender<Waiting>> {
        let queue = self.queue.lock();
        queue.clone()
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.closing.notify_one();
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        let limit = self.link.limit;
        if message.len() > limit {
            return Err(UpstreamError::TooLarge { limit });
        }
        let queue = self.queue();
        let ended = || {
            let over = self.link.over.borrow().clone();
            over.unwrap_or_else(connection::closed)
        };
        let queue = queue.ok_or_else(ended)?;
        // A place first: who gives up before there is one has handed over nothing.
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
        // It fails when there is nobody to say it any more, and that is what is waited for.
        drop(self.ended.clone().changed().await);
    }
}

/// Posts messages one behind the other until the connection is closed or over, and ends it.
async fn dispatch(
    link: Arc<HttpConnection>,
    mut waiting: mpsc::Receiver<Waiting>,
    closing: Arc<Notify>,
    done: watch::Sender<()>,
) {
    let mut over = link.over.subscribe();
    let posting = async {
        while let Some((message, headers)) = waiting.recv().await {
            post(&link, message, headers).await;
        }
    };
    // What waits when the connection is closed has its time in all, not each of it.
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
            link.give_back_unsent(message, headers).await;
        }
        link.refusals().await;
    }
    link.abort();
    let error = match error {
        Some(error) => error,
        None => {
            drop(timeout(CLOSE_TIMEOUT, link.delete()).await);
            connection::closed()
        }
    };
    // Who waits for the end is not held up by who does not take events.
    drop(done);
    link.close(error).await;
}

async fn post(link: &Arc<HttpConnection>, message: Message, headers: Vec<Header>) {
    let sent = Arc::new(Notify::new());
    if let (Kind::Request, Some(id)) = (message.kind(), message.id().cloned()) {
        if link.start(&id, message, headers, &sent) {
            drop(timeout(ORDER_TIMEOUT, sent.notified()).await);
        }
        return;
    }
    // Without sessions, a stream that ends says so.
    if message.method() == Some(method::CANCELLED) && !link.has_session_era() {
        return;
    }
    let begins = message.method() == Some(method::INITIALIZED);
    if let Some(told) = link.tell(message, headers, sent, usize::MAX) {
        drop(timeout(ORDER_TIMEOUT, told).await);
    }
    if begins && link.has_session_era() {
        let task = tokio::spawn(server_stream::run(Arc::clone(link)));
        link.stand(task.abort_handle());
    }
}
