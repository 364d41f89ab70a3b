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
    message::{BodyMember, Message, Param, RpcError},
    principal::Principal,
    protocol::{code, meta, method},
    records::task::{BegunTask, ID, TaskRecord, TaskRecords, time_of},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use crossfeed_store::{StoreError, with_causes};
use futures_util::{StreamExt as _, stream};
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::json;
use std::{borrow::Cow, collections::HashMap, num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Tasks of one principal at one server; beyond, the least recently used one is forgotten.
const TASKS: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

/// Tasks of one list, or of one subscription, that are looked up in the store: the rest counts as that of others.
const MAX_LOOKUPS: usize = 1024;
/// How many of them at once.
const PARALLEL_LOOKUPS: usize = 32;

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
    /// What other processes over the same store know of them, too.
    shared: Option<SharedTasks>,
}

struct SharedTasks {
    records: TaskRecords,
    /// The names of the servers, by their places.
    servers: Vec<String>,
    /// When the store failed to answer a server's notification or list, behind which others of the server wait.
    failed: Mutex<Option<Instant>>,
}

/// How long such notifications and lists do without a store that failed to answer one.
const AWAY_TIME: Duration = Duration::from_secs(1);

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
    /// Those of a principal; with `records`, of all processes. They stand there by the names of `servers`.
    pub(super) fn new(
        principal: &Principal,
        records: Option<TaskRecords>,
        servers: impl Iterator<Item = String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::default(),
            fingerprints: Fingerprints::default(),
            has_all: *principal == Principal::Local,
            shared: records.map(|records| SharedTasks {
                records,
                servers: servers.collect(),
                failed: Mutex::default(),
            }),
        })
    }

    /// A server began a task: from here on, any process knows.
    async fn begin(&self, server: usize, task: &BegunTask) -> Result<(), StoreError> {
        self.begun(server, &task.id);
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let name = shared.servers.get(server).map_or("", String::as_str);
        let time = time_of(task.ttl);
        let begun = shared.records.begin(&task.id, name, time).await?;
        self.merge(shared, &task.id, &begun);
        Ok(())
    }

    /// Learns what other processes know of tasks.
    async fn look_up(&self, tasks: impl Iterator<Item = &str>) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let tasks: Vec<String> = tasks.take(MAX_LOOKUPS).map(str::to_owned).collect();
        let found = tasks.into_iter().map(|task| async move {
            if let Some(record) = shared.records.find(&task).await? {
                self.merge(shared, &task, &record);
            }
            Ok(())
        });
        let mut found = stream::iter(found).buffer_unordered(PARALLEL_LOOKUPS);
        while let Some(found) = found.next().await {
            found?;
        }
        Ok(())
    }

    fn merge(&self, shared: &SharedTasks, task: &str, record: &TaskRecord) {
        let servers = shared.servers.iter().enumerate();
        let servers = servers.filter(|(_, name)| record.servers.contains(*name));
        for (server, _) in servers {
            self.begun(server, task);
            // The other may be one that this process has not.
            if record.servers.len() > 1 {
                self.contest(server, task);
            }
        }
    }

    fn contest(&self, server: usize, task: &str) {
        let task = self.fingerprints.get(task);
        let mut known = self.known.lock();
        let claim = known.get_mut(&server).and_then(|own| own.peek_mut(&task));
        if let Some(claim) = claim {
            *claim = TaskClaim::Contested;
        }
    }

    /// The owner as all processes know it. With one server, no other can have a task that is known.
    async fn owner_anywhere(&self, task: &str, is_sole: bool) -> Result<Owner, StoreError> {
        match self.owner(task) {
            owner if self.has_all && is_sole => return Ok(owner),
            Owner::Ambiguous => return Ok(Owner::Ambiguous),
            Owner::One(server) if is_sole => return Ok(Owner::One(server)),
            Owner::One(_) | Owner::Unknown => {}
        }
        self.look_up([task].into_iter()).await?;
        Ok(self.owner(task))
    }

    /// Learns of tasks what is needed to say whether they are at a server. Where the store does not answer, they count as
    /// those of others.
    pub(super) async fn learn_of(&self, server: usize, tasks: &[String], is_sole: bool) {
        let is_open = |task: &&String| match self.owner(task) {
            Owner::Ambiguous => false,
            Owner::One(owner) => owner == server && !is_sole,
            Owner::Unknown => !self.has_all,
        };
        let open = tasks.iter().filter(is_open).map(String::as_str);
        self.look_up_if_there(open).await;
    }

    /// The same as [`look_up`](Self::look_up), but where the store does not answer nothing is learned.
    async fn look_up_if_there(&self, tasks: impl Iterator<Item = &str>) {
        let Some(shared) = &self.shared else {
            return;
        };
        let failed = *shared.failed.lock();
        if failed.is_some_and(|failed| failed.elapsed() < AWAY_TIME) {
            return;
        }
        let looked_up = self.look_up(tasks).await;
        *shared.failed.lock() = looked_up.as_ref().err().map(|_| Instant::now());
        if let Err(error) = looked_up {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot look up tasks: those that are not known here count as those of others");
        }
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

    /// Learns of the tasks on a server's page which are the principal's.
    pub(super) async fn learn_page(&self, server: usize, result: &Bytes) {
        if self.has_all || self.shared.is_none() {
            return;
        }
        let tasks = read_apart(result, |result| {
            let document = Document::new(result.clone());
            let list = document.root().ok().and_then(|root| root.get("tasks"));
            let items = list.into_iter().flat_map(|list| list.items());
            let ids = items.filter_map(|item| Some(item.get(ID)?.as_str()?.into_owned()));
            ids.collect::<Vec<String>>()
        });
        let tasks = tasks.await;
        let unknown = tasks.iter().filter(|task| !self.has(server, task));
        self.look_up_if_there(unknown.map(String::as_str)).await;
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
fn begun_by(result: &Bytes) -> Option<BegunTask> {
    if !members::may_hold(result, ID) {
        return None;
    }
    BegunTask::of(Document::new(result.clone()).root().ok()?)
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
            // It runs, whether others know or not.
            if let Err(error) = self.tasks.begin(link.server, &task).await {
                tracing::warn!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    error = with_causes(&error),
                    "cannot record a task: other processes do not know it"
                );
            }
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
        let Some(task) = task.await else {
            return self.tasks.has_all;
        };
        let tasks = &self.tasks;
        // What is known here goes on without the store: all other messages of the server wait behind it.
        tasks
            .learn_of(link.server, std::slice::from_ref(&task), true)
            .await;
        tasks.is_at(link.server, &task, true)
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
        let meta = message.param(Param::Meta);
        let has_result = is_cancel || matches!(method, method::GET_TASK | method::TASK_RESULT);
        let params = message.params().unwrap_or_default();
        let task = read_apart(&params, named).await;
        let tasks = &self.client.tasks;
        let is_sole = self.side.only().is_some();
        let owner = match &task {
            Some(task) => {
                let owner = tasks.owner_anywhere(task, is_sole).await;
                Some(owner.map_err(|error| not_looked_up(&error))?)
            }
            None => None,
        };
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
        let (tools, server) = (&self.side.tools, link.server);
        if is_cancel {
            tools.task_cancelled(server, &task, &result).await;
            return Ok(Some(result));
        }
        let meta = meta.as_ref();
        // What fails is told by the next call.
        let listed = async {
            if let Ok(reader) = tools.reader(meta) {
                drop(self.list_for_calls(meta, &reader).await);
            }
        };
        let adopted = tools.adopt_task((server, &task), &result, meta, listed);
        adopted.await;
        Ok(Some(tools.task_result(server, &task, result).await))
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
        tasks.learn_page(server, &result).await;
        let own = read_apart(&result, move |result| tasks.list(server, result.clone()));
        Ok(Some(own.await))
    }
}

/// It is not known whose a task is.
fn not_looked_up(error: &StoreError) -> RpcError {
    tracing::warn!(target: "crossfeed::gateway", error = with_causes(error), "cannot look up a task");
    let message = format!("cannot look up the owner of the task: {error}; send the request again");
    RpcError::new(code::INTERNAL, message).with_data(json!({"code": error.code().as_str()}))
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
