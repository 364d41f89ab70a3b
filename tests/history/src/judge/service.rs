//! Service: clients that go on through faults of replicas are served again, and are told nothing that stops them.

use std::collections::BTreeMap;

use super::{ENDED, KILLED, Law, PAUSED_LONG, Violation};
use crate::history::{Attempt, Event, Moment};

/// How long a request may take until it ends, in microseconds: the longest pause of a replica, the longest that a server
/// may take, and a busy machine.
const LONGEST: u64 = 30_000_000;
/// How long a client may be without an answer, while it tries again and again: a request that took the longest time and failed,
/// and the longest pause of the replica that gets the next one.
pub(crate) const RECOVERY: u64 = LONGEST + 15_000_000;
/// The request whose end is judged with its call.
pub(crate) const CALL: &str = "tools/call";

/// How much earlier than a request began a fault that cuts it off may have been noted: what happens at once, and the longest
/// pause with what a replica does when it wakes.
const KILL_SLACK: u64 = 1_000_000;
const PAUSE_SLACK: u64 = 15_000_000;

/// What a client is told of a session that is over.
const UNKNOWN_SESSION: &str = "status 404";

/// A client, and whether it is its stream or all that it asks for.
type Party<'a> = (&'a str, bool);

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut unserved: BTreeMap<Party<'_>, &Moment> = BTreeMap::new();
    let mut report = |what: String, moments: &[&Moment]| {
        let moments = moments.iter().map(|&moment| moment.clone());
        found.push(Violation::of(Law::Service, what, moments));
    };
    for moment in moments {
        if let Event::Cut {
            client, request, ..
        } = &moment.event
            && !is_excused(moments, moment)
        {
            let what =
                format!("{request} of {client} was cut, and no replica that had it was gone");
            report(what, &[moment]);
        }
        let Event::Tried {
            client,
            request,
            took,
            attempt,
        } = &moment.event
        else {
            continue;
        };
        if *took > LONGEST {
            let seconds = took / 1_000_000;
            report(format!("{request} of {client} took {seconds} s"), &[moment]);
        }
        if let Attempt::Wrong { what } = attempt
            && !is_end_made_again(moments, moment)
        {
            report(format!("{client} was told {what} of {request}"), &[moment]);
        }
        let party = (client.as_str(), is_stream(request));
        if *attempt == Attempt::Served {
            let Some(first) = unserved.remove(&party) else {
                continue;
            };
            let away = moment.at.saturating_sub(began(first));
            if away > RECOVERY {
                let seconds = away / 1_000_000;
                report(
                    format!("{client} was without an answer to {request} for {seconds} s"),
                    &[first, moment],
                );
            }
        } else {
            unserved.entry(party).or_insert(moment);
        }
    }
    let end = moments.last().map_or(0, |moment| moment.at);
    for ((client, _), first) in unserved {
        if end.saturating_sub(began(first)) > RECOVERY {
            report(format!("{client} was not served any more"), &[first]);
        }
    }
    found
}

fn is_stream(request: &str) -> bool {
    request == "GET"
}

fn began(moment: &Moment) -> u64 {
    match &moment.event {
        Event::Tried { took, .. } => moment.at.saturating_sub(*took),
        _ => moment.at,
    }
}

/// Whether a connection may be cut off: the replica that took the request was killed. Once the answer had begun, that replica
/// or the one that had the session may have been killed, or paused for so long that others counted it as dead.
pub(super) fn is_excused(moments: &[Moment], cut: &Moment) -> bool {
    let Event::Cut {
        replica,
        begun,
        session,
        took,
        ..
    } = &cut.event
    else {
        return false;
    };
    let sent = cut.at.saturating_sub(*took);
    moments.iter().any(|moment| {
        let Event::Injected { fault, target } = &moment.event else {
            return false;
        };
        if fault != KILLED && !begun {
            return false;
        }
        let took_it = replica.as_ref() == Some(target);
        let had_session = || {
            let session = session.as_ref().filter(|_| *begun);
            session.is_some_and(|session| may_have(moments, session, target, moment.at))
        };
        is_gone_within(moment, sent, cut.at) && (took_it || had_session())
    })
}

/// Whether a replica was killed in that time, or paused for so long that others counted it as dead.
pub(super) fn was_gone(moments: &[Moment], from: u64, to: u64) -> bool {
    moments
        .iter()
        .any(|moment| is_gone_within(moment, from, to))
}

fn is_gone_within(moment: &Moment, from: u64, to: u64) -> bool {
    let Event::Injected { fault, .. } = &moment.event else {
        return false;
    };
    let slack = match fault.as_str() {
        KILLED => KILL_SLACK,
        PAUSED_LONG => PAUSE_SLACK,
        _ => return false,
    };
    (from.saturating_sub(slack)..=to).contains(&moment.at)
}

/// Whether this is the end of a session, made again behind the replica that had ended it and was gone before it said so.
fn is_end_made_again(moments: &[Moment], tried: &Moment) -> bool {
    let Event::Tried {
        request,
        attempt: Attempt::Wrong { what },
        ..
    } = &tried.event
    else {
        return false;
    };
    request == "DELETE" && what == UNKNOWN_SESSION && was_gone(moments, began(tried), tried.at)
}

/// Whether a replica may have had a session at that time: it began there, or the replica where it began has been gone since.
fn may_have(moments: &[Moment], session: &(String, u64), replica: &str, at: u64) -> bool {
    let (first, since) = session;
    first == replica
        || moments.iter().any(|moment| {
            let is_gone = matches!(&moment.event, Event::Injected { fault, target }
                if [KILLED, ENDED, PAUSED_LONG].contains(&fault.as_str()) && target == first);
            is_gone && (since.saturating_sub(PAUSE_SLACK)..=at).contains(&moment.at)
        })
}

/// How long requests took, and how long clients went without an answer.
pub(crate) fn figures(moments: &[Moment]) -> Vec<String> {
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut unserved: BTreeMap<Party<'_>, u64> = BTreeMap::new();
    let mut away = 0;
    for moment in moments {
        if let Event::Tried {
            client,
            request,
            took,
            attempt,
        } = &moment.event
        {
            times.entry(request).or_default().push(*took);
            let party = (client.as_str(), is_stream(request));
            if *attempt == Attempt::Served {
                let since = unserved.remove(&party).unwrap_or(moment.at);
                away = away.max(moment.at.saturating_sub(since));
            } else {
                unserved.entry(party).or_insert(began(moment));
            }
        }
    }
    let mut lines: Vec<String> = times
        .into_iter()
        .map(|(request, mut times)| {
            times.sort_unstable();
            let median = times[times.len() / 2] / 1_000;
            let longest = times.last().map_or(0, |longest| longest / 1_000);
            let count = times.len();
            format!("{count:8} {request}: median {median} ms, longest {longest} ms")
        })
        .collect();
    if !lines.is_empty() {
        lines.push(format!(
            "{:8} ms: the longest that a client was without an answer",
            away / 1_000
        ));
    }
    lines
}
