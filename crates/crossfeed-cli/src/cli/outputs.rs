//! The arguments of the commands about outputs: `project`, `summarize`, `inspect`, `learn`.

use super::{Inputs, word};
use clap::Args;
use crossfeed::project::Operation;
use std::{ffi::OsString, path::PathBuf};

/// Keep only the requested fields of a result
///
/// Prints {"value", "schema"?, "diagnostics"}: the value with those fields only, in the bytes in which
/// it came, its schema if --schema gives the result's own, and the requested fields that do not exist.
/// Several requests add up; an empty list filters nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Paths are dotted names: `items.id` crosses the list, `items[0]` is one item, `*` each key, and names
with odd characters are quoted. Lists are separated by commas.

Examples:
  crossfeed project search.json --include items.url,total
  crossfeed project search.json --exclude items.body --schema search.schema.json
  crossfeed project issues.json --fields id,title,owner.name
  crossfeed project --ndjson issues.jsonl --fields id,title
  crossfeed project issues.json --preset minimal --views '{\"minimal\": [\"id\", \"title\"]}'
  crossfeed project reply.json --mcp '{\"mode\": \"include\", \"fields\": [\"id\"]}'")]
pub(crate) struct Project {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Keep these paths
    #[arg(long, value_name = "PATHS")]
    pub(crate) include: Vec<String>,
    /// Leave these paths out, after everything else
    #[arg(long, value_name = "PATHS")]
    pub(crate) exclude: Vec<String>,
    /// Keep the paths of this name in --views
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Option<String>,
    /// Keep these top-level keys, of each item on a list
    #[arg(long, value_name = "KEYS")]
    pub(crate) select: Vec<String>,
    /// Keep these fields of the resource, or of each of a collection: a preset's name or paths
    #[arg(long, value_name = "PRESET|PATHS")]
    pub(crate) fields: Vec<String>,
    /// Keep the fields of this preset: full, or a name in --views or --types
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Named lists of paths: {"name": [paths] or null}, null for everything; a file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) views: Option<OsString>,
    /// Resource types, with presets, known fields and envelopes; a file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) types: Option<OsString>,
    /// The type of the resource in --types; the only one there if absent
    #[arg(long = "type", value_name = "NAME", requires = "types")]
    pub(crate) resource: Option<String>,
    /// The kind of the call: whether the result is a collection, and which default of the type applies
    /// without a request
    ///
    /// `single`: one resource. `collection`: a list of resources. `search`: a list of matches.
    #[arg(long, value_parser = word::<Operation>(&Operation::ALL.map(Operation::as_str)))]
    pub(crate) operation: Option<Operation>,
    /// Print what --types offers: presets, fields, envelopes and defaults of each type
    #[arg(long, requires = "types")]
    pub(crate) describe: bool,
    /// The schema of the result, to print the schema of what is left
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Always keep these: a name at any depth, or a path from the root
    #[arg(long, value_name = "PATHS")]
    pub(crate) always: Vec<String>,
    /// Never show these: a name at any depth, or a path from the root
    #[arg(long, value_name = "PATHS")]
    pub(crate) never: Vec<String>,
    /// Allow names and paths in --never and --exclude that match nothing
    ///
    /// Without it they are an error and nothing is printed, since they may be misspelt. A path with `*` may
    /// match nothing.
    #[arg(long)]
    pub(crate) allow_unmatched: bool,
    /// Read FILE as a tool result of MCP and print it as a server would for this request in `_meta`
    #[arg(
        long,
        value_name = "FILE|JSON",
        conflicts_with_all = ["include", "exclude", "view", "select", "fields", "preset", "types", "kind"]
    )]
    pub(crate) mcp: Option<OsString>,
}

/// Summarize a tool's output in at most 30 lines
///
/// Prints {"output_fields", "has_hidden_fields"} of an output schema. Fields without a line are marked
/// with the call of `inspect_tool_output` that shows them. For a list of tools it prints a compact
/// descriptor of each, the inspector first, or the summary of the tool that --tool-id names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed summarize output.schema.json --tool-id search
  crossfeed summarize tools.json
  crossfeed summarize tools.json --tool-id search")]
pub(crate) struct Summarize {
    /// The output schema, or a `tools/list` reply; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The tool's id, which the marks name
    #[arg(long, value_name = "ID")]
    pub(crate) tool_id: Option<String>,
    /// Leave these fields out: a name at any depth, or a path from the root
    #[arg(long, value_name = "PATHS")]
    pub(crate) never: Vec<String>,
}

/// Look into a tool's output schema
///
/// Prints {"node_type", "children", "flattened_fields", "total_child_fields", "truncated"} of one path,
/// as `inspect_tool_output` answers a model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed inspect output.schema.json --tool-id search
  crossfeed inspect output.schema.json --tool-id search --field-path 'items[].owner'
  crossfeed inspect tools.json --tool-id search --field-path items --offset 80")]
pub(crate) struct Inspect {
    /// The output schema, or a `tools/list` reply; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The tool's id; it picks the tool of a list
    #[arg(long, value_name = "ID")]
    pub(crate) tool_id: Option<String>,
    /// The path: empty for the whole schema, or for the content of an envelope `data`
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) field_path: String,
    /// How many levels of fields are listed
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) max_depth: usize,
    /// How many fields are listed
    #[arg(long, value_name = "N", default_value_t = 120)]
    pub(crate) max_fields: usize,
    /// How many children to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Leave these fields out: a name at any depth, or a path from the root
    #[arg(long, value_name = "PATHS")]
    pub(crate) never: Vec<String>,
}

/// Learn an output schema from results
///
/// Reads one JSON document, or one per line, and prints {"schema", "observations", "drift"}: a schema
/// that all of them fit, without their values, and what later ones changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed learn results.jsonl
  crossfeed learn results.jsonl --schema-only | crossfeed summarize --tool-id search")]
pub(crate) struct Learn {
    /// The results; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Print the schema alone
    #[arg(long)]
    pub(crate) schema_only: bool,
    /// Leave these fields out: a name at any depth, or a path from the root
    #[arg(long, value_name = "PATHS")]
    pub(crate) never: Vec<String>,
}
