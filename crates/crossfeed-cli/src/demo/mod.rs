//! `crossfeed demo`: an agent session over bundled data.
//!
//! The loop is that of any orchestrator: begin all calls of a turn, resolve the references in the arguments of each, run
//! the tool, record its result, and show the model a small result whole and a preview of a large one. The model's turns
//! are scripted ([`script`]); the tools are real ([`tools`]), those for artifacts are the engine's own ([`artifacts`]),
//! and the engine computes every result, resolution, error, preview and count. The run's trace follows, as a host's
//! pipeline would export it ([`trace`]). The output is the same every time.

mod account;
mod artifacts;
mod script;
mod tools;
mod trace;

use crate::{
    cli,
    report::{CommandError, Result, Streams},
    resolve,
    runtime::block_on,
};
use account::{Entry, Size, Without};
use crossfeed::{
    CallId, Engine, EngineOptions, ErrorCode, Fault, InFlight, RenderOptions, Resolved, Session,
    select::Shape,
    store::{ManualClock, MemoryLimits, MemoryStore},
};
use futures_util::future::try_join_all;
use script::{Call, Script};
use serde_json::Value;
use std::{
    borrow::Cow,
    io::{self, Write},
    sync::Arc,
    time::Duration,
};
use tools::{Data, Tool};
use trace::Tracing;
use tracing::Instrument as _;

/// The budget of what the model is shown: less than the default, since a person reads every turn, too.
const BUDGET_TOKENS: usize = 300;
/// Characters of a line.
const WIDTH: usize = 100;
/// Characters of the words on the left.
const MARGIN: usize = 10;
/// Longer arguments are shown as their shape.
const MAX_ARGUMENTS_BYTES: usize = 200;
/// The tool whose result answers the task.
const REPORT: &str = "write_report";
/// Lines of the report that are shown.
const REPORT_LINES: usize = 10;

pub(crate) fn run(args: &cli::Demo, io: &mut Streams<'_>) -> Result {
    let tracing = Tracing::start(args.otlp.as_ref())?;
    let agent = tracing::info_span!(
        "invoke_agent demo",
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.agent.name" = "demo",
    );
    block_on(show(&tracing, io.out).instrument(agent))?;
    trace::write(&tracing.spans(), io.out)?;
    // The answer comes before the delivery of telemetry.
    io.out.flush()?;
    if let Some(line) = tracing.finish()? {
        io.remark(line);
    }
    Ok(())
}

/// The session itself.
async fn show(tracing: &Tracing, out: &mut dyn Write) -> Result {
    // Time passes when the script says so.
    let clock = Arc::new(ManualClock::default());
    let store = MemoryStore::with_clock(MemoryLimits::default(), clock.clone());
    let engine = Engine::new(
        EngineOptions::default().with_telemetry(tracing.telemetry()),
        Arc::new(store),
    );
    let scope = crate::records::named_scope("demo")?;
    let demo = Demo {
        session: engine.session(scope),
        data: Data::load()?,
        tools: tools::all(&engine)?,
    };
    writeln!(out, "crossfeed demo: an agent session, step by step\n")?;
    writeln!(
        out,
        "The model's turns are scripted; everything else is computed while this runs.\n\
         The calls of a turn run at once; one that refers to another of its turn waits for it."
    )?;
    entry(out, "data", &demo.data.origin())?;
    let script = Script::load()?;
    entry(out, "user", script.task)?;
    let mut entries = Vec::new();
    let mut report = String::new();
    for (number, turn) in (1..).zip(&script.turns) {
        let passed = match turn.hours_later {
            0 => String::new(),
            hours => format!(", {hours} hours later"),
        };
        clock.advance(Duration::from_secs(3600) * turn.hours_later);
        writeln!(out, "\nTurn {number}{passed}: {}", turn.says)?;
        let ids = (entries.len() + 1..).map(|number| format!("call_{number}"));
        let calls: Vec<_> = ids.zip(&turn.calls).collect();
        let outcomes = demo.turn(&calls).await?;
        for ((call_id, call), outcome) in calls.into_iter().zip(outcomes) {
            writeln!(out)?;
            entry(out, "model", &format!("{} {}", call.tool, call.arguments()))?;
            for line in &outcome.engine {
                entry(out, "engine", line)?;
            }
            if let Some(run) = &outcome.run {
                entry(out, "received", &received(&run.arguments))?;
                let size = Size::of(&run.result);
                let (bytes, tokens) = (size.bytes, size.tokens);
                let line = format!("{bytes} bytes, about {tokens} tokens, recorded as {call_id}");
                entry(out, "returned", &line)?;
                if call.tool == REPORT {
                    report.clone_from(&run.result);
                }
            }
            entry(out, "shown", &outcome.shown)?;
            entries.push(outcome.account(call_id, call));
        }
    }
    writeln!(
        out,
        "\nThe report, of which the model has read the beginning:\n"
    )?;
    for line in report.lines().take(REPORT_LINES) {
        let line = format!("  {line}");
        writeln!(out, "{}", line.trim_end())?;
    }
    let more = report.lines().count().saturating_sub(REPORT_LINES);
    writeln!(out, "  ... {more} more lines\n")?;
    account::write(&entries, &demo.session.usage(), out)?;
    Ok(())
}

/// The outcome of a call.
struct Outcome {
    /// What the engine did, or that it refused the call.
    engine: Vec<String>,
    /// The run of the tool, unless the call was refused.
    run: Option<ToolRun>,
    /// What the model is shown.
    shown: String,
}

/// What a tool received and returned.
struct ToolRun {
    arguments: Value,
    result: String,
}

struct Demo {
    session: Session,
    data: Data,
    tools: Vec<Tool>,
}

impl Demo {
    /// Runs the calls of one turn at once. All of them begin before any runs, so that each may refer to any other.
    async fn turn(&self, calls: &[(String, &Call)]) -> Result<Vec<Outcome>> {
        let mut begun = Vec::new();
        for (id, call) in calls {
            let tool = self.tools.iter().find(|tool| tool.name == call.tool);
            begun.push(match tool {
                Some(tool) => Some((tool, self.begin(id, tool).await?)),
                None => None,
            });
        }
        let ids: Vec<_> = calls.iter().map(|(id, _)| id.as_str()).collect();
        let running = calls.iter().zip(&begun).map(|((id, call), begun)| {
            let ids = &ids;
            let span = match begun {
                Some((_, flight)) => flight.span().clone(),
                None => artifact_span(id, call),
            };
            let run = async move {
                match begun {
                    Some((tool, flight)) => self.call(tool, flight, call, ids).await,
                    None => Ok(Outcome {
                        engine: Vec::new(),
                        run: None,
                        shown: artifacts::call(&self.session, call).await?,
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
                return Ok(Outcome {
                    engine: vec!["the call is refused; the tool does not run".to_owned()],
                    run: None,
                    shown: error.to_string(),
                });
            }
            Err(error) => return Err(error.into()),
        };
        engine.extend(waits(&resolved, &in_flight));
        engine.extend(remarks(&resolved));
        let output = (tool.run)(&self.data, &resolved.arguments).map_err(CommandError::Usage)?;
        flight.complete(output.to_result()).await?;
        let options = RenderOptions::default().with_budget(BUDGET_TOKENS);
        let rendered = self.session.render(flight.call_id(), &options).await?;
        let preview = rendered.preview_text().map(Cow::into_owned);
        Ok(Outcome {
            engine,
            run: Some(ToolRun {
                arguments: resolved.arguments,
                result: output.text(),
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

impl Outcome {
    /// The entry of the call in the account.
    fn account(&self, call_id: String, call: &Call) -> Entry {
        Entry {
            call_id,
            tool: call.tool,
            written: Size::of(call.arguments()),
            shown: Size::of(&self.shown),
            without: self.run.as_ref().map(|run| Without {
                typed: Size::of(&run.arguments.to_string()),
                read: Size::of(&run.result),
            }),
        }
    }
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

/// Remarks on the calls that this call refers to and that were in flight when it began.
fn waits(resolved: &Resolved, in_flight: &[&str]) -> Vec<String> {
    let is_source = |id: &&&str| {
        let mut lineage = resolved.lineage.iter();
        lineage.any(|link| link.source.call_id.as_str() == **id)
    };
    let waits = in_flight.iter().filter(is_source);
    let line = |id| format!("{id} is in flight: this call waits until it has returned");
    waits.map(line).collect()
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

/// The arguments that the tool received if they are short, else their shape.
fn received(arguments: &Value) -> String {
    let text = arguments.to_string();
    if text.len() <= MAX_ARGUMENTS_BYTES {
        return text;
    }
    format!("{} ({} bytes)", Shape::from_value(arguments), text.len())
}

/// Writes a word at the left and a text beside it, wrapped.
fn entry(out: &mut dyn Write, word: &str, text: &str) -> io::Result<()> {
    let mut head = word;
    for line in text.lines().flat_map(|line| wrap(line, WIDTH - MARGIN)) {
        let line = format!("{head:MARGIN$}{line}");
        writeln!(out, "{}", line.trim_end())?;
        head = "";
    }
    Ok(())
}

/// Breaks a line at blanks into parts of at most `width` characters. Only longer words are cut: after a comma, if
/// there is one in the last half of the part.
fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    for word in line.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        if !part.is_empty() && length + 1 + letters.len() > width {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        if !part.is_empty() {
            part.push(' ');
            length += 1;
        }
        for letter in letters {
            if length == width {
                let comma = part.rfind(',').map_or(0, |at| at + 1);
                let chars = part[..comma].chars().count();
                let rest = if chars > width / 2 {
                    part.split_off(comma)
                } else {
                    String::new()
                };
                parts.push(std::mem::replace(&mut part, rest));
                length = part.chars().count();
            }
            part.push(letter);
            length += 1;
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::wrap;

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(wrap(line, 5), expected, "{line}");
    }

    #[test]
    fn lines_are_wrapped_at_blanks() {
        check("", &[""]);
        check("ab cd", &["ab cd"]);
        check("ab cde fg", &["ab", "cde", "fg"]);
        check("abcdefghijk l", &["abcde", "fghij", "k l"]);
        check("éééé éé", &["éééé", "éé"]);
        check("abc,def,g", &["abc,", "def,g"]);
        check("a,bcdefg", &["a,bcd", "efg"]);
    }
}
