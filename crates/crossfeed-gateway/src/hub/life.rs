//! The life of a connection to a server: opened, listened to, and opened again when it ends.
//!
//! What comes in: a link, and the events of its server. What goes out: answers for whoever waits for
//! them, and what the server says on its own for the client. Deliberately not here: which message goes
//! to which server.
//!
//! # What holds
//!
//! - A server that cannot be reached holds nobody up: what is asked of it fails at once until it is back.
//! - Attempts to reach it again come at growing distances.
//! - A server that comes back is told what it was told before: who the client is, how much to log, what
//!   is subscribed to. The client is told that lists may have changed.

use super::{
    advance::advance,
    link::{Failure, Link, Phase, Waiting},
    read,
};
use crate::{
    Revision,
    bridge::{WithSession, WithoutSession},
    message::{Id, Kind, Message},
    upstream::{Backoff, Connector, Event, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// Events that wait for the client to read: few, so that a server that floods is held up early.
const EVENTS: usize = 64;

/// Results beyond this are made ready by a task of their own, so that what comes behind need not wait.
const LARGE: usize = 256 << 10;

/// How a client introduces itself, to be said to every server, and again when one comes back.
pub(super) struct Hello {
    /// `initialize` or `server/discover`.
    pub(super) method: &'static str,
    pub(super) params: Bytes,
    /// The client's notification that it is initialized, once it came.
    initialized: Mutex<Option<Message>>,
}

impl Hello {
    pub(super) fn new(method: &'static str, params: Bytes) -> Self {
        Self {
            method,
            params,
            initialized: Mutex::new(None),
        }
    }

    pub(super) fn set_initialized(&self, message: Message) {
        *self
            .initialized
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(message);
    }

    pub(super) fn initialized(&self) -> Option<Message> {
        self.initialized
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Lives until the client is gone.
pub(super) async fn run(link: Arc<Link>) {
    let mut backoff = Backoff::default();
    let mut is_first = true;
    loop {
        let started = Instant::now();
        let error = tokio::select! {
            () = closed(&link) => return,
            opened = open(&link) => match opened {
                Ok((upstream, events)) => {
                    link.open(Arc::clone(&upstream)).await;
                    tracing::info!(target: "crossfeed::gateway", server = %link.name, "server is there");
                    if !is_first {
                        replay(&link).await;
                    }
                    announce(&link).await;
                    match live(&link, events).await {
                        Some(error) => error,
                        None => {
                            upstream.close().await;
                            return;
                        }
                    }
                }
                Err(error) => error,
            },
        };
        is_first = false;
        tracing::warn!(target: "crossfeed::gateway", server = %link.name, %error, "server is not there");
        link.down(Phase::Down(error.clone())).await;
        if let Some(client) = link.client.upgrade() {
            client.lost(&link).await;
        }
        if started.elapsed() > STEADY {
            backoff.reset();
        }
        tokio::select! {
            () = closed(&link) => return,
            () = tokio::time::sleep(backoff.next_wait()) => {}
        }
    }
}

/// A server that lived this long did not fail at starting.
const STEADY: Duration = Duration::from_secs(30);

/// The client is gone.
async fn closed(link: &Link) {
    let mut phase = link.phase.subscribe();
    let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed)).await;
}

type Opened = (Arc<dyn Upstream>, mpsc::Receiver<Event>);

/// How long a server may take to say that it does not know the stateless era. Some never say it.
const PROBE: Duration = Duration::from_secs(20);

/// Connects, and says who the client is: to a server of the client's era as it is, to one of the other
/// through a bridge. Which it is of is found out once.
async fn open(link: &Arc<Link>) -> Result<Opened, UpstreamError> {
    let most = link.start_timeout();
    let Some(client) = link.client.upgrade() else {
        return Err(ended());
    };
    let eras = client.gateway().eras();
    drop(client);
    let known = eras.of(link.server, link.stateless);
    if known != Some(false) {
        let is_probe = known.is_none() && link.stateless;
        let most = if is_probe { most.min(PROBE) } else { most };
        let error = match attempt(link, &link.connector, most).await {
            Ok(opened) => {
                eras.learn(link.server, link.stateless, Some(true));
                return Ok(opened);
            }
            Err(error) => error,
        };
        let (error, was_there) = error;
        // Servers refuse what they do not know in every way there is.
        let is_refusal = match &error {
            UpstreamError::TimedOut { .. } => is_probe,
            UpstreamError::Ended { .. } => is_probe || link.is_http,
            _ => true,
        };
        if !(was_there && is_refusal) {
            return Err(error);
        }
        let refused = link.state().refused.clone();
        tracing::debug!(target: "crossfeed::gateway", server = %link.name, %error, "another era is tried");
        match attempt(link, &bridged(link), link.start_timeout()).await {
            Ok(opened) => {
                eras.learn(link.server, link.stateless, Some(false));
                return Ok(opened);
            }
            // Neither: what the server itself said to its client stands.
            Err(_) => {
                eras.learn(link.server, link.stateless, None);
                link.state().refused = refused;
                return Err(error);
            }
        }
    }
    let opened = attempt(link, &bridged(link), most).await;
    let opened = opened.map_err(|(error, _)| error);
    if matches!(opened, Err(UpstreamError::Refused { .. })) {
        eras.learn(link.server, link.stateless, None);
    }
    opened
}

/// The server as if it were of the client's era.
fn bridged(link: &Link) -> Arc<dyn Connector> {
    let server = Arc::clone(&link.connector);
    if link.stateless {
        let is_shared = link
            .client
            .upgrade()
            .is_none_or(|client| client.is_shared());
        Arc::new(WithoutSession { server, is_shared })
    } else {
        Arc::new(WithSession { server })
    }
}

/// Fails with whether there was a connection.
async fn attempt(
    link: &Arc<Link>,
    connector: &Arc<dyn Connector>,
    most: Duration,
) -> Result<Opened, (UpstreamError, bool)> {
    let mut upstream = None;
    let opened = tokio::time::timeout(most, async {
        let (sender, mut events) = mpsc::channel(EVENTS);
        let connected = connector.connect(sender).await?;
        upstream = Some(Arc::clone(&connected));
        introduce(link, &*connected, &mut events).await?;
        Ok((connected, events))
    })
    .await
    .unwrap_or(Err(UpstreamError::TimedOut {
        seconds: most.as_secs(),
    }));
    match (opened, upstream) {
        (Ok(opened), _) => Ok(opened),
        (Err(error), Some(upstream)) => {
            upstream.close().await;
            Err((error, true))
        }
        (Err(error), None) => Err((error, false)),
    }
}

async fn introduce(
    link: &Arc<Link>,
    upstream: &dyn Upstream,
    events: &mut mpsc::Receiver<Event>,
) -> Result<(), UpstreamError> {
    // Ids of links begin at 1.
    let id = Id::number(0);
    let hello = Message::request(&id, link.hello.method, Some(&link.hello.params));
    upstream.send(hello, &[]).await?;
    loop {
        match events.recv().await {
            Some(Event::Message { message, .. }) if message.id() == Some(&id) => {
                match message.kind() {
                    Kind::Response => {
                        let result = message.result().unwrap_or_default();
                        upstream.speak(spoken(link, &result));
                        let mut state = link.state();
                        state.about = Some(result);
                        state.refused = None;
                        return Ok(());
                    }
                    Kind::Error => {
                        let reason = refusal(&message);
                        link.state().refused = Some(message);
                        return Err(UpstreamError::Refused { reason });
                    }
                    Kind::Request | Kind::Notification => handle_message(link, message, None).await,
                }
            }
            Some(Event::Failed { id: of, error }) if of == id => {
                link.state().refused = None;
                return Err(error);
            }
            Some(Event::Closed(error)) => return Err(error),
            Some(event) => handle(link, event).await,
            None => return Err(ended()),
        }
    }
}

fn ended() -> UpstreamError {
    UpstreamError::Ended {
        reason: "the connection is over".to_owned(),
    }
}

/// What an error says, on one short line.
fn refusal(error: &Message) -> String {
    let said = error
        .error()
        .and_then(|error| read::string(&error, &["message"]));
    let mut said: String = said
        .unwrap_or_default()
        .chars()
        .take(200)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if said.is_empty() {
        said.push_str("an error without a message");
    }
    said
}

/// The revision that a server speaks: what it said, or the nearest that is known.
fn spoken(link: &Link, result: &Bytes) -> Revision {
    if link.stateless {
        return Revision::V2026_07_28;
    }
    match read::string(result, &["protocolVersion"]) {
        Some(said) => Revision::parse(&said).unwrap_or(Revision::V2025_06_18),
        None => Revision::V2025_06_18,
    }
}

/// Says again what was said before.
async fn replay(link: &Arc<Link>) {
    let (level, subscriptions) = {
        let state = link.state();
        let subscriptions: Vec<_> = state.subscriptions.values().cloned().collect();
        (state.level.clone(), subscriptions)
    };
    if let Some(level) = level {
        drop(link.ask(None, "logging/setLevel", Some(&level)).await);
    }
    for params in subscriptions {
        drop(link.ask(None, "resources/subscribe", Some(&params)).await);
    }
}

/// Tells the client to look again, if its session began without the server.
pub(super) async fn announce(link: &Arc<Link>) {
    if let Some(client) = link.client.upgrade() {
        client.back(link).await;
    }
}

/// Listens until the connection is over; gives nothing if that is because the client is gone.
async fn live(link: &Arc<Link>, mut events: mpsc::Receiver<Event>) -> Option<UpstreamError> {
    let gone = closed(link);
    tokio::pin!(gone);
    loop {
        let deadline = link.next_deadline();
        tokio::select! {
            biased;
            () = &mut gone => return None,
            event = events.recv() => match event {
                Some(Event::Closed(error)) => return Some(error),
                Some(event) => handle(link, event).await,
                None => return Some(ended()),
            },
            () = link.clock.notified() => {}
            () = until(deadline) => {
                let error = link.timed_out();
                for (minted, waiting) in link.overdue() {
                    link.fail_one(waiting, &error).await;
                    link.cancel(minted, Bytes::from_static(br#"{"requestId":0,"reason":"timeout"}"#)).await;
                }
            }
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn handle(link: &Arc<Link>, event: Event) {
    match event {
        Event::Message { message, related } => handle_message(link, message, related).await,
        Event::Failed { id, error } => {
            if let Some(waiting) = link.take(&id) {
                link.fail_one(waiting, &error).await;
            }
        }
        Event::Closed(_) => {}
    }
}

async fn handle_message(link: &Arc<Link>, message: Message, related: Option<Id>) {
    let Some(client) = link.client.upgrade() else {
        return;
    };
    match message.kind() {
        Kind::Response | Kind::Error => {
            let waiting = message.id().and_then(|id| link.take(id));
            match waiting {
                Some(waiting) => answered(link, waiting, message).await,
                // It was cancelled, or nobody asked.
                None => tracing::debug!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    "an answer that nobody waits for"
                ),
            }
        }
        Kind::Request => client.asked(link, message, related.as_ref()).await,
        Kind::Notification => client.told(link, message, related.as_ref()).await,
    }
}

async fn answered(link: &Arc<Link>, waiting: Waiting, message: Message) {
    let Some(client) = link.client.upgrade() else {
        return;
    };
    match waiting {
        Waiting::Forward { serial } => client.answer(serial, message).await,
        Waiting::Listen { serial } => {
            let answer = match message.kind() {
                Kind::Error => Err(Failure::Error(Box::new(message))),
                _ => Ok(message),
            };
            if let Some(side) = client.side_of(link) {
                side.listened(&client, link, serial, answer).await;
            }
        }
        Waiting::Inner { answer, .. } => {
            let _ = answer.send(match message.result() {
                Some(result) => Ok(result),
                None => Err(Failure::Error(Box::new(message))),
            });
        }
        Waiting::Call { serial, pending } => match message.result() {
            Some(result) => {
                let is_large = result.len() > LARGE;
                client.learn(link, &result);
                let work = Box::pin(async move {
                    let shown = pending.finish(result).await;
                    client.answer(serial, message.with_body(shown)).await;
                });
                if is_large {
                    tokio::spawn(work);
                } else {
                    advance(work).await;
                }
            }
            None => {
                pending.fail(&refusal(&message)).await;
                client.answer(serial, message).await;
            }
        },
    }
}
