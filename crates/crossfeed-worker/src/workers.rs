//! Workers and their owners.

use crate::{
    error::WorkerError,
    message::{QueryAnswer, Reply, Request, TableOutline},
    options::WorkerOptions,
    process::Process,
    sandbox::Sandbox,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Workers, each for one owner. `S` is what the host keeps about what one has imported.
pub struct Workers<S> {
    shared: Arc<Shared<S>>,
}

struct Shared<S> {
    options: WorkerOptions,
    running: Arc<Semaphore>,
    idle: Mutex<Idle<S>>,
}

/// Those that nobody uses now.
struct Idle<S> {
    /// Those that wait for their owner, the longest first.
    owned: Vec<OwnedWorker<S>>,
    /// Those that have no owner yet.
    fresh: Vec<Process>,
    /// Whether something ends those that wait too long.
    is_swept: bool,
}

struct OwnedWorker<S> {
    owner: Arc<str>,
    process: Process,
    imported: HashMap<String, S>,
    since: Instant,
}

impl<S: Clone + Send + 'static> Workers<S> {
    /// None is started before [`warm_up`](Self::warm_up) or the first lease.
    pub fn new(options: WorkerOptions) -> Self {
        let places = options.running.clamp(1, Semaphore::MAX_PERMITS);
        let idle = Idle {
            owned: Vec::new(),
            fresh: Vec::new(),
            is_swept: false,
        };
        let shared = Shared {
            running: Arc::new(Semaphore::new(places)),
            options,
            idle: Mutex::new(idle),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Starts those that wait for the first who asks, and says how they are shut off.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`].
    pub async fn warm_up(&self) -> Result<Sandbox, WorkerError> {
        let process = Process::start(&self.shared.options).await?;
        let sandbox = process.sandbox;
        self.shared.add_fresh(process);
        self.fill();
        Ok(sandbox)
    }

    /// What the host keeps about the results that a waiting worker of an owner has.
    pub fn imported(&self, owner: &str) -> HashMap<String, S> {
        let idle = self.shared.idle.lock();
        let own = idle.owned.iter().rfind(|own| *own.owner == *owner);
        own.map_or_else(HashMap::new, |own| own.imported.clone())
    }

    /// A worker for an owner, with what the owner imported before, if it is still there. Waits while as many run as may.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`], and [`WorkerError::Busy`] where it does not come to its turn within the deadline.
    pub async fn lease(&self, owner: &str) -> Result<Lease<S>, WorkerError> {
        let permit = self.permit().await?;
        let own = self.shared.take_owned(owner);
        let (process, imported) = match own {
            Some(own) => (own.process, own.imported),
            None => (self.fresh().await?, HashMap::new()),
        };
        Ok(Lease {
            process,
            imported,
            owner: owner.into(),
            shared: Arc::clone(&self.shared),
            _permit: permit,
        })
    }

    /// A worker that has imported nothing yet; the one that waits for the owner ends.
    ///
    /// # Errors
    ///
    /// As those of [`lease`](Self::lease).
    pub async fn lease_fresh(&self, owner: &str) -> Result<Lease<S>, WorkerError> {
        self.forget(owner);
        self.lease(owner).await
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, WorkerError> {
        let waited = self.shared.options.deadline();
        let permit = Arc::clone(&self.shared.running).acquire_owned();
        let permit = tokio::time::timeout(waited, permit).await;
        permit
            .ok()
            .and_then(Result::ok)
            .ok_or(WorkerError::Busy { waited })
    }

    async fn fresh(&self) -> Result<Process, WorkerError> {
        let ready = loop {
            let process = self.shared.idle.lock().fresh.pop();
            match process.map(|mut process| process.is_ready().then_some(process)) {
                // It ended while nobody used it.
                Some(None) => {}
                Some(Some(process)) => break Some(process),
                None => break None,
            }
        };
        self.fill();
        match ready {
            Some(process) => Ok(process),
            None => Process::start(&self.shared.options).await,
        }
    }

    /// Starts those that are missing for the next owners, beside what goes on.
    fn fill(&self) {
        let has = self.shared.idle.lock().fresh.len();
        for _ in has..self.shared.options.warm {
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move {
                match Process::start(&shared.options).await {
                    Ok(process) => shared.add_fresh(process),
                    Err(error) => {
                        tracing::warn!(target: "crossfeed::worker", %error, "cannot start a worker");
                    }
                }
            });
        }
    }

    /// Ends the worker that waits for an owner, and with it what it imported.
    pub fn forget(&self, owner: &str) {
        let mut idle = self.shared.idle.lock();
        idle.owned.retain(|own| *own.owner != *owner);
    }
}

impl<S> Shared<S> {
    fn add_fresh(&self, process: Process) {
        let mut idle = self.idle.lock();
        if idle.fresh.len() < self.options.warm {
            idle.fresh.push(process);
        }
    }

    fn take_owned(&self, owner: &str) -> Option<OwnedWorker<S>> {
        let mut idle = self.idle.lock();
        let place = idle.owned.iter().rposition(|own| *own.owner == *owner)?;
        let mut own = idle.owned.remove(place);
        own.process.is_ready().then_some(own)
    }
}

/// A worker that one owner has for now. It ends with this, unless it is [kept](Self::keep).
pub struct Lease<S> {
    process: Process,
    imported: HashMap<String, S>,
    owner: Arc<str>,
    shared: Arc<Shared<S>>,
    _permit: OwnedSemaphorePermit,
}

impl<S: Send + 'static> Lease<S> {
    /// What the host keeps about a result that was imported; `None` where it was not.
    pub fn imported(&self, name: &str) -> Option<&S> {
        self.imported.get(name)
    }

    /// Imports a result, given as JSON, as [`Database::import`](crossfeed_sql::Database::import) does, and describes its
    /// tables.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any but [`WorkerError::Query`] the worker is to be dropped.
    pub async fn import_with(
        &mut self,
        name: &str,
        json: impl AsRef<[u8]>,
        about: S,
    ) -> Result<TableOutline, WorkerError> {
        let request = Request::Import {
            name: name.to_owned(),
        };
        match self.ask(&request, json.as_ref()).await? {
            (Reply::Outlined(outlined), _) => {
                self.imported.insert(name.to_owned(), about);
                Ok(outlined)
            }
            _ => Err(WorkerError::Ended),
        }
    }

    /// Answers a `SELECT` statement about all that was imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any but [`WorkerError::Query`] the worker is to be dropped.
    pub async fn query(&mut self, sql: &str) -> Result<QueryAnswer, WorkerError> {
        self.queried(sql, None).await
    }

    /// The same about some results only: to the statement, there are no others.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any but [`WorkerError::Query`] the worker is to be dropped.
    pub async fn query_within(
        &mut self,
        sql: &str,
        results: &[&str],
    ) -> Result<QueryAnswer, WorkerError> {
        self.queried(sql, Some(results)).await
    }

    async fn queried(
        &mut self,
        sql: &str,
        results: Option<&[&str]>,
    ) -> Result<QueryAnswer, WorkerError> {
        let results = results.map(owned);
        match self
            .ask(&Request::Query { results }, sql.as_bytes())
            .await?
        {
            (Reply::Rows { rows, is_cut }, json) => Ok(QueryAnswer { json, rows, is_cut }),
            _ => Err(WorkerError::Ended),
        }
    }

    /// Describes the tables of some of the results that were imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any of them the worker is to be dropped.
    pub async fn outline(&mut self, results: &[&str]) -> Result<TableOutline, WorkerError> {
        self.outlined(Some(results)).await
    }

    /// Describes the tables of all results that were imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any of them the worker is to be dropped.
    pub async fn outline_all(&mut self) -> Result<TableOutline, WorkerError> {
        self.outlined(None).await
    }

    async fn outlined(&mut self, results: Option<&[&str]>) -> Result<TableOutline, WorkerError> {
        let results = results.map(owned);
        match self.ask(&Request::Outline { results }, b"").await? {
            (Reply::Outlined(outline), _) => Ok(outline),
            _ => Err(WorkerError::Ended),
        }
    }

    async fn ask(
        &mut self,
        request: &Request,
        behind: &[u8],
    ) -> Result<(Reply, Bytes), WorkerError> {
        let limit = self.shared.options.deadline();
        self.process.ask(request, behind, limit).await
    }

    /// Keeps the worker for its owner, for a time; not one that still owes an answer. Of several of one owner the last is
    /// kept, and of too many the latest ones.
    pub fn keep(mut self) {
        let options = &self.shared.options;
        if options.kept == 0 || !self.process.is_ready() {
            return;
        }
        let own = OwnedWorker {
            owner: self.owner,
            process: self.process,
            imported: self.imported,
            since: Instant::now(),
        };
        let mut idle = self.shared.idle.lock();
        idle.owned.retain(|other| other.owner != own.owner);
        while idle.owned.len() >= options.kept {
            idle.owned.remove(0);
        }
        idle.owned.push(own);
        if !std::mem::replace(&mut idle.is_swept, true) {
            sweep(&self.shared);
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Lease<()> {
    /// [`import_with`](Self::import_with) for a host that keeps nothing about it.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any but [`WorkerError::Query`] the worker is to be dropped.
    pub async fn import(
        &mut self,
        name: &str,
        json: impl AsRef<[u8]>,
    ) -> Result<TableOutline, WorkerError> {
        self.import_with(name, json, ()).await
    }
}

/// Ends the workers that wait longer than they may, while any wait.
fn sweep<S: Send + 'static>(shared: &Arc<Shared<S>>) {
    let idle = shared.options.idle;
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(idle / 2).await;
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let mut waiting = shared.idle.lock();
            waiting.owned.retain(|own| own.since.elapsed() < idle);
            if waiting.owned.is_empty() {
                waiting.is_swept = false;
                return;
            }
        }
    });
}
