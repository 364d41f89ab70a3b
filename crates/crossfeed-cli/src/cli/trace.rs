//! The arguments of the commands about traces.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Work on stored traces
#[derive(Debug, Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    Sanitize(Sanitize),
}

/// Remove internal fields from traces, logs and metrics in OTLP/JSON
///
/// Reads one document, one per line, or one after the other, as exporters and the Collector write them.
/// Prints them without the fields that the engine added, wherever they are, and without top-level keys
/// that begin with `_` in the attributes that carry tool results. Every other byte stays. Each document is
/// printed as soon as it is complete. An invalid document stops the command and is not printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed trace sanitize spans.json
  tail -f spans.jsonl | crossfeed trace sanitize | tee clean.jsonl
  crossfeed trace sanitize --keep _id --tool-result 'acme.tool.output' --report spans.jsonl
  crossfeed trace sanitize --payload hash --hash-key key.bin < spans.jsonl
  crossfeed trace sanitize --max-bytes 4096 --never password,owner.email spans.json")]
pub(crate) struct Sanitize {
    /// The traces; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// A top-level key of tool results to keep although it begins with `_`
    #[arg(long, value_name = "KEY")]
    pub(crate) keep: Vec<String>,
    /// A further attribute that carries tool results; `*` stands for one segment of its name, a last
    /// `**` for all that follow
    #[arg(long, value_name = "NAME")]
    pub(crate) tool_result: Vec<String>,
    /// A further attribute that carries other payload: messages, arguments
    #[arg(long, value_name = "NAME")]
    pub(crate) payload_attribute: Vec<String>,
    /// What to do with attributes that carry payload
    #[arg(long, default_value = "keep")]
    pub(crate) payload: Payload,
    /// A file whose bytes are the key of the hashes; without a key, anyone who guesses a payload can check it
    #[arg(long, value_name = "FILE")]
    pub(crate) hash_key: Option<PathBuf>,
    /// The limit of a text in bytes; cut JSON stays valid JSON and says that it is cut
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<usize>,
    /// Never show these: a name at any depth, or a path
    #[arg(long, value_name = "PATHS")]
    pub(crate) never: Vec<String>,
    /// Allow names and paths in --keep and --never that match nothing
    ///
    /// Without it they are an error after all documents are printed, since they may be misspelt. A path with
    /// `*` may match nothing.
    #[arg(long)]
    pub(crate) allow_unmatched: bool,
    /// The limit of a document in bytes: reading it takes four times as much memory, eight for large maps
    #[arg(long, value_name = "N", default_value_t = 256 << 20)]
    pub(crate) max_document: usize,
    /// Write on standard error how many changes were made
    #[arg(long)]
    pub(crate) report: bool,
}

/// What to do with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Payload {
    /// Keep it, without internal fields
    Keep,
    /// Remove it
    Drop,
    /// Replace it with its SHA-256
    Hash,
}
