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
//!   is subscribed to. The client is told that lists may have changed; and before, once, if an attempt to
//!   reach the server again failed.

use super::{
    Client,
    connection::{Answer, Failure, PendingReply, Phase, ServerConnection},
    handshake::{introduce, refusal, says_unknown},
    pace::Pace,
    poll_then_spawn::poll_then_spawn,
    room::{self, Connection, Room},
    room_connector::RoomConnector,
};
use crate::{
    bridge::{StatefulBridge, StatelessBridge},
    message::{Id, Kind, Message},
    metrics::Outcome,
    port::Crowded,
    protocol::method,
    tools::result::{of_server, unclaimed},
    upstream::{Backoff, Connector, Event, UpstreamError},
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use parking_lot::Mutex;
use std::{collections::VecDeque, future::Future, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::Instant};

/// Events that wait for the client to read: few, so that a server that floods is held up early.
const MAX_EVENTS: usize = 64;

/// Results beyond this are made ready by a task of their own, so that what comes behind need not wait.
const LARGE_RESULT_BYTES: usize = 256 << 10;

/// How a client introduces itself, to be said to every server, and again when one comes back.
pub(super) struct Handshake {
    /// `initialize` or `server/discover`.
    pub(super) method: &'static str,
    pub(super) params: Bytes,
    /// The client's notification that it is initialized, once it came.
    pub(super) initialized: Mutex<Option<Message>>,
}

/// Lives until the client is gone.
pub(super) async fn run(link: Arc<ServerConnection>) {
    let mut backoff = Backoff::default();
    let mut is_first = true;
    let mut is_renewed = false;
    // What the server said of itself when its process was given back.
    let mut given_back = None;
    loop {
        tokio::select! {
            () = closed(&link) => return,
            () = link.used() => {}
        }
        let mut lived = Duration::ZERO;
        let mut was_there = false;
        let error = tokio::select! {
            () = closed(&link) => return,
            opened = in_time(&link, open(&link)) => match opened {
                Ok((connection, events)) => {
                    let there = Instant::now();
                    was_there = true;
                    tracing::info!(target: "crossfeed::gateway", server = %link.name, "server connected");
                    let again = async {
                        let about = link.state.lock().about.clone();
                        link.open(Arc::clone(&connection.upstream)).await;
                        if !is_first {
                            match given_back.take() {
                                // The same server as before: the client need not know.
                                Some(before) if before == about => {}
                                Some(_) => link.forget_known(),
                                None => link.figures.restarts.add(1),
                            }
                            poll_then_spawn(Box::pin(replay(Arc::clone(&link)))).await;
                        }
                        announce(&link).await;
                    };
                    in_time(&link, again).await;
                    let end = live(&link, events).await;
                    lived = there.elapsed();
                    match end {
                        // Nothing is wrong with the server but that it forgot the session. One that forgets each at
                        // once is not there.
                        End::Over(UpstreamError::SessionOver) if !is_renewed || lived > SESSION_KNOWN_AFTER => {
                            (is_first, is_renewed) = (false, true);
                            given_back = None;
                            link.figures.failures.add(1);
                            tracing::info!(target: "crossfeed::gateway", server = %link.name, "the server forgot the session: beginning a new one");
                            link.renew().await;
                            if let Some(client) = link.client.upgrade() {
                                client.lost(&link).await;
                            }
                            continue;
                        }
                        // Not waited for: it may take its time to end.
                        End::Over(error) => error,
                        End::GivenBack => {
                            is_first = false;
                            given_back = Some(link.state.lock().about.clone());
                            continue;
                        }
                        End::Gone => {
                            connection.close().await;
                            return;
                        }
                    }
                }
                Err(error) => error,
            },
        };
        (is_first, is_renewed) = (false, false);
        if let UpstreamError::Crowded { .. } = &error {
            tracing::warn!(target: "crossfeed::gateway", server = %link.name, %error, "server not started");
            link.down(Phase::Idle(Some(error))).await;
            continue;
        }
        given_back = None;
        link.figures.failures.add(1);
        tracing::warn!(target: "crossfeed::gateway", server = %link.name, %error, "server unavailable");
        link.down(Phase::Down(error.clone())).await;
        let Some(client) = link.client.upgrade() else {
            return;
        };
        client.lost(&link).await;
        // One that is back at the first attempt was not missed.
        if !was_there {
            client.gone(&link).await;
        }
        drop(client);
        if lived > STEADY_AFTER {
            backoff.reset();
        }
        tokio::select! {
            () = closed(&link) => return,
            () = tokio::time::sleep(backoff.next_wait()) => {}
            // It was not used for long, and now it is: what is asked shall not wait for the next attempt.
            () = link.begins_again() => {}
        }
    }
}

/// A server that lived this long did not fail at starting.
const STEADY_AFTER: Duration = Duration::from_secs(30);

/// A server that knew its session this long knows sessions.
const SESSION_KNOWN_AFTER: Duration = Duration::from_secs(1);

/// Does something, and meanwhile gives up what takes too long.
async fn in_time<T>(link: &Arc<ServerConnection>, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        let deadline = link.next_deadline();
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = link.clock.notified() => {}
            () = until(deadline) => give_up(link).await,
        }
    }
}

/// Fails what took longer than it may, and tells the server of what it was sent.
async fn give_up(link: &Arc<ServerConnection>) {
    let error = link.timed_out();
    let lost = error.clone().after_sending();
    let mut sent = Vec::new();
    for (upstream_id, waiting, was_sent) in link.overdue() {
        let error = if was_sent { &lost } else { &error };
        link.fail_one(waiting, error).await;
        if was_sent {
            sent.push(upstream_id);
        }
    }
    for upstream_id in sent {
        let params = Bytes::from_static(br#"{"requestId":0,"reason":"timeout"}"#);
        link.cancel(upstream_id, params).await;
    }
}

/// The client is gone.
async fn closed(link: &ServerConnection) {
    let mut phase = link.phase.subscribe();
    let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed)).await;
}

type Opened = (Connection, mpsc::Receiver<Event>);

/// How long a server may take to say that it does not know the stateless era. Some never say it.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Connects, and says who the client is: to a server of the client's era as it is, to one of the other
/// through a bridge. Which it is of is found out once.
async fn open(link: &Arc<ServerConnection>) -> Result<Opened, UpstreamError> {
    let most = link.start_timeout;
    let Some(client) = link.client.upgrade() else {
        return Err(ended());
    };
    let eras = Arc::clone(&client.gateway.eras);
    let room = room(link, &client).await?;
    drop(client);
    let known = eras.of(link.server, link.stateless);
    if known != Some(false) {
        let is_probe = known.is_none() && link.stateless;
        let most = if is_probe {
            most.min(PROBE_TIMEOUT)
        } else {
            most
        };
        let error = match attempt(link, &link.connector, most, Some(&room)).await {
            Ok(opened) => {
                eras.learn(link.server, link.stateless, Some(true));
                return Ok(opened);
            }
            Err(error) => error,
        };
        let (error, was_there) = error;
        let refused = link.state.lock().refused.clone();
        // A client's own mistake says nothing of the server, and must not decide for other clients.
        let is_certain = link.stateless
            || match &refused {
                Some(refused) => says_unknown(refused),
                None => true,
            };
        if known == Some(true) && !refused.as_ref().is_some_and(says_unknown) {
            return Err(error);
        }
        // Servers refuse what they do not know in every way there is.
        let is_refusal = match &error {
            UpstreamError::TimedOut { .. } => is_probe,
            UpstreamError::Ended(_) | UpstreamError::SessionOver => is_probe || link.is_http,
            _ => true,
        };
        if !(was_there && is_refusal) {
            return Err(error);
        }
        tracing::debug!(target: "crossfeed::gateway", server = %link.name, %error, "trying another protocol revision");
        link.state.lock().refused = None;
        // Known at once: who asks for the era need not wait until the bridge is open. If that fails, too, nothing
        // is known.
        let says_no = refused.is_some() || matches!(error, UpstreamError::Rejected(_));
        if link.stateless && says_no {
            eras.learn(link.server, link.stateless, Some(false));
        }
        let (bridge, room) = bridged(link, &room);
        match attempt(link, &bridge, link.start_timeout, room).await {
            Ok(opened) => {
                if is_certain {
                    eras.learn(link.server, link.stateless, Some(false));
                }
                return Ok(opened);
            }
            // It only wants to know who asks, and that is what a person can help with.
            Err((wants @ UpstreamError::Refused(_), _)) if link.state.lock().refused.is_none() => {
                eras.learn(link.server, link.stateless, None);
                return Err(wants);
            }
            // Neither: what the server itself said to its client stands.
            Err(_) => {
                eras.learn(link.server, link.stateless, None);
                link.state.lock().refused = refused;
                return Err(error);
            }
        }
    }
    let (bridge, room) = bridged(link, &room);
    let opened = attempt(link, &bridge, most, room).await;
    let opened = opened.map_err(|(error, _)| error);
    if matches!(
        opened,
        Err(UpstreamError::Refused(_) | UpstreamError::Rejected(_))
    ) {
        eras.learn(link.server, link.stateless, None);
    }
    opened
}

/// The server as if it were of the client's era, and the room that its only connection takes: where the bridge
/// may open several, each takes its own.
fn bridged<'r>(
    link: &Arc<ServerConnection>,
    room: &'r Arc<Room>,
) -> (Arc<dyn Connector>, Option<&'r Arc<Room>>) {
    let server = Arc::clone(&link.connector);
    if !link.stateless {
        return (Arc::new(StatefulBridge { server }), Some(room));
    }
    let is_shared = link.client.upgrade().is_none_or(|client| client.is_shared);
    let bridge = StatelessBridge {
        server: Arc::new(RoomConnector::new(link, room)),
        is_shared,
        names_requests: link.is_http,
        start_timeout: link.start_timeout,
    };
    (Arc::new(bridge), None)
}

/// What the connection takes: what was taken for it before, or what there is.
pub(super) async fn room(
    link: &ServerConnection,
    client: &Client,
) -> Result<Arc<Room>, UpstreamError> {
    if let Some(room) = client.take_room(link.server) {
        return Ok(room);
    }
    let gateway = &client.gateway;
    let needs = room::needs(gateway.config().servers.get(link.server));
    let room = gateway.room(client.principal(), &[needs]).await;
    let room = room.map_err(|Crowded { what }| gateway.crowded(what))?;
    room.into_iter().next().ok_or_else(ended)
}

/// Fails with whether there was a connection.
async fn attempt(
    link: &Arc<ServerConnection>,
    connector: &Arc<dyn Connector>,
    most: Duration,
    room: Option<&Arc<Room>>,
) -> Result<Opened, (UpstreamError, bool)> {
    let mut connection = None;
    let opened = tokio::time::timeout(most, async {
        let (sender, mut events) = mpsc::channel(MAX_EVENTS);
        let upstream = connector.connect(sender).await?;
        if let Some(room) = room {
            link.takes(room);
        }
        let connection = connection.insert(Connection::new(upstream, room.cloned()));
        introduce(link, &*connection.upstream, &mut events).await?;
        Ok(events)
    })
    .await
    .unwrap_or(Err(UpstreamError::TimedOut { after: most }));
    match (opened, connection) {
        (Ok(events), Some(connection)) => Ok((connection, events)),
        (Ok(_), None) => Err((ended(), false)),
        (Err(error), Some(connection)) => {
            connection.close().await;
            // Nothing but the introduction was lost.
            Err((error.before_sending(), true))
        }
        (Err(error), None) => Err((error, false)),
    }
}

pub(super) fn ended() -> UpstreamError {
    UpstreamError::Ended("the connection is over".to_owned())
}

/// Subscriptions that a server is told again at once: the rest waits for its answers, so that the
/// client's own requests find room.
const MAX_REPLAYED: usize = 64;

/// Says again what was said before.
async fn replay(link: Arc<ServerConnection>) {
    let (level, subscriptions) = {
        let state = link.state.lock();
        let subscriptions: Vec<String> = state.subscriptions.keys().cloned().collect();
        (state.level.clone(), subscriptions)
    };
    if let Some(level) = level {
        drop(link.ask(None, method::SET_LEVEL, Some(&level)).await);
    }
    let mut asked = VecDeque::new();
    for uri in subscriptions {
        if asked.len() >= MAX_REPLAYED
            && let Some(answer) = asked.pop_front()
        {
            let _: Answer = answer.await;
            if !link.is_open() {
                return;
            }
        }
        // It may have ended meanwhile.
        let is_wanted = link.state.lock().subscriptions.contains_key(&uri);
        if is_wanted {
            let uri = Bytes::from(crossfeed_json::quoted(&uri).into_bytes());
            let params = crate::members::object(&[("uri", uri)]);
            asked.push_back(link.ask(None, method::SUBSCRIBE, Some(&params)).await);
        }
    }
}

/// Tells the client to look again, if its session began without the server.
pub(super) async fn announce(link: &Arc<ServerConnection>) {
    if let Some(client) = link.client.upgrade() {
        client.back(link).await;
    }
}

/// As [`announce`], of a server that was there all the time; does not wait for it.
pub(super) fn announce_again(link: Arc<ServerConnection>) {
    tokio::spawn(async move {
        link.forget_known();
        announce(&link).await;
    });
}

/// Why a connection is listened to no longer.
enum End {
    /// It is over.
    Over(UpstreamError),
    /// It was not used.
    GivenBack,
    /// The client is gone.
    Gone,
}

/// Listens until the connection is over.
async fn live(link: &Arc<ServerConnection>, mut events: mpsc::Receiver<Event>) -> End {
    let gone = closed(link);
    tokio::pin!(gone);
    let mut pace = Pace::new(Instant::now());
    let mut rest = None;
    loop {
        if let Some(error) = link.overrun() {
            return End::Over(error);
        }
        if link.has_no_connection() {
            return End::GivenBack;
        }
        let deadline = link.next_deadline();
        tokio::select! {
            biased;
            () = &mut gone => return End::Gone,
            event = events.recv(), if rest.is_none() => match event {
                Some(Event::Closed(error)) => return End::Over(error),
                Some(event) => {
                    let said = notification_bytes(&event);
                    handle(link, event).await;
                    rest = said.and_then(|bytes| pace.read(bytes, Instant::now()));
                }
                None => return End::Over(ended()),
            },
            () = until(rest), if rest.is_some() => rest = None,
            () = link.clock.notified() => {}
            () = until(deadline) => give_up(link).await,
        }
    }
}

/// The bytes of a notification; none of anything else.
fn notification_bytes(event: &Event) -> Option<usize> {
    match event {
        Event::Message { message, .. } if message.kind() == Kind::Notification => {
            Some(message.len())
        }
        _ => None,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn handle(link: &Arc<ServerConnection>, event: Event) {
    match event {
        Event::Message { message, related } => handle_message(link, message, related).await,
        Event::Failed { id, error } => {
            // What cannot be read over standard output is counted where it is passed over.
            let is_unusable = matches!(
                error.clone().before_sending().code(),
                ErrorCode::UpstreamInvalid | ErrorCode::LimitExceeded
            );
            if link.is_http && is_unusable {
                link.figures.no_messages.add(1);
            }
            if let Some(waiting) = link.take(&id, error.outcome()) {
                link.fail_one(waiting, &error).await;
            }
        }
        Event::Returned { message, headers } => link.returned(message, headers).await,
        Event::Closed(_) => {}
    }
}

pub(super) async fn handle_message(
    link: &Arc<ServerConnection>,
    message: Message,
    related: Option<Id>,
) {
    let Some(client) = link.client.upgrade() else {
        return;
    };
    link.figures.received.add(message.len());
    match message.kind() {
        Kind::Response | Kind::Error => {
            let outcome = match message.kind() {
                Kind::Error => Outcome::Error,
                _ => Outcome::Result,
            };
            let waiting = message.id().and_then(|id| link.take(id, outcome));
            match waiting {
                Some(waiting) => answered(link, waiting, message).await,
                // It was cancelled, or nobody asked.
                None => tracing::debug!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    "ignored an answer to an unknown request"
                ),
            }
        }
        Kind::Request => client.asked(link, message, related.as_ref()).await,
        Kind::Notification => client.told(link, message, related.as_ref()).await,
    }
}

async fn answered(link: &Arc<ServerConnection>, waiting: PendingReply, message: Message) {
    let Some(client) = link.client.upgrade() else {
        return;
    };
    let message = of_server(message);
    match waiting {
        PendingReply::Forward { serial } => {
            let mut message = message;
            if let Some(result) = message.result() {
                client.learn(link, serial, &message).await;
                if let Some(result) = unclaimed(result, link.withholds).await {
                    message = message.with_body(result);
                }
            }
            client.answer(serial, message).await;
        }
        PendingReply::Listen { serial } => {
            let answer = match message.kind() {
                Kind::Error => Err(Failure::Error(Box::new(message))),
                _ => Ok(message),
            };
            if let Some(side) = client.side_of(link) {
                side.listened(&client, link, serial, answer).await;
            }
        }
        PendingReply::Inner { answer, .. } => {
            let _ = answer.send(match message.result() {
                Some(result) => Ok(result),
                None => Err(Failure::Error(Box::new(message))),
            });
        }
        PendingReply::Call { serial, pending } => match message.result() {
            Some(result) => {
                let is_large = result.len() > LARGE_RESULT_BYTES;
                let since = Instant::now();
                let (side, link) = (client.side_of(link), Arc::clone(link));
                let work = Box::pin(async move {
                    client.learn(&link, serial, &message).await;
                    if let Some(side) = side {
                        side.learn_links(&link, &result).await;
                    }
                    drop(result);
                    let answer = pending.answer(message).await;
                    client.answer(serial, answer).await;
                    client.gateway.figures.after.took(since.elapsed());
                });
                if is_large {
                    tokio::spawn(work);
                } else {
                    poll_then_spawn(work).await;
                }
            }
            None => {
                pending.fail(&refusal(&message)).await;
                client.answer(serial, message).await;
            }
        },
    }
}
