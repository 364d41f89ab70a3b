//! Keeps results, artifacts, leases of calls and records of the host in Redis or Valkey, for any number of processes.
//!
//! One server, a primary that sentinels watch, or a cluster, of Redis 6.2 or later or of Valkey. All keys of a session lie
//! in one hash slot; every operation is one script there, in one request (data beyond 256 KiB goes ahead in a second). A
//! [`RedisStore`] needs a tokio runtime.
//!
//! # Invariants
//!
//! - Others see an operation as a whole or not at all.
//! - A request that failed half-way leaves only data that expires by itself within a minute.
//! - A server that cannot answer is an error within the time limit, never "absent". A request whose connection was cut is
//!   made again and has the same answer: scripts know the request that they have answered, for a minute.
//! - Every answer comes with a write, so that a primary that was replaced refuses it instead of answering from the past,
//!   where `min-replicas-to-write` is set on the server.
//! - While a cluster moves the slot of a session, the session is unavailable, and never partly there.
//! - Everything but artifacts without a time to live has an end of its own on the server, so that memory is freed without a
//!   sweep.
//! - The first line of a header is for all versions, so that an older one can evict and expire what a newer one wrote; what
//!   it cannot read is [`StoreError::Newer`](crossfeed_store::StoreError::Newer).
//!
//! # What survives
//!
//! | | `RedisDurability::Primary` | `RedisDurability::Replicas { number, .. }` |
//! |---|---|---|
//! | a crash of a client | everything acknowledged | everything acknowledged |
//! | a restart of the server | what its disk has: all with `appendfsync always`, all but the last two seconds at most with `everysec`, also when only the process was killed, nothing without persistence | the same |
//! | a failover | all but what the new primary had not received: the last writes before the crash | everything acknowledged, where a replica that confirmed it becomes the primary |
//!
//! A primary that is cut off from its sentinels and still reached by clients goes on accepting writes, which the failover
//! loses; with `Replicas` it acknowledges none. Set `min-replicas-to-write 1` on the server to refuse them.
//! While a failover runs, requests are [`StoreError::Unavailable`](crossfeed_store::StoreError::Unavailable), and may be
//! made again.
//!
//! # Memory
//!
//! What Redis 7.0.15 took for results of several sizes, by the growth of `used_memory` in `INFO memory`, for 100 results of
//! each size and session (`jemalloc`, no persistence):
//!
//! | bytes of a result | results | memory for each MB of data |
//! |---|---|---|
//! | 1,000 | 10,000 | 1.39 MB (390 bytes more for each result) |
//! | 10,000 | 2,000 | 1.06 MB |
//! | 100,000 | 300 | 1.15 MB |
//! | 1,000,000 | 100 | 1.05 MB |
//! | 1,048,576 | 100 | 1.25 MB |
//!
//! What is more for large results is the allocator's: it has four sizes between each two powers of two, so that data just
//! above one takes the next, at most a quarter more. A session with one small result takes 1.4 KB. Limits count recorded bytes, so
//! give the server 1.4 times what sessions may hold, and twice that where it writes snapshots.
//!
//! A server whose memory is full refuses writes
//! ([`StoreError::NoSpace`](crossfeed_store::StoreError::NoSpace)) and answers reads. With a policy that drops keys instead,
//! a result whose data was dropped reads as evicted, and a session of which more was dropped goes on with what is left of
//! it; [`probe`](RedisStore::probe) warns of such policies.
//!
//! # What a user of the server must be allowed
//!
//! All keys and channels under the [prefix](RedisOptions::prefix), and `+@read +@write +@scripting +@connection +@pubsub
//! +wait +time +info`, with `+cluster` for a cluster. `+config|get` lets the probe see whether there are snapshots.

mod answer;
mod artifacts;
mod blobs;
mod connection;
mod fault;
mod header;
mod leases;
mod options;
mod probe;
mod results;
mod script;
mod state;
mod store;
mod tenant;
mod url;
mod watch;

pub use options::{Password, RedisDurability, RedisOptions, TlsIdentity};
pub use probe::{RedisMode, RedisPersistence, RedisReport};
pub use store::RedisStore;
pub use url::RedisUrlError;
