//! Queries: what SQL over an imported result costs beside SQLite itself, and importing it beside columns of SQLite.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_sql::{Database, SqlLimits};
use crossfeed_worker::{Lease, WorkerCommand, WorkerOptions, Workers};
use rusqlite::{Connection, params_from_iter, types::Value as Stored};
use serde_json::Value;
use std::{process::ExitCode, time::Instant};
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 2] = [("100 KB", 100_000), ("10 MB", 10_000_000)];

/// A few rows of all.
const GROUPED: &str = "SELECT substr(published, 1, 7) AS month, count(*) AS n, avg(score) AS mean FROM call_1_items GROUP BY month";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return crossfeed_worker::serve();
    }
    let run = Run::from_arguments(1.5);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    importing(&run, &runtime);
    querying(&run, &runtime);
    ExitCode::SUCCESS
}

/// The columns of the records, as whoever knows them would declare them.
fn by_hand(json: &[u8]) -> Connection {
    let value: Value = serde_json::from_slice(json).unwrap();
    let items = value["items"].as_array().unwrap();
    let keys: Vec<&String> = items[0].as_object().unwrap().keys().collect();
    let connection = Connection::open_in_memory().unwrap();
    let names: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
    let create = format!("CREATE TABLE call_1_items ({})", names.join(","));
    connection
        .execute_batch(&format!("PRAGMA journal_mode = OFF; {create}; BEGIN"))
        .unwrap();
    let places = vec!["?"; keys.len()].join(",");
    let mut insert = connection
        .prepare(&format!("INSERT INTO call_1_items VALUES ({places})"))
        .unwrap();
    for item in items {
        let row = keys.iter().map(|key| match &item[key.as_str()] {
            Value::Null => Stored::Null,
            Value::Bool(flag) => Stored::Integer((*flag).into()),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| Stored::Real(number.as_f64().unwrap()), Stored::Integer),
            Value::String(text) => Stored::Text(text.clone()),
            nested => Stored::Text(nested.to_string()),
        });
        insert.execute(params_from_iter(row)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn workers() -> Workers<()> {
    Workers::new(WorkerOptions::new(WorkerCommand::own(["worker"]).unwrap()).with_warm(0))
}

fn importing(run: &Run, runtime: &Runtime) {
    let rows = ["columns of SQLite", "a database", "a worker"];
    let Some(table) = run.table("Importing a result", "result", &rows) else {
        return;
    };
    for (size, bytes) in SIZES {
        let raw = data::records(bytes);
        let workers = workers();
        let rows = vec![
            Contender::new(|| by_hand(&raw)),
            Contender::new(|| {
                let mut database = Database::open(SqlLimits::default()).unwrap();
                database.import("call_1", raw.clone()).unwrap();
                database
            }),
            // Without the start of the process, which the host has ready.
            Contender::averaged(|| {
                runtime.block_on(async {
                    let mut worker = workers.lease("").await.unwrap();
                    let start = Instant::now();
                    worker.import("call_1", &raw).await.unwrap();
                    start.elapsed()
                })
            }),
        ];
        table.line(size, Work::Once, rows);
    }
}

fn querying(run: &Run, runtime: &Runtime) {
    let rows = ["SQLite", "a database", "a worker"];
    let Some(table) = run.table("A query over an imported result", "result", &rows) else {
        return;
    };
    for (size, bytes) in SIZES {
        let raw = data::records(bytes);
        let own = by_hand(&raw);
        let mut database = Database::open(SqlLimits::default()).unwrap();
        database.import("call_1", raw.clone()).unwrap();
        let workers = workers();
        let mut worker: Lease<()> = runtime.block_on(async {
            let mut worker = workers.lease("").await.unwrap();
            worker.import("call_1", &raw).await.unwrap();
            worker
        });
        let rows = vec![
            Contender::new(|| {
                let mut statement = own.prepare(GROUPED).unwrap();
                let row = |row: &rusqlite::Row<'_>| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get::<_, i64>(1)?,
                        row.get::<_, f64>(2)?,
                    ))
                };
                let rows = statement.query_map((), row).unwrap();
                rows.map(Result::unwrap).collect::<Vec<_>>()
            }),
            Contender::new(|| database.query(GROUPED).unwrap()),
            Contender::new(|| runtime.block_on(worker.query(GROUPED)).unwrap()),
        ];
        table.line(size, Work::Once, rows);
    }
}
