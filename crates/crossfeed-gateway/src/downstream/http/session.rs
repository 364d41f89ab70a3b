//! Sessions: the client behind each, its streams, and when it ends.

use super::{
    stream::{EventId, ReadFrom, Stream},
    token::random,
};
use crate::{
    message::{Id, Message, RpcError},
    port::{Hub, HubClient, KeptSession, MessageSink, Peer},
    principal::{Principal, share_of},
    records::session::{first_number, is_first_number},
    sync::{AtomicUsize, Mutex, spawn_if_possible},
};
use std::{
    collections::{HashMap, VecDeque},
    ops::Deref,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedMutexGuard, Semaphore},
    time::Instant,
};

/// What a session keeps of streams that are over, so that a client whose connection broke gets the answer
/// after all.
const MAX_ENDED_STREAMS: usize = 64;
const MAX_ENDED_BYTES: usize = 4 << 20;

/// Messages that are on their way to the replica that had a session before.
const MAX_TELLS: usize = 64;

/// All sessions.
pub(super) struct Sessions {
    /// Who takes a session up, by its id.
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    most: usize,
    /// How many one principal may have.
    share: usize,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// Those that other processes have taken up, and of which requests still run here.
    left: Mutex<Vec<Arc<Session>>>,
}

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) client: Arc<dyn HubClient>,
    /// The replica that had it when this one took it up, and the first of the numbers that were counted there.
    before: Mutex<Option<(u64, Peer)>>,
    /// Messages that are for that one, too, and on their way.
    pub(super) tells: Arc<Semaphore>,
    principal: Principal,
    /// What belongs to no request. Its number is the first of this process.
    standalone: Arc<Stream>,
    streams: Mutex<VecDeque<Arc<Stream>>>,
    numbers: AtomicU64,
    /// Requests that run.
    busy: AtomicUsize,
    used: Mutex<Instant>,
    /// When it was last said that it is used; locked while that is being said.
    renewed: tokio::sync::Mutex<Instant>,
}

/// A request that runs: its session is used, and makes room for no other.
pub(super) struct BusySession(Arc<Session>);

impl BusySession {
    fn new(session: &Arc<Session>) -> Self {
        session.busy.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(session))
    }
}

impl Deref for BusySession {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for BusySession {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
        self.0.touch();
    }
}

impl Sessions {
    /// As many in all; half of them for one principal where there are several.
    pub(super) fn new(most: usize, principals: usize) -> Self {
        Self {
            most,
            share: share_of(most, principals),
            turns: Mutex::default(),
            sessions: Mutex::default(),
            left: Mutex::default(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// A session that begins; none when there are as many as there may be and all of them are at work, or
    /// no randomness for its id. Else the one that was idle for longest makes room.
    pub(super) fn begin(&self, hub: Arc<dyn Hub>, principal: &Principal) -> Option<BusySession> {
        let id = random()?;
        let begun = self.add(
            &id,
            principal,
            (0, None),
            Session::close_soon,
            (),
            |(), outlet| {
                let client = hub.connect(principal.clone(), outlet);
                client.keep_as(&id);
                client
            },
        );
        begun.ok()
    }

    /// A session of before that goes on, which a replica may have had until now; none as for one that begins, and then
    /// others may take it up. Where another request was faster, it is that one. The one that makes room goes on
    /// elsewhere, if it is kept: else one that came back would end another.
    pub(super) async fn resume(
        &self,
        hub: Arc<dyn Hub>,
        id: &str,
        principal: &Principal,
        kept: KeptSession,
        before: Option<(u64, Peer)>,
    ) -> Option<BusySession> {
        let first = kept.first_number();
        let resumed = self.add(
            id,
            principal,
            (first, before),
            Session::leave,
            kept,
            |kept, outlet| Arc::clone(&hub).resume(kept, principal.clone(), outlet),
        );
        match resumed {
            Ok(session) => Some(session),
            Err(kept) => {
                hub.let_go(kept).await;
                None
            }
        }
    }

    /// A session of what is `known` of it, which comes back where there is no room. One that makes room does what
    /// `give_way` says.
    fn add<T>(
        &self,
        id: &str,
        principal: &Principal,
        (first, before): (u64, Option<(u64, Peer)>),
        give_way: impl FnOnce(Arc<Session>),
        known: T,
        connect: impl FnOnce(T, Arc<dyn MessageSink>) -> Arc<dyn HubClient>,
    ) -> Result<BusySession, T> {
        let mut all = self.sessions.lock();
        if let Some(session) = all.get(id) {
            return Ok(BusySession::new(session));
        }
        let has_share = count(&all, principal) >= self.share;
        if has_share || all.len() >= self.most {
            let idle = idlest(&all, principal, has_share);
            let Some(session) = idle.and_then(|idle| all.remove(&idle)) else {
                return Err(known);
            };
            tracing::info!("closed the session that was idle longest: too many sessions");
            give_way(session);
        }
        let standalone = Stream::resumable(first, None);
        let session = Arc::new(Session {
            id: id.to_owned(),
            client: connect(known, standalone.clone()),
            before: Mutex::new(before),
            tells: Arc::new(Semaphore::new(MAX_TELLS)),
            principal: principal.clone(),
            standalone,
            streams: Mutex::default(),
            numbers: AtomicU64::new(first + 1),
            busy: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            renewed: tokio::sync::Mutex::new(Instant::now()),
        });
        // Before another request looks for a session that makes room.
        let busy = BusySession::new(&session);
        all.insert(id.to_owned(), session);
        Ok(busy)
    }

    /// The turn of those who take this session up, one at a time.
    pub(super) async fn turn(&self, id: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock();
            let known = turns.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                turns.retain(|_, turn| turn.strong_count() > 0);
                let turn = Arc::default();
                turns.insert(id.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }

    /// The session with this id, if it belongs to the principal. One that another process has taken up is dropped, once no
    /// request of it runs.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<BusySession> {
        let mut all = self.sessions.lock();
        let session = all.get(id)?;
        if session.principal != *principal {
            return None;
        }
        if session.client.has_moved() {
            let session = all.remove(id)?;
            if session.is_left_behind() {
                session.close_soon();
            } else {
                self.left.lock().push(session);
            }
            return None;
        }
        // The list is free again once it is known that the session makes room for no other.
        Some(BusySession::new(session))
    }

    /// All that is here of a session: what is left of it where others have taken it up, too.
    pub(super) fn all_of(&self, id: &str, principal: &Principal) -> Vec<BusySession> {
        let all = self.sessions.lock();
        let left = self.left.lock();
        let of = all.get(id).into_iter().chain(left.iter());
        let of = of.filter(|session| session.id == id && session.principal == *principal);
        of.map(BusySession::new).collect()
    }

    /// Ends a session.
    pub(super) async fn end(&self, id: &str) {
        if let Some(session) = self.take(id) {
            session.close().await;
        }
    }

    /// Takes a session off the list: no request finds it any more.
    pub(super) fn take(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions.lock().remove(id)
    }

    /// Has the sessions kept for longer that were used since that was last done, a few times in the time for which they
    /// may be idle.
    pub(super) fn renew(&self, idle: Duration) {
        let all = self.sessions.lock();
        for session in all.values().filter(|session| session.is_due(idle / 4)) {
            let session = Arc::clone(session);
            // Not awaited: whoever comes meanwhile does not wait for the store.
            spawn_if_possible(async move { session.renew().await });
        }
    }

    /// Ends sessions that were not used for that long, and drops those that another process has taken up.
    pub(super) async fn sweep(&self, idle: Duration) {
        let is_over = |_: &String, session: &mut Arc<Session>| {
            session.is_unused(idle) || session.is_left_behind()
        };
        let over: Vec<_> = self.sessions.lock().extract_if(is_over).collect();
        let mut left = self.left.lock();
        let done = left.extract_if(.., |session| session.is_left_behind());
        done.for_each(Session::close_soon);
        drop(left);
        for (_, session) in over {
            if !session.client.has_moved() {
                tracing::info!("closed an idle session");
            }
            session.close_soon();
        }
    }

    /// Ends all with this process; those that are kept go on in another.
    pub(super) async fn close(&self) {
        let all = std::mem::take(&mut *self.sessions.lock());
        let left = std::mem::take(&mut *self.left.lock());
        let all: Vec<_> = all.into_values().chain(left).collect();
        all.iter().for_each(|session| session.client.leave());
        futures_util::future::join_all(all.iter().map(|session| session.close())).await;
    }
}

/// Whether a number was counted by the process whose first one is `first`.
pub(super) fn is_of_process(number: u64, first: u64) -> bool {
    (first..first + first_number(1)).contains(&number)
}

fn count(all: &HashMap<String, Arc<Session>>, principal: &Principal) -> usize {
    let of = |session: &&Arc<Session>| session.principal == *principal;
    all.values().filter(of).count()
}

/// The session that was idle for longest, of the principal that `comes` or, unless it has its share, of those that have
/// more sessions. One whose stream is read is taken only when there is no other.
fn idlest(
    all: &HashMap<String, Arc<Session>>,
    comes: &Principal,
    has_share: bool,
) -> Option<String> {
    let mut counts: HashMap<&Principal, usize> = HashMap::new();
    for session in all.values() {
        *counts.entry(&session.principal).or_default() += 1;
    }
    let has = |whose: &Principal| counts.get(whose).copied().unwrap_or(0);
    let own = has(comes);
    let may_end = |session: &Session| {
        let whose = &session.principal;
        whose == comes || (!has_share && has(whose) > own)
    };
    let idle = all
        .iter()
        .filter(|(_, session)| session.busy.load(Ordering::Acquire) == 0 && may_end(session));
    idle.max_by_key(|(_, session)| (!session.standalone.is_read(), session.idle()))
        .map(|(id, _)| id.clone())
}

impl Session {
    /// Whether a number was counted here.
    pub(super) fn has_counted(&self, number: u64) -> bool {
        is_of_process(number, self.standalone.number())
    }

    /// The replica that had it before, and the first of the numbers that were counted there, as long as something of it
    /// may run there.
    pub(super) fn before(&self) -> Option<(u64, Peer)> {
        self.before.lock().clone()
    }

    pub(super) fn forget_before(&self) {
        *self.before.lock() = None;
    }

    fn idle(&self) -> Duration {
        self.used.lock().elapsed()
    }

    fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    fn is_unused(&self, idle: Duration) -> bool {
        self.busy.load(Ordering::Acquire) == 0 && !self.standalone.is_read() && self.idle() >= idle
    }

    /// Whether another process has taken it up, and no request runs here.
    fn is_left_behind(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0 && self.client.has_moved()
    }

    /// Whether it was used since that was last said, which was that long ago, or it could not be said what changed.
    fn is_due(&self, often: Duration) -> bool {
        let Ok(renewed) = self.renewed.try_lock() else {
            return false;
        };
        let is_busy = self.busy.load(Ordering::Acquire) > 0 || self.standalone.is_read();
        let used = *self.used.lock();
        let is_used = renewed.elapsed() >= often && (is_busy || used > *renewed);
        is_used || self.client.is_to_be_kept()
    }

    /// Has it kept for longer. What cannot be done is tried anew.
    async fn renew(&self) {
        let Ok(mut renewed) = self.renewed.try_lock() else {
            return;
        };
        let begun = Instant::now();
        if self.client.renew().await {
            *renewed = begun;
        }
    }

    /// A stream for a request.
    pub(super) fn stream(&self, request: Option<&Id>) -> Arc<Stream> {
        Stream::resumable(self.numbers.fetch_add(1, Ordering::Relaxed), request)
    }

    /// Keeps a stream, so that it can be resumed.
    pub(super) fn keep(&self, stream: &Arc<Stream>) {
        self.streams.lock().push_back(Arc::clone(stream));
        self.trim();
    }

    /// Of streams that are over, the newest stay while there is room.
    pub(super) fn trim(&self) {
        let mut streams = self.streams.lock();
        let (mut count, mut bytes) = (0, 0);
        for at in (0..streams.len()).rev() {
            let ended = streams.get(at).filter(|stream| stream.is_over());
            let Some(size) = ended.map(|stream| stream.bytes()) else {
                continue;
            };
            if count == MAX_ENDED_STREAMS || bytes + size > MAX_ENDED_BYTES {
                streams.remove(at);
            } else {
                count += 1;
                bytes += size;
            }
        }
    }

    /// The stream on which an event was, and where to go on; without an event, what belongs to no request.
    pub(super) async fn resume(&self, last_event: Option<&str>) -> Option<(Arc<Stream>, ReadFrom)> {
        let Some(id) = last_event else {
            return Some((Arc::clone(&self.standalone), ReadFrom::Unread));
        };
        let EventId {
            stream: number,
            from,
            request,
        } = EventId::parse(id)?;
        let own = self.standalone.number();
        if number == own {
            return Some((Arc::clone(&self.standalone), from));
        }
        if number < own && is_first_number(number) {
            // What another process sent on it is gone.
            return Some((Arc::clone(&self.standalone), ReadFrom::Unread));
        }
        if number < own {
            let lost = Message::failure(Some(&request?), &RpcError::outcome_unknown());
            let stream = self.stream(None);
            let _ = stream.send(lost).await;
            return Some((stream, ReadFrom::Start));
        }
        let streams = self.streams.lock();
        let stream = streams.iter().find(|stream| stream.number() == number)?;
        Some((Arc::clone(stream), from))
    }

    /// Ends it here, and lets another process go on with it where it is kept.
    fn leave(self: Arc<Self>) {
        self.client.leave();
        self.close_soon();
    }

    /// Ends it, without waiting for its servers, which may take their time.
    pub(super) fn close_soon(self: Arc<Self>) {
        self.client.ends();
        spawn_if_possible(async move { self.close().await });
    }

    async fn close(&self) {
        self.standalone.close();
        self.client.close().await;
        for stream in self.streams.lock().drain(..) {
            stream.finish();
        }
    }
}

#[cfg(test)]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Revision,
        downstream::fake::FakeHub,
        records::{
            Key, Records,
            fake::LastingStore,
            owned::OwnedRecord,
            session::{Revisions, SessionRecord},
        },
    };
    use std::collections::BTreeMap;

    #[tokio::test]
    async fn what_is_over_is_bounded() {
        let sessions = Sessions::new(1, 0);
        let hub = Arc::new(FakeHub::default());
        let session = sessions.begin(hub, &Principal::Anonymous).unwrap();
        let streams: Vec<_> = (0..100).map(|_| session.stream(None)).collect();
        streams.iter().for_each(|stream| session.keep(stream));
        for stream in &streams {
            let text = format!("\"{}\"", "x".repeat(1 << 20));
            let answer = Message::response(&Id::number(1), &text.into());
            let busy = BusySession::new(&session);
            stream.send(answer).await.unwrap();
            busy.trim();
        }
        let kept: usize = session.streams.lock().iter().map(|kept| kept.bytes()).sum();
        assert!(0 < kept && kept <= MAX_ENDED_BYTES, "{kept}");
    }

    #[tokio::test]
    async fn a_request_of_a_process_before_may_have_run() {
        let sessions = Sessions::new(1, 0);
        let hub = Arc::new(FakeHub::default());
        let whose = Principal::Anonymous;
        let leave = Session::leave;
        let begun = sessions.add("s", &whose, (1 << 32, None), leave, (), |(), outlet| {
            hub.connect(whose.clone(), outlet)
        });
        let session = begun.ok().unwrap();
        // "1" in Base64.
        for (last_event, is_known) in [("2--MQ", true), ("2-7-MQ", true), ("2-7", false)] {
            let resumed = session.resume(Some(last_event)).await;
            assert_eq!(resumed.is_some(), is_known, "{last_event}");
            let Some((stream, _)) = resumed else { continue };
            let answer = stream.answered_at_once().await.unwrap();
            assert_eq!(&answer.id().unwrap().raw()[..], b"1");
            let error = String::from_utf8(answer.error().unwrap().to_vec()).unwrap();
            assert!(error.contains("upstream.outcome_unknown"), "{error}");
        }
        // No process before had this.
        assert!(session.resume(Some("4294967299--MQ")).await.is_none());
    }

    fn named(name: &str) -> Principal {
        Principal::Named(name.into())
    }

    /// Who has how many sessions in the end: of four, when these came one behind the other.
    fn check(came: &str, principals: usize, expected: &[(&str, usize)]) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let sessions = Sessions::new(4, principals);
        for name in came.split(' ') {
            let hub = Arc::new(FakeHub::default());
            assert!(sessions.begin(hub, &named(name)).is_some(), "{came}");
        }
        for (name, expected) in expected {
            assert_eq!(
                count(&sessions.sessions.lock(), &named(name)),
                *expected,
                "{came}: {name}"
            );
        }
    }

    #[test]
    fn a_principal_has_its_share() {
        check("a a a a a a", 1, &[("a", 4)]);
        check("a a a a a a", 2, &[("a", 2)]);
        check("a a b b a", 2, &[("a", 2), ("b", 2)]);
        // The one who has most makes room for others.
        check("a a b b c", 3, &[("c", 1)]);
        check("a b c d e", 5, &[("e", 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_could_not_be_kept_is_kept_at_the_next_look() {
        const IDLE: Duration = Duration::from_secs(40);
        let sessions = Sessions::new(1, 0);
        let hub = Arc::new(FakeHub::default());
        drop(sessions.begin(hub.clone(), &Principal::Anonymous));
        let client = hub.client(0);
        let look = async |is_away| {
            hub.is_away.store(is_away, Ordering::Release);
            sessions.renew(IDLE);
            tokio::time::sleep(Duration::from_secs(1)).await;
            client.renewed.load(Ordering::Acquire)
        };
        assert_eq!(look(false).await, 0, "not used since it began");
        tokio::time::sleep(IDLE / 4).await;
        sessions
            .sessions
            .lock()
            .values()
            .for_each(|session| session.touch());
        assert_eq!(look(true).await, 1);
        assert_eq!(look(true).await, 2);
        assert_eq!(look(false).await, 3);
        assert_eq!(look(false).await, 3);
    }

    fn kept(id: &str) -> KeptSession {
        let records = Records::of(LastingStore::new()).unwrap();
        KeptSession {
            own: OwnedRecord::new(records, Key::new("session", &[id]), "owner".to_owned()),
            revisions: Revisions {
                asked: Revision::V2025_11_25,
                agreed: Revision::V2025_11_25,
            },
            record: SessionRecord {
                principal: String::new(),
                key: id.to_owned(),
                asked: String::new(),
                agreed: String::new(),
                handshake: String::new(),
                initialized: None,
                announced: Vec::new(),
                listed: Vec::new(),
                servers: BTreeMap::new(),
                replica: None,
            },
            rooms: HashMap::new(),
            term: 0,
        }
    }

    #[tokio::test]
    async fn a_session_that_comes_back_ends_no_other() {
        let sessions = Sessions::new(1, 0);
        let hub = Arc::new(FakeHub::default());
        let who = Principal::Anonymous;
        drop(sessions.begin(hub.clone(), &who));
        let resumed = sessions
            .resume(hub.clone(), "s", &who, kept("s"), None)
            .await;
        let first = hub.client(0);
        hub.until(|_| first.is_closed()).await;
        assert!(first.leaves.load(Ordering::Acquire));
        assert_eq!(sessions.count(), 1);
        // All are at work: it is free for other processes.
        let none = sessions
            .resume(hub.clone(), "t", &who, kept("t"), None)
            .await;
        assert!(none.is_none());
        assert_eq!(hub.released.load(Ordering::Acquire), 1);
        drop(resumed);
        // For one that begins another ends: no client leaves more behind than sessions may be.
        drop(sessions.begin(hub.clone(), &who));
        let second = hub.client(1);
        hub.until(|_| second.is_closed()).await;
        assert!(!second.leaves.load(Ordering::Acquire));
    }

    #[tokio::test]
    async fn a_session_that_moved_is_dropped() {
        const LONG: Duration = Duration::from_secs(1000);
        let sessions = Sessions::new(2, 0);
        let hub = Arc::new(FakeHub::default());
        let who = Principal::Anonymous;
        for is_asked_for in [true, false] {
            let busy = sessions.begin(hub.clone(), &who).unwrap();
            let id = busy.id.clone();
            let client = Arc::clone(&hub.clients.lock().pop().unwrap());
            client.has_moved.store(true, Ordering::Release);
            // A request that runs here may end.
            sessions.sweep(LONG).await;
            assert_eq!(sessions.count(), 1);
            drop(busy);
            if is_asked_for {
                assert!(sessions.find(&id, &who).is_none());
            } else {
                sessions.sweep(LONG).await;
            }
            assert_eq!(sessions.count(), 0);
            hub.until(|_| client.is_closed()).await;
        }
    }
}
