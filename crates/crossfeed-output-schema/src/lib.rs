//! Output schemas: summed up in lines, looked into field by field, learned from results, and projected.
//!
//! A schema that is dirty, or not a schema at all, is read as far as it says something; judging results is
//! the validator's work.

mod descriptor;
mod inspect;
mod learn;
mod project;
mod read;
mod summary;

pub use descriptor::{Descriptor, Parameter, descriptors};
pub use inspect::{Child, INSPECTOR, InspectError, InspectRequest, Inspection, inspector};
pub use learn::{Drift, DriftKind, LearnOptions, LearnedSchema};
pub use project::{
    NoProjectedSchema, flat_schema, is_anything, projected_schema, values_in,
    without_unused_definitions,
};
pub use read::OutputSchema;
pub use summary::Summary;
