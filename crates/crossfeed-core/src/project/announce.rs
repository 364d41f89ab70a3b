//! The schema that is announced with a projected value: only one that the value was validated against.

use super::infer_schema;
use crate::{
    select::{AnsweringView, SelectReport},
    shape::Shape,
    validate::{InputSchema, Schemas, Steps},
};
use crossfeed_jmespath::Expression;
use crossfeed_json::Document;
use crossfeed_output_schema::projected_schema;
use crossfeed_projection::{Diagnostic, DiagnosticKind, Path, Projection, RevealRules, Step};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::sync::Arc;

/// The most bytes of a value that is validated: that reads all of it, in some ten times the memory.
const JUDGED_BYTES: usize = 32 << 20;

/// How the values of a schema were projected.
pub(crate) struct ProjectionContext<'a> {
    /// The selector that picked the value, if there was one.
    pub(crate) selected: Option<&'a SelectReport>,
    pub(crate) projection: &'a Projection,
    pub(crate) rules: &'a Arc<RevealRules>,
}

/// A schema, or why there is none. The reason names nothing that is never revealed.
pub(crate) type AnnouncedSchema = Result<Value, Diagnostic>;

/// The schema of a projected value, which the value was validated against.
pub(crate) fn announced(
    schema: &Value,
    asked: &ProjectionContext<'_>,
    value: &Document,
    schemas: &Schemas,
) -> AnnouncedSchema {
    let none = |cause: String| no_schema(&cause, asked.rules);
    if value.raw().len() > JUDGED_BYTES {
        return Err(none("the value is too large to be judged".to_owned()));
    }
    let schema = projected(schema, asked).map_err(none)?;
    let compiled = schemas
        .get(&schema)
        .map_err(|error| none(format!("that of the outcome cannot be used: {error}")))?;
    let value = value.root().ok().and_then(|root| root.to_value().ok());
    let beyond = || none("the value holds a number beyond 64-bit floats".to_owned());
    let value = value.ok_or_else(beyond)?;
    let mut steps = compiled.steps(&value);
    match compiled.accepts(&value, &mut steps) {
        Ok(true) => Ok(schema),
        Ok(false) => Err(breaks_schema(&value, &compiled, &mut steps)),
        Err(_) => Err(none("it takes too much to judge the value".to_owned())),
    }
}

/// Says why no schema is announced, unless that would name something that is never revealed.
fn no_schema(cause: &str, rules: &RevealRules) -> Diagnostic {
    let mut message = "no schema is announced".to_owned();
    if !rules.mentions_never(cause) {
        message.push_str(": ");
        message.push_str(cause);
    }
    Diagnostic::new(DiagnosticKind::NoSchema, "", message)
}

/// Says where a projected value violates its schema. Both lack everything that is never revealed.
fn breaks_schema(value: &Value, schema: &InputSchema, steps: &mut Steps) -> Diagnostic {
    let mut message =
        "the result does not fit the schema of its tool's output: no schema is announced"
            .to_owned();
    let mut path = String::new();
    // Explaining a mismatch may cost more than detecting it.
    if let Ok(Some(finding)) = schema.first_finding(value, steps) {
        let found = value.pointer(finding.at.as_str()).unwrap_or(&Value::Null);
        let (expected, found) = (&finding.expected, Shape::from_value(found));
        message = format!("{message}: expected {expected}, found {found}");
        path = path_of(value, &finding.at);
    }
    Diagnostic::new(DiagnosticKind::BreaksSchema, path, message)
}

/// A place of a value, as paths are written; empty for the root.
fn path_of(value: &Value, at: &Pointer) -> String {
    let mut steps = Vec::new();
    let mut around = Some(value);
    for token in at.tokens() {
        let (step, next) = match around {
            Some(Value::Array(items)) => match token.parse() {
                Ok(index) => (Step::Index(index), items.get(index)),
                Err(_) => break,
            },
            Some(Value::Object(members)) => {
                let next = members.get(&token);
                (Step::Key(token), next)
            }
            _ => break,
        };
        steps.push(step);
        around = next;
    }
    Path::from_steps(steps).map_or_else(|_| String::new(), |path| path.to_string())
}

/// The schema of a projected value, or why it is unknown.
fn projected(schema: &Value, asked: &ProjectionContext<'_>) -> Result<Value, String> {
    let of = |schema: &Value, projection: &Projection| {
        projected_schema(schema, projection).map_err(|error| error.to_string())
    };
    let Some(selected) = asked.selected else {
        return of(schema, asked.projection);
    };
    let unknown = || "that of what the selector gives is unknown".to_owned();
    if selected.view != AnsweringView::Canonical {
        return Err(unknown());
    }
    // A selector sees the redacted value.
    let seen = of(
        schema,
        &Projection::new().with_rules(Arc::clone(asked.rules)),
    )?;
    let expression = Expression::parse(&selected.evaluated).map_err(|_| unknown())?;
    let given = infer_schema(&seen, &expression).ok_or_else(unknown)?;
    of(&given, asked.projection)
}
