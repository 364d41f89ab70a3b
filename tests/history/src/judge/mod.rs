//! Judges a history: which promises of the gateway it breaks.
//!
//! In: the moments of a run. Out: violations, each with the few moments that show it. Each law is a function of its own and
//! knows nothing of how the history came about, so a planted history tests it.

mod calls;
mod order;
mod rest;
mod secrets;
mod service;
#[cfg(test)]
mod tests;

pub(crate) use calls::SCARCE;
pub(crate) use secrets::UNKNOWN_TASK;
pub(crate) use service::{CALL, RECOVERY, figures};

use std::fmt;
use std::time::Duration;

use crate::history::{Event, Moment};

/// What the gateway promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    /// Each call runs at most once, and only if it was asked for.
    AtMostOnce,
    /// What was reported as not sent never ran.
    NotSent,
    /// Each call that a client waits for is answered once, with its own answer.
    Answered,
    /// Messages of one client to one server, and progress of one call, keep their order.
    Order,
    /// Nobody receives another's bytes or call ids, and a reference to another's result reads like an unknown one.
    Secret,
    /// No call id is given twice in its scope.
    Ids,
    /// A request ends in time, no client is told what stops it, and each is served again after a fault.
    Service,
    /// Nothing is left behind once all clients are gone.
    LeftBehind,
    /// Nothing is above its limit; neither memory nor times grow while the same work goes on.
    Level,
    /// The gateway neither panics nor ends on its own.
    Alive,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Law::AtMostOnce => "at most once",
            Law::NotSent => "not sent means never ran",
            Law::Answered => "each question has its answer, once",
            Law::Order => "order is kept",
            Law::Secret => "nobody sees another's bytes",
            Law::Ids => "no call id is given twice",
            Law::Service => "clients are served through faults",
            Law::LeftBehind => "nothing is left behind",
            Law::Level => "figures stay level and within their limits",
            Law::Alive => "the gateway stays up",
        })
    }
}

/// Faults by which a replica is gone: it is killed, ends in an orderly way, or is paused for so long that others may count it
/// as dead. Its record in the store lasts 6 s, and was renewed up to 2 s before (specs/gateway-transports.md, Replicas).
pub(crate) const KILLED: &str = "fault: replica killed";
pub(crate) const ENDED: &str = "fault: replica stopped in an orderly way";
pub(crate) const PAUSED_LONG: &str = "fault: replica paused for longer than its record lasts";
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(4);
/// How the names of replicas begin.
pub(crate) const REPLICA: &str = "replica ";

/// A law that was broken, and how.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) law: Law,
    pub(crate) what: String,
    /// The moments that show it, in order.
    pub(crate) moments: Vec<Moment>,
}

/// The most moments that a violation shows.
const MAX_SHOWN: usize = 16;
/// How long before a call was asked for a fault still matters to it.
const FAULT_BEFORE: u64 = 3_000_000;

impl Violation {
    /// A violation by one call: with its own moments, and the faults of its server while it ran.
    fn of_call(law: Law, what: String, key: &str, moments: &[Moment]) -> Self {
        let own: Vec<&Moment> = moments
            .iter()
            .filter(|moment| moment.event.is_about(key))
            .collect();
        let server = own.iter().find_map(|moment| match &moment.event {
            Event::Asked { server, .. } | Event::Ran { server, .. } => Some(server.as_str()),
            _ => None,
        });
        let first = own.first().map_or(0, |moment| moment.at);
        let last = own.last().map_or(u64::MAX, |moment| moment.at);
        let near = first.saturating_sub(FAULT_BEFORE)..=last;
        let shown = moments.iter().filter(|moment| match &moment.event {
            Event::Injected { target, .. } => {
                // A fault without a target is the gateway's own.
                let of_gateway = target.is_empty() || target.starts_with(REPLICA);
                let concerns = of_gateway || server == Some(target.as_str());
                near.contains(&moment.at) && concerns
            }
            event => event.is_about(key),
        });
        Violation {
            law,
            what,
            moments: shown.take(MAX_SHOWN).cloned().collect(),
        }
    }

    fn of(law: Law, what: String, moments: impl IntoIterator<Item = Moment>) -> Self {
        Violation {
            law,
            what,
            moments: moments.into_iter().take(MAX_SHOWN).collect(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.what)?;
        for moment in &self.moments {
            write!(f, "\n    {moment}")?;
        }
        Ok(())
    }
}

/// Every violation in a history, whose moments are in order.
pub(crate) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = calls::judge(moments);
    found.extend(order::judge(moments));
    found.extend(secrets::judge(moments));
    found.extend(service::judge(moments));
    found.extend(rest::judge(moments));
    found
}
