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
    pub const ALL: &'static [Self] = {
        use Shows::{Both, Content, Structured, Unknown};
        use View::{Ask, Model, Program};
        &[
            Self::named(&["claude-code", "claude code"], Model, Structured).of(Profile::Anthropic),
            Self::named(&["claude-ai", "claude desktop"], Model, Content).of(Profile::Anthropic),
            Self::named(&["codex-mcp-client"], Ask, Structured)
                .of(Profile::OpenAi)
                .told_by("threadId"),
            Self::named(&["openai-mcp", "openai-mcp/*"], Model, Both)
                .of(Profile::OpenAi)
                .told_by("openai/session"),
            Self::named(
                &["Visual Studio Code*", "Visual-Studio-Code*"],
                Model,
                Structured,
            )
            .told_by("vscode.conversationId"),
            Self::named(&["github-copilot-developer"], Model, Both),
            Self::named(&["cursor-vscode"], Model, Unknown),
            Self::named(&["windsurf-client", "Windsurf"], Model, Unknown),
            Self {
                version: Some("2.*"),
                ..Self::named(&["opencode"], Program, Unknown).told_by("ai.opencode/sessionID")
            },
            Self::named(&["opencode"], Ask, Unknown).told_by("ai.opencode/sessionID"),
            Self::named(&["goose", "goose-cli", "goose-desktop"], Ask, Content)
                .told_by("agent-session-id"),
            Self::named(&["qwen-cli-mcp-client*"], Ask, Content),
            Self::named(&["gemini-cli-mcp-client*"], Model, Content),
            Self::named(&["antigravity-client", "antigravity-cli"], Model, Unknown)
                .told_by("antigravity.google/conversation_id"),
            Self::named(&["Zed"], Model, Content),
            Self::named(&["Cline"], Model, Content),
            Self::named(&["Roo Code", "Roo-Code"], Model, Content),
            Self::named(&["@librechat/api-client"], Model, Content),
            Self::named(&["ai-sdk-mcp-client"], Ask, Content),
        ]
    };

    /// Every key under which a known client names the conversation that a call belongs to.
    pub const CONVERSATION_KEYS: [&'static str; 6] = [
        "threadId",
        "openai/session",
        "vscode.conversationId",
        "ai.opencode/sessionID",
        "agent-session-id",
        "antigravity.google/conversation_id",
    ];

    /// A client of which no more is known.
    const fn named(names: &'static [&'static str], view: View, shows: Shows) -> Self {
        Self {
            names,
            version: None,
            view,
            shows,
            conversation: None,
            profile: None,
        }
    }

    /// The same with the provider of its models.
    const fn of(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The same with the key under which it names conversations.
    const fn told_by(mut self, conversation: &'static str) -> Self {
        self.conversation = Some(conversation);
        self
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
