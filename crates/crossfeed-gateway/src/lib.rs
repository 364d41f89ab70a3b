//! A gateway between any MCP client and any MCP servers, whose clients can pass one tool's output
//! straight to another.
//!
//! It forwards JSON-RPC messages between clients and servers, over standard input and output or over HTTP,
//! byte for byte, except those about tools: their lists admit references, their calls are resolved, their
//! results are kept and shown. `crossfeed-cli` reads the environment and the arguments of a command.
//!
//! # What holds
//!
//! - Of a message only the envelope is read. What is not opened is passed on byte for byte, in order.
//! - Nothing is dropped in silence: what cannot be passed on is answered with an error.
//! - What one client recorded is out of reach for every other.
//! - What a reference brings in is checked against the flow rules before anything leaves.

pub mod bridge;
pub mod budget;
pub mod claim;
pub mod config;
pub mod downstream;
pub mod export;
pub mod hub;
pub mod import;
pub mod line;
pub mod message;
pub mod metrics;
pub mod noted_blobs;
pub mod port;
pub mod principal;
pub mod protocol;
pub mod quota;
pub mod root_directory;
pub mod tools;
pub mod upstream;
pub mod watchdog;

mod apart;
mod lookalike;
mod members;
mod pattern;
mod private_file;
mod records;
mod replica;
mod sync;
#[cfg(unix)]
mod wide;
mod withhold;

pub use protocol::Revision;
