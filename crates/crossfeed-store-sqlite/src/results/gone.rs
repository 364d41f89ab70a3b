//! Calls without a result: those in flight, and those whose result has gone.

use super::rows::{OF_CALL, OF_SCOPE, call_values, scope_values};
use crate::database::{answer, answer_if_any, execute};
use crossfeed_store::{Missing, Tombstone};
use crossfeed_wire::{CallId, Scope};
use rusqlite::{Connection, Result, Row, params};

/// Why the result of a call is missing.
pub(super) fn missing(
    connection: &Connection,
    scope: &Scope,
    call: &CallId,
    now: i64,
) -> Result<Missing> {
    if let Some(about) = leased(connection, scope, call, now)? {
        return Ok(Missing::InFlight(about));
    }
    let query = format!("SELECT evicted, tool, arguments, repeatable FROM gone WHERE {OF_CALL}");
    let gone = answer_if_any(connection, &query, call_values(scope, call), |row| {
        let tombstone = tombstone(row)?;
        Ok(if row.get("evicted")? {
            Missing::Evicted(tombstone)
        } else {
            Missing::Expired(tombstone)
        })
    });
    Ok(gone?.unwrap_or(Missing::Unknown))
}

/// How to repeat a call that is in flight.
pub(super) fn leased(
    connection: &Connection,
    scope: &Scope,
    call: &CallId,
    now: i64,
) -> Result<Option<Tombstone>> {
    let query = format!(
        "SELECT tool, arguments, repeatable FROM leases WHERE {OF_CALL} AND expires_at > ?5"
    );
    let [tenant, project, session, call] = call_values(scope, call);
    let values = params![tenant, project, session, call, now];
    answer_if_any(connection, &query, values, tombstone)
}

/// Ends the lease of a call, whoever holds it.
pub(super) fn end_lease(connection: &Connection, scope: &Scope, call: &CallId) -> Result<()> {
    let statement = format!("DELETE FROM leases WHERE {OF_CALL}");
    execute(connection, &statement, call_values(scope, call)).map(drop)
}

fn tombstone(row: &Row<'_>) -> Result<Tombstone> {
    let tool: Option<String> = row.get("tool")?;
    let arguments: Option<Vec<u8>> = row.get("arguments")?;
    let tombstone = Tombstone::new(tool.map(Into::into), arguments.as_deref());
    Ok(tombstone.with_repeatable(row.get("repeatable")?))
}

/// How many tombstones a session may have, and the bytes of their arguments.
#[derive(Clone, Copy)]
pub(super) struct TombstoneLimits {
    pub(super) number: usize,
    pub(super) bytes: usize,
}

/// Adds a tombstone; the oldest go beyond the limits.
pub(super) fn bury(
    connection: &Connection,
    (scope, call): (&Scope, &CallId),
    missing: &Missing,
    now: i64,
    limits: TombstoneLimits,
) -> Result<()> {
    let (evicted, tombstone) = match missing {
        Missing::Evicted(tombstone) => (true, tombstone),
        Missing::Expired(tombstone) => (false, tombstone),
        Missing::Unknown | Missing::InFlight(_) => return Ok(()),
    };
    let [tenant, project, session, call] = call_values(scope, call);
    let arguments = tombstone.arguments().map(|arguments| &arguments[..]);
    let statement = "INSERT OR REPLACE INTO gone (tenant, project, session, call_id, gone_at, evicted, \
                     argument_bytes, repeatable, tool, arguments) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = params![
        tenant,
        project,
        session,
        call,
        now,
        evicted,
        arguments.map_or(0, <[u8]>::len),
        tombstone.repeatable(),
        tombstone.tool(),
        arguments,
    ];
    execute(connection, statement, values)?;
    let query =
        format!("SELECT count(*), coalesce(sum(argument_bytes), 0) FROM gone WHERE {OF_SCOPE}");
    let of_scope = scope_values(scope);
    let (mut number, mut bytes): (usize, usize) = answer(connection, &query, of_scope, |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    while number > limits.number || bytes > limits.bytes {
        let query = format!(
            "DELETE FROM gone WHERE number = (SELECT min(number) FROM gone WHERE {OF_SCOPE}) \
             RETURNING argument_bytes"
        );
        let gone: Option<usize> = answer_if_any(connection, &query, of_scope, |row| row.get(0))?;
        let Some(gone) = gone else { break };
        number -= 1;
        bytes = bytes.saturating_sub(gone);
    }
    Ok(())
}

/// Forgets old tombstones, so many at most; whether there may be more.
pub(super) fn forget(connection: &Connection, until: i64, most: usize) -> Result<bool> {
    let statement = "DELETE FROM gone WHERE number IN \
                     (SELECT number FROM gone WHERE gone_at <= ?1 ORDER BY gone_at LIMIT ?2)";
    Ok(execute(connection, statement, params![until, most])? == most)
}
