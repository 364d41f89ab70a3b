//! Chooses the profile or style by which a server's tools are rewritten: the configuration's, else the client's.

use crate::config::GatewayConfig;
use crossfeed_mcp::Client;
use crossfeed_tools::{ListOptions, Offers, Profile, Spelling, Style, tool_names};

/// How tools are rewritten: what a provider takes, or one style whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    Profile(Profile),
    Style(Style),
}

/// What every client takes: the profile whose one style is `refs`.
const USUAL: Choice = Choice::Profile(Profile::Mcp);

/// What references offer through a gateway, which makes no artifacts.
pub(super) fn offers(config: &GatewayConfig) -> Offers {
    let offers = Offers::default().with_artifacts(false);
    let references = &config.references;
    offers
        .with_templates(config.templates)
        .with_edits(references.edits)
        .with_files(references.files.is_some())
        .with_resources(references.resources)
}

impl Choice {
    /// The profile or style of a word: `anthropic`, `inline`.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        let style = || Style::ALL.into_iter().find(|style| style.as_str() == word);
        let profile = word.parse().ok().map(Self::Profile);
        profile.or_else(|| style().map(Self::Style))
    }

    /// The profile of a client, which its version does not change.
    fn for_client(name: &str) -> Self {
        let client = Client::find(name, None);
        let profile = client.and_then(|client| client.profile);
        profile.map_or(USUAL, Self::Profile)
    }

    /// What holds: the first word that is given, else what the client's name says. A word that names
    /// nothing is refused where the configuration is read; here it is as good as none.
    pub(super) fn new(words: [Option<&str>; 2], client: Option<&str>) -> Self {
        let said = words.into_iter().flatten().find_map(Self::from_word);
        said.unwrap_or_else(|| client.map_or(USUAL, Self::for_client))
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Profile(profile) => profile.as_str(),
            Self::Style(style) => style.as_str(),
        }
    }

    pub(super) fn options(self) -> ListOptions {
        match self {
            Self::Profile(profile) => ListOptions::profile(profile),
            // What every provider admits as a name.
            Self::Style(style) => ListOptions::style(style).with_spelling(Spelling::Underscore),
        }
    }

    /// Whether each tool of a list is rewritten as if it were the only one.
    pub(super) fn is_each_alone(self) -> bool {
        match self {
            Self::Profile(profile) => !profile.is_strict(),
            Self::Style(_) => true,
        }
    }

    /// The names that the tools of a list are shown under, in their order.
    pub(super) fn shown_names<'n>(self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let names: Vec<_> = names.collect();
        match self {
            Self::Profile(profile) => tool_names(&names, |name| {
                !profile.facts().tool_name_refused || profile.admits_tool_name(name)
            }),
            Self::Style(_) => names.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The richest style, for the guidance about references before anything is listed.
    pub(super) fn style(self) -> Option<(Style, Spelling)> {
        match self {
            Self::Profile(profile) => profile.facts().styles.first().copied(),
            Self::Style(style) => Some((style, Spelling::Underscore)),
        }
    }

    /// Whether a root may combine schemas, as far as the protocol's revision lets it: no provider is
    /// known that refuses it.
    pub(super) fn keeps_roots(self) -> bool {
        matches!(
            self,
            USUAL | Self::Style(Style::Refs) | Self::Style(Style::RefsList)
        )
    }

    /// Whether no provider is known that refuses a schema as it came.
    pub(super) fn leaves_schemas(self) -> bool {
        matches!(self, USUAL | Self::Style(_))
    }

    /// The most characters that a description may have.
    pub(super) fn description(self) -> usize {
        match self {
            Self::Profile(profile) => profile.facts().limits.description.unwrap_or(usize::MAX),
            Self::Style(_) => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;
    use crossfeed_tools::{Profile, Style};

    fn check(words: [Option<&str>; 2], client: Option<&str>, expected: Choice) {
        assert_eq!(Choice::new(words, client), expected, "{words:?} {client:?}");
    }

    #[test]
    fn the_configuration_comes_first_then_the_client() {
        let mcp = Choice::Profile(Profile::Mcp);
        check([None, None], None, mcp);
        check([None, None], Some("who"), mcp);
        let anthropic = Choice::Profile(Profile::Anthropic);
        for client in [
            "Claude-Code",
            "claude desktop",
            "claude-ai (via mcp-remote 0.1.37)",
        ] {
            check([None, None], Some(client), anthropic);
        }
        let openai = Choice::Profile(Profile::OpenAi);
        check([None, None], Some("openai-mcp"), openai);
        check([None, None], Some("Zed"), mcp);
        check(
            [None, Some("anthropic")],
            Some("codex-mcp-client"),
            anthropic,
        );
        let inline = Choice::Style(Style::Inline);
        check([Some("inline"), Some("anthropic")], None, inline);
        check([Some("?"), None], None, mcp);
        let is_profile = |word| Choice::from_word(word).is_some();
        assert!(is_profile("gemini") && is_profile("refs-list") && !is_profile("json"));
    }
}
