//! Input schemas that admit references: read, rewritten, and fitted to each provider's limits.
//!
//! What comes in: the tool definitions that a host already has. What goes out: the same, with every
//! parameter reference-aware, and the way back for the arguments that a model writes. Deliberately
//! not here: judging arguments. The tool's own schema does that, in the engine; what is shown to a
//! model is wider.

mod check;
mod dialect;
mod ecma;
mod error;
mod guidance;
mod index;
mod keywords;
mod listed;
mod lookup;
mod names;
mod null;
mod output;
mod place;
mod profile;
mod reflect;
mod rewrite;
mod style;
mod tools;

pub use check::{check, compile, has_patterns};
pub use dialect::Dialect;
pub use error::SchemaError;
pub use guidance::guidance;
pub use listed::{
    Decision, ListOptions, Listed, ListedTool, Outline, ReadError, Stop, rewrite_tools,
};
pub use names::{Names, tool_names};
pub use null::admits_null;
pub use output::{
    Child, Descriptor, Drift, DriftKind, INSPECTOR, InspectError, InspectRequest, Inspection,
    LearnOptions, LearnedSchema, NoProjectedSchema, OutputSchema, Parameter, Summary, descriptors,
    flat_schema, inspector, is_anything, projected_schema, values_in, without_unused_definitions,
};
pub use place::Place;
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
