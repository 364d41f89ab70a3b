//! What the benches share: named data sets, and measuring side by side.
//!
//! The bench targets are one file per stage; what they found, with machine and command, is in
//! `README.md`. Deliberately not here: targets, which the specification names.

pub mod data;
mod report;
mod timing;

pub use report::{Run, Table, Work, ratio, time};
pub use timing::{Contender, Timing, compare};
