//! The arguments of the commands about the gateway.

use super::word;
use crate::otlp::Endpoint;
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use crossfeed::tools::{Profile, Style};
use crossfeed_gateway::config::{ListenConfig, ViewChoice};
use std::{ffi::OsString, net::SocketAddr, path::PathBuf};
use tracing::level_filters::LevelFilter;

/// Run between an MCP client and its MCP servers, so that tools' outputs can feed other tools
///
/// The client starts this command instead of its servers, or reaches it over HTTP with --listen. Each tool
/// then accepts references to earlier results, large results are shown as previews, and everything else
/// passes through unchanged. Give one server by its command, after the options of this one; give several,
/// and rules about which results may go where, in a configuration in the `mcpServers` shape of clients.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crossfeed gateway -- npx -y @modelcontextprotocol/server-filesystem /tmp
  crossfeed gateway --env GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server
  crossfeed gateway --url https://mcp.example.com/mcp
  crossfeed gateway --view program -- uvx mcp-server-git
  crossfeed gateway --config gateway.toml --check
  crossfeed gateway --config gateway.toml --check --tool read_file
  crossfeed gateway --config gateway.toml --listen 127.0.0.1:8807
  crossfeed gateway --config gateway.toml --listen 127.0.0.1:8807 --print-client-config
  crossfeed gateway --config gateway.toml --listen 127.0.0.1:8807 --state /var/lib/crossfeed
  crossfeed gateway --state ~/.local/state/crossfeed/chat --session work -- uvx mcp-server-git

A configuration, as TOML or JSON:
  listen = \"127.0.0.1:8807\"        # absent: standard input and output
  [mcpServers.files]
  command = \"npx\"
  args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv\"]
  [mcpServers.issues]
  url = \"https://issues.example.com/mcp\"
  headers = { Authorization = \"Bearer ${ISSUES_TOKEN}\" }
  [[flows]]
  from = \"files/*\"
  to = \"issues/*\"
  action = \"deny\"

Exit status: 0 after an orderly end, 1 if the configuration is invalid or the check found an error,
2 if the gateway could not start.")]
pub(crate) struct Gateway {
    /// The configuration; the extension says whether it is TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Refuse a configuration with another digest: `sha256:` and 64 hexadecimal digits
    ///
    /// `import` writes it into the entry of a project's client, so that the client's approval covers the
    /// configuration, too.
    #[arg(long, value_name = "DIGEST", requires = "config", conflicts_with_all = ["url", "command"], value_parser = digest)]
    pub(crate) config_digest: Option<String>,
    /// Serve over HTTP at this address instead of standard input and output; port 0 picks one
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Let clients over HTTP in without a token: anyone who can reach the address can use the servers
    #[arg(long, conflicts_with_all = ["check", "login"])]
    pub(crate) anonymous: bool,
    /// Print a client's entry for this gateway over HTTP, its token included, and exit
    #[arg(long, conflicts_with_all = ["check", "login"])]
    pub(crate) print_client_config: bool,
    /// The holder whose token the entry has, if several holders have one
    #[arg(long, value_name = "NAME", requires = "print_client_config", conflicts_with_all = ["check", "login"])]
    pub(crate) holder: Option<String>,
    /// Keep sessions, results and artifacts in this directory, so that they outlive the process
    ///
    /// The directory is made if it is not there. Clients over HTTP go on with their sessions after a restart; the
    /// client on standard input does with --session. The same as `store = { url = "sqlite:DIR" }` in the configuration.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Go on with the session of this name, whose results are in the store; one process at a time
    ///
    /// For the client on standard input and output, with --state or a `store` in the configuration. Without a name
    /// each process has a session of its own, which ends with it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["listen", "check", "login"], value_parser = session)]
    pub(crate) session: Option<String>,
    /// How tools are rewritten unless the configuration decides it: a provider, or a style
    #[arg(long, value_name = "NAME", value_parser = profile())]
    pub(crate) profile: Option<String>,
    /// How results are handed to clients, unless the configuration decides it for the client or the server
    ///
    /// `model`: small results whole, large ones as a preview. `program`: every result as the server sent it. `ask`: as
    /// for a model, which may ask for a whole result, for models that sometimes write scripts. `auto`, the default: by the
    /// client's name; unknown clients get `model`. The option replaces the `view` at the top of the configuration.
    #[arg(long, value_name = "VIEW", value_parser = word::<ViewChoice>(ViewChoice::WORDS))]
    pub(crate) view: Option<ViewChoice>,
    /// Connect to every server, print how its tools are shown and what they cost, and exit
    ///
    /// For each tool: its tokens before and after, and how it accepts references (`refs`: in a parameter `_refs`
    /// that maps parameters to references; `refs-list`: as a list of them; `inline`: in place of any value).
    /// --tool prints one in full, as a client gets it; --json prints all of them.
    #[arg(long, conflicts_with_all = ["listen", "login"])]
    pub(crate) check: bool,
    /// Print this tool alone, as a client gets it: its name, its description and its schemas
    ///
    /// Give the tool's own name, the name that clients see, or `server/tool`. Repeat the option for several tools.
    #[arg(long, value_name = "NAME", requires = "check")]
    pub(crate) tool: Vec<String>,
    /// Log in to a server of the configuration that requires OAuth, and exit
    #[arg(long, value_name = "SERVER", conflicts_with = "listen")]
    pub(crate) login: Option<String>,
    /// The least severe events that are logged on standard error; info if absent, warn with --check
    ///
    /// `error`: failures. `warn`: problems that may need attention. `info`: servers that start and end, their log, and what
    /// is passed from tool to tool. `debug`: everything.
    #[arg(long, value_name = "LEVEL", value_parser = word::<LevelFilter>(&["off", "error", "warn", "info", "debug"]))]
    pub(crate) log: Option<LevelFilter>,
    /// How a line of the log is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Export telemetry to a receiver of OTLP over HTTP; it carries shapes and ids, no payload
    #[cfg_attr(feature = "otlp", arg(long, value_name = "URL", value_parser = Endpoint::parse, conflicts_with_all = ["check", "login"]))]
    #[cfg_attr(not(feature = "otlp"), arg(skip))]
    pub(crate) otlp: Option<Endpoint>,
    /// The URL of one server over streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(crate) url: Option<String>,
    /// A variable for the command: with a value, or the value that it has here
    ///
    /// Without this option a server gets only PATH, HOME, the language and the like.
    #[arg(long, value_name = "NAME[=VALUE]", requires = "command", conflicts_with_all = ["config", "url"])]
    pub(crate) env: Vec<OsString>,
    /// The command of one server and its arguments, after all options of this command
    ///
    /// Everything from its first word on belongs to the server. `--` may precede it.
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with_all = ["config", "url"])]
    pub(crate) command: Vec<OsString>,
}

/// The longest name of a session.
const MAX_SESSION_CHARS: usize = 100;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// An object a line
    Json,
}

fn session(text: &str) -> Result<String, String> {
    let is_name = (1..=MAX_SESSION_CHARS).contains(&text.chars().count());
    if is_name && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "write a name of 1 to {MAX_SESSION_CHARS} characters"
        ))
    }
}

fn digest(text: &str) -> Result<String, String> {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("write `sha256:` and 64 hexadecimal digits".to_owned())
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    ListenConfig::parse_address(text)
        .ok_or_else(|| "write an address and a port: `127.0.0.1:8807`".to_owned())
}

fn profile() -> PossibleValuesParser {
    let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
    let styles = Style::ALL.iter().map(|style| style.as_str());
    PossibleValuesParser::new(profiles.chain(styles).collect::<Vec<_>>())
}
