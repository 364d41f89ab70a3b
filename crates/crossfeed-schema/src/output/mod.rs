//! Output schemas, as they are read: summed up in lines, looked into field by field, learned from
//! results, and projected.
//!
//! What comes in: the schema that a tool declares for its results, or results themselves. What goes
//! out: lines for a prompt, answers to `inspect_tool_output`, descriptors, and schemas. Deliberately
//! not here: judging results; a schema that is dirty, or none at all, is read as far as it says
//! something.

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
