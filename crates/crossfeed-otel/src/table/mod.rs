//! The kinds of attributes, by their names, which [`attributes`] lists; some depend on the kind of the span.

pub(crate) mod attributes;

use attributes::{CONVENTIONS, SPAN_KINDS};
use std::{collections::HashMap, sync::LazyLock};

/// What an attribute carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The result of a tool.
    ToolResult,
    /// The result of a tool if the span is one of a tool, else other payload.
    Output,
    /// Other payload: messages, arguments, documents.
    Payload,
    /// No payload.
    Plain,
}

/// The kind of a span, by its own attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Tool,
    Other,
    /// No attribute says: what could be the result of a tool is taken for one.
    Unknown,
}

impl SpanKind {
    /// By attributes of the span. One that says "a tool" decides; spans carry several conventions.
    pub(crate) fn new<'a>(attributes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut kind = Self::Unknown;
        for (name, value) in attributes {
            let known = SPAN_KINDS.iter().find(|(known, ..)| *known == name);
            let Some((_, tool, neutral)) = known else {
                continue;
            };
            if value.eq_ignore_ascii_case(tool) {
                return Self::Tool;
            }
            if !neutral.iter().any(|word| value.eq_ignore_ascii_case(word)) {
                kind = Self::Other;
            }
        }
        kind
    }
}

/// Names and patterns with their kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    names: HashMap<Box<str>, Kind>,
    /// The bytes of the longest name.
    longest: usize,
    patterns: Vec<(Box<str>, Kind)>,
}

/// The conventions in use.
pub(crate) static KNOWN: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for convention in CONVENTIONS {
        for (name, kind) in convention.attributes {
            table.add(name, *kind);
        }
    }
    table
});

impl Table {
    /// Adds a name, or a pattern. What was added last holds.
    pub(crate) fn add(&mut self, name: &str, kind: Kind) {
        if name.split('.').any(|segment| matches!(segment, "*" | "**")) {
            self.patterns.push((name.into(), kind));
        } else {
            self.longest = self.longest.max(name.len());
            self.names.insert(name.into(), kind);
        }
    }

    /// The kind of an attribute, and how much of its name that is: attributes of objects may be
    /// flattened, so that what begins with a name and a joint is a part of it. The longest counts.
    pub(crate) fn find(&self, attribute: &str) -> Option<(Kind, usize)> {
        if self.names.is_empty() && self.patterns.is_empty() {
            return None;
        }
        let name = self.named(attribute);
        // Later patterns win over earlier ones, and none over a name of the same length.
        let patterns = self.patterns.iter().rev().filter_map(|(pattern, kind)| {
            let len = matched(pattern, attribute)?;
            Some((*kind, len))
        });
        patterns.fold(name, |best, found| match best {
            Some(best) if best.1 >= found.1 => Some(best),
            _ => Some(found),
        })
    }

    /// The same, by names alone.
    pub(crate) fn named(&self, attribute: &str) -> Option<(Kind, usize)> {
        // Names may be of any length, and have as many parts.
        let mut prefixes = prefixes(attribute).skip_while(|prefix| prefix.len() > self.longest);
        prefixes.find_map(|prefix| {
            let kind = self.names.get(prefix)?;
            Some((*kind, prefix.len()))
        })
    }
}

/// Whether a character separates the segments of a name, in any spelling of flattened objects.
pub(crate) fn is_joint(c: char) -> bool {
    !(c.is_alphanumeric() || c == '_')
}

/// The segments of a name.
pub(crate) fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split(is_joint).filter(|segment| !segment.is_empty())
}

/// A name, and its parents, the longest first.
fn prefixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| {
        name.rfind(is_joint).and_then(|at| name.get(..at))
    })
}

/// How many bytes of a name a pattern matches, up to its end or a joint. A `**`, and a last `*` that matches
/// a segment that begins with `_`, match members, and add no bytes.
fn matched(pattern: &str, name: &str) -> Option<usize> {
    let mut at = 0;
    let is_separator = |c: char| is_joint(c) && c != '*';
    let mut pattern = pattern
        .split(is_separator)
        .filter(|s| !s.is_empty())
        .peekable();
    while let Some(segment) = pattern.next() {
        let rest = name.get(at..)?.trim_start_matches(is_joint);
        let end = rest.find(is_joint).unwrap_or(rest.len());
        let found = &rest[..end];
        if found.is_empty() || !matches!(segment, "*" | "**") && segment != found {
            return None;
        }
        if segment == "**" {
            return Some(at);
        }
        let end = name.len() - rest.len() + end;
        if segment == "*" && found.starts_with('_') && pattern.peek().is_none() {
            return Some(at);
        }
        at = end;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::{
        KNOWN, Kind, SpanKind, Table,
        attributes::{CONVENTIONS, SPAN_KINDS},
    };

    fn check(attribute: &str, expected: Option<Kind>) {
        let found = KNOWN.find(attribute).map(|(kind, _)| kind);
        assert_eq!(found, expected, "{attribute}");
    }

    #[test]
    fn names_and_patterns_are_found() {
        check("gen_ai.tool.call.result", Some(Kind::ToolResult));
        check("gen_ai.tool.call.result.items.0", Some(Kind::ToolResult));
        check("gen_ai.tool.call.resultant", None);
        check("gen_ai.tool.call", None);
        check("ai.toolCall.result", Some(Kind::ToolResult));
        check("output.value", Some(Kind::Output));
        check("gen_ai.tool.message.content._x", Some(Kind::ToolResult));
        check("gen_ai.tool.message.role", Some(Kind::Plain));
        check("gen_ai.prompt", Some(Kind::Payload));
        check("gen_ai.prompt.name", Some(Kind::Plain));
        check("gen_ai.prompt.0.content", Some(Kind::Payload));
        check("gen_ai.prompt.0.role", Some(Kind::Plain));
        check("llm.input_messages.3.message.content", Some(Kind::Payload));
        check("llm.input_messages.3.message.role", Some(Kind::Plain));
        check("gen_ai.input.messages[0].content", Some(Kind::Payload));
        check("gen_ai.input.messages/0", Some(Kind::Payload));
        check("gen_ai.tool.call.result['a']", Some(Kind::ToolResult));
        check("service.name", None);
        check("", None);
    }

    #[test]
    fn every_name_of_the_table_is_of_its_kind() {
        for convention in CONVENTIONS {
            assert!(!convention.name.is_empty() && !convention.source.is_empty());
            for (name, kind) in convention.attributes {
                check(&name.replace('*', "7"), Some(*kind));
            }
        }
    }

    #[test]
    fn patterns_match_segments() {
        let check = |pattern: &str, name: &str, expected: Option<usize>| {
            let mut table = Table::default();
            table.add(pattern, Kind::Payload);
            let found = table.find(name).map(|(_, len)| len);
            assert_eq!(found, expected, "{pattern} {name}");
        };
        check("a.*.b", "a.0.b", Some(5));
        check("a.*.b", "a.0.b.c", Some(5));
        check("a.*.b", "a.0.bc", None);
        check("a.*.b", "a.b", None);
        check("a.*.b", "a", None);
        check("a.*.b", "a[0].b['c']", Some(6));
        check("a.**", "a.b.c", Some(1));
        check("a.*", "a.b.c", Some(3));
        check("a.*", "a._b", Some(1));
        check("a.*.b", "a._b.b", Some(6));
        check("a.**", "a", None);
        check("*", "a.b", Some(1));
        check("**", "a.b", Some(0));
        check("a*", "a", None);
        check("a-b.*", "a-b.c", Some(5));
    }

    #[test]
    fn of_those_as_long_a_name_decides_then_the_last_pattern() {
        let mut table = Table::default();
        table.add("a.*", Kind::Payload);
        table.add("*.b", Kind::ToolResult);
        assert_eq!(table.find("a.b"), Some((Kind::ToolResult, 3)));
        table.add("a.b", Kind::Plain);
        table.add("*.*", Kind::Payload);
        assert_eq!(table.find("a.b"), Some((Kind::Plain, 3)));
    }

    #[test]
    fn a_span_says_of_which_kind_it_is() {
        let check = |said: &[(&str, &str)], expected: SpanKind| {
            assert_eq!(SpanKind::new(said.iter().copied()), expected, "{said:?}");
        };
        check(&[], SpanKind::Unknown);
        check(&[("http.method", "GET")], SpanKind::Unknown);
        check(&[("openinference.span.kind", "TOOL")], SpanKind::Tool);
        check(&[("openinference.span.kind", "tool")], SpanKind::Tool);
        check(&[("openinference.span.kind", "LLM")], SpanKind::Other);
        check(&[("langfuse.observation.type", "span")], SpanKind::Unknown);
        let both = [
            ("traceloop.span.kind", "workflow"),
            ("gen_ai.operation.name", "execute_tool"),
        ];
        check(&both, SpanKind::Tool);
    }

    #[test]
    fn the_specification_lists_the_same() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../specs/telemetry-stripping.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        let mut expected = Vec::new();
        for (name, tool, unsaid) in SPAN_KINDS {
            let unsaid: Vec<_> = unsaid.iter().map(|word| format!("`{word}`")).collect();
            let unsaid = if unsaid.is_empty() {
                "none".to_owned()
            } else {
                unsaid.join(", ")
            };
            expected.push(format!("| `{name}` | `{tool}` | {unsaid} |"));
        }
        for convention in CONVENTIONS {
            expected.push(format!("### {}", convention.name));
            expected.push(format!("Source: {}.", convention.source));
            expected.extend(convention.attributes.iter().map(|(name, kind)| {
                let kind = match kind {
                    Kind::ToolResult => "tool result",
                    Kind::Output => "output",
                    Kind::Payload => "payload",
                    Kind::Plain => "none",
                };
                format!("| `{name}` | {kind} |")
            }));
        }
        let is_listed = |line: &&str| line.starts_with("| `") || line.starts_with("Source: ");
        let is_title = |line: &&str| {
            CONVENTIONS
                .iter()
                .any(|known| **line == format!("### {}", known.name))
        };
        let listed: Vec<&str> = page
            .lines()
            .filter(|line| is_listed(line) || is_title(line))
            .collect();
        assert_eq!(listed, expected);
    }
}
