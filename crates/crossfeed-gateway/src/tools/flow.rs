//! Which results may go to which tools.
//!
//! What comes in: the rules, whose results a call's arguments hold, and the tool that is called. What
//! goes out: that the call may be made, or the rule that forbids it. Deliberately not here: finding
//! references.
//!
//! # What holds
//!
//! - The first rule that fits decides; where none fits, the result may go.
//! - What a call returned carries where its arguments came from: data does not lose its sources by
//!   going through a tool.
//! - Where the sources of a result are no longer known and there are rules, it goes nowhere.

use crate::config::FlowRule;
use crate::pattern::fits;
use crossfeed_core::Link;
use crossfeed_wire::{CallId, Scope};
use lru::LruCache;
use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

/// Calls whose sources are remembered, of all clients together: more than results are kept of sixty
/// sessions.
const REMEMBERED: NonZeroUsize = match NonZeroUsize::new(65_536) {
    Some(calls) => calls,
    None => NonZeroUsize::MIN,
};

/// Sets of sources that are held once for all calls that have them.
const SETS: NonZeroUsize = match NonZeroUsize::new(1024) {
    Some(sets) => sets,
    None => NonZeroUsize::MIN,
};

/// Whose results something holds: `server/tool`.
pub(super) type Sources = BTreeSet<Arc<str>>;

/// Why a result may not go to a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("rule `{rule}` forbids that results of {} go to `{to}`", quoted(from))]
    Refused {
        rule: String,
        from: Sources,
        to: Arc<str>,
    },
    #[error("it is no longer known whose data the result of call `{call_id}` holds")]
    Forgotten { call_id: CallId },
    #[error("`{to}` takes no references")]
    NotChained { to: Arc<str> },
}

impl FlowError {
    /// One next step.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "call it without a reference to these results",
            Self::Forgotten { .. } => "make that call again, then refer to the new one",
            Self::NotChained { .. } => "write the values in place of references",
        }
    }
}

fn quoted(from: &Sources) -> String {
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
    known: Mutex<Known>,
}

struct Known {
    of_calls: LruCache<(Scope, CallId), Arc<Sources>>,
    /// The sets that are used most: many calls hold data of the same tools.
    sets: LruCache<Arc<Sources>, ()>,
}

impl Flows {
    pub(super) fn new(rules: Vec<FlowRule>) -> Self {
        Self {
            rules,
            known: Mutex::new(Known {
                of_calls: LruCache::new(REMEMBERED),
                sets: LruCache::new(SETS),
            }),
        }
    }

    /// Whose data the arguments of a call to `to` hold, if they may go there.
    pub(super) fn check(
        &self,
        scope: &Scope,
        lineage: &[Link],
        to: &Arc<str>,
    ) -> Result<Sources, FlowError> {
        let mut sources = Sources::new();
        if self.rules.is_empty() {
            return Ok(sources);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for link in lineage {
            let call_id = &link.source.call_id;
            let key = (scope.clone(), call_id.clone());
            let Some(of_call) = known.of_calls.get(&key) else {
                let call_id = call_id.clone();
                return Err(FlowError::Forgotten { call_id });
            };
            sources.extend(of_call.iter().cloned());
        }
        let mut refused: Option<(&str, Sources)> = None;
        for source in &sources {
            let fitting = |rule: &&FlowRule| fits(&rule.from, source) && fits(&rule.to, to);
            let decided = self.rules.iter().find(fitting);
            let Some(rule) = decided.filter(|rule| !rule.allow) else {
                continue;
            };
            let (name, from) = refused.get_or_insert_with(|| (&rule.name, Sources::new()));
            if *name == rule.name {
                from.insert(Arc::clone(source));
            }
        }
        match refused {
            None => Ok(sources),
            Some((rule, from)) => Err(FlowError::Refused {
                rule: rule.to_owned(),
                from,
                to: Arc::clone(to),
            }),
        }
    }

    #[cfg(test)]
    pub(super) fn forget_all(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.of_calls.clear();
    }

    /// Remembers whose data the result of a call holds: its tool's, and that of its arguments.
    pub(super) fn remember(&self, scope: &Scope, call_id: &CallId, tool: &Arc<str>, of: &Sources) {
        if self.rules.is_empty() {
            return;
        }
        let mut sources = of.clone();
        sources.insert(Arc::clone(tool));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = match known.sets.get_key_value(&sources) {
            Some((set, ())) => Arc::clone(set),
            None => {
                let set = Arc::new(sources);
                known.sets.put(Arc::clone(&set), ());
                set
            }
        };
        known
            .of_calls
            .put((scope.clone(), call_id.clone()), sources);
    }
}

/// Says which results went where, by shape and source, never what they hold.
pub(super) fn log(call_id: &CallId, to: &str, lineage: &[Link]) {
    for link in lineage {
        let source = &link.source;
        tracing::info!(
            target: "crossfeed::gateway::flow",
            call_id = call_id.as_str(),
            to,
            at = link.at.as_str(),
            from_call = source.call_id.as_str(),
            from = source.tool.as_deref(),
            is_selected = source.select.is_some(),
            used_default = source.used_default,
            bytes = source.bytes_out,
            "a result went to a tool"
        );
    }
}
