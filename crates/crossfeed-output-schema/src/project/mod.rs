//! Makes the schema of what a projection leaves of the instances of a schema: in the same dialect, and such
//! that every projected instance is valid by it.
//!
//! # Invariants
//!
//! - True before tight: where it cannot be told what an assertion becomes, it goes.
//! - A schema is made once for each pair of what a reference leads to and what happens there, under
//!   `$defs` (`definitions` before 2019-09). Both are finite, so recursion ends; what is made is
//!   counted, so growth does, too.
//! - Every `$id` and anchor within goes: what the schema is about is another value now. All
//!   references are JSON Pointers into the definitions.

mod applied;
mod cuts;
mod definitions;
mod error;
mod links;
mod list;
mod make;
mod object;
mod parts;
mod value;

#[cfg(test)]
mod tests;

pub use error::NoProjectedSchema;
pub use parts::{is_anything, values_in, without_unused_definitions};

use crossfeed_projection::Projection;
use crossfeed_schema::{Dialect, SchemaError, checked, index::Index};
use cuts::{CutId, Cuts};
use serde_json::Value;
use std::borrow::Cow;

/// Gives the schema of what a projection leaves of the instances of a schema: whatever is valid by
/// `schema` is, projected, valid by the outcome (`specs/projection.md`).
///
/// The dialect stays, and `$schema` with it; of a projection that leaves everything the outcome is
/// the schema itself. Where the schema cannot be judged by because of definitions that nothing
/// refers to, it is read without them.
///
/// # Errors
///
/// [`NoProjectedSchema`] where the schema is invalid, or the outcome would be too large.
///
/// ```
/// use crossfeed_projection::{Path, PathTree, Projection};
/// use crossfeed_output_schema::projected_schema;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"id": {"type": "integer"}, "body": {"type": "string"}},
///     "required": ["id", "body"],
/// });
/// let projection = Projection::new().with_include(PathTree::of(Path::parse_list("id")?));
/// let projected = projected_schema(&schema, &projection)?;
/// assert_eq!(
///     projected,
///     json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn projected_schema(
    schema: &Value,
    projection: &Projection,
) -> Result<Value, NoProjectedSchema> {
    let (schema, dialect, index) = judged(schema)?;
    if projection.is_everything() {
        Ok(schema.into_owned())
    } else {
        make::made(&schema, dialect, &index, projection)
    }
}

/// Gives a schema that means the same, in which every reference is `#/$defs/NAME` (`definitions`
/// before 2019-09), and no `$id` or anchor is left: its parts mean the same wherever they are put, as
/// long as the definitions go with them. A reference whose target depends on how it was reached is
/// left out, and what would be wrong without it.
///
/// # Errors
///
/// [`NoProjectedSchema`], as for [`projected_schema`].
pub fn flat_schema(schema: &Value) -> Result<Value, NoProjectedSchema> {
    let (schema, dialect, index) = judged(schema)?;
    let everything = Projection::new();
    let (cuts, _) = Cuts::new(&everything);
    make::made_with(&schema, dialect, &index, cuts, CutId::WHOLE, false)
}

/// A schema that can be judged by. What is wrong may be nothing that is in use: then it is left out.
fn judged(schema: &Value) -> Result<(Cow<'_, Value>, Dialect, Index), SchemaError> {
    match checked(schema) {
        Ok((dialect, index)) => Ok((Cow::Borrowed(schema), dialect, index)),
        Err(error) => {
            let used = without_unused_definitions(schema.clone());
            let (dialect, index) = checked(&used).map_err(|_| error)?;
            Ok((Cow::Owned(used), dialect, index))
        }
    }
}
