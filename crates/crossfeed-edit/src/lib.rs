//! Edits of a JSON document that keep every other byte: JSON Patch ([RFC 6902]), JSON Merge Patch
//! ([RFC 7396]), and replacements in a text.
//!
//! A [`Patch`], a [`Merge`] or [`TextEdits`] is read from JSON and applied to a
//! [`Cursor`](crossfeed_json::Cursor). The outcome is the bytes of the new document, or an [`EditError`] that
//! says which operation is wrong and what to do instead. The rules are in `specs/edits.md`.
//!
//! # Invariants
//!
//! - An edit is made as a whole or not at all.
//! - Every byte outside the values that an edit names stays: blanks, digits, escapes, the order of keys, other
//!   duplicate keys. What an edit brings is written without blanks, in the style of its neighbours.
//! - The same edit of the same bytes has the same outcome.
//! - Time, memory, depth and output are bounded by [`EditLimits`], whatever the edit and the document are. The
//!   document itself is not taken apart: the cost of a change is a look-up and a copy of the bytes.
//!
//! # Withheld
//!
//! A host may withhold members and items of the document from whoever wrote the edit. It passes a predicate,
//! which is asked about the values of the original document only.
//!
//! - What is withheld is absent: look-ups fail as if it was not there, `test` compares without it, indexes of
//!   lists count the other items, and a merge with `null` does nothing to it.
//! - What is withheld keeps its bytes and its place. A change that would replace, remove, copy or move it, or a
//!   value that holds it, is [`EditErrorKind::NotAllowed`]; so is one that sets its key, and one that inserts or
//!   removes an item of a list before it, since its index would be another.
//! - If one of duplicate members is withheld, all are.
//!
//! ```
//! use crossfeed_edit::{EditErrorKind, EditLimits, Merge};
//! use crossfeed_json::{Cursor, Document};
//! use serde_json::json;
//!
//! let document = Document::new(r#"{"user": {"name": "Ann", "password": "p"}}"#);
//! let is_withheld = |value: Cursor<'_>| value.has_key("password");
//! let limits = EditLimits::default();
//! let merge = |merge| {
//!     let merge = Merge::read(&merge, &limits)?;
//!     merge.apply(document.root().unwrap(), Some(&is_withheld), &limits)
//! };
//!
//! let outcome = merge(json!({"user": {"name": "Bob", "password": null}}))?;
//! assert_eq!(outcome, r#"{"user": {"name": "Bob", "password": "p"}}"#);
//! let error = merge(json!({"user": {"password": "q"}})).unwrap_err();
//! assert_eq!(error.kind, EditErrorKind::NotAllowed);
//! assert_eq!(error.to_string(), "at `/user/password`: this change is not allowed here");
//! # Ok::<(), crossfeed_edit::EditError>(())
//! ```
//!
//! [RFC 6902]: https://www.rfc-editor.org/rfc/rfc6902
//! [RFC 7396]: https://www.rfc-editor.org/rfc/rfc7396

mod compare;
mod error;
mod limits;
mod looks;
mod merge;
mod patch;
mod source;
mod text;
mod tree;

pub use error::{EditError, EditErrorKind, Limit};
pub use limits::EditLimits;
pub use merge::Merge;
pub use patch::Patch;
pub use text::{NearestPassage, Occurrence, TextEdits};

/// Decides whether a member or an item of the original document is withheld.
pub type IsWithheld<'p> = &'p dyn Fn(crossfeed_json::Cursor<'_>) -> bool;
