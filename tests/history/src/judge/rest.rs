//! What is left behind, and whether the gateway stayed up.

use super::{Law, Violation};
use crate::history::{Event, Moment};

const SUCCESS: &str = "exit status: 0";

pub(super) fn judge(moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    for moment in moments {
        let (law, what) = match &moment.event {
            Event::Measured {
                gateway,
                what,
                before,
                after,
            } if after > before => (
                Law::LeftBehind,
                format!(
                    "{gateway}: {what}: {before} before the first client, {after} after the last"
                ),
            ),
            Event::Bounded { what, value, limit } if value > limit => (
                Law::Level,
                format!("{what}: {value}, and at most {limit} is right"),
            ),
            Event::GatewayEnded {
                gateway,
                status,
                expected,
            } if !expected || status != SUCCESS => {
                let asked = if *expected {
                    "was asked to end"
                } else {
                    "ended on its own"
                };
                (Law::Alive, format!("{gateway} {asked}: {status}"))
            }
            Event::Panicked { gateway, line } => {
                (Law::Alive, format!("{gateway} panicked: {line}"))
            }
            _ => continue,
        };
        found.push(Violation::of(law, what, [moment.clone()]));
    }
    found
}
