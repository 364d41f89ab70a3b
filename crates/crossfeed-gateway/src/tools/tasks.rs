//! Calls that run as tasks: in flight until the server returns the task's result, while references to them wait.
//!
//! # What holds
//!
//! - A result that is asked for again is shown as the first time, and what differs from it as one that
//!   nothing refers to: never as it came.
//! - A request that is cancelled takes no result with it.
//! - Over a store that outlives the process, a task that another process began is taken up with its first result: that
//!   is shown and recorded as if the process had made the call.
//! - Tasks that no client asks about do not keep others from being recorded.
//! - A session, and a holder of a token without one, has tasks of its own: those of others take nothing from
//!   it. Clients with neither cannot be told apart; they have tasks together, as many as several of the former.

use super::{
    builtin,
    call::{PreparedCall, begun},
    client::{ClientState, ClientTools, Shared},
    kept_tasks::{CallOfTask, KeptEnd, KeptTask, KeptTasks},
    place::Place,
    reader::ReaderHints,
    result::{Passing, RecordedCall, Replay, pass_on},
};
use crate::{
    apart::{apart, indexed},
    members::{edited, has_any},
    records::{
        Found,
        task::{BegunTask, time_of},
    },
};
use bytes::Bytes;
use crossfeed_core::Notices;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use crossfeed_store::{StoreError, with_causes};
use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{mem, num::NonZeroUsize, sync::Arc};

/// The tasks of a client, by their servers and ids.
pub(super) type Tasks = Mutex<TaskCache>;
type TaskCache = LruCache<(usize, String), Arc<tokio::sync::Mutex<Task>>>;

/// A call that runs as a task.
pub(super) enum Task {
    Running(Box<RecordedCall>),
    /// It has a result, which may be asked for again; or nothing of it is recorded.
    Done(Box<FinishedTask>),
}

/// How a task's result is shown, and the digest of the one that was taken.
#[derive(Clone)]
pub(super) struct FinishedTask {
    replay: Replay,
    /// Where the result lives.
    place: Arc<Place>,
    end: End,
}

/// How a call that became a task ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Given up to make room: no result of it is recorded.
    GivenUp,
    /// The server said that it came to nothing, and not yet why.
    Failed,
    /// With a result of this digest.
    Result([u8; 32]),
}

/// How many tasks may be in flight and known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskLimits {
    /// In flight at most, a part of all calls that may be: beyond, the one that was not asked about for
    /// longest is given up.
    pub(super) running: usize,
    /// Known at most, of which the most have a result.
    pub(super) known: NonZeroUsize,
}

/// The member of a task that has its result.
const RESULT: &str = "result";

/// Of the calls that a client may have in flight, those that are tasks: one of so many, and where several
/// clients share them because nothing tells one from the other.
const PART: usize = 16;
const SHARED_PART: usize = 2;
/// In flight at most, however many calls may be.
const MAX_RUNNING: usize = 4096;
/// How many tasks are known for one in flight.
const KNOWN: usize = 4;
/// The most bytes of a task's id; a task with a longer one is not followed.
const MAX_ID_BYTES: usize = 4096;

impl TaskLimits {
    /// Of so many calls that may be in flight.
    pub(super) fn new(calls: usize, is_shared: bool) -> Self {
        let part = if is_shared { SHARED_PART } else { PART };
        let running = (calls / part).clamp(1, MAX_RUNNING);
        Self {
            running,
            known: NonZeroUsize::MIN.saturating_add(running * KNOWN - 1),
        }
    }
}

/// What of an answer about a task is a tool's result.
enum TaskAnswer<'d> {
    All,
    Member(Cursor<'d>),
    /// The task failed or was cancelled.
    Nothing(String),
    /// It runs on.
    NotYet,
}

impl Task {
    /// Another process was told how the call ended: where it recorded the result, that has its id. The call of this
    /// process is no longer in flight then.
    fn end_elsewhere(&mut self, end: &KeptEnd) -> Option<Box<RecordedCall>> {
        if *end == KeptEnd::Failed {
            return self.end(End::Failed);
        }
        let (call_id, digest) = end.recorded()?;
        let kept = self.end(End::Result(digest))?;
        if let Self::Done(done) = self {
            done.replay.call_id = call_id;
        }
        Some(kept)
    }

    /// The call, if it is in flight still: no longer from here on.
    fn end(&mut self, end: End) -> Option<Box<RecordedCall>> {
        let Self::Running(kept) = self else {
            return None;
        };
        let done = FinishedTask {
            replay: kept.replay.clone(),
            place: Arc::clone(&kept.shared.place),
            end,
        };
        match mem::replace(self, Self::Done(Box::new(done))) {
            Self::Running(kept) => Some(kept),
            Self::Done(_) => None,
        }
    }
}

impl ClientTools {
    /// Whether a task runs, as far as its server has said.
    pub(crate) fn runs_tasks(&self) -> bool {
        let tasks = self.shared.tasks.lock();
        // One that is locked has a result just now.
        let runs = |task: &tokio::sync::Mutex<Task>| {
            let task = task.try_lock();
            task.map_or(true, |task| matches!(*task, Task::Running(_)))
        };
        tasks.iter().any(|(_, task)| runs(task))
    }

    /// A task's result as the client is to see it: of `tasks/result`, or of a `tasks/get` that holds one.
    pub async fn task_result(&self, server: usize, task_id: &str, said: Bytes) -> Bytes {
        let shared = &self.shared;
        let document = indexed(said.clone()).await;
        let Ok(root) = document.root() else {
            return said;
        };
        let task = shared.task(server, task_id);
        let config = shared.tools.config.servers.get(server);
        let withholds = config.is_some_and(|config| !config.withheld.never_is_empty());
        let passing = Passing {
            view: shared.audience.reader.view(server),
            is_stateless: shared.is_stateless(),
            withholds,
        };
        let pass_on = |said| pass_on(said, passing);
        let (member, inner) = match holds(root) {
            TaskAnswer::All => (None, said.clone()),
            TaskAnswer::Member(inner) => (Some(inner), inner.shared()),
            TaskAnswer::Nothing(status) => {
                if let Some(task) = task {
                    shared.fail(server, task_id, &task, &status).await;
                }
                return pass_on(said).await;
            }
            TaskAnswer::NotYet => return pass_on(said).await,
        };
        let shown = match task {
            Some(task) => {
                // The client may be gone before it is recorded, and the next request must find it.
                let (shared, id) = (Arc::clone(shared), task_id.to_owned());
                let seen = async move { shared.seen(server, &id, &task, inner).await };
                let Ok(shown) = tokio::spawn(seen).await else {
                    return said;
                };
                shown
            }
            // It was begun in another session or process, of which nothing is recorded, or is not followed.
            None => pass_on(inner).await,
        };
        let Some(inner) = member else {
            return shown;
        };
        let mut edits = Edits::new(document.raw());
        edits.replace(inner, "null");
        let around = pass_on(edits.done().into_owned().into()).await;
        let with_result = edited(&around, |edits, root| {
            if let Some(place) = root.get(RESULT) {
                edits.replace(place, &shown[..]);
            }
        });
        with_result.unwrap_or(shown)
    }

    /// A server's answer to a client that cancels a task: some say that it is at once.
    pub async fn task_cancelled(&self, server: usize, task_id: &str, said: &Bytes) {
        let document = indexed(said.clone()).await;
        if let Ok(TaskAnswer::Nothing(status)) = document.root().map(holds) {
            match self.shared.task(server, task_id) {
                Some(task) => self.shared.fail(server, task_id, &task, &status).await,
                None => self.shared.tell_failed(server, task_id).await,
            }
        }
    }

    /// Takes up a task that another process began, if a server's answer about it says how it ended, and this process does
    /// not know it. `meta` is that of the request, and `listed` fetches the list by which its reader understands tools.
    pub(crate) async fn adopt_task(
        &self,
        (server, task_id): (usize, &str),
        said: &Bytes,
        meta: Option<&Bytes>,
        listed: impl Future<Output = ()>,
    ) {
        let shared = &self.shared;
        let Some(kept) = &shared.kept_tasks else {
            return;
        };
        if task_id.len() > MAX_ID_BYTES || shared.task(server, task_id).is_some() {
            return;
        }
        let document = indexed(said.clone()).await;
        let answer = document.root().map(holds);
        let has_failed = match answer {
            Ok(TaskAnswer::All | TaskAnswer::Member(_)) => false,
            Ok(TaskAnswer::Nothing(_)) => true,
            Ok(TaskAnswer::NotYet) | Err(_) => return,
        };
        if has_failed {
            shared.tell_failed(server, task_id).await;
            return;
        }
        let found = shared.find_kept(kept, server, task_id).await;
        let Some(found) = found else {
            return;
        };
        listed.await;
        let Some(task) = shared.adopted(server, meta, &found.value).await else {
            return;
        };
        let key = (server, task_id.to_owned());
        let mut tasks = shared.tasks.lock();
        // Another request may have been faster.
        if !tasks.contains(&key) {
            shared.hold(&mut tasks, key, task);
        }
    }

    /// Lets go of the calls whose tasks other processes know to have ended: they take room, and servers are kept for them.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub(crate) async fn release_ended_tasks(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        let Some(kept) = &shared.kept_tasks else {
            return Ok(());
        };
        let known: Vec<_> = {
            let tasks = shared.tasks.lock();
            let known = tasks
                .iter()
                .map(|(key, task)| (key.clone(), Arc::clone(task)));
            known.collect()
        };
        for ((server, task_id), task) in known {
            let runs = task
                .try_lock()
                .is_ok_and(|task| matches!(*task, Task::Running(_)));
            if !runs {
                continue;
            }
            let found = match kept.find(shared.server_name(server), &task_id).await {
                Err(error @ StoreError::Unavailable { .. }) => return Err(error),
                // What one record is no other hangs on.
                Err(_) => continue,
                Ok(found) => found,
            };
            if let Some(end) = found.and_then(|found| found.value.end) {
                drop(task.lock().await.end_elsewhere(&end));
            }
        }
        Ok(())
    }
}

impl ClientState {
    fn server_name(&self, server: usize) -> &str {
        let server = self.tools.config.servers.get(server);
        server.map_or("", |server| &server.name)
    }

    /// Keeps a call in flight until its task has a result; given up where that could not be told by its id.
    pub(super) async fn remember_task(&self, task: BegunTask, kept: RecordedCall) {
        if task.id.len() > MAX_ID_BYTES {
            return;
        }
        let kept = kept.slim();
        if let Some(tasks) = &self.kept_tasks {
            let replay = &kept.replay;
            let key = (self.server_name(replay.offered.server), &*task.id);
            let call = CallOfTask {
                tool: &replay.offered.source,
                view: replay.view,
                sources: &kept.ready.sources,
                projection: replay.projection.as_ref(),
                params: &replay.params,
                conversation: kept.shared.place.conversation,
            };
            let begun = tasks.begin(key, &self.tools.flows, &call, time_of(task.ttl));
            if let Err(error) = begun.await {
                tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot record the call of a task: only this process records its result");
            }
        }
        let key = (kept.replay.offered.server, task.id);
        let mut tasks = self.tasks.lock();
        self.hold(&mut tasks, key, Task::Running(Box::new(kept)));
    }

    /// Remembers a task; of those in flight, the ones not asked about for longest are given up for it.
    fn hold(&self, tasks: &mut TaskCache, key: (usize, String), task: Task) {
        tasks.put(key, Arc::new(tokio::sync::Mutex::new(task)));
        // One that is locked has a result just now.
        let running = tasks.iter().filter_map(|(_, task)| task.try_lock().ok());
        let running = running.filter(|task| matches!(**task, Task::Running(_)));
        for mut oldest in running.skip(self.room.running) {
            drop(oldest.end(End::GivenUp));
        }
    }

    fn task(&self, server: usize, task_id: &str) -> Option<Arc<tokio::sync::Mutex<Task>>> {
        let mut tasks = self.tasks.lock();
        tasks.get(&(server, task_id.to_owned())).cloned()
    }
}

impl Shared {
    /// What other processes know of a task; nothing where the store does not answer.
    async fn find_kept(
        &self,
        kept: &KeptTasks,
        server: usize,
        task_id: &str,
    ) -> Option<Found<KeptTask>> {
        let found = kept.find(self.server_name(server), task_id).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot look up the call of a task");
            None
        })
    }

    /// The task of another process, as if this one had begun it; none where its tool is not listed here, whose data went
    /// to it is unknown, or no call can be recorded.
    async fn adopted(
        self: &Arc<Self>,
        server: usize,
        meta: Option<&Bytes>,
        kept: &KeptTask,
    ) -> Option<Task> {
        let sources = kept.sources(&self.tools.flows)?;
        let listed = self.listed(&kept.tool);
        let (name, offered) = listed.filter(|(_, offered)| offered.server == server)?;
        let asked = meta.and_then(|meta| {
            let meta = Document::new(meta.clone());
            ReaderHints::from_meta(meta.root().ok()?, self.is_stateless()).ok()
        });
        let asked = asked.unwrap_or_default();
        let listing = self.listing_for(&self.reader(&asked));
        let shared = match kept.conversation() {
            Some(conversation) => self.in_conversation(&conversation),
            None => Arc::clone(self),
        };
        let replay = |call_id| Replay {
            call_id,
            offered: Arc::clone(&offered),
            view: kept.view(),
            shows: shared.shows(&asked),
            can_read: listing.is_some_and(|own| own.extra.contains(&builtin::READ)),
            projection: kept.projection(),
            notices: Notices::default(),
            note: None,
            params: kept.params.clone().into(),
        };
        let found = kept.end.as_ref().and_then(KeptEnd::recorded);
        if let Some((call_id, digest)) = found {
            return Some(Task::Done(Box::new(FinishedTask {
                replay: replay(call_id),
                place: Arc::clone(&shared.place),
                end: End::Result(digest),
            })));
        }
        let in_flight = begun(&shared, &offered, &name, None, None).await.ok()?;
        let replay = replay(in_flight.call_id().clone());
        let ready = PreparedCall {
            sources,
            projection: kept.projection(),
            ..PreparedCall::default()
        };
        Some(Task::Running(Box::new(RecordedCall {
            shared,
            in_flight,
            replay,
            ready,
            asked: None,
        })))
    }

    /// The task came to nothing.
    async fn fail(
        &self,
        server: usize,
        task_id: &str,
        task: &tokio::sync::Mutex<Task>,
        status: &str,
    ) {
        let call = task.lock().await.end(End::Failed);
        let Some(call) = call else {
            return;
        };
        call.fail(&format!("the task was {status}")).await;
        self.tell_failed(server, task_id).await;
    }

    /// Tells other processes that a task came to nothing, unless they know how it ended.
    async fn tell_failed(&self, server: usize, task_id: &str) {
        let Some(kept) = &self.kept_tasks else {
            return;
        };
        let found = self.find_kept(kept, server, task_id).await;
        if let Some(found) = found.filter(|found| found.value.end.is_none()) {
            let key = (self.server_name(server), task_id);
            unended(kept.end(key, found, KeptEnd::Failed).await);
        }
    }

    /// A result of a task: the first is recorded, and other requests wait for that.
    async fn seen(
        &self,
        server: usize,
        task_id: &str,
        task: &tokio::sync::Mutex<Task>,
        result: Bytes,
    ) -> Bytes {
        let came: [u8; 32] = apart(result.len(), {
            let result = result.clone();
            move || Sha256::digest(&result).into()
        })
        .await;
        let mut task = task.lock().await;
        let found = match &self.kept_tasks {
            Some(kept) if matches!(*task, Task::Running(_)) => {
                self.find_kept(kept, server, task_id).await
            }
            _ => None,
        };
        if let Some(end) = found.as_ref().and_then(|found| found.value.end.as_ref()) {
            drop(task.end_elsewhere(end));
        }
        if let Some(call) = task.end(End::Result(came)) {
            let call_id = call.replay.call_id.clone();
            let shown = call.finish(result.clone(), None).await;
            drop(task);
            if let Some((kept, found)) = self.kept_tasks.as_ref().zip(found) {
                let end = KeptEnd::result(&call_id, &came);
                unended(
                    kept.end((self.server_name(server), task_id), found, end)
                        .await,
                );
            }
            // Nothing is known of its members, so it is in one piece.
            return shown.over(&result);
        }
        let Task::Done(done) = &mut *task else {
            return result;
        };
        if done.end == End::Failed {
            // This may be why.
            let shared = self.at(Arc::clone(&done.place));
            if let Some(replay) = done.replay.late_failure(&shared, &result).await {
                done.replay = replay;
                done.end = End::Result(came);
            }
        }
        let FinishedTask { replay, place, end } = FinishedTask::clone(done);
        drop(task);
        let shared = self.at(place);
        let is_same = end == End::Result(came);
        replay.shown(&shared, result, is_same).await
    }
}

/// The store fails to note how a task ended.
fn unended(ended: Result<(), StoreError>) {
    if let Err(error) = ended {
        tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot record how a task ended: other processes may record its result, too");
    }
}

fn is_result(root: Cursor<'_>) -> bool {
    has_any(root, &["content", "structuredContent", "isError"])
}

fn holds(root: Cursor<'_>) -> TaskAnswer<'_> {
    if is_result(root) {
        return TaskAnswer::All;
    }
    let text = |key: &str| root.get(key).and_then(Cursor::as_str);
    let inner = root.get(RESULT);
    let inner = inner.filter(|inner| inner.kind() == Kind::Object);
    match (text("status").as_deref(), inner) {
        (Some(status @ ("failed" | "cancelled")), _) => TaskAnswer::Nothing(status.to_owned()),
        (Some("completed"), Some(inner)) => TaskAnswer::Member(inner),
        (_, Some(inner)) if is_result(inner) => TaskAnswer::Member(inner),
        // A result with nothing in it, which says nothing of a task.
        (None, None) if root.kind() == Kind::Object => {
            let is_of_task = has_any(root, &["taskId", "task"]);
            let is_complete = text("resultType").is_none_or(|kind| kind == "complete");
            if is_complete && !is_of_task {
                TaskAnswer::All
            } else {
                TaskAnswer::NotYet
            }
        }
        _ => TaskAnswer::NotYet,
    }
}
