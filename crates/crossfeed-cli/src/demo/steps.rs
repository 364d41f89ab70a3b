//! Every step of the session, with `--full`.

use super::{
    account::Size,
    page::{Page, grouped},
    session::{CallRecord, Transcript},
};
use crossfeed::select::Shape;
use serde_json::Value;
use std::io;

/// Longer arguments are shown as their shape.
const MAX_ARGUMENTS_BYTES: usize = 200;
/// The tool whose result answers the task.
const REPORT: &str = "write_report";
/// Lines of the report that are shown.
const REPORT_LINES: usize = 10;

/// Writes the turns of the session.
pub(super) fn write(transcript: &Transcript, page: &mut Page<'_>) -> io::Result<()> {
    let plain = Default::default();
    page.head("crossfeed demo: an agent session, step by step")?;
    page.blank()?;
    page.text(
        plain,
        "The model's turns are scripted; everything else is computed.\n\
         The calls of a turn run at once; one that refers to another of its turn waits for it.",
    )?;
    page.entry("data", plain, &transcript.origin)?;
    page.entry("user", plain, transcript.task)?;
    for (number, turn) in (1..).zip(&transcript.turns) {
        let passed = match turn.hours_later {
            0 => String::new(),
            hours => format!(", {hours} hours later"),
        };
        page.blank()?;
        page.head(&format!("Turn {number}{passed}: {}", turn.says))?;
        for call in &turn.calls {
            page.blank()?;
            write_call(call, page)?;
        }
    }
    Ok(())
}

fn write_call(call: &CallRecord, page: &mut Page<'_>) -> io::Result<()> {
    let plain = Default::default();
    let outcome = &call.outcome;
    let written = format!("{} {}", call.tool, call.written);
    page.entry("model", plain, &written)?;
    let style = match outcome.refusal {
        Some(_) => page.styles.error,
        None => page.styles.faint,
    };
    for line in &outcome.engine {
        page.entry("engine", style, line)?;
    }
    if let Some(run) = &outcome.run {
        page.entry("received", plain, &received(&run.arguments))?;
        let size = Size::of(&run.result);
        let line = format!(
            "{} bytes, about {} tokens, recorded as {}",
            grouped(size.bytes),
            grouped(size.tokens),
            call.call_id
        );
        page.entry("returned", plain, &line)?;
    }
    page.entry("shown", plain, &outcome.shown)
}

/// Writes the beginning of the report, which the tool wrote from references.
pub(super) fn write_report(transcript: &Transcript, page: &mut Page<'_>) -> io::Result<()> {
    let mut calls = transcript.calls().filter(|call| call.tool == REPORT);
    let Some(run) = calls.find_map(|call| call.outcome.run.as_ref()) else {
        return Ok(());
    };
    page.blank()?;
    page.head("The report, of which the model has read the beginning")?;
    page.blank()?;
    let lines: Vec<&str> = run.result.lines().collect();
    let shown = &lines[..lines.len().min(REPORT_LINES)];
    let indent = ["  ", "  "];
    page.hang(Default::default(), indent, &shown.join("\n"))?;
    let more = format!("… {} more lines", lines.len() - shown.len());
    page.hang(page.styles.faint, indent, &more)
}

/// The arguments that the tool received if they are short, else their shape.
fn received(arguments: &Value) -> String {
    let text = arguments.to_string();
    if text.len() <= MAX_ARGUMENTS_BYTES {
        return text;
    }
    let bytes = grouped(text.len());
    format!("{} ({bytes} bytes)", Shape::from_value(arguments))
}
