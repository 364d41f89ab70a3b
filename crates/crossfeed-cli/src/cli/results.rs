//! The arguments of `results`.

use clap::{Args, Subcommand};
use crossfeed::CallId;
use std::path::PathBuf;

/// List, print and save the results that a gateway keeps in a directory
///
/// Reads the directory that `crossfeed gateway --state DIR` writes, also while that runs. Nothing in it
/// changes: looking at a result does not keep it for longer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed results ls --state /var/lib/crossfeed
  crossfeed results get call_3 --state /var/lib/crossfeed --select 'items[*].url'
  crossfeed results save call_3 june.json --state /var/lib/crossfeed")]
pub(crate) struct Results {
    #[command(subcommand)]
    pub(crate) command: ResultsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    Ls(ResultsLs),
    Get(ResultsGet),
    Save(ResultsSave),
}

/// Where results are, and whose.
#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// The directory of the gateway's state
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,
    /// The session, as `results ls` shows it, or how it begins; the id alone decides if absent
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

/// List the results of all sessions, the latest first
///
/// Prints a table; with --json one object: {"results": [{"call_id", "tool"?, "server"?, "session",
/// "project", "bytes", "age_seconds", "failed"?}]}.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed results ls --state /var/lib/crossfeed
  crossfeed results ls --state /var/lib/crossfeed --json | jq -r '.results[].call_id'")]
pub(crate) struct ResultsLs {
    #[command(flatten)]
    pub(crate) kept: Kept,
}

/// What of a result is wanted.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// The id of the call
    #[arg(value_name = "ID", value_parser = CallId::parse)]
    pub(crate) call_id: CallId,
    /// A part of it
    #[arg(long, value_name = "EXPR")]
    pub(crate) select: Option<String>,
}

/// Print a result, or a part of it, as it is
///
/// A text is printed as its text, an image or other binary data as its bytes, anything else as JSON with
/// every byte that the tool returned. No line break is added.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed results get call_3 --state /var/lib/crossfeed
  crossfeed results get call_3 --state /var/lib/crossfeed --session s-3fa8 --select 'items[0].title'
  crossfeed results get call_4 --state /var/lib/crossfeed > picture.png")]
pub(crate) struct ResultsGet {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    #[command(flatten)]
    pub(crate) kept: Kept,
}

/// Save a result, or a part of it, as a file
///
/// The file is written whole or not at all, and a file that is there stays. Prints {"path", "bytes",
/// "sha256"}.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed results save call_3 june.json --state /var/lib/crossfeed
  crossfeed results save call_3 reports/urls.json --state /var/lib/crossfeed --select 'items[*].url' --force")]
pub(crate) struct ResultsSave {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    /// The file
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) kept: Kept,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
}
