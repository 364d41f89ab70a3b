//! Keeps results and artifacts in Redis or Valkey, for any number of processes.
//!
//! # Invariants
//!
//! - Each operation is one script on one session, so others see it as a whole or not at all.
//! - A request that failed half-way leaves only data that expires by itself.
//! - A server that cannot answer is an error within the time limit, never "absent".

mod answer;
mod artifacts;
mod blobs;
mod connection;
mod fault;
mod header;
mod leases;
mod metrics;
mod options;
mod probe;
mod results;
mod script;
mod state;
mod store;
mod tenant;
mod url;
mod watch;

pub use metrics::{LATENCY_BOUNDS, OperationMetrics, RedisMetrics};
pub use options::{Durability, Password, RedisOptions};
pub use probe::{RedisMode, RedisPersistence, RedisReport};
pub use store::RedisStore;
pub use url::RedisUrlError;
