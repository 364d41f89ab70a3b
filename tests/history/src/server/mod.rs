//! The servers of a run: each writes down what it runs before it answers, and does wrong what a call asks for.
//!
//! A server is this program again, started as a process of its own, so that it can be killed and stopped. What it wrote
//! down is read from its log once the run is over.

mod http;
mod stdio;
mod tools;

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::history::now;

/// The revision with sessions that the servers speak, and the one without.
pub(crate) const SESSION_REVISION: &str = "2025-11-25";
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";
/// The notification whose order is judged.
pub(crate) const NOTIFICATION: &str = "notifications/history";

/// What one server process is.
pub(crate) struct Server {
    name: String,
    stateless: bool,
    log: Log,
    /// The parameters of calls that became tasks, by the ids of these.
    tasks: Mutex<BTreeMap<String, Value>>,
}

/// The log of a server, to which several processes may append.
pub(crate) struct Log {
    file: File,
}

impl Log {
    /// Appends one line, in one write.
    fn write(&self, mut entry: Value) -> io::Result<()> {
        entry["at"] = now().into();
        entry["process"] = std::process::id().into();
        (&self.file).write_all(format!("{entry}\n").as_bytes())
    }
}

/// Serves as the arguments say: `--name NAME --log FILE [--stateless] [--listen ADDRESS]`.
///
/// # Errors
///
/// When an argument is wrong or a socket or file fails.
pub(crate) fn serve(arguments: &[String]) -> Result<(), String> {
    let (mut name, mut log, mut listen, mut stateless) = (None, None, None, false);
    let mut given = arguments.iter();
    while let Some(flag) = given.next() {
        let mut value = || given.next().ok_or(format!("`{flag}` takes a value"));
        match flag.as_str() {
            "--name" => name = Some(value()?.clone()),
            "--log" => log = Some(PathBuf::from(value()?)),
            "--listen" => listen = Some(value()?.clone()),
            "--stateless" => stateless = true,
            _ => return Err(format!("unknown argument `{flag}`")),
        }
    }
    let (Some(name), Some(log)) = (name, log) else {
        return Err("`--name` and `--log` are required".into());
    };
    let failed = |error: io::Error| error.to_string();
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .map_err(failed)?;
    let server = Arc::new(Server {
        name,
        stateless,
        log: Log { file },
        tasks: Mutex::default(),
    });
    server
        .log
        .write(json!({"started": server.name}))
        .map_err(failed)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(async {
        match listen {
            Some(address) => http::serve(server, &address).await,
            None => stdio::serve(server).await,
        }
    });
    // A thread that still reads standard input does not keep the process.
    runtime.shutdown_background();
    served.map_err(failed)
}
