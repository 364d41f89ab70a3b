//! Calls: how often each ran, and how it ended for its client.

use std::collections::BTreeMap;

use super::service::is_excused;
use super::{Law, Violation};
use crate::history::{Event, Moment, Outcome};

/// Faults by which a server runs a call and then claims that it did not. What the gateway says of such a call is the
/// server's word.
pub(crate) const LIES: [&str; 3] = ["401-after", "404-after", "429-after"];
/// The lie that has a call run twice: 404 says that the server does not know the session and has not taken the request
/// (MCP, Streamable HTTP, session management), so the gateway sends it once more in another session.
const SENT_AGAIN: &str = "404-after";
/// The fault by which the gateway has no descriptors to spare, and how long it may matter. Meanwhile the gateway may cut off
/// connections that no request was read from (specs/gateway-transports.md).
pub(crate) const SCARCE: &str = "fault: descriptors scarce";
const CRAMPED: u64 = 3_000_000;
/// What a call that ran may end with besides its answer: it may have run, or its answer found no room.
const MAY_HAVE_RUN: [&str; 2] = ["upstream.outcome_unknown", "limit.exceeded"];

/// What a history says about one call.
#[derive(Default)]
struct Call<'a> {
    asked: usize,
    fault: Option<&'a str>,
    refers_to: &'a [String],
    ran: usize,
    ended: Vec<&'a Outcome>,
    /// Whether its connection was cut off by a fault of a replica that had it.
    cut_off: bool,
    /// Whether it ended while the gateway had no descriptors to spare.
    cramped: bool,
}

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut calls: BTreeMap<&str, Call<'_>> = BTreeMap::new();
    let mut found = Vec::new();
    let mut scarce = 0;
    for moment in moments {
        match &moment.event {
            Event::Asked {
                key,
                fault,
                refers_to,
                ..
            } => {
                let call = calls.entry(key).or_default();
                call.asked += 1;
                call.fault = fault.as_deref();
                call.refers_to = refers_to;
            }
            Event::Ran { key, .. } => calls.entry(key).or_default().ran += 1,
            Event::Ended { key, outcome, .. } => {
                let call = calls.entry(key).or_default();
                call.ended.push(outcome);
                call.cramped = scarce > 0 && moment.at.saturating_sub(scarce) < CRAMPED;
            }
            Event::Cut { key: Some(key), .. } if is_excused(moments, moment) => {
                calls.entry(key).or_default().cut_off = true;
            }
            Event::Injected { fault, .. } if fault == SCARCE => scarce = moment.at.max(1),
            Event::Stray { client, message } => found.push(Violation::of(
                Law::Answered,
                format!("{client} received a message that answers nothing it waits for: {message}"),
                [moment.clone()],
            )),
            _ => {}
        }
    }
    for (key, call) in &calls {
        let mut report = |law, what: String| {
            found.push(Violation::of_call(
                law,
                format!("{key} {what}"),
                key,
                moments,
            ));
        };
        if call.asked == 0 {
            report(Law::AtMostOnce, "was never asked for, and is there".into());
        }
        let most = if call.fault == Some(SENT_AGAIN) { 2 } else { 1 };
        if call.ran > most {
            report(Law::AtMostOnce, format!("ran {} times", call.ran));
        }
        match call.ended.as_slice() {
            [] if call.asked > 0 => report(Law::Answered, "never ended".into()),
            [] => {}
            [outcome] => {
                if let Some((law, what)) = problem(key, call, outcome) {
                    report(law, what);
                }
            }
            more => report(Law::Answered, format!("ended {} times", more.len())),
        }
    }
    found
}

/// What is wrong with how a call ended.
fn problem(key: &str, call: &Call<'_>, outcome: &Outcome) -> Option<(Law, String)> {
    let lie = call.fault.is_some_and(|fault| LIES.contains(&fault));
    let ran = call.ran > 0;
    match outcome {
        Outcome::Answered { keys } => {
            let stranger = keys
                .iter()
                .find(|one| *one != key && !call.refers_to.contains(one));
            if let Some(stranger) = stranger {
                Some((Law::Answered, format!("was answered with {stranger}")))
            } else if !keys.iter().any(|one| one == key) {
                Some((Law::Answered, "was answered without its key".into()))
            } else if !ran {
                Some((Law::Answered, "was answered, and never ran".into()))
            } else {
                None
            }
        }
        Outcome::Failed { code } if ran && !lie && !MAY_HAVE_RUN.contains(&code.as_str()) => {
            Some((Law::NotSent, format!("ran, and was reported as {code}")))
        }
        Outcome::Refused { status, .. } if ran => Some((
            Law::NotSent,
            format!("ran, and was refused with status {status}"),
        )),
        Outcome::Unsent if ran => Some((
            Law::NotSent,
            "ran, although its request was never whole".into(),
        )),
        Outcome::GaveWay if ran => Some((
            Law::NotSent,
            "ran, although its connection had given way".into(),
        )),
        Outcome::Refused {
            status: 503,
            retry: false,
        } => Some((
            Law::Service,
            "was refused with status 503, and not told when to try again".into(),
        )),
        Outcome::Lost { .. } if call.cramped && !ran || call.cut_off => None,
        Outcome::Lost { why } => Some((Law::Answered, format!("lost its answer: {why}"))),
        Outcome::Silent { seconds } => {
            Some((Law::Answered, format!("had no answer within {seconds} s")))
        }
        _ => None,
    }
}
