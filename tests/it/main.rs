//! The integration tests of the workspace, in one binary: a module per theme.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and so do the helpers that they share"
)]

mod architecture;
mod bytes;
mod calls;
mod client_specs;
mod costs;
mod dependencies;
mod differential;
mod docs;
mod engine_traces;
mod facade;
mod false_alarms;
mod hostile;
mod hostile_texts;
mod introspection;
mod javascript;
mod jmespath_suite;
mod laws;
mod mistakes;
mod near_misses;
mod own_suite;
mod projection_laws;
mod projection_specs;
mod queries;
mod schema_specs;
mod schemas;
mod shared_calls;
mod specs;
mod support;
mod telemetry;
mod tool_lists;
mod tools;
mod valid;
mod view_specs;
mod views;
