//! The session that the demo shows. The loop is that of any orchestrator: begin all calls of a turn, resolve the references in
//! the arguments of each, run the tool, record its result, and show the model a small result whole and a preview of a large
//! one.

use super::{
    artifacts,
    script::{Call, Script},
    tools::{self, Data, Tool},
};
use crate::{
    records,
    report::{CommandError, Result},
    resolve,
};
use crossfeed::{
    CallId, Engine, EngineOptions, ErrorCode, Fault, InFlight, RenderOptions, Resolved, Session,
    resolve::LineageEntry,
    store::{ManualClock, MemoryLimits, MemoryStore},
    telemetry::Telemetry,
};
use futures_util::future::try_join_all;
use serde_json::Value;
use std::{borrow::Cow, sync::Arc, time::Duration};
use tracing::Instrument as _;

/// The budget of what the model is shown: less than the default, since a person reads every turn, too.
const BUDGET_TOKENS: usize = 300;

/// What happened in the session.
pub(super) struct Transcript {
    /// The source of the data.
    pub(super) origin: String,
    /// The task of the user.
    pub(super) task: &'static str,
    pub(super) turns: Vec<Turn>,
}

impl Transcript {
    /// The calls of all turns.
    pub(super) fn calls(&self) -> impl Iterator<Item = &CallRecord> {
        self.turns.iter().flat_map(|turn| &turn.calls)
    }

    /// The calls whose tools ran.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&CallRecord, &ToolRun)> {
        self.calls()
            .filter_map(|call| Some((call, call.outcome.run.as_ref()?)))
    }
}

/// One turn of the model.
pub(super) struct Turn {
    /// How many hours pass before it.
    pub(super) hours_later: u32,
    /// What the model says besides its calls.
    pub(super) says: &'static str,
    pub(super) calls: Vec<CallRecord>,
}

impl Turn {
    pub(super) fn has(&self, call_id: &str) -> bool {
        self.calls.iter().any(|call| call.call_id == call_id)
    }
}

/// One call and its outcome.
pub(super) struct CallRecord {
    pub(super) call_id: String,
    pub(super) tool: &'static str,
    /// The arguments as the model wrote them.
    pub(super) written: &'static str,
    pub(super) outcome: Outcome,
}

/// The outcome of a call.
#[derive(Default)]
pub(super) struct Outcome {
    /// What the engine did, or that it refused the call.
    pub(super) engine: Vec<String>,
    /// Why the engine refused the call.
    pub(super) refusal: Option<Refusal>,
    /// The run of the tool; `None` if the call was refused, and for the engine's own tools.
    pub(super) run: Option<ToolRun>,
    /// What the model is shown: the result, a preview of it, or an error.
    pub(super) shown: String,
}

/// The first error of a call that was refused.
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    /// The place in the arguments.
    pub(super) at: String,
    /// The call that the reference names.
    pub(super) refers_to: Option<String>,
}

/// What a tool received and returned.
pub(super) struct ToolRun {
    pub(super) arguments: Value,
    /// The result as a model would read it.
    pub(super) result: String,
    /// Where the values in the arguments came from.
    pub(super) lineage: Vec<LineageEntry>,
    /// The calls of the same turn that had to return first.
    pub(super) waited_for: Vec<String>,
    /// Whether the model was shown a preview of the result.
    pub(super) is_cut: bool,
}

/// Runs the session.
pub(super) async fn run(telemetry: Arc<dyn Telemetry>) -> Result<Transcript> {
    // Time passes when the script says so.
    let clock = Arc::new(ManualClock::default());
    let store = MemoryStore::with_clock(MemoryLimits::default(), clock.clone());
    let engine = Engine::new(
        EngineOptions::default().with_telemetry(telemetry),
        Arc::new(store),
    );
    let demo = Demo {
        session: engine.session(records::named_scope("demo")?),
        data: Data::load()?,
        tools: tools::all(&engine)?,
    };
    let script = Script::load()?;
    let mut turns = Vec::new();
    let mut numbers = 1..;
    for turn in &script.turns {
        clock.advance(Duration::from_secs(3600) * turn.hours_later);
        let ids = numbers.by_ref().map(|number| format!("call_{number}"));
        let calls: Vec<_> = turn.calls.iter().zip(ids).collect();
        let outcomes = demo.turn(&calls).await?;
        let calls = calls.into_iter().zip(outcomes);
        turns.push(Turn {
            hours_later: turn.hours_later,
            says: turn.says,
            calls: calls
                .map(|((call, call_id), outcome)| CallRecord {
                    call_id,
                    tool: call.tool,
                    written: call.arguments(),
                    outcome,
                })
                .collect(),
        });
    }
    Ok(Transcript {
        origin: demo.data.origin(),
        task: script.task,
        turns,
    })
}

struct Demo {
    session: Session,
    data: Data,
    tools: Vec<Tool>,
}

impl Demo {
    /// Runs the calls of one turn at once. All of them begin before any runs, so that each may refer to any other.
    async fn turn(&self, calls: &[(&Call, String)]) -> Result<Vec<Outcome>> {
        let mut begun = Vec::new();
        for (call, id) in calls {
            let tool = self.tools.iter().find(|tool| tool.name == call.tool);
            begun.push(match tool {
                Some(tool) => Some((tool, self.begin(id, tool).await?)),
                None => None,
            });
        }
        let ids: Vec<_> = calls.iter().map(|(_, id)| id.as_str()).collect();
        let running = calls.iter().zip(&begun).map(|((call, id), begun)| {
            let ids = &ids;
            let span = match begun {
                Some((_, flight)) => flight.span().clone(),
                None => artifact_span(id, call),
            };
            let run = async move {
                match begun {
                    Some((tool, flight)) => self.call(tool, flight, call, ids).await,
                    None => Ok(Outcome {
                        shown: artifacts::call(&self.session, call).await?,
                        ..Outcome::default()
                    }),
                }
            };
            run.instrument(span)
        });
        // The last call runs first: the call that it refers to has not returned, so that it waits every time.
        let running: Vec<_> = running.collect();
        let mut outcomes = try_join_all(running.into_iter().rev()).await?;
        outcomes.reverse();
        Ok(outcomes)
    }

    async fn begin(&self, id: &str, tool: &Tool) -> Result<InFlight> {
        let flight = self.session.begin(&CallId::parse(id)?).await;
        let flight =
            flight.map_err(|error| CommandError::answer(error.code(), error.to_string()))?;
        Ok(flight.with_tool(tool.name).with_repeatable(tool.reads_only))
    }

    /// The calls that are in flight now.
    async fn in_flight<'c>(&self, calls: &[&'c str]) -> Result<Vec<&'c str>> {
        let mut in_flight = Vec::new();
        for id in calls {
            let error = self.session.get(&CallId::parse(id)?).await.err();
            if error.is_some_and(|error| error.code() == ErrorCode::ResultPending) {
                in_flight.push(*id);
            }
        }
        Ok(in_flight)
    }

    /// Resolves, runs, records, shows.
    async fn call(
        &self,
        tool: &Tool,
        flight: &InFlight,
        call: &Call,
        turn: &[&str],
    ) -> Result<Outcome> {
        let written: Value = serde_json::from_str(call.arguments()).map_err(|error| {
            CommandError::answer(ErrorCode::ArgumentsInvalid, error.to_string())
        })?;
        let mut engine = serialised(&written);
        let in_flight = self.in_flight(turn).await?;
        let schema = Some(&tool.input_schema);
        let resolved = match flight.session().resolve(written, schema).await {
            Ok(resolved) => resolved,
            // An error that the model can fix is the result of its call.
            Err(error) if error.fault() == Fault::Model => {
                flight.fail("the call was refused").await?;
                let first = error.failures().first();
                return Ok(Outcome {
                    engine: vec!["the call is refused; the tool does not run".to_owned()],
                    refusal: first.map(|failure| Refusal {
                        code: failure.error.code(),
                        at: failure.at.as_str().to_owned(),
                        refers_to: failure.call_id.as_ref().map(ToString::to_string),
                    }),
                    run: None,
                    shown: error.to_string(),
                });
            }
            Err(error) => return Err(error.into()),
        };
        let waited_for = sources_in_flight(&resolved, &in_flight);
        let wait = |id| format!("{id} is in flight: this call waits until it has returned");
        engine.extend(waited_for.iter().map(wait));
        engine.extend(remarks(&resolved));
        let output = (tool.run)(&self.data, &resolved.arguments).map_err(CommandError::Usage)?;
        flight.complete(output.to_result()).await?;
        let options = RenderOptions::default().with_budget(BUDGET_TOKENS);
        let rendered = self.session.render(flight.call_id(), &options).await?;
        let preview = rendered.preview_text().map(Cow::into_owned);
        Ok(Outcome {
            engine,
            refusal: None,
            run: Some(ToolRun {
                arguments: resolved.arguments,
                result: output.text(),
                lineage: resolved.lineage,
                waited_for,
                is_cut: preview.is_some(),
            }),
            shown: preview.unwrap_or(rendered.json),
        })
    }
}

/// The host's own span for a call that the engine does not see.
fn artifact_span(id: &str, call: &Call) -> tracing::Span {
    tracing::info_span!(
        "execute_tool",
        "otel.name" = format!("execute_tool {}", call.tool),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = call.tool,
        "gen_ai.tool.call.id" = id,
    )
}

/// Remarks on references that were written as strings.
fn serialised(written: &Value) -> Vec<String> {
    let members = written.as_object().into_iter().flatten();
    let is_text = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| text.starts_with("{\"$tool\""))
    };
    members
        .filter(|(_, value)| is_text(value))
        .map(|(name, _)| format!("/{name} is a reference that was written as a string"))
        .collect()
}

/// The calls that this call refers to and that were in flight when it began.
fn sources_in_flight(resolved: &Resolved, in_flight: &[&str]) -> Vec<String> {
    let is_source = |id: &&&str| {
        let mut lineage = resolved.lineage.iter();
        lineage.any(|link| link.source.call_id.as_str() == **id)
    };
    let sources = in_flight.iter().filter(is_source);
    sources.map(ToString::to_string).collect()
}

/// What the engine did, without the usual view.
fn remarks(resolved: &Resolved) -> Vec<String> {
    let mut lines = resolve::remarks(&resolved.lineage, &resolved.repairs);
    lines.retain(|line| line != "view: canonical");
    if lines.is_empty() {
        lines.push("no references".to_owned());
    }
    lines
}
