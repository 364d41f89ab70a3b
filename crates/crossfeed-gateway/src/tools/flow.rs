//! Flow rules: which results may go to which tools.
//!
//! # What holds
//!
//! - The first rule that fits decides; where none fits, the result may go.
//! - What a call returned carries where its arguments came from: data does not lose its sources by
//!   going through a tool.
//! - Where the sources of a result are no longer known and there are rules, it goes nowhere; and a call
//!   does not continue from a state of unknown sources.
//! - The sources of a call are a bit for each tool: they take 4,096 bits at most beside one for each server,
//!   whatever servers list and clients call. Tools of a server beyond its share of these bits have one
//!   together, and what holds their results goes nowhere where a rule could forbid it for any of them.

mod sources;

pub(super) use sources::Sources;

use crate::{
    config::{FlowRule, ServerConfig},
    pattern::fits,
    principal::Principal,
};
use crossfeed_core::LineageEntry;
use crossfeed_wire::{CallId, Scope};
use lru::LruCache;
use parking_lot::Mutex;
use sources::{Source, Table};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Calls whose sources are remembered, of all clients together: more than results are kept of sixty
/// sessions. Beyond, the client that has most of them loses its oldest.
const MAX_CALLS: usize = 65_536;

/// Tools that have a bit of their own, of all servers together: each server has the same share of them.
const MAX_TOOLS: usize = 4096;

/// Why a result may not go to a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("rule `{rule}` forbids passing results of {} to `{to}`", quoted(from))]
    Refused {
        rule: String,
        from: BTreeSet<Arc<str>>,
        to: Arc<str>,
    },
    #[error("the sources of the result of call `{call_id}` are no longer known")]
    Forgotten {
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
    /// One next step.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "call it without a reference to these results",
            Self::Forgotten {
                is_repeatable: true,
                ..
            } => "make that call again, then refer to the new one",
            Self::Forgotten { .. } => {
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

fn quoted(from: &BTreeSet<Arc<str>>) -> String {
    const SAID: usize = 8;
    let said = from.iter().take(SAID).map(|source| format!("`{source}`"));
    let mut said = said.collect::<Vec<_>>().join(", ");
    if from.len() > SAID {
        said.push_str(&format!(" and {} more", from.len() - SAID));
    }
    said
}

/// The rules, and whose data each result holds.
pub(super) struct Flows {
    rules: Vec<FlowRule>,
    known: Mutex<FlowState>,
}

struct FlowState {
    of_calls: HashMap<Principal, LruCache<(Scope, CallId), Sources>>,
    count: usize,
    tools: Table,
}

impl FlowState {
    fn get(&mut self, principal: &Principal, call: &(Scope, CallId)) -> Option<&Sources> {
        self.of_calls.get_mut(principal)?.get(call)
    }

    /// Remembers a call, in place of the oldest of who has most where there are `most`.
    fn put(&mut self, principal: &Principal, call: (Scope, CallId), sources: Sources, most: usize) {
        let is_known = match self.of_calls.get_mut(principal) {
            Some(own) => own.put(call, sources).is_some(),
            None => {
                let own = self.of_calls.entry(principal.clone());
                own.or_insert_with(LruCache::unbounded).put(call, sources);
                false
            }
        };
        if is_known {
            return;
        }
        self.count += 1;
        if self.count > most {
            let most_used = self.of_calls.values_mut().max_by_key(|calls| calls.len());
            if most_used.and_then(LruCache::pop_lru).is_some() {
                self.count -= 1;
            }
        }
    }
}

impl Flows {
    /// The rules, for tools of these servers.
    pub(super) fn new(rules: Vec<FlowRule>, servers: &[ServerConfig]) -> Self {
        let servers = servers.iter().map(|server| server.name.as_str());
        Self::with_tools(rules, Table::new(servers, MAX_TOOLS))
    }

    fn with_tools(rules: Vec<FlowRule>, tools: Table) -> Self {
        Self {
            rules,
            known: Mutex::new(FlowState {
                of_calls: HashMap::new(),
                count: 0,
                tools,
            }),
        }
    }

    /// Whether there are no rules, so that any data may go anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whose data the arguments of a call to `to` hold, if they may go there.
    pub(super) fn check(
        &self,
        principal: &Principal,
        scope: &Scope,
        lineage: &[LineageEntry],
        to: &Arc<str>,
    ) -> Result<Sources, FlowError> {
        if self.rules.is_empty() {
            return Ok(Sources::default());
        }
        let calls = lineage.iter().map(|link| &link.source.call_id);
        let (sources, named) = self.sources(principal, scope, calls)?;
        self.judge(&named, to)?;
        Ok(sources)
    }

    /// Whose data the results of calls hold.
    fn sources<'c>(
        &self,
        principal: &Principal,
        scope: &Scope,
        calls: impl Iterator<Item = &'c CallId>,
    ) -> Result<(Sources, Vec<Source>), FlowError> {
        let mut known = self.known.lock();
        let mut sources = Sources::default();
        for call_id in calls {
            let key = (scope.clone(), call_id.clone());
            let of_call = known.get(principal, &key);
            sources.extend(of_call.ok_or_else(|| FlowError::Forgotten {
                call_id: call_id.clone(),
                is_repeatable: false,
            })?);
        }
        let named = known.tools.named(&sources);
        Ok((sources, named))
    }

    /// Whether data of these may go there.
    fn judge(&self, sources: &[Source], to: &Arc<str>) -> Result<(), FlowError> {
        let mut refused: Option<(&str, BTreeSet<Arc<str>>)> = None;
        for source in sources {
            let rules = self.rules.iter();
            let mut fitting = rules.filter(|rule| source.may_fit(&rule.from) && fits(&rule.to, to));
            let decisive = if source.begins.is_none() {
                fitting.next()
            } else {
                // Which of several tools it is, is unknown: none of them may be forbidden it.
                fitting.find(|rule| !rule.allow)
            };
            let Some(rule) = decisive.filter(|rule| !rule.allow) else {
                continue;
            };
            let (name, from) = refused.get_or_insert_with(|| (&rule.name, BTreeSet::new()));
            if *name == rule.name {
                from.insert(Arc::clone(&source.name));
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

    #[cfg(test)]
    pub(super) fn forget_all(&self) {
        let mut known = self.known.lock();
        known.of_calls.clear();
        known.count = 0;
    }

    /// Remembers whose data the result of a call holds: its tool's, and that of its arguments.
    pub(super) fn remember(
        &self,
        principal: &Principal,
        scope: &Scope,
        call_id: &CallId,
        tool: &Arc<str>,
        of: &Sources,
    ) {
        if self.rules.is_empty() {
            return;
        }
        let mut sources = of.clone();
        let mut known = self.known.lock();
        sources.insert(known.tools.number(tool));
        let call = (scope.clone(), call_id.clone());
        known.put(principal, call, sources, MAX_CALLS);
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
            from_call = source.call_id.as_str(),
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

    proptest! {
        /// Whatever is called in whatever order: with room for all tools it is as if their names were kept,
        /// with less room nothing goes where it may not.
        #[test]
        fn no_rule_is_loosened(
            rules in rules(),
            calls in prop::collection::vec(("[ab]/[xyz]{1,2}", prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..24),
            room in prop_oneof![Just(0usize), Just(8), Just(MAX_TOOLS)],
        ) {
            let scope = Scope::parse("gateway", "p", "s").unwrap();
            let flows = Flows::with_tools(rules.clone(), Table::new(["a", "b"].into_iter(), room));
            let id = |number: usize| CallId::parse(&format!("call_{number}")).unwrap();
            let mut made: Vec<BTreeSet<Arc<str>>> = Vec::new();
            for (number, (tool, refers)) in calls.iter().enumerate() {
                let tool: Arc<str> = tool.as_str().into();
                let refers: Vec<_> = refers
                    .iter()
                    .filter(|_| number > 0)
                    .map(|at| at.index(number))
                    .collect();
                let ids: Vec<_> = refers.iter().map(|at| id(*at)).collect();
                let mut names: BTreeSet<_> = refers.iter().flat_map(|at| made[*at].clone()).collect();
                let (sources, named) = flows.sources(&Principal::Local, &scope, ids.iter()).unwrap();
                let judged = flows.judge(&named, &tool).is_ok();
                let expected = may(&rules, &names, &tool);
                prop_assert!(expected || !judged, "{:?} {}", names, tool);
                if room == MAX_TOOLS {
                    prop_assert_eq!(judged, expected);
                }
                flows.remember(&Principal::Local, &scope, &id(number), &tool, &sources);
                names.insert(tool);
                made.push(names);
            }
            prop_assert!(flows.known.lock().tools.len() <= 3 + room.max(3));
        }
    }

    #[test]
    fn one_holder_makes_nothing_be_forgotten_of_another() {
        let [ada, bob] = ["ada", "bob"].map(|name| Principal::Named(name.to_owned()));
        let mut known = FlowState {
            of_calls: HashMap::new(),
            count: 0,
            tools: Table::new(["a"].into_iter(), 1),
        };
        let scope = Scope::parse("gateway", "p", "s").unwrap();
        let call = |number: usize| {
            let id = CallId::parse(&format!("call_{number}")).unwrap();
            (scope.clone(), id)
        };
        for number in 0..5 {
            known.put(&ada, call(number), Sources::default(), 10);
        }
        for number in 0..100 {
            known.put(&bob, call(number), Sources::default(), 10);
            known.put(&bob, call(number), Sources::default(), 10);
        }
        assert!((0..5).all(|number| known.get(&ada, &call(number)).is_some()));
        let kept = (0..100).filter(|number| known.get(&bob, &call(*number)).is_some());
        assert_eq!((kept.count(), known.count), (5, 10));
    }

    #[test]
    fn a_refusal_names_the_sources() {
        let rules = vec![FlowRule::new("no", "a/*", "b/*", false)];
        let flows = Flows::with_tools(rules, Table::new(["a", "b"].into_iter(), 3));
        let scope = Scope::parse("gateway", "p", "s").unwrap();
        let id = |number: usize| CallId::parse(&format!("call_{number}")).unwrap();
        let mut sources = Sources::default();
        for number in 0..3 {
            let tool = format!("a/t{number}").into();
            flows.remember(&Principal::Local, &scope, &id(number), &tool, &sources);
            sources = flows
                .sources(&Principal::Local, &scope, [id(number)].iter())
                .unwrap()
                .0;
        }
        let (_, named) = flows
            .sources(&Principal::Local, &scope, [id(2)].iter())
            .unwrap();
        let refused = flows.judge(&named, &"b/x".into()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "rule `no` forbids passing results of `a/t0`, `a/…` to `b/x`"
        );
        assert!(flows.judge(&named, &"a/x".into()).is_ok());
    }
}
