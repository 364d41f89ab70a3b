//! `crossfeed demo`: an agent session over bundled data.
//!
//! The loop is what any orchestrator does: begin all calls of a turn, resolve the references in the
//! arguments of each, run the tool, record its result, show the model a small one whole and of a large
//! one a preview. What the
//! model writes is scripted ([`script`]); the tools are real ([`tools`]), those that keep and read
//! artifacts are the engine's own ([`kept`]), and every result, resolution, error, preview and count
//! comes from the engine while it runs. At the end stands the run's trace, as a host's pipeline would
//! export it ([`trace`]). The same bytes come out every time.

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
    Shape,
    store::{ManualClock, MemoryLimits, MemoryStore},
};
use futures_util::future::try_join_all;
use script::{Call, TASK, TURNS};
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

/// The most tokens of what is shown: less than by default, since every turn is read by a person, too.
const BUDGET: usize = 300;
/// The widest line.
const WIDTH: usize = 100;
/// The width of the words at the left.
const MARGIN: usize = 10;
/// Up to how many bytes received arguments are shown in full.
const SHORT: usize = 200;
/// The tool whose result is what was asked for.
const REPORT: &str = "write_report";
/// How many lines of the report are shown.
const LINES: usize = 10;

pub(crate) fn run(args: &cli::Demo, io: &mut Streams<'_>) -> Result {
    #[cfg(feature = "otlp")]
    let tracing = Tracing::start(args.otlp.as_ref())?;
    #[cfg(not(feature = "otlp"))]
    let tracing = {
        let cli::Demo {} = args;
        Tracing::start()?
    };
    let agent = tracing::info_span!(
        "invoke_agent demo",
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.agent.name" = "demo",
    );
    block_on(show(&tracing, io.out).instrument(agent))?;
    trace::write(&tracing.spans(), io.out)?;
    // What is sent is not part of the answer: that is there first.
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
    entry(out, "user", TASK)?;
    let mut entries = Vec::new();
    let mut report = String::new();
    for (number, turn) in (1..).zip(TURNS) {
        let passed = match turn.hours_later {
            0 => String::new(),
            hours => format!(", {hours} hours later"),
        };
        clock.advance(Duration::from_secs(3600) * turn.hours_later);
        writeln!(out, "\nTurn {number}{passed}: {}", turn.says)?;
        let ids = (entries.len() + 1..).map(|number| format!("call_{number}"));
        let calls: Vec<_> = ids.zip(turn.calls).collect();
        let outcomes = demo.turn(&calls).await?;
        for ((call_id, call), outcome) in calls.into_iter().zip(outcomes) {
            writeln!(out)?;
            entry(out, "model", &format!("{} {}", call.tool, call.arguments))?;
            for line in &outcome.engine {
                entry(out, "engine", line)?;
            }
            if let Some(ran) = &outcome.ran {
                entry(out, "received", &received(&ran.arguments))?;
                let size = Size::of(&ran.result);
                let (bytes, tokens) = (size.bytes, size.tokens);
                let line = format!("{bytes} bytes, about {tokens} tokens, recorded as {call_id}");
                entry(out, "returned", &line)?;
                if call.tool == REPORT {
                    report.clone_from(&ran.result);
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
    for line in report.lines().take(LINES) {
        let line = format!("  {line}");
        writeln!(out, "{}", line.trim_end())?;
    }
    let more = report.lines().count().saturating_sub(LINES);
    writeln!(out, "  ... {more} more lines\n")?;
    account::write(&entries, &demo.session.usage(), out)?;
    Ok(())
}

/// What became of a call.
struct Outcome {
    /// What the engine did, or that it refused.
    engine: Vec<String>,
    /// What the tool received and returned, if it ran.
    ran: Option<Ran>,
    /// What the model is shown.
    shown: String,
}

struct Ran {
    arguments: Value,
    result: String,
}

struct Demo {
    session: Session,
    data: Data,
    tools: Vec<Tool>,
}

impl Demo {
    /// Carries out the calls of one turn at once: all of them are begun before any runs, so that each
    /// may refer to any other.
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
                    None => self.artifact_call(call).await,
                }
            };
            run.instrument(span)
        });
        // Each goes on until it waits for something, the last one first: so what one refers to has
        // not returned, and the wait for it is the same every time.
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

    /// A call of a tool that works on what the engine keeps.
    async fn artifact_call(&self, call: &Call) -> Result<Outcome> {
        let shown = artifacts::call(&self.session, call).await?;
        Ok(Outcome {
            engine: Vec::new(),
            ran: None,
            shown,
        })
    }

    /// Those of the calls that the engine says to be in flight now.
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
        let written: Value = serde_json::from_str(call.arguments).map_err(|error| {
            CommandError::answer(ErrorCode::ArgumentsInvalid, error.to_string())
        })?;
        let mut engine = serialised(&written);
        let in_flight = self.in_flight(turn).await?;
        let schema = Some(&tool.input_schema);
        let resolved = match flight.session().resolve(written, schema).await {
            Ok(resolved) => resolved,
            // What the model can put right is the result of its call.
            Err(error) if error.fault() == Fault::Model => {
                flight.fail("the call was refused").await?;
                return Ok(Outcome {
                    engine: vec!["the call is refused; the tool does not run".to_owned()],
                    ran: None,
                    shown: error.to_string(),
                });
            }
            Err(error) => return Err(error.into()),
        };
        engine.extend(waits(&resolved, &in_flight));
        engine.extend(remarks(&resolved));
        let output = (tool.run)(&self.data, &resolved.arguments).map_err(CommandError::Usage)?;
        flight.complete(output.to_result()).await?;
        let options = RenderOptions::default().with_budget(BUDGET);
        let rendered = self.session.render(flight.call_id(), &options).await?;
        let preview = rendered.preview_text().map(Cow::into_owned);
        Ok(Outcome {
            engine,
            ran: Some(Ran {
                arguments: resolved.arguments,
                result: output.text(),
            }),
            shown: preview.unwrap_or(rendered.json),
        })
    }
}

/// The span of a call that the engine does not see: the host's own.
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
    /// The call in the account.
    fn account(&self, call_id: String, call: &Call) -> Entry {
        Entry {
            call_id,
            tool: call.tool,
            written: Size::of(call.arguments),
            shown: Size::of(&self.shown),
            without: self.ran.as_ref().map(|ran| Without {
                typed: Size::of(&ran.arguments.to_string()),
                read: Size::of(&ran.result),
            }),
        }
    }
}

/// The arguments that are references, but written as strings.
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

/// What was in flight when the call began to be resolved, of what it refers to.
fn waits(resolved: &Resolved, in_flight: &[&str]) -> Vec<String> {
    let is_source = |id: &&&str| {
        let mut lineage = resolved.lineage.iter();
        lineage.any(|link| link.source.call_id.as_str() == **id)
    };
    let waits = in_flight.iter().filter(is_source);
    let line = |id| format!("{id} is in flight: this call waits until it has returned");
    waits.map(line).collect()
}

/// What the engine did, but for the view where it is the usual one.
fn remarks(resolved: &Resolved) -> Vec<String> {
    let mut lines = resolve::remarks(&resolved.lineage, &resolved.repairs);
    lines.retain(|line| line != "view: canonical");
    if lines.is_empty() {
        lines.push("no references".to_owned());
    }
    lines
}

/// What the tool received: all of it if it is short, else its shape.
fn received(arguments: &Value) -> String {
    let text = arguments.to_string();
    if text.len() <= SHORT {
        return text;
    }
    format!("{} ({} bytes)", Shape::of_value(arguments), text.len())
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

/// Breaks a line at blanks, so that no part has more than `width` characters. Only a word that is
/// longer is cut: behind a comma, if there is one in the last half of the part.
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
