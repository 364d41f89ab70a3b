//! Messages as lines: what standard input and output speak, on both sides of the gateway.
//!
//! What comes in: bytes of a peer, in any pieces, of any length. What goes out: whole lines, each within a
//! limit, and of a line beyond it what is needed to answer; and messages as lines, many at once.
//! Deliberately not here: whether a line is a message, and what is done when it is not.

mod reader;
mod skim;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::{Line, LineReader};
pub use skim::{Skim, Skimmed};
pub use writer::LineWriter;
pub(crate) use writer::put_line;
