//! Comparisons of values of different kinds, which JMESPath takes for unequal and puts in no order.

use super::super::query::{Operator, Query};
use crate::error::Dialect;

/// The kinds of values in the order of jq.
const KINDS: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// A comparison that says the same as the dialect for any values; `strictly` is JavaScript's `===`.
pub(in super::super) fn compared(
    dialect: Option<Dialect>,
    comparison: Query,
    strictly: bool,
) -> Option<Query> {
    let exact = match &comparison {
        Query::Binary(Operator::Comparison(sign), left, right) => {
            let (kinds, is_order) = ((kind(left), kind(right)), !matches!(*sign, "==" | "!="));
            let is_script = matches!(dialect, Some(Dialect::JavaScript | Dialect::Lodash));
            let is_other = match dialect {
                Some(Dialect::Jq | Dialect::Python) => is_order,
                _ => is_script && (is_order || !strictly),
            };
            if !is_other || kinds.0.is_some() && kinds.0 == kinds.1 {
                return Some(comparison);
            }
            let (value, sign, constant) = match (&**left, &**right) {
                (constant @ Query::Constant(_), value) => (value, mirrored(sign), constant),
                (value, constant) => (value, *sign, constant),
            };
            let same = comparison.repeated()?;
            match (constant, kind(constant)) {
                (Query::Constant(_), Some("null" | "array" | "object")) => return Some(comparison),
                (Query::Constant(_), Some(kind)) if !is_order => {
                    let kinds = Query::literal(&format!("[\"{kind}\",\"null\"]"));
                    let is_such = Query::Call("contains", vec![kinds, type_of(value)?]);
                    chosen(is_such, same, Query::unlike())
                }
                (Query::Constant(text), Some(kind @ ("number" | "string"))) => {
                    let otherwise = match dialect {
                        Some(Dialect::Jq) => in_order_of_kinds(value, sign, kind)?,
                        Some(Dialect::Python) => Query::unlike(),
                        _ => {
                            let is_null = value.repeated()?.compare("==", Query::literal("null"));
                            let nothing = nothing_compared(value, sign, text)?;
                            chosen(is_null, nothing, Query::unlike())
                        }
                    };
                    let is_such = type_of(value)?.compare("==", Query::text(kind));
                    chosen(is_such, same, otherwise)
                }
                _ => {
                    let are_alike = type_of(left)?.compare("==", type_of(right)?);
                    let others = if is_order {
                        let kinds = Query::literal("[\"number\",\"string\"]");
                        let is_such = Query::Call("contains", vec![kinds, type_of(left)?]);
                        Query::Binary(Operator::And, are_alike.into(), is_such.into())
                    } else {
                        let null = || Query::literal("null");
                        let is_null = left.repeated()?.compare("==", null());
                        let is_null = is_null.or(right.repeated()?.compare("==", null()));
                        are_alike.or(is_null)
                    };
                    chosen(others, same, Query::unlike())
                }
            }
        }
        _ => return Some(comparison),
    };
    Some(Query::Exactly(comparison.into(), exact.into()))
}

fn chosen(condition: Query, then: Query, otherwise: Query) -> Query {
    Query::Choice(condition.into(), then.into(), otherwise.into())
}

fn type_of(value: &Query) -> Option<Query> {
    Some(Query::Call("type", vec![value.repeated()?]))
}

fn mirrored(sign: &'static str) -> &'static str {
    match sign {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

/// The kind of a value, where it is known.
fn kind(query: &Query) -> Option<&'static str> {
    match query {
        Query::Constant(text) => {
            let json = text.trim_matches('`').trim_start();
            Some(match json.bytes().next()? {
                b'\'' | b'"' => "string",
                b't' | b'f' => "boolean",
                b'n' => "null",
                b'[' => "array",
                b'{' => "object",
                _ => "number",
            })
        }
        Query::Call("length" | "sum" | "abs" | "floor" | "ceil", _) => Some("number"),
        Query::Call("type" | "join" | "to_string", _) => Some("string"),
        Query::Exactly(plain, _) => kind(plain),
        other => other.is_condition().then_some("boolean"),
    }
}

/// What jq says of a value that is not of the kind that it is compared with.
fn in_order_of_kinds(value: &Query, sign: &str, kind: &str) -> Option<Query> {
    let at = KINDS.iter().position(|other| *other == kind)?;
    let (smaller, larger) = (KINDS.get(..at)?, KINDS.get(at + 1..)?);
    let kinds = if sign.starts_with('<') {
        smaller
    } else {
        larger
    };
    let kinds = Query::literal(&format!("[\"{}\"]", kinds.join("\",\"")));
    Some(Query::Call("contains", vec![kinds, type_of(value)?]))
}

/// What JavaScript says of a null, which counts as 0, and of a member that is missing, which is never in order.
fn nothing_compared(value: &Query, sign: &str, constant: &str) -> Option<Query> {
    let text = constant.trim_matches(['`', '\'']).trim();
    let number = if text.is_empty() {
        Some(0.0)
    } else {
        text.parse::<f64>().ok()
    };
    let is_true = number.is_some_and(|number| match sign {
        "<" => 0.0 < number,
        "<=" => 0.0 <= number,
        ">" => 0.0 > number,
        _ => 0.0 >= number,
    });
    let none = Query::literal("false");
    Some(match value {
        _ if !is_true => none,
        Query::Field(base, name) => {
            let is_there = base.repeated()?.has_member(name);
            chosen(is_there, Query::unlike(), none)
        }
        _ => Query::unlike(),
    })
}
