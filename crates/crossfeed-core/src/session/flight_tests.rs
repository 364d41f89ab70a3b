use super::{InFlight, Session};
use crate::{
    BeginError, Engine, EngineOptions, HintDetail, LookupError, NewArtifact, ProjectOptions,
    RenderOptions, ResolveError, RevealPolicy, ToolResult,
};
use async_trait::async_trait;
use crossfeed_json::Document;
use crossfeed_projection::RevealRules;
use crossfeed_store::{
    ArtifactLookup, Listed, ListedArtifact, Lookup, ManualClock, MemoryLimits, MemoryStore,
    Recorded, ResultStore, StoreError, StoredArtifact, StoredResult,
};
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn session_with(options: EngineOptions) -> Session {
    let scope = Scope::parse("t", "p", "s").unwrap();
    Engine::in_memory(options).session(scope)
}

fn session() -> Session {
    session_with(EngineOptions::default())
}

async fn begin(session: &Session, id: &str) -> InFlight {
    session.begin(&call(id)).await.unwrap()
}

/// A reference, as an argument.
fn to(id: &str) -> Value {
    json!({"x": {"$tool": id}})
}

/// The session keeps nothing of any call in flight, nor of any wait.
fn assert_nothing_kept(session: &Session) {
    assert_eq!(session.inner().flights.kept(), (0, 0, 0));
}

/// What is wrong: the codes, and the text as a model reads it.
fn told(error: &ResolveError) -> (Vec<ErrorCode>, String) {
    let failures = error.failures().iter();
    let codes = failures.map(|failure| failure.error.code()).collect();
    (codes, error.to_string())
}

/// Resolves while something else is done, after which what is resolved has come to an end, but for
/// waits. Says what is wrong with it, and how long that took.
async fn check(
    session: &Session,
    arguments: Value,
    meanwhile: impl Future<Output = ()>,
    codes: &[ErrorCode],
    text: &str,
    took: Duration,
) {
    let began = Instant::now();
    let (resolved, ()) = tokio::join!(session.resolve(arguments.clone(), None), meanwhile);
    let error = resolved.unwrap_err();
    assert_eq!(
        told(&error),
        (codes.to_vec(), text.to_owned()),
        "{arguments}"
    );
    assert_eq!(began.elapsed(), took, "{arguments}");
}

const AT_ONCE: Duration = Duration::ZERO;
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_reference_waits_for_its_call() {
    let session = session();
    let search = begin(&session, "a").await;
    let fetch = begin(&session, "b").await;
    let arguments = json!({"x": {"$tool": "a", "$select": "url"}, "y": {"$tool": "a"}});
    let waiting = tokio::spawn({
        let session = fetch.session().clone();
        async move { session.resolve(arguments, None).await }
    });
    tokio::time::sleep(MINUTE / 2).await;
    assert!(!waiting.is_finished());
    let result = ToolResult::json(r#"{"url": "u/1"}"#);
    assert_eq!(search.complete(result).await.unwrap(), Recorded::New);
    let resolved = waiting.await.unwrap().unwrap();
    assert_eq!(resolved.arguments, json!({"x": "u/1", "y": {"url": "u/1"}}));
    assert_eq!(resolved.lineage.len(), 2);
    // The guard has done its work.
    drop(search);
    assert!(session.get(&call("a")).await.is_ok());
    drop(fetch);
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn whatever_records_the_result_ends_the_flight() {
    for by in 0..3 {
        let session = session();
        let flight = begin(&session, "a").await.with_tool("search");
        let (resolved, ()) = tokio::join!(session.resolve(to("a"), None), async {
            let result = ToolResult::json("7");
            match by {
                0 => drop(session.record(&call("a"), result).await.unwrap()),
                1 => drop(session.respond(&call("a"), result).await.unwrap()),
                _ => drop(flight.complete(result).await.unwrap()),
            }
        });
        assert_eq!(resolved.unwrap().arguments, json!({"x": 7}));
        // The same again is a no-op, another one is refused, as ever.
        let again = flight.complete(ToolResult::json("7")).await.unwrap();
        assert_eq!(again, Recorded::Unchanged);
        assert!(flight.complete(ToolResult::json("8")).await.is_err());
        drop(flight);
        assert_nothing_kept(&session);
    }
}

#[tokio::test(start_paused = true)]
async fn all_references_wait_under_one_deadline() {
    let session = session();
    let [a, b, c] = [
        begin(&session, "a").await,
        begin(&session, "b").await,
        begin(&session, "c").await,
    ];
    let text = "call `b` has not returned after 60000 ms (argument `/y`)\n\
                refer to that call when it has returned\n\
                call `c` has not returned after 60000 ms (argument `/z`)\n\
                refer to that call when it has returned";
    let arguments = json!({"x": {"$tool": "a"}, "y": {"$tool": "b"}, "z": {"$tool": "c"}});
    let meanwhile = async {
        tokio::time::sleep(MINUTE - Duration::from_secs(1)).await;
        a.complete(ToolResult::json("1")).await.unwrap();
    };
    let codes = [ErrorCode::ResultPending; 2];
    check(&session, arguments, meanwhile, &codes, text, MINUTE).await;
    // What failed can be done later.
    b.complete(ToolResult::json("2")).await.unwrap();
    assert!(session.resolve(to("b"), None).await.is_ok());
    drop((b, c));
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_says_how_to_make_it_again() {
    let session = session();
    let flight = begin(&session, "a").await;
    let flight = flight
        .with_tool("search")
        .with_repeatable(true)
        .with_arguments(r#"{"query": "x"}"#);
    let text = "call `a` was given up before it returned (argument `/x`)\n\
                call `search` again with {\"query\": \"x\"}, then refer to that call";
    let codes = [ErrorCode::ResultPending];
    check(
        &session,
        to("a"),
        async { drop(flight) },
        &codes,
        text,
        AT_ONCE,
    )
    .await;
    // Of later references there is nothing left to say.
    let later = session.resolve(to("a"), None).await.unwrap_err();
    assert_eq!(told(&later).0, [ErrorCode::ResultUnknown]);
    assert_nothing_kept(&session);
}

/// What is advised of results that have gone, of an artifact that has gone, and of a failed call.
async fn advice(repeatable: bool) -> [String; 3] {
    let limits = MemoryLimits::default().with_session_results(1);
    let store = Arc::new(MemoryStore::new(limits));
    let scope = Scope::parse("t", "p", "s").unwrap();
    let session = Engine::new(EngineOptions::default(), store).session(scope);
    let flight = begin(&session, "a").await;
    let flight = flight.with_tool("pay").with_repeatable(repeatable);
    let flight = flight.with_arguments(r#"{"amount": 100}"#);
    flight.complete(ToolResult::json("1")).await.unwrap();
    let paid = ToolResult::json("2").with_tool("pay");
    let paid = paid.with_repeatable(repeatable);
    session.record(&call("b"), paid).await.unwrap();
    let failed = ToolResult::text("no").with_tool("pay").failed();
    let failed = failed.with_repeatable(repeatable);
    session.record(&call("c"), failed).await.unwrap();
    let mut told = Vec::new();
    for id in ["a", "b", "c"] {
        let error = session.resolve(to(id), None).await.unwrap_err();
        told.push(error.failures()[0].error.advice());
    }
    told.try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_a_call_that_may_be_repeated_is_advised_to_be_made_again() {
    assert_eq!(
        advice(true).await,
        [
            "call `pay` again with {\"amount\": 100}, then refer to that call",
            "call `pay` again, then refer to that call",
            "call `pay` again with other arguments, then refer to that call",
        ]
    );
    let gone = "the call was made and only its result is gone: do not call `pay` again unless \
                repeating it is intended";
    assert_eq!(
        advice(false).await,
        [
            gone,
            gone,
            "a call that failed may have had effects: call `pay` again, with other arguments, only \
             if repeating it is intended",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_never_revealed_is_not_told_of_a_call_that_was_given_up() {
    let rules = RevealRules::parse(["id"], ["token"]).unwrap();
    let policy = RevealPolicy::default().with_every_tool(rules);
    let session = session_with(EngineOptions::default().with_reveal(policy));
    let flight = begin(&session, "a").await;
    let flight = flight
        .with_tool("search")
        .with_arguments(r#"{"token": "t0p"}"#);
    let text = "call `a` was given up before it returned (argument `/x`)\n\
                the call may have run: do not call `search` again unless repeating it is intended";
    let codes = [ErrorCode::ResultPending];
    check(
        &session,
        to("a"),
        async { drop(flight) },
        &codes,
        text,
        AT_ONCE,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_all_waits_of_a_call() {
    let session = session();
    let (a, b) = (
        begin(&session, "a").await.with_tool("search"),
        begin(&session, "b").await,
    );
    let text = "call `a` failed: no such table (argument `/x`)\n\
                a call that failed may have had effects: call `search` again, with other arguments, \
                only if repeating it is intended\n\
                call `b` has not returned (argument `/y`)\n\
                refer to that call when it has returned";
    let arguments = json!({"x": {"$tool": "a"}, "y": {"$tool": "b"}});
    let fail = async { assert!(a.fail("no such table").await.is_ok()) };
    let codes = [ErrorCode::ResultFailed, ErrorCode::ResultPending];
    check(&session, arguments.clone(), fail, &codes, text, AT_ONCE).await;
    // A result that says itself that it failed is no different.
    let a = begin(&session, "c").await;
    let failed = r#"{"content": [{"type": "text", "text": "no"}], "isError": true}"#;
    let fail = async { assert!(a.complete(ToolResult::mcp(failed)).await.is_ok()) };
    let text = text.replace("`a`", "`c`").replace("no such table", "no");
    let text = text.replace("call `search` again", "make the call again");
    let arguments = json!({"x": {"$tool": "c"}, "y": {"$tool": "b"}});
    check(&session, arguments, fail, &codes, &text, AT_ONCE).await;
    drop(b);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_anyway_does_not_wait() {
    let session = session();
    let flight = begin(&session, "a").await;
    let pending = "call `a` has not returned (argument `/x`)\n\
                   refer to that call when it has returned";
    for (other, code) in [
        (json!({"$tool": "q"}), ErrorCode::ResultUnknown),
        (json!({"$tool": 7}), ErrorCode::ReferenceMalformed),
    ] {
        let began = Instant::now();
        let arguments = json!({"x": {"$tool": "a"}, "y": other});
        let error = session.resolve(arguments, None).await.unwrap_err();
        let (codes, text) = told(&error);
        assert_eq!(codes, [ErrorCode::ResultPending, code], "{text}");
        assert!(text.starts_with(pending), "{text}");
        assert_eq!(began.elapsed(), AT_ONCE);
    }
    // A call in flight is offered in place of an id that is not known.
    let error = session.resolve(to("A"), None).await.unwrap_err();
    assert!(error.to_string().ends_with("found: a\ntry: a"), "{error}");
    drop(flight);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_each_other_are_told_at_once() {
    let session = session();
    let flights = [
        begin(&session, "a").await,
        begin(&session, "b").await,
        begin(&session, "c").await,
    ];
    let began = Instant::now();
    // The third also waits for a call that takes its time.
    let slow = begin(&session, "slow").await;
    let arguments = [
        to("b"),
        to("c"),
        json!({"x": {"$tool": "a"}, "y": {"$tool": "slow"}}),
    ];
    let resolved = flights.iter().zip(arguments).map(|(flight, arguments)| {
        let session = flight.session();
        session.resolve(arguments, None)
    });
    let resolved = futures_util::future::join_all(resolved).await;
    let cycle = |path: &str, at: &str| {
        let path: Vec<_> = path.chars().map(|id| format!("`{id}`")).collect();
        format!(
            "the calls wait for each other: {} (argument `/{at}`)\n\
             make these calls one after another, the first of them without a reference to the others",
            path.join(" -> ")
        )
    };
    let texts = resolved
        .iter()
        .map(|resolved| resolved.as_ref().unwrap_err().to_string());
    let texts: Vec<_> = texts.collect();
    let slow_one =
        "call `slow` has not returned (argument `/y`)\nrefer to that call when it has returned";
    assert_eq!(texts[0], cycle("abca", "x"));
    assert_eq!(texts[1], cycle("bcab", "x"));
    assert_eq!(texts[2], format!("{}\n{slow_one}", cycle("cabc", "x")));
    assert_eq!(began.elapsed(), AT_ONCE);
    // A call that refers to itself.
    let own = flights[0]
        .session()
        .resolve(to("a"), None)
        .await
        .unwrap_err();
    assert!(
        own.to_string()
            .starts_with("call `a` refers to itself (argument `/x`)\n"),
        "{own}"
    );
    // They are still in flight, and may be made otherwise.
    flights[0].complete(ToolResult::json("1")).await.unwrap();
    let other = flights[2].session().resolve(to("a"), None).await.unwrap();
    assert_eq!(other.arguments, json!({"x": 1}));
    drop((flights, slow));
    assert_nothing_kept(&session);
}

#[test]
fn a_long_circle_is_told_in_short() {
    let path = (0..20).chain([0]).map(|n| call(&format!("c{n}"))).collect();
    let (call_id, path) = (call("c1"), path);
    let text = LookupError::Cycle { call_id, path }.to_string();
    let said = (0..8)
        .map(|n| format!("`c{n}`"))
        .collect::<Vec<_>>()
        .join(" -> ");
    let expected = format!("the calls wait for each other: {said} -> 12 more -> `c0`");
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn whoever_has_gone_is_waited_for_by_nobody() {
    let session = session();
    let (a, b) = (begin(&session, "a").await, begin(&session, "b").await);
    // A wait that is dropped leaves nothing.
    {
        let arguments = to("a");
        let mut waiting = Box::pin(b.session().resolve(arguments, None));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert_eq!(session.inner().flights.kept(), (1, 2, 1));
    }
    assert_eq!(session.inner().flights.kept(), (1, 2, 0));
    let (resolved, _) = tokio::join!(
        a.session().resolve(to("b"), None),
        b.complete(ToolResult::json("2"))
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": 2}));
    // What is resolved for a call that has left waits for itself only.
    let (late, b) = (b.session().clone(), begin(&session, "c").await);
    let (resolved, _) = tokio::join!(
        late.resolve(to("c"), None),
        b.complete(ToolResult::json("3"))
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": 3}));
    drop((a, b));
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn everything_else_says_at_once_that_a_call_is_in_flight() {
    let session = session();
    let flight = begin(&session, "a").await;
    let a = call("a");
    let began = Instant::now();
    let failures = [
        session
            .render(&a, &RenderOptions::default())
            .await
            .map(drop),
        session.select(&a, "x").await.map(drop),
        session.shape(&a).await.map(drop),
        session.hints(&a, HintDetail::Full).await.map(drop),
        session
            .project(&a, &ProjectOptions::default())
            .await
            .map(drop),
        session.response(&a).await.map(drop),
        session
            .create_artifact(NewArtifact::new(ArtifactId::parse("r").unwrap(), a.clone()))
            .await
            .map(drop),
    ];
    for (at, failure) in failures.into_iter().enumerate() {
        let text = failure.unwrap_err().to_string();
        assert_eq!(
            text, "call `a` has not returned\nrefer to that call when it has returned",
            "{at}"
        );
    }
    let code = session.get(&a).await.unwrap_err().code();
    assert_eq!(code, ErrorCode::ResultPending);
    let brought = session.retrieve(&a, None).await.unwrap();
    assert_eq!(brought.error_body().unwrap().code, "result.pending");
    // Artifacts are not in flight.
    let stored = StoredArtifact::new(
        ArtifactId::parse("r").unwrap(),
        a.clone(),
        Document::new("[1]"),
    );
    session.record_artifact(stored).await.unwrap();
    let resolved = session
        .resolve(json!({"$artifact": "r", "$tool": "a"}), None)
        .await
        .unwrap();
    assert_eq!(resolved.arguments, json!([1]));
    assert_eq!(began.elapsed(), AT_ONCE);
    drop(flight);
}

#[tokio::test(start_paused = true)]
async fn an_id_begins_once() {
    let session = session_with(EngineOptions::default().with_max_in_flight(2));
    let a = begin(&session, "a").await;
    let refused = |id: &str| {
        let (session, id) = (session.clone(), call(id));
        async move { session.begin(&id).await.unwrap_err() }
    };
    let taken = "call `a` was begun or recorded before";
    let error = refused("a").await;
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (ErrorCode::RecordDuplicate, taken)
    );
    let b = begin(&session, "b").await;
    let error = refused("c").await;
    assert!(matches!(error, BeginError::TooMany { limit: 2 }), "{error}");
    assert_eq!(error.code(), ErrorCode::LimitExceeded);
    // Refusing gives nothing up.
    a.complete(ToolResult::json("1")).await.unwrap();
    assert_eq!(refused("a").await.to_string(), taken);
    let c = begin(&session, "c").await;
    drop((a, b, c));
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_has_expired_begins_again() {
    let clock = Arc::new(ManualClock::default());
    let store = MemoryStore::with_clock(MemoryLimits::default(), clock.clone());
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    session
        .record(&call("a"), ToolResult::json("1"))
        .await
        .unwrap();
    clock.advance(Duration::from_secs(3600));
    let flight = begin(&session, "a").await;
    let (resolved, _) = tokio::join!(
        session.resolve(to("a"), None),
        flight.complete(ToolResult::json("2"))
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": 2}));
}

#[tokio::test(start_paused = true)]
async fn a_call_of_another_session_reads_like_none() {
    let engine = Engine::in_memory(EngineOptions::default());
    let [one, other] = ["one", "other"].map(|s| engine.session(Scope::parse("t", "p", s).unwrap()));
    let flight = begin(&one, "a").await.with_tool("search");
    let began = Instant::now();
    let mut texts = Vec::new();
    for id in ["a", "z"] {
        let error = other.resolve(to(id), None).await.unwrap_err();
        texts.push(error.to_string().replace(&format!("`{id}`"), "`?`"));
        let failure = other.shape(&call(id)).await.unwrap_err();
        texts.push(failure.to_string().replace(&format!("`{id}`"), "`?`"));
    }
    assert_eq!(texts[..2], texts[2..]);
    assert!(
        texts[0].contains("no result of call `?` is known in this session"),
        "{}",
        texts[0]
    );
    assert_eq!(began.elapsed(), AT_ONCE);
    // The same id is another call there, and what it returns ends no flight here.
    let same = begin(&other, "a").await;
    same.complete(ToolResult::json("1")).await.unwrap();
    let waiting = one.resolve(to("a"), None);
    assert!(tokio::time::timeout(MINUTE / 2, waiting).await.is_err());
    drop((flight, same));
    assert_nothing_kept(&one);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_closed_keeps_nobody_waiting() {
    let session = session();
    let flight = begin(&session, "a").await;
    let (resolved, closed) = tokio::join!(session.resolve(to("a"), None), session.close());
    closed.unwrap();
    assert_eq!(told(&resolved.unwrap_err()).0, [ErrorCode::ResultUnknown]);
    assert_nothing_kept(&session);
    drop(flight);
}

/// A resolution that waits, on whatever runs it, and that must not.
async fn check_no_wait(session: Session) {
    let flight = begin(&session, "a").await;
    let error = session.resolve(to("a"), None).await.unwrap_err();
    let text = "call `a` has not returned (argument `/x`)\nrefer to that call when it has returned";
    assert_eq!(error.to_string(), text);
    drop(flight);
    assert_nothing_kept(&session);
}

#[test]
fn without_a_timer_nothing_waits() {
    // No runtime at all.
    let mut context = Context::from_waker(Waker::noop());
    let done = Box::pin(check_no_wait(session()))
        .as_mut()
        .poll(&mut context);
    assert_eq!(done, Poll::Ready(()));
    // One without a timer, and one where none is asked for.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.build().unwrap().block_on(check_no_wait(session()));
    let options = EngineOptions::default().with_wait(Duration::ZERO);
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let began = Instant::now();
        check_no_wait(session_with(options)).await;
        assert_eq!(began.elapsed(), AT_ONCE);
    });
}

/// A store that is away for so many writes, and takes its time to read.
struct Away {
    store: MemoryStore,
    writes: AtomicUsize,
    reads: Duration,
}

impl Away {
    fn write(&self) -> Result<(), StoreError> {
        let away = |left: usize| left.checked_sub(1);
        let order = Ordering::Relaxed;
        match self.writes.fetch_update(order, order, away) {
            Err(_) => Ok(()),
            Ok(_) => Err(StoreError::Unavailable {
                source: "away".into(),
                retry: true,
            }),
        }
    }

    fn session(self, options: EngineOptions) -> Session {
        let scope = Scope::parse("t", "p", "s").unwrap();
        Engine::new(options, Arc::new(self)).session(scope)
    }
}

#[async_trait]
impl ResultStore for Away {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.write()?;
        self.store.put(scope, call, result).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        if !self.reads.is_zero() {
            tokio::time::sleep(self.reads).await;
        }
        self.store.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.store.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.store.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.store.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.store.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        if self.writes.load(Ordering::Relaxed) > 0 {
            return Err(StoreError::Unavailable {
                source: "away".into(),
                retry: true,
            });
        }
        self.store.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.write()?;
        self.store.remove_session(scope).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.store.sweep().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_result_is_not_stored_stays_in_flight() {
    let store = MemoryStore::new(MemoryLimits::default());
    let away = Away {
        store,
        writes: AtomicUsize::new(2),
        reads: Duration::ZERO,
    };
    let session = away.session(EngineOptions::default());
    let flight = begin(&session, "a").await;
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.resolve(to("a"), None).await }
    });
    assert!(flight.complete(ToolResult::json("1")).await.is_err());
    assert!(flight.fail("no").await.is_err());
    tokio::time::sleep(MINUTE / 2).await;
    assert!(!waiting.is_finished());
    flight.complete(ToolResult::json("1")).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().arguments, json!({"x": 1}));
}

#[tokio::test]
async fn what_may_be_a_reference_is_not_passed_on_while_the_store_cannot_list_its_calls() {
    let away = Away {
        store: MemoryStore::new(MemoryLimits::default()),
        writes: AtomicUsize::new(1),
        reads: Duration::ZERO,
    };
    let session = away.session(EngineOptions::default());
    let arguments = json!({"n": 1, "x": "{{call_1.url}}"});
    let error = session.resolve(arguments, None).await.unwrap_err();
    let [failure] = error.failures() else {
        panic!("{error}");
    };
    assert_eq!(failure.at.as_str(), "/x");
    assert_eq!(failure.error.code(), ErrorCode::StoreUnavailable);
    let data = json!({"x": "no reference"});
    assert!(session.resolve(data, None).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_closed_keeps_its_calls_in_flight() {
    let away = Away {
        store: MemoryStore::new(MemoryLimits::default()),
        writes: AtomicUsize::new(1),
        reads: Duration::ZERO,
    };
    let session = away.session(EngineOptions::default());
    let flight = begin(&session, "a").await;
    assert!(session.close().await.is_err());
    assert_eq!(session.inner().flights.kept(), (1, 1, 0));
    session.close().await.unwrap();
    assert_nothing_kept(&session);
    drop(flight);
}

#[tokio::test(start_paused = true)]
async fn nobody_sees_a_call_before_it_has_begun() {
    let slow = Away {
        store: MemoryStore::new(MemoryLimits::default()),
        writes: AtomicUsize::new(0),
        reads: Duration::from_millis(100),
    };
    let options = EngineOptions::default().with_max_in_flight(1);
    let session = slow.session(options);
    let [a, b, c] = ["a", "b", "c"].map(call);
    session.record(&a, ToolResult::json("1")).await.unwrap();
    // What is recorded reads as ever while it is asked whether the id is free; what is refused in the
    // end takes nobody's place.
    let (refused, stored, resolved, begun) = tokio::join!(
        biased;
        session.begin(&a),
        session.get(&a),
        session.resolve(to("a"), None),
        session.begin(&b),
    );
    let code = refused.unwrap_err().code();
    assert_eq!(code, ErrorCode::RecordDuplicate);
    assert!(stored.is_ok());
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    drop(begun.unwrap());
    // What is not there is not known.
    let (begun, resolved) = tokio::join!(
        biased;
        session.begin(&b),
        session.resolve(to("b"), None),
    );
    assert_eq!(told(&resolved.unwrap_err()).0, [ErrorCode::ResultUnknown]);
    drop(begun.unwrap());
    // Of two that begin at once there is room for one.
    let (one, other) = tokio::join!(biased; session.begin(&b), session.begin(&c));
    let code = other.unwrap_err().code();
    assert_eq!(code, ErrorCode::LimitExceeded);
    drop(one.unwrap());
    // Dropped half-way, it leaves nothing.
    {
        let mut beginning = Box::pin(session.begin(&b));
        let mut context = Context::from_waker(Waker::noop());
        assert!(beginning.as_mut().poll(&mut context).is_pending());
    }
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_leaves_nothing() {
    let session = session_with(EngineOptions::default().with_max_in_flight(0));
    let error = session.begin(&call("a")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitExceeded);
    assert_nothing_kept(&session);
}

/// What is there in place of an id, the nearest first, to what is resolved by a session.
async fn check_offer(session: &Session, id: &str, offered: &str) {
    let error = session.resolve(to(id), None).await.unwrap_err();
    let text = error.to_string();
    let found = text.lines().nth(1);
    assert_eq!(found, Some(format!("found: {offered}").as_str()), "{text}");
}

#[tokio::test(start_paused = true)]
async fn no_call_is_offered_that_would_close_a_circle() {
    let session = session();
    let [a, b, c] = [
        begin(&session, "call_1").await.with_tool("search"),
        begin(&session, "call_2").await,
        begin(&session, "call_3").await,
    ];
    // The second waits for the first, and the third for the second.
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = [(&b, "call_1"), (&c, "call_2")].map(|(flight, on)| {
        let waiting = flight.session().resolve(to(on), None);
        Box::pin(waiting)
    });
    for waiting in &mut waiting {
        assert!(waiting.as_mut().poll(&mut context).is_pending());
    }
    check_offer(a.session(), "call_0", "no results in this session").await;
    check_offer(b.session(), "call_0", "call_1 (search)").await;
    check_offer(c.session(), "call_0", "call_2, call_1 (search)").await;
    // For nobody who could be waited for, and when nobody waits any longer: the last one begun first.
    check_offer(&session, "call_0", "call_3, call_2, call_1 (search)").await;
    drop(waiting);
    check_offer(a.session(), "call_0", "call_3, call_2").await;
    drop((a, b, c));
    assert_nothing_kept(&session);
}

/// Two engines over the same store.
fn two_sessions() -> [Session; 2] {
    let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
    [(); 2].map(|()| {
        let engine = Engine::new(EngineOptions::default(), store.clone());
        engine.session(Scope::parse("t", "p", "s").unwrap())
    })
}

#[tokio::test(start_paused = true)]
async fn what_another_engine_recorded_is_there() {
    let [session, other] = two_sessions();
    let (a, b) = (begin(&session, "a").await, begin(&session, "b").await);
    let result = ToolResult::json("1");
    other.record(&call("a"), result).await.unwrap();
    // It is offered once.
    check_offer(&session, "A", "a").await;
    assert!(session.get(&call("a")).await.is_ok());
    // Nobody here was told, but a wait that ends looks.
    let began = Instant::now();
    let resolved = session.resolve(to("a"), None).await.unwrap();
    assert_eq!(resolved.arguments, json!({"x": 1}));
    assert_eq!(began.elapsed(), MINUTE);
    let both = json!([{"$tool": "a"}, {"$tool": "b"}, {"$tool": 7}]);
    let (codes, text) = told(&session.resolve(both, None).await.unwrap_err());
    let expected = [ErrorCode::ResultPending, ErrorCode::ReferenceMalformed];
    assert_eq!(codes, expected, "{text}");
    // What it returns here is refused, which ends it.
    let (resolved, refused) = tokio::join!(
        session.resolve(to("a"), None),
        a.complete(ToolResult::json("2"))
    );
    assert_eq!(resolved.unwrap().arguments, json!({"x": 1}));
    let code = refused.unwrap_err().code();
    assert_eq!(code, ErrorCode::RecordDuplicate);
    assert_eq!(began.elapsed(), MINUTE);
    assert_eq!(session.inner().flights.kept(), (1, 1, 0));
    drop((a, b));
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_left_does_not_act_for_a_later_one_of_its_id() {
    let session = session();
    let old = begin(&session, "a").await;
    session.close().await.unwrap();
    let new = begin(&session, "a").await.with_tool("new");
    // It neither returns for it, nor names it, nor waits for it, nor gives it up.
    let codes = [
        old.complete(ToolResult::json("2")).await,
        old.session()
            .record(&call("a"), ToolResult::json("2"))
            .await,
        old.fail("no").await,
    ];
    let codes = codes.map(|refused| refused.unwrap_err().code());
    assert_eq!(codes, [ErrorCode::RecordDuplicate; 3]);
    let old = old.with_tool("old");
    let late = old.session().clone();
    let waiting = tokio::spawn(async move { late.resolve(to("a"), None).await });
    tokio::time::sleep(MINUTE / 2).await;
    drop(old);
    assert!(!waiting.is_finished());
    assert_eq!(session.inner().flights.kept(), (1, 1, 1));
    drop(new);
    let text = waiting.await.unwrap().unwrap_err().to_string();
    assert!(text.contains("do not call `new` again"), "{text}");
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn arguments_as_bytes_wait_as_well() {
    let session = session();
    let (a, b) = (begin(&session, "a").await, begin(&session, "b").await);
    let (resolved, completed) = tokio::join!(
        biased;
        b.session().resolve_json(r#"{"x": {"$tool": "a"}}"#, None),
        a.complete(ToolResult::json("1.50")),
    );
    completed.unwrap();
    assert_eq!(resolved.unwrap().arguments.to_vec(), br#"{"x":1.50}"#);
    let c = begin(&session, "c").await;
    let began = Instant::now();
    let (one, other) = tokio::join!(
        b.session().resolve_json(r#"{"x": {"$tool": "c"}}"#, None),
        c.session().resolve_json(r#"{"x": {"$tool": "b"}}"#, None),
    );
    let texts = [one, other].map(|resolved| resolved.unwrap_err().to_string());
    assert!(texts[0].contains("`b` -> `c` -> `b`"), "{}", texts[0]);
    assert!(texts[1].contains("`c` -> `b` -> `c`"), "{}", texts[1]);
    assert_eq!(began.elapsed(), AT_ONCE);
    drop((a, b, c));
    assert_nothing_kept(&session);
}

#[tokio::test(start_paused = true)]
async fn what_is_hopeless_does_not_wait() {
    let session = session();
    let flight = begin(&session, "a").await;
    let large = "x".repeat(100_000);
    let failed = json!({"content": [{"type": "text", "text": large}], "isError": true});
    let whole = json!([large]).to_string();
    for (id, result) in [
        ("mcp", ToolResult::mcp(failed.to_string())),
        ("declared", ToolResult::json(whole.clone()).failed()),
        ("fine", ToolResult::json(whole)),
    ] {
        session.record(&call(id), result).await.unwrap();
    }
    let long = "a".repeat(10_000);
    for (arguments, took) in [
        (json!([{"$tool": "mcp"}, {"$tool": "a"}]), AT_ONCE),
        (json!([{"$tool": "declared"}, {"$tool": "a"}]), AT_ONCE),
        (json!([{"$tool": "a", "$select": " "}]), AT_ONCE),
        (json!([{"$tool": "a", "$select": long}]), AT_ONCE),
        (json!([{"$tool": "fine"}, {"$tool": "a"}]), MINUTE),
        // What does not parse may be repaired, and what a selector finds is known when all is there.
        (json!([{"$tool": "a", "$select": "[[["}]), MINUTE),
        (
            json!([{"$tool": "fine", "$select": "b"}, {"$tool": "a"}]),
            MINUTE,
        ),
    ] {
        let began = Instant::now();
        let error = session.resolve(arguments, None).await.unwrap_err();
        assert_eq!(began.elapsed(), took, "{error}");
    }
    drop(flight);
}

#[tokio::test(start_paused = true)]
async fn a_result_says_what_was_known_of_its_call() {
    let session = session();
    let flight = begin(&session, "a")
        .await
        .with_tool("search")
        .with_arguments("{}");
    flight.complete(ToolResult::json("1")).await.unwrap();
    let stored = session.get(&call("a")).await.unwrap();
    assert_eq!(stored.tool(), Some("search"));
    assert_eq!(stored.arguments().map(|a| &a[..]), Some(&b"{}"[..]));
    // What the result says itself is kept.
    let flight = begin(&session, "b")
        .await
        .with_tool("search")
        .with_arguments("{}");
    let result = ToolResult::json("1")
        .with_tool("fetch")
        .with_arguments("[]");
    flight.complete(result).await.unwrap();
    let stored = session.get(&call("b")).await.unwrap();
    assert_eq!(stored.tool(), Some("fetch"));
    assert_eq!(stored.arguments().map(|a| &a[..]), Some(&b"[]"[..]));
}

/// How many calls a turn has, at most.
const TURN: usize = 7;

/// Which calls of a turn each of them refers to.
fn turn() -> impl Strategy<Value = Vec<BTreeSet<usize>>> {
    let refers = proptest::collection::btree_set(0..TURN, 0..3);
    proptest::collection::vec(refers, TURN)
}

/// The calls that need themselves, by however many others, and those that need such a one.
fn lost(turn: &[BTreeSet<usize>]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let needs = |call: usize| {
        let mut needed = BTreeSet::new();
        let mut next = vec![call];
        while let Some(call) = next.pop() {
            next.extend(turn[call].iter().filter(|on| needed.insert(**on)));
        }
        needed
    };
    let on_circle: BTreeSet<_> = (0..TURN)
        .filter(|call| needs(*call).contains(call))
        .collect();
    let lost =
        (0..TURN).filter(|call| on_circle.contains(call) || !needs(*call).is_disjoint(&on_circle));
    (on_circle.clone(), lost.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the calls of a turn refer to, and in whichever order they run: each of them gets what
    /// it needs or is told why not, and none waits until its time is over.
    #[test]
    fn every_turn_comes_to_an_end(
        turn in turn(),
        order in Just((0..TURN).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (outcomes, took, kept) = runtime.unwrap().block_on(async {
            let session = session();
            let began = Instant::now();
            let mut flights = Vec::new();
            for number in 0..TURN {
                flights.push(begin(&session, &format!("c{number}")).await);
            }
            let running = order.iter().map(|&number| {
                let (flight, refers) = (&flights[number], &turn[number]);
                async move {
                    let arguments = refers.iter().map(|on| json!({"$tool": format!("c{on}")}));
                    let arguments = Value::Array(arguments.collect());
                    let resolved = flight.session().resolve(arguments, None).await;
                    let codes = match resolved {
                        Ok(resolved) => {
                            // What it makes of what it was given: itself and all that.
                            let result = json!([number, resolved.arguments]).to_string();
                            flight.complete(ToolResult::json(result)).await.unwrap();
                            Vec::new()
                        }
                        Err(error) => {
                            flight.fail("refused").await.unwrap();
                            told(&error).0
                        }
                    };
                    (number, codes)
                }
            });
            let outcomes = futures_util::future::join_all(running).await;
            drop(flights);
            (outcomes, began.elapsed(), session.inner().flights.kept())
        });
        prop_assert_eq!((took, kept), (AT_ONCE, (0, 0, 0)));
        let (on_circle, lost) = lost(&turn);
        let mut told_of_circles = 0;
        for (number, codes) in outcomes {
            prop_assert_eq!(codes.is_empty(), !lost.contains(&number), "c{}: {:?}", number, codes);
            let is_circle = codes.contains(&ErrorCode::ResultCycle);
            prop_assert!(!is_circle || on_circle.contains(&number));
            told_of_circles += usize::from(is_circle);
        }
        prop_assert_eq!(told_of_circles == 0, on_circle.is_empty());
    }
}
