//! Telemetry, end to end: what a receiver of OTLP decodes from a pipeline that strips.

mod laws;
mod load;
mod logs;
mod nesting;
mod pipeline;
mod receiver;
mod spans;
mod trouble;
