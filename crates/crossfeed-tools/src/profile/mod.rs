//! What each provider accepts of a tool list, and how a schema is fitted to it.
//!
//! [`narrow`] cuts a schema to the provider's subset; [`Counts`] says how much of each limit it uses.

mod count;
mod facts;
mod fold;
mod name;
mod narrow;

pub use count::Counts;
pub(crate) use facts::GEMINI_JSON_SCHEMA;
pub use facts::{EnumValues, Facts, Limits, NameRule, Nullable};
pub use fold::{decode, fold_schema, is_fold};
pub(crate) use fold::{decoded_values, is_fold_object};
pub use name::{Profile, UnknownProfile};
pub use narrow::{Dropped, Narrowed, narrow};
