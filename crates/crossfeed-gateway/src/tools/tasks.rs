//! Calls that run as tasks.
//!
//! What comes in: the id of a task, and what a server says of it. What goes out: the same, with the
//! task's result as the client is to see it. The call is in flight until then: references to it wait.

use super::{
    client::Shared,
    result::{Again, Kept},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use sha2::{Digest as _, Sha256};
use std::{
    mem,
    num::NonZeroUsize,
    sync::{Arc, PoisonError},
};
use tokio::sync::Mutex;

/// Tasks of one client that are known, at most: beyond, the oldest are forgotten. Far fewer than calls
/// may be in flight, so that tasks that nobody ends leave room for calls.
pub(super) const REMEMBERED: NonZeroUsize = match NonZeroUsize::new(64) {
    Some(tasks) => tasks,
    None => NonZeroUsize::MIN,
};

/// A call that runs as a task. Who asks while its result is recorded waits for that.
pub(super) type Task = Arc<Mutex<State>>;

pub(super) enum State {
    Running(Box<Kept>),
    /// It has a result, which may be asked for again.
    Done(Box<Done>),
    /// It failed, or was cancelled.
    Gone,
}

/// The result of a task, by its digest.
pub(super) struct Done {
    came: [u8; 32],
    again: Again,
}

/// What of an answer about a task is a tool's result.
enum Holds {
    All,
    Member,
    /// The task failed or was cancelled.
    Nothing(String),
    /// It runs on.
    NotYet,
}

impl Shared {
    /// Keeps a call in flight until its task has a result.
    pub(super) fn remember_task(&self, task: String, kept: Kept) {
        let key = (kept.offered.server, task);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.put(
            key,
            Arc::new(Mutex::new(State::Running(Box::new(kept.slim())))),
        );
    }
}

/// A task's result as the client is to see it.
pub(super) async fn result(
    shared: &Arc<Shared>,
    server: usize,
    task_id: &str,
    said: Bytes,
) -> Bytes {
    let document = Document::new(said.clone());
    let Ok(root) = document.root() else {
        return said;
    };
    let (holds, inner) = match holds(root) {
        Holds::All => (Holds::All, said.clone()),
        Holds::Member => match root.get("result") {
            Some(inner) => (Holds::Member, inner.shared()),
            None => return said,
        },
        other => (other, Bytes::new()),
    };
    let failed = match &holds {
        Holds::NotYet => return said,
        Holds::Nothing(status) => Some(format!("the task was {status}")),
        Holds::All | Holds::Member => None,
    };
    let task = {
        let key = (server, task_id.to_owned());
        let mut tasks = shared.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.get(&key).cloned()
    };
    let Some(task) = task else {
        return said;
    };
    // Apart: a client that asks no more does not keep a result from being recorded.
    let ended = tokio::spawn(ended(Arc::clone(shared), task, failed, inner));
    let Some(shown) = ended.await.ok().flatten() else {
        return said;
    };
    match root.get("result").filter(|_| !is_result(root)) {
        Some(inner) => {
            let mut edits = Edits::new(document.raw());
            edits.replace(inner, shown.to_vec());
            edits.done().into_owned().into()
        }
        None => shown,
    }
}

/// Ends a task, and gives its result as it is shown, if it has one.
async fn ended(
    shared: Arc<Shared>,
    task: Task,
    failed: Option<String>,
    inner: Bytes,
) -> Option<Bytes> {
    let mut state = task.lock().await;
    match (mem::replace(&mut *state, State::Gone), failed) {
        (State::Running(kept), Some(why)) => {
            kept.fail(&why).await;
            None
        }
        (State::Running(kept), None) => {
            let came = Sha256::digest(&inner).into();
            let again = kept.again();
            let shown = kept.finish(inner).await;
            *state = State::Done(Box::new(Done { came, again }));
            Some(shown)
        }
        (State::Done(done), failed) => {
            let shown = match failed {
                Some(_) => None,
                None => {
                    let came: [u8; 32] = Sha256::digest(&inner).into();
                    let is_same = came == done.came;
                    Some(done.again.shown(&shared, inner, is_same).await)
                }
            };
            *state = State::Done(done);
            shown
        }
        (State::Gone, _) => None,
    }
}

fn is_result(root: Cursor<'_>) -> bool {
    ["content", "structuredContent", "isError"]
        .iter()
        .any(|key| root.get(key).is_some())
}

fn holds(root: Cursor<'_>) -> Holds {
    if is_result(root) {
        return Holds::All;
    }
    let status = root.get("status").and_then(Cursor::as_str);
    let is_object = |value: &Cursor<'_>| value.kind() == Kind::Object;
    match status.as_deref() {
        Some(status @ ("failed" | "cancelled")) => Holds::Nothing(status.to_owned()),
        // Also with nothing in it.
        Some("completed") if root.get("result").is_some_and(|own| is_object(&own)) => Holds::Member,
        _ if root.get("result").filter(is_object).is_some_and(is_result) => Holds::Member,
        _ => Holds::NotYet,
    }
}
