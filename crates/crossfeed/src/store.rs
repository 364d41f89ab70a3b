//! Where results and artifacts are kept: the contract that every store fulfils, the store in memory, and those that
//! outlive the process: `SqliteStore` (feature `sqlite`) in a directory, `RedisStore` (feature `redis`) for many
//! processes, and `ObjectBlobs` (feature `object`), where `RedisStore` puts large data.
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
    Clock, Contents, Damage, Digest, DigestError, Excerpt, Expected, Flights, LATENCY_BOUNDS,
    LeaseOwner, Leased, Listed, Lookup, ManualClock, MemoryLimits, MemoryStore, MeteredBlobs,
    Missing, OperationMetrics, PartsRead, PathStep, PathsOf, Recorded, ResultKind, ResultStore,
    ScopeTag, StateRecord, StateStore, StoreError, StoreMeter, StoreMetrics, StoreOperation,
    StoredResult, SystemClock, Tombstone, Usage, with_causes,
};
#[cfg(feature = "object")]
#[cfg_attr(docsrs, doc(cfg(feature = "object")))]
pub use crossfeed_store_object::{
    KeyIdError, KeyRing, ObjectBlobs, ObjectOptions, OpenError, ProbeReport, TenantKey, TenantKeys,
};
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use crossfeed_store_redis::{
    Password, RedisDurability, RedisMode, RedisOptions, RedisPersistence, RedisReport, RedisStore,
    RedisUrlError, TlsIdentity,
};
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
pub use crossfeed_store_sqlite::{
    CalendarClock, KeptResult, SqliteDurability, SqliteOptions, SqliteProbe, SqliteStore,
};
