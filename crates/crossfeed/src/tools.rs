//! Tool lists: read in each provider's shape, rewritten so that parameters accept references and fit
//! the provider's limits; and calls read back.
//!
//! ```
//! use crossfeed::{Engine, EngineOptions, tools::{ListOptions, Profile, ToolList, rewrite_tools}};
//! use serde_json::json;
//!
//! let tools = json!([{"name": "fetch", "description": "Fetches a page", "input_schema": {
//!     "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
//! }}]);
//! let listed = rewrite_tools(&ToolList::parse(&tools)?, &ListOptions::profile(Profile::Anthropic));
//! // Send `listed.value` to the provider in place of `tools`, and `listed.guidance()` with the prompt.
//! assert!(listed.value[0]["input_schema"].to_string().contains("_tool"));
//!
//! // With an engine, `Session::resolve_call` then takes the calls of the tool as the model writes them.
//! let engine = Engine::in_memory(EngineOptions::default());
//! let fetch = engine.prepare(listed.find("fetch").ok_or("no such tool")?.clone());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_tools::{
    Change, Converted, Counts, Decision, Dropped, EnumValues, Facts, Finding, Limits, ListOptions,
    ListedTool, NameRule, Names, Narrowed, Notice, Nullable, Offers, Outline, PassedEntry, Profile,
    ReadError, Reflection, Rewritten, RewrittenList, Severity, Shape, Spelling, Stop, Style,
    TakenProjection, ToLint, Tool, ToolCall, ToolCallError, ToolCallErrorKind, ToolList,
    ToolListError, UnknownProfile, UnknownShape, UnsupportedField, guidance, guidance_with, lint,
    lint_list, narrow, rewrite, rewrite_tools, rewrite_with,
};
