//! The schema of what a projection leaves of every instance of a schema.
//!
//! What comes in: a schema, and a [`Projection`]. What goes out: a schema in the same dialect that
//! every projected instance is valid by, or why there is none. Deliberately not here: projecting
//! values (the projection crate), and judging whether a value fits its own schema in the first
//! place.
//!
//! # Invariants
//!
//! - True before tight: where it cannot be told what an assertion becomes, it goes.
//! - A schema is made once for each pair of what a reference leads to and what happens there, under
//!   `$defs` (`definitions` before 2019-09). Both are finite, so recursion ends; what is made is
//!   counted, so growth does, too.
//! - No `$id` or anchor is kept within: what the schema is about is another value now. All
//!   references are JSON Pointers into the definitions.

mod applied;
mod cuts;
mod definitions;
mod error;
mod flat;
mod links;
mod list;
mod make;
mod object;
mod value;

#[cfg(test)]
mod tests;

pub use error::NoProjectedSchema;
pub use flat::flat_schema;

use crate::check::checked;
use crossfeed_projection::Projection;
use serde_json::Value;

/// Gives the schema of what a projection leaves of the instances of a schema: whatever is valid by
/// `schema` is, projected, valid by the outcome (`specs/projection.md`).
///
/// The dialect stays, and `$schema` with it; of a projection that leaves everything the outcome is
/// the schema itself.
///
/// # Errors
///
/// [`NoProjectedSchema`] where the schema is none, or the outcome would be too large.
///
/// ```
/// use crossfeed_projection::{Path, PathTree, Projection};
/// use crossfeed_schema::projected_schema;
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
    let (dialect, index) = checked(schema)?;
    if projection.is_everything() {
        return Ok(schema.clone());
    }
    make::made(schema, dialect, &index, projection)
}
