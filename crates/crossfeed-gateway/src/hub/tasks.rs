//! Which server a task belongs to, and requests that name one: only the server whose task it is gets a request, and only
//! if the client's principal began it, whatever ids other servers use and when.

use super::{
    Client,
    calls::{Done, Request},
    connection::ServerConnection,
    owners::{Fingerprint, Fingerprints},
    route::unknown_method,
};
use crate::{
    apart::read_apart,
    config::UnlistedPolicy,
    members,
    message::{BodyMember, Message, RpcError},
    principal::Principal,
    protocol::{code, meta, method},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::json;
use std::{borrow::Cow, collections::HashMap, num::NonZeroUsize, sync::Arc};

/// Tasks of one principal at one server; beyond, the least recently used one is forgotten.
const TASKS: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

const ID: &str = "taskId";

fn declares_tasks(params: &Bytes) -> bool {
    let path = [
        "_meta",
        meta::CLIENT_CAPABILITIES,
        "extensions",
        meta::TASKS,
    ];
    members::get(params, &path).is_some()
}

/// The tasks of one principal.
pub(super) struct Tasks {
    known: Mutex<HashMap<usize, LruCache<Fingerprint, TaskClaim>>>,
    fingerprints: Fingerprints,
    /// The principal is the only one of this process: every task is its own.
    has_all: bool,
}

/// How a server claims a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskClaim {
    /// The server lists it.
    Listed,
    /// The server began it for the principal, or was the first to answer when all were asked about it.
    Began,
    /// Another server began a task of this id, too.
    Contested,
}

/// The server of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Unknown,
    One(usize),
    /// Several servers have a task of this id.
    Ambiguous,
}

impl Tasks {
    pub(super) fn new(principal: &Principal) -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::default(),
            fingerprints: Fingerprints::default(),
            has_all: *principal == Principal::Local,
        })
    }

    /// A server began a task. If another began one of the same id, requests about it are refused.
    fn begun(&self, server: usize, task: &str) {
        let task = self.fingerprints.get(task);
        let mut known = self.known.lock();
        let mut claim = TaskClaim::Began;
        for (_, tasks) in known.iter_mut().filter(|(other, _)| **other != server) {
            // Peeked at, which does not count as use.
            if let Some(of_other) = tasks.peek_mut(&task)
                && *of_other != TaskClaim::Listed
            {
                *of_other = TaskClaim::Contested;
                claim = TaskClaim::Contested;
            }
        }
        let own = known.entry(server).or_insert_with(no_tasks);
        if own.get(&task) != Some(&TaskClaim::Contested) {
            own.put(task, claim);
        }
    }

    /// A server lists a task.
    fn listed(&self, server: usize, task: &str) {
        let task = self.fingerprints.get(task);
        let mut known = self.known.lock();
        let own = known.entry(server).or_insert_with(no_tasks);
        own.get_or_insert(task, || TaskClaim::Listed);
    }

    /// The server that began a task; else the only server that lists it.
    fn owner(&self, task: &str) -> Owner {
        let task = self.fingerprints.get(task);
        let mut known = self.known.lock();
        let mut owner = Owner::Unknown;
        let mut is_begun = false;
        for (server, tasks) in known.iter_mut() {
            let Some(claim) = tasks.get(&task).copied() else {
                continue;
            };
            let begun = claim != TaskClaim::Listed;
            owner = match owner {
                _ if claim == TaskClaim::Contested => return Owner::Ambiguous,
                Owner::Unknown => Owner::One(*server),
                _ if begun && !is_begun => Owner::One(*server),
                _ if is_begun && !begun => owner,
                _ => Owner::Ambiguous,
            };
            is_begun |= begun;
        }
        owner
    }

    /// Whether a task is at a server; one of an unknown server is if `asks_all` and all tasks are the principal's own.
    pub(super) fn is_at(&self, server: usize, task: &str, asks_all: bool) -> bool {
        match self.owner(task) {
            Owner::Unknown => self.has_all && asks_all,
            owner => owner == Owner::One(server),
        }
    }

    /// A server's page of tasks without those of other principals.
    pub(super) fn list(&self, server: usize, result: Bytes) -> Bytes {
        let document = Document::new(result.clone());
        let list = document.root().ok().and_then(|root| root.get("tasks"));
        let Some(list) = list.filter(|list| list.kind() == Kind::Array) else {
            return result;
        };
        let id = |item: Cursor<'_>| Some(item.get(ID)?.as_str()?.into_owned());
        if self.has_all {
            for task in list.items().filter_map(id) {
                self.listed(server, &task);
            }
            return result;
        }
        let is_own = |item: &Cursor<'_>| id(*item).is_some_and(|task| self.has(server, &task));
        let own: Vec<_> = list.items().filter(is_own).map(|item| item.raw()).collect();
        if Some(own.len()) == list.len() {
            return result;
        }
        let mut edits = Edits::new(document.raw());
        let own = own.join(&b","[..]);
        edits.replace(list, [&b"["[..], &own, b"]"].concat());
        match edits.done() {
            Cow::Borrowed(_) => result,
            Cow::Owned(bytes) => bytes.into(),
        }
    }

    /// Whether a server has a task of this id of the principal.
    fn has(&self, server: usize, task: &str) -> bool {
        let task = self.fingerprints.get(task);
        let known = self.known.lock();
        known
            .get(&server)
            .is_some_and(|tasks| tasks.contains(&task))
    }
}

/// An empty cache, which takes memory only as tasks come.
fn no_tasks() -> LruCache<Fingerprint, TaskClaim> {
    let mut tasks = LruCache::unbounded();
    tasks.resize(TASKS);
    tasks
}

/// The task that parameters name; none if a server could read another there.
fn named(params: &Bytes) -> Option<String> {
    let document = Document::new(params.clone());
    let root = document.root().ok()?;
    let keys = root.written_members().map(|member| member.key.text());
    let alike = keys.filter(|key| key.eq_ignore_ascii_case(ID));
    (alike.count() == 1).then(|| Some(root.get(ID)?.as_str()?.into_owned()))?
}

/// The task that a result stands for. Most results stand for none, and are not indexed.
fn begun_by(result: &Bytes) -> Option<String> {
    if !members::may_hold(result, ID) {
        return None;
    }
    let document = Document::new(result.clone());
    let text = |path: &[&str]| Some(members::at(&document, path)?.as_str()?.into_owned());
    text(&["task", ID]).or_else(|| {
        let is_task = text(&["resultType"]).as_deref() == Some("task");
        is_task.then(|| text(&[ID]))?
    })
}

impl Client {
    /// Remembers the task that the result of a request stands for.
    pub(in crate::hub) async fn learn(
        &self,
        link: &ServerConnection,
        serial: u64,
        message: &Message,
    ) {
        let names_task = |member: &BodyMember| matches!(member.key, "task" | ID);
        let members = message.result_members();
        if members.is_some_and(|members| !members.iter().any(names_task)) {
            return;
        }
        let json = message.result().unwrap_or_default();
        if let Some(task) = read_apart(&json, begun_by).await {
            self.tasks.begun(link.server, &task);
            self.goes_on(serial);
        }
    }

    /// Whether a notification of a server is for the client: those about the tasks of others are not.
    pub(in crate::hub) async fn may_hear(
        &self,
        link: &ServerConnection,
        message: &Message,
    ) -> bool {
        let method = message.method().unwrap_or_default();
        if !method.starts_with(method::TASK_CHANGED) {
            return true;
        }
        let params = message.params().unwrap_or_default();
        let task = read_apart(&params, |params| members::get_text(params, &[ID]));
        task.await.map_or(self.tasks.has_all, |task| {
            self.tasks.is_at(link.server, &task, true)
        })
    }
}

impl Request {
    /// Sends a request about a task to its server.
    pub(super) async fn task(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        if method == method::LIST_TASKS {
            return self.tasks(message).await;
        }
        let is_cancel = method == method::CANCEL_TASK;
        let has_result = is_cancel || matches!(method, method::GET_TASK | method::TASK_RESULT);
        let params = message.params().unwrap_or_default();
        let task = read_apart(&params, named).await;
        let tasks = &self.client.tasks;
        let owner = task.as_deref().map(|task| tasks.owner(task));
        let link = match owner {
            Some(Owner::Ambiguous) => {
                let error = "ambiguous task: several servers have a task of this id";
                return Err(RpcError::new(code::INVALID_PARAMS, error).into());
            }
            Some(Owner::One(server)) => self.side.link(server),
            _ => None,
        };
        let link = link.or_else(|| self.side.only().filter(|_| tasks.has_all));
        let asks_all = self.client.gateway.config().unlisted == UnlistedPolicy::AskAll;
        let (link, answer) = match link.cloned() {
            Some(link) if has_result => {
                let answer = link.pass(Some(self.serial), message).await.await;
                (link, answer)
            }
            Some(link) => return self.forward(&link, message).await,
            None if tasks.has_all && asks_all => self.first_that_knows(message).await?,
            None => return Err(self.unknown_task(method, &params).into()),
        };
        let result = answer?;
        let Some(task) = task.filter(|_| has_result) else {
            return Ok(Some(result));
        };
        if owner == Some(Owner::Unknown) {
            tasks.begun(link.server, &task);
        }
        let tools = &self.side.tools;
        if is_cancel {
            tools.task_cancelled(link.server, &task, &result).await;
            return Ok(Some(result));
        }
        Ok(Some(tools.task_result(link.server, &task, result).await))
    }

    fn unknown_task(&self, method: &str, params: &Bytes) -> RpcError {
        let is_stateless = self.side.revision.is_stateless();
        if is_stateless && method == method::TASK_RESULT {
            RpcError::new(code::METHOD_NOT_FOUND, "this revision has no such method")
        } else if is_stateless && !declares_tasks(params) {
            let error = "the request does not declare tasks";
            RpcError::new(code::MISSING_CAPABILITY, error)
                .with_data(json!({"requiredCapabilities": {"extensions": {(meta::TASKS): {}}}}))
        } else {
            RpcError::new(code::INVALID_PARAMS, "unknown task")
        }
    }

    /// `tasks/list`: the tasks that the principal began, of each server.
    async fn tasks(self, message: Message) -> Done {
        let Some(link) = self.side.only() else {
            // The era without sessions has no such list.
            if self.side.revision.is_stateless() {
                return Err(unknown_method());
            }
            return self.join(message).await;
        };
        let result = link.pass(Some(self.serial), message).await.await?;
        let (tasks, server) = (Arc::clone(&self.client.tasks), link.server);
        let own = read_apart(&result, move |result| tasks.list(server, result.clone()));
        Ok(Some(own.await))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_once() {
        let check = |params: &str, expected: Option<&str>| {
            assert_eq!(
                named(&params.to_owned().into()).as_deref(),
                expected,
                "{params}"
            );
        };
        check(r#"{"taskId":"a","x":1}"#, Some("a"));
        check(r#"{"task\u0049d":"a"}"#, Some("a"));
        for params in [
            r#"{"taskId":"a","taskId":"b"}"#,
            r#"{"taskId":"a","TASKID":"b"}"#,
            r#"{"taskId":1}"#,
            r#"{"TaskId":"a"}"#,
            "{}",
            "",
        ] {
            check(params, None);
        }
    }
}
