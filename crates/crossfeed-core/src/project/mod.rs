//! Projecting: what leaves the engine of a result, cut to what was asked for. The value comes without what the
//! host's rules withhold. The rules are normative in `specs/projection.md`.
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
