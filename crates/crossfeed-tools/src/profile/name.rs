//! The profiles by name.

use super::facts::{Facts, tables};
use crate::Shape;
use strum::{Display, EnumString, IntoStaticStr};

/// A provider's way of taking tools, with its limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumString, IntoStaticStr,
)]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = UnknownProfile,
    parse_err_fn = UnknownProfile::new
)]
#[non_exhaustive]
#[must_use]
pub enum Profile {
    /// An MCP client, whatever model is behind it.
    Mcp,
    /// Anthropic's Messages API.
    Anthropic,
    /// The same with `strict: true`.
    AnthropicStrict,
    /// OpenAI's function calling, in both of its shapes.
    #[strum(serialize = "openai")]
    OpenAi,
    /// The same with `strict: true`.
    #[strum(serialize = "openai-strict")]
    OpenAiStrict,
    /// Gemini's function declarations.
    Gemini,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 6] = [
        Self::Mcp,
        Self::Anthropic,
        Self::AnthropicStrict,
        Self::OpenAi,
        Self::OpenAiStrict,
        Self::Gemini,
    ];

    /// The word as it is written: `mcp`, `anthropic`, `anthropic-strict` and so on.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The profile for a tool that is not strict: this one without `strict`.
    pub fn plain(self) -> Self {
        match self {
            Self::AnthropicStrict => Self::Anthropic,
            Self::OpenAiStrict => Self::OpenAi,
            other => other,
        }
    }

    /// Whether the profile fits a list in this shape. Clients turn MCP's shape into their provider's; any
    /// other shape is one provider's own.
    pub fn takes_shape(self, shape: Shape) -> bool {
        // An MCP client does not know which provider is behind it, and its tools go to any.
        if self == Self::Mcp {
            return true;
        }
        match shape {
            Shape::Mcp => true,
            Shape::Anthropic => self.plain() == Self::Anthropic,
            Shape::OpenAiChat | Shape::OpenAiResponses => self.plain() == Self::OpenAi,
            Shape::Gemini => self == Self::Gemini,
        }
    }

    /// Whether tools are sent with `strict: true`.
    pub fn is_strict(self) -> bool {
        self != self.plain()
    }

    /// What the provider accepts.
    pub fn facts(self) -> &'static Facts {
        match self {
            Self::Mcp => &tables::MCP,
            Self::Anthropic => &tables::ANTHROPIC,
            Self::AnthropicStrict => &tables::ANTHROPIC_STRICT,
            Self::OpenAi => &tables::OPENAI,
            Self::OpenAiStrict => &tables::OPENAI_STRICT,
            Self::Gemini => &tables::GEMINI,
        }
    }

    /// Whether a property may be called so.
    pub fn admits_property(self, name: &str, at_root: bool) -> bool {
        self.facts().admits_property(name, at_root)
    }

    /// Whether a tool may be called so.
    pub fn admits_tool_name(self, name: &str) -> bool {
        self.facts().tool_name.is_none_or(|rule| rule.admits(name))
    }
}

/// A word that is not the name of a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown profile `{0}`; profiles are mcp, anthropic, anthropic-strict, openai, openai-strict and gemini"
)]
pub struct UnknownProfile(String);

impl UnknownProfile {
    fn new(word: &str) -> Self {
        Self(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
    use crate::Shape;

    #[test]
    fn shapes_belong_to_providers() {
        for (shape, takes) in [
            (Shape::Mcp, &Profile::ALL[..]),
            (Shape::Anthropic, &Profile::ALL[1..3]),
            (Shape::OpenAiChat, &Profile::ALL[3..5]),
            (Shape::OpenAiResponses, &Profile::ALL[3..5]),
            (Shape::Gemini, &Profile::ALL[5..]),
        ] {
            for profile in Profile::ALL {
                let taken = takes.contains(&profile) || profile == Profile::Mcp;
                assert_eq!(profile.takes_shape(shape), taken, "{profile} {shape}");
            }
        }
    }

    #[test]
    fn words_read_back() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
            assert!(!profile.plain().is_strict());
        }
        let unknown = "claude".parse::<Profile>().unwrap_err().to_string();
        for profile in Profile::ALL {
            assert!(unknown.contains(profile.as_str()), "{unknown}");
        }
    }
}
