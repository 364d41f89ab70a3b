//! Secrets: what one client received of another.

use std::collections::BTreeMap;

use super::{Law, Violation};
use crate::history::{Event, Moment};
use crate::key::{OF_A_SESSION, principal};

/// What a reference to an unknown result is answered with.
const UNKNOWN: &str = "result.unknown";

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut named: BTreeMap<&str, (&str, &Moment)> = BTreeMap::new();
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
            Event::Named { client, call_id } if !call_id.starts_with(OF_A_SESSION) => {
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
            _ => {}
        }
    }
    found
}
