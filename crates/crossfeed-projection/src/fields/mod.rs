//! What is asked for, in every spelling: paths, views, presets, `_select`.
//!
//! What comes in: a request as a model or a caller wrote it, the views and resource types of a
//! host, and the value. What goes out: the one [`Projection`](crate::Projection) that answers it
//! on that value. Deliberately not here: projecting, and the language of paths.
//!
//! # Invariants
//!
//! - Inclusive spellings add up, whatever their order; an empty list filters nothing and adds
//!   nothing.
//! - A collection is filtered in its items; the rest of its envelope stays byte for byte.
//! - A parameter of the wrong form is ignored with a diagnostic; an unknown preset or view is an
//!   error that names the valid ones.

mod answer;
mod collection;
mod computed;
mod defaults;
mod document;
mod error;
mod hidden;
mod introspect;
mod known;
#[cfg(test)]
mod laws;
mod plan;
mod presets;
mod request;
mod resource;
#[cfg(test)]
mod tests;

pub use answer::{Applied, Resolved};
pub use computed::Computed;
pub use defaults::{Defaults, Operation};
pub use error::ProjectionError;
pub use plan::Plan;
pub use presets::Views;
pub use request::{FieldsValue, ProjectionRequest};
pub use resource::{ENVELOPES, ResourceType, ResourceTypes};
