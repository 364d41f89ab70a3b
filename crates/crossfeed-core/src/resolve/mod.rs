//! Resolving: arguments with references in, arguments as the tool gets them out.
//!
//! It goes in one pass: what a reference brought in is never searched for references. Looking results up is the
//! session's work, judging the outcome that of [`crate::validate`].

mod fill;
mod nesting;
mod plan;
mod substitute;
mod tally;
mod visible;

pub(crate) use fill::{FillArena, FillContext, FillLimits, Filled, LookupResult, fill, malformed};
pub(crate) use plan::{LookupKey, Plan, Step, may_hold_references};
pub(crate) use tally::Tally;
pub(crate) use visible::{Shown, seen};
