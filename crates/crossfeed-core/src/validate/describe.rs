//! Describes the demands of a schema, in words that a model can act on. The schema's own values may be shown;
//! the data's may not.

use crate::error::cut;
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

/// The most characters of one description.
const MAX_CHARS: usize = 200;

/// Whether another JSON type could fit at the place of the error.
pub(super) fn is_type(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        Kind::Type { .. }
            | Kind::AnyOf { .. }
            | Kind::OneOfNotValid { .. }
            | Kind::Enum { .. }
            | Kind::Constant { .. }
    )
}

/// The expected value.
pub(super) fn expected(error: &ValidationError<'_>) -> String {
    let text = match error.kind() {
        Kind::Type { kind } => types(kind),
        Kind::Required { property } => format!("a property {property}"),
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("one of {}", join(options.iter().map(Value::to_string))),
            None => format!("one of {options}"),
        },
        Kind::Constant { expected_value } => expected_value.to_string(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let mut alternatives = Vec::new();
            for error in context.iter().filter_map(|branch| branch.first()) {
                let alternative = expected(error);
                if !alternatives.contains(&alternative) {
                    alternatives.push(alternative);
                }
            }
            join(alternatives.into_iter())
        }
        Kind::OneOfMultipleValid { .. } => "exactly one of the alternatives".to_owned(),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = unexpected.iter().map(|name| format!("`{name}`"));
            format!("no property {}", join(names))
        }
        Kind::FalseSchema => "nothing".to_owned(),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number below {limit}"),
        Kind::Pattern { pattern } => format!("a string that matches `{pattern}`"),
        Kind::UniqueItems => "items that are all different".to_owned(),
        other => format!("what `{}` asks for", other.keyword()),
    };
    cut(&text, MAX_CHARS).into_owned()
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => join(several.iter().map(|t| t.to_string())),
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" or ")
}
