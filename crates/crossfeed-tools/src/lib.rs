//! Tool lists: read in every provider's shape, rewritten so that each parameter admits a reference, fitted to
//! each provider's limits; and the arguments that a model writes, read back.
//!
//! Judging arguments is the engine's work, by the tool's own schema; what a model is shown is wider.

mod guidance;
mod listed;
mod names;
mod profile;
mod reflect;
mod rewrite;
mod style;
mod tools;

pub use guidance::guidance;
pub use listed::{
    Decision, ListOptions, Listed, ListedTool, Outline, ReadError, Stop, rewrite_tools,
};
pub use names::{Names, tool_names};
pub use profile::{
    Counts, Dropped, EnumValues, Facts, Finding, Limits, NameRule, Narrowed, Nullable, Profile,
    Severity, ToLint, UnknownProfile, decode, encode, fold_schema, is_fold, lint, lint_list,
    narrow,
};
pub use reflect::{Reflection, Taken, WHOLE_GUIDANCE};
pub use rewrite::{Notice, Rewritten, rewrite};
pub use style::{Spelling, Style};
pub use tools::{
    CHAIN_MARK, Change, Converted, Lost, Passed, STRICT_MARK, Shape, Tool, ToolCall, ToolCallError,
    ToolCallErrorKind, ToolList, ToolListError, UnknownShape,
};
