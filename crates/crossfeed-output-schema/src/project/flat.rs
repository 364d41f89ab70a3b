//! A schema with all that is referred to under its definitions.

use super::{
    NoProjectedSchema,
    cuts::{CutId, Cuts},
    judged, make,
};
use crossfeed_projection::Projection;
use serde_json::Value;

/// Gives a schema that means the same, in which every reference is `#/$defs/NAME` (`definitions`
/// before 2019-09), and no `$id` or anchor is left: its parts mean the same wherever they are put, as
/// long as the definitions go with them. A reference whose target depends on how it was reached is
/// left out, and what would be wrong without it.
///
/// # Errors
///
/// [`NoProjectedSchema`], as for [`super::projected_schema`].
pub fn flat_schema(schema: &Value) -> Result<Value, NoProjectedSchema> {
    let (schema, dialect, index) = judged(schema)?;
    let everything = Projection::new();
    let (cuts, _) = Cuts::of(&everything);
    make::made_with(&schema, dialect, &index, cuts, CutId::WHOLE, false)
}
