//! Tool definitions and tool calls, in the shapes in which hosts and providers write them.
//!
//! What comes in: the list that a host already sends ([`ToolList`]), and what a model's answer
//! holds ([`ToolCall`]). What goes out: the same documents with other schemas, names or arguments
//! in them, or the list in another provider's shape ([`ToolList::to_shape`]). Deliberately not
//! here: which schema a tool is shown with, and what a call's arguments mean.

mod call;
mod convert;
mod find;
mod gemini;
mod list;
mod tool;

pub use call::{ToolCall, ToolCallError, ToolCallErrorKind};
pub use convert::{Converted, Lost};
pub use list::{Change, Passed, ToolList, ToolListError};
pub use tool::Tool;

use std::{fmt, str::FromStr};

/// The member of a tool's `_meta` that says `false` where the tool is never chained.
pub const CHAIN_MARK: &str = "dev.crossfeed/chain";
/// The member of a tool's `_meta` that says `false` where the tool is not strict in a strict profile.
pub const STRICT_MARK: &str = "dev.crossfeed/strict";

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
    fn schema_key(self) -> &'static str {
        match self {
            Self::Mcp => "inputSchema",
            Self::Anthropic => "input_schema",
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini => "parameters",
        }
    }

    /// Whether the shape has a field `strict`.
    fn has_strict(self) -> bool {
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

#[cfg(test)]
mod tests;
