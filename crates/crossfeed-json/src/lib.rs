//! A JSON document as untouched bytes with a structural index, built once, when first needed.
//! [`Cursor`]s borrow its values; [`Edits`] change single bytes of it.
//!
//! # Invariants
//!
//! - The bytes of a [`Document`] never change, and writing a value copies the bytes it came with.
//! - A document is strict JSON (RFC 8259, UTF-8) or an error says at which byte it is not.
//! - Reading is iterative or bounded by [`MAX_DEPTH`]; no input overflows the stack.
//! - A key that occurs twice in an object has the place of the first and the value of the last occurrence, in
//!   look-ups, in iteration and in output.

mod build;
mod chars;
mod cursor;
mod depth;
mod document;
mod edits;
mod index;
mod keys;
mod lex;
mod number;
mod prune;
mod rewrite;
mod scan;
mod string;
mod tables;
mod tokens;
mod value;
mod word;
mod write;

#[cfg(test)]
mod tests;

pub use chars::{count_chars, indexing_bytes};
pub use cursor::{Cursor, Items, Key, Kind, Prediction, WrittenMember};
pub use depth::{dismantle, is_deeper};
pub use document::{Document, JsonError, JsonErrorKind, MAX_DEPTH};
pub use edits::{Edits, Removals, object};
pub use number::{compare as compare_numbers, is_number, short as short_number};
pub use prune::{Prune, cuts, without};
pub use rewrite::Change;
pub use string::{Origins, escape_into, quoted, unescape};
pub use tables::{ColumnRequest, Rows, Tables};
pub use tokens::{RawString, TokenVisitor, read_tokens};
pub use value::{NumberOutOfRange, number as number_value};
