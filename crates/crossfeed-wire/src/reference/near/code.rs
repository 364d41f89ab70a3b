//! Names that a text of code itself gives to something: `const call_1 = f()`, `call_1.total += 1`.

use super::{
    id::{is_distinctive, is_id_byte},
    path::Path,
};
use std::collections::HashSet;

/// The most bytes that are looked at on either side of a name.
const MAX_BYTES: usize = 128;

/// Words before a name that it is given by.
const DECLARING: [&str; 14] = [
    "as", "class", "const", "def", "enum", "fn", "func", "function", "let", "local", "my", "type",
    "val", "var",
];

/// Words of statements about a name and a path, which are all of a line.
const STATEMENTS: [&str; 5] = ["import", "export", "from", "delete", "del"];

/// Words at the beginning of a line that names the parameters of a function.
const FUNCTIONS: [&str; 6] = ["def ", "fn ", "func ", "function ", "async ", "lambda "];

/// The names that could be ids of calls and are those of something in the text.
pub(super) fn declared(text: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    for line in text.lines() {
        let is_function = FUNCTIONS
            .iter()
            .any(|word| line.trim_start().starts_with(word));
        let is_sign = |sign: char| !(sign.is_ascii() && is_id_byte(sign as u8));
        for word in line.split(is_sign).filter(|word| is_distinctive(word)) {
            let at = word.as_ptr() as usize - line.as_ptr() as usize;
            let end = at + word.len();
            let is_boundary = |at: &usize| line.is_char_boundary(*at);
            let from = (at.saturating_sub(MAX_BYTES)..at).find(is_boundary);
            let to = (end..=line.len().min(end + MAX_BYTES)).rfind(is_boundary);
            let before = line[from.unwrap_or(at)..at].trim_end();
            let behind = &line[end..to.unwrap_or(end)];
            if is_given(before, behind, is_function) {
                found.insert(word);
            }
        }
    }
    found
}

/// Whether what stands around a name in a line of code gives it.
fn is_given(before: &str, behind: &str, is_function: bool) -> bool {
    let (path, length) = Path::read(behind);
    let rest = behind[length..].trim_start();
    if is_assignment(rest) {
        return before.is_empty()
            || before.ends_with([';', '{', '('])
            || is_word(before, &DECLARING);
    }
    if path.steps.is_empty() {
        return is_word(before, &DECLARING)
            || is_function && before.contains('(') && !before.contains(')');
    }
    let is_end = rest.is_empty() || rest.starts_with(';') || rest.starts_with("import ");
    is_end && STATEMENTS.contains(&before.trim_start())
}

/// Whether a text ends in one of these words.
fn is_word(text: &str, words: &[&str]) -> bool {
    let word = text
        .rsplit([' ', '(', '{', ';', ','])
        .next()
        .unwrap_or_default();
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a value is assigned here.
fn is_assignment(text: &str) -> bool {
    let operators = ["+=", "-=", "*=", "/=", "%=", "|=", "&=", ":=", "++", "--"];
    let plain = text.strip_prefix('=');
    plain.is_some_and(|rest| !rest.starts_with(['=', '>', '~']))
        || operators.iter().any(|operator| text.starts_with(operator))
}
