//! One path language, and one engine that projects JSON by it.
//!
//! What comes in: paths, in whichever spelling a caller knows, and a document. What goes out: the
//! same document with the named fields only, as bytes. Deliberately not here: JSON Schema, sessions
//! and protocols.

mod fields;
mod fold;
mod path;
mod project;
mod reveal;
mod tree;

pub use fields::{
    Applied, Computed, Defaults, ENVELOPES, FieldsValue, Operation, Plan, ProjectionError,
    ProjectionRequest, Resolved, ResourceType, ResourceTypes, Views,
};
pub use fold::fold_case;
pub use path::{MAX_PATH_CHARS, MAX_PATH_STEPS, MAX_PATHS, Path, PathError, PathErrorKind, Step};
pub use project::{
    Diagnostic, DiagnosticKind, Diagnostics, MAX_DIAGNOSTICS, MAX_ITEM_PLACES, Place, Projection,
    nearest,
};
pub use reveal::{Redacted, RedactedResult, RevealRules, WITHHELD};
pub use tree::{Node, PathTree};
