//! Messages as lines, as standard input and output carry them on both sides of the gateway.
//!
//! Of a line beyond the limit, only what is needed to answer it is kept.

mod reader;
mod skim;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::{Line, LineReader};
pub use skim::{MessageSummary, Skim};
pub use writer::LineWriter;
pub(crate) use writer::Pieces;
