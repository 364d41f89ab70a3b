//! Redaction: results without what the host's rules withhold from models, by the rules of `specs/projection.md`.
//!
//! Models see, and their expressions run on, redacted results. Stored results are for hosts, and for
//! references without a selector, which pass them on unseen.
//!
//! # Invariants
//!
//! - The engine reaches stored results only through [`UnredactedItem`], which shows them only through the rules.
//!   Hosts get them unredacted.
//! - Data that cannot be checked is withheld.
//! - Where no rule hides anything, redaction reads and builds nothing.

mod policy;
mod redact;
#[cfg(test)]
mod tests;
mod whole;

pub use policy::RevealPolicy;
pub(crate) use whole::UnredactedItem;
