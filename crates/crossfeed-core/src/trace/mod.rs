//! Telemetry: what the stages say of themselves, and to whom.
//!
//! What comes in: what a stage did. What goes out: `tracing` spans and events, and figures for a host's
//! [`Telemetry`]. Deliberately not here: OpenTelemetry itself. `specs/telemetry.md` lists every name.
//!
//! # What holds
//!
//! Shapes and ids, never payload: no value of a result or an argument, no literal of a selector, no
//! message.

mod telemetry;

pub use telemetry::{Attribute, AttributeValue, Instrument, Telemetry};
