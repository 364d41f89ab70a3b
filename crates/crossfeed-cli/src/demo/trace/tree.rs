//! Prints the trace as text: its calls, the data flow between them, and the stages of each. Ids and times, which differ from
//! run to run, are left out.

use crate::demo::page::Page;
use anstyle::Style;
use opentelemetry::{KeyValue, SpanId};
use opentelemetry_sdk::trace::SpanData;
use std::{
    collections::{BTreeSet, HashMap},
    io,
};

/// The prefix of stages' names.
const STAGE: &str = "crossfeed.";
/// The event of a reference without a span to link to.
const REFERENCE: &str = "crossfeed.reference";
/// Stages in the order of a call; others follow.
const ORDER: [&str; 6] = ["wait", "resolve", "select", "validate", "record", "render"];

/// Writes the spans as a tree. The lines are the same in every run.
pub(in crate::demo) fn write(spans: &[SpanData], page: &mut Page<'_>) -> io::Result<()> {
    let tree = Tree::of(spans);
    let links: usize = spans.iter().map(|span| span.links.len()).sum();
    page.blank()?;
    page.head(&format!(
        "The trace, as it leaves: {} spans, {links} links",
        spans.len()
    ))?;
    page.text(
        page.styles.faint,
        "It holds no payload: literals of selectors are masked.",
    )?;
    page.blank()?;
    for root in &tree.roots {
        tree.write(root, 0, page)?;
    }
    Ok(())
}

struct Tree<'s> {
    roots: Vec<&'s SpanData>,
    by_id: HashMap<SpanId, &'s SpanData>,
    /// The children of each span, in the order in which they began.
    children: HashMap<SpanId, Vec<&'s SpanData>>,
}

impl<'s> Tree<'s> {
    fn of(spans: &'s [SpanData]) -> Self {
        let mut sorted: Vec<_> = spans.iter().collect();
        sorted.sort_by_key(|span| span.start_time);
        let by_id: HashMap<_, _> = sorted
            .iter()
            .map(|span| (span.span_context.span_id(), *span))
            .collect();
        let mut children: HashMap<_, Vec<_>> = HashMap::new();
        let mut roots = Vec::new();
        for span in sorted {
            if by_id.contains_key(&span.parent_span_id) {
                children.entry(span.parent_span_id).or_default().push(span)
            } else {
                roots.push(span)
            }
        }
        Self {
            roots,
            by_id,
            children,
        }
    }

    fn children(&self, span: &SpanData) -> &[&'s SpanData] {
        let children = self.children.get(&span.span_context.span_id());
        children.map_or(&[], Vec::as_slice)
    }

    /// A span, what flowed into it, its stages, and the calls below it. The demo has an agent and its
    /// calls, and no deeper ones.
    fn write(&self, span: &SpanData, depth: usize, page: &mut Page<'_>) -> io::Result<()> {
        let plain = Style::new();
        let mut head = span.name.to_string();
        for name in ["gen_ai.tool.call.id", "crossfeed.outcome", "error.type"] {
            if let Some(said) = text(&span.attributes, name) {
                head.push_str(&format!(" {said}"));
            }
        }
        line(depth, plain, &head, page)?;
        for link in &span.links.links {
            let to = self.by_id.get(&link.span_context.span_id());
            let to = to.map_or("?", |to| to.name.as_ref());
            let flow = flow("link", &link.attributes, Some(to));
            line(depth + 1, plain, &flow, page)?;
        }
        for event in &span.events.events {
            if event.name == REFERENCE {
                let flow = flow("event", &event.attributes, None);
                line(depth + 1, page.styles.error, &flow, page)?;
            }
        }
        let mut stages = BTreeSet::new();
        self.stages(span, &mut stages);
        if !stages.is_empty() {
            let names: Vec<_> = stages.into_iter().map(|(_, name)| name).collect();
            let stages = format!("stages {}", names.join(", "));
            line(depth + 1, page.styles.faint, &stages, page)?;
        }
        for child in self.children(span) {
            if !child.name.starts_with(STAGE) {
                self.write(child, depth + 1, page)?;
            }
        }
        Ok(())
    }

    /// The stages below a span, and below those.
    fn stages(&self, span: &SpanData, stages: &mut BTreeSet<(usize, &'s str)>) {
        let mut open: Vec<&SpanData> = vec![span];
        while let Some(span) = open.pop() {
            for child in self.children(span) {
                if let Some(name) = child.name.strip_prefix(STAGE) {
                    let place = ORDER.iter().position(|stage| *stage == name);
                    stages.insert((place.unwrap_or(ORDER.len()), name));
                    open.push(child);
                }
            }
        }
    }
}

/// What flowed: from which call to which place, by which selector.
fn flow(word: &str, attributes: &[KeyValue], to: Option<&str>) -> String {
    let said = |name| text(attributes, name).unwrap_or_default();
    let mut line = format!("{word} {}", said("crossfeed.argument"));
    line.push_str(&format!(" <- {}", said("gen_ai.tool.call.id")));
    let to = to.map(str::to_owned);
    if let Some(to) = to.or_else(|| text(attributes, "gen_ai.tool.name")) {
        line.push_str(&format!(" {to}"));
    }
    if let Some(artifact) = text(attributes, "crossfeed.artifact.id") {
        line.push_str(&format!(" artifact {artifact}"));
    }
    if let Some(selector) = text(attributes, "crossfeed.selector") {
        line.push_str(&format!(": {selector}"));
    }
    match text(attributes, "error.type") {
        Some(error) => line.push_str(&format!(", {error}")),
        None => {
            let (before, after) = (said("crossfeed.bytes.in"), said("crossfeed.bytes.out"));
            line.push_str(&format!(", bytes {before} -> {after}"));
        }
    }
    match said("crossfeed.repairs").as_str() {
        "" | "0" => {}
        repairs => line.push_str(&format!(", repairs {repairs}")),
    }
    line
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|found| found.key.as_str() == name);
    found.map(|found| found.value.to_string())
}

/// Writes a line of the tree; what does not fit goes on below, deeper.
fn line(depth: usize, style: Style, text: &str, page: &mut Page<'_>) -> io::Result<()> {
    let indent = " ".repeat(2 * depth);
    page.hang(style, [&indent, &format!("{indent}    ")], text)
}
