//! Calls in flight: a row for each lease, and one for each call that waits for another.

use super::{
    Found, Results, SharedResults, gone,
    rows::{OF_CALL, OF_SCOPE, call_values, scope_values},
};
use crate::{
    blocking::run,
    database::{answers, execute},
    header::{milliseconds, parsed},
    options::SqliteDurability,
};
use async_trait::async_trait;
use crossfeed_store::{
    Acquired, CallLeases, CallWait, Flights, LeaseOwner, Leased, StoreError, StoreOperation,
    Tombstone,
};
use crossfeed_wire::{CallId, Scope};
use rusqlite::{Connection, Result as SqlResult, params};
use std::time::Duration;

/// A lease ends with its time anyway, so it need not survive a loss of power.
const DURABILITY: SqliteDurability = SqliteDurability::Process;

impl Results {
    fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError> {
        let now = self.now();
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        if let Found::Live(_) = self.find(&transaction, scope, call, now)? {
            return Ok(Acquired::Recorded);
        }
        let leased = gone::leased(&transaction, scope, call, now);
        if self.about(call, leased)?.is_some() {
            return Ok(Acquired::InFlight);
        }
        let until = now.saturating_add(milliseconds(self.options.lease));
        self.sql(lease(&transaction, owner, scope, call, about, until))?;
        self.sql(transaction.commit())?;
        Ok(Acquired::New)
    }

    fn renew(&self, owner: LeaseOwner, calls: &[Leased]) -> Result<Vec<Leased>, StoreError> {
        let now = self.now();
        let until = now.saturating_add(milliseconds(self.options.lease));
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        let mut lost = Vec::new();
        for call in calls {
            let is_kept = self.sql(renew(&transaction, owner, call, now, until))?
                || match self.find(&transaction, &call.scope, &call.call_id, now) {
                    Err(StoreError::Damaged { .. }) => true,
                    found => matches!(found?, Found::Live(_)),
                };
            if !is_kept {
                lost.push(call.clone());
            }
        }
        self.sql(transaction.commit())?;
        Ok(lost)
    }

    fn release(&self, owner: LeaseOwner, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        let statement = format!("DELETE FROM leases WHERE {OF_CALL} AND owner = ?5");
        let [tenant, project, session, call] = call_values(scope, call);
        let values = params![tenant, project, session, call, owner.to_string()];
        self.sql(execute(&transaction, &statement, values))?;
        self.sql(transaction.commit())?;
        self.changes.notify();
        Ok(())
    }

    fn flights(
        &self,
        scope: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError> {
        let now = self.now();
        if !waits.is_empty() {
            let mut writer = self.database.writer()?;
            let transaction = writer.begin(DURABILITY)?;
            let until = now.saturating_add(milliseconds(4 * self.options.poll_interval));
            self.sql(note_waits(&transaction, scope, waits, now, until))?;
            self.sql(transaction.commit())?;
        }
        let reader = self.database.reader()?;
        let transaction = self.sql(reader.unchecked_transaction())?;
        let mut running = Vec::new();
        for call in on {
            match self.about(call, gone::leased(&transaction, scope, call, now)) {
                Ok(Some(_)) => running.push(call.clone()),
                // What cannot be read of one call harms no wait for another.
                Ok(None) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let waits = self.sql(all_waits(&transaction, scope, now))?;
        Ok(Flights::new(running, waits))
    }
}

/// Begins a lease, in the place of one that is over.
fn lease(
    connection: &Connection,
    owner: LeaseOwner,
    scope: &Scope,
    call: &CallId,
    about: &Tombstone,
    until: i64,
) -> SqlResult<()> {
    let statement = "INSERT OR REPLACE INTO leases \
                     (tenant, project, session, call_id, owner, expires_at, repeatable, tool, arguments) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let [tenant, project, session, call] = call_values(scope, call);
    let values = params![
        tenant,
        project,
        session,
        call,
        owner.to_string(),
        until,
        about.repeatable(),
        about.tool(),
        about.arguments().map(|arguments| &arguments[..]),
    ];
    execute(connection, statement, values).map(drop)
}

/// Renews a lease, if it is the owner's and not over.
fn renew(
    connection: &Connection,
    owner: LeaseOwner,
    call: &Leased,
    now: i64,
    until: i64,
) -> SqlResult<bool> {
    let statement = format!(
        "UPDATE leases SET expires_at = ?7, repeatable = ?8, tool = ?9, arguments = ?10 \
         WHERE {OF_CALL} AND owner = ?5 AND expires_at > ?6"
    );
    let about = &call.about;
    let [tenant, project, session, call] = call_values(&call.scope, &call.call_id);
    let values = params![
        tenant,
        project,
        session,
        call,
        owner.to_string(),
        now,
        until,
        about.repeatable(),
        about.tool(),
        about.arguments().map(|arguments| &arguments[..]),
    ];
    Ok(execute(connection, &statement, values)? > 0)
}

/// Keeps waits for four polls, and forgets those that are over.
fn note_waits(
    connection: &Connection,
    scope: &Scope,
    waits: &[CallWait],
    now: i64,
    until: i64,
) -> SqlResult<()> {
    let [tenant, project, session] = scope_values(scope);
    let statement = format!("DELETE FROM waits WHERE {OF_SCOPE} AND expires_at <= ?4");
    execute(
        connection,
        &statement,
        params![tenant, project, session, now],
    )?;
    for CallWait { of, on } in waits {
        let statement = "INSERT OR REPLACE INTO waits VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (of, on) = (of.as_str(), on.as_str());
        execute(
            connection,
            statement,
            params![tenant, project, session, of, on, until],
        )?;
    }
    Ok(())
}

fn all_waits(connection: &Connection, scope: &Scope, now: i64) -> SqlResult<Vec<CallWait>> {
    let query = format!("SELECT waiting, awaited FROM waits WHERE {OF_SCOPE} AND expires_at > ?4");
    let [tenant, project, session] = scope_values(scope);
    let values = params![tenant, project, session, now];
    answers(connection, &query, values, |row| {
        Ok(CallWait {
            of: parsed(row, "waiting", CallId::parse)?,
            on: parsed(row, "awaited", CallId::parse)?,
        })
    })
}

#[async_trait]
impl CallLeases for SharedResults {
    fn duration(&self) -> Duration {
        self.0.options.lease
    }

    fn poll_interval(&self) -> Duration {
        self.0.options.poll_interval
    }

    async fn acquire(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
        about: &Tombstone,
    ) -> Result<Acquired, StoreError> {
        let results = self.0.clone();
        let (scope, call, about) = (scope.clone(), call.clone(), about.clone());
        let acquire = run(move || results.acquire(owner, &scope, &call, &about));
        self.0.meter.time(StoreOperation::Lease, acquire).await
    }

    async fn renew(&self, owner: LeaseOwner, calls: &[Leased]) -> Result<Vec<Leased>, StoreError> {
        let (results, calls) = (self.0.clone(), calls.to_vec());
        let renew = run(move || results.renew(owner, &calls));
        let lost = self.0.meter.time(StoreOperation::Lease, renew).await?;
        self.0.meter.lost_leases(lost.len());
        Ok(lost)
    }

    async fn release(
        &self,
        owner: LeaseOwner,
        scope: &Scope,
        call: &CallId,
    ) -> Result<(), StoreError> {
        let results = self.0.clone();
        let (scope, call) = (scope.clone(), call.clone());
        let release = run(move || results.release(owner, &scope, &call));
        self.0.meter.time(StoreOperation::Lease, release).await
    }

    async fn flights(
        &self,
        scope: &Scope,
        on: &[CallId],
        waits: &[CallWait],
    ) -> Result<Flights, StoreError> {
        let results = self.0.clone();
        let (scope, on, waits) = (scope.clone(), on.to_vec(), waits.to_vec());
        let flights = run(move || results.flights(&scope, &on, &waits));
        self.0.meter.time(StoreOperation::Lease, flights).await
    }

    async fn changed(&self, _scope: &Scope) {
        self.0.changes.changed(self.poll_interval()).await;
    }
}
