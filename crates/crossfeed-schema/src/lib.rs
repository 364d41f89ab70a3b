//! JSON Schema as servers send it: whether a schema is usable, where its subschemas are, where its references
//! lead, and which of its parts apply to a place of a value.
//!
//! The validator checks values; [`compile`] makes one that stays offline and within bounds.

mod check;
mod dialect;
mod document;
mod ecma;
mod error;
pub mod index;
pub mod keywords;
mod names;
mod position;

pub use check::{check, checked, compile, compiled, has_patterns};
pub use dialect::Dialect;
pub use document::{Document, Link, Patterns, address};
pub use error::SchemaError;
pub use names::DefinitionNames;
pub use position::Position;
