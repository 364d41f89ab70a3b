//! Sessions: who has one, what it is used for, and when it ends.
//!
//! What comes in: ids of sessions. What goes out: the client behind each, and its streams. Deliberately not
//! here: requests.

use super::stream::{From, Stream, place};
use crate::downstream::{Hub, HubClient, Principal};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// What a session keeps of streams that are over, so that a client whose connection broke gets the answer
/// after all.
const OVER_STREAMS: usize = 64;
const OVER_BYTES: usize = 4 << 20;

/// All sessions.
pub(super) struct Sessions {
    most: usize,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) client: Arc<dyn HubClient>,
    principal: Principal,
    /// What belongs to no request.
    standalone: Arc<Stream>,
    streams: Mutex<VecDeque<Arc<Stream>>>,
    numbers: AtomicU64,
    /// Requests that run.
    busy: AtomicUsize,
    used: Mutex<Instant>,
}

/// A request that runs: its session is used.
pub(super) struct Busy(Arc<Session>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
        self.0.touch();
    }
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            sessions: Mutex::default(),
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.all().len()
    }

    /// A session that begins; none when there are as many as there may be, or no randomness for its id.
    pub(super) fn begin(&self, hub: Arc<dyn Hub>, principal: &Principal) -> Option<Arc<Session>> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).ok()?;
        let id = BASE64_URL_SAFE_NO_PAD.encode(random);
        let mut all = self.all();
        if all.len() >= self.most {
            return None;
        }
        let standalone = Stream::resumable(0);
        let session = Arc::new(Session {
            id: id.clone(),
            client: hub.connect(principal.clone(), standalone.clone()),
            principal: principal.clone(),
            standalone,
            streams: Mutex::default(),
            numbers: AtomicU64::new(1),
            busy: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
        });
        all.insert(id, Arc::clone(&session));
        Some(session)
    }

    /// The session of this id. That of somebody else is none.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.all().get(id).cloned()?;
        if session.principal != *principal {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends a session.
    pub(super) async fn end(&self, id: &str) {
        let session = self.all().remove(id);
        if let Some(session) = session {
            session.close().await;
        }
    }

    /// Ends sessions that nobody used for that long.
    pub(super) async fn sweep(&self, idle: Duration) {
        let unused: Vec<_> = {
            let mut all = self.all();
            let unused: Vec<_> = all
                .iter()
                .filter(|(_, session)| session.is_unused(idle))
                .map(|(id, _)| id.clone())
                .collect();
            unused.iter().filter_map(|id| all.remove(id)).collect()
        };
        for session in unused {
            tracing::info!("a session ends that nobody used");
            // Its servers may take their time.
            tokio::spawn(async move { session.close().await });
        }
    }

    /// Ends all.
    pub(super) async fn close(&self) {
        let all: Vec<_> = self.all().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(all.iter().map(|session| session.close())).await;
    }
}

impl Session {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_unused(&self, idle: Duration) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.busy.load(Ordering::Acquire) == 0
            && !self.standalone.is_read()
            && used.elapsed() >= idle
    }

    /// A request that begins to run.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    fn streams(&self) -> MutexGuard<'_, VecDeque<Arc<Stream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream for a request.
    pub(super) fn stream(&self) -> Arc<Stream> {
        Stream::resumable(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps a stream, so that it can be resumed.
    pub(super) fn keep(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams();
        streams.push_back(Arc::clone(stream));
        // Newest first: those that are over stay while there is room.
        let (mut count, mut bytes) = (0, 0);
        let mut at = streams.len();
        while at > 0 {
            at -= 1;
            let Some(kept) = streams.get(at).filter(|kept| kept.is_over()) else {
                continue;
            };
            count += 1;
            bytes += kept.bytes();
            if count > OVER_STREAMS || bytes > OVER_BYTES {
                streams.remove(at);
            }
        }
    }

    /// The stream on which an event was, and where to go on; without an event, what belongs to no request.
    pub(super) fn resume(&self, last_event: Option<&str>) -> Option<(Arc<Stream>, From)> {
        let Some(id) = last_event else {
            return Some((Arc::clone(&self.standalone), From::Unread));
        };
        let (number, from) = place(id)?;
        if number == 0 {
            return Some((Arc::clone(&self.standalone), from));
        }
        let streams = self.streams();
        let stream = streams.iter().find(|stream| stream.number() == number)?;
        Some((Arc::clone(stream), from))
    }

    async fn close(&self) {
        self.standalone.close();
        self.client.close().await;
        for stream in self.streams().drain(..) {
            stream.finish();
        }
    }
}
