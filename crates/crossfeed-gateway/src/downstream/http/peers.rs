//! Requests of sessions that another replica has are sent on to it, and its answers are passed back.
//!
//! # Invariants
//!
//! - A request that a replica may have taken is sent to no other, unless taking it twice does no harm.
//! - What clients send holds their tokens: it goes to an address only once the replica that is to be there has said its name.
//!   An answer without that name is nobody's.
//! - What was sent on is not sent on again: the replica that gets it has the session, takes it up, or refuses.
//! - A wait for a replica ends soon after that one has died.

use super::{
    Hold, Http,
    answer::{Answer, body, json, refuse},
    event_scan::EventScan,
    post::{away, later},
    session::{BusySession, Session, is_of_process},
};
use crate::{
    message::{Id, Kind, Message, Param, RpcError},
    metrics::families,
    port::Peer,
    principal::Principal,
    protocol::{
        code,
        header::{self, is_media_type, only},
        method,
    },
    replica::{LEASE_TIME, replica_of},
    upstream::{Backoff, http::impatient_client},
};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::{
    HeaderMap, Method, StatusCode,
    body::Frame,
    header::{
        ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT,
        HOST, HeaderName, HeaderValue, ORIGIN, PROXY_AUTHORIZATION, RETRY_AFTER, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
    },
};
use lru::LruCache;
use parking_lot::Mutex;
use reqwest::{Client, Response};
use std::{
    collections::HashMap, convert::Infallible, num::NonZeroUsize, pin::pin, sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

/// How many sessions are remembered that other replicas have.
const MAX_KNOWN: NonZeroUsize = NonZeroUsize::new(16_384).expect("not zero");
/// How many replicas are remembered that have said their names.
const MAX_PROVEN: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// How long a replica may be out of reach: until others may take its sessions up, and a little more.
const REACH_TIMEOUT: Duration = LEASE_TIME.saturating_add(Duration::from_secs(4));
/// How long the first and the longest wait is until it is tried again.
const RETRY_AFTER_FIRST: Duration = Duration::from_millis(100);
const RETRY_AFTER_AT_MOST: Duration = Duration::from_secs(1);
/// How long connecting to a replica may take: what could not be sent is not lost.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a replica may take to say its name.
const NAME_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it is asked whether a replica is alive that says nothing.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// How long an answer holds to what became of a replica.
const LOOK_LASTS: Duration = Duration::from_secs(1);

/// What says that a request was sent on: to the replica that has its session, or to the one that had it before.
const SENT_ON: &str = "1";
const FOR_BEFORE: &str = "2";

/// Bytes of a state of a call that may be one of the gateway's.
const MAX_STATE_BYTES: usize = 256;

/// Headers that are of one connection, or of the way to this replica.
const OWN_HEADERS: &[HeaderName] = &[
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    // Browsers were admitted here.
    ORIGIN,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    PROXY_AUTHORIZATION,
];

/// The other replicas, as far as this one has asked for them.
pub(super) struct Peers {
    client: Client,
    /// Who has a session, and whose it is.
    known: Mutex<LruCache<String, (Peer, Principal)>>,
    /// The names of those that have said them at their addresses.
    proven: Mutex<LruCache<String, ()>>,
    /// What was last found of replicas, by their names.
    looks: Mutex<HashMap<String, Arc<Look>>>,
}

/// What was found of a replica.
#[derive(Default)]
struct Look {
    last: Mutex<Option<(Instant, Life)>>,
    /// Who asks the store.
    turn: tokio::sync::Mutex<()>,
}

/// Whether a replica is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Stays,
    /// It is about to end.
    Leaves,
    Gone,
}

impl Look {
    /// What was found within that time.
    fn within(&self, time: Duration) -> Option<Life> {
        let last = *self.last.lock();
        let (at, life) = last?;
        (at.elapsed() < time).then_some(life)
    }
}

/// Where a request about a session goes.
pub(super) enum Place {
    Here(BusySession),
    There(Peer),
}

/// What became of a request about a session.
pub(super) enum Route {
    /// This replica has the session, and answers.
    Session(BusySession),
    /// Another had it, and answered.
    Answer(Answer),
}

/// Why a replica gave no answer.
enum NoAnswer {
    /// It was not reached.
    Unsent,
    /// It may have taken the request.
    Lost,
    /// Something else answers at its address: nothing was sent there.
    Elsewhere,
}

impl Peers {
    /// None where no request can be sent at all.
    pub(super) fn new() -> Option<Self> {
        let client = impatient_client(true, CONNECT_TIMEOUT).inspect_err(
            |error| tracing::error!(%error, "cannot send requests on to other replicas"),
        );
        Some(Self {
            client: client.ok()?,
            known: Mutex::new(LruCache::new(MAX_KNOWN)),
            proven: Mutex::new(LruCache::new(MAX_PROVEN)),
            looks: Mutex::default(),
        })
    }

    /// The replica that has a session of the principal, as far as that is remembered.
    pub(super) fn known(&self, session: &str, principal: &Principal) -> Option<Peer> {
        let mut known = self.known.lock();
        let (peer, whose) = known.get(session)?;
        (whose == principal).then(|| peer.clone())
    }

    pub(super) fn remember(&self, session: &str, peer: &Peer, principal: &Principal) {
        let place = (peer.clone(), principal.clone());
        self.known.lock().put(session.to_owned(), place);
    }

    pub(super) fn forget(&self, session: &str) {
        self.known.lock().pop(session);
    }

    /// Asks a replica for its name, once.
    async fn prove(&self, peer: &Peer) -> Result<(), NoAnswer> {
        if self.proven.lock().get(&peer.name).is_some() {
            return Ok(());
        }
        let answer = self.health(peer, NAME_TIMEOUT).await;
        let response = answer.ok_or(NoAnswer::Unsent)?;
        if !self.is_of(peer, &response) {
            return Err(NoAnswer::Elsewhere);
        }
        self.proven.lock().put(peer.name.clone(), ());
        Ok(())
    }

    /// What answers at the address of a replica, if it does so within that time.
    async fn health(&self, peer: &Peer, time: Duration) -> Option<Response> {
        let asked = self.client.get(format!("{}/healthz", peer.address)).send();
        timeout(time, asked).await.ok()?.ok()
    }

    /// Whether an answer is that of a replica.
    fn is_of(&self, peer: &Peer, response: &Response) -> bool {
        let name = response.headers().get(header::REPLICA);
        let is_own = name.is_some_and(|name| *name == *peer.name);
        if !is_own {
            self.proven.lock().pop(&peer.name);
            tracing::warn!(
                address = peer.address,
                status = response.status().as_u16(),
                is_replica = name.is_some(),
                "the address of a replica is another's: is its `listen.advertise` right?"
            );
        }
        is_own
    }

    fn look(&self, peer: &Peer) -> Arc<Look> {
        let mut looks = self.looks.lock();
        if let Some(look) = looks.get(&peer.name) {
            return Arc::clone(look);
        }
        looks
            .retain(|_, look| Arc::strong_count(look) > 1 || look.within(2 * LOOK_LASTS).is_some());
        let look = Arc::default();
        looks.insert(peer.name.clone(), Arc::clone(&look));
        look
    }
}

/// How long a request waits for a replica that is out of reach.
struct Attempts {
    /// Since the first that failed.
    until: Option<Instant>,
    backoff: Backoff,
}

impl Attempts {
    fn new() -> Self {
        Self {
            until: None,
            backoff: Backoff::new(RETRY_AFTER_FIRST, RETRY_AFTER_AT_MOST),
        }
    }

    /// Waits for the next; false where there is none.
    async fn wait(&mut self) -> bool {
        let now = Instant::now();
        if now >= *self.until.get_or_insert(now + REACH_TIMEOUT) {
            return false;
        }
        sleep(self.backoff.next_wait()).await;
        true
    }
}

/// Whether another replica has sent the request on.
pub(super) fn is_sent_on(headers: &HeaderMap) -> bool {
    headers.contains_key(header::SENT_ON)
}

/// Whether it is meant for what is left here of a session.
pub(super) fn is_for_before(headers: &HeaderMap) -> bool {
    let value = headers.get(header::SENT_ON);
    value.is_some_and(|value| value == FOR_BEFORE)
}

impl Http {
    /// The session that a request is about, or the answer of the replica that has it. `message` is what was posted;
    /// `is_counted` where another has counted it.
    pub(super) async fn reach(
        self: &Arc<Self>,
        method: Method,
        headers: &HeaderMap,
        principal: &Principal,
        message: Option<&Message>,
        is_counted: &mut bool,
    ) -> Result<Route, Box<Answer>> {
        let id = message.and_then(Message::id);
        let mut attempts = Attempts::new();
        // Until it is answered, it runs here, too.
        let runs = self.running.hold();
        loop {
            self.goes_on(id)?;
            let peer = match self.session(headers, principal, id).await? {
                Place::Here(session) => return Ok(Route::Session(session)),
                Place::There(peer) => peer,
            };
            if is_sent_on(headers) {
                let what = "another replica has the session";
                let error = RpcError::new(code::INTERNAL, what);
                return Err(refuse(StatusCode::MISDIRECTED_REQUEST, id, &error));
            }
            let sent = self.send_on(&peer, method.clone(), headers, message).await;
            *is_counted |= !matches!(sent, Err(NoAnswer::Unsent | NoAnswer::Elsewhere));
            match sent {
                Ok(response) if response.status() != StatusCode::MISDIRECTED_REQUEST => {
                    let request = message.filter(|message| message.kind() == Kind::Request);
                    let lost = request.map(|request| self.hub.lost(request, false));
                    let runs = request.map(|_| runs);
                    let answer = self.pass_back(response, peer, lost, runs);
                    return Ok(Route::Answer(answer));
                }
                Err(NoAnswer::Lost) => {
                    self.forget(headers);
                    if let Some(message) = message.filter(|message| !may_be_repeated(message)) {
                        let lost = json(StatusCode::OK, &self.hub.lost(message, false));
                        return Ok(Route::Answer(lost));
                    }
                }
                Ok(_) => self.forget(headers),
                // Its sessions stay where they are for as long as it is alive.
                Err(NoAnswer::Unsent) => {}
                Err(NoAnswer::Elsewhere) => {
                    self.forget(headers);
                    return Err(not_there(id));
                }
            }
            if !self.waits(&mut attempts).await {
                self.forget(headers);
                tracing::warn!(
                    address = peer.address,
                    "cannot reach the replica that has a session: is its `listen.advertise` right?"
                );
                let what =
                    "the replica that has the session cannot be reached: send the request again";
                return Err(later(id, &RpcError::new(code::INTERNAL, what)));
            }
        }
    }

    /// The answer of the replica that had a session before, where what the client sends belongs to what runs there still:
    /// `number` is of its counting. None where that is not so, or it says nothing.
    pub(super) async fn had_before(
        self: &Arc<Self>,
        session: &Session,
        number: Option<u64>,
        method: Method,
        headers: &HeaderMap,
        message: Option<&Message>,
    ) -> Option<Answer> {
        let (first, peer) = session.before()?;
        if number.is_some_and(|number| !is_of_process(number, first)) {
            return None;
        }
        // Its record may be written again.
        if !self.is_alive(&peer).await {
            return None;
        }
        let mut headers = headers.clone();
        headers.insert(header::SENT_ON, HeaderValue::from_static(FOR_BEFORE));
        let response = self.send_on(&peer, method, &headers, message).await.ok()?;
        // Of the session nothing is left there, and not only of one stream.
        if message.is_some() && response.status() == StatusCode::MISDIRECTED_REQUEST {
            session.forget_before();
        }
        let is_taken = response.status().is_success();
        is_taken.then(|| self.pass_back(response, peer, None, None))
    }

    /// Sends what was taken here to the replica that had the session before, too. The client does not wait for that; what
    /// cannot be sent soon, or beside many others, is dropped.
    pub(super) fn tell_before(
        self: &Arc<Self>,
        session: &Arc<Session>,
        headers: &HeaderMap,
        message: Message,
    ) {
        if session.before().is_none() {
            return;
        }
        let Ok(permit) = Arc::clone(&session.tells).try_acquire_owned() else {
            return;
        };
        let (http, session, headers) = (Arc::clone(self), Arc::clone(session), headers.clone());
        let runs = self.running.hold();
        tokio::spawn(async move {
            let (_permit, _runs) = (permit, runs);
            let told = http.had_before(&session, None, Method::POST, &headers, Some(&message));
            let _ = timeout(REACH_TIMEOUT, told).await;
        });
    }

    /// The answer of the replica at which a call waits that a request without a session continues; none if it is to be
    /// answered here.
    pub(super) async fn continued(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message,
        is_counted: &mut bool,
    ) -> Result<Option<Answer>, Box<Answer>> {
        let state = message.param(Param::State);
        let state = state.filter(|state| state.len() <= MAX_STATE_BYTES);
        let (Some(state), Some(_), false) = (state, &self.peers, is_sent_on(headers)) else {
            return Ok(None);
        };
        let state: String = serde_json::from_slice(&state).unwrap_or_default();
        let Some(name) = replica_of(&state) else {
            return Ok(None);
        };
        let peer = self.hub.peer(name).await;
        let peer = peer.map_err(|error| away(message.id(), &error))?;
        let Some(peer) = peer else {
            return Ok(None);
        };
        let lost = self.hub.lost(message, true);
        let runs = self.running.hold();
        let mut attempts = Attempts::new();
        loop {
            self.goes_on(message.id())?;
            let sent = self.send_on(&peer, Method::POST, headers, Some(message));
            let sent = sent.await;
            *is_counted |= !matches!(sent, Err(NoAnswer::Unsent | NoAnswer::Elsewhere));
            match sent {
                Ok(response) => {
                    let answer = self.pass_back(response, peer, Some(lost), Some(runs));
                    return Ok(Some(answer));
                }
                Err(NoAnswer::Lost) => return Ok(Some(json(StatusCode::OK, &lost))),
                Err(NoAnswer::Unsent) => {}
                Err(NoAnswer::Elsewhere) => return Err(not_there(message.id())),
            }
            if !self.waits(&mut attempts).await {
                let what =
                    "the replica at which the call waits cannot be reached: send the request again";
                let error = RpcError::new(code::INTERNAL, what);
                return Err(later(message.id(), &error));
            }
            if !self.is_alive(&peer).await {
                return Ok(None);
            }
        }
    }

    /// Sends a request on, and waits until its answer begins.
    async fn send_on(
        &self,
        peer: &Peer,
        method: Method,
        headers: &HeaderMap,
        message: Option<&Message>,
    ) -> Result<Response, NoAnswer> {
        let sent = self.try_send_on(peer, method, headers, message).await;
        let outcome = match &sent {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => "misdirected",
            Ok(_) => "answered",
            Err(NoAnswer::Unsent) => "unsent",
            Err(NoAnswer::Lost) => "lost",
            Err(NoAnswer::Elsewhere) => "elsewhere",
        };
        self.metrics.count(families::SENT_ON, &[outcome]);
        sent
    }

    async fn try_send_on(
        &self,
        peer: &Peer,
        method: Method,
        headers: &HeaderMap,
        message: Option<&Message>,
    ) -> Result<Response, NoAnswer> {
        let Some(peers) = &self.peers else {
            return Err(NoAnswer::Unsent);
        };
        tokio::select! {
            () = self.ended() => return Err(NoAnswer::Unsent),
            proven = peers.prove(peer) => proven?,
        }
        let named = headers.get_all(CONNECTION).iter();
        let named = named.flat_map(|value| value.to_str().unwrap_or_default().split(','));
        let of_connection: Vec<String> = named.map(|name| name.trim().to_lowercase()).collect();
        let mut passed: HeaderMap = headers
            .iter()
            .filter(|(name, _)| {
                !OWN_HEADERS.contains(name) && !of_connection.iter().any(|of| of == name.as_str())
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let sent_on = passed.entry(header::SENT_ON);
        sent_on.or_insert(HeaderValue::from_static(SENT_ON));
        let url = format!("{}{}", peer.address, self.path);
        let mut request = peers.client.request(method, url).headers(passed);
        if let Some(message) = message {
            request = request.body(message.to_bytes());
        }
        let mut sending = pin!(request.send());
        loop {
            tokio::select! {
                () = self.ended() => return Err(NoAnswer::Lost),
                sent = &mut sending => return match sent {
                    Ok(response) if peers.is_of(peer, &response) => Ok(response),
                    Err(error) if error.is_connect() || error.is_builder() => {
                        Err(NoAnswer::Unsent)
                    }
                    // A proxy between the two may have answered for it.
                    Ok(_) | Err(_) => Err(NoAnswer::Lost),
                },
                () = sleep(LOOK_INTERVAL) => if !self.is_alive(peer).await {
                    return Err(NoAnswer::Lost);
                }
            }
        }
    }

    /// Refuses what a process that ends would send on, or take up.
    fn goes_on(&self, id: Option<&Id>) -> Result<(), Box<Answer>> {
        if *self.ends.borrow() {
            let what = "this replica ends: send the request again";
            return Err(later(id, &RpcError::new(code::INTERNAL, what)));
        }
        Ok(())
    }

    /// Waits for the next attempt, or the end of this process; false where there is none.
    async fn waits(&self, attempts: &mut Attempts) -> bool {
        tokio::select! {
            waited = attempts.wait() => waited,
            () = self.ended() => true,
        }
    }

    /// Waits until what was sent on is to end.
    async fn ended(&self) {
        let mut ends = self.ends.subscribe();
        let _ = ends.wait_for(|ends| *ends).await.is_ok();
    }

    /// Has the record say again who has the session of a request.
    fn forget(&self, headers: &HeaderMap) {
        let session = only(headers, header::SESSION).ok().flatten();
        if let (Some(peers), Some(session)) = (&self.peers, session) {
            peers.forget(session);
        }
    }

    /// Whether a replica answers at its address.
    async fn answers(&self, peer: &Peer) -> bool {
        match &self.peers {
            Some(peers) => peers.health(peer, CONNECT_TIMEOUT).await.is_some(),
            None => false,
        }
    }

    /// Whether a replica is alive, as far as that can be known.
    async fn is_alive(&self, peer: &Peer) -> bool {
        self.life(peer).await != Life::Gone
    }

    /// Whether a replica is alive and keeps its sessions, as far as that can be known.
    pub(super) async fn stays(&self, peer: &Peer) -> bool {
        self.life(peer).await == Life::Stays
    }

    /// What became of a replica. The store is asked once in a while, by one request; others have the last answer.
    async fn life(&self, peer: &Peer) -> Life {
        let Some(peers) = &self.peers else {
            return Life::Gone;
        };
        let look = peers.look(peer);
        if let Some(life) = look.within(LOOK_LASTS) {
            return life;
        }
        let _turn = match look.turn.try_lock() {
            Ok(turn) => turn,
            Err(_) => {
                if let Some(life) = look.within(2 * LOOK_LASTS) {
                    return life;
                }
                let turn = look.turn.lock().await;
                if let Some(life) = look.within(LOOK_LASTS) {
                    return life;
                }
                turn
            }
        };
        let found = match self.hub.stays(&peer.name).await {
            Ok(true) => Ok(Life::Stays),
            Ok(false) => self.hub.peer(&peer.name).await.map(|found| match found {
                Some(_) => Life::Leaves,
                None => Life::Gone,
            }),
            Err(error) => Err(error),
        };
        // Where the store does not say, nor can others take anything up from it.
        let life = found.unwrap_or(Life::Stays);
        *look.last.lock() = Some((Instant::now(), life));
        life
    }

    /// The answer of another replica. A stream of events that breaks between two of them ends with `lost`.
    fn pass_back(
        self: &Arc<Self>,
        mut response: Response,
        peer: Peer,
        lost: Option<Message>,
        runs: Option<Hold>,
    ) -> Answer {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let is_stream = is_media_type(headers.get(CONTENT_TYPE), "text/event-stream");
        let lost = lost.filter(|_| is_stream);
        let (sender, receiver) = mpsc::channel(1);
        let http = Arc::clone(self);
        tokio::spawn(async move {
            let _runs = runs;
            let mut passed = EventScan::default();
            let is_gone = loop {
                tokio::select! {
                    // What has come is passed on first.
                    biased;
                    chunk = response.chunk() => match chunk {
                        Ok(Some(bytes)) => {
                            passed.read(&bytes);
                            if sender.send(bytes).await.is_err() {
                                return;
                            }
                        }
                        Ok(None) => return,
                        // A client that can resume the stream gets the rest from a replica that goes on.
                        Err(_) => break !(passed.names_events && http.answers(&peer).await),
                    },
                    () = sender.closed() => return,
                    () = http.ended() => break true,
                    () = sleep(LOOK_INTERVAL) => if !http.is_alive(&peer).await {
                        break true;
                    }
                }
            };
            if let Some(lost) = lost.filter(|_| is_gone && passed.lacks_answer()) {
                let event = [b"data: ".as_slice(), &lost.to_bytes(), b"\n\n"].concat();
                let _ = sender.send(event.into()).await;
            }
        });
        let frames = stream::unfold(receiver, |mut receiver| async {
            let bytes: Bytes = receiver.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(bytes)), receiver))
        });
        let mut answer = body(status, None, StreamBody::new(frames));
        let passed_back = [
            ALLOW,
            CACHE_CONTROL,
            CONTENT_LENGTH,
            CONTENT_TYPE,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
            HeaderName::from_static(header::SESSION),
        ];
        for name in passed_back {
            if let Some(value) = headers.get(&name) {
                answer.headers_mut().insert(name, value.clone());
            }
        }
        answer
    }

    /// The session that is at hand here, if it is this replica's.
    pub(super) async fn own_session(
        &self,
        session: &str,
        principal: &Principal,
        id: Option<&Id>,
    ) -> Result<Option<BusySession>, Box<Answer>> {
        let Some(found) = self.sessions.find(session, principal) else {
            return Ok(None);
        };
        let is_own = found.client.is_own().await;
        if is_own.map_err(|error| away(id, &error))? {
            return Ok(Some(found));
        }
        drop(found);
        Ok(self.sessions.find(session, principal))
    }
}

/// Where the address of a replica is another's.
fn not_there(id: Option<&Id>) -> Box<Answer> {
    let what = "something else answers at the address of the replica that has it: send the request again, and tell the operator";
    later(id, &RpcError::new(code::INTERNAL, what))
}

/// Whether a message can be taken twice as well as once: requests that change nothing, or the same again. An answer and a
/// notification mean nothing to a replica that did not ask, or has no such request.
fn may_be_repeated(message: &Message) -> bool {
    message.kind() != Kind::Request
        || message.method().is_some_and(|name| {
            let repeatable = [
                method::COMPLETE,
                method::GET_PROMPT,
                method::GET_TASK,
                method::LIST_PROMPTS,
                method::LIST_RESOURCES,
                method::LIST_TASKS,
                method::LIST_TEMPLATES,
                method::LIST_TOOLS,
                method::PING,
                method::READ_RESOURCE,
                method::SET_LEVEL,
                method::SUBSCRIBE,
                method::UNSUBSCRIBE,
            ];
            repeatable.contains(&name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However long the request ran before.
    #[tokio::test(start_paused = true)]
    async fn a_replica_is_waited_for_since_it_was_first_missed() {
        let mut attempts = Attempts::new();
        sleep(2 * REACH_TIMEOUT).await;
        let begun = Instant::now();
        let mut count = 0;
        while attempts.wait().await {
            count += 1;
        }
        let waited = begun.elapsed();
        assert!(waited >= REACH_TIMEOUT, "{waited:?}");
        assert!(waited < REACH_TIMEOUT + RETRY_AFTER_AT_MOST, "{waited:?}");
        assert!((10..30).contains(&count), "{count}");
    }
}
