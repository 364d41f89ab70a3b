//! Several engines over one store with leases: each stands for a process.

use super::{InFlight, Session};
use crate::{
    Attribute, Engine, EngineOptions, Instrument, ResolveError, RevealPolicy, StoreWatch,
    Telemetry, ToolResult,
};
use async_trait::async_trait;
use crossfeed_projection::RevealRules;
use crossfeed_store::{
    Acquired, ArtifactLookup, CallLeases, CallWait, Damage, Flights, LeaseOwner, Leased, Listed,
    ListedArtifact, Lookup, ManualClock, MemoryLimits, MemoryStore, Missing, Recorded, ResultStore,
    ScopeTag, StoreError, StoredArtifact, StoredResult, Tombstone,
};
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault, Scope, TraceContext};
use futures_util::{FutureExt as _, future::join_all};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tracing::{Level, Metadata, Span, Subscriber, field::Field, span};

const LEASE: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// What all processes share.
struct Backend {
    clock: Arc<ManualClock>,
    results: MemoryStore,
    table: Mutex<Table>,
    changed: Notify,
}

#[derive(Default)]
struct Table {
    leases: BTreeMap<CallId, Row>,
    /// Until when each wait is named.
    waits: BTreeMap<CallWait, Instant>,
    /// How often `flights` was asked.
    asked: usize,
}

struct Row {
    owner: LeaseOwner,
    until: Instant,
    about: Tombstone,
}

impl Table {
    fn running(&self, call: &CallId) -> Option<&Row> {
        let row = self.leases.get(call);
        row.filter(|row| row.until > Instant::now())
    }
}

impl Backend {
    fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: Tombstone,
    ) -> Result<Acquired, StoreError> {
        let mut table = self.table.lock();
        let found = self.results.get(scope, call);
        if let Lookup::Found(_) = found.now_or_never().unwrap()? {
            return Ok(Acquired::Recorded);
        }
        if table.running(call).is_some() {
            return Ok(Acquired::InFlight);
        }
        let row = Row {
            owner,
            until: Instant::now() + LEASE,
            about,
        };
        table.leases.insert(call.clone(), row);
        Ok(Acquired::New)
    }
}

/// The store as one process sees it. There is one session.
struct Process {
    backend: Arc<Backend>,
    /// What requests come to: nothing, or an error, that may be retried or not.
    is_down: AtomicBool,
    is_broken: AtomicBool,
    /// What it finds damaged, each once.
    damaged: Mutex<Vec<StoreError>>,
    /// It hears of no change, or of one all the time.
    is_deaf: AtomicBool,
    is_noisy: AtomicBool,
    /// How many milliseconds a lease takes to be acquired, also when nobody waits for it any more.
    acquisition: AtomicUsize,
    /// How many milliseconds a lease takes to be released.
    release: AtomicUsize,
    /// How many milliseconds the answer takes to a result that is put.
    reply: AtomicUsize,
}

impl Process {
    fn answer(&self) -> Result<(), StoreError> {
        let retry = !self.is_broken.load(Ordering::Relaxed);
        if retry && !self.is_down.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(StoreError::Unavailable {
            source: "away".into(),
            retry,
        })
    }
}

async fn delay(milliseconds: &AtomicUsize) {
    let milliseconds = milliseconds.load(Ordering::Relaxed) as u64;
    if milliseconds > 0 {
        sleep(Duration::from_millis(milliseconds)).await;
    }
}

#[async_trait]
impl ResultStore for Process {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.answer()?;
        let put = {
            let mut table = self.backend.table.lock();
            let put = self.backend.results.put(scope, call, result);
            let put = put.now_or_never().unwrap()?;
            if put == Recorded::New {
                table.leases.remove(call);
                self.backend.changed.notify_waiters();
            }
            put
        };
        delay(&self.reply).await;
        Ok(put)
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.answer()?;
        if let Some(error) = self.damaged.lock().pop() {
            return Err(error);
        }
        let table = self.backend.table.lock();
        let found = self.backend.results.get(scope, call);
        let found = found.now_or_never().unwrap()?;
        Ok(match (found, table.running(call)) {
            (Lookup::Missing(_), Some(row)) => {
                Lookup::Missing(Missing::InFlight(row.about.clone()))
            }
            (found, _) => found,
        })
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.backend.results.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.backend.results.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        if let Some(error) = self.damaged.lock().pop() {
            return Err(error);
        }
        self.backend
            .results
            .get_artifact(scope, artifact, call)
            .await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.backend.results.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.answer()?;
        self.backend.results.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.answer()?;
        self.backend.table.lock().leases.clear();
        self.backend.changed.notify_waiters();
        self.backend.results.remove_session(scope).await
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        Some(self)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.backend.results.sweep().await
    }
}

#[async_trait]
impl CallLeases for Process {
    fn duration(&self) -> Duration {
        LEASE
    }

    fn poll_interval(&self) -> Duration {
        POLL
    }

    async fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError> {
        self.answer()?;
        let (backend, scope, lease) = (Arc::clone(&self.backend), scope.clone(), call.clone());
        let about = about.clone();
        let acquire = move || backend.acquire(owner, &scope, &lease, about);
        if self.acquisition.load(Ordering::Relaxed) == 0 {
            return acquire();
        }
        let time = Duration::from_millis(self.acquisition.load(Ordering::Relaxed) as u64);
        let acquiring = tokio::spawn(async move {
            sleep(time).await;
            acquire()
        });
        acquiring.await.unwrap()
    }

    async fn renew(&self, owner: LeaseOwner, calls: &[Leased]) -> Result<Vec<Leased>, StoreError> {
        self.answer()?;
        let mut table = self.backend.table.lock();
        let mut lost = Vec::new();
        for lease in calls {
            let is_own = |row: &Row| row.owner == owner;
            if !table.running(&lease.call_id).is_some_and(is_own) {
                let found = self.backend.results.get(&lease.scope, &lease.call_id);
                if found.now_or_never().unwrap()?.found().is_none() {
                    lost.push(lease.clone());
                }
            } else if let Some(row) = table.leases.get_mut(&lease.call_id) {
                row.until = Instant::now() + LEASE;
                row.about = lease.about.clone();
            }
        }
        Ok(lost)
    }

    async fn release(&self, owner: LeaseOwner, _: &Scope, call: &CallId) -> Result<(), StoreError> {
        delay(&self.release).await;
        self.answer()?;
        let mut table = self.backend.table.lock();
        if table.running(call).is_some_and(|row| row.owner == owner) {
            table.leases.remove(call);
            self.backend.changed.notify_waiters();
        }
        Ok(())
    }

    async fn flights(
        &self,
        _: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError> {
        let mut table = self.backend.table.lock();
        table.asked += 1;
        self.answer()?;
        let now = Instant::now();
        table
            .waits
            .extend(waits.iter().map(|wait| (wait.clone(), now + 4 * POLL)));
        table.waits.retain(|_, until| *until > now);
        let running = on.iter().filter(|call| table.running(call).is_some());
        let running = running.cloned().collect();
        Ok(Flights::new(running, table.waits.keys().cloned().collect()))
    }

    async fn changed(&self, _: &Scope) {
        if self.is_noisy.load(Ordering::Relaxed) {
            return;
        }
        if self.is_deaf.load(Ordering::Relaxed) {
            sleep(POLL).await;
            return;
        }
        let _ = timeout(POLL, self.backend.changed.notified()).await;
    }
}

/// Counts what engines measure.
#[derive(Debug, Default)]
struct Measured {
    lost: AtomicUsize,
    waits: AtomicUsize,
}

impl Telemetry for Measured {
    fn context(&self, _: &Span) -> Option<TraceContext> {
        None
    }

    fn adopt(&self, _: &Span, _: &TraceContext) {}

    fn link(&self, _: &Span, _: &TraceContext, _: &[Attribute<'_>]) -> bool {
        false
    }

    fn measure(&self, instrument: Instrument, value: f64, _: &[Attribute<'_>]) {
        let sum = match instrument {
            Instrument::LeaseLosses => &self.lost,
            Instrument::WaitsElsewhere => &self.waits,
            _ => return,
        };
        sum.fetch_add(value as usize, Ordering::Relaxed);
    }

    fn watch(&self, _: StoreWatch) {}
}

/// Processes over one store.
struct World {
    backend: Arc<Backend>,
    processes: Vec<Arc<Process>>,
    sessions: Vec<Session>,
    measured: Arc<Measured>,
}

impl World {
    fn new(processes: usize) -> Self {
        let clock = Arc::<ManualClock>::default();
        let backend = Arc::new(Backend {
            results: MemoryStore::with_clock(MemoryLimits::default(), clock.clone()),
            clock,
            table: Mutex::default(),
            changed: Notify::new(),
        });
        let process = || {
            Arc::new(Process {
                backend: Arc::clone(&backend),
                is_down: AtomicBool::new(false),
                is_broken: AtomicBool::new(false),
                damaged: Mutex::default(),
                is_deaf: AtomicBool::new(false),
                is_noisy: AtomicBool::new(false),
                acquisition: AtomicUsize::new(0),
                release: AtomicUsize::new(0),
                reply: AtomicUsize::new(0),
            })
        };
        let processes: Vec<_> = std::iter::repeat_with(process).take(processes).collect();
        let measured = Arc::new(Measured::default());
        let session = |process: &Arc<Process>| {
            let options = EngineOptions::default();
            let options = options.with_telemetry(Arc::clone(&measured) as Arc<dyn Telemetry>);
            let engine = Engine::new(options, Arc::clone(process) as Arc<dyn ResultStore>);
            engine.session(Scope::parse("t", "p", "s").unwrap())
        };
        let sessions = processes.iter().map(session).collect();
        Self {
            backend,
            processes,
            sessions,
            measured,
        }
    }

    /// Whether the store counts a call as in flight.
    fn is_running(&self, id: &str) -> bool {
        self.backend.table.lock().running(&call(id)).is_some()
    }

    /// Nothing of any call is left: no flight, no wait, no lease, no task.
    async fn assert_nothing_kept(&self) {
        // The task that renews leases ends when it next looks.
        sleep(LEASE).await;
        for session in &self.sessions {
            assert_eq!(session.inner().flights.kept(), (0, 0, 0));
        }
        let table = self.backend.table.lock();
        let running = table
            .leases
            .keys()
            .filter(|call| table.running(call).is_some());
        assert_eq!(running.count(), 0);
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    }
}

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

async fn begin(session: &Session, id: &str) -> InFlight {
    session.begin(&call(id)).await.unwrap()
}

/// A reference, as an argument.
fn to(id: &str) -> Value {
    json!({"x": {"$tool": id}})
}

/// What is wrong: the codes, and the text as a model reads it.
fn told(error: &ResolveError) -> (Vec<ErrorCode>, String) {
    let failures = error.failures().iter();
    let codes = failures.map(|failure| failure.error.code()).collect();
    (codes, error.to_string())
}

/// The text of a resolution that fails, and how long it took.
async fn refused(session: &Session, arguments: Value) -> (String, Duration) {
    let began = Instant::now();
    let error = session.resolve(arguments, None).await.unwrap_err();
    (told(&error).1, began.elapsed())
}

async fn complete(flight: &InFlight, json: &'static str) {
    let recorded = flight.complete(ToolResult::json(json)).await;
    assert_eq!(recorded.unwrap(), Recorded::New);
}

async fn fail(flight: &InFlight) {
    sleep(POLL / 2).await;
    flight.fail("no such table").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reference_waits_for_a_call_of_another_process() {
    for is_deaf in [false, true] {
        let world = World::new(2);
        world.processes[1].is_deaf.store(is_deaf, Ordering::Relaxed);
        let [one, other] = [&world.sessions[0], &world.sessions[1]];
        let flight = begin(one, "a").await;
        let began = Instant::now();
        let arguments = json!([{"$tool": "a", "$select": "url"}, {"$tool": "a"}]);
        let (resolved, ()) = tokio::join!(other.resolve(arguments, None), async {
            sleep(MINUTE * 2 / 3 - POLL / 2).await;
            complete(&flight, r#"{"url": "u/1"}"#).await;
        });
        assert_eq!(resolved.unwrap().arguments, json!(["u/1", {"url": "u/1"}]));
        let late = if is_deaf { POLL / 2 } else { Duration::ZERO };
        assert_eq!(began.elapsed(), MINUTE * 2 / 3 - POLL / 2 + late);
        let measured = &world.measured;
        assert_eq!(measured.waits.load(Ordering::Relaxed), 1);
        assert_eq!(measured.lost.load(Ordering::Relaxed), 0);
        drop(flight);
        world.assert_nothing_kept().await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_here_and_elsewhere_are_waited_for_under_one_deadline() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let (a, b) = (begin(one, "a").await, begin(other, "b").await);
    let both = json!({"x": {"$tool": "a"}, "y": {"$tool": "b"}});
    let (resolved, (), ()) = tokio::join!(
        other.resolve(both.clone(), None),
        async {
            sleep(10 * SECOND).await;
            complete(&a, "1").await;
        },
        async {
            sleep(20 * SECOND).await;
            complete(&b, "2").await;
        }
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1, "y": 2}));
    // Neither ends.
    let (c, d) = (begin(one, "c").await, begin(other, "d").await);
    let both = json!({"x": {"$tool": "c"}, "y": {"$tool": "d"}});
    let (text, took) = refused(other, both.clone()).await;
    assert_eq!(took, MINUTE);
    assert_eq!(
        text,
        "call `c` runs in another process and has not returned after 60000 ms (argument `/x`)\n\
         refer to that call when it has returned; if it waits for this one, make the calls one after \
         another\n\
         call `d` has not returned after 60000 ms (argument `/y`)\n\
         refer to that call when it has returned"
    );
    // One fails, which ends the wait for the other.
    let (text, _) = tokio::join!(refused(other, both), fail(&d)).0;
    assert!(text.contains("call `d` failed: no such table"), "{text}");
    assert!(
        text.contains("call `c` runs in another process and has not returned ("),
        "{text}"
    );
    let e = begin(other, "e").await;
    let both = json!({"x": {"$tool": "c"}, "y": {"$tool": "e"}});
    let ((text, took), ()) = tokio::join!(refused(other, both), fail(&c));
    assert_eq!(took, POLL / 2);
    assert!(text.contains("call `c` failed: no such table"), "{text}");
    assert!(text.contains("call `e` has not returned ("), "{text}");
    drop(e);
    drop((a, b, c, d));
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_elsewhere_says_how_to_make_it_again() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await.with_tool("search");
    let flight = flight
        .with_repeatable(true)
        .with_arguments(r#"{"query": "x"}"#);
    // A renewal says how the call is to be repeated, after the wait has begun.
    let time = LEASE - POLL / 2;
    let ((text, took), ()) = tokio::join!(refused(other, to("a")), async {
        sleep(time).await;
        drop(flight);
    });
    assert_eq!(took, time);
    assert_eq!(
        text,
        "call `a` was given up before it returned (argument `/x`)\n\
         call `search` again with {\"query\": \"x\"}, then refer to that call"
    );
    let later = other.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultUnknown]);
    world.assert_nothing_kept().await;
}

fn damaged(damage: Damage) -> StoreError {
    StoreError::Damaged {
        damage,
        source: Some("its data is hunter2".into()),
    }
}

#[tokio::test(start_paused = true)]
async fn one_result_that_is_damaged_is_no_outage() {
    let world = World::new(1);
    let (session, process) = (&world.sessions[0], &world.processes[0]);
    let search = Tombstone::new(Some("search".into()), Some(br#"{"query": "x"}"#));
    for (about, advice) in [
        (
            search.clone().with_repeatable(true),
            "call `search` again with {\"query\": \"x\"}, then refer to that call",
        ),
        (
            search,
            "the call was made and only its result is damaged: do not call `search` again unless repeating \
             it is intended",
        ),
        (
            Tombstone::default(),
            "the call was made and only its result is damaged: do not make the call again unless repeating \
             it is intended",
        ),
    ] {
        let call_id = call("a");
        let damage = Damage::Result { call_id, about };
        process.damaged.lock().push(damaged(damage));
        let error = session.resolve(to("a"), None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the stored result of call `a` is damaged; others can be read (argument `/x`)\n{advice}"
            )
        );
        assert_eq!(error.fault(), Fault::Model);
        assert_eq!(told(&error).0, [ErrorCode::StoreUnavailable]);
    }
    let damage = Damage::Artifact {
        artifact_id: ArtifactId::parse("report").unwrap(),
        call_id: call("a"),
    };
    process.damaged.lock().push(damaged(damage));
    let arguments = json!({"x": {"$artifact": "report", "$tool": "a"}});
    assert_eq!(
        refused(session, arguments).await.0,
        "artifact `report` of call `a` is damaged; others can be read (argument `/x`)\n\
         refer to the result of call `a`, or make the artifact again under another id"
    );
    let whole = damaged(Damage::Database);
    process.damaged.lock().push(whole);
    let error = session.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Backend);
    assert!(error.to_string().contains("go on without stored results"));
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_a_damaged_result_hides_what_is_never_revealed() {
    let world = World::new(1);
    let process = &world.processes[0];
    let rules = RevealRules::parse(["id"], ["ssn"]).unwrap();
    let reveal = RevealPolicy::default().with_every_tool(rules);
    let options = EngineOptions::default().with_reveal(reveal);
    let engine = Engine::new(options, Arc::clone(process) as Arc<dyn ResultStore>);
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let about = Tombstone::new(Some("search".into()), Some(br#"{"ssn": "123"}"#));
    let damage = Damage::Result {
        call_id: call("a"),
        about: about.with_repeatable(true),
    };
    process.damaged.lock().push(damaged(damage));
    let text = refused(&session, to("a")).await.0;
    assert!(
        text.ends_with("call `search` again, then refer to that call"),
        "{text}"
    );
}

/// Keeps the fields of warnings.
struct Warnings(Arc<Mutex<String>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = self.0.lock();
        text.push_str(event.metadata().target());
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!(" {field}={value:?}"));
        });
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn the_log_says_what_is_damaged_and_in_which_session() {
    let world = World::new(1);
    let warnings = Arc::<Mutex<String>>::default();
    let _kept = tracing::subscriber::set_default(Warnings(Arc::clone(&warnings)));
    let damage = Damage::Result {
        call_id: call("a"),
        about: Tombstone::default(),
    };
    world.processes[0].damaged.lock().push(damaged(damage));
    refused(&world.sessions[0], to("a")).await;
    let text = warnings.lock().clone();
    let tag = ScopeTag::of_session(&Scope::parse("t", "p", "s").unwrap());
    assert_eq!(
        text,
        format!(
            "crossfeed::store message=a stored record is damaged: others can be read error=the store is damaged: \
             the result of call `a` is not as it was recorded part=its data is hunter2 session={tag}"
        )
    );
    // What a model asks for and is not there is no damage.
    refused(&world.sessions[0], to("b")).await;
    assert_eq!(*warnings.lock(), text);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_dead_process_end() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    // As long as it lives, it renews.
    sleep(3 * LEASE).await;
    world.processes[0].is_down.store(true, Ordering::Relaxed);
    let (text, took) = refused(other, to("a")).await;
    assert!(text.starts_with("call `a` was given up"), "{text}");
    assert!(took > LEASE / 2 && took <= LEASE + POLL, "{took:?}");
    // Its id may be used again.
    let again = begin(other, "a").await;
    complete(&again, "2").await;
    // It was not dead: the first record wins.
    world.processes[0].is_down.store(false, Ordering::Relaxed);
    let refused = flight.complete(ToolResult::json("1")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::RecordDuplicate);
    drop((flight, again));
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_result_is_not_stored_stays_in_flight_elsewhere() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    let (resolved, ()) = tokio::join!(other.resolve(to("a"), None), async {
        world.processes[0].is_down.store(true, Ordering::Relaxed);
        assert!(flight.complete(ToolResult::json("1")).await.is_err());
        sleep(LEASE / 2).await;
        world.processes[0].is_down.store(false, Ordering::Relaxed);
        sleep(2 * LEASE).await;
        complete(&flight, "1").await;
    });
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    drop(flight);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_lease_is_lost_may_return() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    world.processes[0].is_down.store(true, Ordering::Relaxed);
    sleep(LEASE + POLL).await;
    let later = other.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultUnknown]);
    world.processes[0].is_down.store(false, Ordering::Relaxed);
    sleep(LEASE).await;
    // It is noticed once.
    assert_eq!(world.measured.lost.load(Ordering::Relaxed), 1);
    // Here it is still waited for.
    let (resolved, ()) = tokio::join!(one.resolve(to("a"), None), complete(&flight, "1"));
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    let resolved = other.resolve(to("a"), None).await.unwrap();
    assert_eq!(resolved.arguments, json!({"x": 1}));
    drop(flight);
    world.assert_nothing_kept().await;
    assert_eq!(world.measured.lost.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_returns_while_its_lease_is_renewed_has_not_lost_it() {
    let world = World::new(1);
    let flight = begin(&world.sessions[0], "a").await;
    // The lease has ended at the next renewal, and the answer comes after it.
    world.processes[0].reply.store(6000, Ordering::Relaxed);
    complete(&flight, "1").await;
    let _other = begin(&world.sessions[0], "b").await;
    sleep(LEASE).await;
    assert_eq!(world.measured.lost.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_another_process_records_has_not_lost_its_lease() {
    let world = World::new(2);
    let flight = begin(&world.sessions[0], "a").await;
    let result = ToolResult::json("1");
    let recorded = world.sessions[1].record(&call("a"), result).await;
    assert_eq!(recorded.unwrap(), Recorded::New);
    sleep(2 * LEASE).await;
    assert_eq!(world.measured.lost.load(Ordering::Relaxed), 0);
    drop(flight);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_is_not_taken_for_an_earlier_one_of_its_id() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    complete(&begin(one, "a").await, "1").await;
    world.backend.clock.advance(6 * MINUTE);
    let gone = other.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&gone).0, [ErrorCode::ResultExpired]);
    for waiting in [one, other] {
        let flight = begin(one, "a").await;
        let (text, ()) = tokio::join!(refused(waiting, to("a")), async {
            sleep(POLL / 2).await;
            drop(flight);
        });
        assert!(text.0.starts_with("call `a` was given up"), "{text:?}");
    }
    let later = other.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultExpired]);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_begins_once_in_all_processes() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    let taken = other.begin(&call("a")).await.unwrap_err();
    assert_eq!(taken.code(), ErrorCode::RecordDuplicate);
    // Whoever is refused ends nothing, and what it drops half-way neither.
    sleep(SECOND).await;
    {
        let a = call("a");
        let mut beginning = Box::pin(other.begin(&a));
        let mut context = Context::from_waker(Waker::noop());
        let _ = beginning.as_mut().poll(&mut context);
    }
    sleep(SECOND).await;
    assert!(world.is_running("a"));
    complete(&flight, "1").await;
    let taken = other.begin(&call("a")).await.unwrap_err();
    assert_eq!(taken.code(), ErrorCode::RecordDuplicate);
    // Without the store none begins.
    world.processes[0].is_down.store(true, Ordering::Relaxed);
    let error = one.begin(&call("b")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    world.processes[0].is_down.store(false, Ordering::Relaxed);
    drop(flight);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_is_over_here_before_the_store_knows() {
    let world = World::new(1);
    let [session] = &world.sessions[..] else {
        panic!()
    };
    world.processes[0].release.store(5000, Ordering::Relaxed);
    let flight = begin(session, "a").await;
    let began = Instant::now();
    let ((text, _), ()) = tokio::join!(refused(session, to("a")), async { drop(flight) });
    assert!(text.starts_with("call `a` was given up"), "{text}");
    let later = session.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultUnknown]);
    let near = session
        .resolve(json!({"x": "{{a.url}}"}), None)
        .await
        .unwrap();
    assert_eq!(near.arguments, json!({"x": "{{a.url}}"}));
    assert_eq!(began.elapsed(), Duration::ZERO);
    // The id can be used again at once, and the old lease's end does not end the new one.
    let again = begin(session, "a").await;
    sleep(LEASE).await;
    assert!(world.is_running("a"));
    // Where the store does not hear of it, the lease lapses.
    world.processes[0].is_down.store(true, Ordering::Relaxed);
    drop(again);
    sleep(6 * SECOND).await;
    world.processes[0].is_down.store(false, Ordering::Relaxed);
    let later = session.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultUnknown]);
    let taken = session.begin(&call("a")).await.unwrap_err();
    assert_eq!(taken.code(), ErrorCode::RecordDuplicate);
    sleep(LEASE).await;
    drop(begin(session, "a").await);
    sleep(LEASE).await;
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_begin_that_is_dropped_leaves_no_lease() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let millis = |process: usize, millis| {
        let process = &world.processes[process];
        process.acquisition.store(millis, Ordering::Relaxed);
    };
    millis(0, 100);
    let begun = timeout(Duration::from_millis(50), one.begin(&call("a"))).await;
    assert!(begun.is_err());
    // The same process may begin it again at once: what was under way is over then.
    let again = begin(one, "a").await;
    drop(again);
    let begun = timeout(Duration::from_millis(50), one.begin(&call("a"))).await;
    assert!(begun.is_err());
    sleep(Duration::from_millis(500)).await;
    drop(begin(other, "a").await);
}

#[tokio::test(start_paused = true)]
async fn everything_else_says_at_once_that_a_call_runs_elsewhere() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "call_1").await;
    let began = Instant::now();
    let text = "call `call_1` runs in another process and has not returned\n\
                refer to that call when it has returned";
    let failure = other.shape(&call("call_1")).await.unwrap_err();
    assert_eq!(failure.to_string(), text);
    let code = other.get(&call("call_1")).await.unwrap_err().code();
    assert_eq!(code, ErrorCode::ResultPending);
    // What cannot run does not wait.
    let arguments = json!([{"$tool": "call_1"}, {"$tool": "call_9"}]);
    let (codes, _) = told(&other.resolve(arguments, None).await.unwrap_err());
    assert_eq!(codes, [ErrorCode::ResultPending, ErrorCode::ResultUnknown]);
    assert_eq!(began.elapsed(), Duration::ZERO);
    // What names it is a reference.
    let (resolved, ()) = tokio::join!(
        other.resolve(json!({"x": "{{call_1.url}}"}), None),
        complete(&flight, r#"{"url": "u/1"}"#)
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": "u/1"}));
    drop(flight);
    world.assert_nothing_kept().await;
}

#[test]
fn without_a_timer_nothing_waits_and_nothing_is_renewed() {
    let world = World::new(2);
    let check = async {
        let flight = begin(&world.sessions[0], "a").await;
        let text = world.sessions[1].resolve(to("a"), None).await.unwrap_err();
        let text = text.to_string();
        assert!(
            text.starts_with("call `a` runs in another process and has not returned ("),
            "{text}"
        );
        complete(&flight, "1").await;
    };
    let mut context = Context::from_waker(Waker::noop());
    let done = Box::pin(check).as_mut().poll(&mut context);
    assert_eq!(done, Poll::Ready(()));
    // What is given up lapses.
    let give_up = async { drop(begin(&world.sessions[0], "b").await) };
    assert_eq!(
        Box::pin(give_up).as_mut().poll(&mut context),
        Poll::Ready(())
    );
    assert!(world.is_running("b"));
}

#[tokio::test(start_paused = true)]
async fn a_resolution_that_is_dropped_leaves_nothing() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let (a, b) = (begin(one, "a").await, begin(other, "b").await);
    let waiting = timeout(10 * SECOND, b.session().resolve(to("a"), None));
    assert!(waiting.await.is_err());
    let asked = world.backend.table.lock().asked;
    assert!((10..=12).contains(&asked), "{asked}");
    sleep(10 * SECOND).await;
    assert_eq!(world.backend.table.lock().asked, asked);
    drop((a, b));
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn the_store_is_not_asked_as_often_as_it_calls() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    world.processes[1].is_noisy.store(true, Ordering::Relaxed);
    let flight = begin(one, "a").await;
    let (resolved, ()) = tokio::join!(other.resolve(to("a"), None), async {
        sleep(10 * SECOND).await;
        complete(&flight, "1").await;
    });
    assert!(resolved.is_ok());
    let asked = world.backend.table.lock().asked;
    assert!(asked <= 82, "{asked}");
    drop(flight);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_meanwhile_is_asked_again() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    let set = |is_down: bool| world.processes[1].is_down.store(is_down, Ordering::Relaxed);
    let (resolved, ()) = tokio::join!(other.resolve(to("a"), None), async {
        sleep(5 * SECOND).await;
        set(true);
        sleep(5 * SECOND).await;
        complete(&flight, "1").await;
        sleep(5 * SECOND).await;
        set(false);
    });
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    // It stays away.
    let flight = begin(one, "b").await;
    let ((text, took), ()) = tokio::join!(refused(other, to("b")), async {
        sleep(5 * SECOND).await;
        set(true);
    });
    assert!(text.starts_with("stored results cannot be read"), "{text}");
    assert_eq!(took, MINUTE);
    // Trying again does not help.
    set(false);
    let ((text, took), ()) = tokio::join!(refused(other, to("b")), async {
        sleep(5 * SECOND + POLL / 2).await;
        world.processes[1].is_broken.store(true, Ordering::Relaxed);
    });
    assert!(text.starts_with("stored results cannot be read"), "{text}");
    assert_eq!(took, 6 * SECOND);
    drop(flight);
    world.assert_nothing_kept().await;
}

/// The paths of cycles that calls are told of which wait for each other: `a>b` is a call and what it waits for. The
/// calls whose letters come together run in one process. Those that are told end at once.
async fn check_cycle(processes: &[&str], waits: &[&str], expected: &[&str]) {
    for noisy in 0..=processes.len() {
        // One process may look more often than the others.
        check_cycle_in(processes, waits, expected, noisy).await;
    }
}

async fn check_cycle_in(processes: &[&str], waits: &[&str], expected: &[&str], noisy: usize) {
    let world = World::new(processes.len());
    if let Some(process) = world.processes.get(noisy) {
        process.is_noisy.store(true, Ordering::Relaxed);
    }
    let mut flights = BTreeMap::new();
    for (session, calls) in world.sessions.iter().zip(processes) {
        for id in calls.chars().map(String::from) {
            let flight = begin(session, &id).await;
            flights.insert(id, flight);
        }
    }
    let began = Instant::now();
    let waiting = waits.iter().enumerate().map(|(nth, wait)| {
        let (of, on) = wait.split_once('>').unwrap();
        let flight = &flights[of];
        async move {
            sleep(Duration::from_millis(137) * nth as u32).await;
            let (text, _) = refused(flight.session(), to(on)).await;
            flight.fail("refused").await.unwrap();
            let path = text.lines().next().unwrap().to_owned();
            let path = path.strip_prefix("the calls wait for each other: ");
            let path = path.unwrap_or_else(|| panic!("{wait}: {text}"));
            path.trim_end_matches(" (argument `/x`)")
                .replace("` -> `", "")
                .replace('`', "")
        }
    });
    let paths = join_all(waiting).await;
    assert_eq!(paths, expected, "{processes:?}");
    assert!(began.elapsed() <= 9 * POLL, "{:?}", began.elapsed());
    drop(flights);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn calls_of_several_processes_that_wait_for_each_other_are_told() {
    check_cycle(&["a", "b"], &["a>b", "b>a"], &["aba", "bab"]).await;
    let three = ["a>b", "b>c", "c>a"];
    check_cycle(&["a", "b", "c"], &three, &["abca", "bcab", "cabc"]).await;
    // Some of the waits are within a process.
    check_cycle(&["ab", "c"], &three, &["abca", "bcab", "cabc"]).await;
    check_cycle(&["ca", "b"], &three, &["abca", "bcab", "cabc"]).await;
    let four = ["a>b", "b>c", "c>d", "d>a"];
    let paths = ["abcda", "bcdab", "cdabc", "dabcd"];
    check_cycle(&["ab", "cd"], &four, &paths).await;
    check_cycle(&["ac", "bd"], &four, &paths).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_closes_no_cycle() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    world.processes[1].is_noisy.store(true, Ordering::Relaxed);
    for (id, returns) in [("a1", 2), ("a2", 4), ("a3", 20)] {
        let (a, b) = (begin(one, id).await, begin(other, "b").await);
        // It waits no longer, but the store has just named the wait.
        let time = 5 * SECOND + Duration::from_millis(1);
        let waiting = timeout(time, a.session().resolve(to("b"), None));
        assert!(waiting.await.is_err());
        assert!(!world.backend.table.lock().waits.is_empty());
        let (resolved, ()) = tokio::join!(b.session().resolve(to(id), None), async {
            sleep(returns * SECOND).await;
            complete(&a, "1").await;
        });
        assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    }
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_closed_elsewhere_keeps_nobody_waiting() {
    let world = World::new(2);
    let [one, other] = [&world.sessions[0], &world.sessions[1]];
    let flight = begin(one, "a").await;
    let ((text, took), ()) = tokio::join!(refused(other, to("a")), async {
        sleep(5 * SECOND).await;
        one.close().await.unwrap();
    });
    assert!(text.starts_with("call `a` was given up"), "{text}");
    assert_eq!(took, 5 * SECOND);
    drop(flight);
    world.assert_nothing_kept().await;
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_on_another_runtime_when_one_has_ended() {
    let world = World::new(1);
    let session = &world.sessions[0];
    let early = {
        let session = session.clone();
        let began = std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build().unwrap();
            runtime.block_on(begin(&session, "a"))
        });
        began.join().unwrap()
    };
    let late = begin(session, "b").await;
    sleep(2 * LEASE).await;
    assert!(world.is_running("b"));
    drop((early, late));
    world.assert_nothing_kept().await;
}

/// How many calls a turn has.
const TURN: usize = 6;
const PROCESSES: usize = 3;

/// A call of a turn.
#[derive(Clone, Debug)]
struct Turn {
    process: usize,
    refers: BTreeSet<usize>,
    /// When it resolves its arguments, in milliseconds.
    at: u64,
    /// Whether it returns, once it has them; else it is given up.
    returns: bool,
}

fn turn() -> impl Strategy<Value = Vec<Turn>> {
    let refers = proptest::collection::btree_set(0..TURN, 0..3);
    let returns = proptest::bool::weighted(0.9);
    let call = (0..PROCESSES, refers, 0..5000_u64, returns);
    let call = call.prop_map(|(process, refers, at, returns)| Turn {
        process,
        refers,
        at,
        returns,
    });
    proptest::collection::vec(call, TURN)
}

/// When the store is away for each process, and for how long: less than a lease lasts.
fn outages() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let outage = prop_oneof![Just((0, 0)), (0..12_000_u64, 0..6000_u64)];
    proptest::collection::vec(outage, PROCESSES)
}

/// Makes a call: resolves its arguments, and returns what it makes of them, as often as the store is away.
async fn make(number: usize, flight: InFlight, turn: &Turn) -> Vec<ErrorCode> {
    sleep(Duration::from_millis(turn.at)).await;
    let arguments = turn
        .refers
        .iter()
        .map(|on| json!({"$tool": format!("c{on}")}));
    let arguments = Value::Array(arguments.collect());
    let resolved = loop {
        match flight.session().resolve(arguments.clone(), None).await {
            Ok(resolved) => break resolved,
            Err(error) if told(&error).0.contains(&ErrorCode::StoreUnavailable) => {}
            Err(error) => return told(&error).0,
        }
        sleep(SECOND).await;
    };
    if !turn.returns {
        return vec![ErrorCode::ResultPending];
    }
    let result = json!([number, resolved.arguments]).to_string();
    while flight
        .complete(ToolResult::json(result.clone()))
        .await
        .is_err()
    {
        sleep(SECOND).await;
    }
    Vec::new()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever the calls of a turn refer to, and wherever and whenever they run: each of them gets what it needs or is
    /// told why not, and none waits until its time is over; also where the store is away for a while.
    #[test]
    fn every_turn_comes_to_an_end(turns in turn(), outages in outages()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let outcomes = runtime.unwrap().block_on(async {
            let world = World::new(PROCESSES);
            let mut flights = Vec::new();
            for (number, turn) in turns.iter().enumerate() {
                flights.push(begin(&world.sessions[turn.process], &format!("c{number}")).await);
            }
            let began = Instant::now();
            let running = flights.into_iter().zip(&turns).enumerate();
            let running = running.map(|(number, (flight, turn))| make(number, flight, turn));
            let outages = world.processes.iter().zip(&outages).map(|(process, (from, time))| async move {
                sleep(Duration::from_millis(*from)).await;
                process.is_down.store(*time > 0, Ordering::Relaxed);
                sleep(Duration::from_millis(*time)).await;
                process.is_down.store(false, Ordering::Relaxed);
            });
            let (outcomes, _) = tokio::join!(join_all(running), join_all(outages));
            let took = began.elapsed();
            assert!(took < MINUTE, "{took:?}");
            assert_eq!(world.measured.lost.load(Ordering::Relaxed), 0);
            world.assert_nothing_kept().await;
            outcomes
        });
        // The calls that a call needs, by however many others.
        let needs = |call: usize| {
            let mut needed = BTreeSet::new();
            let mut next = vec![call];
            while let Some(call) = next.pop() {
                next.extend(turns[call].refers.iter().filter(|on| needed.insert(**on)));
            }
            needed
        };
        let is_on_cycle = |call: usize| needs(call).contains(&call);
        for (number, codes) in outcomes.into_iter().enumerate() {
            let mut all = needs(number);
            all.insert(number);
            let is_lost = all.iter().any(|call| is_on_cycle(*call) || !turns[*call].returns);
            prop_assert_eq!(!codes.is_empty(), is_lost, "c{}: {:?}", number, codes);
            prop_assert!(!codes.contains(&ErrorCode::ResultCycle) || is_on_cycle(number));
        }
    }
}
