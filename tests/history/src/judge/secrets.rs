//! Secrets: what one client received of another.

use std::collections::BTreeMap;

use super::{Law, Violation};
use crate::history::{Event, Moment};
use crate::key::{OF_A_SESSION, principal};

/// What a request about an unknown task is answered with.
pub(crate) const UNKNOWN_TASK: &str = "-32602";
/// What a reference to an unknown result is answered with.
const UNKNOWN: &str = "result.unknown";

/// A call id, and the session whose own it is, if it is one's.
type Id<'a> = (Option<(&'a str, u64)>, &'a str);

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut named: BTreeMap<&str, (&str, &Moment)> = BTreeMap::new();
    let mut ids: BTreeMap<Id<'_>, (&str, &Moment)> = BTreeMap::new();
    for moment in moments {
        match &moment.event {
            Event::Heard {
                client,
                key,
                excerpt,
            } => found.push(Violation::of_call(
                Law::Secret,
                format!("{client} received {key}, which is not its own: {excerpt}"),
                key,
                moments,
            )),
            Event::Named {
                client,
                session,
                key,
                call_id,
            } => {
                let of_a_session = call_id.starts_with(OF_A_SESSION);
                let scope = of_a_session.then_some((client.as_str(), *session));
                let (first, at) = *ids.entry((scope, call_id)).or_insert((key, moment));
                if first != key {
                    found.push(Violation::of(
                        Law::Ids,
                        format!("{client} was given {call_id} for {first} and for {key}"),
                        [at.clone(), moment.clone()],
                    ));
                }
                if of_a_session {
                    continue;
                }
                let owner = principal(client);
                let (first, at) = *named.entry(call_id).or_insert((owner, moment));
                if first != owner {
                    found.push(Violation::of(
                        Law::Secret,
                        format!("call id {call_id} was given to {first} and to {owner}"),
                        [at.clone(), moment.clone()],
                    ));
                }
            }
            Event::Foreign {
                client,
                call_id,
                code,
            } if code != UNKNOWN => found.push(Violation::of(
                Law::Secret,
                format!("{client} referred to {call_id} of another and was told {code}"),
                [moment.clone()],
            )),
            Event::AskedAboutTask {
                client,
                key,
                method,
                answer,
            } => {
                let is_own = principal(client) == principal(key);
                let (law, answer) = match answer {
                    Ok(keys) if is_own && *keys != [key.as_str()] => {
                        (Law::Answered, format!("{keys:?}"))
                    }
                    Ok(_) if !is_own => (Law::Secret, "an answer".to_owned()),
                    Err(code) if !is_own && code != UNKNOWN_TASK => (Law::Secret, code.clone()),
                    _ => continue,
                };
                let what = format!("{client} asked {method} of {key} and was told {answer}");
                found.push(Violation::of_call(law, what, key, moments));
            }
            _ => {}
        }
    }
    found
}
