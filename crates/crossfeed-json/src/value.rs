//! The edge to `serde_json::Value`.

use crate::cursor::{Cursor, Kind};
use crate::number::is_number;
use serde_json::{Map, Number, Value};

/// A number that a `serde_json::Value` cannot hold: `1e400`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number of {digits} characters is beyond the range of a 64-bit float")]
pub struct NumberOutOfRange {
    /// Length of the number as it is written.
    pub digits: usize,
}

impl Cursor<'_> {
    /// The value as a `serde_json::Value`: order kept, integers exact to 64 bits, other numbers as
    /// the nearest 64-bit float, lone surrogates as U+FFFD.
    ///
    /// # Errors
    ///
    /// [`NumberOutOfRange`] for a number such as `1e400`.
    pub fn to_value(self) -> Result<Value, NumberOutOfRange> {
        // Depth is bounded by MAX_DEPTH.
        Ok(match self.kind() {
            Kind::Null => Value::Null,
            Kind::Boolean => Value::Bool(self.as_bool().unwrap_or_default()),
            Kind::Number => Value::Number(checked_number(self.as_number().unwrap_or_default())?),
            Kind::String => Value::String(self.as_str().unwrap_or_default().into_owned()),
            Kind::Array => {
                let items: Result<Vec<_>, _> = self.items().map(Self::to_value).collect();
                Value::Array(items?)
            }
            Kind::Object => {
                let mut map = Map::with_capacity(self.len().unwrap_or_default());
                for (key, value) in self.members() {
                    map.insert(key.text().into_owned(), value.to_value()?);
                }
                Value::Object(map)
            }
        })
    }
}

/// A JSON number as serde_json holds it: integers exact to 64 bits, others as the nearest float.
///
/// # Errors
///
/// [`NumberOutOfRange`] for a number such as `1e400`, and for what is no number.
pub fn number(text: &str) -> Result<Number, NumberOutOfRange> {
    if !is_number(text) {
        return Err(NumberOutOfRange { digits: text.len() });
    }
    checked_number(text)
}

fn checked_number(text: &str) -> Result<Number, NumberOutOfRange> {
    if !text.contains(['.', 'e', 'E']) && text != "-0" {
        if let Ok(n) = text.parse::<u64>() {
            return Ok(n.into());
        }
        if let Ok(n) = text.parse::<i64>() {
            return Ok(n.into());
        }
    }
    text.parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .ok_or(NumberOutOfRange { digits: text.len() })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn refuses_what_is_no_json_number() {
        for text in ["", "+1", "01", ".5", "1.", "inf", "NaN", "1e400", " 1"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(number("-0").map(|n| n.to_string()), Ok("-0.0".to_owned()));
    }
}
