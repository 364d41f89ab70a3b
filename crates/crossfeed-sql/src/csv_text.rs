//! Texts with values between separators: <https://www.rfc-editor.org/rfc/rfc4180>, also with tabs and semicolons.

use csv::{ReaderBuilder, StringRecord};

/// The separators, the most usual first.
const SEPARATORS: [u8; 3] = *b",\t;";
/// The most records that are looked at to see whether a text is one of these.
const MAX_RECORDS: usize = 50;

/// The separator of a text whose first record names columns: at least two, each by a name of its own, and every record
/// has a value for each. A list of words is no table: at least one record must follow.
pub(crate) fn separator(text: &str) -> Option<u8> {
    SEPARATORS.into_iter().find(|separator| {
        let mut reader = reader(text, *separator);
        let Some(names) = reader
            .headers()
            .ok()
            .filter(|names| are_names(names))
            .cloned()
        else {
            return false;
        };
        let mut count = 0;
        for record in reader.records().take(MAX_RECORDS) {
            match record {
                Ok(record) if record.len() == names.len() => count += 1,
                _ => return false,
            }
        }
        count > 0
    })
}

pub(crate) fn reader(text: &str, separator: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .from_reader(text.as_bytes())
}

/// Short texts, none of them empty, a number or twice there.
fn are_names(names: &StringRecord) -> bool {
    const MAX_CHARS: usize = 64;
    let is_name = |name: &str| {
        !name.trim().is_empty() && name.chars().count() <= MAX_CHARS && name.parse::<f64>().is_err()
    };
    let mut sorted: Vec<&str> = names.iter().collect();
    sorted.sort_unstable();
    let is_distinct = sorted.windows(2).all(|two| two[0] != two[1]);
    names.len() > 1 && is_distinct && names.iter().all(is_name)
}

/// What the text of a value is, if it is not empty: a number whose digits are those of the number, or a text.
pub(crate) fn integer(text: &str) -> Option<i64> {
    text.parse()
        .ok()
        .filter(|number: &i64| number.to_string() == text)
}

/// A number with a fraction.
pub(crate) fn real(text: &str) -> Option<f64> {
    crossfeed_json::is_number(text)
        .then(|| text.parse().ok())
        .flatten()
        .filter(|number: &f64| number.is_finite())
}
