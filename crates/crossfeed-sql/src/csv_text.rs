//! Texts with values between separators: <https://www.rfc-editor.org/rfc/rfc4180>, also with tabs and semicolons.

use crate::{
    column::ColumnKind,
    import::{MAX_COLUMNS, exact},
};
use csv::{ReaderBuilder, StringRecord};

/// The separators, the most usual first.
const SEPARATORS: [u8; 3] = *b",\t;";

/// The separator of a text whose first record names columns: at least two, each by words that begin with a letter, and every
/// record has a value for each. A list of words is no table: at least one record must follow.
pub(crate) fn separator(text: &str) -> Option<u8> {
    // A quote that is never closed would take the rest of the text into one value.
    if text.bytes().filter(|byte| *byte == b'"').count() % 2 == 1 {
        return None;
    }
    SEPARATORS.into_iter().find(|separator| {
        let mut reader = reader(text, *separator);
        let is_named = reader.headers().is_ok_and(are_names);
        let mut records = reader.records();
        let mut count = || records.try_fold(0, |count, record| record.map(|_| count + 1));
        is_named && count().is_ok_and(|count: usize| count > 0)
    })
}

/// A record with more or fewer values than the first cannot be read.
pub(crate) fn reader(text: &str, separator: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(separator)
        .from_reader(text.as_bytes())
}

/// Short words, each once there: prose, logs and what programs print have commas, too.
fn are_names(names: &StringRecord) -> bool {
    const MAX_CHARS: usize = 64;
    const SIGNS: &str = "_-./()%#$ ";
    let is_name = |name: &str| {
        let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '#');
        let is_sign = |c: char| c.is_alphanumeric() || SIGNS.contains(c);
        begins
            && name.trim_end() == name
            && name.chars().count() <= MAX_CHARS
            && name.chars().all(is_sign)
    };
    let mut sorted: Vec<&str> = names.iter().collect();
    sorted.sort_unstable();
    let is_distinct = sorted.windows(2).all(|two| two[0] != two[1]);
    (2..=MAX_COLUMNS).contains(&names.len()) && is_distinct && names.iter().all(is_name)
}

/// What the text of a value is, if it is not empty: a number whose digits are those of the number, or a text.
pub(crate) fn integer(text: &str) -> Option<i64> {
    text.parse()
        .ok()
        .filter(|number: &i64| number.to_string() == text)
}

/// A number with a fraction. Without a dot, `1234e56` is more often a name than a number.
pub(crate) fn real(text: &str) -> Option<f64> {
    let is_number = text.contains('.') && crossfeed_json::is_number(text);
    is_number.then(|| exact(text)).flatten()
}

/// What the text of a value is; `None` for an empty one.
pub(crate) fn kind_of(text: &str) -> Option<ColumnKind> {
    if text.is_empty() {
        None
    } else if integer(text).is_some() {
        Some(ColumnKind::Integer)
    } else if real(text).is_some() {
        Some(ColumnKind::Real)
    } else {
        Some(ColumnKind::Text)
    }
}
