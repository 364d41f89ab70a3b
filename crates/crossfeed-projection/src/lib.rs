//! One path language, and one engine that projects JSON by it.
//!
//! A request in any spelling becomes paths ([`ProjectionRequest`]); one engine cuts a document to them
//! and copies all other bytes ([`Projection`]); no outcome holds data that a host's rules hide
//! ([`RevealRules`]).

mod fields;
mod fold;
mod path;
mod project;
mod redact;
mod rules;
mod tree;

pub use fields::{
    Applied, ENVELOPES, FieldsValue, Operation, Plan, ProjectionError, ProjectionRequest,
    ResourceType, ResourceTypes, Views,
};
pub use fold::fold_case;
pub use path::{MAX_PATH_CHARS, MAX_PATH_STEPS, MAX_PATHS, Path, PathError, PathErrorKind, Step};
pub use project::{
    Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, MAX_ITEM_PLACES, Place, Projection,
    nearest,
};
pub use redact::RedactedResult;
pub use rules::{Redacted, RevealRules, WITHHELD};
pub use tree::PathTree;
