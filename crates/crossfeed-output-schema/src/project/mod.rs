//! Projects a schema: every instance, once projected, is valid by the projected schema, which is in the same
//! dialect.
//!
//! # Invariants
//!
//! - Correct before strict: an assertion goes if its effect on the projected value is unknown.
//! - Each pair of a reference's target and a way to cut it gets one definition, under `$defs`
//!   (`definitions` before 2019-09). Both are finite, so recursion ends; values are counted, so growth is
//!   bounded.
//! - Every `$id` and anchor within goes, because the schema now describes another value. All references
//!   are JSON Pointers into the definitions.

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

/// Projects a schema: a value that is valid by `schema` is, once projected, valid by the outcome
/// (`specs/projection.md`).
///
/// The dialect and `$schema` stay. If the projection keeps everything, the outcome is the schema itself. A
/// schema that is invalid only in unused definitions is read without them.
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
/// let projection = Projection::new().with_include(PathTree::new(Path::parse_list("id")?));
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
/// left out, with everything that would be wrong without it.
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

/// A valid schema: without its unused definitions, if they are its only fault.
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
