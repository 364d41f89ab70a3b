//! The arguments of the command, and its help.

mod gateway;
mod import;
mod outputs;
mod results;
#[cfg(feature = "sql")]
mod sql;
mod trace;

pub(crate) use gateway::{Gateway, LogFormat};
pub(crate) use import::Import;
pub(crate) use outputs::{Inspect, Learn, Project, Summarize};
pub(crate) use results::{
    Kept, Results, ResultsCommand, ResultsGet, ResultsLs, ResultsSave, Wanted,
};
#[cfg(feature = "sql")]
pub(crate) use sql::Sql;
pub(crate) use trace::{Payload, Sanitize, Trace, TraceCommand};

use crate::otlp::Endpoint;
use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use clap_complete::Shell;
use crossfeed::{
    CallId,
    artifact::ArtifactId,
    tools::{Profile, Shape, Style},
};
use std::{ffi::OsString, path::PathBuf, str::FromStr};

/// The heading of the flags that every command has.
const OUTPUT: &str = "Output";

/// The version, and the commit if it is known.
const VERSION: &str = env!("CROSSFEED_VERSION");

/// Feeds one tool's output straight into another tool's arguments
///
/// Runs the steps of the engine by hand, on files: select from a result, show what a model sees of it,
/// resolve the references in a call's arguments, store artifacts, rewrite tools' schemas to admit
/// references, and remove internal fields from results and traces.
/// `crossfeed demo` shows a whole session.
#[derive(Debug, Parser)]
#[command(name = "crossfeed", version = VERSION, propagate_version = true, max_term_width = 100)]
#[command(args_override_self = true)]
#[command(after_help = "\
JSON answers are indented on a terminal, except those of `strip`, `trace sanitize` and `artifact list`.

Exit status: 0 with an answer, 1 if the answer is an error, 2 if the command could not run: unknown
flags, an unreadable file, a line that is not a record, a file that is not of the declared kind.")]
pub(crate) struct Cli {
    /// Print errors as JSON on standard output: {"error": {...}, "errors": [...]}
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Indent JSON answers, as on a terminal
    #[arg(long, global = true, conflicts_with = "compact", help_heading = OUTPUT)]
    pub(crate) pretty: bool,
    /// Print JSON answers on one line each, without blanks
    #[arg(short, long, alias = "compact-output", global = true, help_heading = OUTPUT)]
    pub(crate) compact: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show an agent session over bundled data: what the model saw, what each tool received, the bill
    ///
    /// The model's turns are scripted; every result, resolution, error and count is computed. The demo
    /// works offline. It prints the same every time, in lines of at most 100 columns that fit the
    /// terminal or COLUMNS.
    Demo(Demo),
    Select(Select),
    Hints(Hints),
    Retrieve(Retrieve),
    Resolve(Resolve),
    Artifact(Artifact),
    Results(Results),
    #[cfg(feature = "sql")]
    Sql(Sql),
    Project(Project),
    Summarize(Summarize),
    Inspect(Inspect),
    Learn(Learn),
    Rewrite(Rewrite),
    Lint(Lint),
    Strip(Strip),
    Trace(Trace),
    Gateway(Gateway),
    /// Is a process that answers statements, on standard input and output
    #[cfg(feature = "sql")]
    #[command(hide = true)]
    Worker,
    Import(Import),
    Completions(Completions),
    Man(Man),
}

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  crossfeed completions bash > ~/.local/share/bash-completion/completions/crossfeed
  crossfeed completions zsh > \"${fpath[1]}/_crossfeed\"
  crossfeed completions fish > ~/.config/fish/completions/crossfeed.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Print the manual page, or write a page for every command into a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed man | man -l -
  crossfeed man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The directory; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// The options of the demo.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed demo
  crossfeed demo --full
  crossfeed demo --otlp http://127.0.0.1:4318")]
pub(crate) struct Demo {
    /// Print every step, the trace and the bill of each call, not only the story
    #[arg(long)]
    pub(crate) full: bool,
    /// Export the run's telemetry to a receiver of OTLP over HTTP
    ///
    /// Sends protobuf to /v1/traces and /v1/metrics, with the headers in OTEL_EXPORTER_OTLP_HEADERS, and
    /// reports the outcome on standard error. The exit status is 1 if the receiver rejects the traces.
    #[cfg_attr(feature = "otlp", arg(long, value_name = "URL", value_parser = Endpoint::parse))]
    #[cfg_attr(not(feature = "otlp"), arg(skip))]
    pub(crate) otlp: Option<Endpoint>,
}

/// Select from a JSON document as a reference does
///
/// Prints the selected value, with each number and string as it stands in the document. The expression
/// is JMESPath; common mistakes are repaired, and `--explain` reports the repairs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed select 'items[0].url' search.json
  crossfeed select 'items[?score > `0.8`].url' --explain < search.json
  crossfeed select -r --each 'items[*].url' search-*.json | xargs -n 1 curl -O
  crossfeed select --ndjson result.total calls.jsonl
  crossfeed --json select 'items[0].titel' search.json")]
pub(crate) struct Select {
    /// The expression, as a model writes it in `$select`
    #[arg(value_name = "EXPR")]
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) raw: Raw,
    /// Print the items of a list one after the other, each on a line
    #[arg(long, conflicts_with = "pretty")]
    pub(crate) each: bool,
    /// The call id that errors name
    #[arg(long, value_name = "ID", value_parser = CallId::parse)]
    pub(crate) call_id: Option<CallId>,
    /// Write on standard error how the value was found
    ///
    /// `prefix` and `repair` show what was changed in the expression, `view` where it was evaluated: on the
    /// value (canonical), on the envelope around it, or on the object that a model is shown in its place.
    #[arg(long)]
    pub(crate) explain: bool,
}

/// The documents of a command that takes several.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// The documents; standard input if it is `-` or absent
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The kind of the documents; detected if absent
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// Read each line of the input as a document of its own (NDJSON, JSON Lines)
    #[arg(long, alias = "jsonl")]
    pub(crate) ndjson: bool,
}

/// How strings are printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Raw {
    /// Print a string as its text, without quotes and escapes
    #[arg(short, long, alias = "raw-output")]
    pub(crate) raw: bool,
}

/// Show what a model sees of a result
///
/// Prints one JSON object: the result's own fields (`text` for a text, `value` for a list or another
/// scalar), `_toolCallId`, and `_structureHints`: selectors that work on it. A large result has `preview`
/// instead of its fields: a text, not JSON, that shows parts of it and marks the hidden ones.
///
/// The hints are `terminalPaths` (scalars and their kinds), `arrayPaths` (lists and their lengths),
/// `exampleSelectors`, `ambiguousFields` (names that stand at several places) and, with `--for`,
/// `fittingSelectors`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed hints search.json --call-id call_1
  crossfeed hints --full --budget 300 < search.json
  crossfeed hints search.json --for 'fetch.schema.json#/properties/url'
  crossfeed hints reply.json --kind mcp --budget 400 --explain")]
pub(crate) struct Hints {
    /// The result; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The id by which the model refers to the result
    #[arg(long, value_name = "ID", default_value = "call_1", value_parser = CallId::parse)]
    pub(crate) call_id: CallId,
    /// The kind of the result; detected if absent
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// All hints: every list of the full form, instead of the few best selectors
    #[arg(long)]
    pub(crate) full: bool,
    /// Offer the selectors whose values fit a parameter: its schema, or a place in a tool's schema
    ///
    /// The place is a JSON Pointer into the schema (`#/properties/url`), or the parameter's own place
    /// in the arguments (`#/url`).
    #[arg(long = "for", value_name = "SCHEMA[#/POINTER]")]
    pub(crate) parameter: Option<OsString>,
    /// The limit in tokens of a result that is shown whole, and of the preview of a larger one
    ///
    /// Without it a result of up to 2000 tokens is shown whole, and a preview has at most 500; with
    /// `--full` both limits are 3000.
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<usize>,
    #[command(flatten)]
    pub(crate) context: Context,
    /// Leave out every top-level key that begins with `_`, even in domain data
    #[arg(long)]
    pub(crate) all_underscore: bool,
    /// Write on standard error how many tokens are shown, and how many the whole result has
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Bring a result, or a part of it, into the context
///
/// Prints the value unchanged. A value of more than 30 % of the context is refused with its size and
/// outline; a selector can still read parts of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed retrieve search.json
  crossfeed retrieve search.json --select 'items[0]' --window 8000")]
pub(crate) struct Retrieve {
    /// The result; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The id by which the model refers to the result
    #[arg(long, value_name = "ID", default_value = "call_1", value_parser = CallId::parse)]
    pub(crate) call_id: CallId,
    /// The kind of the result; detected if absent
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// A part of it
    #[arg(long, value_name = "EXPR")]
    pub(crate) select: Option<String>,
    #[command(flatten)]
    pub(crate) raw: Raw,
    #[command(flatten)]
    pub(crate) context: Context,
}

/// The model's context.
#[derive(Debug, Args)]
pub(crate) struct Context {
    /// The tokens of the model's context window
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) window: usize,
    /// How tokens are counted
    #[arg(long, value_name = "COUNTER", default_value = "estimate")]
    pub(crate) tokens: Counter,
}

/// How tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counter {
    /// A quarter of the characters, rounded up
    Estimate,
    /// Exactly, by the tokenizer of OpenAI's models; in builds with the feature `o200k`
    O200k,
}

/// Store parts of results that outlive their session's cache
///
/// Artifacts are stored in a directory, which several processes may use at once.
#[derive(Debug, Args)]
pub(crate) struct Artifact {
    #[command(subcommand)]
    pub(crate) command: ArtifactCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    Create(ArtifactCreate),
    List(ArtifactList),
    Get(ArtifactGet),
}

/// Where artifacts are stored, and whose they are.
#[derive(Debug, Args)]
pub(crate) struct Storage {
    /// The directory of the store; `create` makes it if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// The session that the artifacts belong to
    #[arg(long, value_name = "ID", default_value = "default")]
    pub(crate) session: String,
}

/// Create an artifact from a result
///
/// Prints its ids, its summary, and whether it may enter a model's context.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed artifact create search.json --store kept --artifact-id best --call-id call_1 --base 'items[0]'
  crossfeed artifact create search.json --store kept --artifact-id best --call-id call_1 \
    --base 'items[0]' --detail title=title --detail link=url")]
pub(crate) struct ArtifactCreate {
    /// The result; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) storage: Storage,
    /// The artifact's own id
    #[arg(long, value_name = "ID", value_parser = ArtifactId::parse)]
    pub(crate) artifact_id: ArtifactId,
    /// The call whose result it is made from
    #[arg(long, value_name = "ID", value_parser = CallId::parse)]
    pub(crate) call_id: CallId,
    /// The kind of the result; detected if absent
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// The selector of the full data; all of the result if absent
    #[arg(long, value_name = "EXPR")]
    pub(crate) base: Option<String>,
    /// A field of the summary: its name, and its selector on the full data
    #[arg(long = "detail", value_name = "NAME=EXPR", value_parser = detail)]
    pub(crate) details: Vec<(String, String)>,
    /// The schema of the component that shows it: its properties are the full data, those marked
    /// `inPreview` the summary
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) component: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) context: Context,
    /// Write on standard error how each value was found
    #[arg(long)]
    pub(crate) explain: bool,
}

/// List the artifacts of a session, the oldest first, a line of JSON each
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed artifact list --store kept")]
pub(crate) struct ArtifactList {
    #[command(flatten)]
    pub(crate) storage: Storage,
}

/// Bring an artifact, or a part of it, into the context
///
/// Prints the data as it was in the result. Data of more than 30 % of the context are refused with their
/// size and outline; a selector can still read parts of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed artifact get best --call-id call_1 --store kept
  crossfeed artifact get best --call-id call_1 --store kept --select url")]
pub(crate) struct ArtifactGet {
    /// The artifact's own id
    #[arg(value_name = "ID", value_parser = ArtifactId::parse)]
    pub(crate) artifact_id: ArtifactId,
    #[command(flatten)]
    pub(crate) storage: Storage,
    /// The call whose result it was made from
    #[arg(long, value_name = "ID", value_parser = CallId::parse)]
    pub(crate) call_id: CallId,
    /// A part of it
    #[arg(long, value_name = "EXPR")]
    pub(crate) select: Option<String>,
    #[command(flatten)]
    pub(crate) raw: Raw,
    #[command(flatten)]
    pub(crate) context: Context,
}

/// Reads `NAME=EXPR`.
fn detail(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, selector)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), selector.to_owned()))
        }
        _ => Err("write a name and a selector: `title=items[0].title`".to_owned()),
    }
}

/// Resolve the references in the arguments of a call
///
/// Prints the arguments that the tool receives, with every digit.
#[derive(Debug, Args)]
#[command(after_help = "\
Each line of the results is a record:
  {\"call_id\", \"tool\"?, \"result\": <json>, \"failed\"?: bool, \"repeatable\"?: bool, \"kind\"?,
    \"session\"?}
  {\"artifact_id\", \"call_id\", \"data\": <json>, \"retrieval_blocked\"?: bool, \"session\"?}
`repeatable` says that the call can be repeated without harm.
`kind` is json, mcp, text (a string) or bytes (a string of base64, or {\"data\", \"mimeType\"?}).
A record without a session belongs to the one of --session.

Examples:
  crossfeed resolve '{\"url\": {\"$tool\": \"call_1\", \"$select\": \"items[0].url\"}}' --results calls.jsonl
  crossfeed resolve arguments.json --results calls.jsonl --schema fetch.schema.json --explain
  crossfeed resolve shown.json --results calls.jsonl --schema fetch.schema.json --profile gemini
  agent-log | crossfeed --json resolve arguments.json --results -")]
pub(crate) struct Resolve {
    /// The arguments: a file, `-` for standard input, or the JSON itself
    #[arg(value_name = "ARGS")]
    pub(crate) arguments: OsString,
    /// The results of earlier calls, a record per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) results: PathBuf,
    /// The tool's own input schema, which validates the resolved arguments; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The style in which the schema was shown: the arguments are first read back from it
    #[arg(long, requires = "schema", conflicts_with = "profile", value_name = "STYLE", value_parser = word::<Style>(&Style::ALL.map(Style::as_str)))]
    pub(crate) style: Option<Style>,
    /// The profile by which the schema was shown: the arguments are first read back from it
    #[arg(long, requires = "schema", value_name = "NAME", value_parser = word::<Profile>(&Profile::ALL.map(Profile::as_str)))]
    pub(crate) profile: Option<Profile>,
    /// The session in which the arguments are resolved
    #[arg(long, value_name = "ID", default_value = "default")]
    pub(crate) session: String,
    /// A directory of artifacts, as `crossfeed artifact` stores them
    ///
    /// Artifacts among the results are stored there, too, and stay.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Let references change what they give: `$patch`, `$merge` and `$edit`
    #[arg(long)]
    pub(crate) edits: bool,
    /// Write on standard error the source of each value, and what was repaired
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Rewrite the schemas of tools so that they admit references
///
/// Reads an input schema, or a list of tools: the reply to `tools/list`, or a list for Anthropic, OpenAI
/// or Gemini. Prints the same document with rewritten schemas. A tool with an invalid schema stays
/// unchanged, with a notice on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed rewrite fetch.schema.json --style inline
  crossfeed rewrite tools.json --style refs --spelling dollar
  crossfeed rewrite --profile anthropic-strict --as anthropic --report < tools-list-reply.json
  crossfeed rewrite tools.json --profile openai --never login --max-added-tokens 2000
  crossfeed rewrite --style refs --guidance")]
pub(crate) struct Rewrite {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// The schema or the list; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The spelling of references, `$tool` or `_tool`; the style decides if absent
    #[arg(long, value_name = "SIGN", conflicts_with = "profile")]
    pub(crate) spelling: Option<Sign>,
    /// The shape in which the list is printed; its own if absent
    #[arg(long = "as", value_name = "SHAPE", value_parser = word::<Shape>(&Shape::ALL.map(Shape::as_str)))]
    pub(crate) shape: Option<Shape>,
    /// A tool that admits no references; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) never: Vec<String>,
    /// How many tokens all schemas together may grow by, estimated
    #[arg(long, value_name = "N", conflicts_with = "style")]
    pub(crate) max_added_tokens: Option<usize>,
    /// Write on standard error how each tool was rewritten, and why
    #[arg(long)]
    pub(crate) report: bool,
    /// Let models request parts of a tool's output by a parameter `_select` with the keys of its output
    /// schema: a tool's name, or `all`; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) reflect: Vec<String>,
    /// Output fields that `--reflect` never offers: a name, or a path from the root
    #[arg(long, value_name = "PATHS", requires = "reflect")]
    pub(crate) withhold: Vec<String>,
    /// Print the guidance on references for a model instead of the schemas
    ///
    /// With `--style` no file is read; with `--profile` the list decides which styles are in use.
    #[arg(long)]
    pub(crate) guidance: bool,
}

/// How references are admitted.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Choice {
    /// Where references are admitted, in every tool that has parameters
    #[arg(long, value_name = "STYLE", value_parser = word::<Style>(&Style::ALL.map(Style::as_str)))]
    pub(crate) style: Option<Style>,
    /// The provider whose limits decide for each tool
    #[arg(long, value_name = "NAME", value_parser = word::<Profile>(&Profile::ALL.map(Profile::as_str)))]
    pub(crate) profile: Option<Profile>,
}

/// Report what a provider would refuse of a list of tools
///
/// Prints a line for each finding: the tool, the place in its schema, what is there, why it is refused,
/// and the fix. Exits with 1 if the provider would refuse something, with 0 if there are only warnings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed lint tools.json --profile openai-strict
  crossfeed rewrite tools.json --profile gemini --as gemini | crossfeed lint --profile gemini
  crossfeed --json lint tools.json --profile anthropic")]
pub(crate) struct Lint {
    /// The list, or one schema; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The provider
    #[arg(long, value_name = "NAME", value_parser = word::<Profile>(&Profile::ALL.map(Profile::as_str)))]
    pub(crate) profile: Profile,
}

/// Reads one of the words that name a `T`.
fn word<T>(words: &[&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.to_vec()).try_map(|word| word.parse::<T>())
}

/// The sign that the keys of a reference begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sign {
    /// `$tool`
    Dollar,
    /// `_tool`
    Underscore,
}

/// Remove the fields that the engine added to a result
///
/// Every other byte stays. Lists, scalars and plain text are printed unchanged. An object that is not
/// valid JSON, and compressed data, are errors.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed strip shown.json
  crossfeed strip --all-underscore < shown.json")]
pub(crate) struct Strip {
    /// The result; standard input if it is `-` or absent
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Remove every top-level key that begins with `_`, even in domain data
    #[arg(long)]
    pub(crate) all_underscore: bool,
}

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A JSON value
    Json,
    /// A tool result of MCP
    Mcp,
    /// Plain text
    Text,
    /// Other data, such as an image
    Bytes,
}
