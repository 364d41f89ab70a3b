//! Redis servers for tests: on loopback, on free ports, with their data in temporary folders. They end with the test.
//!
//! Where `redis-server` is not installed, [`is_installed`] says so aloud; with `CROSSFEED_REQUIRE_REDIS=1` that is a
//! failure.

mod group;
mod proxy;
mod server;
mod talk;

pub use group::{Cluster, Replicated};
pub use proxy::{Proxy, Weather};
pub use server::{Server, is_installed};
pub use talk::{Answer, ask};

/// Why a server is not as a test needs it.
pub type Problem = String;
