//! The arguments of `import`.

use super::word;
use clap::Args;
use crossfeed_gateway::import::ClientKind;
use std::path::PathBuf;

/// Replace the servers in an MCP client's configuration with the gateway, or undo it
///
/// Moves the servers of the client's configuration to one for the gateway, and replaces them with one
/// server, `crossfeed`. Every other byte of the client's file stays. A backup is kept beside it
/// (`.before-crossfeed`), and --undo restores the servers, even if the client has written to its file
/// since. Servers that the gateway does not support stay in the client's file.
#[derive(Debug, Args)]
#[command(after_help = "\
Files:
  claude-code     ~/.claude.json, .mcp.json
  claude-desktop  claude_desktop_config.json
  codex           ~/.codex/config.toml, .codex/config.toml
  cursor          ~/.cursor/mcp.json, .cursor/mcp.json
  gemini-cli      ~/.gemini/settings.json, .gemini/settings.json
  vscode          .vscode/mcp.json, and the mcp.json of the user
  windsurf        ~/.codeium/windsurf/mcp_config.json
  zed             ~/.config/zed/settings.json, .zed/settings.json

Examples:
  crossfeed import claude-code --dry-run
  crossfeed import claude-code --apply
  crossfeed import cursor --config ~/.cursor/mcp.json --apply
  crossfeed import claude-code --undo")]
pub(crate) struct Import {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = word::<ClientKind>(ClientKind::NAMES))]
    pub(crate) client: ClientKind,
    #[command(flatten)]
    pub(crate) action: Action,
    /// The client's configuration; the files that the client reads if absent
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
}

/// The action.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Action {
    /// Show what would change, without secrets, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the files
    #[arg(long)]
    pub(crate) apply: bool,
    /// Restore the servers
    #[arg(long)]
    pub(crate) undo: bool,
}
