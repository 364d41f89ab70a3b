//! The MCP clients that are known by name: who reads what they are sent, and how they name conversations.
//!
//! `specs/clients.md` says where each fact comes from, and a test compares the table there with this
//! one. A client that is not in it is treated as unknown, which is always safe.

#[cfg(test)]
mod tests;

use crossfeed_tools::Profile;
use crossfeed_wire::View;

/// What is known of one client.
///
/// ```
/// use crossfeed_mcp::{Client, Shows};
/// use crossfeed_wire::View;
///
/// let client = Client::find("codex-mcp-client", Some("0.160.0")).unwrap();
/// assert_eq!((client.view, client.shows), (View::Ask, Shows::Structured));
/// assert_eq!(client.conversation, Some("threadId"));
/// assert!(Client::find("no such client", None).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// The names that it gives itself in `clientInfo.name`. A `*` at the end of one stands for any
    /// text; upper and lower case are the same.
    pub names: &'static [&'static str],
    /// The versions that the row is about, as a pattern like a name. Without one it is about every
    /// version that no earlier row is about.
    pub version: Option<&'static str>,
    /// The view that `auto` chooses for it.
    pub view: View,
    /// Which part of a result its model is shown.
    pub shows: Shows,
    /// The key in `_meta` of `tools/call` under which it names the conversation that a call belongs to.
    pub conversation: Option<&'static str>,
    /// The one provider whose models it uses, if there is only one.
    pub profile: Option<Profile>,
}

/// What a client shows its model of a result that has both `content` and `structuredContent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shows {
    /// Only `content`.
    Content,
    /// Only `structuredContent`.
    Structured,
    /// Both.
    Both,
    /// Not reported, or reports differ.
    #[default]
    Unknown,
}

impl Client {
    /// Every known client; of several rows that fit, the first counts.
    pub const ALL: &'static [Self] = &[
        Self {
            profile: Some(Profile::Anthropic),
            shows: Shows::Structured,
            ..Self::named(&["claude-code", "claude code"])
        },
        Self {
            profile: Some(Profile::Anthropic),
            shows: Shows::Content,
            ..Self::named(&["claude-ai", "claude desktop"])
        },
        Self {
            profile: Some(Profile::OpenAi),
            view: View::Ask,
            shows: Shows::Structured,
            conversation: Some("threadId"),
            ..Self::named(&["codex-mcp-client"])
        },
        Self {
            profile: Some(Profile::OpenAi),
            shows: Shows::Both,
            conversation: Some("openai/session"),
            ..Self::named(&["openai-mcp", "openai-mcp/*"])
        },
        Self {
            shows: Shows::Structured,
            conversation: Some("vscode.conversationId"),
            ..Self::named(&["Visual Studio Code*", "Visual-Studio-Code*"])
        },
        Self {
            shows: Shows::Both,
            ..Self::named(&["github-copilot-developer"])
        },
        Self::named(&["cursor-vscode"]),
        Self::named(&["windsurf-client", "Windsurf"]),
        Self {
            version: Some("2.*"),
            view: View::Program,
            conversation: Some("ai.opencode/sessionID"),
            ..Self::named(&["opencode"])
        },
        Self {
            view: View::Ask,
            conversation: Some("ai.opencode/sessionID"),
            ..Self::named(&["opencode"])
        },
        Self {
            view: View::Ask,
            shows: Shows::Content,
            conversation: Some("agent-session-id"),
            ..Self::named(&["goose", "goose-cli", "goose-desktop"])
        },
        Self {
            view: View::Ask,
            shows: Shows::Content,
            ..Self::named(&["qwen-cli-mcp-client*"])
        },
        Self {
            shows: Shows::Content,
            ..Self::named(&["gemini-cli-mcp-client*"])
        },
        Self {
            conversation: Some("antigravity.google/conversation_id"),
            ..Self::named(&["antigravity-client", "antigravity-cli"])
        },
        Self {
            shows: Shows::Content,
            ..Self::named(&["Zed"])
        },
        Self {
            shows: Shows::Content,
            ..Self::named(&["Cline"])
        },
        Self {
            shows: Shows::Content,
            ..Self::named(&["Roo Code", "Roo-Code"])
        },
        Self {
            shows: Shows::Content,
            ..Self::named(&["@librechat/api-client"])
        },
        Self {
            view: View::Ask,
            shows: Shows::Content,
            ..Self::named(&["ai-sdk-mcp-client"])
        },
    ];

    /// Every key under which a known client names the conversation that a call belongs to.
    pub const CONVERSATION_KEYS: [&'static str; 6] = [
        "threadId",
        "openai/session",
        "vscode.conversationId",
        "ai.opencode/sessionID",
        "agent-session-id",
        "antigravity.google/conversation_id",
    ];

    /// A client of which nothing but its names is known.
    const fn named(names: &'static [&'static str]) -> Self {
        Self {
            names,
            version: None,
            view: View::Model,
            shows: Shows::Unknown,
            conversation: None,
            profile: None,
        }
    }

    /// What is known of the client that calls itself so. What a proxy appends to the name, as in
    /// `claude-ai (via mcp-remote 0.1.37)`, is ignored.
    #[must_use]
    pub fn find(name: &str, version: Option<&str>) -> Option<&'static Self> {
        let name = Self::own_name(name);
        Self::ALL.iter().find(|client| client.fits(name, version))
    }

    /// A name without what a bridge appends to it: `claude-ai (via mcp-remote 0.1.37)`.
    #[must_use]
    pub fn own_name(name: &str) -> &str {
        name.split_once(" (via ").map_or(name, |(name, _)| name)
    }

    fn fits(&self, name: &str, version: Option<&str>) -> bool {
        let is_version = |pattern| version.is_some_and(|version| matches(pattern, version));
        self.version.is_none_or(is_version)
            && self.names.iter().any(|pattern| matches(pattern, name))
    }
}

impl Shows {
    /// The word for it in `specs/clients.md`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Structured => "structuredContent",
            Self::Both => "both",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a text is as the pattern says, in upper or lower case.
fn matches(pattern: &str, text: &str) -> bool {
    let Some(start) = pattern.strip_suffix('*') else {
        return pattern.eq_ignore_ascii_case(text);
    };
    let head = text.get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start))
}
