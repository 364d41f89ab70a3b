//! Traces: spans, events and links that say what stages did, with shapes and ids, never payload.
//!
//! No value of a result or an argument, no literal of a selector, no message of a call appears.
//! Without a subscriber nothing is built. `specs/telemetry.md` lists every name.

mod call;
mod flow;
mod record;
mod resolution;
mod stage;
mod store;
mod validate;

pub(crate) use call::CallTrace;
pub(crate) use record::RecordTrace;
pub(crate) use resolution::ResolutionTrace;
pub(crate) use stage::staged;
pub(crate) use store::TracedStore;
pub(crate) use validate::validated;
