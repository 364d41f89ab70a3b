//! The rows of results, and which of them goes next.

use super::{
    record::{COLUMNS, Header, kind_name},
    sums::{Order, SERVER_KEY, SumChange, change_sums, server_key, signed, sum_changes},
};
use crate::{
    database::{answer, answer_if_any, answers, execute},
    header::{digest, is_unreadable, parsed, scope},
};
use crossfeed_store::{Digest, StoredResult, Tombstone};
use crossfeed_wire::{CallId, Scope};
use rusqlite::{Connection, Result, Row, params};
use std::sync::Arc;

pub(super) const OF_SCOPE: &str = "tenant = ?1 AND project = ?2 AND session = ?3";
pub(super) const OF_CALL: &str = "tenant = ?1 AND project = ?2 AND session = ?3 AND call_id = ?4";

/// The values of [`OF_SCOPE`].
pub(super) fn scope_values(scope: &Scope) -> [&str; 3] {
    [scope.tenant(), scope.project(), scope.session()]
}

/// The values of [`OF_CALL`].
pub(super) fn call_values<'n>(scope: &'n Scope, call: &'n CallId) -> [&'n str; 4] {
    let [tenant, project, session] = scope_values(scope);
    [tenant, project, session, call.as_str()]
}

/// The row of a call, expired or not.
pub(super) fn find(
    connection: &Connection,
    scope: &Scope,
    call: &CallId,
) -> Result<Option<Header>> {
    let query = format!("SELECT {COLUMNS} FROM results WHERE {OF_CALL}");
    answer_if_any(connection, &query, call_values(scope, call), Header::read)
}

/// The rows of a session in the order of their use, or why one cannot be read.
pub(super) fn list(connection: &Connection, scope: &Scope) -> Result<Vec<Result<Header>>> {
    let query = format!("SELECT {COLUMNS} FROM results WHERE {OF_SCOPE} ORDER BY tick");
    answers(connection, &query, scope_values(scope), |row| {
        Ok(Header::read(row))
    })
}

/// The rows of all sessions, the latest first, or why one cannot be read.
pub(super) fn all(connection: &Connection) -> Result<Vec<Result<(Scope, Header)>>> {
    let query = format!(
        "SELECT tenant, project, session, {COLUMNS} FROM results ORDER BY recorded_at DESC, number DESC"
    );
    answers(connection, &query, [], |row| {
        Ok(scope(row).and_then(|scope| Ok((scope, Header::read(row)?))))
    })
}

/// The arguments and the data of a row, as far as they are in it.
pub(super) type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(super) fn contents(connection: &Connection, number: i64) -> Result<Option<Contents>> {
    let query = "SELECT arguments, data FROM contents WHERE number = ?1";
    answer_if_any(connection, query, [number], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// The arguments of a row, if a tombstone keeps them, and they can be read.
pub(super) fn short_arguments(connection: &Connection, number: i64) -> Result<Option<Vec<u8>>> {
    let query = "SELECT CASE WHEN length(arguments) <= ?2 THEN arguments END FROM contents WHERE number = ?1";
    let most = i64::try_from(Tombstone::MAX_ARGUMENTS).unwrap_or(i64::MAX);
    match answer_if_any(connection, query, [number, most], |row| row.get(0)) {
        Err(error) if is_unreadable(&error) => Ok(None),
        arguments => arguments.map(Option::flatten),
    }
}

/// The number that orders uses: larger than all before.
const NEXT_TICK: &str = "(SELECT coalesce(max(tick), 0) + 1 FROM results)";

/// Adds a row, with the data where it is not in a file. Returns its number.
pub(super) fn insert(
    connection: &Connection,
    scope: &Scope,
    header: &Header,
    result: &StoredResult,
) -> Result<i64> {
    let statement = format!(
        "INSERT INTO results (tenant, project, session, call_id, recorded_at, used_at, tick, kept_bytes, kind, \
         failed, repeatable, media_type, tool, server, trace, arguments_digest, data_bytes, data_digest, in_file, \
         digest, sources) VALUES (?1, ?2, ?3, ?4, ?5, ?6, {NEXT_TICK}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
         ?17, ?18, ?19, ?20)"
    );
    let [tenant, project, session] = scope_values(scope);
    let arguments_digest = header.arguments_digest.as_ref().map(Digest::as_bytes);
    let digest = header.digest(scope);
    connection.prepare_cached(&statement)?.execute(params![
        tenant,
        project,
        session,
        header.call_id.as_str(),
        header.recorded_at,
        header.used_at,
        header.kept_bytes,
        kind_name(header.kind),
        header.failed,
        header.repeatable,
        header.media_type,
        header.tool,
        header.server,
        header.trace,
        arguments_digest,
        header.data_bytes,
        header.data_digest.as_bytes(),
        header.in_file,
        digest.as_bytes(),
        header.sources_bytes(&digest),
    ])?;
    let number = connection.last_insert_rowid();
    let data = (!header.in_file).then(|| &result.document().raw()[..]);
    let arguments = result.arguments().map(|arguments| &arguments[..]);
    let statement = "INSERT OR REPLACE INTO contents VALUES (?1, ?2, ?3)";
    execute(connection, statement, params![number, arguments, data])?;
    let change = SumChange {
        repeatable: header.repeatable,
        server: server_key(header.server.as_deref()),
        bytes: signed(header.kept_bytes),
        results: 1,
    };
    change_sums(connection, scope, &change)?;
    let statement = format!("DELETE FROM gone WHERE {OF_CALL}");
    let name = call_values(scope, &header.call_id);
    execute(connection, &statement, name)?;
    Ok(number)
}

/// Notes a use; whether the row is still there.
pub(super) fn touch(connection: &Connection, number: i64, now: i64) -> Result<bool> {
    let statement = format!(
        "UPDATE results SET used_at = max(used_at, ?2), tick = {NEXT_TICK} WHERE number = ?1"
    );
    Ok(execute(connection, &statement, [number, now])? > 0)
}

/// What the choice of the row that goes needs to know of one.
pub(super) struct Candidate {
    pub(super) number: i64,
    /// None if the row cannot be read.
    pub(super) row: Option<CandidateRow>,
}

pub(super) struct CandidateRow {
    pub(super) scope: Scope,
    pub(super) call_id: CallId,
    pub(super) recorded_at: i64,
    pub(super) used_at: i64,
    kept_bytes: i64,
    repeatable: bool,
    server: Option<String>,
    tool: Option<String>,
    /// The file that the row names.
    pub(super) file: Option<Digest>,
}

const CANDIDATE_COLUMNS: &str = "number, tenant, project, session, call_id, recorded_at, used_at, kept_bytes, \
                                 repeatable, server, tool, in_file, data_digest";

impl Candidate {
    fn read(row: &Row<'_>) -> Result<Self> {
        let columns = || {
            let in_file: bool = row.get("in_file")?;
            Ok(CandidateRow {
                scope: scope(row)?,
                call_id: parsed(row, "call_id", CallId::parse)?,
                recorded_at: row.get("recorded_at")?,
                used_at: row.get("used_at")?,
                kept_bytes: row.get("kept_bytes")?,
                repeatable: row.get("repeatable")?,
                server: row.get("server")?,
                tool: row.get("tool")?,
                file: if in_file {
                    Some(digest(row, "data_digest")?)
                } else {
                    None
                },
            })
        };
        let columns: Result<CandidateRow> = columns();
        Ok(Self {
            number: row.get("number")?,
            row: columns.ok(),
        })
    }
}

impl CandidateRow {
    /// How the call can be repeated.
    pub(super) fn tombstone(&self, arguments: Option<&[u8]>) -> Tombstone {
        let tool = self.tool.as_deref().map(Arc::from);
        Tombstone::new(tool, arguments).with_repeatable(self.repeatable)
    }
}

/// Whose rows are looked through.
#[derive(Clone, Copy)]
pub(super) enum Whose<'s> {
    Session(&'s Scope),
    /// All sessions of a tenant's project.
    Owner(&'s str, &'s str),
}

impl<'s> Whose<'s> {
    /// The key of their sums.
    pub(super) fn values(self) -> [&'s str; 3] {
        match self {
            Self::Session(scope) => scope_values(scope),
            Self::Owner(tenant, project) => [tenant, project, ""],
        }
    }
}

/// The first row, in the order of use, that `is_wanted`: of those that go first if an order is given, else of all.
pub(super) fn first_used(
    connection: &Connection,
    whose: Whose<'_>,
    order: Option<&Order>,
    mut is_wanted: impl FnMut(&Candidate) -> bool,
) -> Result<Option<Candidate>> {
    let own = match whose {
        Whose::Session(_) => "results_used WHERE tenant = ?1 AND project = ?2 AND session = ?3",
        Whose::Owner(..) => "results_ticks WHERE tenant = ?1 AND project = ?2 AND ?3 = ''",
    };
    let query = format!(
        "SELECT {CANDIDATE_COLUMNS} FROM results INDEXED BY {own} \
         AND (?4 OR (repeatable AND ?5) OR {SERVER_KEY} = ?6) ORDER BY tick"
    );
    let [tenant, project, session] = whose.values();
    let has_repeatable = order.is_some_and(|order| order.has_repeatable);
    let heavy = order.and_then(|order| order.heavy.as_deref());
    let values = params![
        tenant,
        project,
        session,
        order.is_none(),
        has_repeatable,
        heavy
    ];
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let candidate = Candidate::read(row)?;
        if is_wanted(&candidate) {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// Rows that were recorded first or used first, while `is_wanted` does not say that there are enough.
pub(super) fn oldest(
    connection: &Connection,
    by_use: bool,
    mut take: impl FnMut(Candidate) -> bool,
) -> Result<()> {
    let order = if by_use { "tick" } else { "number" };
    let query = format!("SELECT {CANDIDATE_COLUMNS} FROM results ORDER BY {order}");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !take(Candidate::read(row)?) {
            break;
        }
    }
    Ok(())
}

/// The row of a call, in case that it is overdue.
pub(super) fn candidate(
    connection: &Connection,
    scope: &Scope,
    call: &CallId,
) -> Result<Option<Candidate>> {
    let query = format!("SELECT {CANDIDATE_COLUMNS} FROM results WHERE {OF_CALL}");
    answer_if_any(
        connection,
        &query,
        call_values(scope, call),
        Candidate::read,
    )
}

/// The rows of a session that were used, or recorded, no later than that.
pub(super) fn overdue_of(
    connection: &Connection,
    scope: &Scope,
    used_at: i64,
    recorded_at: i64,
) -> Result<Vec<Candidate>> {
    let query = format!(
        "SELECT {CANDIDATE_COLUMNS} FROM results INDEXED BY results_used WHERE {OF_SCOPE} \
         AND (used_at <= ?4 OR recorded_at <= ?5) ORDER BY tick"
    );
    let [tenant, project, session] = scope_values(scope);
    let values = params![tenant, project, session, used_at, recorded_at];
    answers(connection, &query, values, Candidate::read)
}

/// Removes a row.
pub(super) fn delete(connection: &Connection, candidate: &Candidate) -> Result<()> {
    for table in ["results", "contents"] {
        let statement = format!("DELETE FROM {table} WHERE number = ?1");
        execute(connection, &statement, [candidate.number])?;
    }
    // What one that cannot be read has held, a sweep finds.
    if let Some(row) = &candidate.row {
        let change = SumChange {
            repeatable: row.repeatable,
            server: server_key(row.server.as_deref()),
            bytes: -row.kept_bytes,
            results: -1,
        };
        change_sums(connection, &row.scope, &change)?;
    }
    Ok(())
}

/// Removes all that is known of a session; returns the files that its rows named.
pub(super) fn delete_session(connection: &Connection, scope: &Scope) -> Result<Vec<Digest>> {
    let of_scope = scope_values(scope);
    let query = format!("SELECT DISTINCT data_digest FROM results WHERE {OF_SCOPE} AND in_file");
    let files = answers(connection, &query, of_scope, |row| {
        // What a row has named that cannot be read, a sweep finds.
        Ok(digest(row, "data_digest").ok())
    })?;
    let statement = format!(
        "DELETE FROM contents WHERE number IN (SELECT number FROM results WHERE {OF_SCOPE})"
    );
    execute(connection, &statement, of_scope)?;
    for table in ["results", "gone", "leases", "waits"] {
        let statement = format!("DELETE FROM {table} WHERE {OF_SCOPE}");
        execute(connection, &statement, of_scope)?;
    }
    for change in sum_changes(connection, of_scope)? {
        let change = SumChange {
            bytes: -change.bytes,
            results: -change.results,
            ..change
        };
        change_sums(connection, scope, &change)?;
    }
    Ok(files.into_iter().flatten().collect())
}

/// Whether anything is known of a session.
pub(super) fn has_session(connection: &Connection, scope: &Scope) -> Result<bool> {
    let tables = ["results", "gone", "leases", "waits"];
    let exists = tables.map(|table| format!("EXISTS (SELECT 1 FROM {table} WHERE {OF_SCOPE})"));
    let query = format!("SELECT {}", exists.join(" OR "));
    answer(connection, &query, scope_values(scope), |row| row.get(0))
}
