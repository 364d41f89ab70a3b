//! Workers and their owners.

use crate::{
    error::WorkerError,
    message::{Outlined, QueryAnswer, Reply, Request},
    options::WorkerOptions,
    process::Process,
    sandbox::Sandbox,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Workers, each for one owner. `S` is what the host keeps about what one has imported.
pub struct Workers<S> {
    shared: Arc<Shared<S>>,
}

impl<S> Clone for Workers<S> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

struct Shared<S> {
    options: WorkerOptions,
    running: Arc<Semaphore>,
    /// Those that wait for their owner, the longest first.
    kept: Mutex<Vec<Kept<S>>>,
    /// Those that nobody has asked yet.
    fresh: Mutex<Vec<Process>>,
}

struct Kept<S> {
    owner: Arc<str>,
    process: Process,
    imported: HashMap<String, S>,
    since: Instant,
}

impl<S: Send + 'static> Workers<S> {
    /// None is started before [`warm_up`](Self::warm_up) or the first lease.
    pub fn new(options: WorkerOptions) -> Self {
        let shared = Shared {
            running: Arc::new(Semaphore::new(
                options.running.clamp(1, Semaphore::MAX_PERMITS),
            )),
            options,
            kept: Mutex::default(),
            fresh: Mutex::default(),
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
        if self.shared.options.warm > 0 {
            self.shared.fresh.lock().push(process);
        }
        Ok(sandbox)
    }

    /// A worker for an owner, with what the owner imported before, if it is still there. Waits while as many run as may.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Start`], also where it does not come to its turn within the deadline.
    pub async fn lease(&self, owner: &str) -> Result<Lease<S>, WorkerError> {
        let shared = &self.shared;
        let limit = shared.options.deadline;
        let permit = tokio::time::timeout(limit, Arc::clone(&shared.running).acquire_owned()).await;
        let permit = permit
            .ok()
            .and_then(Result::ok)
            .ok_or(WorkerError::Time { limit })?;
        let kept = {
            let mut kept = shared.kept.lock();
            let place = kept.iter().rposition(|kept| *kept.owner == *owner);
            place.map(|place| kept.remove(place))
        };
        let (process, imported) = match kept {
            Some(kept) => (kept.process, kept.imported),
            None => {
                let fresh = shared.fresh.lock().pop();
                let process = match fresh {
                    Some(process) => process,
                    None => Process::start(&shared.options).await?,
                };
                self.replace_fresh();
                (process, HashMap::new())
            }
        };
        Ok(Lease {
            process,
            imported,
            owner: owner.into(),
            shared: Arc::clone(shared),
            _permit: permit,
        })
    }

    /// Starts one for the next owner, beside what goes on.
    fn replace_fresh(&self) {
        let shared = Arc::clone(&self.shared);
        if shared.fresh.lock().len() >= shared.options.warm {
            return;
        }
        tokio::spawn(async move {
            match Process::start(&shared.options).await {
                Ok(process) => {
                    let mut fresh = shared.fresh.lock();
                    if fresh.len() < shared.options.warm {
                        fresh.push(process);
                    }
                }
                Err(error) => {
                    tracing::warn!(target: "crossfeed::worker", %error, "cannot start a worker");
                }
            }
        });
    }

    /// Ends the worker of an owner, and forgets what it imported.
    pub fn forget(&self, owner: &str) {
        self.shared.kept.lock().retain(|kept| *kept.owner != *owner);
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
    ) -> Result<Outlined, WorkerError> {
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

    /// Answers a `SELECT` statement about what was imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any but [`WorkerError::Query`] the worker is to be dropped.
    pub async fn query(&mut self, sql: &str) -> Result<QueryAnswer, WorkerError> {
        match self.ask(&Request::Query, sql.as_bytes()).await? {
            (Reply::Rows { rows, is_cut }, json) => Ok(QueryAnswer { json, rows, is_cut }),
            _ => Err(WorkerError::Ended),
        }
    }

    /// Describes the tables of results that were imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any of them the worker is to be dropped.
    pub async fn outline(&mut self, names: &[&str]) -> Result<Outlined, WorkerError> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        match self.ask(&Request::Outline { names }, b"").await? {
            (Reply::Outlined(outlined), _) => Ok(outlined),
            _ => Err(WorkerError::Ended),
        }
    }

    /// Describes the tables of all results that were imported.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; after any of them the worker is to be dropped.
    pub async fn describe(&mut self) -> Result<Outlined, WorkerError> {
        let names: Vec<String> = self.imported.keys().cloned().collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.outline(&names).await
    }

    async fn ask(
        &mut self,
        request: &Request,
        behind: &[u8],
    ) -> Result<(Reply, bytes::Bytes), WorkerError> {
        self.process
            .ask(request, behind, self.shared.options.deadline)
            .await
    }

    /// Keeps the worker for its owner, for a time. Of several of one owner the last is kept, and of too many the
    /// latest ones.
    pub fn keep(self) {
        let options = &self.shared.options;
        if options.kept == 0 {
            return;
        }
        let since = Instant::now();
        {
            let mut kept = self.shared.kept.lock();
            kept.retain(|kept| kept.owner != self.owner);
            while kept.len() >= options.kept {
                kept.remove(0);
            }
            let (owner, process, imported) = (self.owner, self.process, self.imported);
            kept.push(Kept {
                owner,
                process,
                imported,
                since,
            });
        }
        end_idle(Arc::clone(&self.shared), options.idle);
    }
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
    ) -> Result<Outlined, WorkerError> {
        self.import_with(name, json, ()).await
    }
}

/// Ends the workers that wait longer than they may, once that time has gone.
fn end_idle<S: Send + 'static>(shared: Arc<Shared<S>>, idle: Duration) {
    let shared = Arc::downgrade(&shared);
    tokio::spawn(async move {
        tokio::time::sleep(idle).await;
        if let Some(shared) = shared.upgrade() {
            shared
                .kept
                .lock()
                .retain(|kept| kept.since.elapsed() < idle);
        }
    });
}
