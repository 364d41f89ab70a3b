//! The store contract, the in-memory store, and the conformance functions that every store runs.
//!
//! A store keeps recorded tool results and artifacts under a scope and an id, and gives the same
//! bytes again, or says what became of them. It does not wait for calls and does not interpret
//! results.
//!
//! # Invariants
//!
//! - Bytes are never altered, cut or overwritten; a record is there as a whole or not at all.
//! - An id of another scope reads exactly like one that never existed.
//! - Results in use by a running call stay: see [pinning](ResultStore#pinning).
//! - A backend that cannot answer gives an error, never "absent".

mod answer;
mod artifact;
mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contract;
mod error;
mod limits;
mod memory;
mod shown;
mod stored;

pub use answer::{
    ArtifactLookup, ArtifactMissing, Listed, ListedArtifact, Lookup, Missing, Recorded, Tombstone,
    Usage,
};
pub use artifact::StoredArtifact;
pub use clock::{Clock, ManualClock, SystemClock};
pub use contract::ResultStore;
pub use error::{Budget, Damage, StoreError};
pub use limits::MemoryLimits;
pub use memory::MemoryStore;
pub use stored::{ResultKind, StoredResult};
