//! JSON as untouched bytes, indexed on first use: what results and artifacts hold.
//!
//! ```
//! use crossfeed::json::{Document, Kind};
//!
//! let document = Document::new(r#"{"items": [{"price": 1.50}]}"#);
//! let root = document.root()?;
//! assert_eq!(root.kind(), Kind::Object);
//!
//! // A value is a cursor into the bytes, so numbers keep their digits.
//! let price = root.get("items").and_then(|items| items.at(0)).and_then(|item| item.get("price"));
//! assert_eq!(price.map(|price| price.raw()), Some(&b"1.50"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_json::{
    Cursor, Document, Items, JsonError, JsonErrorKind, Key, Kind, MAX_DEPTH, NumberOutOfRange,
};
