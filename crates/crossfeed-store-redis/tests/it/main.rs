//! The store against servers that the tests start on this machine. Without `redis-server` they are skipped aloud, unless
//! `CROSSFEED_REQUIRE_REDIS=1` makes that a failure.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unreachable,
    reason = "a test fails by panicking"
)]

mod accounts;
mod blobs;
mod clocks;
mod conformance;
mod damage;
mod disks;
mod failover;
mod faults;
mod losses;
mod model;
mod partitions;
mod probe;
mod resent;
mod splits;
mod tenants;
mod tls;
mod waits;
