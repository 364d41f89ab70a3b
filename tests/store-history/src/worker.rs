//! One process among several: does random things to the store, and writes down what, and what came of it.

use crate::{
    content,
    event::{Action, Event, Moment, Operation, Outcome, now},
    open::{self, Backend},
};
use crossfeed_history::Seed;
use crossfeed_json::Document;
use crossfeed_store::{
    Acquired, ArtifactLookup, ArtifactMissing, Expected, LeaseOwner, Leased, Lookup, Missing,
    Recorded, ResultKind, ResultStore, StoreError, StoredArtifact, StoredResult, Tombstone,
    with_causes,
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

/// How many sessions stay.
const SESSIONS: u64 = 3;
/// How long one of the sessions is in use that are removed, and how long one key of the host's records, in nanoseconds.
const PASSING: u64 = 1_500_000_000;
/// How long a record of the host is kept: longer than a run.
const RECORD_TIME: Duration = Duration::from_secs(24 * 60 * 60);
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
    /// Operations at once.
    pub(crate) tasks: usize,
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
            Err(error) => return Err(with_causes(&error)),
        }
    };
    let seed = Seed::new(orders.seed);
    let worker = Arc::new(Worker {
        orders,
        store,
        numbers: AtomicU64::new(0),
    });
    for task in 1..worker.orders.tasks {
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
        let age = now() - self.orders.start;
        let newest = age / AGE_OF_ID;
        let passing = age / PASSING;
        let session = if seed.chance(75) {
            seed.below(SESSIONS)
        } else {
            SESSIONS + passing
        };
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
            86..88 if session >= SESSIONS => drop(self.run(at(Action::Remove, 0)).await),
            88..92 if self.store.state().is_some() => {
                let key = passing.saturating_sub(seed.below(2));
                let at = |action| Operation {
                    action,
                    session: key,
                    id: 0,
                };
                // What was read is replaced.
                let Outcome::Record(read) = self.run(at(Action::Read)).await else {
                    return;
                };
                let unique = self.numbers.fetch_add(1, Ordering::Relaxed);
                let number = u64::from(self.orders.worker) << 40 | unique;
                let write = Action::Write(number, read.map(|(_, version)| version));
                self.run(at(write)).await;
            }
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
                match error {
                    // All have the code of a store that is away, which is not enough here.
                    StoreError::Damaged { .. } | StoreError::DamagedBlob => "damaged".to_owned(),
                    StoreError::Full { .. } => "full".to_owned(),
                    _ => error.code().to_string(),
                },
                error.may_retry(),
                with_causes(&error),
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
            Action::Remove => {
                store.remove_session(&scope).await?;
                Outcome::Done
            }
            Action::Read => {
                let Some(state) = store.state() else {
                    return Ok(Outcome::Done);
                };
                let read = state.read(&key(operation.session)).await?;
                let Some(record) = read else {
                    return Ok(Outcome::Record(None));
                };
                let number = std::str::from_utf8(&record.value).ok();
                let number = number.and_then(|number| number.parse().ok());
                number.map_or(Outcome::Garbled, |number| {
                    Outcome::Record(Some((number, record.version)))
                })
            }
            Action::Write(number, version) => {
                let Some(state) = store.state() else {
                    return Ok(Outcome::Done);
                };
                let expected = version.map_or(Expected::Absent, Expected::Version);
                let value = number.to_string().into();
                let key = key(operation.session);
                Outcome::Written(state.write(&key, value, expected, RECORD_TIME).await?)
            }
        })
    }
}

/// The key of a record of the host.
fn key(number: u64) -> String {
    format!("key/{number}")
}

fn recorded(recorded: Recorded) -> Outcome {
    match recorded {
        Recorded::New => Outcome::New,
        Recorded::Unchanged => Outcome::Unchanged,
    }
}

fn names(operation: &Operation) -> Result<(Scope, CallId, ArtifactId), Box<dyn std::error::Error>> {
    let session = format!("s{}", operation.session);
    // Projects share the limits of their tenant.
    let project = format!("project-{}", operation.session % 2);
    let call = CallId::parse(&format!("call_{}", operation.id))?;
    Ok((
        Scope::parse("tenant", &project, &session)?,
        call,
        ArtifactId::parse("report")?,
    ))
}
