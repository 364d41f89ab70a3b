//! Where results and artifacts are kept: the contract that every store fulfils, the store in memory, and
//! `SqliteStore` (feature `sqlite`), which keeps artifacts across restarts.
//!
//! ```
//! use crossfeed::{Engine, EngineOptions, store::{MemoryLimits, MemoryStore}};
//! use std::sync::Arc;
//!
//! let limits = MemoryLimits::default().with_total_bytes(256 << 20);
//! let engine = Engine::new(EngineOptions::default(), Arc::new(MemoryStore::new(limits)));
//! ```
//!
//! A store of your own implements [`ResultStore`]: `examples/custom_store.rs` shows how. The feature
//! `conformance` of `crossfeed-store` has the tests that each store of this project passes.

pub use crossfeed_store::{
    Acquired, ArtifactLookup, ArtifactMissing, BlobName, BlobStore, Budget, CallLeases, CallWait,
    Clock, Damage, Digest, DigestError, Expected, Flights, LeaseOwner, Leased, Listed, Lookup,
    ManualClock, MemoryLimits, MemoryStore, Missing, Recorded, ResultKind, ResultStore, ScopeTag,
    StateRecord, StateStore, StoreError, StoredResult, SystemClock, Tombstone, Usage,
};
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
pub use crossfeed_store_sqlite::{
    CalendarClock, Durability as SqliteDurability, Probe as SqliteProbe, SqliteOptions, SqliteStore,
};
