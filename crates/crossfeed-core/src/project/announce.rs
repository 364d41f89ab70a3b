//! The schema that is announced with a projected value: only one that the value was judged by.

use super::infer_schema;
use crate::{
    select::{Answered, SelectReport},
    validate::Schemas,
};
use crossfeed_jmespath::Expression;
use crossfeed_json::Document;
use crossfeed_projection::{Diagnostic, DiagnosticKind, Projection, RevealRules};
use crossfeed_schema::projected_schema;
use serde_json::Value;
use std::sync::Arc;

/// The most bytes of a value that is judged: it is read whole for that, in some ten times the memory.
const JUDGED_BYTES: usize = 32 << 20;

/// What was done to the values of a schema.
pub(crate) struct Asked<'a> {
    /// What selected the value, if something did.
    pub(crate) selected: Option<&'a SelectReport>,
    pub(crate) projection: &'a Projection,
    pub(crate) rules: &'a Arc<RevealRules>,
}

/// A schema, or why there is none.
pub(crate) type Announced = Result<Value, Diagnostic>;

/// The schema of a projected value, which is valid by it.
pub(crate) fn announced(
    schema: &Value,
    asked: &Asked<'_>,
    value: &Document,
    schemas: &Schemas,
) -> Announced {
    if value.raw().len() > JUDGED_BYTES {
        return Err(none("the value is too large to be judged by a schema"));
    }
    let schema = projected(schema, asked)?;
    let breaks = |why: &str| Diagnostic::new(DiagnosticKind::BreaksSchema, "", why);
    let compiled = schemas
        .get(&schema)
        .map_err(|_| none("the schema of the outcome cannot be compiled"))?;
    let value = value
        .root()
        .ok()
        .and_then(|root| root.to_value().ok())
        .ok_or_else(|| {
            none("the value cannot be judged: it holds a number beyond 64-bit floats")
        })?;
    let mut steps = compiled.steps(&value);
    match compiled.accepts(&value, &mut steps) {
        Ok(true) => Ok(schema),
        Ok(false) => Err(breaks(
            "the result does not fit the schema of its tool's output: no schema is announced",
        )),
        Err(_) => Err(none("it takes too much to judge the value by its schema")),
    }
}

fn none(why: &str) -> Diagnostic {
    Diagnostic::new(DiagnosticKind::NoSchema, "", why)
}

fn projected(schema: &Value, asked: &Asked<'_>) -> Announced {
    let of = |schema: &Value, projection: &Projection| {
        projected_schema(schema, projection)
            .map_err(|error| none(&format!("no schema of the outcome can be told: {error}")))
    };
    let Some(selected) = asked.selected else {
        return of(schema, asked.projection);
    };
    let untold = || none("no schema of what the selector gives can be told");
    if selected.view != Answered::Canonical {
        return Err(untold());
    }
    // A selector sees the value without what is never revealed.
    let seen = of(
        schema,
        &Projection::new().with_rules(Arc::clone(asked.rules)),
    )?;
    let expression = Expression::parse(&selected.evaluated).map_err(|_| untold())?;
    let given = infer_schema(&seen, &expression).ok_or_else(untold)?;
    of(&given, asked.projection)
}
