//! What each provider accepts of a tool list, and how a schema is fitted to it.
//!
//! What comes in: schemas that are already rewritten, and tools as they would be sent. What goes
//! out: the schema in the provider's subset ([`narrow`]), what would be refused ([`lint`]), and
//! how much of each limit is used ([`Counts`]). Deliberately not here: choosing a style for each
//! tool of a list, renaming keys, and reading arguments back.

mod count;
mod facts;
mod fold;
mod lint;
mod name;
mod narrow;

pub use count::Counts;
pub use facts::{EnumValues, Facts, Limits, NameRule, Nullable};
pub(crate) use fold::decoded_values;
pub use fold::{decode, fold_schema, is_fold};
pub use lint::{Finding, Severity, ToLint, lint, lint_list};
pub use name::{Profile, UnknownProfile};
pub use narrow::{Dropped, Narrowed, encode, narrow};
