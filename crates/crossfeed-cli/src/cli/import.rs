//! The arguments of `import`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Put the gateway in place of the servers that an MCP client is configured with, or undo it
///
/// Reads the client's own configuration, writes one for the gateway with the servers that stand there,
/// and replaces them with one server, `crossfeed`. Every other byte of the client's file stays. A backup
/// is kept beside it (`.before-crossfeed`), and --undo puts the servers back, also when the client
/// has written to its file since. Servers that the gateway does not understand stay where they are.
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
    #[arg(value_name = "CLIENT")]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) action: Action,
    /// The client's configuration; where the client looks for it if absent
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
}

/// What is done.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Action {
    /// Show what would change, without secrets, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change it
    #[arg(long)]
    pub(crate) apply: bool,
    /// Put back what was there
    #[arg(long)]
    pub(crate) undo: bool,
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    ClaudeCode,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Codex
    Codex,
    /// Gemini CLI
    GeminiCli,
    /// Windsurf
    Windsurf,
    /// Zed
    Zed,
}
