//! Tool definitions and tool calls, in the shapes in which hosts and providers write them.
//!
//! [`ToolList`] reads the list that a host sends, and writes it with other schemas and names, or in another
//! provider's shape; [`ToolCall`] reads the calls in a model's answer.

mod call;
mod convert;
mod find;
mod gemini;
mod list;
mod tool;

pub use call::{ToolCall, ToolCallError, ToolCallErrorKind};
pub use convert::{Converted, UnsupportedField};
pub use list::{Change, PassedEntry, ToolList, ToolListError};
pub use tool::Tool;

/// The member of a tool's `_meta` that says `false` where the tool is never chained.
pub const CHAIN_MARK: &str = "dev.crossfeed/chain";
/// The member of a tool's `_meta` that says `false` where the tool is not strict in a strict profile.
pub const STRICT_MARK: &str = "dev.crossfeed/strict";

#[cfg(test)]
mod tests;
