//! What of a result may never be revealed to a model.
//!
//! Everything that a model may see, and every expression that a model wrote, works on that; what is stored is
//! for hosts, and for references without a selector, which pass it on unseen. The rules are normative in
//! `specs/projection.md`.
//!
//! # Invariants
//!
//! - What the engine shows or evaluates of what is stored, it reaches by [`Unredacted`] only, whose one way
//!   to what may be shown is through the rules. Hosts are given it as it is.
//! - What cannot be judged is withheld.
//! - Where no rule hides anything, nothing is made and nothing is read.

mod policy;
mod redact;
#[cfg(test)]
mod tests;
mod whole;

pub use policy::RevealPolicy;
pub(crate) use whole::Unredacted;
