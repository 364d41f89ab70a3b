//! The arguments of the commands about the gateway.

use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use crossfeed::{
    View,
    tools::{Profile, Style},
};
use crossfeed_gateway::config::ViewChoice;
use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

/// Run between an MCP client and its MCP servers, so that tools' outputs can feed other tools
///
/// The client starts this command in place of its servers, or reaches it over HTTP with --listen. Each
/// tool then takes references to earlier results, large results are shown as previews, and everything
/// else passes through as it came. One server is given by its command, after the options of this one;
/// more of them, and rules about what may be passed where, stand in a configuration, in the
/// `mcpServers` shape that clients have.
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

Exit status: 0 when it ended in an orderly way, 1 when the configuration is invalid or the check
found what is wrong, 2 when it could not be started.")]
pub(crate) struct Gateway {
    /// The configuration; the extension says whether it is TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Refuse a configuration whose bytes are others: `sha256:` and 64 hexadecimal digits
    ///
    /// `import` writes it into the entry of a project's client, so that what the client approved covers
    /// the configuration, too.
    #[arg(long, value_name = "DIGEST", requires = "config", conflicts_with_all = ["url", "command"], value_parser = digest)]
    pub(crate) config_digest: Option<String>,
    /// Serve over HTTP at this address instead of standard input and output; port 0 picks one
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Let clients over HTTP in without a token: anyone who can reach the address can use the servers
    #[arg(long, conflicts_with_all = ["check", "login"])]
    pub(crate) anonymous: bool,
    /// Print the entry by which a client reaches this gateway over HTTP, its token included, and end
    #[arg(long, conflicts_with_all = ["check", "login"])]
    pub(crate) print_client_config: bool,
    /// Whose token the entry has, where several holders have one
    #[arg(long, value_name = "NAME", requires = "print_client_config", conflicts_with_all = ["check", "login"])]
    pub(crate) holder: Option<String>,
    /// How tools are rewritten where the configuration does not say: a provider, or a style
    #[arg(long, value_name = "NAME", value_parser = profile())]
    pub(crate) profile: Option<String>,
    /// How results are handed to clients, unless the configuration says so for the client or the server
    ///
    /// A model gets small results whole and large ones as a preview; a program gets everything as the server
    /// gave it; `ask` is for models that sometimes write scripts. It replaces the `view` at the top of the
    /// configuration; `auto`, the default, goes by the client's name.
    #[arg(long, value_name = "VIEW")]
    pub(crate) view: Option<ViewName>,
    /// Reach every server, print how its tools are shown and what they cost, and end
    ///
    /// Of each tool: its tokens before and after, and how it takes references (`refs`: in a parameter `_refs`
    /// that maps parameters to references; `refs-list`: as a list of them; `inline`: in place of any value).
    /// --tool prints one in full, as a client gets it; with --json all are.
    #[arg(long, conflicts_with_all = ["listen", "login"])]
    pub(crate) check: bool,
    /// Print this tool alone, as a client gets it: its name, its description and its schemas
    ///
    /// The name is the tool's own, the one that it is shown under, or `server/tool`. Give it several times
    /// for several tools.
    #[arg(long, value_name = "NAME", requires = "check")]
    pub(crate) tool: Vec<String>,
    /// Log in to a server of the configuration that wants OAuth, and end
    #[arg(long, value_name = "SERVER", conflicts_with = "listen")]
    pub(crate) login: Option<String>,
    /// The least severe events that are logged on standard error; info if absent, warn with --check
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<Level>,
    /// How a line of the log is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Export telemetry to a receiver of OTLP over HTTP; it carries shapes and ids, no payload
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "URL", value_parser = crate::otlp::Endpoint::parse, conflicts_with_all = ["check", "login"])]
    pub(crate) otlp: Option<crate::otlp::Endpoint>,
    /// The address of one server that speaks streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(crate) url: Option<String>,
    /// A variable for the command: its value, or the one that it has here
    ///
    /// A server gets few variables without it: PATH, HOME, the language and the like.
    #[arg(long, value_name = "NAME[=VALUE]", requires = "command", conflicts_with_all = ["config", "url"])]
    pub(crate) env: Vec<OsString>,
    /// The command that is the one server, and its arguments, behind all options of this command
    ///
    /// From its first word on everything belongs to the server. `--` may stand before it.
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with_all = ["config", "url"])]
    pub(crate) command: Vec<OsString>,
}

/// How results are handed to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewName {
    /// By the client's name; for a model that reads if the client is unknown
    Auto,
    /// For a model that reads
    Model,
    /// For a program that reads
    Program,
    /// For a model that may ask for a whole result
    Ask,
}

impl From<ViewName> for ViewChoice {
    fn from(name: ViewName) -> Self {
        match name {
            ViewName::Auto => Self::Auto,
            ViewName::Model => Self::Always(View::Model),
            ViewName::Program => Self::Always(View::Program),
            ViewName::Ask => Self::Always(View::Ask),
        }
    }
}

/// What is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Nothing
    Off,
    /// Failures
    Error,
    /// Problems that may need attention
    Warn,
    /// Events: servers that start and end, what they log, what is passed from tool to tool
    Info,
    /// Everything
    Debug,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// An object a line
    Json,
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
    crossfeed_gateway::config::ListenConfig::parse_address(text)
        .ok_or_else(|| "write an address and a port: `127.0.0.1:8807`".to_owned())
}

fn profile() -> PossibleValuesParser {
    let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
    let styles = Style::ALL.iter().map(|style| style.as_str());
    PossibleValuesParser::new(profiles.chain(styles).collect::<Vec<_>>())
}
