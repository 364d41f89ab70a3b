//! Summarises output schemas in lines, shows them field by field, learns them from results, and projects them.
//!
//! Invalid schemas are read as far as they say something. The validator, not this crate, checks results.

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
