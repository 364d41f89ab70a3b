//! Sums of bytes and results: of each session, of its owner, and of all.

use super::rows::{OF_SCOPE, Whose, scope_values};
use crate::{
    database::{answer, answers, execute},
    header::scope,
};
use crossfeed_wire::Scope;
use rusqlite::{Connection, Result, params};

/// By how much sums change, or a part of one.
pub(super) struct SumChange {
    pub(super) repeatable: bool,
    pub(super) server: String,
    pub(super) bytes: i64,
    pub(super) results: i64,
}

/// As [`server_key`].
pub(super) const SERVER_KEY: &str = "CASE WHEN server IS NULL THEN '' ELSE '+' || server END";

/// A server as sums have it; none differs from one without a name.
pub(super) fn server_key(server: Option<&str>) -> String {
    server.map_or_else(String::new, |server| format!("+{server}"))
}

pub(super) fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A sum as a row has it. One below zero is wrong, and made anew by the next sweep.
fn unsigned(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Changes the sums of a session, of its owner, whose rows have no session, and of all, which has no owner either.
pub(super) fn change_sums(
    connection: &Connection,
    scope: &Scope,
    change: &SumChange,
) -> Result<()> {
    let statement = "INSERT INTO sums VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7), (?1, ?2, '', ?4, ?5, ?6, ?7), \
                     ('', '', '', 0, '', ?6, ?7) ON CONFLICT DO UPDATE \
                     SET bytes = bytes + excluded.bytes, results = results + excluded.results";
    let [tenant, project, session] = scope_values(scope);
    let SumChange {
        repeatable,
        server,
        bytes,
        results,
    } = change;
    let values = params![tenant, project, session, repeatable, server, bytes, results];
    execute(connection, statement, values)?;
    if *results < 0 {
        let statement = "DELETE FROM sums WHERE tenant = ?1 AND project = ?2 AND session IN (?3, '') \
                         AND repeatable = ?4 AND server = ?5 AND results <= 0 RETURNING bytes = 0 AND results = 0";
        let values = params![tenant, project, session, repeatable, server];
        let are_right = answers(connection, statement, values, |row| row.get(0))?;
        if are_right.contains(&false) {
            // A row says something else than when it was added.
            sum_up(connection)?;
        }
    }
    Ok(())
}

pub(super) fn sum_changes(connection: &Connection, of: [&str; 3]) -> Result<Vec<SumChange>> {
    let query = format!("SELECT repeatable, server, bytes, results FROM sums WHERE {OF_SCOPE}");
    answers(connection, &query, of, |row| {
        Ok(SumChange {
            repeatable: row.get(0)?,
            server: row.get(1)?,
            bytes: row.get(2)?,
            results: row.get(3)?,
        })
    })
}

/// Makes all sums anew.
pub(super) fn sum_up(connection: &Connection) -> Result<()> {
    connection.execute_batch(&format!(
        "DELETE FROM sums;
         INSERT INTO sums SELECT tenant, project, session, repeatable, {SERVER_KEY} AS key, sum(kept_bytes), count(*)
         FROM results GROUP BY tenant, project, session, repeatable, key;
         INSERT INTO sums SELECT tenant, project, '', repeatable, server, sum(bytes), sum(results)
         FROM sums GROUP BY tenant, project, repeatable, server;
         INSERT INTO sums SELECT '', '', '', 0, '', coalesce(sum(bytes), 0), coalesce(sum(results), 0)
         FROM sums WHERE session = '' AND tenant <> ''"
    ))
}

/// Whether the sum of all is what the rows say.
pub(super) fn sums_are_right(connection: &Connection) -> Result<bool> {
    let query = "SELECT count(*), coalesce(sum(kept_bytes), 0) FROM results";
    let rows: (i64, i64) = answer(connection, query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (results, bytes) = total(connection)?;
    Ok(rows == (signed(results), signed(bytes)))
}

/// What the sums say of somebody's rows.
#[derive(Default)]
pub(super) struct Held {
    pub(super) bytes: usize,
    pub(super) results: usize,
    pub(super) order: Order,
}

/// Which results go first: those whose calls may be made again, and those of a server whose other results are more
/// than half of the bytes. All others go last.
#[derive(Default)]
pub(super) struct Order {
    pub(super) has_repeatable: bool,
    pub(super) heavy: Option<String>,
}

impl Order {
    /// Whether no result goes before another.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_repeatable && self.heavy.is_none()
    }
}

pub(super) fn held(connection: &Connection, whose: Whose<'_>) -> Result<Held> {
    let parts = sum_changes(connection, whose.values())?;
    let bytes = parts.iter().map(|part| unsigned(part.bytes)).sum();
    let repeatable = parts.iter().filter(|part| part.repeatable);
    let is_heavy = |part: &&SumChange| unsigned(part.bytes) > bytes - unsigned(part.bytes);
    let mut lasting = parts.iter().filter(|part| !part.repeatable);
    Ok(Held {
        bytes,
        results: parts.iter().map(|part| unsigned(part.results)).sum(),
        order: Order {
            has_repeatable: repeatable.map(|part| part.bytes).sum::<i64>() > 0,
            heavy: lasting.find(is_heavy).map(|part| part.server.clone()),
        },
    })
}

/// The number of all results, and their bytes.
pub(super) fn total(connection: &Connection) -> Result<(usize, usize)> {
    let all = sum_changes(connection, ["", "", ""])?;
    let sum = |of: fn(&SumChange) -> i64| all.iter().map(|part| unsigned(of(part))).sum();
    Ok((sum(|part| part.results), sum(|part| part.bytes)))
}

/// What each tenant's project holds.
pub(super) fn owners(connection: &Connection) -> Result<Vec<((String, String), usize)>> {
    let query = "SELECT tenant, project, sum(bytes) FROM sums WHERE session = '' AND tenant <> '' \
                 GROUP BY tenant, project";
    answers(connection, query, [], |row| {
        Ok(((row.get(0)?, row.get(1)?), row.get(2)?))
    })
}

/// Sessions beyond a limit.
pub(super) fn sessions_beyond(
    connection: &Connection,
    bytes: usize,
    results: usize,
) -> Result<Vec<Scope>> {
    let query = "SELECT tenant, project, session FROM sums WHERE session <> '' GROUP BY tenant, project, session \
                 HAVING sum(bytes) > ?1 OR sum(results) > ?2";
    let limits = params![signed(bytes), signed(results)];
    answers(connection, query, limits, scope)
}
