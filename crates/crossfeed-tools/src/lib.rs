//! Tool lists: read in every provider's shape, rewritten so that each parameter admits a reference, fitted to
//! each provider's limits; and the arguments that a model writes, read back.
//!
//! The engine validates arguments, by the tool's own schema; the schema shown to the model is wider.

// For the helper that the integration tests share.
#[cfg(test)]
extern crate self as crossfeed_tools;

mod guidance;
mod lint;
mod listed;
mod names;
mod profile;
mod reflect;
mod rewrite;
mod shape;
mod style;
mod tools;

pub use guidance::{guidance, guidance_with};
pub use lint::{Finding, Severity, ToLint, lint, lint_list};
pub use listed::{
    Decision, ListOptions, ListedTool, Outline, ReadError, RewrittenList, Stop, rewrite_tools,
};
pub use names::{Names, tool_names};
pub use profile::{
    Counts, Dropped, EnumValues, Facts, Limits, NameRule, Narrowed, Nullable, Profile,
    UnknownProfile, decode, fold_schema, is_fold, narrow,
};
pub use reflect::{Reflection, TakenProjection, WHOLE_GUIDANCE};
pub use rewrite::{Notice, Rewritten, rewrite, rewrite_with};
pub use shape::{Shape, UnknownShape};
pub use style::{Offers, Spelling, Style};
pub use tools::{
    CHAIN_MARK, Change, Converted, PassedEntry, STRICT_MARK, Tool, ToolCall, ToolCallError,
    ToolCallErrorKind, ToolList, ToolListError, UnsupportedField,
};
