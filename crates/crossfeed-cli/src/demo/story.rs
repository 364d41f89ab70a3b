//! The story of the session on one page: its key moments. A moment is found in the transcript by what happened, and all that
//! is said of it comes from there.

use super::{
    account::Size,
    page::{Page, clip, grouped},
    session::{CallRecord, Refusal, ToolRun, Transcript},
};
use anstyle::Style;
use crossfeed::{ErrorCode, resolve::LineageEntry};
use serde_json::{Value, value::RawValue};
use std::{collections::BTreeMap, io};

/// Lines of a preview that are shown after its notice: the data, and selectors.
const PREVIEW_LINES: usize = 2;
/// Longer lists are shown by their first items.
const MAX_ITEMS: usize = 3;
/// The items that are shown of a longer list.
const FIRST_ITEMS: usize = 2;

/// Writes the task and the moments.
pub(super) fn write(transcript: &Transcript, page: &mut Page<'_>) -> io::Result<()> {
    page.text(
        page.styles.faint,
        "An agent's session. The model's turns are scripted; everything else is computed.",
    )?;
    page.text(Style::new(), &format!("Task: {}", transcript.task))?;
    let mut story = Story {
        transcript,
        page,
        moments: 0,
    };
    story.preview_and_reference()?;
    story.repair()?;
    story.refusal()?;
    story.wait()?;
    story.artifact()
}

struct Story<'p, 'w> {
    transcript: &'p Transcript,
    page: &'p mut Page<'w>,
    moments: usize,
}

impl<'p> Story<'p, '_> {
    /// Begins a moment.
    fn moment(&mut self, head: &str) -> io::Result<()> {
        self.moments += 1;
        self.page.blank()?;
        self.page.head(&format!("{}. {head}", self.moments))
    }

    fn model(&mut self, text: &str) -> io::Result<()> {
        self.page.entry("model", Style::new(), text)
    }

    /// A large result, and the first call that takes values from it.
    fn preview_and_reference(&mut self) -> io::Result<()> {
        let Some((call, run)) = self.transcript.runs().find(|(_, run)| run.is_cut) else {
            return Ok(());
        };
        let shown = &call.outcome.shown;
        self.moment(&format!(
            "{} returns {} bytes. The model reads a preview of {} tokens.",
            call.call_id,
            grouped(run.result.len()),
            grouped(Size::of(shown).tokens)
        ))?;
        self.model(&format!("{} {}", call.tool, call.written))?;
        let lines: Vec<&str> = shown.lines().skip(1).take(PREVIEW_LINES).collect();
        let faint = self.page.styles.faint;
        self.page.brief_entry("shown", faint, &lines.join("\n"))?;

        let refers = |link: &LineageEntry| link.source.call_id.as_str() == call.call_id;
        let Some((call, run, _)) = self.link(refers) else {
            return Ok(());
        };
        self.moment(&format!(
            "{} says where its values are. The tool receives the values themselves.",
            call.call_id
        ))?;
        self.model(&format!("{} {}", call.tool, call.written))?;
        let received = abridged(&run.arguments);
        self.page.entry("received", Style::new(), &received)
    }

    /// A selector that is not run as it was written.
    fn repair(&mut self) -> io::Result<()> {
        let repaired = |link: &LineageEntry| {
            let report = link.source.report.as_ref();
            report.is_some_and(|report| !report.repairs.is_empty())
        };
        let Some((call, run, link)) = self.link(repaired) else {
            return Ok(());
        };
        let (Some(written), Some(report)) = (&link.source.select, &link.source.report) else {
            return Ok(());
        };
        let value = run.arguments.pointer(link.at.as_str());
        self.moment(&format!(
            "A mistake in a selector is repaired: {} receives {}.",
            call.tool,
            value.map(abridged).unwrap_or_default()
        ))?;
        let plain = Style::new();
        self.page.brief_entry("model", plain, written)?;
        self.page.brief_entry("engine", plain, &report.evaluated)
    }

    /// A value that does not fit the tool's schema.
    fn refusal(&mut self) -> io::Result<()> {
        let Some((call, refusal)) = self.refused(ErrorCode::ArgumentsInvalid) else {
            return Ok(());
        };
        self.moment(
            "What does not fit is refused before the tool runs. The error says what fits.",
        )?;
        self.model(&excerpt(call, &refusal.at))?;
        let shown = &call.outcome.shown;
        let (message, advice) = shown.split_once('\n').unwrap_or((shown, ""));
        let message = clip_error(message, self.page.text_width());
        let error = self.page.styles.error;
        self.page.entry("shown", error, &message)?;
        self.page.entry("", Style::new(), advice)
    }

    /// A call that refers to another of its turn.
    fn wait(&mut self) -> io::Result<()> {
        let Some((call, run)) = self
            .transcript
            .runs()
            .find(|(_, run)| !run.waited_for.is_empty())
        else {
            return Ok(());
        };
        self.moment(&format!(
            "The calls of a turn run at once. {} waits until {} has returned.",
            call.call_id,
            run.waited_for.join(", ")
        ))?;
        for link in &run.lineage {
            let id = link.source.call_id.as_str();
            if run.waited_for.iter().any(|waited| waited == id) {
                self.model(&excerpt(call, link.at.as_str()))?;
            }
        }
        Ok(())
    }

    /// An artifact whose result has expired.
    fn artifact(&mut self) -> io::Result<()> {
        let Some((refused, refusal)) = self.refused(ErrorCode::ResultExpired) else {
            return Ok(());
        };
        let outlives = |link: &LineageEntry| {
            let id = Some(link.source.call_id.as_str());
            link.source.artifact_id.is_some() && refusal.refers_to.as_deref() == id
        };
        let Some((call, _, link)) = self.link(outlives) else {
            return Ok(());
        };
        let turns = &self.transcript.turns;
        let until = turns.iter().position(|turn| turn.has(&refused.call_id));
        let passed = turns.iter().take(until.map_or(0, |at| at + 1));
        self.moment(&format!(
            "{} hours later {} has expired. An artifact made from it has not.",
            passed.map(|turn| turn.hours_later).sum::<u32>(),
            link.source.call_id
        ))?;
        self.model(&excerpt(call, link.at.as_str()))
    }

    /// The first reference of this kind that was resolved.
    fn link(
        &self,
        is_wanted: impl Fn(&LineageEntry) -> bool,
    ) -> Option<(&'p CallRecord, &'p ToolRun, &'p LineageEntry)> {
        self.transcript.runs().find_map(|(call, run)| {
            let link = run.lineage.iter().find(|link| is_wanted(link))?;
            Some((call, run, link))
        })
    }

    /// The first call that was refused for this reason.
    fn refused(&self, code: ErrorCode) -> Option<(&'p CallRecord, &'p Refusal)> {
        self.transcript.calls().find_map(|call| {
            let refusal = call.outcome.refusal.as_ref();
            Some((call, refusal.filter(|refusal| refusal.code == code)?))
        })
    }
}

/// A call with the one argument at this place, as it was written.
fn excerpt(call: &CallRecord, at: &str) -> String {
    let name = at.split('/').nth(1).unwrap_or_default();
    let all = members(call.written);
    let references = all.get("$refs").map(|refs| members(refs.get()));
    let written = all
        .get(name)
        .or_else(|| references.as_ref().and_then(|refs| refs.get(name)));
    let written = written.map_or("…", |written| written.get());
    let others = if all.len() > 1 { "… " } else { "" };
    format!("{} {{{others}\"{name}\": {written}}}", call.tool)
}

/// The members of an object, as they are written.
fn members(object: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(object).unwrap_or_default()
}

/// An error in one line: what is cut is what was found, before the place.
fn clip_error(message: &str, width: usize) -> String {
    let (found, place) = match message.rfind(" (argument `") {
        Some(at) if message.chars().count() > width => message.split_at(at),
        _ => (message, ""),
    };
    let width = width.saturating_sub(place.chars().count());
    clip(found, width) + place
}

/// JSON with blanks, the items of long lists counted.
fn abridged(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let shown = match items.len() {
                0..=MAX_ITEMS => items.len(),
                _ => FIRST_ITEMS,
            };
            let mut parts: Vec<String> = items[..shown].iter().map(abridged).collect();
            if shown < items.len() {
                parts.push(format!("… {} more", items.len() - shown));
            }
            format!("[{}]", parts.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), abridged(value))
            };
            let parts: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", parts.join(", "))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{abridged, clip_error, excerpt};
    use crate::demo::session::{CallRecord, Outcome};
    use serde_json::json;

    #[test]
    fn an_excerpt_has_the_argument_as_it_was_written() {
        let check = |written, at, expected| {
            let call = CallRecord {
                call_id: "call_1".to_owned(),
                tool: "t",
                written,
                outcome: Outcome::default(),
            };
            assert_eq!(excerpt(&call, at), expected);
        };
        check(r#"{"a":  {"b":1}}"#, "/a", r#"t {"a": {"b":1}}"#);
        check(r#"{"a": 1, "b": [2 ]}"#, "/b/0", r#"t {… "b": [2 ]}"#);
        check(r#"{"$refs": {"a": 1}, "b": 2}"#, "/a", r#"t {… "a": 1}"#);
        check(r#"{"b": 2}"#, "/a", r#"t {"a": …}"#);
    }

    #[test]
    fn long_lists_are_counted() {
        let check = |value, expected| assert_eq!(abridged(&value), expected);
        check(json!([]), "[]");
        check(json!([1, 2, 3]), "[1, 2, 3]");
        check(json!([1, 2, 3, 4]), "[1, 2, … 2 more]");
        check(
            json!({"a\n": {"b": "c"}, "d": null}),
            r#"{"a\n": {"b": "c"}, "d": null}"#,
        );
    }

    #[test]
    fn errors_keep_their_place() {
        let check = |message, expected| assert_eq!(clip_error(message, 24), expected);
        check("short (argument `/a`)", "short (argument `/a`)");
        check(
            "found a, b, c, d (argument `/a`)",
            "found a… (argument `/a`)",
        );
        check("found a, b, c, d and nothing", "found a, b, c, d and no…");
    }
}
