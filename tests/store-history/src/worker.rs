//! One process among several: does random things to the store, and writes down what, and what came of it.

use crate::{
    content,
    event::{Action, Event, Moment, Operation, Outcome, now},
    open::{self, Backend},
};
use crossfeed_history::Seed;
use crossfeed_json::Document;
use crossfeed_store::{
    Acquired, ArtifactLookup, ArtifactMissing, LeaseOwner, Leased, Lookup, Missing, Recorded,
    ResultKind, ResultStore, StoreError, StoredArtifact, StoredResult, Tombstone,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::sleep;

/// Operations of a worker at once.
const TASKS: usize = 4;
/// How many sessions there are.
pub(crate) const SESSIONS: u64 = 3;
/// How long an id is the newest.
const AGE_OF_ID: u64 = 40_000_000;
/// How far around the newest id processes write.
const NEW_IDS: u64 = 6;

/// What a worker is told.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Orders {
    pub(crate) worker: u32,
    pub(crate) seed: u64,
    /// When the run began.
    pub(crate) start: u64,
    pub(crate) backend: Backend,
}

struct Worker {
    orders: Orders,
    store: Arc<dyn ResultStore>,
    numbers: AtomicU64,
}

/// Works until it is killed.
pub(crate) async fn work(orders: Orders) -> Result<(), String> {
    let store = loop {
        match open::open(&orders.backend).await {
            Ok(store) => break store,
            // A fault may be on.
            Err(error) if error.may_retry() => sleep(Duration::from_millis(50)).await,
            Err(error) => return Err(open::said(&error)),
        }
    };
    let seed = Seed::new(orders.seed);
    let worker = Arc::new(Worker {
        orders,
        store,
        numbers: AtomicU64::new(0),
    });
    for task in 1..TASKS {
        let (worker, seed) = (Arc::clone(&worker), seed.fork(&task.to_string()));
        tokio::spawn(async move { worker.act_on(&seed).await });
    }
    worker.act_on(&seed).await
}

impl Worker {
    async fn act_on(&self, seed: &Seed) -> ! {
        loop {
            self.act(seed).await;
        }
    }

    async fn act(&self, seed: &Seed) {
        let newest = (now() - self.orders.start) / AGE_OF_ID;
        let session = seed.below(SESSIONS);
        let new_id = newest + seed.below(NEW_IDS);
        let any_id = newest.saturating_sub(seed.below(200)) + seed.below(NEW_IDS);
        let content = || seed.below(4) * 1_000_000_007 + new_id * 31 + session;
        let at = |action, id| Operation {
            action,
            session,
            id,
        };
        match seed.below(100) {
            0..30 => drop(self.run(at(Action::Put(content()), new_id)).await),
            30..70 => drop(self.run(at(Action::Get, any_id)).await),
            70..76 => drop(self.run(at(Action::PutArtifact(content()), new_id)).await),
            76..84 => drop(self.run(at(Action::GetArtifact, any_id)).await),
            84..86 => drop(self.run(at(Action::List, 0)).await),
            _ if self.store.leases().is_some() => {
                // A call in flight: it ends, it is given up, or its process forgets it.
                if self.run(at(Action::Acquire, new_id)).await != Outcome::New {
                    return;
                }
                sleep(Duration::from_millis(seed.below(50))).await;
                if seed.chance(30) {
                    self.run(at(Action::Renew, new_id)).await;
                }
                match seed.below(3) {
                    0 => drop(self.run(at(Action::Put(content()), new_id)).await),
                    1 => drop(self.run(at(Action::Release, new_id)).await),
                    _ => {}
                }
            }
            _ => {}
        }
        sleep(Duration::from_millis(seed.below(8))).await;
    }

    /// Runs an operation, with a line before it and one behind it.
    async fn run(&self, operation: Operation) -> Outcome {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.write(number, Moment::Begin(operation.clone()));
        let outcome = self.done(&operation).await;
        let outcome = outcome.unwrap_or_else(|error| match error {
            StoreError::Duplicate { .. } | StoreError::DuplicateArtifact { .. } => {
                Outcome::Duplicate
            }
            error => Outcome::Failed(
                error.code().to_string(),
                error.may_retry(),
                open::said(&error),
            ),
        });
        self.write(number, Moment::End(outcome.clone()));
        outcome
    }

    fn write(&self, number: u64, moment: Moment) {
        let event = Event {
            worker: self.orders.worker,
            number,
            at: now(),
            moment,
        };
        let Ok(mut line) = serde_json::to_vec(&event) else {
            return;
        };
        line.push(b'\n');
        // Whoever reads has gone: so has the reason to go on.
        if std::io::stdout().lock().write_all(&line).is_err() {
            std::process::exit(1);
        }
    }

    async fn done(&self, operation: &Operation) -> Result<Outcome, StoreError> {
        let Ok((scope, call, artifact)) = names(operation) else {
            return Ok(Outcome::Garbled);
        };
        let owner = LeaseOwner::new(u128::from(self.orders.worker) + 1);
        let store = &self.store;
        Ok(match operation.action {
            Action::Put(number) => {
                let document = Document::new(content::make(number));
                let result = StoredResult::new(document, ResultKind::Json).with_tool("search");
                recorded(store.put(&scope, &call, result).await?)
            }
            Action::Get => match store.get(&scope, &call).await? {
                Lookup::Found(result) => {
                    content::read(result.document().raw()).map_or(Outcome::Garbled, Outcome::Found)
                }
                Lookup::Missing(Missing::Unknown) => Outcome::Unknown,
                Lookup::Missing(Missing::Expired(_)) => Outcome::Expired,
                Lookup::Missing(Missing::Evicted(_)) => Outcome::Evicted,
                Lookup::Missing(Missing::InFlight(_)) => Outcome::InFlight,
            },
            Action::PutArtifact(number) => {
                let document = Document::new(content::make(number));
                let artifact = StoredArtifact::new(artifact, call, document).with_tool("search");
                recorded(store.put_artifact(&scope, artifact).await?)
            }
            Action::GetArtifact => match store.get_artifact(&scope, &artifact, &call).await? {
                ArtifactLookup::Found(artifact) => content::read(artifact.document().raw())
                    .map_or(Outcome::Garbled, Outcome::Found),
                ArtifactLookup::Missing(ArtifactMissing::Unknown) => Outcome::Unknown,
                ArtifactLookup::Missing(ArtifactMissing::Expired(_)) => Outcome::Expired,
            },
            Action::List => {
                let listed = store.list(&scope).await?;
                let bytes = listed.iter().map(|line| line.bytes as u64).sum();
                Outcome::Listed(listed.len(), bytes)
            }
            Action::Acquire => {
                let Some(leases) = store.leases() else {
                    return Ok(Outcome::Done);
                };
                let about = Tombstone::new(Some("search".into()), None);
                match leases.acquire(owner, &scope, &call, &about).await? {
                    Acquired::New => Outcome::New,
                    Acquired::InFlight => Outcome::InFlight,
                    Acquired::Recorded => Outcome::Recorded,
                }
            }
            Action::Renew => {
                let Some(leases) = store.leases() else {
                    return Ok(Outcome::Done);
                };
                let leased = Leased::new(scope, call, Tombstone::default());
                Outcome::Kept(leases.renew(owner, &[leased]).await?.is_empty())
            }
            Action::Release => {
                if let Some(leases) = store.leases() {
                    leases.release(owner, &scope, &call).await?;
                }
                Outcome::Done
            }
        })
    }
}

fn recorded(recorded: Recorded) -> Outcome {
    match recorded {
        Recorded::New => Outcome::New,
        Recorded::Unchanged => Outcome::Unchanged,
    }
}

fn names(operation: &Operation) -> Result<(Scope, CallId, ArtifactId), Box<dyn std::error::Error>> {
    let session = format!("s{}", operation.session);
    let call = CallId::parse(&format!("call_{}", operation.id))?;
    Ok((
        Scope::parse("tenant", "project", &session)?,
        call,
        ArtifactId::parse("report")?,
    ))
}
