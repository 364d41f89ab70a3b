//! Waits for calls that other processes over the same store run.

use super::Session;
use crate::{
    error::LookupError,
    flight::{Elsewhere, LeaseKeeper, MAX_PARALLEL_LOOKUPS, SharedWaits, renewal_pause},
    resolve::{LookupKey, LookupResult, Plan},
    telemetry::Instrument,
    trace::traced_lease,
};
use crossfeed_store::{CallLeases, CallWait, StoreError, Tombstone};
use crossfeed_wire::CallId;
use futures_util::{Stream, StreamExt, future::maybe_done, stream};
use std::{collections::BTreeSet, future::poll_fn, pin::pin, sync::Arc, task::Poll};
use tokio::time::{Instant, sleep_until};

/// How often the store is asked in a poll interval, at most, however often it says that something has changed.
const ASKED_PER_INTERVAL: u32 = 8;
/// For how many poll intervals a store names waits that are over. Those that are named for longer on a cycle are there.
const STALE_INTERVALS: u32 = 4;
/// For how many intervals a cycle is there before it is an error, so that every process sees it before a call on it
/// ends.
const CYCLE_INTERVALS: u32 = STALE_INTERVALS + 3;

/// The calls of a plan that other processes run.
pub(super) struct PlanElsewhere<'p> {
    pub(super) session: &'p Session,
    pub(super) plan: &'p Plan,
}

impl PlanElsewhere<'_> {
    fn keeper(&self) -> Option<&Arc<LeaseKeeper>> {
        self.session.inner().leases.as_ref()
    }
}

impl Elsewhere<LookupResult> for PlanElsewhere<'_> {
    fn runs(&self, found: &LookupResult) -> bool {
        matches!(found, Err(LookupError::PendingElsewhere { .. })) && self.keeper().is_some()
    }

    fn wait(
        &self,
        running: &[(usize, LookupResult)],
    ) -> impl Stream<Item = (usize, LookupResult)> + Send {
        let awaited: Vec<_> = running
            .iter()
            .filter_map(|(place, found)| match found {
                Err(LookupError::PendingElsewhere { tombstone, .. }) => Some(Awaited {
                    place: *place,
                    key: self.plan.wanted.get(*place)?,
                    about: tombstone.clone(),
                }),
                _ => None,
            })
            .collect();
        let leases = self.keeper().and_then(|keeper| keeper.leases().ok());
        let watch = leases.map(|leases| Watch {
            session: self.session,
            leases,
            awaited,
            asked: None,
            refreshed: Instant::now(),
            waits: SharedWaits::default(),
        });
        if let Some(watch) = &watch
            && let Some(telemetry) = self.session.inner().telemetry()
        {
            let waits = watch.awaited.len() as f64;
            telemetry.measure(Instrument::WaitsElsewhere, waits, &[]);
        }
        let ended = stream::unfold(watch, |watch| async move {
            let mut watch = watch?;
            let ended = watch.next().await?;
            Some((ended, Some(watch)))
        });
        ended.flat_map(stream::iter)
    }

    async fn time_out(&self, place: usize, found: LookupResult) -> LookupResult {
        let (Some(key), Err(LookupError::PendingElsewhere { tombstone, .. })) =
            (self.plan.wanted.get(place), &found)
        else {
            return found;
        };
        let waited = Some(self.session.inner().options.wait);
        match self.session.find_ended(key, tombstone).await {
            Err(LookupError::PendingElsewhere {
                call_id, tombstone, ..
            }) => Err(LookupError::PendingElsewhere {
                call_id,
                tombstone,
                waited,
            }),
            found => found,
        }
    }
}

/// A call that another process runs, wanted at a place.
struct Awaited<'p> {
    place: usize,
    key: &'p LookupKey,
    about: Tombstone,
}

/// Sees when calls in other processes end.
struct Watch<'p> {
    session: &'p Session,
    leases: &'p dyn CallLeases,
    awaited: Vec<Awaited<'p>>,
    /// When the store was asked last.
    asked: Option<Instant>,
    /// When it was asked last for the calls themselves: their owners renew what is known of them.
    refreshed: Instant,
    waits: SharedWaits,
}

impl Watch<'_> {
    /// Waits until some of the calls have ended; `None` when all have.
    async fn next(&mut self) -> Option<Vec<(usize, LookupResult)>> {
        let pause = self.leases.poll_interval() / ASKED_PER_INTERVAL;
        while !self.awaited.is_empty() {
            // Listens before it asks, so that no end of a call is missed between the two.
            let changed = self.leases.changed(&self.session.scope);
            let mut changed = pin!(maybe_done(changed));
            poll_fn(|context| {
                let _ = changed.as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
            if let Some(asked) = self.asked {
                sleep_until(asked + pause).await;
            }
            let ended = self.ask().await;
            if !ended.is_empty() {
                return Some(ended);
            }
            changed.await;
        }
        None
    }

    /// Asks the store once which of the calls have ended, and what has become of those.
    async fn ask(&mut self) -> Vec<(usize, LookupResult)> {
        let scope = &self.session.scope;
        let on: BTreeSet<&CallId> = self.awaited.iter().map(|it| &it.key.call_id).collect();
        let on: Vec<CallId> = on.into_iter().cloned().collect();
        let waits = self.own_waits(&on);
        let sent = Instant::now();
        self.asked = Some(sent);
        let asking = self.leases.flights(scope, &on, &waits);
        let flights = match traced_lease("flights", None, asking).await {
            Ok(flights) => flights,
            // It is asked again until the time is over.
            Err(error) if error.may_retry() => return Vec::new(),
            Err(error) => return self.fail(error),
        };
        self.waits
            .update(flights.waits.into_iter().chain(waits), Instant::now());
        let running: BTreeSet<CallId> = flights.running.into_iter().collect();
        let mut ended = self.end_cycles(&running, sent);
        let refreshes = sent - self.refreshed >= renewal_pause(self.leases);
        if refreshes {
            self.refreshed = sent;
        }
        let (gone, awaited): (Vec<_>, Vec<_>) = std::mem::take(&mut self.awaited)
            .into_iter()
            .partition(|it| refreshes || !running.contains(&it.key.call_id));
        self.awaited = awaited;
        let session = self.session;
        let asked: Vec<_> = gone
            .into_iter()
            .map(|mut it| async move {
                let found = session.find_ended(it.key, &it.about).await;
                match found {
                    // It still runs, or was begun again.
                    Err(LookupError::PendingElsewhere { tombstone, .. }) => {
                        it.about = tombstone;
                        Err(it)
                    }
                    Err(LookupError::Store(error)) if error.may_retry() => Err(it),
                    found => Ok((it.place, found)),
                }
            })
            .collect();
        let asked = stream::iter(asked).buffered(MAX_PARALLEL_LOOKUPS);
        for found in asked.collect::<Vec<_>>().await {
            match found {
                Ok(found) => ended.push(found),
                Err(still) => self.awaited.push(still),
            }
        }
        ended
    }

    /// The waits of this process that may be on a cycle with these calls.
    fn own_waits(&self, on: &[CallId]) -> Vec<CallWait> {
        let Some(actor) = &self.session.actor else {
            return Vec::new();
        };
        let flights = &self.session.inner().flights;
        let Some(mut waits) = flights.waits_for(&self.session.scope, actor) else {
            return Vec::new();
        };
        waits.extend(on.iter().map(|on| CallWait {
            of: actor.call_id().clone(),
            on: on.clone(),
        }));
        waits
    }

    /// Ends waits that are on cycles, also those of other calls of this process; returns those of this resolution.
    fn end_cycles(
        &mut self,
        running: &BTreeSet<CallId>,
        now: Instant,
    ) -> Vec<(usize, LookupResult)> {
        let Some(actor) = &self.session.actor else {
            return Vec::new();
        };
        let interval = self.leases.poll_interval();
        let lasting = |intervals: u32| {
            self.waits
                .cycles(actor.call_id(), interval * intervals, now)
        };
        let mut cycles = lasting(STALE_INTERVALS);
        // Where the next call on a cycle has ended, another process has seen the cycle.
        let has_ended = self.awaited.iter().any(|it| {
            let on = &it.key.call_id;
            !running.contains(on) && cycles.iter().any(|cycle| cycle.is_of(actor.call_id(), on))
        });
        if !has_ended {
            cycles = lasting(CYCLE_INTERVALS);
        }
        let flights = &self.session.inner().flights;
        flights.end_shared_cycles(&self.session.scope, &cycles);
        let mut ended = Vec::new();
        self.awaited.retain(|it| {
            let call_id = &it.key.call_id;
            let cycle = cycles
                .iter()
                .find(|cycle| cycle.is_of(actor.call_id(), call_id));
            let Some(cycle) = cycle else {
                return true;
            };
            let (call_id, path) = (call_id.clone(), cycle.path());
            ended.push((it.place, Err(LookupError::Cycle { call_id, path })));
            false
        });
        ended
    }

    /// Ends all waits, because the store fails.
    fn fail(&mut self, error: StoreError) -> Vec<(usize, LookupResult)> {
        let error = Arc::new(error);
        let awaited = std::mem::take(&mut self.awaited).into_iter();
        awaited
            .map(|it| (it.place, Err(LookupError::Store(Arc::clone(&error)))))
            .collect()
    }
}

impl Session {
    /// What has become of a call that another process ran, of which `about` was known.
    async fn find_ended(&self, wanted: &LookupKey, about: &Tombstone) -> LookupResult {
        let found = self.find_wanted(wanted, None).await;
        found.map_err(|error| {
            if !error.is_without_result() {
                return error;
            }
            LookupError::GivenUp {
                call_id: wanted.call_id.clone(),
                tombstone: about.clone(),
            }
        })
    }
}
