//! Looking up what is wanted at once, where some of it is still in flight.
//!
//! All waits are under one deadline; as soon as something cannot be had, nothing is waited for any longer,
//! because the call will not run.

use super::{
    Lock,
    calls::Outcome,
    registry::{CallHandle, Registry},
};
use crossfeed_wire::{CallId, Scope};
use futures_util::{
    StreamExt,
    future::{Either, select},
    stream::{self, FuturesUnordered},
};
use std::pin::pin;

/// How many results are looked up at once.
const LOOKUPS: usize = 32;

/// Looks up what is wanted, each in its place; `None` is wanted of the store only. `find` asks the
/// store: also where a call was given up, because that happens while its result is being put.
/// It is told how a wait ended, or `None` of what was not in flight; `dooms` says whether what it
/// found keeps the call from running; it is asked only if something is waited for. `deadline` is asked for a future only if something is waited
/// for; where there is none, nothing is.
pub(crate) async fn look_up<L: Lock, T, F, D, J>(
    registry: &Registry<L>,
    scope: &Scope,
    actor: Option<&CallHandle>,
    wanted: &[Option<&CallId>],
    deadline: impl FnOnce() -> Option<D>,
    find: impl Fn(usize, Option<Outcome>) -> F,
    dooms: impl Fn(&T) -> J,
) -> Vec<T>
where
    F: Future<Output = T>,
    D: Future<Output = ()>,
    J: Future<Output = bool>,
{
    let waits = registry.wait(scope, actor, wanted);
    let places = 0..wanted.len();
    // Made before they are streamed: a closure over a borrowed item would keep this future from
    // being `Send`, which the compiler says only where it is spawned.
    let at_hand: Vec<_> = places
        .clone()
        .filter(|place| !waits.has(*place))
        .map(|place| find(place, None))
        .collect();
    let in_flight = waits.each();
    if in_flight.is_empty() {
        return stream::iter(at_hand).buffered(LOOKUPS).collect().await;
    }
    let deadline = deadline();
    let at_hand: Vec<T> = stream::iter(at_hand).buffered(LOOKUPS).collect().await;
    let mut deadline = pin!(deadline);
    for found in &at_hand {
        if deadline.is_some() && dooms(found).await {
            deadline.set(None);
        }
    }
    if deadline.is_none() {
        waits.end(&Outcome::Aborted);
    }
    let landing: FuturesUnordered<_> = in_flight
        .into_iter()
        .map(|(place, wait)| landed(place, wait, &find))
        .collect();
    let mut landing = pin!(landing);
    let mut landed: Vec<Option<T>> = places.map(|_| None).collect();
    loop {
        // Those that landed come before the deadline.
        let next = match deadline.as_mut().as_pin_mut() {
            None => landing.next().await,
            Some(over) => match select(landing.next(), over).await {
                Either::Left((next, _)) => next,
                Either::Right(((), _)) => {
                    waits.end(&Outcome::TimedOut);
                    deadline.set(None);
                    continue;
                }
            },
        };
        let Some((place, found)) = next else {
            break;
        };
        if deadline.is_some() && dooms(&found).await {
            waits.end(&Outcome::Aborted);
            deadline.set(None);
        }
        if let Some(landed) = landed.get_mut(place) {
            *landed = Some(found);
        }
    }
    let mut at_hand = at_hand.into_iter();
    let each = landed.into_iter();
    each.filter_map(|landed| landed.or_else(|| at_hand.next()))
        .collect()
}

async fn landed<T, F: Future<Output = T>>(
    place: usize,
    wait: impl Future<Output = Outcome>,
    find: &impl Fn(usize, Option<Outcome>) -> F,
) -> (usize, T) {
    let outcome = wait.await;
    (place, find(place, Some(outcome)).await)
}
