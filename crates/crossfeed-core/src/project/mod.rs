//! Projecting: what leaves the engine of a result, cut to what was asked for.
//!
//! What comes in: a value that is without what may never be revealed, a request in any spelling, and
//! the schema of the tool's output where one is known. What goes out: the projected bytes, the schema
//! that they are valid by, and what is to be said of the request. The rules are normative in
//! `specs/projection.md`. Deliberately not here: paths and their engine, schemas and what becomes of
//! them; redaction, which comes before.

mod announce;
mod infer;
mod learned;
mod options;

pub(crate) use announce::{ProjectionContext, announced};
pub use infer::infer_schema;
pub(crate) use learned::LearnedSchemas;
pub use options::{ProjectOptions, Projected};
