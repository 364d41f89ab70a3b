//! The tables: a row for each result, its bytes beside it, sums of bytes, what has gone, leases, and records of the host.

use crate::open::Layout;

/// The database of results, leases and state records.
pub(crate) static LAYOUT: Layout = Layout {
    database: "results.db",
    files: "results",
    table: "results",
    // `cfrs`
    application: 0x6366_7273,
    format: 1,
    added: &[("results", "sources", "BLOB")],
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
    sources BLOB,
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
