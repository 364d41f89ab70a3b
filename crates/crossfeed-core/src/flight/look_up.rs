//! Looks up several results at once, some of which are still in flight, here or in other processes.
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
    Stream, StreamExt,
    future::{Either, select},
    stream::{self, FuturesUnordered},
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

/// How many results are looked up at once.
pub(crate) const MAX_PARALLEL_LOOKUPS: usize = 32;

/// The calls that other processes run.
pub(crate) trait Elsewhere<T> {
    /// Whether an answer says that another process runs the call.
    fn runs(&self, found: &T) -> bool;

    /// Waits for such calls, each with the index at which it is wanted and the answer that says so.
    fn wait(&self, running: &[(usize, T)]) -> impl Stream<Item = (usize, T)> + Send;

    /// Asks once more for a call that has not ended in time.
    fn time_out(&self, place: usize, found: T) -> impl Future<Output = T> + Send;
}

/// Looks up each of `wanted`, in order; for `None` it asks only the store.
///
/// `find` reads the store, even for a call that was given up, which may happen while its result is being stored.
/// It gets how a wait ended, or `None` for what was not in flight. `dooms` says whether an answer keeps the call
/// from running. `dooms` and `deadline` are used only if something is in flight; without a deadline nothing is
/// waited for.
#[expect(
    clippy::too_many_arguments,
    reason = "each is one way to ask what lies outside"
)]
pub(crate) async fn look_up<L: Lock, T, F, D, J>(
    registry: &Registry<L>,
    scope: &Scope,
    actor: Option<&CallHandle>,
    wanted: &[Option<&CallId>],
    deadline: impl FnOnce() -> Option<D>,
    find: impl Fn(usize, Option<WaitOutcome>) -> F,
    dooms: impl Fn(&T) -> J,
    elsewhere: &impl Elsewhere<T>,
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
    let mut begin = Some(deadline);
    let mut deadline = pin!(None);
    if !in_flight.is_empty() {
        deadline.set(begin.take().and_then(|begin| begin()));
    }
    let at_hand = stream::iter(at_hand).buffered(MAX_PARALLEL_LOOKUPS);
    let at_hand: Vec<T> = at_hand.collect().await;
    if in_flight.is_empty() {
        if !at_hand.iter().any(|found| elsewhere.runs(found)) {
            return at_hand;
        }
        deadline.set(begin.take().and_then(|begin| begin()));
    }
    let mut landed: Vec<Option<T>> = places.clone().map(|_| None).collect();
    let mut running = Vec::new();
    for (place, found) in places.filter(|place| !waits.has(*place)).zip(at_hand) {
        if elsewhere.runs(&found) {
            running.push((place, found));
            continue;
        }
        if deadline.is_some() && dooms(&found).await {
            deadline.set(None);
        }
        if let Some(landed) = landed.get_mut(place) {
            *landed = Some(found);
        }
    }
    if deadline.is_none() {
        waits.end(&WaitOutcome::Aborted);
    }
    let mut has_timed_out = false;
    {
        let landing: FuturesUnordered<_> = in_flight
            .into_iter()
            .map(|(place, wait)| {
                let find = &find;
                async move { (place, find(place, Some(wait.await)).await) }
            })
            .collect();
        let mut landing = pin!(landing);
        let waits_elsewhere = deadline.is_some() && !running.is_empty();
        // Boxed, so that look-ups without such waits are not larger for it.
        let ending = || elsewhere.wait(&running).fuse().boxed();
        let mut ending = waits_elsewhere.then(ending);
        loop {
            let next = {
                // Completed calls take precedence over the deadline.
                let next = next_of(landing.as_mut(), ending.as_mut());
                match deadline.as_mut().as_pin_mut() {
                    None => next.await.ok_or(Over::Done),
                    Some(over) => match select(pin!(next), over).await {
                        Either::Left((next, _)) => next.ok_or(Over::Done),
                        Either::Right(((), _)) => Err(Over::TimedOut),
                    },
                }
            };
            let (place, found) = match next {
                Ok(next) => next,
                Err(Over::Done) => break,
                Err(Over::TimedOut) => {
                    has_timed_out = true;
                    waits.end(&WaitOutcome::TimedOut);
                    deadline.set(None);
                    ending = None;
                    continue;
                }
            };
            if deadline.is_some() && dooms(&found).await {
                waits.end(&WaitOutcome::Aborted);
                deadline.set(None);
                ending = None;
            }
            if let Some(landed) = landed.get_mut(place) {
                *landed = Some(found);
            }
        }
    }
    let left: Vec<_> = running
        .into_iter()
        .filter(|(place, _)| landed.get(*place).is_some_and(Option::is_none))
        .collect();
    let places: Vec<_> = left.iter().map(|(place, _)| *place).collect();
    let left: Vec<T> = if has_timed_out {
        let asked: Vec<_> = left
            .into_iter()
            .map(|(place, found)| elsewhere.time_out(place, found))
            .collect();
        let asked = stream::iter(asked).buffered(MAX_PARALLEL_LOOKUPS);
        Box::pin(asked.collect()).await
    } else {
        left.into_iter().map(|(_, found)| found).collect()
    };
    for (place, found) in places.into_iter().zip(left) {
        if let Some(landed) = landed.get_mut(place) {
            *landed = Some(found);
        }
    }
    landed.into_iter().flatten().collect()
}

/// Why nothing lands.
enum Over {
    /// All has landed.
    Done,
    TimedOut,
}

/// The next item of either stream; `None` when both are over.
async fn next_of<T>(
    mut one: Pin<&mut impl Stream<Item = T>>,
    mut other: Option<&mut (impl Stream<Item = T> + Unpin)>,
) -> Option<T> {
    poll_fn(|context| {
        let one = one.as_mut().poll_next(context);
        if let Poll::Ready(Some(_)) = one {
            return one;
        }
        let other = match &mut other {
            Some(other) => other.poll_next_unpin(context),
            None => Poll::Ready(None),
        };
        match other {
            Poll::Ready(None) => one,
            other => other,
        }
    })
    .await
}
