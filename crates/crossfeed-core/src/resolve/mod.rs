//! Resolving: arguments with references in, arguments as the tool gets them out.
//!
//! It goes in one pass: what a reference brought in is never searched for references. The session looks results
//! up, and [`crate::validate`] judges the outcome.

mod fill;
mod origin;
mod plan;
mod substitute;
mod tally;

pub(crate) use fill::{
    FillArena, FillContext, FillLimits, FilledArguments, LookupResult, fill, malformed,
};
pub(crate) use plan::{LookupKey, Plan, Step, may_hold_references};
pub(crate) use tally::Tally;
