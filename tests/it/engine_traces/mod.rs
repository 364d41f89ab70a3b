//! What the engine says of itself in traces and figures: `specs/telemetry.md`.

mod figures;
mod links;
mod list;
mod payload;
mod pipeline;
mod scenario;
