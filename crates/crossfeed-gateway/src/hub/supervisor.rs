//! The life of a connection to a server: opened, read, and opened again when it ends.
//!
//! # Invariants
//!
//! - Requests to a server that cannot be reached fail at once until it is back; it is retried at growing intervals.
//! - A server that comes back gets the handshake, the log level and the subscriptions again. The client hears that lists
//!   may have changed; and before, once, if an attempt to reach the server again failed.

use super::{
    Client,
    connection::{Answer, Failure, PendingReply, Phase, ServerConnection},
    handshake::{introduce, refusal, says_unknown},
    pace::Pace,
    poll_then_spawn::poll_then_spawn,
    room::{Connection, Room},
    room_connector::RoomConnector,
};
use crate::{
    bridge::{StatefulBridge, StatelessBridge},
    members,
    message::{Id, Kind, Message},
    metrics::Outcome,
    port::Crowded,
    protocol::method,
    tools::result::{mark_foreign, unclaimed},
    upstream::{Backoff, Connector, Event, UpstreamError},
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use parking_lot::Mutex;
use std::{collections::VecDeque, future::Future, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::Instant};

/// Events that wait for the client to read: few, so that a flooding server must wait early.
const MAX_EVENTS: usize = 64;

/// Larger results are processed in a task, so that later messages need not wait.
const LARGE_RESULT_BYTES: usize = 256 << 10;

/// How a client introduces itself to every server, and again to one that comes back.
pub(super) struct Handshake {
    /// `initialize` or `server/discover`.
    pub(super) method: &'static str,
    pub(super) params: Bytes,
    /// The client's notification that it is initialized, once it came.
    pub(super) initialized: Mutex<Option<Message>>,
    /// Whether servers were told before, by another process.
    pub(super) is_again: bool,
}

/// Keeps the connection until the client is gone.
pub(super) async fn run(link: Arc<ServerConnection>) {
    let mut backoff = Backoff::default();
    let mut is_first = true;
    let mut is_renewed = false;
    // The server's answer to the handshake when its process was stopped.
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
                                None => link.metrics.restarts.add(1),
                            }
                        }
                        if !is_first || link.handshake.is_again {
                            poll_then_spawn(Box::pin(replay(Arc::clone(&link)))).await;
                        }
                        announce(&link).await;
                    };
                    in_time(&link, again).await;
                    let end = live(&link, events).await;
                    lived = there.elapsed();
                    match end {
                        // The server forgot the session, and is there. One that forgets each at once is not.
                        End::Over(UpstreamError::SessionOver) if !is_renewed || lived > SESSION_KNOWN_AFTER => {
                            (is_first, is_renewed) = (false, true);
                            given_back = None;
                            link.metrics.failures.add(1);
                            tracing::info!(target: "crossfeed::gateway", server = %link.name, "the server forgot the session: beginning a new one");
                            link.renew().await;
                            if let Some(client) = link.client.upgrade() {
                                client.lost(&link).await;
                            }
                            continue;
                        }
                        // Dropped, not awaited: it may take its time to end.
                        End::Over(error) => error,
                        End::GivenBack => {
                            is_first = false;
                            given_back = Some(link.state.lock().about.clone());
                            continue;
                        }
                        End::Gone => {
                            connection.end().await;
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
        link.metrics.failures.add(1);
        tracing::warn!(target: "crossfeed::gateway", server = %link.name, %error, "server unavailable");
        link.down(Phase::Down(error.clone())).await;
        let Some(client) = link.client.upgrade() else {
            return;
        };
        client.lost(&link).await;
        // The client need not know of a server that is back at the first attempt.
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
            // Used again after a rest: the request should not wait for the next attempt.
            () = link.woken.notified() => {}
        }
    }
}

/// A server that lived this long did not fail at its start.
const STEADY_AFTER: Duration = Duration::from_secs(30);

/// A server that kept its session this long keeps sessions.
const SESSION_KNOWN_AFTER: Duration = Duration::from_secs(1);

/// Runs work, and meanwhile fails requests that time out.
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

/// Fails the requests that timed out, and cancels at the server those that it was sent.
async fn give_up(link: &Arc<ServerConnection>) {
    let error = UpstreamError::TimedOut {
        after: link.timeout.unwrap_or_default(),
    };
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

/// Waits until the client is gone.
async fn closed(link: &ServerConnection) {
    let mut phase = link.phase.subscribe();
    let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed)).await;
}

type NewConnection = (Connection, mpsc::Receiver<Event>);

/// How long a server may take to refuse the stateless era. Some never answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Connects and introduces the client: directly to a server of the client's era, through a bridge to one of the other.
/// The era of a server is found out once.
async fn open(link: &Arc<ServerConnection>) -> Result<NewConnection, UpstreamError> {
    let client = link.client.upgrade().ok_or_else(ended)?;
    let eras = Arc::clone(&client.gateway.eras);
    let room = room(link, &client).await?;
    drop(client);
    let learn = |speaks| eras.learn(link.server, link.stateless, speaks);
    let known = eras.get(link.server, link.stateless);
    if known == Some(false) {
        let opened = attempt_bridged(link, &room).await;
        if let Err(UpstreamError::Refused(_) | UpstreamError::Rejected(_)) = opened {
            learn(None);
        }
        return opened;
    }
    let is_probe = known.is_none() && link.stateless;
    let timeout = if is_probe {
        link.start_timeout.min(PROBE_TIMEOUT)
    } else {
        link.start_timeout
    };
    let (error, was_there) = match attempt(link, &link.connector, timeout, Some(&room)).await {
        Ok(opened) => {
            learn(Some(true));
            return Ok(opened);
        }
        Err(error) => error,
    };
    let refused = link.state.lock().refused.clone();
    let says_unknown = refused.as_ref().map(says_unknown);
    if known == Some(true) && says_unknown != Some(true) {
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
    // Learnt at once, so that requests about the era need not wait until the bridge is open, and forgotten if that
    // fails, too.
    let says_no = refused.is_some() || matches!(error, UpstreamError::Rejected(_));
    if link.stateless && says_no {
        learn(Some(false));
    }
    match attempt_bridged(link, &room).await {
        Ok(opened) => {
            // A mistake of a client with a session says nothing about the server, and must not decide for other clients.
            if link.stateless || says_unknown != Some(false) {
                learn(Some(false));
            }
            Ok(opened)
        }
        Err(bridged) => {
            learn(None);
            let mut state = link.state.lock();
            // It only asks for a login, with which a person can help.
            if matches!(bridged, UpstreamError::Refused(_)) && state.refused.is_none() {
                return Err(bridged);
            }
            // Neither era: the server's answer to its own client stands.
            state.refused = refused;
            Err(error)
        }
    }
}

/// Connects to the server as if it were of the client's era. A bridge that may open several connections reserves room
/// for each.
async fn attempt_bridged(
    link: &Arc<ServerConnection>,
    room: &Arc<Room>,
) -> Result<NewConnection, UpstreamError> {
    let server = Arc::clone(&link.connector);
    let opened = if link.stateless {
        let client = link.client.upgrade();
        let replica = client
            .as_ref()
            .and_then(|client| client.gateway.replica_name());
        let is_shared = client.is_none_or(|client| client.is_shared);
        let bridge: Arc<dyn Connector> = Arc::new(StatelessBridge {
            server: Arc::new(RoomConnector::new(link, room)),
            is_shared,
            names_requests: link.is_http,
            start_timeout: link.start_timeout,
            replica: replica.map(Into::into),
        });
        attempt(link, &bridge, link.start_timeout, None).await
    } else {
        let bridge: Arc<dyn Connector> = Arc::new(StatefulBridge { server });
        attempt(link, &bridge, link.start_timeout, Some(room)).await
    };
    opened.map_err(|(error, _)| error)
}

/// The room of a connection: reserved before for the client, or now.
pub(super) async fn room(
    link: &ServerConnection,
    client: &Client,
) -> Result<Arc<Room>, UpstreamError> {
    if let Some(room) = client.take_room(link.server) {
        return Ok(room);
    }
    let gateway = &client.gateway;
    let room = gateway.room(&client.principal, &[link.needs]).await;
    let room = room.map_err(|Crowded { what }| gateway.crowded(what))?;
    room.into_iter().next().ok_or_else(ended)
}

/// Connects and introduces the client. The error says whether there was a connection.
async fn attempt(
    link: &Arc<ServerConnection>,
    connector: &Arc<dyn Connector>,
    timeout: Duration,
    room: Option<&Arc<Room>>,
) -> Result<NewConnection, (UpstreamError, bool)> {
    let mut connection = None;
    let opened = tokio::time::timeout(timeout, async {
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
    .unwrap_or(Err(UpstreamError::TimedOut { after: timeout }));
    match (opened, connection) {
        (Ok(events), Some(connection)) => Ok((connection, events)),
        (Ok(_), None) => Err((ended(), false)),
        (Err(error), Some(connection)) => {
            connection.end().await;
            // Only the introduction was lost.
            Err((error.before_sending(), true))
        }
        (Err(error), None) => Err((error, false)),
    }
}

pub(super) fn ended() -> UpstreamError {
    UpstreamError::Ended("the connection is over".to_owned())
}

/// Subscriptions that are renewed at once: the rest waits for the server's answers, so that the client's own requests
/// find room.
const MAX_REPLAYED: usize = 64;

/// Sends the log level and the subscriptions again.
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
            let params = members::object(&[("uri", uri)]);
            asked.push_back(link.ask(None, method::SUBSCRIBE, Some(&params)).await);
        }
    }
}

/// Tells the client that a server is there, if it does not know.
pub(super) async fn announce(link: &Arc<ServerConnection>) {
    if let Some(client) = link.client.upgrade() {
        client.back(link).await;
    }
}

/// As [`announce`], of a server that was there all the time, without waiting for it.
pub(super) fn announce_again(link: Arc<ServerConnection>) {
    tokio::spawn(async move {
        link.forget_known();
        announce(&link).await;
    });
}

/// Why a connection is read no longer.
enum End {
    /// It has ended.
    Over(UpstreamError),
    /// It was idle.
    GivenBack,
    /// The client is gone.
    Gone,
}

/// Reads until the connection has ended.
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
                    let bytes = notification_bytes(&event);
                    handle(link, event).await;
                    rest = bytes.and_then(|bytes| pace.read(bytes, Instant::now()));
                }
                None => return End::Over(ended()),
            },
            () = until(rest), if rest.is_some() => rest = None,
            () = link.clock.notified() => {}
            () = until(deadline) => give_up(link).await,
        }
    }
}

/// The bytes of a notification; none for other events.
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
            // Invalid messages on standard output are counted where they are dropped.
            let is_unusable = matches!(
                error.clone().before_sending().code(),
                ErrorCode::UpstreamInvalid | ErrorCode::LimitExceeded
            );
            if link.is_http && is_unusable {
                link.metrics.no_messages.add(1);
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
    link.metrics.received.add(message.len());
    match message.kind() {
        Kind::Response | Kind::Error => {
            let outcome = if message.kind() == Kind::Error {
                Outcome::Error
            } else {
                Outcome::Result
            };
            let waiting = message.id().and_then(|id| link.take(id, outcome));
            match waiting {
                Some(waiting) => answered(link, waiting, message).await,
                // It was cancelled, or never asked.
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
    let mut message = mark_foreign(message);
    match waiting {
        PendingReply::Forward { serial } => {
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
            let result = message.result();
            drop(answer.send(result.ok_or_else(|| Failure::Error(Box::new(message)))));
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
                    client.gateway.metrics.after.took(since.elapsed());
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
