//! The names in a statement: what it may read.

use std::collections::HashSet;

/// The most names of one statement that are looked at.
const MAX_NAMES: usize = 4096;

/// The words of a statement that may name a table, each once: bare words and quoted ones. It need not be valid.
///
/// ```
/// use crossfeed_sql::names_in;
///
/// let names = names_in(r#"SELECT "a b".x FROM call_1 -- call_2"#);
/// assert_eq!(names, ["SELECT", "a b", "x", "FROM", "call_1"]);
/// ```
pub fn names_in(sql: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut known = HashSet::new();
    let mut rest = sql;
    while names.len() < MAX_NAMES
        && let Some(first) = rest.chars().next()
    {
        let (name, end) = match first {
            '\'' => (None, quoted(rest, '\'').1),
            '"' | '`' => {
                let (name, end) = quoted(rest, first);
                (Some(name), end)
            }
            '[' => match rest.find(']') {
                Some(end) => (Some(rest[1..end].to_owned()), end + 1),
                None => (None, rest.len()),
            },
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map(|end| end + 4);
                (None, end.unwrap_or(rest.len()))
            }
            first if is_word(first) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let is_name = !first.is_ascii_digit();
                (is_name.then(|| rest[..end].to_owned()), end)
            }
            first => (None, first.len_utf8()),
        };
        if let Some(name) = name.filter(|name| known.insert(name.clone())) {
            names.push(name);
        }
        rest = &rest[end..];
    }
    names
}

/// The id of the result that a table holds a list of, for each place where its name may end, the longest first: a
/// table is named by its result, or by that and the path of a list.
pub fn result_of(table: &str) -> impl Iterator<Item = &str> {
    const MAX_ID_BYTES: usize = 256;
    let ends = table.rmatch_indices('_').map(|(end, _)| end);
    std::iter::once(table.len())
        .chain(ends)
        .map(|end| &table[..end])
        .filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// What stands between quotes, where two of them are one, and where that ends.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            name.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            name.push(quote);
        } else {
            return (name, at + 1);
        }
    }
    (name, text.len())
}

/// A name as it is written in a statement: in quotes where it is not a word, or a word of SQL.
pub(crate) fn written(name: &str) -> String {
    let is_word = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let begins = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    if is_word && begins && !RESERVED.contains(&&*name.to_ascii_uppercase()) {
        name.to_owned()
    } else {
        in_quotes(name)
    }
}

/// A name in quotes.
pub(crate) fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The words that SQLite does not take as names: <https://www.sqlite.org/lang_keywords.html>.
const RESERVED: [&str; 61] = [
    "ADD",
    "ALL",
    "ALTER",
    "AND",
    "AS",
    "AUTOINCREMENT",
    "BETWEEN",
    "CASE",
    "CHECK",
    "COLLATE",
    "COMMIT",
    "CONSTRAINT",
    "CREATE",
    "DEFAULT",
    "DEFERRABLE",
    "DELETE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FOREIGN",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INDEX",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "LIMIT",
    "NOT",
    "NOTHING",
    "NOTNULL",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "PRIMARY",
    "REFERENCES",
    "RETURNING",
    "SELECT",
    "SET",
    "TABLE",
    "THEN",
    "TO",
    "TRANSACTION",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "FULL",
    "NATURAL",
];
