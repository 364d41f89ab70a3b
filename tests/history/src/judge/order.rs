//! Order: of a client's notifications at each server, and of the progress of each call.

use std::collections::{BTreeMap, HashMap};

use super::service::was_gone;
use super::{Law, Violation};
use crate::history::{Event, Moment};

/// A server over HTTP that does not take a message within this time may be sent the next one beside it (specs/gateway-transports.md).
const HELD_UP: u64 = 2_000_000;

/// The way of notifications: client and session, then server, process and connection.
type Path<'a> = (&'a str, u64, &'a str, u32, &'a str);

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = notifications(moments);
    found.extend(progress(moments));
    found.extend(streams(moments));
    found.extend(pushed(moments));
    found
}

fn notifications(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut told: HashMap<(&str, u64, u64), u64> = HashMap::new();
    let mut arrived: BTreeMap<Path<'_>, Vec<(u64, &Moment)>> = BTreeMap::new();
    for moment in moments {
        match &moment.event {
            Event::Told {
                client,
                session,
                number,
            } => {
                told.insert((client, *session, *number), moment.at);
            }
            Event::Noted {
                client,
                session,
                number,
                server,
                process,
                connection,
            } => {
                let sent = told.get(&(client.as_str(), *session, *number));
                let there = arrived
                    .entry((client, *session, server, *process, connection))
                    .or_default();
                // One that a replica took which is gone is made again elsewhere (specs/gateway-transports.md, Replicas).
                let is_made_again = |(earlier, other): &(u64, &Moment)| {
                    earlier == number && was_gone(moments, other.at, moment.at)
                };
                let overtaken = there.iter().rfind(|(earlier, _)| earlier >= number);
                let overtaken = overtaken.filter(|earlier| !is_made_again(earlier));
                if sent.is_none() {
                    found.push(Violation::of(
                        Law::Order,
                        format!(
                            "{server} read notification {number} of {client}, which was not sent"
                        ),
                        [moment.clone()],
                    ));
                } else if let Some((earlier, other)) = overtaken {
                    let late = sent.is_some_and(|sent| moment.at.saturating_sub(*sent) > HELD_UP);
                    if earlier == number {
                        found.push(Violation::of(
                            Law::AtMostOnce,
                            format!("{server} read notification {number} of {client} twice"),
                            [(*other).clone(), moment.clone()],
                        ));
                    } else if !late {
                        found.push(Violation::of(
                            Law::Order,
                            format!(
                                "{server} read notification {number} of {client} behind {earlier}"
                            ),
                            [(*other).clone(), moment.clone()],
                        ));
                    }
                }
                there.push((*number, moment));
            }
            _ => {}
        }
    }
    found
}

/// On the stream of a call each event comes once, and none is left out, over however many connections.
fn streams(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut next: HashMap<&str, u64> = HashMap::new();
    for moment in moments {
        let Event::Delivered { key, number, .. } = &moment.event else {
            continue;
        };
        let next = next.entry(key).or_default();
        if number != next {
            let what = format!("event {number} of {key} came where {next} was due");
            found.push(Violation::of_call(Law::Order, what, key, moments));
        }
        *next = number + 1;
    }
    found
}

/// On a stream of what belongs to no request events come at most once and in order, over however many connections.
fn pushed(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut last: HashMap<(&str, u64, &str), (u64, &Moment)> = HashMap::new();
    for moment in moments {
        let Event::Pushed {
            client,
            session,
            stream,
            number,
        } = &moment.event
        else {
            continue;
        };
        let before = last.insert((client, *session, stream), (*number, moment));
        if let Some((before, earlier)) = before
            && before >= *number
        {
            found.push(Violation::of(
                Law::Order,
                format!("event {stream}-{number} of {client} came behind {before}"),
                [earlier.clone(), moment.clone()],
            ));
        }
    }
    found
}

fn progress(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut last: HashMap<&str, u64> = HashMap::new();
    let mut ended: HashMap<&str, ()> = HashMap::new();
    for moment in moments {
        match &moment.event {
            Event::Ended { key, .. } => {
                ended.insert(key, ());
            }
            Event::Progress { key, number, .. } => {
                let before = last.insert(key, *number).unwrap_or(0);
                let what = if ended.contains_key(key.as_str()) {
                    format!("{key} had progress {number} behind its answer")
                } else if before >= *number {
                    format!("{key} had progress {number} behind {before}")
                } else {
                    continue;
                };
                found.push(Violation::of_call(Law::Order, what, key, moments));
            }
            _ => {}
        }
    }
    found
}
