//! Limits of a tenant: an account of what its sessions hold, in a hash slot of its own.
//!
//! A result is reserved before its session records it, and the account is updated afterwards; in between it counts, so that
//! the sum is never beyond a limit. A process that dies in between leaves a reservation, which ends with the next update of
//! that session. An update says the whole of what a session holds, so that no loss adds up.

use crate::{
    answer::{Answer, Reason},
    connection::{Kind, random},
    fault::bad_answer,
    header::token_text,
    results::texts,
    script::Operation,
    store::{RedisStore, microseconds},
};
use crossfeed_store::{Budget, Digest, ScopeTag, StoreError, StoredResult};
use crossfeed_wire::{CallId, Scope};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// How long a reservation may last: longer than a put, the upload of its data included.
const RESERVED_TIME: Duration = Duration::from_secs(10 * 60);

/// How many sessions are asked for at once when something must go.
const ASKED: usize = 64;

/// How many sessions' words are remembered, beyond which those are forgotten of which nothing is in use.
const KNOWN: usize = 4096;

/// The sessions that this process has recorded to or read from, since the account knows only their tags.
#[derive(Default)]
pub(crate) struct KnownSessions(Mutex<HashMap<ScopeTag, Scope>>);

/// A session as its tenant's account names it.
#[derive(Clone, Debug)]
struct Member {
    tenant: ScopeTag,
    project: String,
    session: ScopeTag,
}

impl Member {
    fn of(scope: &Scope) -> Self {
        let words = [scope.tenant(), scope.project()];
        let project = Digest::of_parts(words.map(|word| Some(word.as_bytes()))).to_hex();
        Self {
            tenant: ScopeTag::of_tenant(scope),
            project: project[..32].to_owned(),
            session: ScopeTag::of_session(scope),
        }
    }
}

/// What of a project goes first.
struct Order {
    heavy: String,
    repeatable: String,
}

impl Order {
    fn is_plain(&self) -> bool {
        self.heavy.is_empty() && self.repeatable == "0"
    }
}

/// A result that may go.
struct Victim {
    session: ScopeTag,
    call: String,
    token: String,
    /// Whether it goes last, and when it was used: the smallest goes next.
    place: (bool, u64),
}

fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|_| bad_answer("a text is not UTF-8"))
}

impl RedisStore {
    /// Whether tenants have limits.
    pub(crate) fn has_accounts(&self) -> bool {
        self.options.tenant_bytes.is_some() || self.options.tenant_results.is_some()
    }

    fn account_key(&self, tenant: ScopeTag) -> String {
        self.session_key(tenant)
    }

    /// Makes room for a result in its tenant's limits, and keeps it. The reservation must be [settled](Self::settle).
    pub(crate) async fn reserve(
        &self,
        scope: &Scope,
        call: &CallId,
        bytes: usize,
        is_new: IsNew,
    ) -> Result<Option<Reservation>, StoreError> {
        if !self.has_accounts() {
            return Ok(None);
        }
        let limit = |limit: Option<usize>| limit.map(|limit| limit.to_string()).unwrap_or_default();
        if let Some(limit) = self.options.tenant_bytes.filter(|limit| bytes > *limit) {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        self.remember(scope);
        let member = Member::of(scope);
        let token = token_text(random());
        let mut exhausted: Vec<String> = Vec::new();
        let mut is_checked = is_new == IsNew::Yes;
        loop {
            let mut arguments = vec![
                member.session.to_string(),
                member.project.clone(),
                token.clone(),
                bytes.to_string(),
                limit(self.options.tenant_bytes),
                limit(self.options.tenant_results),
                microseconds(self.limits().max_age).to_string(),
            ];
            arguments.extend(exhausted.iter().cloned());
            let mut answer = self
                .on_account(Operation::Reserve, member.tenant, &arguments)
                .await?;
            match answer.status {
                b'K' => return Ok(Some(Reservation(token))),
                b'O' => {}
                status => return Err(self.full(status, bytes)),
            }
            let project = text(answer.bytes()?)?;
            let order = Order {
                heavy: text(answer.bytes()?)?,
                repeatable: text(answer.bytes()?)?,
            };
            let held = text(answer.bytes()?)?.parse::<usize>();
            let held = held.map_err(|_| bad_answer("a sum is a number"))?;
            // Nothing goes in vain: not for what is recorded already, nor where what this process uses leaves no room.
            if !std::mem::replace(&mut is_checked, true) {
                if self.has_header(member.session, call).await? {
                    return Ok(None);
                }
                if let Some(limit) = self.options.tenant_bytes
                    && held + bytes > limit
                    && self.pinned_bytes(member.tenant) + bytes > limit
                {
                    return Err(self.full(b'B', bytes));
                }
                let limit = self.limits().session_bytes;
                if self.pinned_in(scope) + bytes > limit {
                    return Err(StoreError::Full {
                        bytes,
                        budget: Budget::SessionBytes,
                        limit,
                    });
                }
            }
            if !self.relieve(member.tenant, &project, &order).await? {
                exhausted.push(project);
            }
        }
    }

    async fn has_header(&self, session: ScopeTag, call: &CallId) -> Result<bool, StoreError> {
        let mut command = redis::cmd("HEXISTS");
        command
            .arg(self.session_key(session) + "h")
            .arg(call.as_str());
        let answer = self.connection.command(command, Kind::Read).await?;
        redis::from_redis_value(answer).map_err(|_| bad_answer("`HEXISTS` gives a number"))
    }

    fn full(&self, status: u8, bytes: usize) -> StoreError {
        let (budget, limit) = if status == b'B' {
            (Budget::TotalBytes, self.options.tenant_bytes)
        } else {
            (Budget::TotalResults, self.options.tenant_results)
        };
        StoreError::Full {
            bytes,
            budget,
            limit: limit.unwrap_or_default(),
        }
    }

    /// Evicts one result of a project; `false` if all are in use.
    async fn relieve(
        &self,
        tenant: ScopeTag,
        project: &str,
        order: &Order,
    ) -> Result<bool, StoreError> {
        let mut best: Option<Victim> = None;
        let queue = self.account_key(tenant) + "q:" + project;
        // Sessions leave the queue while it is read, and others take their places: so it is read until nobody is new.
        let (mut asked, mut known, mut first) = (HashSet::new(), 0, 0);
        loop {
            let mut command = redis::cmd("ZRANGE");
            command
                .arg(&queue)
                .arg(first)
                .arg(first + ASKED - 1)
                .arg("WITHSCORES");
            let sessions = self.connection.command(command, Kind::Read).await?;
            let sessions: Vec<(String, f64)> =
                redis::from_redis_value(sessions).map_err(|_| bad_answer("sessions have times"))?;
            let is_last = sessions.len() < ASKED;
            for (session, bound) in sessions {
                // The best that this session can have: all others can have none better.
                let place = (order.is_plain(), bound as u64);
                if best.as_ref().is_some_and(|best| best.place <= place) {
                    break;
                }
                if !asked.insert(session.clone()) {
                    continue;
                }
                let session =
                    ScopeTag::parse(&session).ok_or_else(|| bad_answer("a session has a tag"))?;
                let member = Member {
                    tenant,
                    project: project.to_owned(),
                    session,
                };
                let found = self.next_of(&member, order).await?;
                if found.as_ref().is_none_or(|found| found.place.1 != place.1) {
                    self.update(&member, None).await?;
                }
                if let Some(found) = found
                    && best.as_ref().is_none_or(|best| found.place < best.place)
                {
                    best = Some(found);
                }
            }
            if best.is_some() || (is_last && asked.len() == known) {
                break;
            }
            if is_last {
                known = asked.len();
                first = 0;
            } else {
                first += ASKED;
            }
        }
        let Some(victim) = best else {
            return Ok(false);
        };
        let member = Member {
            tenant,
            project: project.to_owned(),
            session: victim.session,
        };
        let mut arguments = self.common().to_vec();
        arguments.extend([victim.call, victim.token]);
        self.on_member(Operation::Evict, &member, &arguments)
            .await?;
        self.update(&member, None).await?;
        Ok(true)
    }

    /// The result of a session that goes next.
    async fn next_of(&self, member: &Member, order: &Order) -> Result<Option<Victim>, StoreError> {
        let mut arguments = self.common().to_vec();
        arguments.extend([order.heavy.clone(), order.repeatable.clone()]);
        let known = self.sessions.0.lock().get(&member.session).cloned();
        if let Some(scope) = known {
            arguments.extend(self.pins(&scope));
        }
        let mut answer = self
            .on_member(Operation::Oldest, member, &arguments)
            .await?;
        if answer.status != b'F' {
            return Ok(None);
        }
        let found: [Vec<u8>; 4] = answer
            .list()?
            .try_into()
            .map_err(|_| bad_answer("a result that goes has four words"))?;
        let [call, token, used, goes_first] = found.map(text);
        let used: f64 = used?.parse().map_err(|_| bad_answer("a use has a time"))?;
        Ok(Some(Victim {
            session: member.session,
            call: call?,
            token: token?,
            place: (order.is_plain() || goes_first? != "1", used as u64),
        }))
    }

    /// Updates what the account of a tenant says of a session, where that has changed.
    pub(crate) async fn settle(
        &self,
        scope: &Scope,
        reservation: Option<Reservation>,
        answer: Option<&Answer>,
    ) -> Result<(), StoreError> {
        if !self.has_accounts() {
            return Ok(());
        }
        let member = Member::of(scope);
        let is_loss =
            |reason| matches!(reason, Reason::Evicted | Reason::Expired | Reason::Removed);
        let has_lost = answer.is_some_and(|answer| {
            answer
                .departed
                .iter()
                .any(|departed| is_loss(departed.reason))
        });
        if reservation.is_some() || has_lost {
            self.update(&member, reservation).await?;
        }
        Ok(())
    }

    async fn update(
        &self,
        member: &Member,
        reservation: Option<Reservation>,
    ) -> Result<(), StoreError> {
        let mut answer = self
            .on_member(Operation::Summary, member, &self.common())
            .await?;
        let mut arguments = vec![
            member.session.to_string(),
            member.project.clone(),
            reservation
                .map(|reservation| reservation.0)
                .unwrap_or_default(),
        ];
        for _ in 0..5 {
            arguments.push(text(answer.bytes()?)?);
        }
        arguments.push(microseconds(RESERVED_TIME).to_string());
        arguments.push(microseconds(self.limits().max_age).to_string());
        self.on_account(Operation::Settle, member.tenant, &arguments)
            .await?;
        Ok(())
    }

    async fn on_account(
        &self,
        operation: Operation,
        tenant: ScopeTag,
        arguments: &[String],
    ) -> Result<Answer, StoreError> {
        let key = self.account_key(tenant);
        let arguments = texts(arguments);
        let answers = self
            .connection
            .run(operation, Kind::Read, &key, &arguments, None);
        Answer::read(answers.await?.pop().unwrap_or_default())
    }

    async fn on_member(
        &self,
        operation: Operation,
        member: &Member,
        arguments: &[String],
    ) -> Result<Answer, StoreError> {
        let key = self.session_key(member.session);
        let arguments = texts(arguments);
        let answers = self
            .connection
            .run(operation, Kind::Read, &key, &arguments, None);
        let answer = Answer::read(answers.await?.pop().unwrap_or_default())?;
        self.see_off(member.tenant, member.session, &answer);
        Ok(answer)
    }

    /// Knows the words of a session from now on, where its tenant has limits.
    pub(crate) fn remember(&self, scope: &Scope) {
        if !self.has_accounts() {
            return;
        }
        let mut sessions = self.sessions.0.lock();
        if sessions.len() >= KNOWN {
            sessions.retain(|_, scope| !self.results.held(scope).is_empty());
        }
        sessions.insert(ScopeTag::of_session(scope), scope.clone());
    }

    /// Bytes of a tenant's results that this process uses.
    fn pinned_bytes(&self, tenant: ScopeTag) -> usize {
        let sessions = self.sessions.0.lock();
        let of_tenant = sessions.values();
        let of_tenant = of_tenant.filter(|scope| ScopeTag::of_tenant(scope) == tenant);
        of_tenant.map(|scope| self.pinned_in(scope)).sum()
    }

    /// Bytes of a session's results that this process uses.
    fn pinned_in(&self, scope: &Scope) -> usize {
        let held = self.results.held(scope).into_iter();
        let held = held.filter_map(|(call, version)| self.results.get(scope, &call, version));
        held.map(|result| recorded_bytes(&result)).sum()
    }
}

/// Whether a result is known to be none that is recorded already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsNew {
    Yes,
    Unknown,
}

/// A result that counts though its session has not recorded it yet, by its token.
pub(crate) struct Reservation(String);

/// Bytes of a result that count.
pub(crate) fn recorded_bytes(result: &StoredResult) -> usize {
    result.document().raw().len()
        + result.arguments().map_or(0, bytes::Bytes::len)
        + result.sources().map_or(0, |sources| sources.len())
}
