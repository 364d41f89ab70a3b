//! Calls that run as tasks: in flight until the server returns the task's result, while references to them wait.
//!
//! # What holds
//!
//! - A result that is asked for again is shown as the first time, and what differs from it as one that
//!   nothing refers to: never as it came.
//! - A request that is cancelled takes no result with it.
//! - Tasks that no client asks about do not keep others from being recorded.
//! - A session, and a holder of a token without one, has tasks of its own: those of others take nothing from
//!   it. Clients with neither cannot be told apart; they have tasks together, as many as several of the former.

use super::{
    client::{ClientState, ClientTools, Shared},
    place::Place,
    result::{Passing, RecordedCall, Replay, pass_on},
};
use crate::{
    apart::{apart, indexed},
    members::{edited, has_any},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Edits, Kind};
use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{mem, num::NonZeroUsize, sync::Arc};

/// The tasks of a client, by their servers and ids.
pub(super) type Tasks = Mutex<LruCache<(usize, String), Arc<tokio::sync::Mutex<Task>>>>;

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
    running: usize,
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
                    fail(&task, &status).await;
                }
                return pass_on(said).await;
            }
            TaskAnswer::NotYet => return pass_on(said).await,
        };
        let shown = match task {
            Some(task) => {
                // The client may be gone before it is recorded, and the next request must find it.
                let seen = tokio::spawn(seen(Arc::clone(shared), task, inner));
                let Ok(shown) = seen.await else {
                    return said;
                };
                shown
            }
            // It was begun in another session, or is not followed.
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
        let Some(task) = self.shared.task(server, task_id) else {
            return;
        };
        let document = indexed(said.clone()).await;
        if let Ok(TaskAnswer::Nothing(status)) = document.root().map(holds) {
            fail(&task, &status).await;
        }
    }
}

impl ClientState {
    /// Keeps a call in flight until its task has a result; given up where that could not be told by its id.
    pub(super) fn remember_task(&self, task: String, kept: RecordedCall) {
        if task.len() > MAX_ID_BYTES {
            return;
        }
        let key = (kept.replay.offered.server, task);
        let kept = kept.slim();
        let running = Task::Running(Box::new(kept));
        let mut tasks = self.tasks.lock();
        tasks.put(key, Arc::new(tokio::sync::Mutex::new(running)));
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

/// The task came to nothing.
async fn fail(task: &tokio::sync::Mutex<Task>, status: &str) {
    let kept = task.lock().await.end(End::Failed);
    if let Some(kept) = kept {
        kept.fail(&format!("the task was {status}")).await;
    }
}

/// A result of a task: the first is recorded, and other requests wait for that.
async fn seen(shared: Arc<Shared>, task: Arc<tokio::sync::Mutex<Task>>, result: Bytes) -> Bytes {
    let came: [u8; 32] = apart(result.len(), {
        let result = result.clone();
        move || Sha256::digest(&result).into()
    })
    .await;
    let mut task = task.lock().await;
    if let Some(kept) = task.end(End::Result(came)) {
        let shown = kept.finish(result.clone(), None).await;
        // Nothing is known of its members, so it is in one piece.
        return shown.over(&result);
    }
    let Task::Done(done) = &mut *task else {
        return result;
    };
    if done.end == End::Failed {
        // This may be why.
        let shared = shared.at(Arc::clone(&done.place));
        if let Some(replay) = done.replay.late_failure(&shared, &result).await {
            done.replay = replay;
            done.end = End::Result(came);
        }
    }
    let FinishedTask { replay, place, end } = FinishedTask::clone(done);
    drop(task);
    let shared = shared.at(place);
    let is_same = end == End::Result(came);
    replay.shown(&shared, result, is_same).await
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
