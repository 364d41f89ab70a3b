//! Projects tool results over MCP, reads and writes the trace context of requests, and describes known clients.
//!
//! # Guarantees
//!
//! - The reply in `_meta` claims only what was applied. A request that cannot be followed gives the whole result, and why.
//! - `content` and `structuredContent` agree.
//! - Never-rules apply first: no request shows what they hide.
//! - Claims of other parties under this crate's keys are removed.
//! - All other bytes stay unchanged.

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

/// The key of projection in `_meta` and in capabilities.
pub const KEY: &str = "dev.crossfeed/projection";
/// An alternative key in requests and capabilities. [`KEY`] has precedence.
pub const BARE_KEY: &str = "projection";
