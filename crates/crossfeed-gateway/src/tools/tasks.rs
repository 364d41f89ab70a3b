//! Calls that run as tasks.
//!
//! What comes in: the id of a task, and what a server says of it. What goes out: the same, with the
//! task's result as the client is to see it. The call is in flight until then: references to it wait.

use super::{client::Shared, result::Kept};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, PoisonError};

/// A call that runs as a task.
pub(super) enum Task {
    Running(Box<Kept>),
    /// It has a result, which may be asked for again.
    Done(Done),
}

/// The result of a task, by its digest, and as it is shown if that is not long.
#[derive(Clone)]
pub(super) struct Done {
    came: [u8; 32],
    shown: Option<Bytes>,
}

/// Bytes of a shown result that are kept for who asks again: beyond, it is passed on as it came.
const KEPT: usize = 64 << 10;

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
        tasks.put(key, Task::Running(Box::new(kept)));
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
    let key = (server, task_id.to_owned());
    let tasks = || shared.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let task = match holds {
        Holds::NotYet => return said,
        _ => tasks().pop(&key),
    };
    let shown = match (task, holds) {
        (None, _) => return said,
        (Some(Task::Running(kept)), Holds::Nothing(status)) => {
            kept.fail(&format!("the task was {status}")).await;
            return said;
        }
        (Some(done @ Task::Done(_)), Holds::Nothing(_)) => {
            tasks().put(key, done);
            return said;
        }
        (Some(Task::Running(kept)), _) => {
            let came = Sha256::digest(&inner).into();
            let shown = kept.finish(inner).await;
            let kept = Some(shown.clone()).filter(|shown| shown.len() <= KEPT);
            tasks().put(key, Task::Done(Done { came, shown: kept }));
            shown
        }
        (Some(Task::Done(done)), _) => {
            tasks().put(key, Task::Done(done.clone()));
            let came: [u8; 32] = Sha256::digest(&inner).into();
            done.shown.filter(|_| came == done.came).unwrap_or(inner)
        }
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
        _ if root.get("result").filter(is_object).is_some_and(is_result) => Holds::Member,
        _ => Holds::NotYet,
    }
}
