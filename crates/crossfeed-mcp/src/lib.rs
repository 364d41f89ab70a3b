//! Projection of tool results over MCP, the place of a request in a trace, and the clients that are known.
//!
//! What comes in: a tool's result as bytes, what its definition says, and the parameters of the
//! call. What goes out: the result as the client asked for it, and metadata that says so; or the
//! whole result, and why; and the parameters with the trace that they are sent on in. Deliberately not
//! here: transport, and projecting itself.
//!
//! # What holds
//!
//! - What was not applied is not claimed, and nothing is refused: a request that cannot be followed
//!   gives the whole result.
//! - `content` and `structuredContent` agree.
//! - What never-rules hide leaves through no result, whatever was asked for: it is taken out first.
//! - What another said under our keys is not passed on.
//! - Bytes outside what changed stay as they came.

mod annotation;
mod capability;
mod clients;
mod mode;
mod reply;
mod request;
mod result;
mod trace;

#[cfg(test)]
mod tests;

pub use annotation::Annotation;
pub use capability::Capability;
pub use clients::{Client, Shows};
pub use mode::Mode;
pub use reply::Reply;
pub use request::{Request, RequestError};
pub use result::{Projected, Projector, ResultError, Tool};
pub use trace::{MAX_BAGGAGE, TraceMeta};

/// The key of everything that is said about projection, in `_meta` and in capabilities.
pub const KEY: &str = "dev.crossfeed/projection";
/// The key as requests and capabilities may have it, too. Where both are there, ours counts.
pub const BARE_KEY: &str = "projection";
