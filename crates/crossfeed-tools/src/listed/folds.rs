//! Turns JSON text in folded places into data, where the shown schema asked for it.
//!
//! A string stays a string if the tool accepts it as one, even if it looks like JSON.

use super::branch::{may_hold, tells};
use crate::{Names, decode, is_fold, profile::decoded_values};
use crossfeed_schema::Position;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Parses JSON text where the shown schema asked for it; calls `take` before it builds the values of a text.
/// `names` maps shown names to the tool's own.
pub(super) fn open<E>(
    names: &Names,
    (shown, own): (&Position<'_>, &Position<'_>),
    value: &mut Value,
    take: &mut impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) if shown.schemas().any(is_fold) => {
            // Its bytes were counted with those of the arguments.
            take(decoded_values(text), 0)?;
            if let Some(decoded) = meant(shown, own, value) {
                *value = decoded;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                open(names, (&shown.item(index), &own.item(index)), item, take)?;
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                if matches!(value, Value::Null | Value::Bool(_) | Value::Number(_)) {
                    continue;
                }
                let own = own.member(names.original_or(own, key));
                open(names, (&shown.member(key), &own), value, take)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The value that a text in a folded place stands for; `None` where it is a string.
fn meant(shown: &Position<'_>, own: &Position<'_>, written: &Value) -> Option<Value> {
    let text = written.as_str()?;
    let decoded = decode(text)?;
    if !may_hold(own, written) {
        return Some(decoded);
    }
    let is_meant = match &decoded {
        Value::String(_) => true,
        Value::Array(_) | Value::Object(_) => may_hold(own, &decoded) && keeps_its_digits(text),
        // The model would have written a value plainly if the shown schema accepts it so.
        scalar => {
            // Null has a place where a folded one may be null.
            let may_be_null = |schema: &Value| is_fold(schema) && tells(schema, &Value::Null);
            let has_place = scalar.is_null() && shown.schemas().any(may_be_null);
            let mut others = shown.schemas().filter(|schema| !is_fold(schema));
            let fits = || {
                if scalar.is_null() {
                    own.keeps_null()
                } else {
                    may_hold(own, scalar)
                }
            };
            !has_place
                && !others.any(|schema| tells(schema, scalar) || tells(schema, written))
                && fits()
                && keeps_its_digits(text)
        }
    };
    is_meant.then_some(decoded)
}

/// Whether every number of a JSON text is the same number once it is read: one of more than 64 bits
/// is not.
fn keeps_its_digits(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        let (_, found) = rest.split_at(at);
        rest = match found.strip_prefix('"') {
            Some(inside) => after_string(inside),
            None => {
                let end = found.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)));
                let (number, after) = found.split_at(end.unwrap_or(found.len()));
                let read = serde_json::from_str::<Number>(number);
                let is_same = read.is_ok_and(|read| {
                    let read = read.to_string();
                    crossfeed_json::compare_numbers(&read, number) == Ordering::Equal
                });
                if !is_same {
                    return false;
                }
                after
            }
        };
    }
    true
}

/// What follows a string, of which the first quote is gone.
fn after_string(text: &str) -> &str {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '"' => return text.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::keeps_its_digits;

    fn check(text: &str, keeps: bool) {
        assert_eq!(keeps_its_digits(text), keeps, "{text}");
    }

    #[test]
    fn digits_beyond_64_bits_are_seen() {
        for text in [
            "1",
            "-7",
            "1.10",
            "1e3",
            "0.1",
            "18446744073709551615",
            "-9223372036854775808",
            "[1, \"12345678901234567890123\", {\"a\\\"1\": 2}]",
            "true",
            "\"\\\\\"",
        ] {
            check(text, true);
        }
        for text in [
            "12345678901234567890123",
            "0.1000000000000000055511151231257827",
            "[1, 12345678901234567890123]",
            "{\"a\": \"x\", \"b\": -0.12345678901234567890}",
        ] {
            check(text, false);
        }
    }
}
