//! Selectors that take from a text that is not JSON what an expression may mean.

use super::{Selector, miss::works};
use crate::paths::raw_string;
use crossfeed_jmespath::{Kind, View};

/// The most bytes of a text that are searched for a word.
const MAX_SEARCHED_BYTES: usize = 256 << 10;
/// The most words of an expression that are searched for.
const MAX_WORDS: usize = 8;
/// The signs between the cells of a table.
const SEPARATORS: [(char, &str); 4] = [(',', ","), ('\t', r"\t"), (';', ";"), ('|', "|")];
/// Words that say what the text is, rather than what is in it.
const ABOUT: [&str; 24] = [
    "body",
    "contains",
    "content",
    "contents",
    "data",
    "ends_with",
    "filter",
    "items",
    "length",
    "line",
    "lines",
    "log",
    "map",
    "match",
    "output",
    "result",
    "select",
    "split",
    "splitlines",
    "starts_with",
    "stdout",
    "string",
    "text",
    "value",
];

impl<'a> Selector<'a, '_> {
    /// Selectors that take a part of a text that is not JSON, the most probable first: the lines of an index or slice, the
    /// column or entry of a name, the lines that hold a word of the expression.
    pub(super) fn lines(&self, text: &str, view: &View<'a>) -> Vec<String> {
        if view.kind() != Kind::String {
            return Vec::new();
        }
        let mut offered = Vec::new();
        if let Some(whole) = view.as_str() {
            let mut end = whole.len().min(MAX_SEARCHED_BYTES);
            while !whole.is_char_boundary(end) {
                end -= 1;
            }
            offered = meant(text, &whole[..end]);
        }
        offered.extend(["lines(@)[0]", "lines(@)", "@"].map(str::to_owned));
        offered.retain(|selector| {
            self.options.admits(selector) && works(selector, view, self.arena, self.budget, false)
        });
        offered
    }
}

/// What an expression may mean on a text.
fn meant(expression: &str, whole: &str) -> Vec<String> {
    let subscript = subscript(expression);
    let mut literals = expression.split(['\'', '"', '`']).skip(1).step_by(2);
    let literal = literals.find_map(|word| Some(lines_with(found(word.trim(), whole)?)));
    let names = expression.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let names = names.filter(|word| {
        word.len() > 1
            && word.starts_with(|c: char| c.is_alphabetic())
            && !ABOUT.contains(&word.to_ascii_lowercase().as_str())
    });
    let names: Vec<&str> = names.take(MAX_WORDS).collect();
    let column = names
        .iter()
        .find_map(|name| column(name, whole, subscript.as_deref()));
    let entry = names.iter().find_map(|name| entry(name, whole));
    let name = names
        .iter()
        .find_map(|name| Some(lines_with(found(name, whole)?)));
    let line = subscript.map(|step| format!("lines(@){step}"));
    [column, entry, literal.flatten(), line, name.flatten()]
        .into_iter()
        .flatten()
        .collect()
}

/// The lines that hold a part of the text.
fn lines_with(part: &str) -> Option<String> {
    Some(format!("lines(@)[?contains(@, {})]", raw_string(part)?))
}

/// The part of the text that is equal to a word but for its case.
fn found<'t>(word: &str, whole: &'t str) -> Option<&'t str> {
    if word.is_empty() || word.contains(['\n', '\r']) {
        return None;
    }
    let exact = whole.find(word);
    let at = exact.or_else(|| {
        let word = word.to_ascii_lowercase();
        whole.to_ascii_lowercase().find(&word)
    })?;
    whole.get(at..at + word.len())
}

/// The value after a name at the beginning of lines: `Author: Ada`, `version = 1`.
fn entry(name: &str, whole: &str) -> Option<String> {
    whole.lines().find_map(|line| {
        let own = line.trim_start();
        let key = own
            .get(..name.len())
            .filter(|key| key.eq_ignore_ascii_case(name))?;
        let rest = own[key.len()..].trim_start();
        let sign = rest
            .chars()
            .next()
            .filter(|sign| matches!(sign, ':' | '='))?;
        Some(format!(r"match(@, '^\s*{key}\s*{sign}\s*(.*)$')"))
    })
}

/// The column of a table whose first line has the name, or the cell in a line of it.
fn column(name: &str, whole: &str, subscript: Option<&str>) -> Option<String> {
    let mut lines = whole.lines();
    let head = lines.next()?;
    let next = lines.next()?;
    SEPARATORS.into_iter().find_map(|(sign, separator)| {
        let cells = || head.split(sign);
        let at =
            cells().position(|cell| cell.trim().trim_matches('"').eq_ignore_ascii_case(name))?;
        let is_table = cells().count() > 1 && next.split(sign).count() >= cells().count();
        let index = subscript.and_then(|step| {
            step.strip_prefix('[')?
                .strip_suffix(']')?
                .parse::<usize>()
                .ok()
        });
        is_table.then(|| match index {
            Some(index) => format!("split(lines(@)[{}], '{separator}')[{at}]", index + 1),
            None => format!("lines(@)[1:].split(@, '{separator}')[{at}]"),
        })
    })
}

/// The first index or slice of an expression: `[4]`, `[1:3]`, and that of `line(4)`.
fn subscript(expression: &str) -> Option<String> {
    let ranges = |open: char, close: char| {
        let mut parts = expression.split(open).skip(1);
        parts.find_map(move |part| {
            let inside = part.split(close).next()?.trim();
            let is_number = |c: char| c.is_ascii_digit() || matches!(c, ':' | '-');
            let has_digit = inside.contains(|c: char| c.is_ascii_digit());
            (has_digit && inside.len() < 32 && inside.chars().all(is_number))
                .then(|| format!("[{inside}]"))
        })
    };
    ranges('[', ']').or_else(|| ranges('(', ')'))
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[track_caller]
    fn check(expression: &str, text: &str, expected: &[&str]) {
        assert_eq!(meant(expression, text), expected, "{expression}");
    }

    #[test]
    fn what_a_selector_names_is_looked_for_in_the_text() {
        let log = "commit 1f2e\nAuthor: Ada <ada@a.example>\n\n    Fix login\n";
        check("lines[4]", log, &["lines(@)[4]"]);
        check("line(2)", log, &["lines(@)[2]"]);
        check("content.split('\\n')[1:3]", log, &["lines(@)[1:3]"]);
        check(
            "author",
            log,
            &[
                r"match(@, '^\s*Author\s*:\s*(.*)$')",
                "lines(@)[?contains(@, 'Author')]",
            ],
        );
        check(
            "[?contains(message, 'fix LOGIN')]",
            log,
            &[
                "lines(@)[?contains(@, 'Fix login')]",
                "lines(@)[?contains(@, 'Fix')]",
            ],
        );
        check("items[*].url", log, &[]);
    }

    #[test]
    fn a_name_is_the_column_of_a_table() {
        let table = "version,date\n1.0,2024\n1.1,2025\n";
        check(
            "[*].date",
            table,
            &[
                "lines(@)[1:].split(@, ',')[1]",
                "lines(@)[?contains(@, 'date')]",
            ],
        );
        check(
            "[1].Version",
            table,
            &[
                "split(lines(@)[2], ',')[0]",
                "lines(@)[1]",
                "lines(@)[?contains(@, 'version')]",
            ],
        );
    }
}
