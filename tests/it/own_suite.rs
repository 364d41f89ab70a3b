//! Our own language-neutral cases, `suites/crossfeed`: their README says how a file is read.

use crate::bytes::resolve_both;
use crate::support::{artifact, block_on, call, codes, same_json, scope};
use crossfeed_core::{
    AnsweringView, Engine, EngineOptions, Error, InFlight, InputSchema, RepairScope, ResolveError,
    SelectError, SelectOptions, Session, ToolResult,
};
use crossfeed_edit::EditLimits;
use crossfeed_jmespath::Limits;
use crossfeed_json::Document;
use crossfeed_store::{
    ManualClock, MemoryLimits, MemoryStore, Recorded, ResultStore, StoredArtifact,
};
use crossfeed_tests::{ExpectedFailures, suite};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;
use std::{cell::RefCell, collections::HashMap, fs, sync::Arc, time::Duration};

/// A member that is there may be null.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) call_id: String,
    artifact_id: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    raw: Option<String>,
    bytes: Option<Vec<u8>>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    #[serde(default)]
    retrieval_blocked: bool,
    #[serde(default)]
    failed: bool,
    #[serde(default)]
    repeatable: bool,
    kind: Option<String>,
    media_type: Option<String>,
    session: Option<String>,
}

impl Record {
    fn content(&self) -> Vec<u8> {
        match (&self.result, &self.raw, &self.bytes) {
            (Some(Value::String(text)), None, None) if self.kind.as_deref() == Some("text") => {
                text.clone().into_bytes()
            }
            (Some(result), None, None) => result.to_string().into_bytes(),
            (None, Some(raw), None) => raw.clone().into_bytes(),
            (None, None, Some(bytes)) => bytes.clone(),
            _ => panic!("`{}`: one of result, raw, bytes", self.call_id),
        }
    }

    fn to_result(&self) -> ToolResult {
        let content = self.content();
        let mut result = match self.kind.as_deref() {
            None => ToolResult::undeclared(content),
            Some("json") => ToolResult::json(content),
            Some("mcp") => ToolResult::mcp(content),
            Some("text") => ToolResult::text(String::from_utf8(content).unwrap()),
            Some("bytes") => {
                ToolResult::bytes(content, self.media_type.clone().unwrap_or_default())
            }
            Some(other) => panic!("kind `{other}`"),
        };
        if let Some(tool) = &self.tool {
            result = result.with_tool(tool.as_str());
        }
        if let Some(arguments) = &self.arguments {
            result = result.with_arguments(arguments.to_string());
        }
        result = result.with_repeatable(self.repeatable);
        if self.failed { result.failed() } else { result }
    }

    async fn put(&self, session: &Session) -> Result<Recorded, &'static str> {
        let put = match (&self.artifact_id, &self.data) {
            (Some(id), Some(data)) => {
                let document = Document::new(data.to_string());
                let made = StoredArtifact::new(artifact(id), call(&self.call_id), document);
                session
                    .record_artifact(made.with_retrieval_blocked(self.retrieval_blocked))
                    .await
            }
            _ => session.record(&call(&self.call_id), self.to_result()).await,
        };
        put.map_err(|error| error.code().as_str())
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    max_references: Option<usize>,
    max_resolved_bytes: Option<usize>,
    repairs: Option<String>,
    max_chars: Option<usize>,
    steps: Option<u64>,
    output_bytes: Option<usize>,
    #[serde(default)]
    edits: bool,
}

impl Options {
    fn engine(&self) -> EngineOptions {
        let mut limits = Limits::default();
        let mut select = SelectOptions::default();
        if let Some(steps) = self.steps {
            limits = limits.with_base_steps(steps).with_steps_per_value(0);
        }
        if let Some(bytes) = self.output_bytes {
            limits = limits.with_output_bytes(bytes);
        }
        if let Some(chars) = self.max_chars {
            select = select.with_max_chars(chars);
        }
        let mut options = EngineOptions::default().with_select(select.with_limits(limits));
        if let Some(references) = self.max_references {
            options = options.with_max_references(references);
        }
        if let Some(bytes) = self.max_resolved_bytes {
            options = options.with_max_resolved_bytes(bytes);
        }
        if self.edits {
            options = options.with_edits(EditLimits::default());
        }
        options.with_repairs(match self.repairs.as_deref() {
            Some("off") => RepairScope::Off,
            Some("all") => RepairScope::All,
            _ => RepairScope::References,
        })
    }
}

/// A group of cases: what they are given, and what each is asked.
pub(crate) trait Group: DeserializeOwned {
    /// Runs every case and tells each one's name and outcome.
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome));
}

/// Runs every case of a file and holds the outcomes against the suite's list of expected failures.
pub(crate) fn run<G: Group>(file: &str) {
    let text = fs::read_to_string(suite("crossfeed").join(file)).unwrap();
    let groups: Vec<G> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    // Nothing of our own may fail.
    let failures = ExpectedFailures::default();
    let mut run = failures.run();
    for group in &groups {
        group.judge(&mut |name, outcome| run.record(name, outcome));
    }
    if let Err(problems) = run.finish() {
        panic!("{file}: {problems}");
    }
}

pub(crate) type Outcome = Result<(), String>;

pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is {found:?}, not {expected:?}"))
}

/// The same JSON in the same order.
pub(crate) fn equal_json(what: &str, found: &Value, expected: &Value) -> Outcome {
    equal(what, found.to_string(), expected.to_string())
}

pub(crate) async fn fresh(options: &Options, records: &[Record]) -> Session {
    let engine = Engine::in_memory(options.engine());
    for record in records {
        let session = engine.session(scope(record.session.as_deref().unwrap_or("session")));
        record.put(&session).await.unwrap();
    }
    engine.session(scope("session"))
}

fn compiled(schema: &Option<Value>) -> Option<InputSchema> {
    let schema = schema.clone()?;
    Some(InputSchema::compile(schema).unwrap())
}

/// Resolves each of the arguments in one session with the records.
fn resolve_each<'a>(
    schema: &Option<Value>,
    options: &Options,
    records: &[Record],
    arguments: impl Iterator<Item = &'a Value>,
) -> Vec<Result<crossfeed_core::Resolved, ResolveError>> {
    let schema = compiled(schema);
    block_on(async {
        let session = fresh(options, records).await;
        let mut found = Vec::new();
        for arguments in arguments {
            found.push(resolve_both(&session, arguments, schema.as_ref()).await);
        }
        found
    })
}

// ---- references.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct References {
    #[serde(rename = "about")]
    _about: String,
    schema: Option<Value>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    records: Vec<Record>,
    cases: Vec<ReferenceCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceCase {
    name: String,
    arguments: Value,
    #[serde(default, deserialize_with = "present")]
    resolved: Option<Value>,
    #[serde(default)]
    errors: Vec<ExpectedError>,
    lineage: Option<Vec<(String, String)>>,
    ignored: Option<Vec<String>>,
    repairs: Option<Vec<(String, String, String)>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    code: String,
    at: String,
    call_id: Option<String>,
    expression: Option<String>,
}

impl ReferenceCase {
    fn judge(&self, found: Result<crossfeed_core::Resolved, ResolveError>) -> Outcome {
        let resolved = match (found, &self.resolved) {
            (Ok(found), Some(expected)) => {
                equal_json("the outcome", &found.arguments, expected)?;
                found
            }
            (Ok(found), None) => return Err(format!("resolved to {}", found.arguments)),
            (Err(error), Some(_)) => return Err(error.to_string()),
            (Err(error), None) => return self.judge_errors(&error),
        };
        if let Some(expected) = &self.lineage {
            let places = resolved
                .lineage
                .iter()
                .map(|link| (link.at.to_string(), link.source.call_id.to_string()));
            equal("the lineage", &places.collect(), expected)?;
        }
        if let Some(expected) = &self.ignored {
            let keys = resolved
                .lineage
                .iter()
                .flat_map(|link| link.ignored.clone());
            equal("what was ignored", &keys.collect(), expected)?;
        }
        let repairs = resolved.repairs.iter();
        let repairs: Vec<_> = repairs
            .map(|r| (r.at.to_string(), r.from.to_owned(), r.to.to_owned()))
            .collect();
        equal(
            "the repairs",
            &repairs,
            self.repairs.as_ref().unwrap_or(&Vec::new()),
        )
    }

    fn judge_errors(&self, error: &ResolveError) -> Outcome {
        let expected: Vec<_> = self
            .errors
            .iter()
            .map(|e| (e.code.as_str(), e.at.clone()))
            .collect();
        equal("the errors", codes(error), expected)?;
        for (failure, expected) in error.failures().iter().zip(&self.errors) {
            let body = failure.body();
            if expected.call_id.is_some() {
                equal("the call id", &body.call_id, &expected.call_id)?;
            }
            if expected.expression.is_some() {
                equal("the expression", &body.expression, &expected.expression)?;
            }
        }
        Ok(())
    }
}

#[test]
fn references() {
    run::<References>("references.json");
}

impl Group for References {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let arguments = self.cases.iter().map(|case| &case.arguments);
        let found = resolve_each(&self.schema, &self.options, &self.records, arguments);
        for (case, found) in self.cases.iter().zip(found) {
            outcome(&case.name, case.judge(found));
        }
    }
}

// ---- canonical.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Canonical {
    #[serde(rename = "about")]
    _about: String,
    record: Record,
    cases: Vec<CanonicalCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CanonicalCase {
    name: String,
    select: Option<String>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    view: Option<String>,
    error: Option<String>,
}

#[test]
fn canonical_values() {
    run::<Canonical>("canonical.json");
}

impl Group for Canonical {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        block_on(async {
            let session = fresh(&Options::default(), std::slice::from_ref(&self.record)).await;
            for case in &self.cases {
                let mut reference = serde_json::json!({"$tool": self.record.call_id});
                if let Some(select) = &case.select {
                    reference["$select"] = select.as_str().into();
                }
                let found = session.resolve(reference, None).await;
                outcome(&case.name, case.judge(found));
            }
        });
    }
}

impl CanonicalCase {
    fn judge(&self, found: Result<crossfeed_core::Resolved, ResolveError>) -> Outcome {
        match (found, &self.value, &self.error) {
            (Ok(found), Some(value), None) => {
                equal_json("the value", &found.arguments, value)?;
                let report = found.lineage[0].source.report.as_ref();
                let view = report.map_or("canonical", |report| report.view.as_str());
                equal(
                    "the view",
                    view,
                    self.view.as_deref().unwrap_or("canonical"),
                )
            }
            (Err(error), None, Some(code)) => equal("the code", codes(&error)[0].0, code),
            (found, ..) => Err(format!("{:?}", found.map(|found| found.arguments))),
        }
    }
}

// ---- select.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Select {
    #[serde(rename = "about")]
    _about: String,
    #[serde(default, deserialize_with = "present")]
    given: Option<Value>,
    raw: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    options: Options,
    cases: Vec<SelectCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectCase {
    name: String,
    expression: String,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    raw: Option<String>,
    evaluated: Option<String>,
    repairs: Option<Vec<String>>,
    view: Option<String>,
    notice: Option<String>,
    error: Option<String>,
    message: Option<String>,
    nearest: Option<Vec<String>>,
}

#[test]
fn selectors() {
    run::<Select>("select.json");
}

impl Group for Select {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        block_on(async {
            let record = Record {
                call_id: "c".to_owned(),
                artifact_id: None,
                tool: None,
                arguments: None,
                result: self.given.clone(),
                raw: self.raw.clone(),
                bytes: None,
                data: None,
                retrieval_blocked: false,
                failed: false,
                repeatable: false,
                kind: self.kind.clone(),
                media_type: None,
                session: None,
            };
            let session = fresh(&self.options, &[record]).await;
            for case in &self.cases {
                outcome(&case.name, case.judge(&session).await);
            }
        });
    }
}

impl SelectCase {
    async fn judge(&self, session: &Session) -> Outcome {
        let found = match session.select(&call("c"), &self.expression).await {
            Ok(found) => found,
            Err(failure) => return self.judge_error(&failure.error),
        };
        let json = String::from_utf8(found.json).unwrap();
        match (&self.value, &self.raw) {
            (Some(value), None) if same_json(&json, &value.to_string()) => {
                let as_value: Value = serde_json::from_str(&json).unwrap();
                equal_json("the value", &as_value, value)?;
            }
            (None, Some(raw)) => equal("the value", &json, raw)?,
            _ => return Err(format!("selected {json}")),
        }
        let report = found.report;
        let rules = report
            .repairs
            .iter()
            .map(|repair| repair.rule.as_str().to_owned());
        equal(
            "the repairs",
            &rules.collect(),
            self.repairs.as_ref().unwrap_or(&Vec::new()),
        )?;
        for pair in report.repairs.windows(2) {
            equal("a repair's beginning", &pair[1].before, &pair[0].after)?;
        }
        if let Some(evaluated) = &self.evaluated {
            equal("what was evaluated", &report.evaluated, evaluated)?;
        }
        let view = match report.view {
            AnsweringView::Canonical => "canonical",
            AnsweringView::Envelope => "envelope",
            AnsweringView::Shown => "shown",
        };
        equal(
            "the view",
            view,
            self.view.as_deref().unwrap_or("canonical"),
        )?;
        let notice = report.notice.map(|notice| notice.to_string());
        equal("the notice", &notice, &self.notice)
    }

    fn judge_error(&self, error: &Error) -> Outcome {
        let code = error.code().as_str();
        let Some(expected) = &self.error else {
            return Err(format!("{code}: {error}; {}", error.advice()));
        };
        equal("the code", code, expected)?;
        if let Some(message) = &self.message {
            equal("the message", &error.to_string(), message)?;
        }
        let nearest = match error {
            Error::Select(
                SelectError::MatchedNothing { nearest, .. }
                | SelectError::Invalid { nearest, .. }
                | SelectError::Mismatch { nearest, .. },
            ) => nearest.clone(),
            _ => Vec::new(),
        };
        match &self.nearest {
            Some(expected) => equal("the nearest", &nearest, expected),
            None => Ok(()),
        }
    }
}

// ---- errors.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Errors {
    #[serde(rename = "about")]
    _about: String,
    schema: Option<Value>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    records: Vec<Record>,
    cases: Vec<ErrorCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorCase {
    name: String,
    arguments: Value,
    report: Value,
}

#[test]
fn error_reports() {
    run::<Errors>("errors.json");
}

impl Group for Errors {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let arguments = self.cases.iter().map(|case| &case.arguments);
        let found = resolve_each(&self.schema, &self.options, &self.records, arguments);
        for (case, found) in self.cases.iter().zip(found) {
            let judged = match found {
                Ok(found) => Err(format!("resolved to {}", found.arguments)),
                Err(error) => {
                    let report = serde_json::to_value(error.report()).unwrap();
                    equal_json("the report", &report, &case.report)
                }
            };
            outcome(&case.name, judged);
        }
    }
}

// ---- sessions.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Story {
    name: String,
    #[serde(default = "no_limits")]
    limits: StoreLimits,
    steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

fn no_limits() -> StoreLimits {
    serde_json::from_str("{}").unwrap()
}

/// Limits of the store, and of calls in flight.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreLimits {
    /// The most calls in flight.
    in_flight: Option<usize>,
    /// Whether references wait for calls in flight.
    #[serde(default = "yes")]
    waits: bool,
    time_to_live_ms: Option<u64>,
    max_age_ms: Option<u64>,
    session_bytes: Option<usize>,
    session_results: Option<usize>,
    total_bytes: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    Record {
        record: Record,
        outcome: String,
    },
    Wait {
        ms: u64,
    },
    Resolve(Resolve),
    /// Begins a call: `begun`, or the code of an error.
    Begin {
        call: Begun,
        outcome: String,
    },
    /// A call in flight returns.
    Complete {
        record: Record,
        outcome: String,
    },
    /// A call in flight fails.
    Fail {
        call_id: String,
        message: String,
    },
    /// A call in flight is dropped.
    GiveUp {
        call_id: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    call_id: String,
    session: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    #[serde(default)]
    repeatable: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolve {
    arguments: Value,
    session: Option<String>,
    /// The call in flight that it is for.
    r#for: Option<String>,
    /// What happens when it has begun: it ends only then.
    #[serde(default)]
    meanwhile: Vec<Step>,
    #[serde(default, deserialize_with = "present")]
    resolved: Option<Value>,
    report: Option<Value>,
}

#[test]
fn sessions() {
    run::<Story>("sessions.json");
}

impl Group for Story {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        outcome(&self.name, block_on(self.outcome(false)));
        let as_bytes = format!("{}, arguments as bytes", self.name);
        outcome(&as_bytes, block_on(self.outcome(true)));
    }
}

impl Story {
    async fn outcome(&self, as_bytes: bool) -> Outcome {
        let mut limits = MemoryLimits::default();
        let given = &self.limits;
        if let Some(ms) = given.time_to_live_ms {
            limits = limits.with_time_to_live(Duration::from_millis(ms));
        }
        if let Some(ms) = given.max_age_ms {
            limits = limits.with_max_age(Duration::from_millis(ms));
        }
        if let Some(bytes) = given.session_bytes {
            limits = limits.with_session_bytes(bytes);
        }
        if let Some(results) = given.session_results {
            limits = limits.with_session_results(results);
        }
        if let Some(bytes) = given.total_bytes {
            limits = limits.with_total_bytes(bytes);
        }
        let clock = Arc::new(ManualClock::new());
        let store: Arc<dyn ResultStore> = Arc::new(MemoryStore::with_clock(limits, clock.clone()));
        let mut options = EngineOptions::default();
        if let Some(calls) = given.in_flight {
            options = options.with_max_in_flight(calls);
        }
        if !given.waits {
            options = options.with_wait(Duration::ZERO);
        }
        let play = Play {
            engine: Engine::new(options, store),
            clock,
            flights: RefCell::default(),
            as_bytes,
        };
        play.steps(&self.steps, "step").await
    }
}

/// A story as it is played.
struct Play {
    engine: Engine,
    clock: Arc<ManualClock>,
    /// The calls in flight, by their ids.
    flights: RefCell<HashMap<String, InFlight>>,
    /// Whether arguments are resolved to bytes, and not to a value.
    as_bytes: bool,
}

impl Play {
    fn session(&self, name: &Option<String>) -> Session {
        let name = name.as_deref().unwrap_or("session");
        self.engine.session(scope(name))
    }

    /// Takes a call in flight, to end it.
    fn flight(&self, call_id: &str) -> Result<InFlight, String> {
        let flight = self.flights.borrow_mut().remove(call_id);
        flight.ok_or(format!("`{call_id}` is not in flight"))
    }

    async fn resolve(&self, session: &Session, arguments: &Value) -> Result<Value, ResolveError> {
        if !self.as_bytes {
            let resolved = session.resolve(arguments.clone(), None).await?;
            return Ok(resolved.arguments);
        }
        let resolved = session.resolve_json(arguments.to_string(), None).await?;
        Ok(serde_json::from_slice(&resolved.arguments.to_vec()).unwrap())
    }

    async fn steps(&self, steps: &[Step], within: &str) -> Outcome {
        for (number, step) in steps.iter().enumerate() {
            let what = format!("{within} {}", number + 1);
            // What happens meanwhile has steps, too.
            Box::pin(self.step(step, &what)).await?;
        }
        Ok(())
    }

    async fn step(&self, step: &Step, what: &str) -> Outcome {
        match step {
            Step::Wait { ms } => self.clock.advance(Duration::from_millis(*ms)),
            Step::Record { record, outcome } => {
                let found = match record.put(&self.session(&record.session)).await {
                    Ok(Recorded::New) => "new",
                    Ok(Recorded::Unchanged) => "unchanged",
                    Err(code) => code,
                };
                equal(what, found, outcome)?;
            }
            Step::Begin {
                call: begun,
                outcome,
            } => {
                let session = self.session(&begun.session);
                let found = match session.begin(&call(&begun.call_id)).await {
                    Ok(mut flight) => {
                        if let Some(tool) = &begun.tool {
                            flight = flight.with_tool(tool.as_str());
                        }
                        if let Some(arguments) = &begun.arguments {
                            flight = flight.with_arguments(arguments.to_string());
                        }
                        flight = flight.with_repeatable(begun.repeatable);
                        let mut flights = self.flights.borrow_mut();
                        flights.insert(begun.call_id.clone(), flight);
                        "begun"
                    }
                    Err(error) => error.code().as_str(),
                };
                equal(what, found, outcome)?;
            }
            Step::Complete { record, outcome } => {
                let flight = self.flight(&record.call_id)?;
                let found = match flight.complete(record.to_result()).await {
                    Ok(Recorded::New) => "new",
                    Ok(_) => "unchanged",
                    Err(error) => error.code().as_str(),
                };
                equal(what, found, outcome)?;
            }
            Step::Fail { call_id, message } => {
                let flight = self.flight(call_id)?;
                let failed = flight.fail(message.as_str()).await;
                failed.map_err(|error| format!("{what}: {error}"))?;
            }
            Step::GiveUp { call_id } => drop(self.flight(call_id)?),
            Step::Resolve(step) => {
                let own = step.r#for.as_ref().and_then(|call_id| {
                    let flights = self.flights.borrow();
                    flights.get(call_id).map(|flight| flight.session().clone())
                });
                let session = own.unwrap_or_else(|| self.session(&step.session));
                let resolving = self.resolve(&session, &step.arguments);
                // It is asked first, so that it waits for what ends meanwhile.
                let within = format!("{what}, meanwhile");
                let (found, meanwhile) =
                    tokio::join!(biased; resolving, self.steps(&step.meanwhile, &within));
                meanwhile?;
                match found {
                    Ok(found) => {
                        let expected = step.resolved.as_ref().ok_or(format!("{what} resolves"))?;
                        equal_json(what, &found, expected)?;
                    }
                    Err(error) => {
                        let report = serde_json::to_value(error.report()).unwrap();
                        let expected = step.report.as_ref().ok_or(format!("{what}: {error}"))?;
                        equal_json(what, &report, expected)?;
                    }
                }
            }
        }
        Ok(())
    }
}
