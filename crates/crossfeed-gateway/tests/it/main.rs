//! The gateway as a whole, over real connections on this machine.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

mod pairs;
mod world;
