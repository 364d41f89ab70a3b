//! Looks up several results at once, some of which are still in flight.
//!
//! All waits share one deadline. As soon as one result is known to be missing, all waits end, because the call
//! will not run.

use super::{
    Lock,
    calls::WaitOutcome,
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
const MAX_PARALLEL_LOOKUPS: usize = 32;

/// Looks up each of `wanted`, in order; for `None` it asks only the store.
///
/// `find` reads the store, even for a call that was given up, which may happen while its result is being stored.
/// It gets how a wait ended, or `None` for what was not in flight. `dooms` says whether an answer keeps the call
/// from running. `dooms` and `deadline` are used only if something is in flight; without a deadline nothing is
/// waited for.
pub(crate) async fn look_up<L: Lock, T, F, D, J>(
    registry: &Registry<L>,
    scope: &Scope,
    actor: Option<&CallHandle>,
    wanted: &[Option<&CallId>],
    deadline: impl FnOnce() -> Option<D>,
    find: impl Fn(usize, Option<WaitOutcome>) -> F,
    dooms: impl Fn(&T) -> J,
) -> Vec<T>
where
    F: Future<Output = T>,
    D: Future<Output = ()>,
    J: Future<Output = bool>,
{
    let waits = registry.wait(scope, actor, wanted);
    let places = 0..wanted.len();
    // Collected before they are streamed: a closure over a borrowed item would make this future not `Send`,
    // which the compiler reports only where it is spawned.
    let at_hand: Vec<_> = places
        .clone()
        .filter(|place| !waits.has(*place))
        .map(|place| find(place, None))
        .collect();
    let in_flight = waits.each();
    if in_flight.is_empty() {
        return stream::iter(at_hand)
            .buffered(MAX_PARALLEL_LOOKUPS)
            .collect()
            .await;
    }
    let mut deadline = pin!(deadline());
    let at_hand = stream::iter(at_hand).buffered(MAX_PARALLEL_LOOKUPS);
    let at_hand: Vec<T> = at_hand.collect().await;
    for found in &at_hand {
        if deadline.is_some() && dooms(found).await {
            deadline.set(None);
        }
    }
    if deadline.is_none() {
        waits.end(&WaitOutcome::Aborted);
    }
    let landing: FuturesUnordered<_> = in_flight
        .into_iter()
        .map(|(place, wait)| {
            let find = &find;
            async move { (place, find(place, Some(wait.await)).await) }
        })
        .collect();
    let mut landing = pin!(landing);
    let mut landed: Vec<Option<T>> = places.map(|_| None).collect();
    loop {
        // Completed calls take precedence over the deadline.
        let next = match deadline.as_mut().as_pin_mut() {
            None => landing.next().await,
            Some(over) => match select(landing.next(), over).await {
                Either::Left((next, _)) => next,
                Either::Right(((), _)) => {
                    waits.end(&WaitOutcome::TimedOut);
                    deadline.set(None);
                    continue;
                }
            },
        };
        let Some((place, found)) = next else {
            break;
        };
        if deadline.is_some() && dooms(&found).await {
            waits.end(&WaitOutcome::Aborted);
            deadline.set(None);
        }
        if let Some(landed) = landed.get_mut(place) {
            *landed = Some(found);
        }
    }
    let mut at_hand = at_hand.into_iter();
    let all = landed.into_iter();
    all.filter_map(|landed| landed.or_else(|| at_hand.next()))
        .collect()
}
