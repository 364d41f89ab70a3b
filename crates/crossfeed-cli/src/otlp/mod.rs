//! Delivers telemetry over OTLP/HTTP, in builds with the feature `otlp`.

#[cfg(feature = "otlp")]
mod delivery;
#[cfg(not(feature = "otlp"))]
mod disabled;

#[cfg(feature = "otlp")]
pub(crate) use delivery::{Delivery, Endpoint};
#[cfg(not(feature = "otlp"))]
pub(crate) use disabled::{Delivery, Endpoint};
