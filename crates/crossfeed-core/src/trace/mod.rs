//! Telemetry: what the stages say of themselves, and to whom.
//!
//! What comes in: what a stage did. What goes out: `tracing` spans and events, and links and figures
//! for a host's [`Telemetry`]. Deliberately not here: OpenTelemetry itself. `specs/telemetry.md` lists
//! every name.
//!
//! # What holds
//!
//! Shapes and ids, never payload: no value of a result or an argument, no literal of a selector, no
//! message. Where nobody listens, nothing is built.

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
pub(crate) use validate::ValidateTrace;
