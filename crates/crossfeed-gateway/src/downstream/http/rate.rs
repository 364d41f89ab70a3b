//! How often the holders of tokens may send requests, at all gateways over one store together.
//!
//! # What holds
//!
//! - In any time, all gateways together let in no more than a full bucket and what fills it in that time and
//!   [`SLICE_TIME`] more, and while the store answers.
//! - Clocks of machines are not compared. The record says how many requests were taken; each process counts what others
//!   took as taken just now, unless what the last of them knew is better, and lets the bucket fill by its own clock. So
//!   none takes the bucket for fuller than it is.
//! - Of what a gateway takes at once, it loses at most half as much as it lets in.
//! - While the store does not answer, each gateway counts by itself, from what it knew last. What it lets in then stands in
//!   the record with its next write. No gateway by itself ever lets in more than the rate.

use crate::{
    config::{Rate, TokenConfig},
    principal::Principal,
    records::{Key, Records, owned::contended},
};
use crossfeed_store::{Expected, StoreError, with_causes};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// How long requests that were taken from a bucket may be let in without asking the store again.
const SLICE_TIME: Duration = Duration::from_millis(100);
/// Of the requests that a bucket holds, one of so many is taken at once at most.
const MAX_SLICE_PART: u32 = 16;
/// How long the store may take.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// How often a write is tried anew that another process came before.
const MAX_ATTEMPTS: usize = 64;
/// After how long a store that did not answer is asked again.
const RETRY_TIME: Duration = Duration::from_secs(1);
/// How much longer than needed a record is kept.
const SPARE_TIME: Duration = Duration::from_secs(10);

/// The rates of all holders that have one.
pub(super) struct Rates(HashMap<String, Bucket>);

/// A holder may send more than its rate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RateExceeded {
    pub(super) rate: Rate,
    /// When there is room for the next request.
    pub(super) wait: Duration,
}

/// A bucket that holds as many requests as the rate has, and is full at first.
struct Bucket {
    holder: String,
    rate: Rate,
    /// Where other processes count; none where there is only this one.
    shared: Option<(Records, Key)>,
    /// Requests that wait for the state.
    waiting: AtomicU32,
    state: Mutex<BucketState>,
}

struct BucketState {
    /// When it will be full again, at the latest.
    full_at: Instant,
    /// Which record is known: one that has gone is begun anew, maybe by another process.
    epoch: Option<u64>,
    /// How many requests were taken by the record.
    taken: u64,
    /// How many were let in here that the record does not hold. None of them comes back before it does: a bucket of
    /// their own, which fills beside that of the record, would let in too many.
    unrecorded: u32,
    /// The write of the record that is known.
    version: Option<u64>,
    slice: Slice,
    /// Until when this process counts by itself.
    alone_until: Option<Instant>,
}

/// Requests that were taken from the record and not let in yet.
struct Slice {
    left: u32,
    until: Instant,
    /// Requests let in since then, and in the time of a slice before that.
    since: Instant,
    used: u32,
    used_before: u32,
}

/// What all processes know of a bucket.
#[derive(Serialize, Deserialize)]
struct BucketRecord {
    /// A random word for each time that the record is begun.
    epoch: u64,
    /// How many requests were taken since.
    taken: u64,
    /// How many nanoseconds the bucket then took to fill, at most.
    lack: u64,
}

impl Rates {
    pub(super) fn new(tokens: &[TokenConfig], records: Option<&Records>) -> Self {
        let bucket = |token: &TokenConfig| {
            let rate = token.rate?;
            Some((token.name.clone(), Bucket::new(&token.name, rate, records)))
        };
        Self(tokens.iter().filter_map(bucket).collect())
    }

    /// Whether a request would be refused by what is known here. Counts nothing, and asks no store.
    pub(super) fn check(&self, principal: &Principal) -> Result<(), RateExceeded> {
        match self.bucket(principal) {
            Some(bucket) => bucket.check(),
            None => Ok(()),
        }
    }

    /// Counts a request.
    pub(super) async fn count(&self, principal: &Principal) -> Result<(), RateExceeded> {
        match self.bucket(principal) {
            Some(bucket) => bucket.take().await,
            None => Ok(()),
        }
    }

    fn bucket(&self, principal: &Principal) -> Option<&Bucket> {
        match principal {
            Principal::Named(name) => self.0.get(name),
            Principal::Local | Principal::Anonymous => None,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Bucket {
    fn new(holder: &str, rate: Rate, records: Option<&Records>) -> Self {
        let now = Instant::now();
        let shared = records.map(|records| {
            let Rate { requests, per } = rate;
            let words = [requests.to_string(), nanoseconds(per).to_string()];
            let key = Key::new("rate", &[holder, &words[0], &words[1]]);
            (records.clone(), key)
        });
        Self {
            holder: holder.to_owned(),
            rate,
            shared,
            waiting: AtomicU32::new(0),
            state: Mutex::new(BucketState {
                full_at: now,
                epoch: None,
                taken: 0,
                unrecorded: 0,
                version: None,
                slice: Slice {
                    left: 0,
                    until: now,
                    since: now,
                    used: 0,
                    used_before: 0,
                },
                alone_until: None,
            }),
        }
    }

    fn check(&self) -> Result<(), RateExceeded> {
        // While another request is counted, it is not known.
        let Ok(state) = self.state.try_lock() else {
            return Ok(());
        };
        let now = Instant::now();
        let is_alone = state.alone_until.is_some_and(|until| now < until);
        // The store may know better.
        let asks = self.shared.is_some() && state.version.is_none() && !is_alone;
        if asks || state.slice.has_any(now) {
            return Ok(());
        }
        self.after(&state, NonZeroU32::MIN).map(drop)
    }

    async fn take(&self) -> Result<(), RateExceeded> {
        let _waiting = Waiting::new(&self.waiting);
        let mut state = self.state.lock().await;
        let Some((records, key)) = &self.shared else {
            state.full_at = self.after(&state, NonZeroU32::MIN)?;
            return Ok(());
        };
        let now = Instant::now();
        if state.slice.take(now) {
            return Ok(());
        }
        let was_alone = state.alone_until;
        if was_alone.is_none_or(|until| until <= now) {
            let shared = self.take_shared(&mut state, records, key);
            let shared = timeout(STORE_TIMEOUT, shared).await;
            match shared.unwrap_or_else(|_| Err(slow())) {
                Ok(taken) => {
                    if was_alone.is_some() && state.alone_until.take().is_some() {
                        tracing::info!(target: "crossfeed::gateway", holder = self.holder, "requests are counted with other gateways again");
                    }
                    return taken;
                }
                Err(error) => {
                    state.alone_until = Some(Instant::now() + RETRY_TIME);
                    if was_alone.is_none() {
                        tracing::warn!(
                            target: "crossfeed::gateway",
                            holder = self.holder,
                            error = with_causes(&error),
                            "cannot count requests with other gateways: this one counts by itself"
                        );
                    }
                }
            }
        }
        state.full_at = self.after(&state, NonZeroU32::MIN)?;
        state.unrecorded = state.unrecorded.saturating_add(1);
        Ok(())
    }

    /// When the bucket will be full after so many more requests.
    fn after(&self, state: &BucketState, requests: NonZeroU32) -> Result<Instant, RateExceeded> {
        let now = Instant::now();
        let after = state.full_at.max(now) + self.each() * requests.get();
        match (after - now).checked_sub(self.rate.per) {
            None | Some(Duration::ZERO) => Ok(after),
            Some(wait) => Err(RateExceeded {
                rate: self.rate,
                wait,
            }),
        }
    }

    /// How long a request takes to come back.
    fn each(&self) -> Duration {
        self.rate.per / self.rate.requests.get()
    }

    /// Counts what others took.
    fn learn(&self, state: &mut BucketState, record: &BucketRecord, version: u64) {
        let now = Instant::now();
        let Rate { requests, per } = self.rate;
        // No bucket lacks more than it holds, whatever a record says.
        let lack = Duration::from_nanos(record.lack).min(per);
        let own = state.full_at.max(now);
        let time_of = |count: u32| self.each() * count.min(requests.get());
        let is_same = state.epoch == Some(record.epoch);
        let full_at = match record.taken.checked_sub(state.taken) {
            Some(others) if is_same => {
                let others = time_of(u32::try_from(others).unwrap_or(u32::MAX));
                (own + others).min(now + lack + time_of(state.unrecorded))
            }
            // It is begun anew, or the store has gone back to what was there before: what is known here is not in it.
            _ => {
                let lacking = (own - now)
                    .as_nanos()
                    .div_ceil(self.each().as_nanos().max(1));
                state.unrecorded = u32::try_from(lacking).unwrap_or(u32::MAX);
                if is_same { own } else { own + lack }
            }
        };
        state.full_at = full_at.min(now + per);
        state.epoch = Some(record.epoch);
        state.taken = record.taken;
        state.version = Some(version);
    }

    /// Takes a request from the record, and some more where many came lately.
    async fn take_shared(
        &self,
        state: &mut BucketState,
        records: &Records,
        key: &Key,
    ) -> Result<Result<(), RateExceeded>, StoreError> {
        let most = (self.rate.requests.get() / MAX_SLICE_PART).max(1);
        let wanted = state.slice.wanted(Instant::now()).min(most);
        // Those who wait use it at once, however slow the store is.
        let wanted = wanted.max(self.waiting.load(Ordering::Relaxed));
        for attempt in 0..MAX_ATTEMPTS {
            // What is known may be of a write that another came after: that only takes more.
            if state.version.is_none() || attempt > 0 {
                match records.read::<BucketRecord>(key).await? {
                    Some(found) => self.learn(state, &found.value, found.version),
                    None => state.version = None,
                }
            }
            if let Err(exceeded) = self.after(state, NonZeroU32::MIN) {
                return Ok(Err(exceeded));
            }
            let sizes = [wanted, wanted / 2, wanted / 4, 1];
            let mut sizes = sizes.into_iter().filter_map(NonZeroU32::new);
            let fitting = sizes.find_map(|size| Some((size, self.after(state, size).ok()?)));
            let Some((size, full_at)) = fitting else {
                continue;
            };
            let asked_at = Instant::now();
            // One that is begun anew is another's, as far as others know.
            let epoch = state.epoch.filter(|_| state.version.is_some());
            let taken = size.get().saturating_add(state.unrecorded);
            let record = BucketRecord {
                epoch: epoch.unwrap_or_else(|| RandomState::new().hash_one(())),
                taken: state.taken.saturating_add(taken.into()),
                lack: nanoseconds(full_at - asked_at),
            };
            let expected = state.version.map_or(Expected::Absent, Expected::Version);
            // Where it is over, the bucket is full.
            let time = self.rate.per + SPARE_TIME;
            let written = records.write(key, &record, expected, time).await?;
            if written.is_some() {
                state.version = written;
                state.epoch = Some(record.epoch);
                state.taken = record.taken;
                state.unrecorded = 0;
                state.full_at = full_at;
                state.slice.put(size, Instant::now());
                return Ok(Ok(()));
            }
        }
        Err(contended())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("counting a request there took longer than {:?}", STORE_TIMEOUT)]
struct Slow;

fn slow() -> StoreError {
    StoreError::Unavailable {
        source: Box::new(Slow),
        retry: true,
    }
}

/// A request that waits.
struct Waiting<'b>(&'b AtomicU32);

impl<'b> Waiting<'b> {
    fn new(count: &'b AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Slice {
    fn has_any(&self, now: Instant) -> bool {
        self.left > 0 && now < self.until
    }

    /// Lets a request in, if there is one left.
    fn take(&mut self, now: Instant) -> bool {
        let is_there = self.has_any(now);
        if !is_there {
            self.left = 0;
        }
        self.left -= u32::from(is_there);
        self.used = self.used.saturating_add(u32::from(is_there));
        is_there
    }

    /// How many requests to take: half of what came in the time of a slice, so that no more is lost where none come.
    fn wanted(&mut self, now: Instant) -> u32 {
        let passed = now - self.since;
        if passed >= SLICE_TIME {
            let is_lately = passed < 2 * SLICE_TIME;
            self.used_before = if is_lately { self.used } else { 0 };
            self.used = 0;
            self.since = now;
        }
        self.used_before / 2
    }

    /// So many were taken, of which one is let in.
    fn put(&mut self, requests: NonZeroU32, now: Instant) {
        self.left = requests.get() - 1;
        self.until = now + SLICE_TIME;
        self.used = self.used.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fake::LastingStore;
    use proptest::prelude::*;
    use std::sync::Arc;
    use tokio::time::advance;

    fn rate(requests: u32, seconds: u64) -> Rate {
        Rate {
            requests: NonZeroU32::new(requests).unwrap(),
            per: Duration::from_secs(seconds),
        }
    }

    fn rates(rate: Rate, store: Option<&Arc<LastingStore>>) -> Rates {
        let mut ada = TokenConfig::new("ada", "x");
        ada.rate = Some(rate);
        let records = store.and_then(|store| Records::of(store.clone()));
        Rates::new(&[ada, TokenConfig::new("bob", "y")], records.as_ref())
    }

    async fn count(rates: &Rates, name: &str) -> Result<(), Duration> {
        let principal = Principal::Named(name.to_owned());
        let checked = rates.check(&principal);
        let counted = rates.count(&principal).await;
        if checked.is_err() {
            assert_eq!(counted, checked, "known before");
        }
        counted.map_err(|exceeded| exceeded.wait)
    }

    async fn a_holder_is_held(rates: &Rates) {
        for _ in 0..3 {
            assert_eq!(count(rates, "ada").await, Ok(()));
        }
        assert_eq!(count(rates, "ada").await, Err(Duration::from_secs(20)));
        assert!(rates.check(&Principal::Named("ada".to_owned())).is_err());
        for _ in 0..100 {
            assert_eq!(count(rates, "bob").await, Ok(()));
        }
        advance(Duration::from_secs(15)).await;
        assert_eq!(count(rates, "ada").await, Err(Duration::from_secs(5)));
        advance(Duration::from_secs(5)).await;
        assert_eq!(count(rates, "ada").await, Ok(()));
        assert_eq!(count(rates, "ada").await, Err(Duration::from_secs(20)));
        // Time without requests adds no more than the bucket holds.
        advance(Duration::from_secs(3600)).await;
        for _ in 0..3 {
            assert_eq!(count(rates, "ada").await, Ok(()));
        }
        assert_eq!(count(rates, "ada").await, Err(Duration::from_secs(20)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_is_held_to_its_rate() {
        a_holder_is_held(&rates(rate(3, 60), None)).await;
        a_holder_is_held(&rates(rate(3, 60), Some(&LastingStore::new()))).await;
    }

    /// What one process does after so many milliseconds: how many requests it gets, and what happened to it before.
    type Turn = (u64, usize, u32, Event);

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Event {
        Nothing,
        Start,
        /// It does not reach the store, though others do.
        StoreAway,
        /// All records are gone.
        LostRecords,
    }

    fn turns(
        pause: u64,
        requests: u32,
        event: Event,
        part: f64,
    ) -> impl Strategy<Value = Vec<Turn>> {
        let pause = prop_oneof![Just(0), 0..50u64, 0..pause];
        let happens = prop::bool::weighted(part);
        let event = happens.prop_map(move |it| if it { event } else { Event::Nothing });
        let turn = (pause, 0..3usize, 1..=requests, event);
        prop::collection::vec(turn, 1..120)
    }

    fn some_rates() -> impl Strategy<Value = Rate> {
        let rates = [(1, 60), (3, 60), (60, 60), (6000, 60), (100, 1), (7, 3600)];
        prop::sample::select(rates.to_vec()).prop_map(|(requests, per)| rate(requests, per))
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(test);
    }

    /// When requests were let in, by each process.
    async fn let_in(rate: Rate, turns: Vec<Turn>) -> Vec<(Instant, usize)> {
        let store = LastingStore::new();
        let mut processes = [(); 3].map(|()| rates(rate, Some(&store)));
        let mut let_in = Vec::new();
        for (pause, at, requests, event) in turns {
            advance(Duration::from_millis(pause)).await;
            match event {
                Event::Nothing | Event::StoreAway => {}
                Event::Start => processes[at] = rates(rate, Some(&store)),
                Event::LostRecords => store.lose_records(),
            }
            let is_away = event == Event::StoreAway;
            store.is_away.store(is_away, Ordering::Relaxed);
            for _ in 0..requests {
                if count(&processes[at], "ada").await.is_ok() {
                    let_in.push((Instant::now(), at));
                }
            }
        }
        let_in
    }

    /// That in no time more were let in than the bucket holds and what fills it meanwhile.
    fn assert_held(rate: Rate, let_in: impl Iterator<Item = Instant>) {
        let each = rate.per / rate.requests.get();
        // The earliest end of what would be too many, as in a bucket of one process.
        let mut full_at: Option<Instant> = None;
        for at in let_in {
            let before = full_at.map_or(at, |full_at| full_at.max(at));
            full_at = Some(before + each);
            assert!(before + each - at <= rate.per + SLICE_TIME, "{rate:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// In no time more are let in than the bucket holds and what fills it meanwhile, wherever they arrive and
        /// whenever processes start.
        #[test]
        fn all_processes_together_hold_the_rate(
            rate in some_rates(),
            turns in turns(2000, 40, Event::Start, 0.1),
        ) {
            run(async move {
                let let_in = let_in(rate, turns).await;
                assert_held(rate, let_in.into_iter().map(|(at, _)| at));
            });
        }

        /// However often the store is away for some of them, or loses what it has, each holds the rate.
        #[test]
        fn each_process_holds_the_rate_whatever_the_store_does(
            rate in some_rates(),
            turns in prop_oneof![
                turns(4000, 40, Event::StoreAway, 0.4),
                turns(4000, 40, Event::LostRecords, 0.2),
            ],
        ) {
            run(async move {
                let let_in = let_in(rate, turns).await;
                for process in 0..3 {
                    let own = let_in.iter().filter(|(_, by)| *by == process);
                    assert_held(rate, own.map(|(at, _)| *at));
                }
            });
        }

        /// A client that keeps below its rate is let in wherever it arrives, also with some requests at once.
        #[test]
        fn who_keeps_below_the_rate_is_let_in(
            (requests, per) in prop::sample::select(vec![(60, 60), (600, 60), (6000, 60), (100, 1)]),
            turns in prop::collection::vec((0..3usize, 1..=6u32), 1..80),
            is_even: bool,
        ) {
            run(async move {
                let (store, rate) = (LastingStore::new(), rate(requests, per));
                let processes = [(); 3].map(|()| rates(rate, Some(&store)));
                for (at, mut together) in turns {
                    together = if is_even { 1 } else { together.min(requests / 16) };
                    for _ in 0..together {
                        assert_eq!(count(&processes[at], "ada").await, Ok(()), "{rate:?}");
                    }
                    let each = rate.per / requests;
                    advance(if is_even { each } else { each * together * 3 / 2 }).await;
                }
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_requests_ask_the_store_for_few() {
        let store = LastingStore::new();
        let rates = rates(rate(1_000_000, 60), Some(&store));
        for _ in 0..2000 {
            assert_eq!(count(&rates, "ada").await, Ok(()));
            advance(Duration::from_millis(1)).await;
        }
        let writes = store
            .snapshot()
            .values()
            .map(|(record, _)| record.version)
            .max();
        assert!(writes.unwrap() < 200, "{writes:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_store_is_counted_at_once() {
        let store = LastingStore::new();
        let rates = Arc::new(rates(rate(6000, 60), Some(&store)));
        let asking = rates.0["ada"].state.lock().await;
        let waiting = [(); 50].map(|()| {
            let rates = Arc::clone(&rates);
            tokio::spawn(async move { count(&rates, "ada").await })
        });
        tokio::task::yield_now().await;
        drop(asking);
        for counted in waiting {
            assert_eq!(counted.await.unwrap(), Ok(()));
        }
        let snapshot = store.snapshot();
        let versions: Vec<_> = snapshot
            .values()
            .map(|(record, _)| record.version)
            .collect();
        assert_eq!(versions, [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_refuses_nobody() {
        let store = LastingStore::new();
        let [one, two] = [(); 2].map(|()| rates(rate(4, 60), Some(&store)));
        assert_eq!(count(&one, "ada").await, Ok(()));
        assert_eq!(count(&two, "ada").await, Ok(()));
        store.is_away.store(true, Ordering::Relaxed);
        // Each goes on from what it knew.
        for rates in [&one, &two] {
            let mut left = 0;
            while count(rates, "ada").await.is_ok() {
                left += 1;
            }
            assert!((2..=3).contains(&left), "{left}");
        }
        store.is_away.store(false, Ordering::Relaxed);
        advance(RETRY_TIME).await;
        assert_eq!(count(&two, "ada").await, Err(Duration::from_secs(14)));
        advance(Duration::from_secs(14)).await;
        assert_eq!(count(&two, "ada").await, Ok(()));
        assert!(count(&one, "ada").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_let_in_alone_is_not_forgotten() {
        let store = LastingStore::new();
        let [one, two] = [(); 2].map(|()| rates(rate(60, 60), Some(&store)));
        assert_eq!(count(&one, "ada").await, Ok(()));
        store.is_away.store(true, Ordering::Relaxed);
        for _ in 0..59 {
            assert_eq!(count(&one, "ada").await, Ok(()));
        }
        assert!(count(&one, "ada").await.is_err());
        store.is_away.store(false, Ordering::Relaxed);
        // The other knows nothing of that, so the record lacks next to nothing.
        assert_eq!(count(&two, "ada").await, Ok(()));
        advance(RETRY_TIME).await;
        let refused = Err(Duration::from_secs(1));
        assert_eq!(count(&one, "ada").await, refused);
        advance(Duration::from_secs(1)).await;
        assert_eq!(count(&one, "ada").await, Ok(()));
        assert_eq!(count(&one, "ada").await, refused);
        // From then on the other knows.
        assert_eq!(count(&two, "ada").await, refused);
    }

    /// What others take fills the bucket no faster.
    #[tokio::test(start_paused = true)]
    async fn what_was_let_in_alone_does_not_come_back_twice_as_fast() {
        let store = LastingStore::new();
        let [one, two] = [(); 2].map(|()| rates(rate(60, 60), Some(&store)));
        assert_eq!(count(&two, "ada").await, Ok(()));
        for _ in 0..59 {
            assert_eq!(count(&one, "ada").await, Ok(()));
        }
        advance(Duration::from_secs(1)).await;
        assert_eq!(count(&two, "ada").await, Ok(()));
        store.is_away.store(true, Ordering::Relaxed);
        for _ in 0..30 {
            assert_eq!(count(&one, "ada").await, Ok(()));
            advance(Duration::from_secs(1)).await;
        }
        store.is_away.store(false, Ordering::Relaxed);
        assert_eq!(count(&two, "ada").await, Ok(()));
        let mut more = 0;
        while count(&one, "ada").await.is_ok() {
            more += 1;
        }
        assert!(more <= 1, "{more}");
    }

    #[test]
    fn the_log_says_what_took_too_long() {
        let expected = "the store cannot answer: counting a request there took longer than 500ms";
        assert_eq!(with_causes(&slow()), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_makes_no_sense_locks_nobody_out() {
        let store = LastingStore::new();
        let rate = rate(2, 60);
        assert_eq!(count(&rates(rate, Some(&store)), "ada").await, Ok(()));
        let key = &store.keys("rate")[0];
        let far = r#""epoch":1,"taken":5,"lack":18446744073709551615"#;
        store.overwrite(key, &format!(r#"{{"format":1,"of":"{key}",{far}}}"#));
        let other = rates(rate, Some(&store));
        assert_eq!(count(&other, "ada").await, Err(Duration::from_secs(30)));
        store.overwrite(key, "no");
        assert_eq!(count(&rates(rate, Some(&store)), "ada").await, Ok(()));
    }
}
