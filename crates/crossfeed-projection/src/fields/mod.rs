//! Turns a request in any spelling (paths, views, presets, `_select`) into the one
//! [`Projection`](crate::Projection) that answers it on a value.
//!
//! # Invariants
//!
//! - Inclusive spellings add up, whatever their order; an empty list filters nothing and adds
//!   nothing.
//! - A collection is filtered in its items; the rest of its envelope stays byte for byte.
//! - A parameter of the wrong form is ignored with a diagnostic; an unknown preset or view is an
//!   error that names the valid ones.

mod apply;
mod collection;
mod document;
mod error;
mod hidden;
mod introspect;
mod known;
#[cfg(test)]
mod laws;
mod operation;
mod plan;
mod presets;
mod request;
mod resource;
#[cfg(test)]
mod tests;

pub use apply::Applied;
pub use error::ProjectionError;
pub use operation::Operation;
pub use plan::Plan;
pub use presets::Views;
pub use request::{FieldsValue, ProjectionRequest};
pub use resource::{ENVELOPES, ResourceType, ResourceTypes};
