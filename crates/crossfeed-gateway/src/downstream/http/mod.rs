//! Clients over streamable HTTP, with sessions and without.

mod answer;
mod body;
mod connections;
mod event_scan;
mod guard;
mod open_streams;
mod peers;
mod post;
mod rate;
mod reply;
mod session;
mod socket;
mod stateless;
mod stream;
mod token;
mod watch;

#[cfg(test)]
mod tests;

pub use token::{ListenerToken, ListenerTokenError};

use super::{
    CLOSE_TIMEOUT,
    running::{Hold, Running},
};
use crate::{
    budget::Budget,
    config::{Limits, ListenConfig, Rate},
    message::{Id, RpcError},
    metrics::{
        Metrics,
        families::{NOT_LET_IN, REFUSALS},
    },
    port::Hub,
    principal::Principal,
    protocol::{code, header},
    upstream::Backoff,
};
use answer::{Answer, AnswerResult, kept_busy, refuse, status};
use connections::{BusyConnection, Closing, Connections, Slot};
use guard::Guard;
use hyper::{
    Method, Request, StatusCode,
    body::Incoming,
    header::{
        ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, CONNECTION, HeaderName, HeaderValue, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use open_streams::OpenStreams;
use peers::{Peers, is_sent_on};
use rate::{RateExceeded, Rates};
use session::Sessions;
use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch as watch_channel,
    time::{Instant, Interval, MissedTickBehavior, timeout},
};
use watch::Readiness;

/// How long a client may take for its headers, and between pieces of what it sends.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of the headers of a request.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Headers of a request.
const MAX_HEADERS: usize = 100;
/// How often sessions and their processes are looked at whether they are used.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);
/// The same where other replicas wait for records of sessions that the store has lost.
const PEER_SWEEP_INTERVAL: Duration = Duration::from_secs(2);

/// How long a replica serves on that is told to end: a balancer asks every few seconds whether it is ready.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// How long an answer holds to whether the gateway is ready, and how long it may take.
const READINESS_INTERVAL: Duration = Duration::from_secs(1);
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// A gateway's clients over HTTP.
pub struct Http {
    hub: Arc<dyn Hub>,
    guard: Guard,
    rates: Rates,
    /// The servers of the holders that may not use all.
    servers: HashMap<String, Vec<String>>,
    /// Where MCP is spoken.
    path: String,
    limits: Limits,
    sessions: Sessions,
    budget: Arc<Budget>,
    connections: Arc<Connections>,
    running: Running,
    subscriptions: OpenStreams,
    /// What was sent on to other replicas ends.
    ends: watch_channel::Sender<bool>,
    metrics: Metrics,
    /// Other replicas, where they can reach this one.
    peers: Option<Peers>,
    /// It ends soon: others take its sessions up.
    is_leaving: AtomicBool,
    /// When it was last asked whether the gateway is ready, and the answer.
    last_look: tokio::sync::Mutex<Option<(Instant, Readiness)>>,
}

impl Http {
    /// Clients of `hub`, which are let in as `listen` says.
    pub fn new(
        hub: Arc<dyn Hub>,
        listen: &ListenConfig,
        limits: &Limits,
        metrics: Metrics,
    ) -> Arc<Self> {
        let records = hub.records();
        Arc::new(Self {
            budget: hub.budget(),
            hub,
            guard: Guard::new(listen),
            rates: Rates::new(&listen.tokens, records.as_ref()),
            servers: listen
                .tokens
                .iter()
                .filter(|token| !token.servers.is_empty())
                .map(|token| (token.name.clone(), token.servers.clone()))
                .collect(),
            path: listen.path.clone(),
            limits: limits.clone(),
            sessions: Sessions::new(limits.sessions, listen.tokens.len()),
            connections: Connections::new(limits.connections(), listen.tokens.len()),
            running: Running::default(),
            subscriptions: OpenStreams::default(),
            ends: watch_channel::Sender::new(false),
            metrics,
            peers: listen.advertise.as_ref().and_then(|_| Peers::new()),
            is_leaving: AtomicBool::new(false),
            last_look: tokio::sync::Mutex::default(),
        })
    }

    /// Serves clients that come to `listener` until `stop` is there, and for `limits.drain` after that, while balancers
    /// and other replicas learn of it. Then requests that run may finish, as long as the limits allow, and the sessions are
    /// closed.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) {
        let idle = self.limits.session_idle.min(self.limits.process_idle);
        let often = match self.peers {
            Some(_) => PEER_SWEEP_INTERVAL,
            None => SWEEP_INTERVAL,
        };
        let mut sweep = tokio::time::interval(often.min(idle));
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.accept(&listener, &mut sweep, stop).await;
        self.is_leaving.store(true, Ordering::Release);
        let drain = self.limits.drain.unwrap_or(match self.peers {
            Some(_) => DRAIN_TIME,
            None => Duration::ZERO,
        });
        let drained = tokio::time::sleep(drain);
        let serving = self.accept(&listener, &mut sweep, drained);
        tokio::join!(self.hub.leave(), serving);
        drop(listener);
        self.connections.close();
        self.end().await;
    }

    /// Serves clients that come until `stop` is there.
    async fn accept(
        self: &Arc<Self>,
        listener: &TcpListener,
        sweep: &mut Interval,
        stop: impl Future<Output = ()> + Send,
    ) {
        let mut stop = pin!(stop);
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => return,
                accepted = self.sweeping(sweep, listener.accept()) => accepted,
            };
            let socket = match accepted {
                Ok((socket, _)) => {
                    backoff.reset();
                    socket
                }
                Err(error) => {
                    // No descriptor is left, or the client has disconnected already.
                    if backoff.failures() == 0 {
                        tracing::warn!(%error, "cannot accept connections");
                    }
                    self.connections.send_strangers_away();
                    tokio::time::sleep(backoff.next_wait()).await;
                    continue;
                }
            };
            let place = tokio::select! {
                biased;
                () = &mut stop => return,
                place = self.sweeping(sweep, self.connections.place()) => place,
            };
            Arc::clone(self).converse(socket, place);
        }
    }

    /// Waits for a future; meanwhile closes idle sessions.
    async fn sweeping<T>(&self, sweep: &mut Interval, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        loop {
            tokio::select! {
                done = &mut wait => return done,
                _ = sweep.tick() => {
                    self.sessions.sweep(self.limits.session_idle).await;
                    self.sessions.renew(self.limits.session_idle);
                    self.hub.give_back();
                }
            }
        }
    }

    /// Serves a connection until it ends, or gives way to others.
    fn converse(self: Arc<Self>, socket: TcpStream, place: Slot) {
        socket::prepare(&socket);
        let place = Arc::new(place);
        let service = {
            let place = Arc::clone(&place);
            service_fn(move |request| {
                let (http, place) = (Arc::clone(&self), Arc::clone(&place));
                async move { Ok::<_, Infallible>(http.handle(request, &place).await) }
            })
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES)
            .serve_connection(TokioIo::new(socket), service);
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                closing = place.gives_way() => {
                    if closing == Closing::Immediate {
                        return;
                    }
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }

    async fn end(&self) {
        let finished = timeout(self.limits.shutdown, self.running.none()).await;
        if finished.is_err() {
            tracing::warn!("requests of clients were still running at the shutdown deadline");
        }
        if timeout(CLOSE_TIMEOUT, self.sessions.close()).await.is_err() {
            tracing::warn!("connections to servers did not close in time");
        }
        self.ends.send_replace(true);
        self.subscriptions.end();
        let _ = timeout(self.limits.shutdown, self.connections.end()).await;
    }

    /// Answers a request, and counts those that are refused.
    async fn handle(self: Arc<Self>, request: Request<Incoming>, place: &Slot) -> Answer {
        let metrics = self.metrics.clone();
        let response = self.answer(request, place).await;
        let status = response.status();
        if let StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS =
            status
        {
            metrics.count(NOT_LET_IN, &[status.as_str()]);
            // No more than debug: anyone can cause it.
            tracing::debug!(%status, "refused a request");
        }
        response
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, place: &Slot) -> Answer {
        let origin = match self.guard.admit(request.headers(), request.uri()) {
            Ok(origin) => origin,
            Err(refusal) => return *refusal,
        };
        let requested = request
            .headers()
            .get(ACCESS_CONTROL_REQUEST_HEADERS)
            .cloned();
        let mut busy = None;
        let is_of_replica = request.uri().path() == "/healthz" || is_sent_on(request.headers());
        let answered = Arc::clone(&self).route(request, place, &mut busy).await;
        let mut response = answered.unwrap_or_else(|refusal| *refusal);
        if is_of_replica
            && let Some(name) = self.hub.replica()
            && let Ok(name) = HeaderValue::try_from(name)
        {
            response.headers_mut().insert(header::REPLICA, name);
        }
        // Whoever keeps connections open is to send what follows elsewhere.
        let is_leaving = self.is_leaving.load(Ordering::Acquire);
        if is_leaving || busy.as_ref().is_some_and(BusyConnection::is_last) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        if let Some(origin) = origin {
            guard::share(response.headers_mut(), origin, requested.as_ref());
        }
        kept_busy(response, busy)
    }

    /// Answers a request; `busy` keeps the place of who was let in until the answer is written.
    async fn route(
        self: Arc<Self>,
        request: Request<Incoming>,
        place: &Slot,
        busy: &mut Option<BusyConnection>,
    ) -> AnswerResult {
        let path = request.uri().path();
        let principal = self.guard.principal(request.headers());
        match (request.method(), path) {
            (&Method::OPTIONS, _) => Ok(status(StatusCode::NO_CONTENT)),
            (&Method::GET, "/healthz") => {
                let servers = principal.as_ref().map(|_| self.hub.health());
                let of = principal.as_ref().and_then(|it| self.servers_of(it));
                Ok(watch::health(servers, of))
            }
            (&Method::GET, "/readyz") => Ok(self.readiness().await),
            (_, path) if path == "/metrics" || path == self.path => {
                let principal = principal.ok_or_else(unauthorized)?;
                *busy = place.request(&principal);
                if busy.is_none() {
                    return Err(self.too_many_connections());
                }
                self.admitted(request, principal).await
            }
            _ => Ok(status(StatusCode::NOT_FOUND)),
        }
    }

    /// Whether requests are to be sent here. The store is asked once in a while, since anyone may ask this.
    async fn readiness(&self) -> Answer {
        if self.is_leaving.load(Ordering::Acquire) {
            return watch::readiness(Readiness::Draining);
        }
        let mut last = self.last_look.lock().await;
        let is_recent = last.is_some_and(|(at, _)| at.elapsed() < READINESS_INTERVAL);
        if let Some((_, readiness)) = last.filter(|_| is_recent) {
            return watch::readiness(readiness);
        }
        let readiness = match timeout(READINESS_TIMEOUT, self.hub.is_ready()).await {
            Ok(Ok(())) => Readiness::Ready,
            Ok(Err(_)) | Err(_) => Readiness::StoreAway,
        };
        *last = Some((Instant::now(), readiness));
        watch::readiness(readiness)
    }

    /// The servers that a client may use; none where it may use all.
    fn servers_of(&self, principal: &Principal) -> Option<&[String]> {
        let servers = self.servers.get(principal.name()?)?;
        Some(servers)
    }

    async fn admitted(self: Arc<Self>, request: Request<Incoming>, who: Principal) -> AnswerResult {
        match (request.method(), request.uri().path()) {
            // They count what all servers do.
            (&Method::GET, "/metrics") if self.servers_of(&who).is_some() => Err(post::invalid(
                StatusCode::FORBIDDEN,
                "metrics are for holders who may use every server",
            )),
            (&Method::GET, "/metrics") => {
                let (sessions, connections) = (self.sessions.count(), self.connections.counts());
                Ok(watch::metrics(
                    &*self.hub,
                    &self.metrics,
                    sessions,
                    connections,
                ))
            }
            (_, path) if path != self.path => Err(not_allowed()),
            (&Method::POST, _) => {
                let mut is_counted = false;
                if self.peers.is_none() {
                    self.count(&who, &mut is_counted).await?;
                } else {
                    // It is known later who counts it: until then it costs little where that is known already.
                    let checked = self.rates.check(&who);
                    checked.map_err(|exceeded| too_many(&exceeded))?;
                }
                let posted = Arc::clone(&self).post(request, &who, &mut is_counted);
                let answered = posted.await;
                // It was refused before it was known that it is not for another replica.
                self.count(&who, &mut is_counted).await?;
                answered
            }
            (&Method::GET, _) => self.listen(request.headers(), &who).await,
            (&Method::DELETE, _) => self.delete(request.headers(), &who).await,
            _ => Err(not_allowed()),
        }
    }

    /// Counts a request of a holder, unless it is counted.
    async fn count(&self, principal: &Principal, is_counted: &mut bool) -> Result<(), Box<Answer>> {
        if std::mem::replace(is_counted, true) {
            return Ok(());
        }
        let counted = self.rates.count(principal).await;
        counted.map_err(|exceeded| too_many(&exceeded))
    }

    fn too_many_connections(&self) -> Box<Answer> {
        let response = self.no_room("connections", None, "too many connections");
        with_header(response, CONNECTION, HeaderValue::from_static("close"))
    }

    /// Refuses a request for lack of room, and counts the refusal.
    fn no_room(&self, what: &str, id: Option<&Id>, message: &str) -> Box<Answer> {
        self.metrics.count(REFUSALS, &[what]);
        post::later(id, &RpcError::limit_exceeded(code::INTERNAL, message, None))
    }
}

fn with_header(mut answer: Box<Answer>, name: HeaderName, value: HeaderValue) -> Box<Answer> {
    answer.headers_mut().insert(name, value);
    answer
}

fn unauthorized() -> Box<Answer> {
    let what = "a token is needed: `Authorization: Bearer TOKEN`";
    let refusal = post::invalid(StatusCode::UNAUTHORIZED, what);
    let realm = HeaderValue::from_static("Bearer realm=\"crossfeed\"");
    with_header(refusal, WWW_AUTHENTICATE, realm)
}

/// The holder of a token sends more than its rate.
fn too_many(exceeded: &RateExceeded) -> Box<Answer> {
    let Rate { requests, per } = exceeded.rate;
    let seconds = per.as_secs();
    let what = format!("this token may send {requests} requests in {seconds} s");
    let limit = usize::try_from(requests.get()).ok();
    let error = RpcError::limit_exceeded(code::INTERNAL, what, limit);
    let refusal = refuse(StatusCode::TOO_MANY_REQUESTS, None, &error);
    // Rounded up: what comes a moment too early is refused again.
    let wait = exceeded.wait.as_secs() + 1;
    with_header(refusal, RETRY_AFTER, HeaderValue::from(wait))
}

fn not_allowed() -> Box<Answer> {
    let answer = Box::new(status(StatusCode::METHOD_NOT_ALLOWED));
    with_header(answer, ALLOW, HeaderValue::from_static("GET, POST, DELETE"))
}
