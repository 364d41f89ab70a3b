//! Lossless repairs of types: a string that is the JSON of the demanded value, or a number in place of a
//! string.

use super::{
    cost::Steps,
    {Finding, InputSchema, LineageIndex},
};
use crate::error::ValidationCost;
use crossfeed_json::{Cursor, Document, Kind, compare_numbers, number_value};
use crossfeed_wire::{Pointer, reference::type_name};
use serde_json::Value;
use std::collections::HashSet;

/// Which values may be repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairScope {
    /// None: values are validated as they are.
    Off,
    /// Values that a reference brought in. A model corrects its own.
    #[default]
    References,
    /// Any value of the arguments.
    All,
}

/// A value whose type was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeRepair {
    /// The place in the resolved arguments.
    pub at: Pointer,
    /// The JSON type before.
    pub from: &'static str,
    /// The JSON type that the tool gets.
    pub to: &'static str,
}

/// The most rounds of repairs: a repair may reveal the next mismatch.
const ROUNDS: usize = 3;

/// Repairs types within `scope`; reverts a change that does not help.
pub(super) fn repair(
    arguments: &mut Value,
    schema: &InputSchema,
    links: &LineageIndex<'_>,
    scope: RepairScope,
    steps: &mut Steps,
) -> Result<Vec<TypeRepair>, ValidationCost> {
    let mut repairs = Vec::new();
    let mut tried = HashSet::new();
    for _ in 0..ROUNDS {
        let mut changed = Vec::new();
        let findings: Vec<Finding> = schema.findings(arguments, steps)?.collect();
        for finding in findings {
            let link = links.link(&finding.at);
            // A text with values in it is never read as JSON: a value could add members.
            let is_text = link.is_some_and(|link| link.text.is_some());
            let may = !is_text
                && match scope {
                    RepairScope::Off => false,
                    RepairScope::References => link.is_some(),
                    RepairScope::All => true,
                };
            if !may || !finding.is_type || !tried.insert(finding.at.clone()) {
                continue;
            }
            // The digits are known if the number is the whole value of a reference.
            let digits = link
                .filter(|link| link.at == finding.at)
                .and_then(|link| link.digits.as_deref());
            if let Some(place) = arguments.pointer_mut(finding.at.as_str())
                && let Some(converted) = convert(place, digits)
            {
                let before = std::mem::replace(place, converted);
                changed.push((finding.at, before));
            }
        }
        if changed.is_empty() {
            break;
        }
        let mut wrong = HashSet::new();
        for finding in schema.findings(arguments, steps)? {
            for place in finding.at.and_around() {
                if !wrong.insert(place.to_owned()) {
                    break;
                }
            }
        }
        for (at, before) in changed {
            let Some(place) = arguments.pointer_mut(at.as_str()) else {
                continue;
            };
            if wrong.contains(at.as_str()) {
                *place = before;
                continue;
            }
            repairs.push(TypeRepair {
                from: type_name(&before),
                to: type_name(place),
                at,
            });
        }
    }
    Ok(repairs)
}

/// The repaired form of a value, or of a list with every item repaired.
pub(crate) fn lossless(value: &Value, digits: Option<&str>) -> Option<Value> {
    match value {
        Value::Array(items) => items.iter().map(|item| convert(item, None)).collect(),
        value => convert(value, digits),
    }
}

/// The same value in another type, if nothing is lost.
fn convert(value: &Value, digits: Option<&str>) -> Option<Value> {
    match value {
        Value::String(text) => lossless_json(text),
        Value::Number(number) => match digits {
            Some(digits) => Some(Value::String(digits.to_owned())),
            // The original digits of a fraction are lost: 1.10 and 1.1 are the same here.
            None if number.is_f64() => None,
            None => Some(Value::String(number.to_string())),
        },
        _ => None,
    }
}

/// The object, list, number or boolean that `text` is the JSON of, if a `Value` holds all of it.
fn lossless_json(text: &str) -> Option<Value> {
    let document = Document::new(text.to_owned());
    let root = document.root().ok()?;
    let demanded = !matches!(root.kind(), Kind::Null | Kind::String);
    let whole = demanded && !root.document_has_duplicates() && keeps_numbers(root);
    whole.then(|| root.to_value().ok())?
}

/// Whether all numbers keep their value in 64 bits. Depth is bounded by the document.
pub(crate) fn keeps_numbers(cursor: Cursor<'_>) -> bool {
    match cursor.as_number() {
        Some(digits) => number_value(digits)
            .is_ok_and(|number| compare_numbers(&number.to_string(), digits).is_eq()),
        None => cursor.items().all(keeps_numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::lossless_json;
    use serde_json::json;

    #[test]
    fn only_what_a_value_holds_is_repaired() {
        assert_eq!(lossless_json("[1, 2]"), Some(json!([1, 2])));
        assert_eq!(lossless_json(" 12 "), Some(json!(12)));
        assert_eq!(lossless_json("true"), Some(json!(true)));
        assert_eq!(lossless_json("0.5"), Some(json!(0.5)));
        assert_eq!(lossless_json("null"), None);
        assert_eq!(lossless_json("\"x\""), None);
        assert_eq!(lossless_json("123456789012345678901234567890"), None);
        assert_eq!(lossless_json("[1e400]"), None);
        assert_eq!(lossless_json("{\"a\": 1, \"a\": 2}"), None);
        assert_eq!(lossless_json("in 2024"), None);
    }
}
