//! Runs what a model wrote in a process of its own: SQL over tool results.
//!
//! A single function of SQLite can take long, or much memory, before a limit of the statement can end it. So a statement
//! runs in a child process without files and network, of bounded memory, that is killed at a deadline; nothing of it
//! runs in the process of the host.
//!
//! The host names a program that calls [`serve`], such as its own with an argument that says so:
//!
//! ```no_run
//! use crossfeed_worker::{WorkerCommand, WorkerOptions, Workers};
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     if std::env::args().nth(1).as_deref() == Some("worker") {
//!         return crossfeed_worker::serve();
//!     }
//!     // The rest of the host.
//!     ExitCode::SUCCESS
//! }
//!
//! async fn ask() -> Result<(), crossfeed_worker::WorkerError> {
//!     let command = WorkerCommand::own(["worker"])?;
//!     let workers: Workers<()> = Workers::new(WorkerOptions::new(command));
//!     let mut worker = workers.lease("session_1").await?;
//!     worker.import("call_1", r#"[{"id": 1}, {"id": 2}]"#).await?;
//!     let answer = worker.query("SELECT max(id) AS id FROM call_1").await?;
//!     assert_eq!(answer.json, r#"[{"id":2}]"#);
//!     worker.keep();
//!     Ok(())
//! }
//! ```
//!
//! # Invariants
//!
//! - A worker serves one owner, and ends with what it imported of that owner's data.
//! - A lease that is dropped kills its worker: also that of a call that was cancelled.
//! - At most [`WorkerOptions::running`] run at once, and [`WorkerOptions::kept`] wait for their owner.

mod error;
mod frame;
mod message;
mod options;
mod process;
mod sandbox;
mod serve;
mod workers;

pub use error::{QueryFault, WorkerError};
pub use message::{QueryAnswer, TableOutline};
pub use options::{WorkerCommand, WorkerOptions};
pub use sandbox::Sandbox;
pub use serve::serve;
pub use workers::{Lease, Workers};
