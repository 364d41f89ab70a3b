//! The shapes in which providers write tools.

use strum::{Display, EnumString, IntoStaticStr};

/// How a tool is written.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumString, IntoStaticStr,
)]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = UnknownShape,
    parse_err_fn = UnknownShape::new
)]
#[non_exhaustive]
pub enum Shape {
    /// `{"name", "inputSchema"}`.
    Mcp,
    /// `{"name", "input_schema"}`.
    Anthropic,
    /// `{"type": "function", "function": {"name", "parameters"}}`.
    #[strum(serialize = "openai-chat")]
    OpenAiChat,
    /// `{"type": "function", "name", "parameters"}`.
    #[strum(serialize = "openai-responses")]
    OpenAiResponses,
    /// `{"functionDeclarations": [{"name", "parameters"}]}`.
    Gemini,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 5] = [
        Self::Mcp,
        Self::Anthropic,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Gemini,
    ];

    /// The word as it is written: `mcp`, `anthropic`, `openai-chat`, `openai-responses`, `gemini`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The key of the schema.
    pub(crate) fn schema_key(self) -> &'static str {
        match self {
            Self::Mcp => "inputSchema",
            Self::Anthropic => "input_schema",
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini => "parameters",
        }
    }

    /// Whether the shape has a field `strict`.
    pub(crate) fn has_strict(self) -> bool {
        matches!(
            self,
            Self::Anthropic | Self::OpenAiChat | Self::OpenAiResponses
        )
    }
}

/// A word that is not the name of a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown shape `{0}`; shapes are mcp, anthropic, openai-chat, openai-responses and gemini")]
pub struct UnknownShape(String);

impl UnknownShape {
    fn new(word: &str) -> Self {
        Self(word.to_owned())
    }
}
