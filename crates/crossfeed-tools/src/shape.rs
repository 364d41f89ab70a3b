//! The shapes in which providers write tools.

use std::{fmt, str::FromStr};

/// How a tool is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Shape {
    /// `{"name", "inputSchema"}`.
    Mcp,
    /// `{"name", "input_schema"}`.
    Anthropic,
    /// `{"type": "function", "function": {"name", "parameters"}}`.
    OpenAiChat,
    /// `{"type": "function", "name", "parameters"}`.
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
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

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown shape `{0}`; shapes are mcp, anthropic, openai-chat, openai-responses and gemini")]
pub struct UnknownShape(String);

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(word: &str) -> Result<Self, UnknownShape> {
        let found = Self::ALL.into_iter().find(|shape| shape.as_str() == word);
        found.ok_or_else(|| UnknownShape(word.to_owned()))
    }
}
