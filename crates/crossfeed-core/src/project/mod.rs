//! Projecting: a result, redacted by the host's rules and cut to the request, leaves the engine.
//!
//! The rules are normative in `specs/projection.md`.

mod announce;
mod infer;
mod learned;
mod options;

pub(crate) use announce::{ProjectionContext, announced};
pub use infer::infer_schema;
pub(crate) use learned::LearnedSchemas;
pub use options::{ProjectOptions, Projected};
