//! The tables: a row for each result, its bytes beside it, sums of bytes, and what has gone.
//!
//! Each row that is read can tell whether it is as it was written, but for its last use, which changes.

use crate::{
    database::{answer, answer_if_any, answers, execute},
    header::{digest, parsed, scope, unreadable},
    open::Layout,
};
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_store::{Digest, Listed, Missing, ResultKind, StoredResult, Tombstone};
use crossfeed_wire::{CallId, Scope, TraceContext};
use rusqlite::{Connection, Result, Row, params};
use std::sync::Arc;

/// The database of results, leases and state records.
pub(crate) static LAYOUT: Layout = Layout {
    database: "results.db",
    files: "results",
    table: "results",
    // `cfrs`
    application: 0x6366_7273,
    format: 1,
    // Results come and go, so the room of those that went is given back.
    settings: "PRAGMA auto_vacuum = INCREMENTAL",
    tables: "
CREATE TABLE results (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    call_id TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    tick INTEGER NOT NULL,
    kept_bytes INTEGER NOT NULL,
    kind TEXT NOT NULL,
    failed INTEGER NOT NULL,
    repeatable INTEGER NOT NULL,
    media_type TEXT,
    tool TEXT,
    server TEXT,
    trace BLOB,
    arguments_digest BLOB,
    data_bytes INTEGER NOT NULL,
    data_digest BLOB NOT NULL,
    in_file INTEGER NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (tenant, project, session, call_id)
) STRICT;
CREATE INDEX results_used ON results (tenant, project, session, tick, used_at, recorded_at);
CREATE INDEX results_ticks ON results (tick);
CREATE INDEX results_files ON results (data_digest) WHERE in_file;
CREATE TABLE contents (
    number INTEGER PRIMARY KEY,
    arguments BLOB,
    data BLOB
) STRICT;
CREATE TABLE sums (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    repeatable INTEGER NOT NULL,
    server TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    results INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, session, repeatable, server)
) STRICT, WITHOUT ROWID;
CREATE INDEX sums_owners ON sums (tenant, project, bytes) WHERE session = '';
CREATE TABLE gone (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    call_id TEXT NOT NULL,
    gone_at INTEGER NOT NULL,
    evicted INTEGER NOT NULL,
    argument_bytes INTEGER NOT NULL,
    repeatable INTEGER NOT NULL,
    tool TEXT,
    arguments BLOB,
    UNIQUE (tenant, project, session, call_id)
) STRICT;
CREATE INDEX gone_order ON gone (tenant, project, session, number, argument_bytes);
CREATE INDEX gone_since ON gone (gone_at);
CREATE TABLE leases (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    call_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    repeatable INTEGER NOT NULL,
    tool TEXT,
    arguments BLOB,
    PRIMARY KEY (tenant, project, session, call_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE waits (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    waiting TEXT NOT NULL,
    awaited TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, session, waiting, awaited)
) STRICT, WITHOUT ROWID;
CREATE TABLE state (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    value BLOB NOT NULL
) STRICT;
CREATE INDEX state_expiring ON state (expires_at);
",
};

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

/// Everything about a result but its bytes.
pub(super) struct Header {
    /// No two rows ever have the same.
    pub(super) number: i64,
    pub(super) call_id: CallId,
    pub(super) recorded_at: i64,
    /// Not in the digest, since it changes.
    pub(super) used_at: i64,
    kept_bytes: usize,
    kind: ResultKind,
    failed: bool,
    repeatable: bool,
    media_type: Option<String>,
    pub(super) tool: Option<String>,
    server: Option<String>,
    trace: Option<Vec<u8>>,
    arguments_digest: Option<Digest>,
    pub(super) data_bytes: usize,
    pub(super) data_digest: Digest,
    pub(super) in_file: bool,
    written: Digest,
}

const COLUMNS: &str = "number, call_id, recorded_at, used_at, kept_bytes, kind, failed, repeatable, media_type, \
                       tool, server, trace, arguments_digest, data_bytes, data_digest, in_file, digest";

impl Header {
    /// The row for a result that is not there yet.
    pub(super) fn new(call: &CallId, result: &StoredResult, now: i64, file_bytes: usize) -> Self {
        let data = result.document().raw();
        let data_digest = Digest::of(data);
        Self {
            number: 0,
            call_id: call.clone(),
            recorded_at: now,
            used_at: now,
            kept_bytes: kept_bytes(result),
            kind: result.kind(),
            failed: result.failed(),
            repeatable: result.repeatable(),
            media_type: result.media_type().map(str::to_owned),
            tool: result.tool().map(str::to_owned),
            server: result.server().map(|server| server.to_string()),
            trace: result.trace().map(trace_bytes),
            arguments_digest: result.arguments().map(|arguments| Digest::of(arguments)),
            data_bytes: data.len(),
            data_digest,
            in_file: data.len() > file_bytes,
            written: data_digest,
        }
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        let has_arguments = row.get_ref("arguments_digest")? != rusqlite::types::ValueRef::Null;
        Ok(Self {
            number: row.get("number")?,
            call_id: parsed(row, "call_id", CallId::parse)?,
            recorded_at: row.get("recorded_at")?,
            used_at: row.get("used_at")?,
            kept_bytes: row.get("kept_bytes")?,
            kind: kind_of(&row.get::<_, String>("kind")?)?,
            failed: row.get("failed")?,
            repeatable: row.get("repeatable")?,
            media_type: row.get("media_type")?,
            tool: row.get("tool")?,
            server: row.get("server")?,
            trace: row.get("trace")?,
            arguments_digest: if has_arguments {
                Some(digest(row, "arguments_digest")?)
            } else {
                None
            },
            data_bytes: row.get("data_bytes")?,
            data_digest: digest(row, "data_digest")?,
            in_file: row.get("in_file")?,
            written: digest(row, "digest")?,
        })
    }

    /// The digest of everything that stays as it was recorded.
    fn digest(&self, scope: &Scope) -> Digest {
        let [tenant, project, session] = scope_values(scope);
        let flags = [self.failed, self.repeatable, self.in_file].map(u8::from);
        Digest::of_parts([
            Some(tenant.as_bytes()),
            Some(project.as_bytes()),
            Some(session.as_bytes()),
            Some(self.call_id.as_str().as_bytes()),
            Some(&self.recorded_at.to_le_bytes()),
            Some(&(self.kept_bytes as u64).to_le_bytes()),
            Some(kind_name(self.kind).as_bytes()),
            Some(&flags),
            self.media_type.as_deref().map(str::as_bytes),
            self.tool.as_deref().map(str::as_bytes),
            self.server.as_deref().map(str::as_bytes),
            self.trace.as_deref(),
            self.arguments_digest
                .as_ref()
                .map(|digest| &digest.as_bytes()[..]),
            Some(&(self.data_bytes as u64).to_le_bytes()),
            Some(self.data_digest.as_bytes()),
        ])
    }

    /// Whether the row is as it was written, for that call.
    pub(super) fn is_whole(&self, scope: &Scope) -> bool {
        self.digest(scope) == self.written
    }

    /// See [`StoredResult::is_same_record`].
    pub(super) fn is_same_record(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.failed == other.failed
            && self.data_bytes == other.data_bytes
            && self.data_digest == other.data_digest
    }

    /// How the call can be repeated.
    pub(super) fn tombstone(&self, arguments: Option<&[u8]>) -> Tombstone {
        let tool = self.tool.as_deref().map(Arc::from);
        Tombstone::new(tool, arguments).with_repeatable(self.repeatable)
    }

    /// The result, with its bytes; `None` if the arguments are not those that were recorded.
    pub(super) fn result(self, arguments: Option<Vec<u8>>, data: Vec<u8>) -> Option<StoredResult> {
        if arguments.as_deref().map(Digest::of) != self.arguments_digest {
            return None;
        }
        let mut result = StoredResult::new(Document::new(data), self.kind)
            .with_failed(self.failed)
            .with_repeatable(self.repeatable);
        if let Some(media_type) = self.media_type {
            result = result.with_media_type(media_type);
        }
        if let Some(tool) = self.tool {
            result = result.with_tool(tool);
        }
        if let Some(server) = self.server {
            result = result.with_server(server);
        }
        if let Some(arguments) = arguments {
            result = result.with_arguments(Bytes::from(arguments));
        }
        if let Some(trace) = self.trace.as_deref().and_then(trace_of) {
            result = result.with_trace(trace);
        }
        Some(result)
    }

    /// The line of a list.
    pub(super) fn line(self) -> Listed {
        Listed::new(self.call_id, self.kind, self.data_bytes)
            .with_tool(self.tool.map(Into::into))
            .with_failed(self.failed)
    }
}

/// The bytes that limits count.
pub(super) fn kept_bytes(result: &StoredResult) -> usize {
    result.document().raw().len() + result.arguments().map_or(0, Bytes::len)
}

/// How a kind is written in a row. Never changed.
fn kind_name(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Undeclared => "undeclared",
        ResultKind::Json => "json",
        ResultKind::Mcp => "mcp",
        ResultKind::Text => "text",
        ResultKind::Bytes => "bytes",
    }
}

fn kind_of(name: &str) -> Result<ResultKind> {
    let kinds = [
        ResultKind::Undeclared,
        ResultKind::Json,
        ResultKind::Mcp,
        ResultKind::Text,
        ResultKind::Bytes,
    ];
    let kind = kinds.into_iter().find(|kind| kind_name(*kind) == name);
    kind.ok_or_else(|| unreadable("an unknown kind of result".into()))
}

/// A place in a trace: its ids, flags, and what vendors say.
fn trace_bytes(trace: &TraceContext) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(trace.trace_id());
    bytes.extend(trace.span_id());
    bytes.push(trace.flags());
    bytes.extend(trace.tracestate().unwrap_or_default().as_bytes());
    bytes
}

fn trace_of(bytes: &[u8]) -> Option<TraceContext> {
    let (trace_id, rest) = bytes.split_first_chunk()?;
    let (span_id, rest) = rest.split_first_chunk()?;
    let (flags, state) = rest.split_first()?;
    let trace = TraceContext::new(*trace_id, *span_id, *flags).ok()?;
    Some(trace.with_tracestate(std::str::from_utf8(state).ok()?))
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

/// The arguments and the data of a row, as far as they are in it.
pub(super) type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(super) fn contents(connection: &Connection, number: i64) -> Result<Option<Contents>> {
    let query = "SELECT arguments, data FROM contents WHERE number = ?1";
    answer_if_any(connection, query, [number], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// The arguments of a row, if a tombstone keeps them.
pub(super) fn short_arguments(connection: &Connection, number: i64) -> Result<Option<Vec<u8>>> {
    let query = "SELECT CASE WHEN length(arguments) <= ?2 THEN arguments END FROM contents WHERE number = ?1";
    let most = i64::try_from(Tombstone::MAX_ARGUMENTS).unwrap_or(i64::MAX);
    let arguments = answer_if_any(connection, query, [number, most], |row| row.get(0));
    arguments.map(Option::flatten)
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
         digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, {NEXT_TICK}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
         ?18, ?19)"
    );
    let [tenant, project, session] = scope_values(scope);
    let arguments_digest = header.arguments_digest.as_ref().map(Digest::as_bytes);
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
        header.digest(scope).as_bytes(),
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
    fn values(self) -> [&'s str; 3] {
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

/// Removes all that is known of a session; returns the files that its rows named.
pub(super) fn delete_session(connection: &Connection, scope: &Scope) -> Result<Vec<Digest>> {
    let of_scope = scope_values(scope);
    let query = format!("SELECT DISTINCT data_digest FROM results WHERE {OF_SCOPE} AND in_file");
    let files = answers(connection, &query, of_scope, |row| {
        digest(row, "data_digest")
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
    Ok(files)
}

/// Whether anything is known of a session.
pub(super) fn has_session(connection: &Connection, scope: &Scope) -> Result<bool> {
    let tables = ["results", "gone", "leases", "waits"];
    let exists = tables.map(|table| format!("EXISTS (SELECT 1 FROM {table} WHERE {OF_SCOPE})"));
    let query = format!("SELECT {}", exists.join(" OR "));
    answer(connection, &query, scope_values(scope), |row| row.get(0))
}

/// By how much sums change, or a part of one.
struct SumChange {
    repeatable: bool,
    server: String,
    bytes: i64,
    results: i64,
}

/// As [`server_key`].
const SERVER_KEY: &str = "CASE WHEN server IS NULL THEN '' ELSE '+' || server END";

/// A server as sums have it; none differs from one without a name.
fn server_key(server: Option<&str>) -> String {
    server.map_or_else(String::new, |server| format!("+{server}"))
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A sum as a row has it. One below zero is wrong, and made anew by the next sweep.
fn unsigned(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Changes the sums of a session, of its owner, whose rows have no session, and of all, which has no owner either.
fn change_sums(connection: &Connection, scope: &Scope, change: &SumChange) -> Result<()> {
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

fn sum_changes(connection: &Connection, of: [&str; 3]) -> Result<Vec<SumChange>> {
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
    has_repeatable: bool,
    heavy: Option<String>,
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
