//! The store contract, the in-memory store, and the conformance functions that every store runs.
//!
//! A store keeps recorded tool results and artifacts under a scope and an id, and gives the same
//! bytes again, or says what became of them. It does not wait for calls and does not interpret
//! results. One that several processes share also says which calls are in flight ([`CallLeases`]), and may keep its
//! host's own records ([`StateStore`]).
//!
//! # Invariants
//!
//! - Bytes are never altered, cut or overwritten; a record is there as a whole or not at all.
//! - An id of another scope reads exactly like one that never existed.
//! - Results in use by a running call stay: see [pinning](ResultStore#pinning).
//! - A backend that cannot answer gives an error, never "absent".

mod answer;
mod artifact;
mod blob;
mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contents;
mod contract;
mod digest;
mod error;
mod lease;
mod limits;
mod memory;
mod metered_blobs;
mod metrics;
mod read_cache;
mod shown;
mod state;
mod stored;

pub use answer::{
    ArtifactLookup, ArtifactMissing, Listed, ListedArtifact, Lookup, Missing, Recorded, Tombstone,
    Usage,
};
pub use artifact::StoredArtifact;
pub use blob::{BlobName, BlobStore, ScopeTag, ranges_of};
pub use clock::{Clock, ManualClock, SystemClock};
pub use contents::{Contents, Excerpt, PartsRead, PathStep, PathsOf};
pub use contract::ResultStore;
pub use digest::{Digest, DigestError};
pub use error::{Budget, Damage, StoreError, with_causes};
pub use lease::{Acquired, CallLeases, CallWait, Flights, LeaseOwner, Leased};
pub use limits::MemoryLimits;
pub use memory::MemoryStore;
pub use metered_blobs::MeteredBlobs;
pub use metrics::{LATENCY_BOUNDS, OperationMetrics, StoreMeter, StoreMetrics, StoreOperation};
pub use read_cache::{ReadCache, Resident};
pub use state::{Expected, StateRecord, StateStore};
pub use stored::{ResultKind, StoredResult};
