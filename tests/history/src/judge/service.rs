//! Service: clients that go on through faults of replicas are served again, and are told nothing that stops them.

use std::collections::BTreeMap;

use super::{KILL_SLACK, KILLED, Law, Violation};
use crate::history::{Attempt, Event, Moment};

/// How long a request may take until it ends, in microseconds: the longest pause of a replica, the longest that a server
/// may take, and a busy machine.
const LONGEST: u64 = 30_000_000;
/// How long a client may be without an answer, while it tries again and again.
pub(crate) const RECOVERY: u64 = 30_000_000;
/// The request whose end is judged with its call.
pub(crate) const CALL: &str = "tools/call";

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
        match attempt {
            Attempt::Wrong { what } => {
                report(format!("{client} was told {what} of {request}"), &[moment]);
            }
            Attempt::Cut if request != CALL => {
                let begun = moment.at.saturating_sub(*took);
                if !was_killed(moments, begun, moment.at) {
                    report(
                        format!("{request} of {client} was cut, and no replica was killed"),
                        &[moment],
                    );
                }
            }
            _ => {}
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

/// Whether a replica was killed in that time, or just before it.
pub(super) fn was_killed(moments: &[Moment], begun: u64, ended: u64) -> bool {
    let times = begun.saturating_sub(KILL_SLACK)..=ended;
    moments.iter().any(|moment| {
        let is_kill = matches!(&moment.event, Event::Injected { fault, .. } if fault == KILLED);
        is_kill && times.contains(&moment.at)
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
