//! Spans, events and links of the stages, with shapes and ids, never payload: no value of a result or an argument,
//! no literal of a selector, no message of a call.
//!
//! Without a subscriber nothing is built. `specs/telemetry.md` lists every name.

mod call;
mod flow;
mod record;
mod resolution;
mod stage;
mod store;

pub(crate) use call::CallTrace;
pub(crate) use record::RecordTrace;
pub(crate) use resolution::ResolutionTrace;
pub(crate) use stage::{staged, validated};
pub(crate) use store::{TracedStore, traced_lease};
