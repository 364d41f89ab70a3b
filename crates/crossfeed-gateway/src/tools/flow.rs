//! Flow rules: which results may go to which tools.
//!
//! # What holds
//!
//! - The first rule that fits decides; where none fits, the result may go.
//! - What a call returned carries where its arguments came from: data does not lose its sources by
//!   going through a tool. They stand beside the result in the store, so that every process knows them.
//! - Where the sources of a result are unknown and there are rules, it goes nowhere; and a call
//!   does not continue from a state of unknown sources.
//! - Sources take 4 KiB at most, whatever servers list and clients call. Beyond, tools of a server are one source
//!   together, and what holds their results goes nowhere where a rule could forbid it for any of them.

mod sources;

pub(super) use sources::Sources;

use crate::{
    config::{FlowRule, ServerConfig},
    pattern::fits,
};
use crossfeed_core::LineageEntry;
use crossfeed_wire::CallId;
use sources::Source;
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

/// The most bytes that sources take as text: as much as is kept of arguments beside a result that has gone.
const MAX_SOURCES_BYTES: usize = 4096;

/// Why a result may not go to a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("rule `{rule}` forbids passing results of {} to `{to}`", quoted(from))]
    Refused {
        rule: String,
        from: BTreeSet<String>,
        to: Arc<str>,
    },
    #[error("the sources of the result of call `{call_id}` are unknown")]
    UnknownSources {
        call_id: CallId,
        /// The tool that was called says that calling it again does no harm.
        is_repeatable: bool,
    },
    #[error(
        "the sources of this `requestState` of `{tool}` are unknown: the gateway did not give it to this client, or has forgotten it"
    )]
    UnknownState {
        tool: Arc<str>,
        /// The same of this tool.
        is_repeatable: bool,
    },
    #[error("`{to}` takes no references")]
    NotChained { to: Arc<str> },
}

impl FlowError {
    /// The error for a log, without names of files.
    pub(super) fn masked(&self) -> String {
        match self {
            Self::Refused { rule, .. } => format!("rule `{rule}` forbids it"),
            other => other.to_string(),
        }
    }

    /// One next step.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "call it without a reference to these results",
            Self::UnknownSources {
                is_repeatable: true,
                ..
            } => "make that call again, then refer to the new one",
            Self::UnknownSources { .. } => {
                "write the values in place of the reference: do not make that call again unless repeating it is intended"
            }
            Self::UnknownState {
                is_repeatable: true,
                ..
            } => "call it again without `requestState`",
            Self::UnknownState { .. } => {
                "the tool may have done its work already: do not call it again unless repeating it is intended"
            }
            Self::NotChained { .. } => "write the values in place of references",
        }
    }
}

fn quoted(from: &BTreeSet<String>) -> String {
    const SAID: usize = 8;
    let said = from.iter().take(SAID).map(|source| format!("`{source}`"));
    let mut said = said.collect::<Vec<_>>().join(", ");
    if from.len() > SAID {
        said.push_str(&format!(" and {} more", from.len() - SAID));
    }
    said
}

/// The rules.
pub(super) struct Flows {
    rules: Vec<FlowRule>,
    /// The names of the servers.
    servers: Vec<String>,
    max_bytes: usize,
}

impl Flows {
    /// The rules, for tools of these servers.
    pub(super) fn new(rules: Vec<FlowRule>, servers: &[ServerConfig]) -> Self {
        Self {
            rules,
            servers: servers.iter().map(|server| server.name.clone()).collect(),
            max_bytes: MAX_SOURCES_BYTES,
        }
    }

    /// Whether there are no rules, so that any data may go anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whose data the arguments of a call to `to` hold, if they may go there.
    pub(super) fn check(
        &self,
        lineage: &[LineageEntry],
        to: &Arc<str>,
    ) -> Result<Sources, FlowError> {
        if self.rules.is_empty() {
            return Ok(Sources::default());
        }
        let mut sources = Sources::default();
        let mut seen = HashSet::new();
        for link in lineage {
            let source = &link.source;
            let text = source.sources.as_deref();
            if text.is_some() && !seen.insert(text) {
                continue;
            }
            let known = text.and_then(|text| self.read(text));
            sources.extend(&known.ok_or_else(|| FlowError::UnknownSources {
                call_id: source.call_id.clone(),
                is_repeatable: false,
            })?);
            sources.shrink(self.max_bytes);
        }
        self.judge(&sources, to)?;
        Ok(sources)
    }

    /// Sources as they were written, if they are known: all of servers of this configuration.
    pub(super) fn read(&self, text: &str) -> Option<Sources> {
        Sources::parse(text).filter(|sources| sources.are_of(&self.servers))
    }

    /// The same to be written; none where there are no rules.
    pub(super) fn write(&self, mut sources: Sources) -> Option<String> {
        if self.rules.is_empty() {
            return None;
        }
        sources.shrink(self.max_bytes);
        Some(sources.to_text())
    }

    /// Whose data the result of a call holds, to be kept with it: its tool's, if that is of a server, and that of its
    /// arguments.
    pub(super) fn of_result(&self, tool: Option<&str>, arguments: &Sources) -> Option<String> {
        let mut sources = arguments.clone();
        if let Some(tool) = tool {
            sources.insert(tool);
        }
        self.write(sources)
    }

    /// Whether data of these may go there.
    pub(super) fn judge(&self, sources: &Sources, to: &Arc<str>) -> Result<(), FlowError> {
        let mut refused: Option<(&str, BTreeSet<String>)> = None;
        for source in sources.iter() {
            let rules = self.rules.iter();
            let mut fitting = rules.filter(|rule| source.may_fit(&rule.from) && fits(&rule.to, to));
            let decisive = match source {
                Source::Tool(_) => fitting.next(),
                // Which of several tools it is, is unknown: none of them may be forbidden it.
                Source::Begins(_) => fitting.find(|rule| !rule.allow),
            };
            let Some(rule) = decisive.filter(|rule| !rule.allow) else {
                continue;
            };
            let (name, from) = refused.get_or_insert_with(|| (&rule.name, BTreeSet::new()));
            if *name == rule.name {
                from.insert(source.name());
            }
        }
        refused.map_or(Ok(()), |(rule, from)| {
            Err(FlowError::Refused {
                rule: rule.to_owned(),
                from,
                to: Arc::clone(to),
            })
        })
    }
}

/// Says which results went where, by shape and source, never what they hold.
pub(super) fn log(call_id: Option<&CallId>, to: &str, lineage: &[LineageEntry]) {
    for link in lineage {
        let source = &link.source;
        tracing::info!(
            target: "crossfeed::gateway::flow",
            call_id = call_id.map(CallId::as_str),
            to,
            at = link.at.as_str(),
            from_call = source.input.is_none().then(|| source.call_id.as_str()),
            from_input = source.input.as_ref().map(|input| input.kind().as_str()),
            from = source.tool.as_deref(),
            is_selected = source.select.is_some(),
            used_default = source.used_default,
            bytes = source.bytes_out,
            "a result was passed to a tool"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A pattern of `server/tool`, or one that reaches across.
    fn pattern() -> impl Strategy<Value = String> {
        prop_oneof!["[ab*]/[xyz*]{1,2}", "\\*[axy]", "[ab]\\*[xyz]", "\\*"]
    }

    fn rules() -> impl Strategy<Value = Vec<FlowRule>> {
        let rule = (pattern(), pattern(), any::<bool>());
        prop::collection::vec(rule, 1..6).prop_map(|rules| {
            let rules = rules.into_iter().enumerate();
            let named = rules
                .map(|(n, (from, to, allow))| FlowRule::new(format!("rule {n}"), from, to, allow));
            named.collect()
        })
    }

    /// What may go where, by the names of all tools.
    fn may(rules: &[FlowRule], sources: &BTreeSet<Arc<str>>, to: &str) -> bool {
        sources.iter().all(|source| {
            let mut fitting = rules
                .iter()
                .filter(|rule| fits(&rule.from, source) && fits(&rule.to, to));
            fitting.next().is_none_or(|rule| rule.allow)
        })
    }

    fn flows(rules: Vec<FlowRule>, max_bytes: usize) -> Flows {
        let servers = ["a".to_owned(), "b".to_owned()].to_vec();
        Flows {
            rules,
            servers,
            max_bytes,
        }
    }

    /// What the results of calls hold, together.
    fn sources(flows: &Flows, texts: &[&String]) -> Sources {
        let mut sources = Sources::default();
        for text in texts {
            sources.extend(&flows.read(text).unwrap());
        }
        sources.shrink(flows.max_bytes);
        sources
    }

    proptest! {
        /// Whatever is called in whatever order: with room for all tools it is as if their names were kept,
        /// with less room nothing goes where it may not.
        #[test]
        fn no_rule_is_loosened(
            rules in rules(),
            calls in prop::collection::vec(("[ab]/[xyz]{1,2}", prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..24),
            room in prop_oneof![Just(0usize), Just(40), Just(80), Just(MAX_SOURCES_BYTES)],
        ) {
            let flows = flows(rules.clone(), room);
            let mut made: Vec<(String, BTreeSet<Arc<str>>)> = Vec::new();
            for (number, (tool, refers)) in calls.iter().enumerate() {
                let tool: Arc<str> = tool.as_str().into();
                let refers: Vec<_> = refers
                    .iter()
                    .filter(|_| number > 0)
                    .map(|at| &made[at.index(number)])
                    .collect();
                let texts: Vec<_> = refers.iter().map(|(text, _)| text).collect();
                let mut names: BTreeSet<_> = refers.iter().flat_map(|(_, names)| names.clone()).collect();
                let sources = sources(&flows, &texts);
                let judged = flows.judge(&sources, &tool).is_ok();
                let expected = may(&rules, &names, &tool);
                prop_assert!(expected || !judged, "{:?} {}", names, tool);
                if room == MAX_SOURCES_BYTES {
                    prop_assert_eq!(judged, expected);
                }
                let text = flows.of_result(Some(&tool), &sources).unwrap();
                names.insert(tool);
                made.push((text, names));
            }
        }
    }

    #[test]
    fn a_refusal_names_the_sources() {
        let rules = vec![FlowRule::new("no", "a/*", "b/*", false)];
        let flows = flows(rules, 40);
        let mut own = Sources::default();
        let mut said = Vec::new();
        for tool in ["a/t0", "a/t1", "a/a_long_name_of_a_tool", "b/t"] {
            let text = flows.of_result(Some(tool), &own).unwrap();
            own = sources(&flows, &[&text]);
            said.push(flows.judge(&own, &"b/x".into()).unwrap_err().to_string());
        }
        let from = ["`a/t0`", "`a/t0`, `a/t1`", "`a/…`", "`a/…`"];
        let expected =
            from.map(|from| format!("rule `no` forbids passing results of {from} to `b/x`"));
        assert_eq!(said, expected);
        assert!(flows.judge(&own, &"a/x".into()).is_ok());
    }

    #[test]
    fn nothing_is_written_without_rules() {
        let flows = flows(Vec::new(), MAX_SOURCES_BYTES);
        assert_eq!(flows.of_result(Some("a/x"), &Sources::default()), None);
    }
}
