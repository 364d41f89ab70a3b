//! Resolving: replaces the references in arguments by the values that the tool gets.
//!
//! It takes one pass: values that references bring in are never searched for references. The session looks
//! results up, and [`crate::validate`] validates the outcome.

mod edit;
mod fill;
mod glance;
mod origin;
mod plan;
mod substitute;
mod tally;
mod walk;

pub(crate) use fill::{
    FillArena, FillContext, FillLimits, FilledArguments, LookupResult, fill, malformed,
};
pub(crate) use glance::may_hold_references;
pub(crate) use plan::{Filling, LookupKey, Notation, Plan, Step};
pub(crate) use substitute::target_of;
pub(crate) use tally::Tally;
