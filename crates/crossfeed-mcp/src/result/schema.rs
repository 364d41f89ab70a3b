//! The schema that is announced with a projected result.

use crossfeed_json::Document;
use crossfeed_output_schema::projected_schema;
use crossfeed_projection::{Diagnostic, DiagnosticKind, Projection};
use crossfeed_schema::compile;
use serde_json::Value;

/// The projected schema, if the projected value is valid by it; else why there is none. This also detects a
/// result that breaks its own schema.
pub(super) fn announced(
    schema: &Value,
    projection: &Projection,
    projected: &[u8],
) -> Result<Value, Diagnostic> {
    let none = |message: String| Diagnostic::new(DiagnosticKind::NoSchema, "", message);
    let announced =
        projected_schema(schema, projection).map_err(|error| none(error.to_string()))?;
    let validator = compile(&announced).map_err(|error| none(error.to_string()))?;
    let document = Document::new(projected.to_vec());
    let value = document.root().ok().and_then(|root| root.to_value().ok());
    let value =
        value.ok_or_else(|| none("a number of the result is beyond a 64-bit float".to_owned()))?;
    if validator.is_valid(&value) {
        return Ok(announced);
    }
    Err(Diagnostic::new(
        DiagnosticKind::BreaksSchema,
        "",
        "the result does not fit the output schema of its tool, so no schema is announced",
    ))
}
