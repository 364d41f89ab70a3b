//! Known MCP clients: how they read results, and how they name conversations.
//!
//! `specs/clients.md` gives the source of each fact, and a test compares its table with this one. A client that is not in
//! the table is treated as unknown, which is always safe.

#[cfg(test)]
mod tests;

use crossfeed_tools::Profile;
use crossfeed_wire::View;

/// The facts about one client.
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
    /// The names that it reports in `clientInfo.name`. A `*` at the end matches any text; case is ignored.
    pub names: &'static [&'static str],
    /// A pattern of its versions, like that of a name. Without one the row applies to every version that no earlier row
    /// applies to.
    pub version: Option<&'static str>,
    /// The view that `auto` chooses for it.
    pub view: View,
    /// Which part of a result its model is shown.
    pub shows: Shows,
    /// The key in `_meta` of `tools/call` that names the conversation of a call.
    pub conversation: Option<&'static str>,
    /// The provider of its models, if there is only one.
    pub profile: Option<Profile>,
}

/// Which part of a result with both `content` and `structuredContent` a client shows its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Shows {
    /// Only `content`.
    Content,
    /// Only `structuredContent`.
    #[strum(serialize = "structuredContent")]
    Structured,
    /// Both.
    Both,
    /// Not reported, or reported differently.
    #[default]
    Unknown,
}

impl Client {
    /// Every known client; the first row that fits counts.
    pub const ALL: &'static [Self] = {
        use Shows::{Both, Content, Structured, Unknown};
        use View::{Ask, Model, Program};
        &[
            Self::named(&["claude-code", "claude code"], Model, Structured)
                .with_profile(Profile::Anthropic),
            Self::named(&["claude-ai", "claude desktop"], Model, Content)
                .with_profile(Profile::Anthropic),
            Self::named(&["codex-mcp-client"], Ask, Structured)
                .with_profile(Profile::OpenAi)
                .with_conversation("threadId"),
            Self::named(&["openai-mcp", "openai-mcp/*"], Model, Both)
                .with_profile(Profile::OpenAi)
                .with_conversation("openai/session"),
            Self::named(
                &["Visual Studio Code*", "Visual-Studio-Code*"],
                Model,
                Structured,
            )
            .with_conversation("vscode.conversationId"),
            Self::named(&["github-copilot-developer"], Model, Both),
            Self::named(&["cursor-vscode"], Model, Unknown),
            Self::named(&["windsurf-client", "Windsurf"], Model, Unknown),
            Self {
                version: Some("2.*"),
                ..Self::named(&["opencode"], Program, Unknown)
                    .with_conversation("ai.opencode/sessionID")
            },
            Self::named(&["opencode"], Ask, Unknown).with_conversation("ai.opencode/sessionID"),
            Self::named(&["goose", "goose-cli", "goose-desktop"], Ask, Content)
                .with_conversation("agent-session-id"),
            Self::named(&["qwen-cli-mcp-client*"], Ask, Content),
            Self::named(&["gemini-cli-mcp-client*"], Model, Content),
            Self::named(&["antigravity-client", "antigravity-cli"], Model, Unknown)
                .with_conversation("antigravity.google/conversation_id"),
            Self::named(&["Zed"], Model, Content),
            Self::named(&["Cline"], Model, Content),
            Self::named(&["Roo Code", "Roo-Code"], Model, Content),
            Self::named(&["@librechat/api-client"], Model, Content),
            Self::named(&["ai-sdk-mcp-client"], Ask, Content),
        ]
    };

    /// Every key by which a known client names the conversation of a call.
    pub const CONVERSATION_KEYS: [&'static str; 6] = [
        "threadId",
        "openai/session",
        "vscode.conversationId",
        "ai.opencode/sessionID",
        "agent-session-id",
        "antigravity.google/conversation_id",
    ];

    /// A client without further facts.
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

    /// Sets the provider of its models.
    const fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Sets the key by which it names conversations.
    const fn with_conversation(mut self, conversation: &'static str) -> Self {
        self.conversation = Some(conversation);
        self
    }

    /// The row of a client by the name and version that it reports. The addition of a proxy to the name, as in
    /// `claude-ai (via mcp-remote 0.1.37)`, is ignored.
    pub fn find(name: &str, version: Option<&str>) -> Option<&'static Self> {
        let name = Self::own_name(name);
        Self::ALL.iter().find(|client| client.fits(name, version))
    }

    /// A name without the addition of a proxy: `claude-ai (via mcp-remote 0.1.37)`.
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
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether a text matches a pattern, ignoring case.
fn matches(pattern: &str, text: &str) -> bool {
    let Some(start) = pattern.strip_suffix('*') else {
        return pattern.eq_ignore_ascii_case(text);
    };
    let head = text.get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start))
}
