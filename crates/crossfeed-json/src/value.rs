//! Converts values to `serde_json::Value`.

use crate::cursor::{Cursor, Kind};
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
        self.to_value_by(&number)
    }

    /// As [`Self::to_value`], with the nearest number that a 64-bit float can hold in place of one
    /// that it cannot: for callers that look at the structure and write the digits from the bytes.
    pub fn to_nearest_value(self) -> Value {
        let nearest = |text: &str| {
            number(text).or_else(|out_of_range| {
                let most = if text.starts_with('-') {
                    f64::MIN
                } else {
                    f64::MAX
                };
                Number::from_f64(most).ok_or(out_of_range)
            })
        };
        self.to_value_by(&nearest).unwrap_or_default()
    }

    fn to_value_by(
        self,
        number: &dyn Fn(&str) -> Result<Number, NumberOutOfRange>,
    ) -> Result<Value, NumberOutOfRange> {
        // Depth is bounded by MAX_DEPTH.
        Ok(match self.kind() {
            Kind::Null => Value::Null,
            Kind::Boolean => Value::Bool(self.as_bool().unwrap_or_default()),
            Kind::Number => Value::Number(number(self.as_number().unwrap_or_default())?),
            Kind::String => Value::String(self.as_str().unwrap_or_default().into_owned()),
            Kind::Array => {
                let mut items = Vec::with_capacity(self.len().unwrap_or_default());
                for item in self.items() {
                    items.push(item.to_value_by(number)?);
                }
                Value::Array(items)
            }
            Kind::Object => {
                let mut map = Map::with_capacity(self.len().unwrap_or_default());
                for (key, value) in self.members() {
                    map.insert(key.text().into_owned(), value.to_value_by(number)?);
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
/// [`NumberOutOfRange`] for a number such as `1e400`, and for text that is not a number.
pub fn number(text: &str) -> Result<Number, NumberOutOfRange> {
    text.parse()
        .map_err(|_| NumberOutOfRange { digits: text.len() })
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::Document;
    use serde_json::json;

    #[test]
    fn the_nearest_value_stands_for_any_number() {
        let document = Document::new("[1e400, -1e400, 1.5, {\"a\": 7}]");
        let root = document.root().unwrap();
        assert!(root.to_value().is_err());
        assert_eq!(
            root.to_nearest_value(),
            json!([f64::MAX, f64::MIN, 1.5, {"a": 7}])
        );
    }

    #[test]
    fn refuses_what_is_no_json_number() {
        for text in ["", "+1", "01", ".5", "1.", "inf", "NaN", "1e400", " 1"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(number("-0").map(|n| n.to_string()), Ok("-0.0".to_owned()));
    }
}
