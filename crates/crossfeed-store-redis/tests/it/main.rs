//! The store against servers that the tests start on this machine. Without `redis-server` they are skipped aloud, unless
//! `CROSSFEED_REQUIRE_REDIS=1` makes that a failure.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unreachable,
    reason = "a test fails by panicking"
)]

mod blobs;
mod conformance;
mod failover;
mod faults;
mod model;
mod probe;
mod tenants;
mod tls;
mod waits;
