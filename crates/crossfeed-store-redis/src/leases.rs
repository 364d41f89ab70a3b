//! Leases of calls in flight.

use crate::{
    connection::{Kind, random},
    header::{lease_tail, token_text},
    results::texts,
    script::Operation,
    store::{RedisStore, microseconds},
};
use async_trait::async_trait;
use crossfeed_store::{
    Acquired, CallLeases, CallWait, Flights, LeaseOwner, Leased, ScopeTag, StoreError,
    StoreOperation, Tombstone, with_causes,
};
use crossfeed_wire::{CallId, Scope};
use futures_util::future::join_all;
use std::{collections::HashSet, time::Duration};

/// How many sessions are renewed at once.
const RENEWED_AT_ONCE: usize = 16;

impl RedisStore {
    async fn begin(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError> {
        let (common, at_hand) = (self.common(), self.at_hand(scope, call));
        let lease = [
            owner.to_string(),
            token_text(random()),
            microseconds(self.options.lease_time).to_string(),
        ];
        let tail = lease_tail(about);
        let mut arguments = texts(&common);
        arguments.push(call.as_str().as_bytes());
        arguments.extend(texts(&at_hand));
        arguments.extend(texts(&lease));
        arguments.push(&tail);
        let answer = self
            .on_session(Operation::Acquire, Kind::Write, scope, &arguments)
            .await?;
        match answer.status {
            b'N' => Ok(Acquired::New),
            b'I' => Ok(Acquired::InFlight),
            b'R' => Ok(Acquired::Recorded),
            _ => Err(answer.unexpected()),
        }
    }

    /// Renews the leases of one session; returns the calls whose leases are lost.
    async fn renew_in(
        &self,
        owner: LeaseOwner,
        calls: &[&Leased],
    ) -> Result<Vec<Leased>, StoreError> {
        let Some(first) = calls.first() else {
            return Ok(Vec::new());
        };
        let common = self.common();
        let lease = [
            owner.to_string(),
            microseconds(self.options.lease_time).to_string(),
        ];
        let tails: Vec<Vec<u8>> = calls.iter().map(|call| lease_tail(&call.about)).collect();
        let mut arguments = texts(&common);
        arguments.extend(texts(&lease));
        for (call, tail) in calls.iter().zip(&tails) {
            arguments.push(call.call_id.as_str().as_bytes());
            arguments.push(tail);
        }
        let mut answer = self
            .on_session(Operation::Renew, Kind::Write, &first.scope, &arguments)
            .await?;
        let lost: HashSet<Vec<u8>> = answer.list()?.into_iter().collect();
        let is_lost = |call: &&Leased| lost.contains(call.call_id.as_str().as_bytes());
        Ok(calls.iter().copied().filter(is_lost).cloned().collect())
    }

    async fn renew_all(
        &self,
        owner: LeaseOwner,
        calls: &[Leased],
    ) -> Result<Vec<Leased>, StoreError> {
        let mut sorted: Vec<&Leased> = calls.iter().collect();
        sorted.sort_by(|a, b| a.scope.cmp(&b.scope));
        let sessions: Vec<&[&Leased]> = sorted.chunk_by(|a, b| a.scope == b.scope).collect();
        let (mut lost, mut failures) = (Vec::new(), Vec::new());
        for some in sessions.chunks(RENEWED_AT_ONCE) {
            let renewed = some.iter().map(|calls| self.renew_in(owner, calls));
            for renewed in join_all(renewed).await {
                match renewed {
                    Ok(calls) => lost.extend(calls),
                    Err(error) => failures.push(error),
                }
            }
        }
        self.meter.lost_leases(lost.len());
        let failed = failures.len();
        match failures.into_iter().next() {
            Some(error) if failed == sessions.len() => Err(error),
            Some(error) => {
                // The others have theirs.
                tracing::warn!(
                    target: "crossfeed::lease",
                    error = with_causes(&error),
                    "the leases of {failed} of {} sessions cannot be renewed",
                    sessions.len()
                );
                Ok(lost)
            }
            None => Ok(lost),
        }
    }

    async fn give_up(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
    ) -> Result<(), StoreError> {
        let (common, owner) = (self.common(), owner.to_string());
        let mut arguments = texts(&common);
        arguments.push(call.as_str().as_bytes());
        arguments.push(owner.as_bytes());
        let released = self.on_session(Operation::Release, Kind::Write, scope, &arguments);
        released.await.map(drop)
    }

    async fn in_flight(
        &self,
        scope: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError> {
        self.watch.asked(&self.channel(scope));
        let common = self.common();
        let numbers = [
            microseconds(self.options.poll_interval * 4).to_string(),
            on.len().to_string(),
        ];
        // Ids have no control characters.
        let waits: Vec<String> = waits
            .iter()
            .map(|wait| format!("{}\n{}", wait.of.as_str(), wait.on.as_str()))
            .collect();
        let mut arguments = texts(&common);
        arguments.extend(texts(&numbers));
        arguments.extend(on.iter().map(|call| call.as_str().as_bytes()));
        arguments.extend(texts(&waits));
        let mut answer = self
            .on_session(Operation::Flights, Kind::Read, scope, &arguments)
            .await?;
        let call = |text: &str| CallId::parse(text).ok();
        let running = answer.list()?.into_iter();
        let running = running.filter_map(|id| call(str::from_utf8(&id).ok()?));
        let waits = answer.list()?.into_iter().filter_map(|wait| {
            let (of, on) = str::from_utf8(&wait).ok()?.split_once('\n')?;
            Some(CallWait {
                of: call(of)?,
                on: call(on)?,
            })
        });
        Ok(Flights::new(running.collect(), waits.collect()))
    }

    /// The channel on which processes say that a call of a session may have ended.
    fn channel(&self, scope: &Scope) -> String {
        self.session_key(ScopeTag::of_session(scope)) + "c"
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl CallLeases for RedisStore {
    fn duration(&self) -> Duration {
        self.options.lease_time
    }

    fn poll_interval(&self) -> Duration {
        self.options.poll_interval
    }

    async fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError> {
        let begin = self.begin(owner, scope, call, about);
        self.meter.time(StoreOperation::Lease, begin).await
    }

    async fn renew(&self, owner: LeaseOwner, calls: &[Leased]) -> Result<Vec<Leased>, StoreError> {
        let renew = self.renew_all(owner, calls);
        self.meter.time(StoreOperation::Lease, renew).await
    }

    async fn release(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
    ) -> Result<(), StoreError> {
        let give_up = self.give_up(owner, scope, call);
        self.meter.time(StoreOperation::Lease, give_up).await
    }

    async fn flights(
        &self,
        scope: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError> {
        let flights = self.in_flight(scope, on, waits);
        self.meter.time(StoreOperation::Lease, flights).await
    }

    async fn changed(&self, scope: &Scope) {
        self.watch.changed(&self.channel(scope)).await;
    }
}
